"""128-bit hashes of units (lines, paragraphs, spans) in a normal form, which is held only while it is hashed.

A normal form is a string of bytes, hashed by two multiply-and-shift chains that take eight bytes per step. The last
bytes, fewer than eight, are read together with bytes before them, which are shifted out. A gap (what the normal form
drops between two words) is a blank. A character beyond ASCII is three bytes, of which the first is 0x80 or more.

Without a form, the bytes of the text are hashed. ASCII text of which at most the case changes is hashed where it is.
The normal form of other text is written first, byte by byte and without branches: each byte of ASCII is written, and
overwritten by the next one if it is to be dropped.

Slow reference for the tests: tests/twins/units.py
"""

from __future__ import annotations

import numpy as np

from dataprep.unicode.hashes import eight_bytes, mix64
from dataprep.unicode.kernel import kernel
from dataprep.unicode.text import I64, POINT, U8, U16, U64, Int, code_point, final_sigma, strip

from .forms import BEYOND, FINAL, KEPT, SEVERAL, VALUE, Form, form

FACTOR_A, FACTOR_B = 0xA0761D6478BD642F, 0xE7037ED1A0B428DB
SEED_A, SEED_B = 0x243F6A8885A308D3, 0x13198A2E03707344
ONES, TOPS = np.uint64(0x0101010101010101), np.uint64(0x8080808080808080)
FILLING = np.uint64(0x6161616161616161)  # letters, which are their own form but for their case
PIECE = 1 << 12  # bytes of text whose normal form is written at once
FRONT = 8  # bytes before the normal form, which are read together with its last bytes


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
def _add(a: Int, b: Int, w: Int) -> tuple[Int, Int]:
    """Hash the eight bytes `w` into `a` and `b`."""
    a, b = (a ^ w) * np.uint64(FACTOR_A), (b ^ w) * np.uint64(FACTOR_B)
    return a ^ (a >> np.uint64(32)), b ^ (b >> np.uint64(32))


@kernel(inline="always")
def _last(data: U8, i: Int, stop: Int) -> Int:
    """Return the zero to seven bytes data[i:stop] as one number."""
    word = np.uint64(0)
    if i < stop and stop >= np.uint64(8):
        word = eight_bytes(data, stop - np.uint64(8)) >> np.uint64(8) * (np.uint64(8) - (stop - i))
    else:
        for j in range(stop - i):
            word |= np.uint64(data[i + np.uint64(j)]) << np.uint64(8 * j)
    return word


@kernel(inline="always")
def _continued(w: Int) -> Int:
    """Return how many of eight bytes are not the first ones of a character of UTF-8."""
    return ((w & ~(w << np.uint64(1)) & TOPS) >> np.uint64(7)) * ONES >> np.uint64(56)


@kernel(inline="always")
def _as_written(data: U8, i: Int, stop: Int) -> tuple[Int, Int, Int, Int]:
    """Hash the bytes data[i:stop]; return the hashes, the last bytes, and the number of characters."""
    a, b, length = np.uint64(SEED_A), np.uint64(SEED_B), stop - i
    while i + np.uint64(8) <= stop:
        w = eight_bytes(data, i)
        a, b = _add(a, b, w)
        length -= _continued(w)
        i += np.uint64(8)
    word = _last(data, i, stop)
    return a, b, word, length - _continued(word)


@kernel(inline="always")
def _odd(w: Int, before: Int, gaps: Int) -> tuple[Int, Int]:
    """Return what keeps eight bytes from being their own form (0: nothing), and whether the last one is a blank.

    - before: whether the byte before them is a blank, 0x80 or 0.
    - gaps: whether control characters and successive blanks change.
    """
    if not gaps or w & TOPS:
        return w & TOPS, np.uint64(0)
    blanks = _between(w, 0x20, 0x20)
    return (blanks & (blanks << np.uint64(8) | before)) | _between(w, 0, 0x1F), blanks >> np.uint64(56)


@kernel(inline="always")
def _unchanged(data: U8, i: Int, stop: Int, lowers: Int, gaps: Int) -> tuple[Int, Int, Int, bool]:
    """Hash data[i:stop], of which only the case may change; return the hashes, the last bytes, and whether it is so."""
    a, b, word, before = np.uint64(SEED_A), np.uint64(SEED_B), np.uint64(0), np.uint64(0)
    while i + np.uint64(8) <= stop:
        w = eight_bytes(data, i)
        odd, before = _odd(w, before, gaps)
        if odd:
            return a, b, word, False
        a, b = _add(a, b, w | _between(w, 0x41, 0x5A) >> np.uint64(2) if lowers else w)
        i += np.uint64(8)
    n, word = stop - i, _last(data, i, stop)
    odd, before = _odd(word | FILLING << np.uint64(8) * n, before, gaps)
    return a, b, word | _between(word, 0x41, 0x5A) >> np.uint64(2) if lowers else word, not odd


@kernel(inline="always")
def _write(data: U8, i: Int, stop: Int, table: U16, out: U8, k: Int, blank: Int) -> tuple[Int, Int, Int]:
    """Write the form of the leading ASCII bytes of data[i:stop] to `out` from byte `k` on.

    - blank: whether a blank is not to be written next, since it would be the first byte or follow another one.

    Returns the ends of what was read and written, and `blank` for the bytes that follow.
    """
    while i < stop:
        entry = np.uint64(table[np.uint64(data[i])])
        if entry & np.uint64(BEYOND):
            return i, k, blank
        out[k] = np.uint8(entry)
        written, gap = entry >> np.uint64(8) & np.uint64(1), entry >> np.uint64(9) & np.uint64(1)
        k += written & ~(gap & blank)
        blank = gap | (blank & ~written)
        i += np.uint64(1)
    return i, k, blank


@kernel(inline="always")
def _hashed(a: Int, b: Int, data: U8, i: Int, stop: Int) -> tuple[Int, Int, Int]:
    """Hash data[i:stop] into `a` and `b`; return them and the last bytes, which are not in them yet."""
    while i + np.uint64(8) <= stop:
        a, b = _add(a, b, eight_bytes(data, i))
        i += np.uint64(8)
    return a, b, _last(data, i, stop)


@kernel(_nrt=False)
def _any(data: U8, start: int, stop: int, form: Form, out: U8) -> tuple[Int, Int, Int, Int]:
    """Hash a text of any characters and length; return the hashes, the last bytes, and the length in characters.

    - out: uint8[2 * PIECE + 64].
    """
    entries, several, one, front = form.entries, form.several, np.uint64(1), np.uint64(FRONT)
    a, b, i, end = np.uint64(SEED_A), np.uint64(SEED_B), np.uint64(start), np.uint64(stop)
    k, length, blank = front, np.uint64(0), np.uint64(form.gaps)
    while i < end:
        if data[i] < 0x80:
            begin = k
            i, k, blank = _write(data, i, min(end, i + np.uint64(PIECE)), form.bytes, out, k, blank)
            length += k - begin
        else:
            c, size = code_point(data, np.int64(i))
            entry = np.uint64(entries[c])
            if entry & np.uint64(FINAL) and final_sigma(data, np.int64(i), start, stop, form.classes):
                entry = np.uint64(entries[0x3C2])
            i += np.uint64(size)
            row, parts = entry & np.uint64(VALUE), 3 if entry & np.uint64(SEVERAL) else 1
            for part in range(parts):
                entry = np.uint64(several[row, part]) if parts == 3 else entry
                if entry & np.uint64(KEPT):
                    point = entry & np.uint64(POINT)
                    size = 1 if point < np.uint64(0x80) else 3
                    out[k] = point if size == 1 else np.uint64(0x80) | point & np.uint64(0x7F)
                    out[k + one] = point >> np.uint64(7) & np.uint64(0xFF)
                    out[k + np.uint64(2)] = point >> np.uint64(15)
                    k += np.uint64(size)
                    length, blank = length + one, np.uint64(0)
                elif entry >> np.uint64(31) & ~blank:
                    out[k] = 0x20
                    k, length, blank = k + one, length + one, one
        if k > np.uint64(PIECE):  # hashed but for the last bytes, which may be a blank
            a, b, _ = _hashed(a, b, out, front, k - one)
            done = (k - one - front) & ~np.uint64(7)
            for j in range(k - front - done):
                out[front + np.uint64(j)] = out[front + done + np.uint64(j)]
            k -= done
    last = np.uint64(form.gaps) & blank & np.uint64(length != np.uint64(0))  # a blank at the end
    a, b, word = _hashed(a, b, out, front, k - last)
    return a, b, word, length - last


@kernel(inline="always")
def _may_be_space(data: U8, i: Int) -> Int:
    """Return whether byte `i` may belong to white space, so that `strip` must look at it."""
    return data[i] <= 0x20 or data[i] >= 0x80


@kernel
def hash_units(data: U8, start: I64, end: I64, form: Form) -> tuple[U64, I64]:
    """Return hashes, uint64[m, 2], and lengths in characters, int64[m], of units data[start:end] in a normal form."""
    hashes, chars = np.empty((len(start), 2), np.uint64), np.empty(len(start), np.int64)
    out, front = np.zeros(2 * PIECE + 64, np.uint8), np.uint64(FRONT)
    for u in range(len(start)):
        from_, to = start[u], end[u]
        if from_ < to and (form.strips or (_may_be_space(data, from_) and _may_be_space(data, to - 1))):
            while from_ < to and data[from_] == 0x20:
                from_ += 1
            while from_ < to and data[to - 1] == 0x20:
                to -= 1
            if from_ < to and (_may_be_space(data, from_) or _may_be_space(data, to - 1)):
                from_, to = strip(data, from_, to, form.classes)
        is_blank = from_ == to
        from_, to = (from_, to) if form.strips else (start[u], end[u])
        i, stop, done = np.uint64(from_), np.uint64(to), False
        length = stop - i
        if form.gaps and not form.changes:
            a, b, word, done = _unchanged(data, i, stop, form.lowers, 1)
        elif not form.gaps and form.lowers:
            a, b, word, done = _unchanged(data, i, stop, 1, 0)
        elif not form.gaps:
            a, b, word, length = _as_written(data, i, stop)
            done = True
        if not done and form.gaps and length <= np.uint64(PIECE):
            i, k, blank = _write(data, i, stop, form.bytes, out, front, np.uint64(1))
            k -= blank & np.uint64(k > front)
            a, b, word = _hashed(np.uint64(SEED_A), np.uint64(SEED_B), out, front, k)
            length, done = k - front, i == stop
        if not done:
            a, b, word, length = _any(data, from_, to, form, out)
        hashes[u, 0] = mix64((a ^ word) * np.uint64(FACTOR_A) + length)
        hashes[u, 1] = mix64((b ^ word) * np.uint64(FACTOR_B) ^ length)
        chars[u] = 0 if is_blank else np.int64(length)
    return hashes, chars
