"""Byte ranges of the documents, paragraphs or lines of texts that have enough letters to identify a language.

Twin: tests/twins/language_units.py.
"""

from __future__ import annotations

import numpy as np

from dataprep.unicode.kernel import kernel
from dataprep.unicode.text import ALPHA, I64, U8, U16, code_point
from dataprep.unicode.utf8 import whole_points

DOCUMENT, PARAGRAPH, LINE = 0, 1, 2
UNITS = {"document": DOCUMENT, "paragraph": PARAGRAPH, "line": LINE}


@kernel
def cut(offsets: I64, data: U8, unit: int, max_bytes: int, min_letters: int, table: U16) -> tuple[I64, int]:
    """Return the units with at least `min_letters` letters: int64[m, 4] of row, start, stop, bytes; in order.

    [start, stop) are the first `max_bytes` bytes of a unit without a split code point, in which letters are counted;
    the last column counts the whole unit. A paragraph ends at a blank line.
    """
    n = len(offsets) - 1
    room = n
    if unit != 0:
        for i in range(offsets[0], offsets[n]):
            room += data[i] == 0x0A
    out = np.empty((room, 4), np.int64)
    found = 0
    for row in range(n):
        a, end = offsets[row], offsets[row + 1]
        while a < end:
            b = end if unit == 0 else a
            after = end
            while b < end:
                if data[b] == 0x0A:
                    after = b + 1
                    if unit == 2:
                        break
                    while after < end and (data[after] == 0x20 or data[after] == 0x09 or data[after] == 0x0D):
                        after += 1
                    if after == end or data[after] == 0x0A:
                        break
                b += 1
            if b == end:
                after = end
            stop = b
            if b - a > max_bytes:
                stop = whole_points(data, a, a + max_bytes)
            letters, i = 0, a
            while i < stop and letters < min_letters:
                point, size = code_point(data, i)
                letters += (table[point] & ALPHA) != 0
                i += size
            if letters >= min_letters and stop > a:
                out[found, 0], out[found, 1], out[found, 2], out[found, 3] = row, a, stop, b - a
                found += 1
            a = after
    return out, found
