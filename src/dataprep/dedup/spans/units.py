"""Units of text: the byte ranges of lines, paragraphs and three-sentence spans.

Kernels read a text column as Arrow stores it: `offsets` int64[n + 1] into `data`, valid UTF-8. Units are byte ranges of
`data` that start and end at code-point boundaries.

Slow reference for the tests: tests/twins/units.py
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from dataprep.unicode.byte_masks import WIDTH, bytes_equal, last_bytes, lowest_bit, n_bits
from dataprep.unicode.hashes import mix64
from dataprep.unicode.kernel import kernel
from dataprep.unicode.text import (
    I64,
    LINE,
    SENTENCE,
    U8,
    U16,
    U64,
    Int,
    classes,
    code_point,
    inside_sentence,
    skip_closers,
    space,
    strip,
)

from .hashes import unit_hashes

UNITS = ("line", "paragraph", "span3")
DEFAULT_FORM = {"line": "c4", "paragraph": "ccnet", "span3": "c4"}
BLOCK_UNITS = 1 << 17  # split and hashed at a time, so that no document is too long for memory


class UnitBlock(NamedTuple):
    """Some consecutive units of text (lines, paragraphs or spans); each array has one entry per unit.

    Attributes:
        text: the number of the text that contains the unit.
        start: the offset of the unit's first byte in `data`.
        end: the offset after the unit's last byte.
        hashes: uint64[m, 2], the 128-bit hash of the unit's normal form.
        chars: the number of characters of the normal form; if it is 0, the unit is never a duplicate.
    """

    text: I64
    start: I64
    end: I64
    hashes: U64  # [m, 2]
    chars: I64  # of its normal form; 0: the form is empty, and the unit is never a duplicate


def units(offsets: I64, data: U8, unit: str) -> tuple[I64, I64, I64]:
    r"""Split texts into units; return (first, start, end): text i has the units from first[i] to first[i + 1] - 1.

    Unit k is data[start[k]:end[k]]; all arrays are int64.

    Args:
        offsets: text k is data[offsets[k]:offsets[k + 1]].
        data: the texts, UTF-8 bytes.
        unit: "line" and "paragraph": the text between `\n`. A blank line is a unit, but no empty unit follows a final
            `\n`. A `\r` before `\n` belongs to the line, as trailing white space. "span3": every run of three
            consecutive sentences, which may span lines; a text with fewer than three sentences has no units. Sentences
            end as `sentences.py` states, at any mark that Unicode classifies as a sentence terminal, and at line
            breaks.
    """
    found = [(np.zeros(0, np.int64),) * 3, *_cut(offsets, data, unit, BLOCK_UNITS)]
    text, start, end = (np.concatenate(column) for column in zip(*found, strict=True))
    if unit == "span3":
        first = np.flatnonzero(text[2:] == text[:-2])
        text, start, end = text[first], start[first], end[first + 2]
    return np.searchsorted(text, np.arange(len(offsets))), start, end


def blocks(offsets: I64, data: U8, unit: str, normalize: str | None, n: int = 0) -> Iterator[UnitBlock]:
    """Yield all units of the texts with their hashes, at most `n` units at a time (0: the default number).

    - offsets: int64[texts + 1] into `data`, UTF-8 bytes.
    - unit: "line", "paragraph" or "span3" (three sentences).
    - normalize: the name of the normal form that is hashed; None for the text itself. The hash of three sentences is
      computed from the sentences' hashes.
    """
    held: tuple[Any, ...] = ()
    for text, start, end in _cut(offsets, data, unit, n or BLOCK_UNITS):
        block = UnitBlock(text, start, end, *unit_hashes(data, start, end, normalize))
        if unit == "span3":
            sentences = UnitBlock(*map(np.concatenate, zip(held, block, strict=True))) if held else block
            held = tuple(column[-2:] for column in sentences)
            block = _spans(sentences)
        yield block


def _cut(offsets: I64, data: U8, unit: str, n: int) -> Iterator[tuple[I64, I64, I64]]:
    """Yield lines, or sentences, at most `n` at a time: text, start, end."""
    d, at = 0, int(offsets[0])
    while d < len(offsets) - 1:
        if unit == "span3":
            text, start, end, d, at = _sentences(offsets, data, classes(), d, at, n)
        else:
            text, start, end, d, at = _lines(offsets, data, d, at, n)
        yield text, start, end


@kernel(inline="always")
def _places(found: Int, base: Int, out: U64, k: Int) -> Int:
    """Write base + the number of each set bit of `found` to `out`, from `k` on; return the index after them.

    Four numbers are written at once, whether there are so many or not: a branch per number would cost more.
    """
    end = k + n_bits(found)
    while k < end:
        for j in range(4):
            out[k + np.uint64(j)] = base + lowest_bit(found)
            found &= found - np.uint64(1)
        k += np.uint64(4)
    return end


@kernel
def _line_feeds(data: U8, i: Int, stop: Int, n: int) -> tuple[U64, Int]:
    """Return the positions of line feeds in data[i:stop], uint64, and the byte at which the search ended.

    The search ends after at least `n` line feeds, or at `stop`.
    """
    out, last = np.empty(n + WIDTH + 4, np.uint64), np.empty(WIDTH, np.uint8)
    step, base, end, k = np.uint64(WIDTH), np.uint64(i), np.uint64(stop), np.uint64(0)
    while base + step <= end and k < np.uint64(n):
        k = _places(bytes_equal(data, base, 10), base, out, k)
        base += step
    if base < end and k < np.uint64(n):
        last_bytes(data, np.int64(base), stop, last)
        k = _places(bytes_equal(last, np.uint64(0), 10), base, out, k)
        base = end
    return out[:k], np.int64(base)


@kernel
def _lines(offsets: I64, data: U8, d: int, at: int, n: int) -> tuple[I64, I64, I64, int, int]:
    """Return at most `n` lines from byte `at` of text `d` on, and the text and byte to continue from."""
    feeds, reached = _line_feeds(data, at, offsets[-1], n)
    most = min(n, len(feeds) + len(offsets) - 1 - d)
    text, start, end = np.empty(most, np.int64), np.empty(most, np.int64), np.empty(most, np.int64)
    k = f = 0
    while d < len(offsets) - 1 and k < n:
        stop = offsets[d + 1]
        while k < n and f < len(feeds) and np.int64(feeds[f]) < stop:
            text[k], start[k], end[k] = d, at, feeds[f]
            at = end[k] + 1
            k, f = k + 1, f + 1
        if reached < stop or k == n:
            break
        if at < stop:
            text[k], start[k], end[k] = d, at, stop
            k, at = k + 1, stop
        d += 1
    if d < len(offsets) - 1 and at == offsets[d + 1]:
        d += 1
    return text[:k], start[:k], end[:k], d, at


@kernel
def _sentences(offsets: I64, data: U8, table: U16, d: int, at: int, n: int) -> tuple[I64, I64, I64, int, int]:
    """Return at most `n` stripped sentences from byte `at` of text `d` on, and the text and byte to continue from."""
    text, start, end = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    k: Int = 0
    while d < len(offsets) - 1 and k < n:
        i, first, stop = at, at, offsets[d + 1]
        while first < stop and k < n:
            last, i = _sentence_end(data, offsets[d], i, stop, table)
            a, b = strip(data, first, last, table)
            if a < b:
                text[k], start[k], end[k] = d, a, b
                k += 1
            first = i
        at = first
        if at == stop:
            d += 1
    return text[:k].copy(), start[:k].copy(), end[:k].copy(), d, at


@kernel(_nrt=False)
def _sentence_end(data: U8, begin: int, i: int, stop: int, table: U16) -> tuple[int, int]:
    """Return the end of the sentence that includes byte `i` of the text data[begin:stop], and the next one's start."""
    while i < stop:
        c, size = code_point(data, i)
        if table[c] & LINE:
            return i, i + size
        if not table[c] & SENTENCE:
            i += size
            continue
        run = i
        while i < stop:
            c, size = code_point(data, i)
            if not table[c] & SENTENCE:
                break
            i += size
        closed = skip_closers(data, i, stop)
        after = closed
        while after < stop and space(data, after, table):
            c, size = code_point(data, after)
            if table[c] & LINE:
                return closed, after + size
            after += size
        apart = after > closed or data[i - 1] >= 0x80
        if after < stop and apart and not inside_sentence(data, begin, run, i, after, table):
            return closed, after
        i = after
    return stop, stop


@kernel
def _spans(sentences: UnitBlock) -> UnitBlock:
    """Return each run of three consecutive sentences of one text as a unit."""
    most = max(0, len(sentences.text) - 2)
    text, start, end = np.empty(most, np.int64), np.empty(most, np.int64), np.empty(most, np.int64)
    hashes, chars = np.empty((most, 2), np.uint64), np.empty(most, np.int64)
    factor, k = np.uint64(0xD6E8FEB86659FD93), 0
    for j in range(most):
        if sentences.text[j] == sentences.text[j + 2]:
            text[k], start[k], end[k] = sentences.text[j], sentences.start[j], sentences.end[j + 2]
            for half in range(2):
                h = sentences.hashes[j, half]
                h = mix64(h * factor + np.uint64(1)) ^ sentences.hashes[j + 1, half]
                hashes[k, half] = mix64(mix64(h * factor + np.uint64(2)) ^ sentences.hashes[j + 2, half])
            chars[k] = sentences.chars[j] + sentences.chars[j + 1] + sentences.chars[j + 2]
            k += 1
    return UnitBlock(text[:k].copy(), start[:k].copy(), end[:k].copy(), hashes[:k].copy(), chars[:k].copy())
