"""128-bit hashes of units (lines, paragraphs, spans) in a normal form, which is hashed on the fly and never stored.

A normal form is a string of bytes, hashed by two multiply-and-shift chains that take eight bytes per step. A gap (what
the normal form drops between two words) is hashed as a blank before the next character. A character beyond ASCII is
hashed as three bytes, of which the first is 0x80 or more. The normal form is collected byte by byte, except in a fast
path: if eight bytes of the text are their own normal form, or seven of them and a gap, they are hashed in one step. So
are the last bytes of a unit, fewer than eight: they are read together with bytes before them, which are shifted out.

Slow reference for the tests: tests/twins/units.py
"""

from __future__ import annotations

import numpy as np

from dataprep.unicode.hashes import eight_bytes, mix64
from dataprep.unicode.kernel import kernel
from dataprep.unicode.text import I64, POINT, U8, U64, Int, code_point, final_sigma, strip

from .forms import EVERY, FINAL, LETTERS, PRINTED, SEVERAL, VALUE, Form, form

FACTOR_A, FACTOR_B = 0xA0761D6478BD642F, 0xE7037ED1A0B428DB
FILLING = np.uint64(0x6161616161616161)  # letters, which every normal form keeps
ONES, TOPS = np.uint64(0x0101010101010101), np.uint64(0x8080808080808080)


def unit_hashes(data: U8, start: I64, end: I64, normalize: str | None) -> tuple[U64, I64]:
    """Return a 128-bit hash of each unit's normal form, uint64[m, 2], and its length in characters, int64[m].

    A unit is the UTF-8 bytes data[start[i]:end[i]]. If the normal form of a unit is empty or white space, its length is
    stated as 0, and the unit is never a duplicate.

    - normalize: the name of a form of `forms.py`, or None.
    """
    return hash_units(data, start, end, form(normalize))


@kernel(inline="always")
def _between(w: Int, first: int, last: int) -> Int:
    """Return the top bit of every byte of `w` (each below 0x80) that is in first ... last."""
    return (w + np.uint64(0x80 - first) * ONES) & ~(w + np.uint64(0x7F - last) * ONES) & TOPS


@kernel(inline="always")
def _plain(w: Int, kind: Int, lowers: Int, zeros: Int) -> tuple[Int, Int, Int]:
    """Return the normal form of eight ASCII bytes, its length, and the bytes that must be processed one by one."""
    n, odd = np.uint64(8), w & TOPS
    w &= ~TOPS
    letters = _between(w | np.uint64(0x20) * ONES, 0x61, 0x7A)
    value = w | letters >> np.uint64(2) if lowers else w
    if kind == PRINTED:
        odd |= _between(w, 0, 0x1F)
    if kind == LETTERS:
        digits = _between(w, 0x30, 0x39)
        other = ~(letters | digits | _between(w, 0x20, 0x20)) & TOPS
        if zeros:
            value &= ~((digits >> np.uint64(7)) * np.uint64(0x0F))
            if other:
                odd |= _between(w, 0, 0x1F) | _between(w, 0x7F, 0x7F)
                signs = _between(w, 0x24, 0x24) | _between(w, 0x2B, 0x2B) | _between(w, 0x3C, 0x3E)  # $ + < = >
                signs |= _between(w, 0x5E, 0x5E) | _between(w, 0x60, 0x60) | _between(w, 0x7C, 0x7C)  # ^ ` |
                other &= ~(signs | _between(w, 0x7E, 0x7E))  # ~: the rest is punctuation, which is removed
                while other:
                    low = other & (np.uint64(0) - other)
                    below = (low >> np.uint64(7)) - np.uint64(1)
                    value = (value & below) | (value >> np.uint64(8) & ~below)
                    other = (other ^ low) >> np.uint64(8)
                    n -= np.uint64(1)
        else:
            odd |= other
    return value, n, odd


@kernel(inline="always")
def _append(a: Int, b: Int, word: Int, bits: Int, value: Int, n: Int) -> tuple[Int, Int, Int, Int]:
    """Append the `n` bytes of `value` to the `bits` bits of `word`; hash the word into `a` and `b` when it is full."""
    word |= value << bits
    bits += np.uint64(8) * n
    if bits >= np.uint64(64):
        bits -= np.uint64(64)
        a, b = (a ^ word) * np.uint64(FACTOR_A), (b ^ word) * np.uint64(FACTOR_B)
        a, b = a ^ (a >> np.uint64(32)), b ^ (b >> np.uint64(32))
        word = value >> np.uint64(1) >> (np.uint64(8) * n - bits - np.uint64(1))
    return a, b, word, bits


@kernel(inline="always")
def _last(data: U8, i: Int, stop: Int) -> Int:
    """Return the one to seven bytes data[i:stop] as one number; `stop` is at least 8."""
    return eight_bytes(data, stop - np.uint64(8)) >> np.uint64(8) * (np.uint64(8) - (stop - i))


@kernel(inline="always")
def _unchanged(data: U8, i: Int, stop: Int) -> tuple[Int, Int, Int, Int, Int]:
    """Hash the leading ASCII bytes of data[i:stop] that are unchanged, as `_append` does; last value: their end."""
    a, b = np.uint64(0x243F6A8885A308D3), np.uint64(0x13198A2E03707344)
    word = bits = np.uint64(0)
    while i + np.uint64(8) <= stop:
        w = eight_bytes(data, i)
        if w & TOPS:
            return a, b, word, bits, i
        a, b = (a ^ w) * np.uint64(FACTOR_A), (b ^ w) * np.uint64(FACTOR_B)
        a, b = a ^ (a >> np.uint64(32)), b ^ (b >> np.uint64(32))
        i += np.uint64(8)
    if i < stop and stop >= np.uint64(8):
        last = _last(data, i, stop)
        if not last & TOPS:
            return a, b, last, np.uint64(8) * (stop - i), stop
    while i < stop and data[i] < 0x80:
        word |= np.uint64(data[i]) << bits
        bits += np.uint64(8)
        i += np.uint64(1)
    return a, b, word, bits, i


@kernel(inline="always")
def _bytes_of(c: Int, kept: Int) -> tuple[Int, Int]:
    """Return the bytes of a character of the normal form, and how many: 1, 3 beyond ASCII, 0 if it is dropped."""
    if c < np.uint64(0x80):
        return c, kept
    return np.uint64(0x80) | (c & np.uint64(0x7F)) | (c >> np.uint64(7)) << np.uint64(8), np.uint64(3)


@kernel
def hash_units(data: U8, start: I64, end: I64, form: Form) -> tuple[U64, I64]:
    """Return hashes, uint64[m, 2], and lengths in characters, int64[m], of units data[start:end] in a normal form."""
    one, none, eight = np.uint64(1), np.uint64(0), np.uint64(8)
    entries, ascii_entries, several, table = form.entries, form.ascii, form.several, form.classes
    kind, lowers, zeros, strips = form.plain, form.lowers, form.zeros, form.strips
    out, chars = np.empty((len(start), 2), np.uint64), np.empty(len(start), np.int64)
    for u in range(len(start)):
        from_, to = strip(data, start[u], end[u], table)
        blank = from_ == to
        from_, to = (from_, to) if strips else (start[u], end[u])
        i, stop, plain = np.uint64(from_), np.uint64(to), np.uint64(from_)
        gap = row = part = none
        a, b, word, bits, i = _unchanged(data, i, stop if kind == EVERY and not lowers else i)
        length = i - np.uint64(from_)
        while i < stop or part:
            if i >= plain and stop >= eight and not part:
                size = min(stop - i, eight)
                w = eight_bytes(data, i) if size == eight else _last(data, i, stop) | FILLING << eight * size
                value, n, odd = _plain(w, kind, lowers, zeros)
                blanks = _between(value, 0x20, 0x20) if kind != EVERY else none
                twice = blanks & (blanks << eight | (np.uint64(0x80) if gap or not length else none))
                if odd or twice:
                    plain = i + eight
                    continue
                i, n = i + size, n + size - eight
                if not n:
                    continue
                if gap:  # its blank comes first
                    a, b, word, bits = _append(a, b, word, bits, np.uint64(0x20), one)
                    length, gap = length + one, none
                gap = blanks >> (eight * n - one) & one
                n -= gap
                value &= (one << (eight * n)) - one if n < eight else ~none
                length += n
            else:
                if part:
                    entry = np.uint64(several[row, part])
                    part = part + one if part < np.uint64(2) else none
                elif data[i] < 0x80:
                    entry = np.uint64(ascii_entries[data[i]])
                    i += one
                else:
                    c, size = code_point(data, np.int64(i))
                    entry = np.uint64(entries[c])
                    if entry & np.uint64(FINAL) and final_sigma(data, np.int64(i), from_, to, table):
                        entry = np.uint64(entries[0x3C2])
                    i += np.uint64(size)
                    if entry & np.uint64(SEVERAL):
                        row, part = entry & np.uint64(VALUE), one
                        entry = np.uint64(several[row, 0])
                kept = entry >> np.uint64(21) & one
                value, n = _bytes_of(entry & np.uint64(POINT), kept)
                blank_before = gap & kept
                value = value << (eight * blank_before) | blank_before * np.uint64(0x20)
                n, length = n + blank_before, length + kept + blank_before
                gap = (entry >> np.uint64(31) & np.uint64(length != none)) | (gap & (kept ^ one))
            a, b, word, bits = _append(a, b, word, bits, value, n)
        out[u, 0] = mix64((a ^ word) * np.uint64(FACTOR_A) + length)
        out[u, 1] = mix64((b ^ word) * np.uint64(FACTOR_B) ^ length)
        chars[u] = 0 if blank else np.int64(length)
    return out, chars
