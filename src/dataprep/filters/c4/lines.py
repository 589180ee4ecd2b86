"""The vectorised part of C4: find the line breaks of a page, and the offsets at which phrases may begin.

A block of the page is lower-cased into a buffer of 4 kB and compared with constants, 64 bytes at once
(`unicode/byte_masks.py`); about one byte in sixty must be examined further. A phrase is searched for by its two rarest
letters, and compared in full if both are found. (An automaton over single bytes is slower, because each table look-up
must wait for the previous one.)

Slow reference for the tests: tests/twins/c4.py.

`_nrt=False` switches off reference counting of arrays (a kernel called for every line reads 31 MB/s with counting, and
460 MB/s without it). Such a kernel cannot create arrays; it uses those of its caller.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dataprep.filters.packed_strings import Packed, pack, starts_with
from dataprep.unicode.byte_masks import WIDTH, bytes_equal, bytes_within, lowest_bit
from dataprep.unicode.kernel import kernel
from dataprep.unicode.text import DOTTED, I64, POINT, U8, U32, Int, code_point, put

BLOCK = 4096  # bytes marked at a time: the buffers stay in the first-level cache

# Bits for the content of a line; those of phrases are above.
BRACKET, CURLY, FOLD = 2, 4, 8  # FOLD: U+0130 or U+212A, whose lower case has an ASCII letter

RAREST_FIRST = "zqjxkvbpygfwmucldrhsnioate "  # English letters


class Phrases(NamedTuple):
    """Lower-case phrases in the form that the kernels read.

    Attributes:
        words: the bytes of the phrases.
        bits: int64[phrases], the flags that a line gets if the phrase occurs in it.
        anchors: int64[phrases, 4], the offset and the byte of each of a phrase's two rarest letters.
        longest: the number of bytes of the longest phrase.
    """

    words: Packed
    bits: I64  # bits of a line that contains phrase k
    anchors: I64  # [k, 4]: offset and byte of its two rarest letters
    longest: int


def pack_phrases(phrases: Sequence[tuple[str, int]]) -> Phrases:
    """Return phrases in the form that kernels read.

    Args:
        phrases: pairs (phrase, integer); the integer is the flag bits that a line gets if the phrase occurs in it.
    """
    words = [fold_text(phrase).encode() for phrase, _ in phrases]
    anchors = np.array([_anchor(w) for w in words], np.int64).reshape(-1, 4)
    bits = np.array([bit for _, bit in phrases], np.int64)
    return Phrases(pack(words), bits, anchors, max([1, *map(len, words)]))


def fold_text(text: str) -> str:
    """Return a text in lower case, exactly as `fold_line` writes it: both small sigmas become the same letter."""
    return text.lower().replace("ς", "σ")


def _anchor(word: bytes) -> tuple[int, int, int, int]:
    order = sorted(range(len(word)), key=lambda i: (_rank(word[i]), i))
    first, second = order[0], order[min(1, len(order) - 1)]
    return first, word[first], second, word[second]


def _rank(byte: int) -> int:
    """Return a rank: small for rare bytes (digits, signs), then letters; other scripts' lead bytes are common."""
    return 99 if byte >= 0xC0 else RAREST_FIRST.find(chr(byte)) if byte < 0x80 else 20


class Room(NamedTuple):
    """The work buffers of the kernels, made once per batch.

    Attributes:
        low: uint8, a block (BLOCK bytes) of a page in lower case, and some bytes after it.
        ends: int64[BLOCK], for each line that ends in the block, the offset of its end from the block's start.
        holds: uint8[BLOCK], for each of these lines, the flags of the phrases and brackets in it.
        cited: uint8, a line without its citations.
        folded: uint8, a line in lower case.
    """

    low: U8  # a block in lower case, and after it as many bytes as a phrase can reach
    ends: I64  # [BLOCK]: ends of lines, from the block's start
    holds: U8  # [BLOCK]: content bits of each of those lines
    cited: U8  # a line without its citations
    folded: U8  # a line in lower case


@kernel
def make_room(longest_page: int, longest_phrase: int) -> Room:
    """Return work buffers for pages of up to `longest_page` bytes; they occupy memory only as they are filled."""
    return Room(
        np.zeros(BLOCK + longest_phrase + 128, np.uint8),
        np.empty(BLOCK, np.int64),
        np.empty(BLOCK, np.uint8),
        np.empty(longest_page, np.uint8),
        np.empty(longest_page + longest_page // 2 + 4, np.uint8),
    )


@kernel(_nrt=False)
def line_ends(data: U8, at: int, stop: int, phrases: Phrases, holds: int, room: Room) -> tuple[int, int]:
    """Find the lines that end in a block of a page; a block is the BLOCK bytes from data[at] on.

    - stop: the offset at which the page ends. Writes the end of each line (as an offset from `at`) to `room.ends`, and
      the flags for the phrases and brackets in the line to `room.holds`.
    - holds: the flags found so far in the line that began before this block.

    Returns the number of lines, and the flags found so far in the line that continues after this block.
    """
    low, step, one = room.low, np.uint64(WIDTH), np.uint64(1)
    load(data, at, stop, low, phrases.longest + 2)
    lines = 0
    for k in range(min(BLOCK, stop - at + WIDTH) // WIDTH):
        i = np.uint64(k) * step
        breaks, held, candidates = _breaks(low, i), _held(low, i), _candidates(low, i, phrases.anchors)
        if stop - at < BLOCK and np.uint64(stop - at) - i < step:
            breaks |= one << np.uint64(stop - at) - i  # the end of the page ends its last line
        while breaks:
            own = (breaks & (~breaks + one)) - one
            if (held | candidates) & own:
                holds |= _flags(low, i, held & own, candidates & own, phrases)
                held, candidates = held & ~own, candidates & ~own
            room.ends[lines], room.holds[lines] = i + lowest_bit(breaks), holds
            lines, holds = lines + 1, 0
            breaks &= breaks - one
        if held | candidates:
            holds |= _flags(low, i, held, candidates, phrases)
    return lines, holds


@kernel(_nrt=False)
def load(data: U8, at: int, stop: int, low: U8, ahead: int) -> None:
    """Copy a block of BLOCK bytes from data[at] on, and the next `ahead` bytes, to `low`, in lower case.

    Only ASCII letters are lower-cased. After the page's end `stop`, `low` is filled with zeros.
    """
    n = min(stop - at, BLOCK + ahead)
    page = data[at : at + n]
    for i in range(n):
        c = page[i]
        low[i] = c + np.uint8(32) if (c >= 65) & (c <= 90) else c
    rest = low[n : min(n + 64 + ahead, len(low))]
    for i in range(len(rest)):
        rest[i] = 0


@kernel(inline="always")
def _breaks(low: U8, i: Int) -> Int:
    r"""Return the mask of the bytes at which a line break begins (for `\r\n`, the `\n`), among the 64 from `i` on."""
    one, two = np.uint64(1), np.uint64(2)
    found = bytes_within(low, i, 0x0A, 0x0C) | bytes_within(low, i, 0x1C, 0x1E)
    found |= bytes_equal(low, i, 0x0D) & ~bytes_equal(low, i + one, 0x0A)
    if bytes_within(low, i, 0x80, 0xFF):
        found |= bytes_equal(low, i, 0xC2) & bytes_equal(low, i + one, 0x85)
        found |= bytes_equal(low, i, 0xE2) & bytes_equal(low, i + one, 0x80) & bytes_within(low, i + two, 0xA8, 0xA9)
    return found


@kernel(inline="always")
def _held(low: U8, i: Int) -> Int:
    """Return the mask of the bytes that give a line the flag BRACKET, CURLY or FOLD, among the 64 from `i` on."""
    one, two = np.uint64(1), np.uint64(2)
    found = bytes_equal(low, i, 0x5B) | bytes_equal(low, i, 0x7B)
    if bytes_within(low, i, 0x80, 0xFF):
        found |= bytes_equal(low, i, 0xC4) & bytes_equal(low, i + one, 0xB0)
        found |= bytes_equal(low, i, 0xE2) & bytes_equal(low, i + one, 0x84) & bytes_equal(low, i + two, 0xAA)
    return found


@kernel(inline="always")
def _candidates(low: U8, i: Int, anchors: I64) -> Int:
    """Return the mask of the bytes, among the 64 from `i` on, whose phrase may be there: two of its letters are."""
    found = np.uint64(0)
    for k in range(len(anchors)):
        first = bytes_equal(low, i + np.uint64(anchors[k, 0]), anchors[k, 1])
        found |= first & bytes_equal(low, i + np.uint64(anchors[k, 2]), anchors[k, 3])
    return found


@kernel(_nrt=False)
def _flags(low: U8, i: Int, held: Int, candidates: Int, phrases: Phrases) -> int:
    """Return the flags of the bytes low[i + k], for each bit k of the masks `held` and `candidates`."""
    flags = int(np.int64(0))
    while held:
        c = low[i + lowest_bit(held)]
        flags |= BRACKET if c == 0x5B else CURLY if c == 0x7B else FOLD
        held &= held - np.uint64(1)
    while candidates:
        at: Int = np.int64(i + lowest_bit(candidates))
        flags |= phrases_at(low, at, len(low), phrases)
        candidates &= candidates - np.uint64(1)
    return flags


@kernel(_nrt=False)
def phrases_at(low: U8, i: int, stop: int, phrases: Phrases) -> int:
    """Return the flags, as one integer, of the phrases that begin at low[i] and end before `stop`.

    - low: lower-cased text, UTF-8 bytes.
    """
    bits = 0
    for k in range(len(phrases.bits)):
        if starts_with(low, i, stop, phrases.words, k):
            bits |= phrases.bits[k]
    return bits


@kernel(_nrt=False)
def fold_line(line: U8, a: int, b: int, folded: U8, lower: U32) -> int:
    """Write `line[a:b]` to `folded` in lower case, as by `str.lower`; return the number of bytes written.

    Both small sigmas become the same letter. `folded` must have one and a half times the line's bytes, since U+023A (2
    bytes) becomes U+2C65 (3).

    - lower: the lower case of each code point.
    """
    w = 0
    while a < b:
        point, size = code_point(line, a)
        a += size
        entry = int(lower[point])
        small = entry & POINT
        w = put(folded, w, 0x3C3 if small == 0x3C2 else small)  # the final sigma is treated like other sigmas
        if entry & DOTTED:
            w = put(folded, w, 0x307)
    return w


@kernel(_nrt=False)
def phrases_in(line: U8, a: int, b: int, folded: U8, lower: U32, phrases: Phrases) -> int:
    """Return the flags, as one integer, of all phrases in line[a:b]; every offset of the lower-cased line is tried.

    This is slow; use it only for lines that have cased letters beyond ASCII or lost citations.

    - folded: work buffer.
    - lower: the lower case of each code point.
    """
    n = fold_line(line, a, b, folded, lower)
    bits = 0
    for i in range(n):
        bits |= phrases_at(folded, i, n, phrases)
    return bits
