"""The kernel that finds, from every character of a text, the longest match in a suffix array."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from ..kernel import kernel
from ..text import I64, U8

I32: TypeAlias = npt.NDArray[np.int32]


@kernel
def longest_matches(query: U8, begins: I64, text: U8, suffixes: I32) -> I64:
    """How many bytes from each place of `begins` on stand somewhere in `text`, int64[len(begins)].

    A binary search that never compares again what both ends of the interval share with the query (Manber and Myers
    1993). `text` ends with a byte that the query has not, so that no comparison runs over its end.
    """
    found = np.zeros(len(begins), np.int64)
    for k in range(len(begins)):
        begin, left, right = begins[k], np.int64(-1), np.int64(len(suffixes))
        shared_left, shared_right = np.int64(0), np.int64(0)
        while right - left > 1:
            middle = (left + right) // 2
            at, size = np.int64(suffixes[middle]), min(shared_left, shared_right)
            while begin + size < len(query) and text[at + size] == query[begin + size]:
                size += 1
            if begin + size == len(query):
                shared_left = size
                break
            if text[at + size] < query[begin + size]:
                left, shared_left = middle, size
            else:
                right, shared_right = middle, size
        found[k] = max(shared_left, shared_right)
    return found
