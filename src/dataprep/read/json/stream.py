"""Messages of a JSON export as a stream: a file of gigabytes needs the memory of one block.

An export is one JSON document with one or more arrays `messages`. The stream yields the messages in groups, and
collects the rest, the frame: the document in which each of these arrays holds only its own number.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np
import orjson

from dataprep.errors import ReadError
from dataprep.read.lines import BLOCK, BOM, PADDING

from . import stream_kernel as J
from .grammar import I64

NAME = np.frombuffer(b"messages", np.uint8)
GROUP = 512  # messages parsed at once: Python's collector walks living dicts again and again (4,096: half the speed)
MAX_FRAME = 256 << 20  # bytes around the messages; a whole account's contacts and sessions have a few megabytes


@dataclass(frozen=True)
class Group:
    """Neighbouring messages of array number `array`: data[starts[k]:ends[k]]; data[0] is byte `base` of the stream.

    `data` is reused for the next group. too_long: the position and bytes of one message that was skipped.
    """

    array: int
    data: bytes | bytearray
    base: int
    starts: I64
    ends: I64
    too_long: tuple[int, int] | None = None

    def raw(self, k: int) -> bytes:
        """Return the bytes of one message."""
        return bytes(memoryview(self.data)[self.starts[k] : self.ends[k]])

    def parsed(self) -> list[Any] | None:
        """Return all messages, parsed at once; None if one of them is not JSON."""
        inner = memoryview(self.data)[self.starts[0] : self.ends[-1]]
        try:
            found: list[Any] = orjson.loads(b"".join((b"[", inner, b"]")))
        except orjson.JSONDecodeError:
            return None
        return found if len(found) == len(self.starts) else None


class JsonStream:
    """One pass over the decompressed bytes of an export; `url` is for errors."""

    def __init__(self, stream: BinaryIO, url: str, max_bytes: int) -> None:
        self.stream, self.url, self.max_bytes = stream, url, max_bytes
        self.frame = bytearray()
        self.arrays = 0
        self.raw = bytearray(BLOCK + PADDING)
        self.base = self.n = self.i = 0  # stream offset of raw[0]; bytes held; index of the next byte to read
        self.state = np.array([0, 0, -1, -1], np.int64)

    def groups(self) -> Iterator[Group]:
        """Yield every message of every array, in order.

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
        """Return the parsed frame, after `groups` has ended.

        Raises ReadError if it is not JSON.
        """
        try:
            return orjson.loads(bytes(self.frame))
        except orjson.JSONDecodeError as e:
            is_object = self.frame.lstrip().startswith(b"{")
            ended = is_object and not self.frame.rstrip().endswith(b"}")
            state = "ends early" if ended else f"is not one JSON document but begins {bytes(self.frame[:40])!r}"
            msg = f"the file {state} ({e}); " + ("copy or export it again" if ended else "name its reader with format=")
            raise ReadError(msg, self.url, self.base + self.n if ended else 0) from e

    def _to_array(self) -> bool:
        """Move to the next array of messages and append the bytes before it to the frame; return False at the end."""
        self.state[:] = 0, 0, -1, -1
        copied = self.i
        while True:
            self.i, event = J.find_array(np.frombuffer(self.raw, np.uint8), self.i, self.n, NAME, self.state)
            self.frame += memoryview(self.raw)[copied : self.i if event == J.FOUND else self.n]
            if event == J.FOUND:
                return True
            if len(self.frame) > MAX_FRAME:
                msg = f"no messages in {MAX_FRAME >> 20} MB; this is not the export of a chat"
                raise ReadError(msg, self.url, self.base + self.n)
            kept = self.n if self.state[J.START] < 0 else int(self.state[J.START])
            copied = self.n - kept
            if not self._fill(kept):
                return False

    def _messages(self) -> Iterator[Group]:
        self.state[:] = 0, 0, -1, -1
        long = None  # offset of a message that is skipped
        while True:
            starts, ends = np.empty(GROUP, np.int64), np.empty(GROUP, np.int64)
            data = np.frombuffer(self.raw, np.uint8)
            self.i, k, event = J.find_messages(data, self.i, self.n, self.state, starts, ends)
            starts, ends = starts[:k], ends[:k]
            if k and long is not None:
                yield self._group(starts[:0], ends[:0], (long, self.base + int(ends[0]) - long))
                starts, ends, long = starts[1:], ends[1:], None
            if len(starts):
                yield self._group(starts, ends)
            if event == J.FOUND:
                return
            if event == J.FULL:
                continue
            start = int(self.state[J.START])
            if long is None and start >= 0 and self.n - start > self.max_bytes:
                long = self.base + start
            if not self._fill(start if start >= 0 and long is None else self.n):
                at = self.base + (int(self.state[J.START]) if start >= 0 and long is None else self.n)
                msg = "the export ends in the middle of its messages; export the chat again, or copy the file again"
                raise ReadError(msg, self.url, at)
            if long is not None:
                self.state[J.START] = 0

    def _group(self, starts: I64, ends: I64, too_long: tuple[int, int] | None = None) -> Group:
        return Group(self.arrays, self.raw, self.base, starts, ends, too_long)

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
        at = self.state[J.START :]
        at[at >= 0] -= keep
        return got > 0


def warm() -> None:
    """Compile the kernels."""
    list(JsonStream(io.BytesIO(b'{"messages": [{}]}'), "warm", 1).groups())
