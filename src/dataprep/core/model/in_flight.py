"""The documents that a stage has received, and has not yet returned or dropped."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from . import batch as B
from .batch import Batch, Ids, show_id

Rows = npt.NDArray[np.intp]
Found = npt.NDArray[np.bool_]


class HeldBatch:
    """One input batch, and a flag per row: accounted for or not."""

    def __init__(self, batch: Batch) -> None:
        ids = B.ids(batch)
        self.batch = batch
        self.sorted = bool(np.all(ids[1:] > ids[:-1]))
        self.order = np.arange(len(ids)) if self.sorted else np.argsort(ids, kind="stable")
        self.ids = ids if self.sorted else ids[self.order]
        self.n_bytes = B.lengths(batch)
        self.left = len(ids)
        self.done = np.zeros(len(ids), bool)

    def rows(self, ids: Ids) -> tuple[Rows, Found]:
        """Return the row of each id that was found, and whether each id was found."""
        at, found = B.find_sorted(self.ids, ids)
        return self.order[at[found]], found


class InFlight:
    """The input batches of a stage of which documents are not accounted for; stage: its name, for messages."""

    def __init__(self, stage: str) -> None:
        self.stage = stage
        self.batches: list[HeldBatch] = []

    def settle(self, ids: Ids, verb: str) -> Iterator[tuple[HeldBatch, Rows, Found]]:
        """Mark ids as accounted for; yield each batch with the rows that it has, and whether it has each id.

        verb: "returned" or "dropped". Raises AssertionError for a document that was not received, or is accounted for.
        """
        open_ids = np.ones(len(ids), bool)
        for held in list(self.batches):
            rows, found = held.rows(ids)
            if not len(rows):
                continue
            ascending = bool((rows[1:] > rows[:-1]).all())
            if held.done[rows].any() or not (ascending or len(np.unique(rows)) == len(rows)):
                twice = show_id(int(B.ids(held.batch)[rows[0]]))
                msg = f"stage {self.stage} {verb} a document twice (in a batch with {twice}); return or drop it once"
                raise AssertionError(msg)
            held.done[rows] = True
            held.left -= len(rows)
            open_ids &= ~found
            yield held, rows, found
            if held.left == 0:
                self.batches.remove(held)
            if not open_ids.any():
                return
        if open_ids.any():
            unknown = show_id(int(ids[open_ids][0]))
            msg = (
                f"stage {self.stage} {verb} document {unknown}, which it did not receive, or has already returned; "
                "return or drop each document once, with the id that it came with"
            )
            raise AssertionError(msg)

    def check_empty(self) -> None:
        """Raise AssertionError if the stage neither returned nor dropped a document."""
        left = sum(held.left for held in self.batches)
        if left:
            held = self.batches[0]
            first = show_id(int(B.ids(held.batch)[~held.done][0]))
            msg = (
                f"stage {self.stage} neither returned nor dropped {left:,} documents, the first is {first}; "
                "return each document, or pass its id to stats.drop"
            )
            raise AssertionError(msg)
