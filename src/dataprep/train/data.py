"""Order of training rows: a pure function of seed, step, rank, ranks and shards, so its state is one integer.

Sample s of a run is a row of one of its sets (`mixture`), in the order of a keyed permutation of that set's rows
that is computed, never stored. The layout defines the rows (`layouts`).
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from dataprep.errors import PlanError

from .layouts import Layout
from .masks import Mask
from .mixture import Mixture
from .rows import IGNORE, Objective, Rows, permute

_AHEAD = 1 << 20  # tokens read at once: small enough for the cache, many enough that Python's share is small


@dataclass(frozen=True)
class Loader:
    """Training order: step i has the samples from i * batch on, of which each rank takes its share."""

    rows_of: Mixture
    batch: int
    objective: Objective | None = None

    def samples(self, step: int, rank: int = 0, ranks: int = 1) -> NDArray[np.int64]:
        """Return the numbers in the run of one rank's samples in one step; all ranks' are the same for any `ranks`."""
        if self.batch % ranks:
            msg = f"batch={self.batch} must be a multiple of the number of ranks, {ranks}; change one of them"
            raise PlanError(msg)
        share = self.batch // ranks
        return step * self.batch + rank * share + np.arange(share, dtype=np.int64)

    def read(self, samples: NDArray[np.int64]) -> Rows:
        """Return the rows of any samples."""
        rows = self.rows_of.rows(*self.rows_of.find(samples))
        return rows if self.objective is None else self.objective(rows, samples)

    def rows(self, step: int, rank: int = 0, ranks: int = 1) -> Rows:
        """Return the rows of one step."""
        return self.read(self.samples(step, rank, ranks))

    def steps(self, first: int, stop: int, rank: int = 0, ranks: int = 1) -> Generator[Rows, None, None]:
        """Yield the rows of steps [first, stop); several are read at once, the next ones while these are used."""
        share = self.batch // ranks
        at_once = max(1, _AHEAD // (share * self.rows_of.context))
        starts = range(first, stop, at_once)

        def read(start: int) -> Rows:
            numbers = [self.samples(step, rank, ranks) for step in range(start, min(start + at_once, stop))]
            return self.read(np.concatenate(numbers))

        with ThreadPoolExecutor(1, thread_name_prefix="loader") as pool:
            ahead = pool.submit(read, first)
            for start in starts:
                rows = ahead.result()
                if start + at_once < stop:
                    ahead = pool.submit(read, start + at_once)
                for i in range(0, len(rows.tokens), share):
                    yield rows.part(i, i + share)


def to_device(rows: Rows, device: torch.device) -> tuple[torch.Tensor, torch.Tensor, Mask | None]:
    """Return inputs and targets, int64 (B, T) on the device, and the attention mask; ids are widened on the device."""
    tokens, wide = rows.tokens, rows.tokens.dtype != np.uint16
    ids = _move(tokens.astype(np.int64) if wide else tokens.view(np.int16), device)
    ids = ids.long() if wide else ids.long() & 0xFFFF  # torch.uint16 has few operations: int16, then unsigned
    x, y = ids[:, :-1].contiguous(), ids[:, 1:].clone()  # a clone: one row is contiguous as it is
    if rows.learn is not None:
        y.masked_fill_(~_move(rows.learn, device), IGNORE)
    if rows.begins is None and rows.prefix is None:
        return x, y, None
    begins, prefix = (None if a is None else _move(a, device) for a in (rows.begins, rows.prefix))
    return x, y, Mask.of(begins, prefix)


def _move(array: NDArray[Any], device: torch.device) -> torch.Tensor:
    tensor = torch.from_numpy(np.ascontiguousarray(array))
    return tensor.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else tensor


def val_rows(layout: Layout, limit: int, batch: int, objective: Objective | None = None) -> Iterator[Rows]:
    """Yield at most `limit` validation rows, the same ones every time and spread over the split, in batches.

    The last batch is filled up with rows whose targets are ignored, since another shape makes torch.compile start over.
    """
    count = min(limit, len(layout))
    numbers = permute(np.arange(count), len(layout), "validation")
    for i in range(0, count, batch):
        wanted = np.resize(numbers[i : i + batch], batch)
        rows = layout.rows(wanted)
        rows = rows if objective is None else objective(rows, wanted)
        if count - i < batch:
            learn = np.ones_like(rows.tokens[:, 1:], np.bool_) if rows.learn is None else rows.learn
            learn[count - i :] = False
            rows = rows._replace(learn=learn)
        yield rows
