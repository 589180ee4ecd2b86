"""Kernels that read keys, and find a text in a nested field, such as `text="message.body"`.

Slow reference for the tests: tests/twins/json_lines.py
"""

from __future__ import annotations

from typing import NamedTuple

from dataprep.unicode.kernel import kernel
from dataprep.unicode.text import I64, U8

from .grammar import copy_string, next_special, skip_space, value_end


class Inner(NamedTuple):
    """The names on the path to a text that is inside another field.

    Attributes:
        names: all names after the first, UTF-8, joined.
        ends: int64[levels], the end of each.
        same: int64[levels], the first level with the same name.
    """

    names: U8
    ends: I64
    same: I64


@kernel
def match(key: U8, i: int, j: int, names: U8, ends: I64) -> int:
    """Return the number (from 0) of the name in `names` that equals key[i:j], or -1 if there is none.

    - names: UTF-8, joined; the k-th name ends at ends[k].
    """
    start = 0
    for k in range(len(ends)):
        if ends[k] - start == j - i:
            n = 0
            while n < j - i and names[start + n] == key[i + n]:
                n += 1
            if n == j - i:
                return k
        start = ends[k]
    return -1


@kernel
def read_key(data: U8, i: int, names: U8, ends: I64, scratch: U8, at: int) -> tuple[int, int]:
    """Return (number of the key that begins at data[i] among `names`, index in `data` after its colon).

    The first is -1 if the key is not in `names`; the second is -1 if no key begins there.

    - names: as in `match`.
    - ends: as in `match`.
    - scratch: a buffer into which an escaped key is unescaped, from the index `at` on.
    """
    if data[i] != 34:
        return -1, -1
    j = next_special(data, i + 1)
    if data[j] == 34:
        name = match(data, i + 1, j, names, ends)
        i = j + 1
    else:
        i, end = copy_string(data, i + 1, scratch, at)
        name = match(scratch, at, end, names, ends) if end >= 0 else -1
        if i < 0:
            return -1, -1
    i = skip_space(data, i)
    return name, (i + 1 if data[i] == 58 else -1)


@kernel
def find_inner(data: U8, i: int, path: Inner, scratch: U8, at: int, stack: U8) -> tuple[int, int, int]:
    """Return (start of the value to which `path` leads from the value at data[i], gap, after); -1, -1, -1 if none.

    data[gap:after] is the member that has the value, with the comma before it (after it if the member is the first).
    The value at data[i] must be valid JSON.

    - scratch: as in `read_key`.
    - stack: as in `value_end`.
    """
    gap = after = -1
    for level in range(len(path.ends)):
        if data[i] != 123:
            return -1, -1, -1
        found, first, before = -1, True, skip_space(data, i + 1)
        j = before
        more = data[j] != 125
        while more:
            name, value = read_key(data, j, path.names, path.ends, scratch, at)
            value = skip_space(data, value)
            end = skip_space(data, value_end(data, value, stack))
            more = data[end] == 44
            j = skip_space(data, end + 1) if more else end
            if name >= 0 and name == path.same[level]:
                found, gap, after = value, before, (j if first else end)
            before, first = end, False
        if found < 0:
            return -1, -1, -1
        i = found
    return i, gap, after
