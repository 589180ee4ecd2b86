"""Make pseudonyms for the names of a corpus."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

import pyarrow as pa

from dataprep.messages.people.identities import Identities

from .matching import identity
from .terms import AUTHOR, CHAT, MENTION, MORE, SHARED, WHOLE, terms_of

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

    - kind: the kind of the name, such as "person" or "chat"; the same name has another hash for each kind.
    """
    return hashlib.blake2b(f"{kind}\0{name}".encode(), key=key, digest_size=16, person=b"dataprep.people").hexdigest()


def shortest(digests: Iterable[str], digits: int) -> dict[str, str]:
    """Return {digest: its prefix}; prefixes have at least `digits` digits, and are distinct."""
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

    Attributes:
        seen: (kind, chat, name) of authors, mentioned people and chats.
        more: further names, given by the user.
        known: the names that belong to one person.
    """

    seen: set[tuple[str, str, str]]  # kind, chat, name
    more: tuple[str, ...] = ()
    known: Identities = field(default_factory=Identities)

    def table(self, key: bytes, form: str, digits: int, weak: frozenset[str]) -> pa.Table:
        """Return the table of pseudonyms with the columns of PEOPLE (kind, chat, name, pseudonym).

        It has a row for each name, and for each word that is in the names of several people.

        Args:
            key: the secret key.
            form: a person's pseudonym, with {} for the letters.
            digits: the minimum number of letters.
            weak: words that by themselves are not a name.
        """
        who = self.known.key_of
        found = self.found() | {(MORE, "", n) for n in self.more}
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
        """Return rows for direct chats, in which at most two people wrote, and which have the name of neither.

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
