"""Kernels that find the longest substrings that a text shares with the text of a suffix array.

Slow reference for the tests: tests/twins/search.py
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from dataprep.unicode.kernel import kernel
from dataprep.unicode.text import I64, U8, Int

I32: TypeAlias = npt.NDArray[np.int32]


@kernel
def longest_matches(query: U8, begins: I64, text: U8, suffixes: I32) -> I64:
    """Return, for each offset b in `begins`, the length of the longest start of query[b:] that occurs in `text`, int64.

    - query: UTF-8 bytes.
    - begins: offsets in the query, ascending. Lengths are in bytes. The longest start that occurs is called the match
      of the offset.
    - suffixes: the suffix array of `text`, int32. If the matches of several offsets end at the same byte of the query,
      the first match is the longest. Its length is always computed; for the other offsets, the result may be 0. The
      match of a later offset never ends before that of an earlier offset; so the next match that ends later is searched
      in steps of doubling size. If `text` contains the whole query, a few comparisons are enough. The result contains
      -1 if a suffix that was read is outside the text.
    """
    found = np.zeros(len(begins), np.int64)
    here = 0
    while here < len(begins):
        found[here] = found[here] or match_at(query, begins[here], text, suffixes)
        end = begins[here] + found[here]
        ends_there, behind, step = here, -1, 1
        while behind < 0 or behind - ends_there > 1:
            probe = min(ends_there + step, len(begins)) if behind < 0 else (ends_there + behind) // 2
            if probe == len(begins) or begins[probe] > end:
                behind = probe
                continue
            size = match_at(query, begins[probe], text, suffixes)
            if size < 0 or begins[probe] + size > end:
                behind, found[probe] = probe, size
            else:
                ends_there, step = probe, 2 * step
        here = behind
    return found


@kernel
def match_at(query: U8, begin: Int, text: U8, suffixes: I32) -> Int:
    """Return the length in bytes of the longest beginning of query[begin:] that occurs in `text`.

    This is a binary search, which skips the bytes that both ends of its interval share with the query (Manber and Myers
    1993). `text` must end with a byte that the query does not have, so that no comparison runs past the end of `text`.

    - suffixes: the suffix array of `text`, int32.

    Returns -1 if a suffix is outside the text, which means that the file of the suffix array is damaged.
    """
    left, right = np.int64(-1), np.int64(len(suffixes))
    shared_left, shared_right = np.int64(0), np.int64(0)
    while right - left > 1:
        middle = (left + right) // 2
        at, size = np.int64(suffixes[middle]), min(shared_left, shared_right)
        if at < 0 or at + size >= len(text):
            return -1
        while begin + size < len(query) and text[at + size] == query[begin + size]:
            size += 1
        if begin + size == len(query):
            return size
        if text[at + size] < query[begin + size]:
            left, shared_left = middle, size
        else:
            right, shared_right = middle, size
    return max(shared_left, shared_right)
