"""Units of text: where lines, paragraphs and three-sentence spans lie, and 128-bit hashes of them in a normal form.

Kernels read a text column as Arrow keeps it: `offsets` int64[n + 1] into `data`, valid UTF-8. Units are byte ranges of
`data`, on code points. The normal form is hashed as it is made, character by character, and never written.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from dataprep.unicode.kernel import kernel
from dataprep.unicode.sentences import inside_sentence, skip_closers
from dataprep.unicode.text import (
    I64,
    LINE,
    POINT,
    SENTENCE,
    U8,
    U16,
    U64,
    Int,
    classes,
    code_point,
    eight_bytes,
    final_sigma,
    mix64,
)
from dataprep.unicode.whitespace import space, strip

from .forms import EVERY, FINAL, LETTERS, PRINTED, SEVERAL, VALUE, Form, form

UNITS = ("line", "paragraph", "span3")
DEFAULT_FORM = {"line": "c4", "paragraph": "ccnet", "span3": "c4"}
ONES, TOPS = np.uint64(0x0101010101010101), np.uint64(0x8080808080808080)
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


@kernel(inline="always")
def _between(w: Int, first: int, last: int) -> Int:
    """The top bit of every byte of `w` (each below 0x80) that is in first ... last."""
    return (w + np.uint64(0x80 - first) * ONES) & ~(w + np.uint64(0x7F - last) * ONES) & TOPS


@kernel(inline="always")
def _plain(w: Int, kind: Int, lowers: Int, zeros: Int) -> tuple[Int, Int, Int]:
    """What eight bytes become, how many bytes that is, and the bytes that must be looked at one by one."""
    n, odd = np.uint64(8), w & TOPS
    w &= ~TOPS
    upper = _between(w, 0x41, 0x5A)
    value = w | upper >> np.uint64(2) if lowers else w
    if kind == PRINTED:
        odd |= _between(w, 0, 0x1F)
    if kind == LETTERS:
        digits = _between(w, 0x30, 0x39)
        other = ~(upper | _between(w, 0x61, 0x7A) | digits | _between(w, 0x20, 0x20)) & TOPS
        if zeros:
            value &= ~((digits >> np.uint64(7)) * np.uint64(0x0F))
            if other:
                odd |= _between(w, 0, 0x1F) | _between(w, 0x7F, 0x7F)
                signs = _between(w, 0x24, 0x24) | _between(w, 0x2B, 0x2B) | _between(w, 0x3C, 0x3E)  # $ + < = >
                signs |= _between(w, 0x5E, 0x5E) | _between(w, 0x60, 0x60) | _between(w, 0x7C, 0x7C)  # ^ ` |
                other &= ~(signs | _between(w, 0x7E, 0x7E))  # ~: what is left is punctuation, and goes
                while other:
                    low = other & (np.uint64(0) - other)
                    below = (low >> np.uint64(7)) - np.uint64(1)
                    value = (value & below) | (value >> np.uint64(8) & ~below)
                    other = (other ^ low) >> np.uint64(8)
                    n -= np.uint64(1)
        else:
            odd |= other
    return value, n, odd


@kernel
def _hash(data: U8, start: I64, end: I64, form: Form) -> tuple[U64, I64]:
    """Hash the normal forms as strings of bytes, eight to a step of two multiply-and-shift chains.

    A gap is a blank before the character behind it; a character beyond ASCII is three bytes, the first from 0x80 up.
    Eight bytes that become eight, or seven and a gap, as most do, go in together; others one by one.
    """
    one, none, eight, half = np.uint64(1), np.uint64(0), np.uint64(8), np.uint64(32)
    entries, ascii_entries, several, table = form.entries, form.ascii, form.several, form.classes
    kind, lowers, zeros, strips = form.plain, form.lowers, form.zeros, form.strips
    m = len(start)
    out, chars = np.empty((m, 2), np.uint64), np.empty(m, np.int64)
    for u in range(m):
        from_, to = strip(data, start[u], end[u], table)
        blank = from_ == to
        if not strips:
            from_, to = start[u], end[u]
        i, stop, plain = np.uint64(from_), np.uint64(to), np.uint64(from_)
        a, b = np.uint64(0x243F6A8885A308D3), np.uint64(0x13198A2E03707344)
        word, bits, gap, length = none, none, none, none
        row = part = none
        while i < stop or part:
            value, n = none, none
            if i >= plain and i + eight <= stop and not part:
                w = eight_bytes(data, i)
                value, n, odd = _plain(w, kind, lowers, zeros)
                blanks = _between(value, 0x20, 0x20) if kind != EVERY else none
                twice = blanks & (blanks << eight | (np.uint64(0x80) if gap or not length else none))
                if odd or twice or not n:
                    plain = i + eight
                    continue
                i += eight
                if gap:  # its blank goes first
                    word |= np.uint64(0x20) << bits
                    bits, length, gap = bits + eight, length + one, none
                    if bits == np.uint64(64):
                        a = (a ^ word) * np.uint64(0xA0761D6478BD642F)
                        b = (b ^ word) * np.uint64(0xE7037ED1A0B428DB)
                        a, b, word, bits = a ^ (a >> half), b ^ (b >> half), none, none
                gap = blanks >> (eight * n - one) & one
                n -= gap
                value &= (one << (eight * n)) - one if n < eight else ~none
                length += n
            else:
                entry = none
                if part:
                    entry = np.uint64(several[row, part])
                    part = part + one if part < np.uint64(2) else none
                elif data[i] < 0x80:
                    entry = np.uint64(ascii_entries[data[i]])
                    i += one
                else:
                    c, size = code_point(data, np.int64(i))
                    entry = np.uint64(entries[c])
                    if entry & np.uint64(FINAL):
                        if final_sigma(data, np.int64(i), from_, to, table):
                            entry = np.uint64(entries[0x3C2])
                    elif entry & np.uint64(SEVERAL):
                        row, part = entry & np.uint64(VALUE), one
                        entry = np.uint64(several[row, 0])
                    i += np.uint64(size)
                kept = entry >> np.uint64(21) & one
                value, n = entry & np.uint64(POINT), kept
                if value >= np.uint64(0x80):
                    value = np.uint64(0x80) | (value & np.uint64(0x7F)) | (value >> np.uint64(7)) << eight
                    n = np.uint64(3)
                behind = gap & kept
                value = value << (eight * behind) | behind * np.uint64(0x20)
                n += behind
                length += kept + behind
                gap = (entry >> np.uint64(31) & np.uint64(length != none)) | (gap & (kept ^ one))
            word |= value << bits
            bits += eight * n
            if bits >= np.uint64(64):
                bits -= np.uint64(64)
                a = (a ^ word) * np.uint64(0xA0761D6478BD642F)
                b = (b ^ word) * np.uint64(0xE7037ED1A0B428DB)
                a, b = a ^ (a >> half), b ^ (b >> half)
                word = value >> one >> (eight * n - bits - one)
        a = (a ^ word) * np.uint64(0xA0761D6478BD642F) + length
        b = (b ^ word) * np.uint64(0xE7037ED1A0B428DB) ^ length
        out[u, 0], out[u, 1] = mix64(a), mix64(b)
        chars[u] = 0 if blank else np.int64(length)
    return out, chars
