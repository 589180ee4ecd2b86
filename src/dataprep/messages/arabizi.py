"""NormalizeArabizi: write spelling variants of Arabizi (Arabic in Latin letters and digits) in one form.

Use it on copies that are compared (deduplication, search), or if a model should see a single form. Each switch removes
differences that the author may have made on purpose.

Slow reference for the tests: tests/twins/arabizi.py
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dataprep.core.model import batch as B
from dataprep.core.model.batch import Batch
from dataprep.core.model.ledger import Ledger
from dataprep.core.model.stage import Stage
from dataprep.unicode.kernel import kernel
from dataprep.unicode.language_tags import tag_of
from dataprep.unicode.text import I64, U8, U16, WORD, Int, classes, code_point

from .arabic import switches_on

DIGITS, HEH, SHEEN, REPEATS, DOUBLES, VOWELS = 1, 2, 4, 8, 16, 32
ARABIZI = {"digits": DIGITS, "heh": HEH, "sheen": SHEEN, "repeats": REPEATS, "doubles": DOUBLES, "vowels": VOWELS}
UNITS = """
h hr hrs s sec m mn min km kg g k dh dhs mad eur am pm d e eme th nd rd st er x v p o ko mo go to kb mb gb tb mm cm ml l
""".split()  # noqa: SIM905 - after a digit: a number
MAX_LETTERS = 64  # a longer run of letters is not a word


@dataclass(frozen=True, kw_only=True)
class NormalizeArabizi(Stage):
    """Write Arabizi in one spelling; every switch is off by default.

    >>> NormalizeArabizi(digits=True, heh=True, sheen=True, repeats=True)    # "Wax 5ouya b7aaaal" -> "Wash khouya bhal"

    Args:
        digits: whether to write 5 as kh, 9 as q, 6 as t and 4 as gh; 2 and 3 have no equivalent letter and are kept.
        heh: whether to write 7 as h, which makes two sounds one letter.
        sheen: whether to write ch and x as sh.
        repeats: whether to write three or more of the same letter as one.
        doubles: whether to also write two of the same letter as one.
        vowels: whether to write ou and o as u, y as i and w as u, and to remove e. The result is meant for comparison
            and is hardly readable.
        language: the value of the `language` column in messages to change, because French and English also use ch and
            x; None: all messages are changed.

    Only words of ASCII letters and digits that contain a letter are changed, for example not 2024, B2B1200, 5dh, 9h or
    été. Changed words are counted as arabizi.digits, arabizi.heh and so on. docs/chats-safety.md has measurements.
    Raises PlanError if `language` is not a language tag.
    """

    digits: bool = False
    heh: bool = False
    sheen: bool = False
    repeats: bool = False
    doubles: bool = False
    vowels: bool = False
    language: str | None = "ary_Latn"

    compiled: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.language is not None:
            tag = tag_of(self.language, "NormalizeArabizi: language=", ", or None for every message")
            object.__setattr__(self, "language", "_".join(filter(None, tag)))

    @property
    def needs(self) -> tuple[str, ...]:  # type: ignore[override]
        """The columns that this stage reads: `language`, or none if all messages are changed."""
        return () if self.language is None else ("language",)

    def __call__(self, batches: Iterator[Batch], stats: Ledger) -> Iterator[Batch]:
        """Yield the same documents with Arabizi words respelled; changed words are counted in `stats`."""
        rules = sum(ARABIZI[name] for name in switches_on(self))
        units = np.array([int.from_bytes(unit.encode(), "big") for unit in UNITS], np.int64)
        for batch in batches:
            mine = np.ones(batch.num_rows, bool) if self.language is None else _is(batch["language"], self.language)
            offsets, data, counts = respelled(*B.buffers(batch), mine, classes(), units, rules)
            for name, n in zip(ARABIZI, counts.tolist(), strict=True):
                stats.count(f"arabizi.{name}", n)
            yield B.with_column(batch, "text", B.strings(offsets, data)) if counts.any() else batch


def _is(languages: pa.Array, language: str) -> Any:
    """Return which messages are in a language, in any spelling of its tag; bool[n]."""
    tag = tag_of(language, "language=")
    names = pa.array([*tag.spellings, *tag._replace(region="").spellings], pa.string())
    return np.asarray(pc.is_in(languages.cast(pa.string()), names)).astype(bool)


@kernel(inline="always")
def _lower(b: Int) -> Int:
    return b + 32 if 65 <= b <= 90 else b


@kernel
def _is_word(data: U8, start: Int, stop: Int, units: I64) -> bool:
    """Return whether an ASCII word may be Arabizi: it has a letter, no two digits in a row, and is not a unit (5dh)."""
    letters, row, unit_letters = 0, 0, np.int64(0)
    for i in range(start, stop):
        is_digit = 48 <= data[i] <= 57
        row = row + 1 if is_digit else 0
        if row == 2:
            return False
        letters += not is_digit
        if i > start:
            unit_letters = unit_letters << 8 | _lower(np.int64(data[i]))
    if 48 <= data[start] <= 57 and stop - start <= 4:
        for unit in units:
            if unit == unit_letters:
                return False
    return letters > 0


@kernel
def _respell_consonants(data: U8, start: Int, stop: Int, word: U8, other: U8, rules: int) -> tuple[Int, Int]:
    """Write [start, stop) of `data` into `word` by the rules digits, heh and sheen; return length and rules applied."""
    n, applied = 0, 0
    for i in range(start, stop):
        b = np.int64(data[i])
        two: Int = 0
        one: Int = b
        if rules & DIGITS:
            if b == 53:
                two, one = 107, 104
            elif b == 52:
                two, one = 103, 104
            elif b == 57:
                one = 113
            elif b == 54:
                one = 116
            applied |= DIGITS if one != b else 0
        if rules & HEH and b == 55:
            one, applied = 104, applied | HEH
        if two:
            word[n] = two
            n += 1
        word[n] = one
        n += 1
    if rules & SHEEN == 0:
        return n, applied
    m = 0
    for i in range(n):
        other[i] = word[i]
    for i in range(n):
        b = np.int64(other[i])
        if _lower(b) == 99 and i + 1 < n and _lower(np.int64(other[i + 1])) == 104:
            word[m] = b + 16  # c to s, C to S
            applied |= SHEEN
        elif _lower(b) == 120:
            word[m], word[m + 1] = b - 5, 104  # x to s and h
            m += 1
            applied |= SHEEN
        else:
            word[m] = b
        m += 1
    return m, applied


@kernel
def _shorten(word: U8, n: Int, rules: int) -> tuple[Int, Int]:
    """Apply the rules repeats, doubles and vowels to a word, in place; return its length and the rules applied."""
    applied = 0
    for rule, least in ((REPEATS, 3), (DOUBLES, 2)):
        if rules & rule:
            m, i = 0, 0
            while i < n:
                j = i
                while j < n and _lower(np.int64(word[j])) == _lower(np.int64(word[i])):
                    j += 1
                is_letter = _lower(np.int64(word[i])) >= 97
                left = 1 if j - i >= least and is_letter else j - i
                applied |= rule if left < j - i else 0
                for _ in range(left):
                    word[m] = word[i]
                    m += 1
                i = j
            n = m
    if rules & VOWELS:
        m, c = 0, np.int64(0)
        for i in range(n):
            b, before = np.int64(word[i]), c
            c = _lower(b)
            if c == 101 or (c == 117 and before == 111):  # e; the u of ou
                applied |= VOWELS
                continue
            new = b
            if c in (111, 119):
                new = b + 117 - c
            elif c == 121:
                new = b - 16
            applied |= VOWELS if new != b else 0
            word[m] = new
            m += 1
        n = m
    return n, applied


@kernel
def respelled(offsets: I64, data: U8, mine: Any, table: U16, units: I64, rules: int) -> tuple[I64, U8, I64]:
    """Respell the Arabizi words of n texts; return (offsets int64[n + 1], bytes, changed words per rule int64[6]).

    Args:
        offsets: text k is data[offsets[k]:offsets[k + 1]].
        data: the texts, UTF-8 bytes.
        mine: bool[n], the texts to change.
        table: uint16, the class of each code point.
        units: int64, units of measure such as the dh of 5dh, which do not change.
        rules: the bits of the rules that are on.
    """
    n = len(offsets) - 1
    ends, counts = np.zeros(n + 1, np.int64), np.zeros(6, np.int64)
    out = np.empty(2 * (offsets[n] - offsets[0]), np.uint8)
    word, other = np.empty(4 * MAX_LETTERS, np.uint8), np.empty(4 * MAX_LETTERS, np.uint8)
    k = 0
    for d in range(n):
        i, stop = offsets[d], offsets[d + 1]
        while i < stop:
            j, is_ascii = i, True
            while j < stop:  # a word
                c, size = code_point(data, j)
                if table[c] & WORD == 0 or c == 95:
                    break
                is_ascii = is_ascii and c < 128
                j += size
            if mine[d] and is_ascii and i < j <= i + MAX_LETTERS and _is_word(data, i, j, units):
                m, applied = _respell_consonants(data, i, j, word, other, rules)
                if rules & (REPEATS | DOUBLES | VOWELS):
                    m, more = _shorten(word, m, rules)
                    applied |= more
                for r in range(len(counts)):
                    counts[r] += applied >> r & 1
                for x in range(m):
                    out[k] = word[x]
                    k += 1
            else:
                for x in range(i, j):
                    out[k] = data[x]
                    k += 1
            if j < stop:  # and the sign after it
                c, size = code_point(data, j)
                for x in range(j, j + size):
                    out[k] = data[x]
                    k += 1
                j += size
            i = j
        ends[d + 1] = k
    return ends, out[:k], counts
