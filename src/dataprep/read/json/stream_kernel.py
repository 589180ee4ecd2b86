"""Kernels that find the messages of a JSON export: one pass over brackets that respects strings.

Nothing is built or checked: the bytes between two commas are parsed later. A pass stops at the end of the bytes and
continues with the next ones, so a message may be split anywhere. At least eight zero bytes follow data[:n].

Twin: tests/twins/json_stream.py
"""

from __future__ import annotations

from dataprep.unicode.kernel import kernel

from .grammar import I64, U8, next_special

# State of a pass when the bytes end: inside a string; open brackets; start of the last string or message (-1: none),
# end of that string (-1: not reached).
IN_STRING, DEPTH, START, END = range(4)
MORE, FOUND, FULL = range(3)


@kernel
def skip_string(data: U8, i: int, n: int, state: I64) -> int:
    """Return the position after the closing quote, or n (n + 1 after a split escape) with IN_STRING set."""
    state[IN_STRING] = 1
    while i < n:
        i = next_special(data, i)
        if i >= n:
            return n
        if data[i] == 34:
            state[IN_STRING] = 0
            return i + 1
        i += 2 if data[i] == 92 else 1
    return i


@kernel
def find_array(data: U8, i: int, n: int, name: U8, state: I64) -> tuple[int, int]:
    """Find the first array under the key `name`: return (position after its bracket, FOUND), or (n, MORE)."""
    while i < n:
        if state[IN_STRING]:
            i = skip_string(data, i, n, state)
            if not state[IN_STRING]:
                state[END] = i - 1
            continue
        c = data[i]
        if c == 34:
            state[IN_STRING], state[START] = 1, i
        elif c == 91 and state[START] >= 0 and state[END] - state[START] - 1 == len(name):
            k = 0
            while k < len(name) and data[state[START] + 1 + k] == name[k]:
                k += 1
            state[START] = -1
            if k == len(name):
                return i + 1, FOUND
        elif c > 32 and c != 58:
            state[START] = -1
        i += 1
    return i, MORE


@kernel
def find_messages(data: U8, i: int, n: int, state: I64, starts: I64, ends: I64) -> tuple[int, int, int]:
    """Write the starts and ends of an array's elements to int64[capacity].

    Return (position, number of elements, event): FOUND at the bracket that closes the array, FULL if the capacity is
    used up, MORE at the end of the bytes. An element that is not closed keeps its START.
    """
    k = 0
    while i < n:
        if state[IN_STRING]:
            i = skip_string(data, i, n, state)
            continue
        c = data[i]
        if c <= 32:
            i += 1
            continue
        closes = c in (93, 125)
        if state[DEPTH] == 0 and (c == 44 or closes):
            if state[START] >= 0 or c == 44:
                starts[k], ends[k] = state[START] if state[START] >= 0 else i, i
                k += 1
            state[START] = -1
            if closes:
                return i, k, FOUND
            if k == len(starts):
                return i + 1, k, FULL
            i += 1
            continue
        if state[START] < 0:
            state[START] = i
        if c == 34:
            state[IN_STRING] = 1
        elif c in (91, 123):
            state[DEPTH] += 1
        elif closes:
            state[DEPTH] -= 1
        i += 1
    return i, k, MORE
