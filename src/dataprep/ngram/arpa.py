"""Write the ARPA file format: each line has a log10 probability, the words of an n-gram, and a log10 back-off weight.

Slow reference for the tests: tests/twins/ngram.py
"""

from __future__ import annotations

from typing import IO

import numpy as np

from dataprep.unicode.kernel import kernel
from dataprep.unicode.text import I64, U8

from .smoothing import F64
from .vocabulary import I32, Vocabulary

LINES_AT_ONCE = 1 << 15
NUMBER_BYTES = 16  # the longest number and its separator


def write_lines(f: IO[bytes], columns: I32, probability: F64, backoff: F64 | None, words: Vocabulary) -> None:
    """Write n-grams of one order to `f` as lines of an ARPA file.

    - columns: word numbers, int32[order, n]; row 0 has the last words.
    - probability: the probabilities, float64[n].
    - backoff: the back-off weights, or None to omit them.
    - words: the vocabulary, which maps numbers to words.
    """
    ends, pool = words.table.ends, words.table.pool
    lengths = np.diff(ends[: len(words) + 1])
    absent = np.empty(0, np.float64)
    for start in range(0, columns.shape[1], LINES_AT_ONCE):
        part = np.ascontiguousarray(columns[:, start : start + LINES_AT_ONCE])
        room = int(lengths[part].sum()) + part.shape[1] * (2 * NUMBER_BYTES + len(part))
        out = np.empty(room, np.uint8)
        stop = start + LINES_AT_ONCE
        n = lines(
            part, log10(probability[start:stop]), absent if backoff is None else log10(backoff[start:stop]),
            ends, pool, out,
        )  # fmt: skip
        f.write(out[:n].data)


def log10(values: F64) -> F64:
    """Return the decimal logarithm of each value; for 0, -99, which represents log 0 in the ARPA format."""
    values = np.asarray(values, np.float64)
    return np.where(values > 0, np.log10(np.maximum(values, 1e-99)), -99.0)


@kernel
def lines(columns: I32, logs: F64, backoffs: F64, ends: I64, pool: U8, out: U8) -> int:
    """Write n-grams as lines of an ARPA file to the buffer `out`; return the number of bytes written.

    - columns: word numbers, int32[order, n]; row 0 has the last words.
    - logs: float64[n], log10 of the probabilities.
    - backoffs: float64[n], log10 of the back-off weights; if the array is empty, they are omitted. The bytes of word w
      are pool[ends[w]:ends[w + 1]].
    """
    k = 0
    for i in range(columns.shape[1]):
        k = number(logs[i], out, k)
        out[k] = 0x09
        k += 1
        for d in range(columns.shape[0] - 1, -1, -1):
            word = columns[d, i]
            for j in range(ends[word], ends[word + 1]):
                out[k] = pool[j]
                k += 1
            out[k] = 0x20
            k += 1
        k -= 1
        if len(backoffs):
            out[k] = 0x09
            k = number(backoffs[i], out, k + 1)
        out[k] = 0x0A
        k += 1
    return k


@kernel
def number(value: float, out: U8, k: int) -> int:
    """Write the number `value`, with up to seven decimals, as text to out[k:]; return the offset after it."""
    scaled = np.int64(np.rint(abs(value) * 1e7))
    if value < 0 and scaled > 0:
        out[k] = 0x2D
        k += 1
    whole, rest = scaled // 10_000_000, scaled % 10_000_000
    power = 1
    while power * 10 <= whole:
        power *= 10
    while power > 0:
        out[k] = 0x30 + (whole // power) % 10
        k += 1
        power //= 10
    if rest > 0:
        out[k] = 0x2E
        k += 1
        power = 1_000_000
        while rest > 0:
            out[k] = 0x30 + rest // power
            rest %= power
            power //= 10
            k += 1
    return k
