"""Stream the messages of a JSON export: even a file of several gigabytes needs only the memory of one block.

An export is one JSON document with one or more arrays `messages`. The stream yields the messages in groups, and
collects the *frame*: the document in which each of these arrays is replaced by an array that contains only its number.
Kernels find the messages in one pass over the brackets outside strings, without validating the JSON; they can stop and
resume at any byte.

Slow reference for the tests: tests/twins/json_stream.py
"""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np
import orjson

from dataprep.errors import ReadError
from dataprep.read.text import BLOCK, BOM, PADDING
from dataprep.unicode.kernel import kernel
from dataprep.unicode.text import I64, U8

from .grammar import next_special

GROUP = 512  # messages parsed at once; with 4,096, Python's garbage collection halves the speed
STRING = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)
MAX_FRAME = 256 << 20  # bytes around the messages; a whole account's contacts and sessions have a few megabytes


@dataclass(frozen=True)
class Group:
    """Neighbouring messages of one array of an export; message k is data[starts[k]:ends[k]].

    Attributes:
        array: the array's number in the document.
        base: the offset of data[0] in the decompressed file. data is overwritten by the next group.
        too_long: (offset in the file, size in bytes) of one message that was skipped, or None.
    """

    array: int
    data: bytes | bytearray
    base: int
    starts: I64
    ends: I64
    too_long: tuple[int, int] | None = None

    def raw(self, k: int) -> bytes:
        """Return the bytes of the k-th message of this group."""
        return bytes(memoryview(self.data)[self.starts[k] : self.ends[k]])

    def parsed(self) -> list[Any] | None:
        """Return all messages of this group as Python objects; None if any of them is not JSON."""
        inner = memoryview(self.data)[self.starts[0] : self.ends[-1]]
        try:
            found: list[Any] = orjson.loads(b"".join((b"[", inner, b"]")))
        except orjson.JSONDecodeError:
            return None
        return found if len(found) == len(self.starts) else None


class JsonStream:
    """Reads the messages of a JSON export in one pass over its decompressed bytes.

    Attributes:
        url: the file's URL, for error messages.
        max_bytes: larger messages are skipped.
        name: the field of the arrays.
    """

    ENDS = "the export ends in the middle of its messages; export the chat again, or copy the file again"

    def __init__(self, stream: BinaryIO, url: str, max_bytes: int, name: bytes = b"messages") -> None:
        self.stream, self.url, self.max_bytes = stream, url, max_bytes
        self.name = np.frombuffer(name, np.uint8)
        self.frame = bytearray()
        self.arrays = 0
        self.raw = bytearray(BLOCK + PADDING)
        self.base = self.n = self.i = 0  # stream offset of raw[0]; bytes held; index of the next byte to read
        self.state = np.array([0, 0, -1, -1], np.int64)

    def groups(self) -> Iterator[Group]:
        """Yield the messages of every array as groups, in the order of the file.

        Raises ReadError with the offset if the document ends early.
        """
        self._fill(0)
        if self.raw.startswith(BOM):
            self.raw[:3] = b"   "
        while self._to_array():
            self.frame += b"%d" % self.arrays
            yield from self._messages()
            self.arrays += 1

    def document(self) -> Any:
        """Return the export as Python objects, in which each array of messages is [its number]; call `groups` before.

        Raises ReadError if it is not JSON.
        """
        try:
            return orjson.loads(bytes(self.frame))
        except orjson.JSONDecodeError as e:
            is_object = self.frame.lstrip().startswith(b"{")
            ended = is_object and ("unexpected end" in str(e) or not self.frame.rstrip().endswith(b"}"))
            state = "ends early" if ended else f"is not one JSON document but begins {bytes(self.frame[:40])!r}"
            msg = f"the file {state} ({e}); " + ("copy or export it again" if ended else "name its reader with format=")
            raise ReadError(msg, self.url, self.base + self.n if ended else 0) from e

    def begun(self) -> Any:
        """Return a truncated export as `document` does, with open brackets closed; None if the result is not JSON."""
        frame = bytes(self.frame)
        for text in (frame, frame[: frame.rfind(b"[") + 1] + b"%d" % max(0, self.arrays - 1)):
            with contextlib.suppress(orjson.JSONDecodeError):
                return orjson.loads(text + _closing(text))
        return None

    def _to_array(self) -> bool:
        """Move to the next array of messages and append the bytes before it to the frame; return False at the end."""
        self.state[:] = 0, 0, -1, -1
        copied = self.i
        while True:
            self.i, event = find_array(np.frombuffer(self.raw, np.uint8), self.i, self.n, self.name, self.state)
            self.frame += memoryview(self.raw)[copied : self.i if event == FOUND else self.n]
            if event == FOUND:
                return True
            if len(self.frame) > MAX_FRAME:
                msg = f"there are no messages in the first {MAX_FRAME >> 20} MB; the file must be the export of a chat"
                raise ReadError(msg, self.url, self.base + self.n)
            kept = self.n if self.state[START] < 0 else int(self.state[START])
            copied = self.n - kept
            if not self._fill(kept):
                return False

    def _messages(self) -> Iterator[Group]:
        self.state[:] = 0, 0, -1, -1
        long = None  # offset of a message that is skipped
        while True:
            starts, ends = np.empty(GROUP, np.int64), np.empty(GROUP, np.int64)
            data = np.frombuffer(self.raw, np.uint8)
            self.i, k, event = find_messages(data, self.i, self.n, self.state, starts, ends)
            starts, ends = starts[:k], ends[:k]
            if k and long is not None:
                skipped = long, self.base + int(ends[0]) - long
                yield Group(self.arrays, self.raw, self.base, starts[:0], ends[:0], skipped)
                starts, ends, long = starts[1:], ends[1:], None
            if len(starts):
                yield Group(self.arrays, self.raw, self.base, starts, ends)
            if event == FOUND:
                return
            if event == FULL:
                continue
            start = int(self.state[START])
            if long is None and start >= 0 and self.n - start > self.max_bytes:
                long = self.base + start
            if not self._fill(start if start >= 0 and long is None else self.n):
                at = self.base + (int(self.state[START]) if start >= 0 and long is None else self.n)
                raise ReadError(self.ENDS, self.url, at)
            if long is not None:
                self.state[START] = 0

    def _fill(self, keep: int) -> bool:
        """Drop the bytes before raw[keep] and read more; return False at the end."""
        left = self.n - keep
        held = bytes(memoryview(self.raw)[keep : self.n])
        if len(self.raw) < left + BLOCK + PADDING:
            self.raw = bytearray(max(2 * len(self.raw), left + BLOCK + PADDING))
        self.raw[:left] = held
        got: int = self.stream.readinto(memoryview(self.raw)[left : left + BLOCK])  # type: ignore[attr-defined]
        self.base, self.i, self.n = self.base + keep, self.i - keep, left + got
        self.raw[self.n : self.n + 8] = bytes(8)
        at = self.state[START:]
        at[at >= 0] -= keep
        return got > 0


def _closing(text: bytes) -> bytes:
    """Return the brackets that close those which JSON text leaves open."""
    open_: list[int] = []
    for c in STRING.sub(b"", text):
        if c in b"[{":
            open_.append(c + 2)
        elif c in b"]}" and open_:
            open_.pop()
    return bytes(reversed(open_))


def warm() -> None:
    """Compile the kernels (compiled functions) of this module."""
    list(JsonStream(io.BytesIO(b'{"messages": [{}]}'), "warm", 1).groups())


# State of a pass when the bytes end: inside a string; open brackets; start of the last string or message (-1: none),
# end of that string (-1: not reached).
IN_STRING, DEPTH, START, END = range(4)
MORE, FOUND, FULL = range(3)


@kernel
def skip_string(data: U8, i: int, n: int, state: I64) -> int:
    """Return the index after the closing quote of the JSON string that contains data[i].

    If the string does not end in data[:n], set state[IN_STRING] and return n (or n + 1), to continue with the next
    block of bytes.
    """
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
    """Find the first array that is the value of the field `name` in the JSON data[i:n].

    - state: int64 array in which the function keeps its state for the next call, with more bytes.

    Returns (index after its opening bracket, FOUND), or (n, MORE) if the bytes end first.
    """
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
    """Write the starts and ends of the elements of a JSON array in data[i:n] to `starts` and `ends`, int64[capacity].

    - state: passed from call to call; state[START] keeps the start of an unfinished element.

    Returns (index reached, number of elements, reason to stop). The reason is FOUND at the bracket that closes the
    array, FULL if the capacity is used up, MORE at the end of the bytes.
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
