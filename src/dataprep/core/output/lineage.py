"""The result of a run: its last Dataset, and the Datasets of the folder from which it was made.

A folder may also contain other results: alternatives made from the same Dataset, or Datasets of other input. They drop
the same documents again, or have other documents with the same ids. Whatever follows documents by their ids, or counts
them, must therefore read the Datasets of one result only. Ids are those of the last Dataset; if several Datasets were
read together, file numbers in the ids of all but the first were shifted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dataprep.errors import PlanError, first_few
from dataprep.store import files

from ..model.batch import POSITION_BITS, Ids
from ..model.dataset import open_dataset
from ..model.part import Sealed
from ..model.tables import SCHEMAS, read_tables, rows_of_ids
from .changes import SEALED
from .forget_list import listed
from .layout import Folder, home_of
from .run_folder import datasets, run_steps
from .state import OriginFile

MOST_NAMES = 6  # in a sentence


@dataclass(frozen=True)
class MemberFolder(Folder):
    """A Dataset of a result.

    Attributes:
        shift: the number to add to its ids to get those in the last Dataset.
    """

    shift: int = 0

    @property
    def saved(self) -> list[MemberFolder]:  # type: ignore[override]
        """The folders of the Estimators' saved inputs, with the same ids."""
        return [MemberFolder(one.url, self.shift) for one in super().saved]

    @property
    def listed(self) -> Ids:
        """The ids on its forget list, with the shift."""
        return listed(self.url) + np.uint64(self.shift)

    def own_ids(self, ids: Sequence[int]) -> list[int]:
        """Return those of the ids that may be its documents, without the shift."""
        return [id_ - self.shift for id_ in ids if id_ >= self.shift]

    def rows(self, url: str, ids: Sequence[int], kind: str | None = None) -> Iterator[dict[str, Any]]:
        """Yield rows of a file of this Dataset with the given ids, as `rows_of_ids` does.

        - kind: DROPS or CUTS for such a table; None for documents.
        """
        own = self.own_ids(ids)
        for row in () if not own else Sealed().rows(url, own) if kind is None else rows_of_ids(url, own, SCHEMAS[kind]):
            yield self._shifted(row, is_table=kind is not None)

    def _shifted(self, row: dict[str, Any], *, is_table: bool) -> dict[str, Any]:
        found = {**row, "id": row["id"] + self.shift} if self.shift else row
        if self.shift and is_table and row["duplicate_of"] is not None and row["duplicate_of_dataset"] is None:
            found["duplicate_of"] += self.shift
        return found

    def table(self, kind: str, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """Yield the rows of its tables of a kind (DROPS, CUTS), as `read_tables` does."""
        for batch in read_tables(self.url, kind, None if self.shift else columns):
            yield batch if not self.shift else self._shifted_batch(batch).select(columns or batch.schema.names)

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield its documents, as `Dataset.batches` does; `columns` must have the id."""
        for batch in open_dataset(self.url).batches(columns):
            yield batch if not self.shift else self._with_ids(batch)

    def _shifted_batch(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        at, kept = batch.schema.get_field_index("duplicate_of"), batch.column("duplicate_of")
        is_other = batch.column("duplicate_of_dataset").is_valid()
        moved = pc.if_else(is_other, kept, pc.add(kept, pa.scalar(self.shift, pa.uint64())))
        return self._with_ids(batch).set_column(at, batch.schema.field(at), moved)

    def _with_ids(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        at = batch.schema.get_field_index("id")
        ids = pc.add(batch.column("id"), pa.scalar(self.shift, pa.uint64()))
        return batch.set_column(at, batch.schema.field(at), ids)


def inputs_of(urls: Iterable[str]) -> dict[str, dict[str, list[int]]]:
    """Return, for each Dataset of a run, the Datasets of the run from which it was made, by folder.

    Each of these has the numbers that are added to its ids: one, unless it was read several times.
    """
    known = {files.real(url): url for url in urls}
    found: dict[str, dict[str, list[int]]] = {}
    for url in known.values():
        own: dict[str, list[int]] = {}
        for row in _shards(url):
            home = home_of(row.url)
            place = None if home is None else known.get(files.real(home.url)) or _beside(home.url, known.values())
            if place and place != url:
                own.setdefault(place, []).append(row.file << POSITION_BITS)
        found[url] = own
    return found


def _shards(url: str) -> Iterator[OriginFile]:
    """Yield the input files of a Dataset that are shards of Datasets, one per Dataset and number."""
    origin, seen = Folder(url).origin, set[tuple[str, int]]()
    sealed = [] if origin is None else [(one or {}).get("name") == SEALED for one in origin.readers]
    for row in () if origin is None or not any(sealed) else origin.files:
        key = row.url.rpartition("/")[0], row.file
        if sealed[row.reader] and key not in seen:
            seen.add(key)
            yield row


def _beside(url: str, known: Iterable[str]) -> str | None:
    """Return the Dataset of the same name, for a run whose folder was moved."""
    return next((one for one in known if files.name_of(one) == files.name_of(url)), None)


def family(url: str, *, saved: bool = True) -> list[MemberFolder]:
    """Return the last Dataset of a run, and all Datasets of the folder from which it was made, in the order of the run.

    If the folder has several results, that of the last step of `dataprep run` is used.

    Args:
        url: the run's folder.
        saved: whether to include Datasets that were saved as input of Estimators, before the Dataset of each.

    Raises PlanError if the folder has no Dataset, several results and no run.json that states their order, or a result
    that has the documents of a Dataset several times.
    """
    finals = datasets(url, saved=False)
    found = [MemberFolder(finals[-1].url)]
    if len(finals) > 1:
        inputs = inputs_of([one.url for one in finals])
        ends = [one for one in finals if not any(one.url in some for some in inputs.values())]
        if len(ends) > 1 and run_steps(url) is None:
            msg = (f"{url} contains {len(ends)} results, {_names(ends)}, whose documents cannot be counted together; "
                   "pass the folder of one of them")  # fmt: skip
            raise PlanError(msg)
        found = list(_above(((ends or finals)[-1].url,), 0, inputs, set()))
        numbers = Counter(one.url for one in found)
        if twice := [one for one in found if numbers[one.url] > 1]:
            msg = (f"{found[-1].url} has the documents of {twice[0].url} several times, so one document has several "
                   "ids, of which some may be dropped and others kept; pass the folder of one Dataset")  # fmt: skip
            raise PlanError(msg)
    if not saved:
        return found
    return [each for one in found for each in (*one.saved, one) if each.is_dataset or each.is_pruned]


def _above(
    path: tuple[str, ...], shift: int, inputs: Mapping[str, Mapping[str, Sequence[int]]], seen: set[tuple[str, int]]
) -> Iterator[MemberFolder]:
    """Yield the Datasets from which a Dataset was made, each after those from which it was made; and the Dataset.

    A Dataset is yielded once for each number that is added to its ids.

    - path: the Datasets from the last one of the run to this one.
    """
    seen.add((path[-1], shift))
    for above, numbers in inputs[path[-1]].items():
        for number in numbers if above not in path else ():
            if (above, shift + number) not in seen:
                yield from _above((*path, above), shift + number, inputs, seen)
    yield MemberFolder(path[-1], shift)


def left_out(url: str) -> str:
    """Return a sentence with the Datasets of a run that are not in `family`; "" if all are. Raises its errors."""
    own = {one.url for one in family(url, saved=False)}
    others = [one for one in datasets(url, saved=False) if one.url not in own]
    if not others:
        return ""
    return f"Not included: {_names(others)}, other results in this folder. Pass the folder of one of them to see it."


def _names(some: Sequence[Folder]) -> str:
    return first_few([repr(one.name) for one in some], MOST_NAMES)
