"""The table of pseudonyms in the form in which names are searched for in texts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from dataprep.core.model import batch as B
from dataprep.pii.kinds import KINDS
from dataprep.store import files
from dataprep.unicode.text import I64

from . import terms as T
from .endings import with_endings
from .finder import Finder
from .matching import common_words, identity, signs_in, words
from .phones import Phones, phone
from .terms import Term, is_group_name, terms_in, terms_of


@dataclass(frozen=True)
class NameTables:
    """The table of pseudonyms in the form that `Pseudonymised` needs: a trie of terms (names, words), and pseudonyms.

    Attributes:
        finder: finds the terms.
        target: int64[terms], each term's pseudonym, as an index into `words`.
        is_shared: bool[terms], whether several people may be meant.
        local: chat * terms + term, ascending, for each shared term that means one person of that chat.
        local_target: the pseudonym for each item of `local`.
        words: pseudonyms, then the words for kinds of personal data.
        phones: known numbers, and their pseudonyms.
        chats: the number of each chat, by name.
        authors: the names of authors.
        author_pseudonyms: the pseudonym of each author.
        chat_names: the names of chats.
        chat_pseudonyms: the pseudonym of each chat.
    """

    finder: Finder
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

        If the name can mean only one person in the chat, it is this person's pseudonym; otherwise the term's own.

        Args:
            hits: int64[m, 5], as `find_names` returns them.
            chats: int64, the chat of each text, as numbered in the field `chats`.
        """
        n_terms = max(1, len(self.target))
        wanted = chats[hits[:, 0]] * n_terms + hits[:, 3]
        at, known = B.find_sorted(self.local, wanted)
        local = self.local_target[at] if len(self.local) else np.zeros(len(hits), np.int64)
        return np.where(known, local, self.target[hits[:, 3]])


@lru_cache(maxsize=2)
def name_tables(url: str, min_chars: int, common: tuple[str, ...] | None) -> NameTables:
    """Return the NameTables for the table of pseudonyms in the file `url`; the last two results are kept in memory.

    - min_chars, common: as in `Pseudonyms`.
    """
    with files.open_arrow(url) as f:
        rows = pq.read_table(f).to_pylist()
    weak = common_words(common)
    people = [r for r in rows if r["kind"] in T.NAMING]
    people += _groups(rows, {words(r["name"]) for r in people})
    named = {identity(r["name"]): r["pseudonym"] for r in reversed(people)}  # a person's before a group's

    def who(name: str) -> str:
        return str(named[identity(name)])

    signed = {" ".join(words(r["name"])): signs for r in people if (signs := signs_in(r["name"]))}
    terms = terms_of({(r["kind"], r["chat"], r["name"]) for r in people}, min_chars, weak, who)
    listed = sorted(terms)
    shared = {r["name"]: r["pseudonym"] for r in rows if r["kind"] == T.SHARED}
    pseudonyms = sorted({*named.values(), *shared.values()})
    index = {p: i for i, p in enumerate(pseudonyms)}
    persons = {r["pseudonym"] for r in people if r["kind"] != T.CHAT}
    # Of a word that only groups share, or one person and a group, the table has no row of its own.
    own = [shared.get(t) or min(terms[t].persons & persons or terms[t].persons) for t in listed]
    chats = {chat: i for i, chat in enumerate(sorted({r["chat"] for r in rows}))}
    local = _local(people, terms, {t: i for i, t in enumerate(listed)}, chats, who)
    numbers = {r["name"] for r in people if r["kind"] != T.HANDLE}  # ids are no phone numbers
    phones = {number: index[named[identity(name)]] for name in sorted(numbers) if (number := phone(name))}
    by_kind = {kind: [r for r in rows if r["kind"] == kind] for kind in (T.AUTHOR, T.CHAT)}
    authors = {r["name"]: r["pseudonym"] for r in by_kind[T.AUTHOR]}
    chat_names = {r["name"]: r["pseudonym"] for r in by_kind[T.CHAT]}
    return NameTables(
        finder=Finder(listed, frozenset(t for t in listed if terms[t].weak), signed),
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
    """Return the rows of chats whose names are searched for in texts: names that no person and no other chat has."""
    found = []
    for row in rows:
        if row["kind"] == T.CHAT and is_group_name(row["name"]) and words(row["name"]) not in taken:
            taken.add(words(row["name"]))
            found.append(row)
    return found


def _local(
    people: list[dict[str, Any]], terms: Mapping[str, Term], index: Mapping[str, int], chats: Mapping[str, int],
    who: Callable[[str], str],
) -> dict[int, str]:  # fmt: skip
    """Return the person that a shared term means, by chat * terms + term, for chats in which only one is possible."""
    found = defaultdict(set)
    for row in people:
        if row["kind"] in (T.MORE, T.CHAT, T.HANDLE, T.STATED):
            continue
        for term, _ in terms_in(row["kind"], row["name"], 1, frozenset()):
            for form in (term, *with_endings(term)):
                if form in terms and len(terms[form].persons) > 1:
                    found[chats[row["chat"]] * max(1, len(index)) + index[form]].add(who(row["name"]))
    return {key: next(iter(persons)) for key, persons in found.items() if len(persons) == 1}
