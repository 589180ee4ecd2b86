"""The people file (TOML): read it, check it, and rewrite it with the user's edits kept.

[[person]]      `names` are all of one person, who is called by the first
[[same]]        `names` are of one person; people of the file who have one of these names are joined
[[maybe]]       `names` may be of one person; has no effect until the user makes it a [[same]] or an [[apart]]
[[apart]]       `names` are of different people, and are never proposed as one person
[proposed]      groups of names proposed before; a name that the user removed from a person is not proposed again
"""

from __future__ import annotations

import itertools
import json
import logging
import re
import sys
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from dataprep.errors import PlanError, ReadError
from dataprep.messages.names.matching import identity
from dataprep.messages.names.phones import phone
from dataprep.store import files

from .identities import Identities

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

log = logging.getLogger("dataprep")
SECTIONS = ("person", "same", "apart", "maybe")
KEPT = SECTIONS[:3]
Names = tuple[str, ...]
_HEADER = re.compile(r"[ \t]*(\[\[?)[ \t]*([\w\"'-]+)[ \t]*\]\]?", re.MULTILINE)
_HEAD = """\
# One [[person]] per person who has several names. The first of `names` is the name of the person.
# In a [[maybe]], the evidence is weak, and it has no effect: write [[same]] in its place if it is one person, and
# [[apart]] if it is not. Take a name out of `names`, or add one, as you like: `dataprep people --replace` keeps your
# edits, and the lines that begin with # directly above [[person]], [[same]] and [[apart]].
"""
_TAIL = """\
# From here on, `dataprep people --replace` writes everything again, except [[person]], [[same]] and [[apart]].
"""


@dataclass(frozen=True)
class PeopleFile:
    """The content of a people file.

    Attributes:
        persons: (line, names) of each [[person]] entry.
        sames: (line, names) of each [[same]] entry.
        aparts: (line, names) of each [[apart]] entry.
        maybes: (line, names) of each [[maybe]] entry.
        proposed: the groups of names proposed before.
        shown: the groups that were shown as [[maybe]] before.
        text: the file's text.
    """

    persons: tuple[tuple[int, Names], ...] = ()
    sames: tuple[tuple[int, Names], ...] = ()
    aparts: tuple[tuple[int, Names], ...] = ()
    maybes: tuple[tuple[int, Names], ...] = ()
    proposed: tuple[Names, ...] = ()
    shown: tuple[Names, ...] = ()
    text: str = ""

    def blocks(self) -> Iterator[tuple[str, str]]:
        """Yield (section, text) of each entry that is kept, with the comment lines directly above it."""
        lines = self.text.splitlines()
        heads = [i for i, line in enumerate(lines) if _HEADER.match(line)]
        for at, end in itertools.pairwise([*heads, len(lines)]):
            found = _HEADER.match(lines[at])
            if found is None or found[1] != "[[" or found[2] not in KEPT:
                continue
            first = at
            while first and lines[first - 1].startswith("#"):
                first -= 1
            last = end
            while last > at and (not lines[last - 1].strip() or lines[last - 1].startswith("#")):
                last -= 1
            yield found[2], "\n".join(lines[first:last])


def people_of(given: Any, parameter: str = "people") -> Identities:
    """Return the Identities of a people file, of its path, or of None.

    Raises PlanError, with the line and the name, if the file cannot be read, is not TOML, has an unknown section, an
    entry without names, one name in two people, or no [[person]]. If `dataprep people` wrote the file without a
    [[person]], this is only logged.
    """
    if given is None or isinstance(given, Identities):
        return given or Identities()
    if not isinstance(given, str) and hasattr(given, "__fspath__"):
        given = given.__fspath__()
    if not isinstance(given, str) or not given.strip():
        msg = f"{parameter}={given!r} must be the path of a people file, as `dataprep people` writes it"
        raise PlanError(msg)
    found = read_people_file(given)
    if not found.persons and not found.sames and re.search(r"^\[proposed\]", found.text, re.MULTILINE):
        log.warning("%s has no [[person]], so every name is treated as a different person", given)
    elif not found.persons and not found.sames:
        msg = f"{given} has no [[person]], so it would change nothing; add one, or leave {parameter} out"
        raise PlanError(msg)
    lines, persons = zip(*found.persons, strict=True) if found.persons else ((), ())
    known = Identities(persons, given, lines)
    for line, names in found.sames:
        known = known.joined(names, line)
    return known


def read_people_file(url: str) -> PeopleFile:
    """Return the content of a people file. Raises PlanError as `people_of` does, but accepts a file without people."""
    try:
        with files.open_read(url) as f:
            text = f.read().decode("utf-8-sig")
        data = tomllib.loads(text.replace("\r\n", "\n"))
    except tomllib.TOMLDecodeError as e:
        msg = f"{url} is not a people file: {e}; docs/persona.md describes the format"
        raise PlanError(msg) from e
    except (OSError, ReadError, UnicodeDecodeError) as e:
        msg = f"could not read the people file {url}: {e}; make one: dataprep people EXPORTS -o {url}"
        raise PlanError(msg) from e
    for section in data:
        if section not in (*SECTIONS, "proposed"):
            _refuse(url, _line(text, section), f"{section!r} must be person, same, apart or maybe, as in [[person]]")
    persons, sames, aparts, maybes = (tuple(_entries(url, text, s, data.get(s))) for s in SECTIONS)
    _check_once(url, persons)
    own = data.get("proposed")
    own = own if isinstance(own, dict) else {}
    proposed, shown = _groups(own.get("people")), _groups(own.get("maybe"))
    return PeopleFile(persons, sames, aparts, maybes, proposed, shown, text)


def _entries(url: str, text: str, section: str, given: Any) -> Iterator[tuple[int, Names]]:
    """Yield (line, names) of each entry of a section."""
    if given is not None and not (isinstance(given, list) and all(isinstance(one, dict) for one in given)):
        _refuse(url, _line(text, section), f"{section} must be a list of entries; write [[{section}]] above each")
    lines = [i for i, line in enumerate(text.splitlines(), 1) if (m := _HEADER.match(line)) and m[2] == section]
    for number, entry in enumerate(given or []):
        line = lines[number] if number < len(lines) else 1
        names = entry.get("names")
        wrong = next((key for key in entry if key not in ("names", "why")), None)
        if wrong is not None:
            _refuse(url, line, f"{wrong!r} must be names or why")
        if not isinstance(names, list) or not names or not all(isinstance(one, str) and one.strip() for one in names):
            _refuse(url, line, f'a [[{section}]] has no names; write names = ["Karim Benali", "كريم بنعلي"]')
        if section != "person" and len(names) < 2:
            _refuse(url, line, f"names = [{names[0]!r}] must have two names or more; remove the [[{section}]]")
        yield line, tuple(names)


def _check_once(url: str, persons: Sequence[tuple[int, Names]]) -> None:
    """Raise PlanError if one name or number is in two people."""
    met: dict[str, tuple[int, int]] = {}
    for number, (line, names) in enumerate(persons):
        for name in names:
            for form in (identity(name), phone(name)):
                other, first = met.setdefault(form, (number, line)) if form else (number, line)
                if other != number:
                    also = f"{name!r} is a name of two people: this one and the one in line {first}"
                    _refuse(url, line, f"{also}; keep it in one of them, or write [[same]]")


def _groups(given: Any) -> tuple[Names, ...]:
    groups = given if isinstance(given, list) else []
    return tuple(tuple(map(str, group)) for group in groups if isinstance(group, list))


def _line(text: str, word: str) -> int:
    return next((i for i, line in enumerate(text.splitlines(), 1) if word in line), 1)


def _refuse(url: str, line: int, what: str) -> NoReturn:
    msg = f"line {line} of {url}: {what}"
    raise PlanError(msg)


def quoted(text: str) -> str:
    """Return a TOML string; invisible characters are written as escapes."""

    def sign(c: str) -> str:
        unseen = c not in " \u200d" and unicodedata.category(c) in ("Cf", "Zs", "Cc", "Co", "Cn")
        return c if not unseen else f"\\u{ord(c):04X}" if ord(c) < 1 << 16 else f"\\U{ord(c):08X}"

    return "".join(map(sign, json.dumps(text, ensure_ascii=False)))


def array(names: Sequence[str]) -> str:
    """Return a TOML array of strings, on one line."""
    return f"[{', '.join(map(quoted, names))}]"


def entry(section: str, names: Sequence[str], why: str = "") -> str:
    """Return an entry of a people file as TOML."""
    return f"[[{section}]]\nnames = {array(names)}\n" + (f"why = {quoted(why)}\n" if why else "")


def rendered(
    old: PeopleFile, grown: Mapping[int, tuple[Names, str]], new: Sequence[tuple[Names, str]],
    maybes: Sequence[tuple[Names, str]], proposed: Sequence[Names], shown: Sequence[Names], others: Sequence[str],
) -> str:  # fmt: skip
    """Return the text of a people file.

    Args:
        old: the file so far; its [[person]], [[same]] and [[apart]] entries are kept.
        grown: {index of a person: (names to add, why)}.
        new: (names, why) of each new person.
        maybes: (names, why) of each group with weak evidence.
        proposed: all groups of names that were ever proposed.
        shown: all groups that were ever shown as [[maybe]].
        others: comment lines about the names that are in no entry.
    """
    lines = [_HEAD]
    number = 0
    for section, block in old.blocks():
        text = _without_head(block)
        if section == "person":
            if number in grown:
                more, why = grown[number]
                text = f"{_comments(text)}{entry('person', (*old.persons[number][1], *more), why)}".rstrip()
            number += 1
        lines.append(f"{text}\n")
    lines += [entry("person", names, why) for names, why in new]
    lines.append(_TAIL)
    lines += [entry("maybe", names, why) for names, why in maybes]
    lines.append("[proposed]")
    for name, groups in (("people", proposed), ("maybe", shown)):
        body = "".join(f"    {array(group)},\n" for group in groups)
        lines.append(f"{name} = [\n{body}]" if body else f"{name} = []")
    lines += ["", *(f"# {line}" for line in others)] if others else []
    return "\n".join(lines).rstrip() + "\n"


def _comments(block: str) -> str:
    return "".join(f"{line}\n" for line in block.splitlines() if line.startswith("#"))


def _without_head(block: str) -> str:
    own = {*_HEAD.splitlines(), *_TAIL.splitlines()}
    return "\n".join(line for line in block.splitlines() if line not in own)
