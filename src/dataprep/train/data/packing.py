"""Pack whole documents into training rows, given only the ends of documents and the length of rows (`context`).

A *piece* is a run of consecutive tokens of one document, all of which are predicted. A document of at most `context`
tokens (including its separator) is one piece; a longer document is cut into pieces of `context` tokens and a shorter
last piece, so that nothing is dropped. If such a last piece is not the first piece of its row, the token before it in
its document precedes it as an input without a target.

`bestfit` packs with best-fit decreasing (Johnson et al. 1974; for language models Ding et al. 2024), in windows of
neighbouring documents. Lengths are whole numbers up to `context`, so rows are stored as runs of neighbours with equal
free space: the Python loop runs once per distinct length; all else is array arithmetic.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

WINDOW = 1 << 18
"""Pieces packed together: 30 MB while planning; the rows of a window are neighbours on disk."""

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class RowPlan:
    """The pieces (documents, or parts of long ones) in each training row; takes 13 bytes per piece and 8 per row.

    Attributes:
        first: int64[rows + 1], row r has the pieces first[r] to first[r + 1] - 1.
        start: int64[pieces], offset of a piece's first token in the joined shards.
        size: int32[pieces], its number of tokens.
        begins: bool[pieces], whether it begins a document.
    """

    first: Ints
    start: Ints
    size: NDArray[np.int32]
    begins: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.first) - 1

    def filled(self, context: int) -> float:
        """Return the share of inputs that have a target, 0 to 1; other inputs are padding, or repeated tokens.

        Args:
            context: inputs per row.
        """
        return int(self.size.sum(dtype=np.int64)) / (len(self) * context) if len(self) else 1.0


def bestfit(ends: Sequence[NDArray[Any]], context: int, *, cut: bool = False) -> RowPlan:
    """Return the plan of training rows with several documents each, packed by best-fit decreasing.

    Args:
        ends: for each shard, the offsets in its tokens at which documents end, ascending.
        context: tokens per row.
        cut: use only the first piece of each document, so that the rest of it is dropped.
    """
    parts = []
    for start, size, begins in _windows(ends, context, cut=cut):
        slots = size + (~begins & (size < context))
        row, n_rows = best_fit(slots, context)
        # One key for row and piece: a plain sort of different numbers is fast and the same everywhere.
        order = np.sort(row * len(row) + np.arange(len(row))) % len(row)
        parts.append((np.bincount(row, minlength=n_rows), start[order], size[order], begins[order]))
    return _joined(parts)


def padded(ends: Sequence[NDArray[Any]], context: int, *, cut: bool = False) -> RowPlan:
    """Return the plan of training rows with one document each, or one piece of a document longer than `context` tokens.

    - ends: for each shard, the offsets in its tokens at which documents end, ascending.
    - cut: use only the first piece of each document, so that the rest of it is dropped.
    """
    parts = [
        (np.ones(len(start), np.int64), start, size, begins) for start, size, begins in _windows(ends, context, cut=cut)
    ]
    return _joined(parts)


def pieces(ends: NDArray[Any], context: int, first: int = 0) -> tuple[Ints, NDArray[np.int32], NDArray[np.bool_]]:
    """Cut documents into pieces of at most `context` tokens; return (start, size, begins), arrays as in `RowPlan`.

    - ends: the offsets at which documents end.
    - first: the offset at which the first document begins.
    """
    stop = np.asarray(ends).astype(np.int64)
    begin = np.concatenate([[first], stop[:-1]])
    length = stop - begin
    if not len(length) or int(length.max()) <= context:
        return begin, length.astype(np.int32), np.ones(len(length), np.bool_)
    count = -(-length // context)
    document = np.repeat(np.arange(len(length)), count)
    number = np.arange(len(document)) - np.repeat(np.cumsum(count) - count, count)
    start = begin[document] + number * context
    return start, np.minimum(stop[document] - start, context).astype(np.int32), number == 0


def _windows(
    ends: Sequence[NDArray[Any]], context: int, *, cut: bool
) -> Iterator[tuple[Ints, NDArray[np.int32], NDArray[np.bool_]]]:
    """Yield the pieces of all files in order, about `WINDOW` at a time; starts count from the first file's.

    - cut: whether only the first piece of each document is yielded.
    """
    held: list[tuple[Any, ...]] = []
    base = count = 0
    for file in ends:
        for i in range(0, len(file), WINDOW):
            start, size, begins = pieces(file[i : i + WINDOW], context, int(file[i - 1]) if i else 0)
            if cut:
                start, size, begins = start[begins], size[begins], begins[begins]
            held.append((start + base, size, begins))
            count += len(start)
            if count >= WINDOW:
                yield _side_by_side(held)
                held, count = [], 0
        base += int(file[-1]) if len(file) else 0
    if held:
        yield _side_by_side(held)


def _side_by_side(parts: Sequence[tuple[Any, ...]]) -> Any:
    return tuple(np.concatenate(column) for column in zip(*parts, strict=True))


def _joined(parts: Sequence[tuple[Any, ...]]) -> RowPlan:
    none = (np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int32), np.zeros(0, np.bool_))
    counts, start, size, begins = _side_by_side([none, *parts])
    return RowPlan(np.concatenate([[0], np.cumsum(counts)]), start, size, begins)


def best_fit(sizes: NDArray[Any], room: int) -> tuple[Ints, int]:
    """Pack items into rows by best-fit decreasing; return (row of each item, int64[n]; number of rows).

    Each item, largest first, is put into the row with the least free space that suffices. Rows with equal free space
    are interchangeable, so several items of equal size are put into several such rows at once.

    - sizes: int[n], from 1 to `room`, which is the capacity of a row.
    """
    small = np.uint16 if room < 1 << 16 else np.int64  # radix sort for 16 bits
    order = np.argsort((room - sizes).astype(small), kind="stable")
    rows = _Rows(room)
    count = np.bincount(sizes, minlength=room + 1)
    for size in np.flatnonzero(count)[::-1].tolist():
        rows.place(size, int(count[size]))
    first, placed, each = np.array(rows.moves, np.int64).reshape(-1, 3).T
    number = np.arange(len(order)) - np.repeat(np.cumsum(placed) - placed, placed)
    row = np.empty(len(order), np.int64)
    row[order] = np.repeat(first, placed) + number // np.repeat(each, placed)
    return row, rows.count


class _Rows:
    """Rows as runs [first, stop) of equal free space, and the moves made: (first row, items, items in each row)."""

    def __init__(self, room: int) -> None:
        self.room, self.count = room, 0
        self.runs: list[list[tuple[int, int]]] = [[] for _ in range(room + 1)]
        self.open = 0  # bit c: runs[c] is not empty, so that one bit operation finds the least space that is enough
        self.moves: list[tuple[int, int, int]] = []

    def place(self, size: int, left: int) -> None:
        """Put `left` items of one size where they fit best."""
        while left:
            room, first, stop = self._take(size, left)
            each = room // size
            full, more = (stop - first, 0) if (stop - first) * each <= left else divmod(left, each)
            self._give(room - each * size, first, first + full)
            if full:
                self.moves.append((first, full * each, each))
            if more:
                self.moves.append((first + full, more, more))
                self._give(room - more * size, first + full, first + full + 1)
            self._give(room, first + full + (more > 0), stop)
            left -= full * each + more

    def _take(self, size: int, left: int) -> tuple[int, int, int]:
        """Remove and return the run with the least space for `size`; new rows if there is none."""
        enough = self.open >> size
        if not enough:
            first, self.count = self.count, self.count - (-left // (self.room // size))
            return self.room, first, self.count
        room = size + (enough & -enough).bit_length() - 1
        first, stop = self.runs[room].pop()
        if not self.runs[room]:
            self.open &= ~(1 << room)
        return room, first, stop

    def _give(self, room: int, first: int, stop: int) -> None:
        if room and first < stop:
            self.runs[room].append((first, stop))
            self.open |= 1 << room
