"""Search strings for known people: the check of output folders by `Pseudonyms`, `Consent` and `persona`.

Names are compared without case, accents, vowel signs, invisible signs and compatibility forms, at word boundaries, with
at most four spaces or signs between two words. This search is independent of the one in `kernel.py`, so that it finds
spellings that `kernel.py` misses; if `Pseudonyms` replaced names, its own search is applied, too. On every Python
version, characters newer than Unicode 13.0 are treated as signs.

Slow reference for the tests: tests/twins/known.py, which tries every name on every text
"""

from __future__ import annotations

import functools
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dataprep.core.model import batch as B
from dataprep.core.output.audit import BYTES, CELL, FRAGMENT, TEXT, Finding, Strings
from dataprep.unicode import tables
from dataprep.unicode.assigned import normalized, over_assigned, without_newer

from .encoded import may_be_coded, plain
from .finder import Finder, folded_letters
from .matching import SAME, signs_in, spellings, words
from .phones import Phones, phone
from .terms import whole_forms
from .unspaced import is_hangul, is_unspaced

BETWEEN = "\x1e"
_GAP = "[ \t\u00a0\u2007\u2009\u202f_.'\u2019\u2010-\u2015-]{1,4}"
_LINES = _GAP.replace("[", "[\r\n", 1)
_WORD = re.compile(r"[^\W_]+")
_PSEUDONYM = re.compile("-[b-df-hj-np-t]{2,}(?![^\\W_])")  # "Person-hsjb" is nobody called Person
_OWN_CHARS = 200  # of a value that the program wrote
# max_found, data/part-00000-000.parquet, steps/05-MinHash-0123abcd/keys
_IDENTIFIER = re.compile(r"/?[a-z0-9.-]+[_/](?:[a-z0-9._-]+/)*(?:\d\d-[\w-]+-[0-9a-f]{8}/)?[a-z0-9._/-]+")
_HASH = re.compile("(?:[a-z0-9]+:)?[0-9a-f]{32,128}(?:-[a-z0-9]+)?")  # which has the letters of "A B" by chance
_LETTERS = 3  # of a name between spaces; a shorter one occurs by chance
_SURE_BYTES = 8  # of a single name among bytes that are not text
_SURE_NAMES = 6  # bytes of a name of several words in a file that is not UTF-8, such as hashes or counts
_NO_TEXT = re.compile("[\0\ufffd]")  # in a file that is not UTF-8 text
# Words that the program itself writes as a value: a person of that name cannot be recognised there.
_OWN = """
text id source meta chat author time kind name role content weight messages conversation answers side reason stage kept
user assistant system read write hidden dropped joined other und train val test string int bool large list item struct
data drops cuts receipts steps manifest recipe people person facts class fields label version shown count counts out
image video audio gif sticker file contact location poll event call deleted phone email card iban ip python none true
false exact minhash turns map filter pseudonyms consent overlaps clean cleanmessages language fr en ar ary gap block
size hash key keys key part parts url path row rows set no yes not all
"""
OWN = frozenset(_OWN.split())


def folded_text(text: str) -> str:
    """Return a text in the form in which names are compared: without case, accents and invisible signs.

    The separator BETWEEN is kept.
    """
    if text.isascii():
        return text.lower()
    points = np.frombuffer(normalized("NFKD", without_newer(text)).encode("utf-32-le"), "<u4")
    plain = over_assigned(str.casefold, points[~_marks()[points]].tobytes().decode("utf-32-le"))
    points = np.frombuffer(plain.encode("utf-32-le"), "<u4")
    return str(_same()[points].tobytes(), "utf-32-le")


@functools.cache
def _same() -> npt.NDArray[np.uint32]:
    """Return, for each code point, the letter as which it is compared, uint32[0x110000]."""
    table = np.arange(0x110000, dtype="<u4")
    table[list(SAME)] = list(SAME.values())
    return table


@functools.cache
def _marks() -> npt.NDArray[np.bool_]:
    """Return for each code point whether it is left out: accents, invisible signs and the tatweel, bool[0x110000]."""
    table = np.zeros(0x110000, np.bool_)
    table[[0x640, *tables.points(tables.CLASSES["NONSPACING"]), *tables.points(tables.CLASSES["FORMAT"])]] = True
    return table


def parts(name: str) -> tuple[str, ...]:
    """Return the words of a name, without case, accents and invisible signs, as a tuple."""
    return tuple(_WORD.findall(folded_text(name)))


@dataclass(frozen=True)
class KnownPeople:
    """Finds people in strings, to check that an output folder names nobody (`dataprep.core.output.audit`).

    Attributes:
        names: spellings of names, phone numbers, e-mail addresses and handles to find.
        stay: words that are not an error if they occur by themselves.
        own: the names that are not an error, such as the name of a person who trains a model on their own messages.
            Findings of `stay` and `own` are only counted.
        prefixes: the letters that `Pseudonyms` treats as joined to a name; its own search (`finder.py`) is then
            applied, too. None: names in texts were not replaced, so that only whole words are searched for.
        groups: those of `names` that are names of groups. They are not searched across line breaks, because their words
            ("reading circle") may be adjacent by chance.
    """

    names: tuple[str, ...]
    stay: frozenset[str] = frozenset()
    own: tuple[str, ...] = ()
    prefixes: str | None = None
    groups: frozenset[str] = frozenset()

    def __call__(self, strings: Strings) -> Iterator[Finding]:
        r"""Yield a Finding for each name or number in `strings`, also in codes (%41, &#65;, \u0041).

        In bytes of other files, only names are searched for.
        """
        yield from self._plain(strings)
        rows = [row for row, value in enumerate(strings.values) if may_be_coded(value) and not _NO_TEXT.search(value)]
        read = [(row, new) for row in rows if (new := plain(strings.values[row])) != strings.values[row]]
        for one in self._plain(strings._replace(values=[new for _, new in read])) if read else ():
            yield one._replace(row=read[one.row][0])

    def _plain(self, strings: Strings) -> Iterator[Finding]:
        known = _tables(self)
        raw = BETWEEN.join(strings.values)
        text = folded_text(raw)
        found = {"", *_WORD.findall(text)}
        for word in sorted(known.words.keys() & found):
            for one in known.words[word]:
                if one.words <= found:
                    yield from self._hits(one, text, strings)
        for one in known.inside(text):
            yield from self._hits(one, text, strings, least=1)
        if self.prefixes is not None:
            yield from self._replaceable(strings)
        if strings.how != BYTES:
            for start, end, number in known.phones.find(raw):
                if not (raw[start - 1 : start].isalpha() or raw[end : end + 1].isalpha()):
                    yield Finding(number, raw.count(BETWEEN, 0, start), number in known.own)

    def _hits(self, one: _Name, text: str, strings: Strings, least: int = _LETTERS) -> Iterator[Finding]:
        name = one.spelled
        single = _WORD.fullmatch(name) is not None
        if single and (strings.how in (FRAGMENT, TEXT) or (strings.how == BYTES and len(name.encode()) < _SURE_BYTES)):
            return
        if _by_chance(name, strings):
            return
        stays = name in _tables(self).own or (single and (len(name) < least or name in self.stay))
        row, at = 0, 0
        for m in one.pattern.finditer(text):
            row, at = row + text.count(BETWEEN, at, m.start()), m.start()
            if not (single and not stays and self._is_own(strings.values[row], text, m.end())):
                yield Finding(name, row, stays)

    def _replaceable(self, strings: Strings) -> Iterator[Finding]:
        """Yield a Finding for each whole name that `Pseudonyms` would replace; for one word, only in rows of texts."""
        finder = _finder(self)
        offsets, data = B.buffers(pa.array(strings.values, pa.large_string()))
        is_prose = strings.how == CELL and strings.place.startswith(("column ", "line "))
        for row, _, end, number, _ in finder.hits(offsets, data, folded_letters(self.prefixes or "")).tolist():
            term, value = finder.terms[number], strings.values[row]
            if _HASH.fullmatch(value):
                continue
            after = data[end : end + 64].tobytes().decode("utf-8", "ignore")
            if (" " in term and not _by_chance(term, strings)) or (is_prose and not self._is_own(value, after, 0)):
                yield Finding(term, row, stays=False)

    def _is_own(self, value: str, text: str, end: int) -> bool:
        """Return whether a single name that ends at `end` is a word of the program: in a pseudonym or an identifier."""
        if _PSEUDONYM.match(text, end):
            return True
        if len(value) > _OWN_CHARS:
            return False
        return bool(_IDENTIFIER.fullmatch(value)) or {*_WORD.findall(folded_text(value))} <= OWN


@dataclass(frozen=True)
class _Name:
    """A name to search for: its spelling, the pattern that finds it, and the words that it consists of."""

    spelled: str
    pattern: re.Pattern[str]
    words: frozenset[str]


@dataclass(frozen=True)
class _Tables:
    """Strings to search for: names and addresses by their first word, names without spaces, and phone numbers."""

    words: dict[str, list[_Name]]
    unspaced: list[_Name]
    begins: re.Pattern[str] | None  # the first letter of one of `unspaced` where it occurs
    phones: Phones
    own: frozenset[str]

    def inside(self, text: str) -> list[_Name]:
        """Return the names of scripts without spaces that occur in a text."""
        if self.begins is None:
            return []
        at = [m.start() for m in self.begins.finditer(text)]
        return [one for one in self.unspaced if any(one.pattern.match(text, i) for i in at)]


@functools.lru_cache(maxsize=4)
def _tables(people: KnownPeople) -> _Tables:
    by_word: dict[str, list[_Name]] = defaultdict(list)
    anywhere: dict[tuple[str, ...], _Name] = {}
    for name in sorted({*people.names, *people.own}):
        found = parts(name)
        if "@" in name.strip()[1:]:
            address = folded_text(name.strip())
            one = _Name(address, _whole(re.escape(address)), frozenset(_WORD.findall(address)))
            by_word[next(iter(_WORD.findall(address)), "")].append(one)
        elif found and not phone(name) and not "".join(found).isdecimal():
            if is_unspaced("".join(words(name))):
                pattern = re.compile(f"(?:{_GAP})?".join(map(re.escape, found)))
                anywhere[found] = _Name("".join(found), pattern, frozenset())
            spelled = " ".join(found)
            if all(spelled != other.spelled for other in by_word[found[0]]):
                is_common = all(word in people.stay or len(word) < _LETTERS for word in found)  # "I will / may be"
                pattern = _whole((_GAP if is_common or name in people.groups else _LINES).join(map(re.escape, found)))
                by_word[found[0]].append(_Name(spelled, pattern, frozenset(found)))
    numbers = {number for name in people.names if (number := phone(name))}
    begins = re.compile(_begins(anywhere)) if anywhere else None
    return _Tables(dict(by_word), list(anywhere.values()), begins, Phones(numbers), _spelled(people.own))


@functools.lru_cache(maxsize=4)
def _finder(people: KnownPeople) -> Finder:
    """Return a search for the whole names of people in all forms, without those that may stay."""
    stays = people.stay | _spelled(people.own)
    terms: dict[str, frozenset[int]] = {}
    for name in people.names:
        if not phone(name) and "@" not in name.strip()[1:] and not _spelled((name,)) <= stays:
            for spelled in spellings(name):
                usual = " ".join(spelled)
                for one in whole_forms(spelled):
                    if one not in stays and (len(one) >= _LETTERS or is_unspaced(one) or is_hangul(one)):
                        terms[one] = signs_in(name) if one == usual else frozenset()
    return Finder(sorted(terms), frozenset(), {term: signs for term, signs in terms.items() if signs})


def _by_chance(name: str, strings: Strings) -> bool:
    """Return whether a name is so short that it may occur by chance in this binary file."""
    if strings.how != BYTES or len(name.encode()) >= _SURE_NAMES or "@" in name:
        return False
    return any(_NO_TEXT.search(value) for value in strings.values)


def _whole(pattern: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![^\W_]){pattern}(?![^\W_])")


def _begins(names: Iterable[Sequence[str]]) -> str:
    """Return a pattern that matches the first letter of each occurrence of one of the names.

    Names with the same beginning share a pattern for it, so that the time hardly grows with the number of names.

    Args:
        names: their words.
    """
    tree: dict[str, Any] = {}
    for name in names:
        node = tree
        for part in name:
            for letter in (*([f"(?:{_GAP})?"] if node is not tree else []), *map(re.escape, part)):
                node = node.setdefault(letter, {})
        node[""] = {}
    return "|".join(f"{letter}(?={_rest(node)})" for letter, node in tree.items())


def _rest(node: Mapping[str, Any]) -> str:
    """Return a pattern of the continuations from a node; empty if a name ends there."""
    if "" in node:
        return ""
    ways = [letter + _rest(child) for letter, child in node.items()]
    return ways[0] if len(ways) == 1 else f"(?:{'|'.join(ways)})"


def _spelled(names: Iterable[str]) -> frozenset[Any]:
    return frozenset(form for name in names for form in (" ".join(parts(name)), phone(name), *parts(name)) if form)
