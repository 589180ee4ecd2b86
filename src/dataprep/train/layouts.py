"""How a side's token files become rows of `context` + 1 tokens; nothing is read until asked for.

`contiguous`: the files as one stream, cut into rows that share one token with their neighbour: row k feeds tokens
[kT, kT+T) and predicts [kT+1, kT+T+1). Every token but the stream's first is predicted exactly once an epoch. The
last row is moved back to be full, its repeated targets do not count.

`bestfit`: whole documents packed into rows (`packing`). `padded`: a row a document, longer ones split; `cut`: a row
a document, longer ones cut off. A document is read after a separator, which is also the first input of a row, so in
these every token is predicted exactly once an epoch (in `cut`, every token that is kept). Padding is no target.

Where shards have masks (`.msk`), a target counts only if it is masked in.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dataprep.errors import PlanError
from dataprep.tokens.shard import Shards
from dataprep.train import packing
from dataprep.train.config import PACKED
from dataprep.train.data import Rows

Ints = NDArray[np.int64]


class Stream:
    """Arrays one after another, copied from as if they were one."""

    def __init__(self, files: Sequence[NDArray[Any]]) -> None:
        self.files = [np.asarray(f) for f in files]  # a slice of a plain array costs a tenth of a memmap's
        self.starts = np.cumsum([0, *(len(f) for f in self.files)], dtype=np.int64)

    def __len__(self) -> int:
        return int(self.starts[-1])

    def copy(self, start: Ints, stop: Ints, out: NDArray[Any], at: Ints) -> None:
        """Fill `out` (flat) from each place `at` on with the stream from `start` to `stop`."""
        i = np.searchsorted(self.starts, start, side="right") - 1
        end = self.starts[i + 1]
        over = stop > end
        if over.any():  # into the next file
            self.copy(end[over], stop[over], out, (at + end - start)[over])
            stop = np.minimum(stop, end)
        base = self.starts[i]
        ranges = (i, start - base, stop - base, at, at + stop - start)
        for file, first, last, begin, finish in zip(*(r.tolist() for r in ranges), strict=True):
            out[begin:finish] = self.files[file][first:last]


class Layout:
    """Rows of one side of a set of shards; `rows` reads those with the given numbers.

    `told_apart`: rows say where documents begin, so that a model can keep them from seeing each other.
    """

    def __init__(self, shards: Shards, context: int, *, told_apart: bool = False, name: str = "") -> None:
        self.shards, self.context, self.told_apart = shards, context, told_apart
        self.name = f" of {name!r}" if name else ""
        self.side = shards.split_name or "whole"
        self.tokens, self.masks = Stream(shards.memmaps()), _masks(shards)
        if self.masks is not None and not any(f.view(np.bool_).any() for f in self.masks.files):
            msg = (
                f"the {self.side} split{self.name} in {shards.path} has masks and no token to learn in them: "
                "encode with other rules of what is learned, or without masks"
            )
            raise PlanError(msg)

    @property
    def n_tokens(self) -> int:
        """Tokens in the files, separators included."""
        return len(self.tokens)

    def __len__(self) -> int:
        raise NotImplementedError

    def rows(self, numbers: Ints) -> Rows:
        """The rows with these numbers, copied out of the files."""
        raise NotImplementedError

    def _need(self, n_tokens: int) -> None:
        if self.n_tokens < n_tokens:
            msg = (
                f"the {self.side} split{self.name} holds {self.n_tokens:,} tokens and one row needs {n_tokens:,}: "
                f"add text or choose a shorter context"
            )
            raise PlanError(msg)

    def _gather(self, start: Ints, stop: Ints, at: Ints, n_rows: int) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
        """Rows with these pieces at these places, separators elsewhere, and of each target whether it is masked in."""
        shape = (n_rows, self.context + 1)
        tokens = np.full(shape, self.shards.eot, self.shards.dtype)
        self.tokens.copy(start, stop, tokens.reshape(-1), at)
        if self.masks is None:
            return tokens, None
        learn = np.zeros(shape, np.uint8)
        self.masks.copy(start, stop, learn.reshape(-1), at)
        return tokens, learn[:, 1:] != 0


class Contiguous(Layout):
    """The stream cut every `context` tokens."""

    def __init__(self, shards: Shards, context: int, *, told_apart: bool = False, name: str = "") -> None:
        super().__init__(shards, context, told_apart=told_apart, name=name)
        self._need(context + 1)

    def __len__(self) -> int:
        return math.ceil((self.n_tokens - 1) / self.context)

    def rows(self, numbers: Ints) -> Rows:
        """Documents begin where the input is a separator."""
        wanted = numbers * self.context
        start = np.minimum(wanted, self.n_tokens - 1 - self.context)
        width = self.context + 1
        tokens, learn = self._gather(start, start + width, np.arange(len(numbers)) * width, len(numbers))
        moved = wanted - start
        if moved.any():
            first = np.arange(self.context) >= moved[:, None]
            learn = first if learn is None else learn & first
        return Rows(tokens, learn, tokens[:, :-1] == self.shards.eot if self.told_apart else None)


class Packed(Layout):
    """Rows of whole documents as `packing` planned them: `bestfit`, `padded` or `cut`."""

    def __init__(self, shards: Shards, context: int, how: str, *, told_apart: bool = True, name: str = "") -> None:
        super().__init__(shards, context, told_apart=told_apart, name=name)
        self._need(context if how == "bestfit" else 1)
        ends = [shards.ends(i) for i in range(len(shards.shards))]
        self.plan = (
            packing.bestfit(ends, context)
            if how == "bestfit"
            else packing.padded(ends, context, cut=how == "cut")
        )  # fmt: skip

    def __len__(self) -> int:
        return len(self.plan)

    def rows(self, numbers: Ints) -> Rows:
        """A row is a separator (or the token before a rest), its pieces, and separators as padding."""
        plan, width = self.plan, self.context + 1
        lone = plan.first[numbers]
        count = plan.first[numbers + 1] - lone
        row = np.repeat(np.arange(len(numbers)), count)
        piece = np.arange(len(row)) + np.repeat(lone - (np.cumsum(count) - count), count)
        start, size, rest = plan.start[piece], plan.size[piece].astype(np.int64), ~plan.begins[piece]
        first = np.concatenate([[True], row[1:] != row[:-1]])
        slots = size + (rest & ~first)
        before = np.cumsum(slots) - slots
        at = 1 + before - before[first][row] - (rest & first)  # where in its row a piece lies, its context included
        tokens, learn = self._gather(start - rest, start + size, at + row * width, len(numbers))
        used = np.bincount(row, slots, len(numbers))
        return Rows(tokens, self._counted(learn, row, at, rest & ~first, used), self._begins(row, at + rest))

    def _counted(
        self, learn: NDArray[np.bool_] | None, row: Ints, at: Ints, inner: NDArray[np.bool_], used: NDArray[Any]
    ) -> NDArray[np.bool_] | None:
        """Neither padding is a target, nor the token that is there as context for the rest after it."""
        if (used < self.context).any():
            full = np.arange(self.context) < used[:, None]
            learn = full if learn is None else learn & full
        if inner.any():
            learn = np.ones((len(used), self.context), np.bool_) if learn is None else learn
            learn[row[inner], at[inner] - 1] = False
        return learn

    def _begins(self, row: Ints, target: Ints) -> NDArray[np.bool_] | None:
        """The input before the first target of each piece begins it."""
        if not self.told_apart:
            return None
        begins = np.zeros((int(row[-1]) + 1, self.context), np.bool_)
        begins[row, target - 1] = True
        return begins


def layout_of(shards: Shards, how: str, context: int, *, told_apart: bool | None = None, name: str = "") -> Layout:
    """The rows of one side in one of `LAYOUTS`; `told_apart=None` is on where rows are made of documents."""
    if how == "contiguous":
        return Contiguous(shards, context, told_apart=bool(told_apart), name=name)
    assert how in PACKED, how
    return Packed(shards, context, how, told_apart=told_apart is not False, name=name)


def _masks(shards: Shards) -> Stream | None:
    masks = shards.masks()
    if all(m is None for m in masks):
        return None
    sizes = [s["tokens"] for s in shards.shards]
    return Stream([np.ones(n, np.uint8) if m is None else m for m, n in zip(masks, sizes, strict=True)])
