"""Kernels of CleanMessages: find where its rules may match, and the white space that is removed with a span.

A span is a range of bytes of n texts, which are data[offsets[k]:offsets[k + 1]] in UTF-8; spans are int64[m, 2] and in
order.

Slow reference for the tests: tests/twins/clean.py
"""

from __future__ import annotations

import numpy as np

from dataprep.unicode.kernel import kernel
from dataprep.unicode.text import ALPHA, I64, NUMERIC, U8, U16, U32, Int, code_point, step_back

from .clean_prefilter import CONTROL, KEPT, LAUGHING, LETTER, SIGN, SPACE, may_laugh, sign_flags

HIDDEN = 0x1D  # represents a link that is kept
LONGEST = 1_100  # bytes of a mention, at most

# For kernels that only kernels call: without the code that counts references, they are compiled in less time.
part = kernel(cache=False, _nrt=False)


@kernel
def words_with(offsets: I64, data: U8, rows: I64, table: U32, flag: int) -> I64:
    """Return the spans of words with a sign of a link (flag: LINK) or an at sign (AT); words are between white space.

    - rows: int64, the texts to search.
    - table: `characters()`.
    """
    out, m = np.empty((len(data) // 2 + 1, 2), np.int64), 0
    for d in rows:
        i, start, stop = offsets[d], offsets[d], offsets[d + 1]
        word, found = start, False
        while i < stop:
            c, size = code_point(data, i)
            kind = table[c]
            if kind & SPACE:
                if found:
                    out[m, 0], out[m, 1] = word, i
                    m, found = m + 1, False
                word = i + size
            elif kind & SIGN and sign_flags(data, i, start, stop) & flag:
                found = True
            i += size
        if found:
            out[m, 0], out[m, 1] = word, stop
            m += 1
    return out[:m]


@kernel
def laughing_words(offsets: I64, data: U8, rows: I64, table: U32) -> I64:
    """Return the spans of words that may be laughter.

    - rows, table: as for `words_with`.
    """
    out, m = np.empty((len(data) // 3 + 1, 2), np.int64), 0
    for d in rows:
        i, stop = offsets[d], offsets[d + 1]
        word, letters = i, 0
        alphabets: Int = np.uint32(LAUGHING)
        while i <= stop:
            kind: Int = np.uint32(0)
            size = 1
            if i < stop:
                c, size = code_point(data, i)
                kind = table[c]
            if kind & LETTER:
                alphabets &= kind
                letters += 1
            else:
                if may_laugh(alphabets, letters):
                    out[m, 0], out[m, 1] = word, i
                    m += 1
                word, letters, alphabets = i + size, 0, np.uint32(LAUGHING)
            i += size
    return out[:m]


@kernel
def mention_signs(offsets: I64, data: U8, rows: I64) -> I64:
    """Return where mentions may begin, at @, <@ or <#, int64[m, 3].

    A row of the result is (offset of the character before it, or of itself at the beginning of a text; its offset;
    the end of the longest mention that may begin there).

    - rows: as for `words_with`.
    """
    out, m = np.empty((len(data) + 1, 3), np.int64), 0
    for d in rows:
        start, stop = offsets[d], offsets[d + 1]
        for i in range(start, stop - 1):
            if data[i] == 64 or (data[i] == 60 and data[i + 1] in (64, 35)):
                end = min(stop, i + LONGEST)
                while end < stop and data[end] & 0xC0 == 0x80:
                    end -= 1
                out[m, 0], out[m, 1], out[m, 2] = step_back(data, i) if i > start else i, i, end
                m += 1
    return out[:m]


@kernel
def long_runs(offsets: I64, data: U8, rows: I64, table: U32, most: int) -> I64:
    """Return the spans of the characters after `most` equal ones in a run.

    - rows, table: as for `words_with`.
    """
    out, m = np.empty((len(data) // (most + 1) + 1, 2), np.int64), 0
    for d in rows:
        i, stop = offsets[d], offsets[d + 1]
        last, n = np.int64(-1), 0
        while i <= stop:
            c, size = np.int64(-2), 1
            if i < stop:
                c, size = code_point(data, i)
            if c == last:
                n += 1
            else:
                if n > most and table[last] & KEPT == 0:
                    out[m, 1] = i
                    m += 1
                last, n = c, 1
            if n == most + 1:
                out[m, 0] = i
            i += size
    return out[:m]


@kernel
def marks(offsets: I64, data: U8, rows: I64, table: U32) -> I64:
    """Return the spans of control characters and direction marks.

    - rows, table: as for `words_with`.
    """
    out, m = np.empty((len(data), 2), np.int64), 0
    for d in rows:
        i = offsets[d]
        while i < offsets[d + 1]:
            c, size = code_point(data, i)
            if table[c] & CONTROL and c != HIDDEN:
                out[m, 0], out[m, 1] = i, i + size
                m += 1
            i += size
    return out[:m]


@part
def blank_at(data: U8, i: Int, stop: Int) -> Int:
    """Return the bytes of the space, tab or no-break space at `i` of a text that ends at `stop`; 0 if there is none."""
    if i >= stop:
        return 0
    if data[i] in (32, 9):
        return 1
    if data[i] == 0xC2 and data[i + 1] == 0xA0:
        return 2
    return 3 if data[i] == 0xE2 and data[i + 1] == 0x80 and data[i + 2] == 0xAF else 0


@part
def blank_before(data: U8, i: Int, start: Int) -> Int:
    """Return the bytes of the space, tab or no-break space before `i` of a text from `start` on; 0: there is none."""
    if i <= start:
        return 0
    if data[i - 1] in (32, 9):
        return 1
    if data[i - 1] == 0xA0 and data[i - 2] == 0xC2:
        return 2
    return 3 if data[i - 1] == 0xAF and data[i - 2] == 0x80 and data[i - 3] == 0xE2 else 0


@part
def united(offsets: I64, data: U8, spans: I64, texts: I64) -> Int:
    """Unite spans that touch, and extend them by white space that would be left double; return their number, m.

    Args:
        offsets: text k is data[offsets[k]:offsets[k + 1]].
        data: the texts, UTF-8 bytes.
        spans: int64[n, 2], start and end in `data`, in order; the first m rows are overwritten with the result.
        texts: int64[n]; the index of each resulting span's text is written to it.
    """
    m, k, d = 0, 0, 0
    while k < len(spans):
        a, b = spans[k, 0], spans[k, 1]
        while offsets[d + 1] <= a:
            d += 1
        start, stop = offsets[d], offsets[d + 1]
        k += 1
        while k < len(spans) and spans[k, 0] <= b and spans[k, 0] < stop:
            b = spans[k, 1]
            k += 1
        if a == start or data[a - 1] == 10 or blank_before(data, a, start):
            size = blank_at(data, b, stop)
            while size:
                b += size
                size = blank_at(data, b, stop)
        if m and texts[m - 1] == d and a <= spans[m - 1, 1]:
            spans[m - 1, 1] = b
        else:
            spans[m, 0], spans[m, 1], texts[m] = a, b, d
            m += 1
    return m


@kernel
def widened(offsets: I64, data: U8, found: I64, classes: U16) -> tuple[I64, I64]:
    """Return spans with the white space that is removed with them, and int64[m + 1]: see `glue`.

    Spans that touch are united. `glue` rises by 1 at each span that must leave a space, because letters or digits would
    otherwise be joined; at other spans it is unchanged.

    - found: the spans to remove.
    """
    spans, texts = found.copy(), np.empty(len(found), np.int64)
    m = united(offsets, data, spans, texts)
    glue = np.zeros(m + 1, np.int64)
    end = np.int64(0)
    for k in range(m):
        a, b, start, stop = spans[k, 0], spans[k, 1], offsets[texts[k]], offsets[texts[k] + 1]
        ends_line = b == stop or data[b] == 10
        if ends_line or data[b] in (46, 44, 41):  # . , )
            size = blank_before(data, a, start)
            while size:
                a -= size
                size = blank_before(data, a, start)
        if ends_line and a > start and data[a - 1] == 10:  # all of a line, or of the rest of a text
            a -= 1
        elif b < stop and data[b] == 10 and a == start:
            b += 1
        glue[k + 1] = glue[k]
        if start < a and b < stop:
            before, _ = code_point(data, step_back(data, a))
            after, _ = code_point(data, b)
            glue[k + 1] += classes[before] & (ALPHA | NUMERIC) != 0 and classes[after] & (ALPHA | NUMERIC) != 0
        spans[k, 0], spans[k, 1] = max(a, end), b
        end = b
    return spans[:m], glue
