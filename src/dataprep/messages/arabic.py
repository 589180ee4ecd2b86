"""One spelling for what people type in many: Arabic letters with and without their signs, and Arabizi. Off by default.

Use them for copies that are compared (deduplication, search) or where a model shall see one form; each switch loses
something that somebody wrote on purpose.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dataprep.core import batch as B
from dataprep.core.batch import Batch
from dataprep.core.ledger import Ledger
from dataprep.core.stage import Stage
from dataprep.errors import PlanError
from dataprep.unicode.kernel import kernel
from dataprep.unicode.text import I64, U8, U16, U32, WORD, Int, classes, code_point, put

GONE = 0xFFFFFFFF
_DIACRITICS = (*range(0x610, 0x61B), *range(0x64B, 0x660), 0x670, *range(0x6D6, 0x6DD), *range(0x6DF, 0x6E5),
               0x6E7, 0x6E8, *range(0x6EA, 0x6EE))  # fmt: skip
ARABIC: Mapping[str, Mapping[int, int]] = {
    "tatweel": {0x640: GONE},
    "diacritics": dict.fromkeys(_DIACRITICS, GONE),
    "alef": dict.fromkeys((0x622, 0x623, 0x625, 0x671), 0x627),
    "yeh": {0x649: 0x64A, 0x6CC: 0x64A},
    "ta_marbuta": {0x629: 0x647},
}
"""What each switch of `NormalizeArabic` makes of which code points."""


@dataclass(frozen=True, kw_only=True)
class NormalizeArabic(Stage):
    """Write Arabic letters in one form; each switch is off until it is asked for.

    >>> NormalizeArabic(tatweel=True, diacritics=True)      # what few miss
    >>> NormalizeArabic(alef=True, yeh=True)                # also what changes words

    tatweel: the stretching line (U+0640) goes. diacritics: vowel signs, shadda, tanwin and the Quran's signs go, hamzas
    written as signs of their own too. alef: alef with madda, hamza above or below or wasla becomes bare alef.
    yeh: alef maqsura and the Persian yeh become yeh. ta_marbuta: becomes heh.

    Characters changed are counted as arabic.tatweel ...
    """

    tatweel: bool = False
    diacritics: bool = False
    alef: bool = False
    yeh: bool = False
    ta_marbuta: bool = False

    def __call__(self, batches: Iterator[Batch], stats: Ledger) -> Iterator[Batch]:
        """Map every character."""
        chosen = _chosen(self)
        table, which = np.arange(0x110000, dtype=np.uint32), np.zeros(0x110000, np.uint8)
        for number, name in enumerate(ARABIC):
            for c, new in ARABIC[name].items() if name in chosen else ():
                table[c], which[c] = new, number + 1
        for batch in batches:
            offsets, data, counts = mapped(*B.buffers(batch), table, which, len(ARABIC) + 1)
            for name, n in zip(ARABIC, counts[1:].tolist(), strict=True):
                stats.count(f"arabic.{name}", n)
            yield B.with_column(batch, "text", B.strings(offsets, data)) if counts[1:].any() else batch

    def warm(self) -> None:
        """Compile the kernel."""
        list(self(iter([B.make([0], ["a"], "warm")]), Ledger(self.name)))


DIGITS, HEH, SHEEN, REPEATS, DOUBLES, VOWELS = 1, 2, 4, 8, 16, 32
ARABIZI = {"digits": DIGITS, "heh": HEH, "sheen": SHEEN, "repeats": REPEATS, "doubles": DOUBLES, "vowels": VOWELS}
UNITS = """
h hr hrs s sec m mn min km kg g k dh dhs mad eur am pm d e eme th nd rd st er x v p o ko mo go to kb mb gb tb mm cm ml l
""".split()  # noqa: SIM905 - behind a digit: a number
MAX_LETTERS = 64  # a longer run of letters is no word


@dataclass(frozen=True, kw_only=True)
class NormalizeArabizi(Stage):
    """Write Arabizi in one spelling; each switch is off until it is asked for.

    >>> NormalizeArabizi(digits=True, heh=True, sheen=True, repeats=True)    # "Wax 5ouya b7aaaal" -> "Wash khouya bhal"

    digits: 5 becomes kh, 9 q, 6 t, 4 gh (2 and 3 have no letter of their own and stay). heh: 7 becomes h, which joins
    two letters. sheen: ch and x become sh. repeats: three and more of a letter become one; doubles: two as well.
    vowels: ou and o become u, y i, w u, and e goes: a form to compare, no longer one to read.

    Only words of ASCII letters and digits change, with a letter among them: not 2024, B2B1200, 5dh, 9h, été. And only
    in messages whose column `language` is `language`, since French and English have ch and x, too; None: in all.
    Words changed are counted as arabizi.digits ... Measured: docs/chats-safety.md.
    """

    digits: bool = False
    heh: bool = False
    sheen: bool = False
    repeats: bool = False
    doubles: bool = False
    vowels: bool = False
    language: str | None = "ary_Latn"

    def __post_init__(self) -> None:
        if self.language == "":
            msg = "language='' is none; give the code of Arabizi in the column `language`, or None for every message"
            raise PlanError(msg)

    @property
    def needs(self) -> tuple[str, ...]:  # type: ignore[override]
        """The column `language`, unless every message is meant."""
        return () if self.language is None else ("language",)

    def __call__(self, batches: Iterator[Batch], stats: Ledger) -> Iterator[Batch]:
        """Rewrite the words of the messages that are Arabizi."""
        rules = sum(ARABIZI[name] for name in _chosen(self))
        units = np.array([int.from_bytes(unit.encode(), "big") for unit in UNITS], np.int64)
        for batch in batches:
            mine = np.ones(batch.num_rows, bool) if self.language is None else _is(batch["language"], self.language)
            offsets, data, counts = respelled(*B.buffers(batch), mine, classes(), units, rules)
            for name, n in zip(ARABIZI, counts.tolist(), strict=True):
                stats.count(f"arabizi.{name}", n)
            yield B.with_column(batch, "text", B.strings(offsets, data)) if counts.any() else batch

    def warm(self) -> None:
        """Compile the kernel."""
        batch = B.make([0], ["a"], "warm", columns={"language": pa.array(["ary_Latn"])})
        list(self(iter([batch]), Ledger(self.name)))


def _chosen(stage: Any) -> list[str]:
    """The switches that are on."""
    return [f.name for f in fields(stage) if getattr(stage, f.name) is True]


def _is(languages: pa.Array, language: str) -> Any:
    return np.asarray(pc.fill_null(pc.equal(languages.cast(pa.string()), language), fill_value=False)).astype(bool)


@kernel
def mapped(offsets: I64, data: U8, table: U32, which: U8, n_kinds: int) -> tuple[I64, U8, I64]:
    """Every character by a table (GONE: left out): offsets int64[n + 1], bytes, and how many of each kind changed.

    No character may become longer in UTF-8.
    """
    n = len(offsets) - 1
    ends, out, counts = (
        np.zeros(n + 1, np.int64),
        np.empty(offsets[n] - offsets[0], np.uint8),
        np.zeros(n_kinds, np.int64),
    )
    k = 0
    for d in range(n):
        i = offsets[d]
        while i < offsets[d + 1]:
            if data[i] < 0x80:
                out[k] = data[i]
                i += 1
                k += 1
                continue
            c, size = code_point(data, i)
            counts[which[c]] += 1
            new = np.int64(table[c])
            if new != GONE:
                k = put(out, k, new)
            i += size
        ends[d + 1] = k
    return ends, out[:k], counts


@kernel(inline="always")
def _lower(b: Int) -> Int:
    return b + 32 if 65 <= b <= 90 else b


@kernel
def _is_word(data: U8, start: Int, stop: Int, units: I64) -> bool:
    """Whether an ASCII word may be Arabizi: a letter, no two digits in a row, no number with a unit (5dh)."""
    letters, row, behind = 0, 0, np.int64(0)
    for i in range(start, stop):
        is_digit = 48 <= data[i] <= 57
        row = row + 1 if is_digit else 0
        if row == 2:
            return False
        letters += not is_digit
        if i > start:
            behind = behind << 8 | _lower(np.int64(data[i]))
    if 48 <= data[start] <= 57 and stop - start <= 4:
        for unit in units:
            if unit == behind:
                return False
    return letters > 0


@kernel
def _spelled(data: U8, start: Int, stop: Int, word: U8, other: U8, rules: int, counts: I64) -> Int:
    """One word by the rules, one after the other, into `word`: its length. Counts the rules that changed it."""
    n, hit = 0, 0
    for i in range(start, stop):  # digits and heh
        b = np.int64(data[i])
        two: Int = 0
        one: Int = b
        if rules & 1:
            if b == 53:
                two, one = 107, 104
            elif b == 52:
                two, one = 103, 104
            elif b == 57:
                one = 113
            elif b == 54:
                one = 116
            hit |= 1 if one != b else 0
        if rules & 2 and b == 55:
            one, hit = 104, hit | 2
        if two:
            word[n] = two
            n += 1
        word[n] = one
        n += 1
    if rules & 4:  # sheen
        m = 0
        for i in range(n):
            b = np.int64(word[i])
            if _lower(b) == 99 and i + 1 < n and _lower(np.int64(word[i + 1])) == 104:
                other[m] = b + 16  # c to s, C to S
                hit |= 4
            elif _lower(b) == 120:
                other[m], other[m + 1] = b - 5, 104  # x to s and h
                m += 1
                hit |= 4
            else:
                other[m] = b
            m += 1
        n = m
        for i in range(n):
            word[i] = other[i]
    for rule, least in ((8, 3), (16, 2)):  # repeats, doubles
        if rules & rule:
            m, i = 0, 0
            while i < n:
                j = i
                while j < n and _lower(np.int64(word[j])) == _lower(np.int64(word[i])):
                    j += 1
                is_letter = _lower(np.int64(word[i])) >= 97
                left = 1 if j - i >= least and is_letter else j - i
                hit |= rule if left < j - i else 0
                for _ in range(left):
                    word[m] = word[i]
                    m += 1
                i = j
            n = m
    if rules & 32:  # vowels
        m = 0
        for i in range(n):
            b = np.int64(word[i])
            c = _lower(b)
            before = _lower(np.int64(word[i - 1])) if i > 0 else 0
            if c == 101 or (c == 117 and before == 111):  # e; the u of ou
                hit |= 32
                continue
            new = b
            if c in (111, 119):
                new = b + 117 - c
            elif c == 121:
                new = b - 16
            hit |= 32 if new != b else 0
            other[m] = new
            m += 1
        n = m
        for i in range(n):
            word[i] = other[i]
    for k in range(len(counts)):
        counts[k] += hit >> k & 1
    return n


@kernel
def respelled(offsets: I64, data: U8, mine: Any, table: U16, units: I64, rules: int) -> tuple[I64, U8, I64]:
    """The texts with their Arabizi words respelled where `mine`: offsets, bytes, words changed by each rule."""
    n = len(offsets) - 1
    ends, out, counts = (
        np.zeros(n + 1, np.int64),
        np.empty(2 * (offsets[n] - offsets[0]), np.uint8),
        np.zeros(6, np.int64),
    )
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
                m = _spelled(data, i, j, word, other, rules, counts)
                for x in range(m):
                    out[k] = word[x]
                    k += 1
            else:
                for x in range(i, j):
                    out[k] = data[x]
                    k += 1
            if j < stop:  # and the sign behind it
                c, size = code_point(data, j)
                for x in range(j, j + size):
                    out[k] = data[x]
                    k += 1
                j += size
            i = j
        ends[d + 1] = k
    return ends, out[:k], counts
