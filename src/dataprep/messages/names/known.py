"""Search strings for known people: the check of output folders by `Pseudonyms`, `Consent` and `persona`.

Names are compared without case, accents, vowel signs, invisible signs and compatibility forms, at word boundaries, with
at most four spaces or signs between two words. This search is independent of the one in `kernel.py`, so that it finds
spellings that `kernel.py` misses.
"""

from __future__ import annotations

import functools
import re
import sys
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from dataprep.core.audit import BYTES, FRAGMENT, TEXT, Finding, Strings

from .matching import words
from .phones import Phones, phone
from .unspaced import is_unspaced

BETWEEN = "\x1e"
_GAP = "[ \t\u00a0\u2007\u2009\u202f_.'\u2019\u2010-\u2015-]{1,4}"
_WORD = re.compile(r"[^\W_]+")
_PSEUDONYM = re.compile("-[b-df-hj-np-t]{2,}(?![^\\W_])")  # "Person-hsjb" is nobody called Person
_OWN_CHARS = 200  # of a value that the program wrote
# max_found, data/part-00000-000.parquet, steps/05-MinHash-0123abcd/keys
_IDENTIFIER = re.compile(r"/?[a-z0-9.-]+[_/](?:[a-z0-9._-]+/)*(?:\d\d-[\w-]+-[0-9a-f]{8}/)?[a-z0-9._/-]+")
_LETTERS = 3  # of a name between spaces; a shorter one occurs by chance
_SURE_BYTES = 8  # of a single name among bytes that are not text
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
    plain = _marks().sub("", unicodedata.normalize("NFKD", text)).casefold()
    return plain.translate(_SAME)


_SAME = {0x629: 0x647, 0x649: 0x64A, 0x6CC: 0x64A, 0x6A9: 0x643, 0x131: 0x69}


@functools.cache
def _marks() -> re.Pattern[str]:
    points = (chr(c) for c in range(sys.maxunicode + 1) if unicodedata.category(chr(c)) in ("Mn", "Cf") or c == 0x640)
    return re.compile("[" + "".join(map(re.escape, points)) + "]")


def parts(name: str) -> tuple[str, ...]:
    """Return the words of a name, without case, accents and invisible signs, as a tuple."""
    return tuple(_WORD.findall(folded_text(name)))


@dataclass(frozen=True)
class KnownPeople:
    """Finds people in strings, to check that an output folder names nobody (`dataprep.core.audit`).

    names: spellings of names, phone numbers, e-mail addresses and handles. stay: words that may occur by themselves.
    own: names that may occur, such as that of a person who trains a model on their own messages.
    """

    names: tuple[str, ...]
    stay: frozenset[str] = frozenset()
    own: tuple[str, ...] = ()

    def __call__(self, strings: Strings) -> Iterator[Finding]:
        """Yield a Finding for each name or number in `strings`; in bytes of other files, names only."""
        tables = _tables(self)
        raw = BETWEEN.join(strings.values)
        text = folded_text(raw)
        found = tables.words.keys() & set(_WORD.findall(text))
        for word in sorted(found):
            for name, pattern in tables.words[word]:
                yield from self._hits(name, pattern, text, strings)
        for name, pattern in tables.anywhere:
            if pattern.search(text):
                yield from self._hits(name, pattern, text, strings, least=1)
        if strings.how != BYTES:
            for start, end, number in tables.phones.find(raw):
                if not (raw[start - 1 : start].isalpha() or raw[end : end + 1].isalpha()):
                    yield Finding(number, raw.count(BETWEEN, 0, start), number in tables.own)

    def _hits(
        self, name: str, pattern: re.Pattern[str], text: str, strings: Strings, least: int = _LETTERS
    ) -> Iterator[Finding]:
        single = _WORD.fullmatch(name) is not None
        if single and (strings.how in (FRAGMENT, TEXT) or (strings.how == BYTES and len(name.encode()) < _SURE_BYTES)):
            return
        stays = name in _tables(self).own or (single and (len(name) < least or name in self.stay))
        row, at = 0, 0
        for m in pattern.finditer(text):
            row, at = row + text.count(BETWEEN, at, m.start()), m.start()
            if not (single and not stays and self._is_own(strings.values[row], text, m.end())):
                yield Finding(name, row, stays)

    def _is_own(self, value: str, text: str, end: int) -> bool:
        """Return whether a single name that ends at `end` is a word of the program: in a pseudonym or an identifier."""
        if _PSEUDONYM.match(text, end):
            return True
        if len(value) > _OWN_CHARS:
            return False
        return bool(_IDENTIFIER.fullmatch(value)) or {*_WORD.findall(folded_text(value))} <= OWN


@dataclass(frozen=True)
class _Tables:
    """What is searched: names by their first word, addresses and names of scripts without spaces, phone numbers."""

    words: dict[str, list[tuple[str, re.Pattern[str]]]]
    anywhere: list[tuple[str, re.Pattern[str]]]
    phones: Phones
    own: frozenset[str]


@functools.lru_cache(maxsize=4)
def _tables(people: KnownPeople) -> _Tables:
    by_word: dict[str, list[tuple[str, re.Pattern[str]]]] = defaultdict(list)
    anywhere: list[tuple[str, re.Pattern[str]]] = []
    for name in sorted({*people.names, *people.own}):
        found = parts(name)
        if "@" in name.strip()[1:]:
            address = folded_text(name.strip())
            anywhere.append((address, re.compile(rf"(?<![^\W_]){re.escape(address)}(?![^\W_])")))
        elif found and not phone(name) and not "".join(found).isdecimal():
            spelled = " ".join(found)
            if is_unspaced("".join(words(name))):
                anywhere.append(("".join(found), re.compile(f"(?:{_GAP})?".join(map(re.escape, found)))))
            pattern = re.compile(rf"(?<![^\W_]){_GAP.join(map(re.escape, found))}(?![^\W_])")
            if all(spelled != other for other, _ in by_word[found[0]]):
                by_word[found[0]].append((spelled, pattern))
    numbers = {number for name in people.names if (number := phone(name))}
    return _Tables(dict(by_word), anywhere, Phones(numbers), _spelled(people.own))


def _spelled(names: Iterable[str]) -> frozenset[Any]:
    return frozenset(form for name in names for form in (" ".join(parts(name)), phone(name), *parts(name)) if form)
