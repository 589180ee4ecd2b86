"""Units of text: where lines, paragraphs and three-sentence spans lie, and 128-bit hashes of them in a normal form.

Kernels read a text column as Arrow keeps it: `offsets` int64[n + 1] into `data`, valid UTF-8. Units are byte ranges of
`data`, on code points. The normal form is hashed as it is made, character by character, and never written.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ..kernel import kernel
from ..sentences import inside_sentence, skip_closers
from ..text import I64, LINE, SENTENCE, U8, U16, U64, Int, classes, code_point, final_sigma, mix64
from ..whitespace import space, strip
from .forms import FINAL, PLACES, SEVERAL, VALUE, Form, form

UNITS = ("line", "paragraph", "span3")
DEFAULT_FORM = {"line": "c4", "paragraph": "ccnet", "span3": "c4"}
BLOCK_UNITS = 1 << 17  # cut and hashed at a time, so that no document is too long for memory


class Block(NamedTuple):
    """Some units in order: which text each is of, its bytes [start, end) in `data`, and its hash."""

    text: I64
    start: I64
    end: I64
    hashes: U64  # [m, 2]
    chars: I64  # of its normal form; 0: nothing is left, and it is never a duplicate


def units(offsets: I64, data: U8, unit: str) -> tuple[I64, I64, I64]:
    r"""Cut texts into units: doc_starts int64[n + 1] into start int64[m], end int64[m], bytes of `data`.

    "line" and "paragraph": the pieces between `\n`, blank ones too, without the empty one behind a last `\n`; a `\r`
    before it belongs to the piece, and is white space at its end. "span3": every three sentences in a row, which may
    lie on several lines; a text of fewer has none. Sentences end as `sentences.py` says, at any mark that Unicode
    calls a sentence terminal, and at line breaks.
    """
    found = [(np.zeros(0, np.int64),) * 3, *_cut(offsets, data, unit, BLOCK_UNITS)]
    text, start, end = (np.concatenate(column) for column in zip(*found, strict=True))
    if unit == "span3":
        first = np.flatnonzero(text[2:] == text[:-2])
        text, start, end = text[first], start[first], end[first + 2]
    return np.searchsorted(text, np.arange(len(offsets))), start, end


def unit_hashes(data: U8, start: I64, end: I64, normalize: str | None) -> tuple[U64, I64]:
    """A 128-bit hash of each unit's normal form (and its length), uint64[m, 2], and its characters, int64[m].

    Units of which nothing is left, or only white space, have 0 characters: they are nobody's duplicates.
    """
    return _hash(data, start, end, form(normalize))


def blocks(offsets: I64, data: U8, unit: str, normalize: str | None, n: int = 0) -> Iterator[Block]:
    """All units of the texts with their hashes, at most `n` at a time; that of a span is of its sentences'."""
    held: tuple[Any, ...] = ()
    for text, start, end in _cut(offsets, data, unit, n or BLOCK_UNITS):
        block = Block(text, start, end, *unit_hashes(data, start, end, normalize))
        if unit == "span3":
            sentences = Block(*map(np.concatenate, zip(held, block, strict=True))) if held else block
            held = tuple(column[-2:] for column in sentences)
            block = _spans(sentences)
        yield block


def _cut(offsets: I64, data: U8, unit: str, n: int) -> Iterator[tuple[I64, I64, I64]]:
    """Lines, or sentences, at most `n` at a time."""
    d, at = 0, int(offsets[0])
    while d < len(offsets) - 1:
        if unit == "span3":
            text, start, end, d, at = _sentences(offsets, data, classes(), d, at, n)
        else:
            text, start, end, d, at = _lines(offsets, data, d, at, n)
        yield text, start, end


@kernel
def _lines(offsets: I64, data: U8, d: int, at: int, n: int) -> tuple[I64, I64, I64, int, int]:
    """At most `n` lines from byte `at` of text `d` on; and the text and byte to go on from."""
    text, start, end = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    k: Int = 0
    while d < len(offsets) - 1 and k < n:
        i, stop = np.uint64(at), np.uint64(offsets[d + 1])
        while i < stop and k < n:
            first = i
            while i < stop and data[i] != 10:
                i += np.uint64(1)
            text[k], start[k], end[k] = d, first, i
            k += 1
            i += np.uint64(1)
        at = min(np.int64(i), offsets[d + 1])
        if at == offsets[d + 1]:
            d += 1
    return text[:k].copy(), start[:k].copy(), end[:k].copy(), d, at


@kernel
def _sentences(offsets: I64, data: U8, table: U16, d: int, at: int, n: int) -> tuple[I64, I64, I64, int, int]:
    """At most `n` sentences from byte `at` of text `d` on, without the white space around them; and where to go on."""
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
    """Where the sentence that goes on at byte `i` of the text data[begin:stop] ends, and where the next may begin."""
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
def _spans(sentences: Block) -> Block:
    """Every three sentences in a row of one text."""
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
    return Block(text[:k].copy(), start[:k].copy(), end[:k].copy(), hashes[:k].copy(), chars[:k].copy())


@kernel
def _hash(data: U8, start: I64, end: I64, form: Form) -> tuple[U64, I64]:
    """Two sums over characters of (what it becomes + a constant behind a gap) * a random odd number for its place.

    Multiplications of a sum do not wait for each other. Every 64 characters the sums are mixed, so that no unit is
    too long; the length goes into the last mixing. Strings of one length that differ share a sum with a chance of
    about 2^-60 for each.
    """
    one, none = np.uint64(1), np.uint64(0)
    gap_factor = np.uint64(0x9E3779B97F4A7C15)
    entries, ascii_entries = form.entries, form.ascii
    first, second = form.factors[0], form.factors[1]
    m = len(start)
    out, chars = np.empty((m, 2), np.uint64), np.empty(m, np.int64)
    for u in range(m):
        from_, to = strip(data, start[u], end[u], form.classes)
        blank = from_ == to
        if not form.strips:
            from_, to = start[u], end[u]
        i, stop = np.uint64(from_), np.uint64(to)
        a, b, gap, place, length = none, none, none, none, none
        while i < stop:
            byte = data[i]
            row, part = none, none
            if byte < 0x80:
                entry = np.uint64(ascii_entries[byte])
                i += one
            else:
                c, size = code_point(data, np.int64(i))
                entry = np.uint64(entries[c])
                if entry & np.uint64(FINAL):
                    if final_sigma(data, np.int64(i), from_, to, form.classes):
                        entry = np.uint64(entries[0x3C2])
                elif entry & np.uint64(SEVERAL):
                    row, part = entry & np.uint64(VALUE), one
                    entry = np.uint64(form.several[row, 0])
                i += np.uint64(size)
            while True:
                value = entry & np.uint64(VALUE)
                kept = value >> np.uint64(21)
                value += gap_factor & (none - (gap & kept))
                a += value * first[place] & (none - kept)
                b += value * second[place] & (none - kept)
                length += kept
                gap = (entry >> np.uint64(31) & np.uint64(length != none)) | (gap & (kept ^ one))
                place += kept
                if place == np.uint64(PLACES):
                    a, b, place = mix64(a), mix64(b), none
                if part == none or part == np.uint64(3):
                    break
                entry = np.uint64(form.several[row, part])
                part += one
        out[u, 0] = mix64(a ^ length * np.uint64(0xD6E8FEB86659FD93))
        out[u, 1] = mix64(b + length * np.uint64(0xA0761D6478BD642F))
        chars[u] = 0 if blank else np.int64(length)
    return out, chars
