"""Reduce a page to the bytes that show its charset: without tags, and without most of its ASCII.

Slow reference for the tests: tests/twins/page.py
"""

from __future__ import annotations

import numpy as np

from dataprep.unicode.kernel import kernel
from dataprep.unicode.text import U8, Int

SCRIPT, STYLE = (np.frombuffer(name, np.uint8) for name in (b"script", b"style"))


def without_tags(data: bytes, most: int, *, scripts: bool) -> bytes:
    """Return the first `most` bytes of a page with a blank instead of each tag.

    - scripts: whether scripts and styles are removed with the text in them.
    """
    out = np.empty(min(most, len(data)), np.uint8)
    return out[: _without_tags(np.frombuffer(data, np.uint8), scripts, SCRIPT, STYLE, out)].tobytes()


def shortened(data: bytes) -> bytes:
    """Return the bytes; in each run of at least four ASCII bytes, one blank replaces the inner bytes."""
    out = np.empty(len(data), np.uint8)
    return out[: _shortened(np.frombuffer(data, np.uint8), out)].tobytes()


def high_bytes(data: bytes) -> tuple[int, int]:
    """Return the number of bytes over 127, and how many of them are in runs of at least three.

    The no-break space, which occurs next to all letters, is not counted.
    """
    n, in_runs = _high_bytes(np.frombuffer(data, np.uint8))
    return int(n), int(in_runs)


@kernel(_nrt=False)
def _without_tags(data: U8, scripts: bool, script: U8, style: U8, out: U8) -> Int:  # noqa: FBT001
    """Write the result of `without_tags` to `out`; return its size."""
    i, k, n = np.int64(0), np.int64(0), len(data)
    open_script = open_style = scripts  # whether a later </script> or </style> may exist
    closed = True  # whether a later > may exist
    while i < n and k < len(out):
        end = np.int64(-1)
        if data[i] == 60:  # <
            if open_script and _is_word(data, i + 1, script):
                end = _after_close(data, i + 7, script)
                open_script = end >= 0
            elif open_style and _is_word(data, i + 1, style):
                end = _after_close(data, i + 6, style)
                open_style = end >= 0
            if end < 0 and closed:
                end = i + 1
                while end < n and data[end] != 62:
                    end += 1
                closed = bool(end < n)
                end = end + 1 if closed else np.int64(-1)
        out[k] = data[i] if end < 0 else 32
        i, k = i + 1 if end < 0 else end, k + 1
    return k


@kernel(_nrt=False)
def _is_word(data: U8, at: Int, name: U8) -> bool:
    """Return whether the word at `at` is `name`, ignoring case."""
    if at + len(name) > len(data):
        return False
    for k in range(len(name)):
        if data[at + k] | 32 != name[k]:
            return False
    if at + len(name) == len(data):
        return True
    c = data[at + len(name)]
    return not (48 <= c <= 57 or 65 <= c <= 90 or 97 <= c <= 122 or c == 95)


@kernel(_nrt=False)
def _after_close(data: U8, at: Int, name: U8) -> Int:
    """Return the offset after the next `</name>`, -1 if there is none."""
    n = len(name)
    for i in range(at, len(data) - n - 2):
        if data[i] == 60 and data[i + 1] == 47 and data[i + 2 + n] == 62 and _is_word(data, i + 2, name):
            return i + n + 3
    return -1


@kernel(_nrt=False)
def _shortened(data: U8, out: U8) -> Int:
    """Write the result of `shortened` to `out`; return its size."""
    i, k, n = np.int64(0), np.int64(0), len(data)
    while i < n:
        end = i
        while end < n and data[end] < 128:
            end += 1
        if end - i > 3:
            out[k], out[k + 1], out[k + 2] = data[i], 32, data[end - 1]
            i, k = end, k + 3
        while i < n and i <= end:
            out[k] = data[i]
            i, k = i + 1, k + 1
    return k


@kernel(_nrt=False)
def _high_bytes(data: U8) -> tuple[Int, Int]:
    """Compute the result of `high_bytes`."""
    high, in_runs, run = np.int64(0), np.int64(0), np.int64(0)
    for c in data:
        if c < 128 or c == 0xA0:
            run = np.int64(0)
            continue
        high += 1
        run += 1
        in_runs += 3 if run == 3 else run > 3
    return high, in_runs
