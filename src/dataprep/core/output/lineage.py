"""The result of a run: its last Dataset, and the Datasets of the folder from which it was made.

A folder may also contain other results: alternatives made from the same Dataset, or Datasets of other input. They drop
the same documents again, or have other documents with the same ids. Whatever follows documents by their ids, or counts
them, must therefore read the Datasets of one result only. Ids are those of the last Dataset; if several Datasets were
read together, file numbers in the ids of all but the first were shifted. If two of them were made from the same
Dataset, its documents reach the result in several ways, and have an id for each way.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
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
        shifts: the numbers to add to its ids to get those in the last Dataset: one per way to it, ascending; the ids of
            each way are in a range of their own.
    """

    shifts: tuple[int, ...] = (0,)

    @property
    def shift(self) -> int:
        """The number of the first way, whose ids stand for those of all ways where each row of a table counts once."""
        return self.shifts[0]

    @property
    def saved(self) -> list[MemberFolder]:  # type: ignore[override]
        """The folders of the Estimators' saved inputs, with the same ids."""
        return [MemberFolder(one.url, self.shifts) for one in super().saved]

    @property
    def listed(self) -> Ids:
        """The ids on its forget list, of each way."""
        own = listed(self.url)
        return np.concatenate([own + np.uint64(shift) for shift in self.shifts])

    @cached_property
    def n_ids(self) -> int:
        """The length of the range of its ids."""
        return ((self.record or self.sealed).last_file + 1) << POSITION_BITS

    def may_have(self, id_: int) -> bool:
        """Return whether an id is in one of the ranges of its ids, so that it read a document of this id."""
        return any(0 <= id_ - shift < self.n_ids for shift in self.shifts)

    def own_ids(self, ids: Collection[int]) -> Iterator[tuple[int, list[int]]]:
        """Yield, for each way, its number, and those of the ids that are in its range, without the number."""
        for shift in self.shifts:
            if own := [id_ - shift for id_ in ids if 0 <= id_ - shift < self.n_ids]:
                yield shift, own

    def first_id(self, id_: int) -> int:
        """Return the id, in the first way, of the same document."""
        return next(own[0] + self.shift for _, own in self.own_ids([id_]))

    def rows(self, url: str, ids: Sequence[int], kind: str | None = None) -> Iterator[dict[str, Any]]:
        """Yield rows of a file of this Dataset with the given ids, as `rows_of_ids` does.

        - kind: DROPS or CUTS for such a table; None for documents.
        """
        for shift, own in self.own_ids(ids):
            for row in Sealed().rows(url, own) if kind is None else rows_of_ids(url, own, SCHEMAS[kind]):
                yield _shifted(row, shift, is_table=kind is not None)

    def table(self, kind: str, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """Yield the rows of its tables of a kind (DROPS, CUTS), as `read_tables` does, with ids of the first way."""
        for batch in read_tables(self.url, kind, None if self.shift else columns):
            yield batch if not self.shift else self._shifted_batch(batch).select(columns or batch.schema.names)

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield its documents, as `Dataset.batches` does, each batch once per way; `columns` must have the id."""
        for batch in open_dataset(self.url).batches(columns):
            yield from (batch if not shift else _with_ids(batch, shift) for shift in self.shifts)

    def _shifted_batch(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        at, kept = batch.schema.get_field_index("duplicate_of"), batch.column("duplicate_of")
        is_other = batch.column("duplicate_of_dataset").is_valid()
        moved = pc.if_else(is_other, kept, pc.add(kept, pa.scalar(self.shift, pa.uint64())))
        return _with_ids(batch, self.shift).set_column(at, batch.schema.field(at), moved)


def _shifted(row: dict[str, Any], shift: int, *, is_table: bool) -> dict[str, Any]:
    found = {**row, "id": row["id"] + shift}
    if is_table and row["duplicate_of"] is not None and row["duplicate_of_dataset"] is None:
        found["duplicate_of"] += shift
    return found


def _with_ids(batch: pa.RecordBatch, shift: int) -> pa.RecordBatch:
    at = batch.schema.get_field_index("id")
    ids = pc.add(batch.column("id"), pa.scalar(shift, pa.uint64()))
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

    Raises PlanError if the folder has no Dataset, or several results and no run.json that states their order.
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
        ways: dict[str, list[int]] = {}
        for one, shift in _above(((ends or finals)[-1].url,), 0, inputs, set()):
            ways.setdefault(one, []).append(shift)
        found = [MemberFolder(one, tuple(sorted(shifts))) for one, shifts in ways.items()]
    if not saved:
        return found
    return [each for one in found for each in (*one.saved, one) if each.is_dataset or each.is_pruned]


def _above(
    path: tuple[str, ...], shift: int, inputs: Mapping[str, Mapping[str, Sequence[int]]], seen: set[tuple[str, int]]
) -> Iterator[tuple[str, int]]:
    """Yield the Datasets from which a Dataset was made, each after those from which it was made; and the Dataset.

    A Dataset is yielded once for each number that is added to its ids, with this number.

    - path: the Datasets from the last one of the run to this one.
    """
    seen.add((path[-1], shift))
    for above, numbers in inputs[path[-1]].items():
        for number in numbers if above not in path else ():
            if (above, shift + number) not in seen:
                yield from _above((*path, above), shift + number, inputs, seen)
    yield path[-1], shift


def other_ways(members: Iterable[MemberFolder], id_: int) -> list[int]:
    """Return the ids of the same document in other ways."""
    ways = ((one, shift) for one in members if len(one.shifts) > 1 for shift, _ in one.own_ids([id_]))
    return list(dict.fromkeys(id_ - shift + other for one, shift in ways for other in one.shifts if other != shift))


def left_out(url: str) -> str:
    """Return sentences about what is not shown of a run: Datasets that are not in `family`, and repetitions; or "".

    Raises the errors of `family`.
    """
    found = family(url, saved=False)
    others = [one for one in datasets(url, saved=False) if one.url not in {of.url for of in found}]
    several, said = [one for one in found if len(one.shifts) > 1], list[str]()
    if others:
        said.append(f"Not included: {_names(others)}, other results in this folder. Pass the folder of one of them to "
                    "see it.")  # fmt: skip
    if several:
        said.append(f"Shown once: the drops of {_names(several)}, whose documents reach the result in several ways. "
                    "The kept documents count in each way.")  # fmt: skip
    return " ".join(said)


def _names(some: Sequence[Folder]) -> str:
    return first_few([repr(one.name) for one in some], MOST_NAMES)
