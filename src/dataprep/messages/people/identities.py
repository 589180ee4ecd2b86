"""Identities: which names, numbers and handles are one person, as a people file states it."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from dataprep.errors import PlanError
from dataprep.messages.names.matching import identity
from dataprep.messages.names.phones import is_abroad, phone, same_phone

_MENTION = re.compile("@\u2068([^\u2069\n]{1,200})\u2069")


@dataclass(frozen=True, repr=False)
class Identities:
    """The people of a people file; each is a tuple of strings, of which the first is the name of the person.

    Attributes:
        persons: the strings of each person. A string matches a name of an export without regard to case, invisible
            signs and a leading ~; a phone number matches by its digits, and a national form matches the only
            international number that consists of a country's code and it.
        source: the path of the file, for messages.
        lines: the line of each person in it.
    """

    persons: tuple[tuple[str, ...], ...] = ()
    source: str = field(default="", compare=False)
    lines: tuple[int, ...] = field(default=(), compare=False)

    def __repr__(self) -> str:
        return f"{len(self.persons)} people"  # their names are private

    def __bool__(self) -> bool:
        return bool(self.persons)

    @cached_property
    def _by_name(self) -> dict[str, int]:
        return {identity(one): i for i, strings in enumerate(self.persons) for one in strings}

    @cached_property
    def _numbers(self) -> dict[str, tuple[int, bool]]:
        """The person of each phone number, and whether the number is in international form."""
        numbers = ((phone(one), i, is_abroad(one)) for i, strings in enumerate(self.persons) for one in strings)
        return {number: (i, abroad) for number, i, abroad in numbers if number}

    def find(self, name: str) -> int | None:
        """Return the index of the person of that name or number; None if nobody has it, or several may have it."""
        known = self._by_name.get(identity(name), self._by_name.get(identity(name.removeprefix("@"))))
        number = phone(name) if known is None else ""
        if not number:
            return known
        if number in self._numbers:
            return self._numbers[number][0]
        abroad = is_abroad(name)
        similar = {i for one, (i, other) in self._numbers.items() if not (abroad and other) and same_phone(one, number)}
        return similar.pop() if len(similar) == 1 else None

    def name_of(self, name: str) -> str:
        """Return the name of the person who has that name or number; the name itself if nobody has it."""
        found = self.find(name)
        return name if found is None else self.persons[found][0]

    def key_of(self, name: str) -> str:
        """Return a text that is equal for all names of one person, and different for different people."""
        return identity(self.name_of(name))

    def strings_of(self, name: str) -> tuple[str, ...]:
        """Return all strings of the person who has that name or number; only the name itself if nobody has it."""
        found = self.find(name)
        return (name,) if found is None else self.persons[found]

    def joined(self, names: Sequence[str], line: int = 0) -> Identities:
        """Return the identities in which `names`, and the people of these names, are one person.

        The name of the person is that of the first of these people; if there is none, the first of `names`.

        - line: the line of a people file that states it.
        """
        forms: dict[str, str] = {}
        met = [strings for name in names if self.find(name) is not None for strings in self.strings_of(name)]
        for one in (*met, *names):
            forms.setdefault(identity(one), one)
        mine = tuple(forms.values())
        others = {self.find(name) for name in names}
        if len(mine) < 2 and others == {None}:
            return self
        rest = [(i, strings) for i, strings in enumerate(self.persons) if i not in others]
        lines = (line, *(self.lines[i] if self.lines else 0 for i, _ in rest))
        return Identities((mine, *(strings for _, strings in rest)), self.source, lines)

    def all_strings(self) -> tuple[str, ...]:
        """Return all names and numbers of all people, as the people file lists them."""
        return tuple(one for strings in self.persons for one in strings)

    def check(self, names: Sequence[str]) -> None:
        """Raise PlanError, with the line and the nearest names, if none of a person's strings is among `names`."""
        met = {self.find(name) for name in names}
        missing = next((i for i in range(len(self.persons)) if i not in met), None)
        if missing is None:
            return
        line, strings = self.lines[missing] if self.lines else 0, self.persons[missing]
        near = [one for mine in strings for one in difflib.get_close_matches(mine, names, 3, 0.5)]
        where = f"line {line} of {self.source}: " if line else ""
        msg = f"{where}{' / '.join(map(repr, strings))} is not an author in these exports"
        msg += f"; the most similar names are {', '.join(map(repr, dict.fromkeys(near)))}" if near else ""
        msg += "; write a name as the exports do, or remove the entry"
        raise PlanError(msg)

    def renamed(self, column: Any) -> Any:
        """Return a column of names as an Arrow array, in which each name is replaced by the name of its person."""
        flat = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        kind = flat.type.value_type if pa.types.is_dictionary(flat.type) else flat.type
        coded = flat if pa.types.is_dictionary(flat.type) else flat.dictionary_encode()
        names = coded.dictionary.to_pylist()
        new = [None if name is None else self.name_of(name) for name in names]
        return flat if new == names else pa.array(new, kind).take(coded.indices).cast(flat.type)

    def compared(self, rows: Any) -> Any:
        """Return a batch or table in which authors, names of chats and mentions have the names of the people.

        Messages that two exports contain under different names of one person therefore become equal.
        """
        if not self:
            return rows
        for name in ("author", "chat"):
            rows = _with(rows, name, self.renamed(rows.column(name)))
        return self.mentioning(rows)

    def mentioning(self, rows: Any) -> Any:
        """Return a batch or table in which mentions, as WhatsApp writes them, have the names of the people."""
        texts = rows.column("text")
        if self and pc.any(pc.match_substring(texts, "@\u2068")).as_py():
            new = [None if text is None else _MENTION.sub(self._mention, text) for text in texts.to_pylist()]
            rows = _with(rows, "text", pa.array(new, texts.type))
        return rows

    def _mention(self, found: re.Match[str]) -> str:
        return f"@\u2068{self.name_of(found[1])}\u2069"


def _with(rows: Any, name: str, column: Any) -> Any:
    at = rows.schema.get_field_index(name)
    return rows.set_column(at, rows.schema.field(at), column)
