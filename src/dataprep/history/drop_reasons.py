"""Look up why documents were dropped on the way from the input to a Dataset, over all Datasets in between."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dataprep.core.model import batch as B
from dataprep.core.model.tables import SCHEMAS, id_bounds, opened
from dataprep.core.output.layout import DROPS, Folder, home_of
from dataprep.core.output.state import OriginFile
from dataprep.store import files

Reason = tuple[str, str]  # stage and reason
UNKNOWN = ("", "not in its input")


def lineage(url: str) -> dict[tuple[str, int], list[OriginFile]]:
    """Return the input files of the Dataset `url`, and those of all Datasets from which it was made, also indirectly.

    The result has an entry per Dataset. The key of an entry is (URL of the Dataset, number to add to the file numbers
    in its ids to get those in the ids of `url`); the value is the list of input files that the Dataset read. If the run
    of a Dataset was moved, the Dataset is searched in the folder next to the Dataset that read it.
    """
    found: dict[tuple[str, int], list[OriginFile]] = {}
    todo = [(url, 0)]
    for folder, shift in todo:
        found[folder, shift] = []
        origin = Folder(folder).origin
        for row in () if origin is None else origin.files:
            home = home_of(row.url)
            sibling = None if home is None else Folder(files.join(Folder(folder).parent.url, home.name))
            candidates = (f for f in (home, sibling) if f is not None and f.url != folder and f.is_dataset)
            sealed = next(candidates, None)
            if sealed is None:
                found[folder, shift].append(replace(row, file=row.file + shift))
            elif (sealed.url, shift + row.file) not in todo:
                todo.append((sealed.url, shift + row.file))
    return found


def different_inputs(a: str, b: str) -> Iterator[str]:
    """Yield a warning for each file number that identifies files with different contents in two Datasets.

    A document id has a file number and a position.

    Args:
        a: the URL of the first Dataset.
        b: the URL of the second Dataset. The inputs of the Datasets from which `a` and `b` were made are compared, too.
    """
    one, two = ({row.file: row for rows in lineage(url).values() for row in rows} for url in (a, b))
    for number in sorted(set(one) & set(two)):
        if one[number].fingerprint != two[number].fingerprint:
            yield (
                f"file {number} was {files.name_of(one[number].url)} in A and {files.name_of(two[number].url)} in B, "
                "which differ: its ids may refer to different documents"
            )


@dataclass
class _RowGroup:
    """A row group of a drop table; its rows are kept in memory until the ids that are looked up have passed it."""

    url: str
    number: int
    first: int
    last: int
    shift: int
    rows: pa.Table | None = None

    def lookup(self, ids: B.Ids) -> tuple[npt.NDArray[np.int64], list[Reason]]:
        """Return the positions of the ids that are in the row group, and the stage and reason of each."""
        if self.rows is None:
            with opened(self.url, SCHEMAS[DROPS]) as file:
                self.rows = file.read_row_group(self.number, ["id", "stage", "reason"])
        mine = self.rows.column("id").to_numpy() + np.uint64(self.shift)
        hits = np.flatnonzero(np.isin(mine, ids))
        found = self.rows.take(hits)
        pairs = zip(found.column("stage").to_pylist(), found.column("reason").to_pylist(), strict=True)
        return np.searchsorted(ids, mine[hits]), list(pairs)


class DropReasons:
    """Looks up which stage between the input and the Dataset `url` dropped a document, and why.

    The drop tables of all Datasets from the input to `url` are read once, one row group at a time; therefore, ids must
    be looked up in ascending order.
    """

    def __init__(self, url: str) -> None:
        groups: list[_RowGroup] = []
        for home, shift in lineage(url):
            for folder in (Folder(home), *Folder(home).saved):
                for table in folder.tables(DROPS):
                    groups += _row_groups(table, shift << B.POSITION_BITS)
        self.waiting = sorted(groups, key=lambda group: -group.first)
        self.open: list[_RowGroup] = []

    def of(self, ids: B.Ids) -> list[Reason]:
        """Return, for each id, the (stage, reason) that dropped it; ("", "not in its input") if no drop is known.

        Args:
            ids: document ids, ascending; the ids of a call must be larger than those of the calls before.
        """
        while self.waiting and self.waiting[-1].first <= int(ids[-1]):
            self.open.append(self.waiting.pop())
        self.open = [group for group in self.open if group.last >= int(ids[0])]
        found = [UNKNOWN] * len(ids)
        for group in self.open:
            for at, reason in zip(*group.lookup(ids), strict=True):
                found[at] = reason
        return found


def _row_groups(url: str, shift: int) -> Iterator[_RowGroup]:
    with opened(url, SCHEMAS[DROPS]) as file:
        bounds = id_bounds(file.metadata)
    for number, (first, last) in enumerate(bounds):
        yield _RowGroup(url, number, first + shift, last + shift, shift)
