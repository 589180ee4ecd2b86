"""The vectorised part of C4: find the line breaks of a page, and the offsets at which phrases may begin.

A block of the page is lower-cased into a buffer of 4 kB and compared with constants, 32 or 64 bytes per instruction;
about one byte in eighty must be examined further. A phrase is searched for by its two rarest letters, and compared in
full if both are found. (An automaton over single bytes is slower, because each table look-up must wait for the previous
one.)

Slow reference for the tests: tests/twins/c4.py.

`_nrt=False` switches off reference counting of arrays (a kernel called for every line reads 31 MB/s with counting, and
460 MB/s without it). Such a kernel cannot create arrays; it uses those of its caller.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dataprep.filters.packed_strings import Packed, pack, starts_with
from dataprep.unicode.kernel import kernel
from dataprep.unicode.text import DOTTED, I64, POINT, U8, U32, code_point, put

BLOCK = 4096  # bytes marked at a time: the buffers stay in the first-level cache

# Bits for the first byte of a line break or phrase, and for the content of a line.
LINE_BREAK, BRACKET, CURLY, FOLD, PHRASE = 1, 2, 4, 8, 16
# FOLD: U+0130 or U+212A, whose lower case has an ASCII letter. PHRASE: a candidate of `Phrases`, whose bits are above.

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
        marks: uint8[BLOCK], flags of each byte of the block.
        ends: int64[BLOCK], for each line that ends in the block, the offset of its end from the block's start.
        holds: uint8[BLOCK], for each of these lines, the flags of the phrases and brackets in it.
        cited: uint8, a line without its citations.
        folded: uint8, a line in lower case.
    """

    low: U8  # a block in lower case, and after it as many bytes as a phrase can reach
    marks: U8  # [BLOCK]
    ends: I64  # [BLOCK]: ends of lines, from the block's start
    holds: U8  # [BLOCK]: content bits of each of those lines
    cited: U8  # a line without its citations
    folded: U8  # a line in lower case


@kernel
def make_room(longest_page: int, longest_phrase: int) -> Room:
    """Return work buffers for pages of up to `longest_page` bytes; they occupy memory only as they are filled."""
    return Room(
        np.zeros(BLOCK + longest_phrase + 128, np.uint8),
        np.zeros(BLOCK, np.uint8),
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
    low, marks = room.low, room.marks
    n = min(BLOCK, (stop - at + 64) // 64 * 64)
    load(data, at, stop, low, phrases.longest + 2)
    mark(low, n, phrases.anchors, marks)
    if stop - at < BLOCK:
        marks[stop - at] = LINE_BREAK  # the end of the page ends its last line
    lines, eights = 0, marks.view(np.uint64)
    for k in range(n // 8):
        if eights[k] == 0:
            continue
        for i in range(8 * k, 8 * k + 8):
            here = int(marks[i])
            if here & PHRASE:
                holds |= phrases_at(low, i, len(low), phrases)
            holds |= here & (BRACKET | CURLY | FOLD)
            if here & LINE_BREAK:
                room.ends[lines], room.holds[lines] = i, holds
                lines, holds = lines + 1, 0
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


@kernel(_nrt=False)
def mark(low: U8, n: int, anchors: I64, marks: U8) -> None:
    r"""Write, for each byte of low[:n], a bit per reason to examine that byte to `marks`, uint8[n]; 0 if there is none.

    The bits are: LINE_BREAK: a line break begins at the byte (for `\r\n`, at the `\n`). BRACKET: the byte is `[`.
    CURLY: the byte is `{`. FOLD: the byte begins a code point beyond ASCII whose lower case contains an ASCII letter.
    PHRASE: a phrase may begin here, since its two rarest letters follow at the offsets in `anchors`.
    """
    low1, low2 = low[1:], low[2:]
    for i in range(n):
        c, d, e = low[i], low1[i], low2[i]
        line = ((c >= 0x0A) & (c <= 0x0C)) | ((c >= 0x1C) & (c <= 0x1E)) | ((c == 0x0D) & (d != 0x0A))
        line |= ((c == 0xC2) & (d == 0x85)) | ((c == 0xE2) & (d == 0x80) & ((e == 0xA8) | (e == 0xA9)))
        fold = ((c == 0xC4) & (d == 0xB0)) | ((c == 0xE2) & (d == 0x84) & (e == 0xAA))
        here = np.uint8(LINE_BREAK) if line else np.uint8(0)
        here |= np.uint8(FOLD) if fold else np.uint8(0)
        here |= np.uint8(BRACKET) if c == 0x5B else np.uint8(0)
        marks[i] = here | (np.uint8(CURLY) if c == 0x7B else np.uint8(0))
    for k in range(len(anchors)):
        one, two = low[anchors[k, 0] :], low[anchors[k, 2] :]
        x, y = np.uint8(anchors[k, 1]), np.uint8(anchors[k, 3])
        for i in range(n):
            marks[i] |= np.uint8(PHRASE) if (one[i] == x) & (two[i] == y) else np.uint8(0)


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
