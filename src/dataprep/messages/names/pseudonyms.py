"""Make pseudonyms for the names of a corpus, and the tables to find the names in its texts."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from dataprep.messages.people.identities import Identities
from dataprep.pii.rules import KINDS
from dataprep.store import files
from dataprep.unicode.text import I64

from . import kernel as K
from .matching import COMMON, common_words, identity, signs_in, words
from .phones import MIN_DIGITS, Phones, phone
from .signed import SignedNames
from .unspaced import UnspacedNames, is_unspaced

AUTHOR, MENTION, CHAT, WHOLE, MORE, SHARED = "author", "mention", "chat", "whole", "more", "shared"
MIN_GLUED = 3  # letters of a word that is searched for inside of hashtags
ARTICLE = "\u0627\u0644"  # its first letter is lost after a preposition: "للعلوي" is "to العلوي"
MIN_JOINED = 6  # letters of a name without its spaces that is searched for, as "ilsevarga"
NAMING = (AUTHOR, MENTION, WHOLE, MORE)
PEOPLE = pa.schema([
    ("kind", pa.string()),  # author; mention (in a text); chat; whole (a chat's, perhaps a person's); more (given);
    # shared (a word of several people's names)
    ("chat", pa.string()),  # of an author or a mention
    ("name", pa.string()),
    ("pseudonym", pa.string()),
])  # fmt: skip
LETTERS = str.maketrans("0123456789abcdef", "bcdfghjklmnpqrst")  # of hex digits: no numbers and no words


def digest(key: bytes, kind: str, name: str) -> str:
    """Return a hash of a name under the secret `key` (BLAKE2b, RFC 7693), 32 hex digits.

    kind: what is named, such as "person" or "chat"; the same name has another hash for each kind.
    """
    return hashlib.blake2b(f"{kind}\0{name}".encode(), key=key, digest_size=16, person=b"dataprep.people").hexdigest()


def shortest(digests: Iterable[str], digits: int) -> dict[str, str]:
    """Return {digest: its beginning}; beginnings have at least `digits` digits, and are different for each digest."""
    found: dict[str, str] = {}
    waiting = sorted(set(digests))
    while waiting:
        groups = defaultdict(list)
        for one in waiting:
            groups[one[:digits]].append(one)
        found |= {group[0]: start for start, group in groups.items() if len(group) == 1}
        waiting = [one for group in groups.values() if len(group) > 1 for one in group]
        digits += 1
    return found


@dataclass
class People:
    """The people and chats named in a corpus.

    seen: (kind, chat, name) of authors, mentioned people and chats; kind states which of these the name is of. more:
    further names, given by the user. known: which names are one person.
    """

    seen: set[tuple[str, str, str]]  # kind, chat, name
    more: tuple[str, ...] = ()
    known: Identities = field(default_factory=Identities)

    def table(self, key: bytes, form: str, digits: int, weak: frozenset[str]) -> pa.Table:
        """Return the table of pseudonyms with the columns of PEOPLE (kind, chat, name, pseudonym).

        It has a row for each name, and for each word that is in the names of several people. key: the secret key. form:
        a person's pseudonym, with {} for the letters. digits: the least number of letters. weak: words that by
        themselves are not a name.
        """
        who = self.known.key_of
        found = self.found() | {(MORE, "", n) for n in (*self.more, *self.known.all_strings())}
        shared = {word for word, term in terms_of(found, 1, weak, who).items() if len(term.persons) > 1}
        authors = self._authors()
        named = {chat for kind, chat, _ in self.seen if kind == CHAT}
        chats = {chat: who(chat) if len(authors[chat]) <= 2 else identity(chat) for chat in named}
        persons = _pseudonyms(key, "person", {who(name) for _, _, name in found} | shared, form, digits)
        chat_names = _pseudonyms(key, "chat", set(chats.values()), "Chat-{}", digits)
        rows = [(*row, persons[who(row[2])]) for row in found]
        rows += [(CHAT, chat, chat, chat_names[one]) for chat, one in chats.items()]
        rows += [(SHARED, "", word, persons[word]) for word in shared]
        columns = zip(*sorted(rows), strict=True) if rows else [()] * len(PEOPLE)
        return pa.table([pa.array(c, pa.string()) for c in columns], schema=PEOPLE)

    def found(self) -> set[tuple[str, str, str]]:
        """Return (kind, chat, name) of all people: authors, mentioned people, and those who give a chat its name."""
        return {row for row in self.seen if row[0] != CHAT} | self._direct()

    def _direct(self) -> set[tuple[str, str, str]]:
        """Return rows for direct chats: at most two people wrote, and the chat has the name of neither.

        If one person wrote, the chat is named after the other, who counts as mentioned.
        """
        authors = self._authors()
        chats = {chat for kind, chat, _ in self.seen if kind == CHAT and chat}
        direct = {chat for chat in chats if len(authors[chat]) <= 2 and self.known.key_of(chat) not in authors[chat]}
        return {(MENTION if len(authors[chat]) < 2 else WHOLE, chat, chat) for chat in direct}

    def _authors(self) -> defaultdict[str, set[str]]:
        """Return the people who wrote in each chat."""
        authors = defaultdict(set)
        for kind, chat, name in self.seen:
            if kind == AUTHOR:
                authors[chat].add(self.known.key_of(name))
        return authors


def _pseudonyms(key: bytes, kind: str, names: set[str], form: str, digits: int) -> dict[str, str]:
    hashed = {name: digest(key, kind, name) for name in names}
    short = shortest(hashed.values(), digits)
    return {name: form.replace("{}", short[one].translate(LETTERS)) for name, one in hashed.items()}


@dataclass
class Term:
    """A word or a full name to find in texts.

    persons: the people it may mean. weak: True if it counts only after an @.
    """

    persons: set[str] = field(default_factory=set)
    weak: bool = True


def terms_of(
    rows: Iterable[tuple[str, str, str]], min_chars: int, weak: frozenset[str], who: Callable[[str], str] = identity
) -> dict[str, Term]:
    """Return the words and full names to find in texts, {text: Term}, for rows (kind, chat, name).

    min_chars: a shorter word is weak, as are the words in `weak`: they count only after an @. who: returns a text that
    is equal for the names of one person.
    """
    found: dict[str, Term] = defaultdict(Term)
    for kind, _, name in rows:
        for term, is_weak in _terms(kind, words(name), min_chars, weak):
            found[term].persons.add(who(name))
            found[term].weak &= is_weak
    return found


def _terms(kind: str, name: tuple[str, ...], min_chars: int, weak: frozenset[str]) -> Iterable[tuple[str, bool]]:
    """Return (term, whether it counts only after an @) for the words of a name."""
    digits = "".join(name)
    if digits.isdigit():
        return [(" ".join(name), False), (digits, False)] if len(digits) >= MIN_DIGITS else []
    if kind in (WHOLE, CHAT):
        return [(" ".join(name), len(name) == 1)] if name else []
    several = [w for w in name if len(w) > 1 and not w.isdigit()]
    single = [(w, (len(w) < min_chars and not is_unspaced(w)) or w in weak) for w in several]
    single += [(w[1:], is_weak) for w, is_weak in single if w.startswith(ARTICLE) and len(w) > len(ARTICLE) + 1]
    if len(name) <= 1:
        return single
    joined = "".join(name)  # a handle, or a name of a script without spaces
    is_searched = len(joined) >= MIN_JOINED or is_unspaced(joined)
    return [(" ".join(name), False), *([(joined, False)] if is_searched else []), *single]


@dataclass(frozen=True)
class NameTables:
    """The table of pseudonyms in the form that `Pseudonymised` needs: a trie of terms (names, words), and pseudonyms.

    trie: finds the terms. terms: their texts. single: the number of each term that is one word and counts without an @.
    full: the numbers of the terms of several words. signed: finds names with signs between their words.
    unspaced: finds terms of scripts without spaces. weak: bool[terms], if a term counts only after an @. target:
    int64[terms], each term's pseudonym, as an index into `words`. is_shared: bool[terms], if several people may be
    meant. local, local_target: chat * terms + term, ascending, and the pseudonym, if a shared term means one person of
    that chat. words: pseudonyms, then the words for kinds of personal data. phones: known numbers, and their
    pseudonyms. chats: the number of each chat, by name. authors, author_pseudonyms, chat_names, chat_pseudonyms: names,
    and the pseudonym of each.
    """

    trie: K.Trie
    terms: list[str]  # the texts of the trie's terms
    single: Mapping[str, int]  # number of each term of one word that is not weak, by its text
    full: list[int]  # numbers of the terms of several words
    signed: SignedNames  # names with signs between their words
    unspaced: UnspacedNames  # terms of scripts without spaces
    weak: Any  # bool[terms]
    target: I64  # int64[terms]: index of the term's pseudonym
    is_shared: Any  # bool[terms]
    local: I64  # int64[k]: chat * terms + term if the term means one person of that chat, ascending
    local_target: I64
    words: pa.LargeStringArray  # pseudonyms, then the words for personal data in the order of KINDS
    phones: tuple[Phones, dict[str, int]]  # numbers of people, and the index of each one's pseudonym
    chats: dict[str, int]
    authors: pa.StringArray  # names as in the column
    author_pseudonyms: pa.StringArray
    chat_names: pa.StringArray
    chat_pseudonyms: pa.StringArray

    def meant(self, hits: I64, chats: I64) -> I64:
        """Return the pseudonym of each of m found names, int64[m], as an index into `words`.

        It is that of the only person in the chat whom the name can mean, else the term's own. hits: int64[m, 5], as
        `find_names` returns them. chats: int64, the chat of each text, as numbered in the field `chats`.
        """
        n_terms = max(1, len(self.target))
        wanted = chats[hits[:, 0]] * n_terms + hits[:, 3]
        at = np.minimum(np.searchsorted(self.local, wanted), max(0, len(self.local) - 1))
        known = self.local[at] == wanted if len(self.local) else np.zeros(len(hits), bool)
        local = self.local_target[at] if len(self.local) else np.zeros(len(hits), np.int64)
        return np.where(known, local, self.target[hits[:, 3]])


@lru_cache(maxsize=2)
def name_tables(url: str, min_chars: int, common: tuple[str, ...] | None) -> NameTables:
    """Return the NameTables for the table of pseudonyms in the file `url`; the last two results are kept in memory.

    min_chars, common: as in `Pseudonyms`.
    """
    with files.open_raw(url) as f:
        rows = pq.read_table(f).to_pylist()
    weak = common_words(common)
    people = [r for r in rows if r["kind"] in NAMING]
    people += _groups(rows, {words(r["name"]) for r in people})
    named = {identity(r["name"]): r["pseudonym"] for r in reversed(people)}  # a person's before a group's

    def who(name: str) -> str:
        return str(named[identity(name)])

    signed = {" ".join(words(r["name"])): signs for r in people if (signs := signs_in(r["name"]))}
    terms = terms_of({(r["kind"], r["chat"], r["name"]) for r in people}, min_chars, weak, who)
    listed = sorted(terms)
    shared = {r["name"]: r["pseudonym"] for r in rows if r["kind"] == SHARED}
    pseudonyms = sorted({*named.values(), *shared.values()})
    index = {p: i for i, p in enumerate(pseudonyms)}
    own = [shared[t] if len(terms[t].persons) > 1 else next(iter(terms[t].persons)) for t in listed]
    chats = {chat: i for i, chat in enumerate(sorted({r["chat"] for r in rows}))}
    local = _local(people, terms, {t: i for i, t in enumerate(listed)}, chats, who)
    phones = {number: index[p] for name, p in sorted(named.items()) if (number := phone(name))}
    by_kind = {kind: [r for r in rows if r["kind"] == kind] for kind in (AUTHOR, CHAT)}
    authors = {r["name"]: r["pseudonym"] for r in by_kind[AUTHOR]}
    chat_names = {r["name"]: r["pseudonym"] for r in by_kind[CHAT]}
    return NameTables(
        trie=K.build(listed), terms=listed, single={t: i for i, t in enumerate(listed) if _is_sure(t, terms[t])},
        full=[i for i, t in enumerate(listed) if " " in t and not terms[t].weak],
        signed=SignedNames(signed, {t: i for i, t in enumerate(listed)}),
        unspaced=UnspacedNames({t: i for i, t in enumerate(listed) if not terms[t].weak}),
        weak=np.array([terms[t].weak for t in listed], bool),
        target=np.array([index[p] for p in own], np.int64),
        is_shared=np.array([len(terms[t].persons) > 1 for t in listed], bool),
        local=np.array(sorted(local), np.int64),
        local_target=np.array([index[local[k]] for k in sorted(local)], np.int64),
        words=pa.array([*pseudonyms, *(f"<{kind}>" for kind in KINDS)], pa.large_string()),
        phones=(Phones(phones), phones), chats=chats,
        authors=pa.array(list(authors), pa.string()), author_pseudonyms=pa.array(list(authors.values()), pa.string()),
        chat_names=pa.array(list(chat_names), pa.string()),
        chat_pseudonyms=pa.array(list(chat_names.values()), pa.string()),
    )  # fmt: skip


def _groups(rows: list[dict[str, Any]], taken: set[tuple[str, ...]]) -> list[dict[str, Any]]:
    """Return the rows of chats whose names are searched for in texts: those that nobody and no other chat has."""
    found = []
    for row in rows:
        if row["kind"] == CHAT and is_group_name(row["name"]) and words(row["name"]) not in taken:
            taken.add(words(row["name"]))
            found.append(row)
    return found


def is_group_name(name: str) -> bool:
    """Return whether a chat's name is searched for in texts: it has several words, not all numbers or common words."""
    found = words(name)
    return len(found) > 1 and not all(word in COMMON or word.isdigit() for word in found)


def one_word(rows: Iterable[tuple[str, str, str]]) -> frozenset[str]:
    """Return the words that are the whole name of a chat (kind WHOLE), but not a name of a person; texts keep them."""
    by_kind: dict[bool, set[str]] = {True: set(), False: set()}
    for kind, _, name in rows:
        by_kind[kind == WHOLE].update(words(name) if kind != WHOLE or len(words(name)) == 1 else ())
    return frozenset(by_kind[True] - by_kind[False])


def _is_sure(text: str, term: Term) -> bool:
    return not term.weak and len(text) >= MIN_GLUED and text.isalpha()


def _local(
    people: list[dict[str, Any]], terms: Mapping[str, Term], index: Mapping[str, int], chats: Mapping[str, int],
    who: Callable[[str], str],
) -> dict[int, str]:  # fmt: skip
    """Return the person that a shared term means, by chat * terms + term, for chats where only one is possible."""
    found = defaultdict(set)
    for row in people:
        for term, _ in _terms(row["kind"], words(row["name"]), 1, frozenset()):
            if row["kind"] not in (MORE, CHAT) and len(terms[term].persons) > 1:
                found[chats[row["chat"]] * max(1, len(index)) + index[term]].add(who(row["name"]))
    return {key: next(iter(persons)) for key, persons in found.items() if len(persons) == 1}
