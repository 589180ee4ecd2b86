"""Replace ranges of bytes in many texts at once.

Slow reference for the tests: tests/twins/splice.py
"""

from __future__ import annotations

import numpy as np

from .kernel import kernel
from .text import I64, U8, copied


@kernel
def splice(offsets: I64, data: U8, spans: I64, begins: I64, ends: I64, news: U8) -> tuple[I64, U8]:
    """Return n texts with m ranges of bytes replaced: (offsets int64[n + 1] from 0, UTF-8 bytes).

    - offsets: text k is data[offsets[k]:offsets[k + 1]].
    - data: the texts, UTF-8 bytes.
    - spans: int64[m, 2], first byte and end of each range, in order; no range crosses the end of a text.
    - begins: int64[m]; news[begins[j]:ends[j]] replaces the range j.
    - ends: int64[m].
    """
    n, m = len(offsets) - 1, len(spans)
    size = offsets[n] - offsets[0]
    for j in range(m):
        size += (ends[j] - begins[j]) - (spans[j, 1] - spans[j, 0])
    new, out = np.zeros(n + 1, np.int64), np.empty(size, np.uint8)
    at, at_out, j = offsets[0], np.int64(0), 0
    for d in range(n):
        while j < m and spans[j, 0] < offsets[d + 1]:
            at_out = copied(data, at, spans[j, 0], out, at_out)
            at_out = copied(news, begins[j], ends[j], out, at_out)
            at = spans[j, 1]
            j += 1
        at_out = copied(data, at, offsets[d + 1], out, at_out)
        at = offsets[d + 1]
        new[d + 1] = at_out
    return new, out
