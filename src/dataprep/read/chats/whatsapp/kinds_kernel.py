"""Kernels that find WhatsApp messages that may be notices or placeholders, in one pass over their first lines.

Slow reference for the tests: tests/twins/whatsapp_kinds.py
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dataprep.unicode.kernel import kernel

from .eight_bytes import HIGH, ONES, first_byte, load64

MAYBE = 1  # the first line may be a placeholder, or the last one may end with an edit mark
TRIM = 2  # a direction mark, a line feed or a carriage return is at an end
MARKED = 4  # the first line has U+200E or U+200F

SEED, PRIME = np.uint64(14_695_981_039_346_656_037), np.uint64(1_099_511_628_211)  # FNV-1a, 64 bits
SLOTS = 1 << 13  # slots of the table of hashes; 0 is empty
LONGEST = 160  # bytes of a first line that are hashed; no phrase is longer
SKIPPED = b" <>.\r\t"  # bytes a hash leaves out, in addition to direction marks
BEGINNINGS = (4, 12)  # bytes of a phrase, of those that are hashed, after which a text without that beginning is left
FEEDS, FIRST_OF_MARKS = np.uint64(10) * ONES, np.uint64(0xE2) * ONES
TOP = np.uint64(48)  # shift of a hash to its 16 high bits
_MULTIPLIER, _MASK = 1_099_511_628_211, (1 << 64) - 1


def fold_hash(phrase: bytes) -> int:
    """Return a hash of a phrase, for `look`; it is the same for any case, spaces, full stops and < >.

    Args:
        phrase: UTF-8, without direction marks.
    """
    h = 14_695_981_039_346_656_037
    for c in phrase:
        if c not in SKIPPED:
            h = (h ^ (c | 32 if 65 <= c <= 90 else c)) * _MULTIPLIER & _MASK
    return h or 1


def beginnings_of(phrases: set[str]) -> npt.NDArray[np.bool_]:
    """Return for the 16 high bits of a hash whether a phrase's beginning has them, bool[65536].

    The beginnings are the first 4 and the first 12 bytes that are hashed, of all phrases that are so long.
    """
    found = np.zeros(1 << 16, np.bool_)
    for phrase in phrases:
        hashed = bytes(c for c in phrase.encode() if c not in SKIPPED)
        for n in BEGINNINGS:
            found[fold_hash(hashed[:n]) >> int(TOP)] |= len(hashed) >= n
    return found


def table_of(phrases: set[str]) -> npt.NDArray[np.uint64]:
    """Return a hash table of the phrases, uint64[SLOTS]: their hashes, 0 for empty slots."""
    table = np.zeros(SLOTS, np.uint64)
    for h in sorted({fold_hash(p.encode()) for p in phrases}):
        slot = h % SLOTS
        while table[slot]:
            slot = (slot + 1) % SLOTS
        table[slot] = h
    return table


@kernel
def look(
    offsets: npt.NDArray[np.int64], data: npt.NDArray[np.uint8], table: npt.NDArray[np.uint64],
    beginnings: npt.NDArray[np.bool_],
) -> npt.NDArray[np.uint8]:  # fmt: skip
    """Return flags (bits) for each text, uint8[n], which state whether WhatsApp may have written it.

    Args:
        offsets: text k is data[offsets[k]:offsets[k + 1]].
        data: the texts, UTF-8 bytes.
        table: the hashes of phrases (`table_of`).
        beginnings: the hashes of their beginnings (`beginnings_of`). Bits: MAYBE: the text must be examined. TRIM:
            marks or line breaks are at its ends. MARKED: its first line has a direction mark.
    """
    out = np.zeros(len(offsets) - 1, np.uint8)
    for row in range(len(out)):
        start, stop = offsets[row], offsets[row + 1]
        if start < stop:
            end, flags = _first_line(data, start, stop, table, beginnings)
            if _first_end(data, start, end, stop, table) or _closes(data, start, _back(data, start, stop)):
                flags |= MAYBE
            edge = data[start] in (10, 13) or data[stop - 1] in (10, 13)
            if edge or _mark(data, start, stop) or _mark(data, max(start, stop - 3), stop):
                flags |= TRIM
            out[row] = flags
    return out


@kernel
def _first_line(
    data: npt.NDArray[np.uint8], start: int, stop: int, table: npt.NDArray[np.uint64],
    beginnings: npt.NDArray[np.bool_],
) -> tuple[int, int]:  # fmt: skip
    """Return the end of the first line, and flags: MAYBE if a hash of it, or up to a space, sign or digit, is known."""
    flags, h, i, n = 0, SEED, start, 0
    while i < stop and data[i] != 10:
        mark = _mark(data, i, stop)
        if mark:
            if mark == 2:
                flags |= MARKED | MAYBE
            i += 3
            continue
        if data[i] == 0xC2 and i + 1 < stop and data[i + 1] == 0xA0:
            i += 2
            continue
        if data[i] == 0xE3 and i + 2 < stop and data[i + 1] == 0x80 and data[i + 2] == 0x82:
            i += 3
            continue
        c = data[i]
        if i - start >= LONGEST:
            return _rest(data, i, stop, flags)
        if (c in (32, 44, 46, 58) or 48 <= c <= 57) and _has(table, h):
            flags |= MAYBE
        i += 1
        if c not in (32, 60, 62, 46, 13, 9):
            h = _fold(h, c)
            n += 1
            if n in BEGINNINGS and not beginnings[h >> TOP]:
                return _rest(data, i, stop, flags)
    if i - start <= LONGEST and _has(table, h):
        flags |= MAYBE
    return i, flags


@kernel
def _rest(data: npt.NDArray[np.uint8], i: int, stop: int, flags: int) -> tuple[int, int]:
    """Return the end of the line that i is in, and flags, with MARKED and MAYBE if there is a mark before that end."""
    while i < stop:
        if i + 8 <= stop:
            word: np.uint64 = load64(data, i)
            feed, mark = word ^ FEEDS, word ^ FIRST_OF_MARKS
            hit = (((feed - ONES) & ~feed) | ((mark - ONES) & ~mark)) & HIGH
            if not hit:
                i += 8
                continue
            i += int(first_byte(hit))
        if data[i] == 10:
            return i, flags
        if _mark(data, i, stop) == 2:
            flags |= MARKED | MAYBE
        i += 1
    return i, flags


@kernel
def _first_end(data: npt.NDArray[np.uint8], start: int, end: int, stop: int, table: npt.NDArray[np.uint64]) -> bool:
    """Return whether the first line ends like those of files and polls: `>`, a colon, a known phrase in brackets."""
    last = _back(data, start, end) - 1
    c = data[last]
    if c == 62:  # ">"
        return True
    if c == 58 or (c == 0x9A and last > start and data[last - 1] == 0xBC):  # ":", U+FF1A
        return end < stop and last - start < LONGEST
    wide = c == 0x89 and last >= start + 2 and data[last - 1] == 0xBC and data[last - 2] == 0xEF  # U+FF09
    if c != 41 and not wide:
        return False
    if end - start > 5 and data[start + 3] == 45 and 48 <= data[start + 4] <= 57:  # IMG-2...
        return True
    last -= 2 * wide
    i = last - 1
    while i > max(start, last - LONGEST) and data[i] != 40 and not (data[i] == 0x88 and data[i - 1] == 0xBC):
        i -= 1
    h = SEED
    for j in range(i + 1, last):
        h = _fold(h, data[j])
    return _has(table, h)


@kernel
def _closes(data: npt.NDArray[np.uint8], start: int, stop: int) -> bool:
    """Return whether data[start:stop] ends with > or U+203A."""
    guillemet = data[stop - 1] == 0xBA and stop - 3 > start and data[stop - 2] == 0x80 and data[stop - 3] == 0xE2
    return bool(data[stop - 1] == 62 or guillemet)


@kernel
def _back(data: npt.NDArray[np.uint8], start: int, stop: int) -> int:
    """Return the end of data[start:stop] without trailing white space and marks; at least start + 1."""
    while stop > start + 1:
        if data[stop - 1] in (9, 10, 13, 32):
            stop -= 1
        elif stop - 3 > start and _mark(data, stop - 3, stop):
            stop -= 3
        elif data[stop - 1] == 0xA0 and data[stop - 2] == 0xC2:  # no-break space
            stop -= 2
        else:
            break
    return stop


@kernel
def _mark(data: npt.NDArray[np.uint8], i: int, stop: int) -> int:
    """Return 2 for U+200E and U+200F, 1 for the byte order mark, other direction marks and U+202F, else 0."""
    if data[i] < 0xE2 or i + 2 >= stop:
        return 0
    a, b, c = data[i], data[i + 1], data[i + 2]
    if a == 0xE2 and b == 0x80:
        return 2 if c in (0x8E, 0x8F) else int(0xAA <= c <= 0xAF)
    return int((a == 0xE2 and b == 0x81 and 0xA6 <= c <= 0xA9) or (a == 0xEF and b == 0xBB and c == 0xBF))


@kernel
def _fold(h: np.uint64, c: np.uint8) -> np.uint64:
    """Return the hash with one more byte; ASCII capitals count as small letters, and SKIPPED bytes are ignored."""
    if c in (32, 60, 62, 46, 13, 9):
        return h
    return (h ^ np.uint64(c | 32 if 65 <= c <= 90 else c)) * PRIME


@kernel
def _has(table: npt.NDArray[np.uint64], h: np.uint64) -> bool:
    slot = h & np.uint64(SLOTS - 1)
    while table[slot]:
        if table[slot] == h:
            return True
        slot = (slot + np.uint64(1)) & np.uint64(SLOTS - 1)
    return False
