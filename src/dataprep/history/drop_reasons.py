"""Reasons for which documents were dropped on the way from the input to a Dataset."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from dataprep.core import batch as B
from dataprep.core.folder import DROPS, Folder
from dataprep.store import files

from .lineage import lineage
from .table_rows import checked

Reason = tuple[str, str]  # stage and reason
UNKNOWN = ("", "not in its input")


@dataclass
class _RowGroup:
    """A row group of a drop table; its rows are kept in memory until the ids have passed it."""

    url: str
    number: int
    first: int
    last: int
    shift: int
    rows: pa.Table | None = None

    def lookup(self, ids: B.Ids) -> tuple[npt.NDArray[np.int64], list[Reason]]:
        """Return the positions of the ids that are in the row group, and the stage and reason of each."""
        if self.rows is None:
            with checked(self.url), files.open_raw(self.url) as f:
                self.rows = pq.ParquetFile(f).read_row_group(self.number, ["id", "stage", "reason"])
        mine = self.rows.column("id").to_numpy() + np.uint64(self.shift)
        hits = np.flatnonzero(np.isin(mine, ids))
        found = self.rows.take(hits)
        pairs = zip(found.column("stage").to_pylist(), found.column("reason").to_pylist(), strict=True)
        return np.searchsorted(ids, mine[hits]), list(pairs)


class DropReasons:
    """Looks up stage and reason of documents that were dropped on the way to a Dataset, for ascending ids.

    The drop tables of the whole lineage are read once, one row group at a time.
    """

    def __init__(self, url: str) -> None:
        groups: list[_RowGroup] = []
        for home, shift in lineage(url):
            for folder in (Folder(home), *Folder(home).saved):
                for table in folder.tables(DROPS) if folder.is_dataset else ():
                    groups += _row_groups(table, shift << B.POSITION_BITS)
        self.waiting = sorted(groups, key=lambda group: -group.first)
        self.open: list[_RowGroup] = []

    def of(self, ids: B.Ids) -> list[Reason]:
        """Return stage and reason of each id; ids must ascend, also from call to call."""
        while self.waiting and self.waiting[-1].first <= int(ids[-1]):
            self.open.append(self.waiting.pop())
        self.open = [group for group in self.open if group.last >= int(ids[0])]
        found = [UNKNOWN] * len(ids)
        for group in self.open:
            for at, reason in zip(*group.lookup(ids), strict=True):
                found[at] = reason
        return found


def _row_groups(url: str, shift: int) -> Iterator[_RowGroup]:
    with checked(url), files.open_raw(url) as f:
        metadata = pq.ParquetFile(f).metadata
    for number in range(metadata.num_row_groups):
        ids = metadata.row_group(number).column(0).statistics
        if ids is not None and ids.has_min_max:
            yield _RowGroup(url, number, int(ids.min) + shift, int(ids.max) + shift, shift)
