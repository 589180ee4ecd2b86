"""`against=`: sealed Datasets whose documents come before the new ones and are kept, for every kind of deduplication.

`near/` gives each Dataset its own file of keys (`near/reuse.py`). The other methods read the older Datasets and the new
documents as one Dataset, in which ids are shifted so that they remain unique (`Joined`). Spans and verdicts on older
documents are omitted from the tables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dataprep.core.model import batch as B
from dataprep.core.model.estimator import Estimator
from dataprep.core.model.tables import NOBODY, span_rows
from dataprep.errors import CorruptShard, PlanError, ReadError, require

if TYPE_CHECKING:
    from dataprep.core.model.dataset import Dataset
    from dataprep.core.run.runner import Runner

MAX_FILES = 1 << (64 - B.POSITION_BITS)


@dataclass(frozen=True)
class Older:
    """One Dataset that `against=` names; its documents come first and are kept.

    Attributes:
        given: the folder of the Dataset, as the user wrote it.
        docs: the documents of the Dataset.
        content: the hash of its ids, texts and columns; it does not depend on the folder.
    """

    given: str  # as the user wrote it, which is how verdicts name it
    docs: Dataset
    content: str  # the hash of its ids, texts and columns, wherever it is stored

    @classmethod
    def open(cls, given: str) -> Older:
        """Open the folder `given`, which `against=` names. Raises PlanError if it is not a finished Dataset."""
        from dataprep.core.model.dataset import open_dataset

        try:
            docs = open_dataset(given)
        except (ReadError, CorruptShard) as e:
            msg = f"against={given!r} must be the folder of a complete sealed Dataset: {e}"
            raise PlanError(msg) from e
        return cls(given, docs, docs.sealed.content)


def folders_of(against: str | Sequence[str] | None) -> tuple[str, ...]:
    """Return the folders that `against=` names, as a tuple. Raises PlanError if a name is empty or occurs twice."""
    named = isinstance(against, (str, list, tuple)) or against is None
    folders: tuple[Any, ...] = (against,) if isinstance(against, str) else tuple(against or ()) if named else ("",)
    are_names = all(isinstance(name, str) and name for name in folders)
    require(are_names, f"against={against!r} must be the folder of a sealed Dataset, or a list of them")
    distinct = {name.rstrip("/") for name in folders}
    require(len(distinct) == len(folders), f"against={against!r} must name every folder once")
    return folders


class Deduplication(Estimator):
    """Base class of Estimators that find duplicates.

    Attributes:
        against: the folders of sealed Datasets that come first.
        annotate: whether decisions are written as columns, instead of dropping documents or cutting texts; a string is
            the prefix of the columns' names.
    """

    against: str | Sequence[str] | None
    annotate: bool | str

    @property
    def prefix(self) -> str | None:
        """The prefix of the names of the columns that `annotate` adds; None if it adds none."""
        return (self.annotate if isinstance(self.annotate, str) else "") if self.annotate else None

    @property
    def cuts(self) -> bool:
        """Whether texts are cut; if not, documents are dropped."""
        return not self.only_drops

    @property
    def adds(self) -> Mapping[str, pa.DataType]:  # type: ignore[override]
        """The columns that `annotate` adds, with their types."""
        from dataprep.core.model.annotate import added_columns

        return added_columns(self.prefix, cuts=self.cuts)

    @property
    def reads_folders(self) -> tuple[str, ...]:  # type: ignore[override]
        """The folders that `against` names."""
        return folders_of(self.against)

    @property
    def read_of_older(self) -> tuple[str, ...]:
        """The columns of the older Datasets that the Estimator reads, in addition to id, text, source and meta."""
        return ()

    def _check_memory(self) -> None:
        """Replace the parameter `against` by a tuple of folders, or None if it names none; check `annotate`."""
        object.__setattr__(self, "against", folders_of(self.against) or None)
        text = isinstance(self.annotate, bool) or (isinstance(self.annotate, str) and self.annotate.isidentifier())
        require(text, f"annotate={self.annotate!r} must be True, False, or a prefix for column names: 'near_'")
        keeps = not self.annotate or getattr(self, "keep", "") != "none"
        require(keeps, "annotate=True drops nothing, so keep='none' must be left out")

    @property
    def older(self) -> tuple[Older, ...]:
        """The Datasets that `against=` names, opened from their folders; () if there are none.

        Raises PlanError if one of them is not complete, or lacks a column that the Estimator reads.
        """
        found = tuple(Older.open(str(folder)) for folder in self.against or ())
        for old in found:
            lacks = [name for name in self.read_of_older if name not in old.docs.columns]
            msg = f"against={old.given!r} must have the column {', '.join(lacks)}; it has {', '.join(old.docs.columns)}"
            require(not lacks, msg)
        return found

    def sampled_older(self, runner: Runner) -> tuple[Older, ...]:
        """Return the Datasets that `against=` names; if `runner` is a trial, a sample of each."""
        from dataprep.core.run.context import trial_of

        trial = trial_of(runner)
        return tuple(replace(old, docs=trial.sample(old.docs)) for old in self.older) if trial else self.older

    def recipe(self) -> Any:
        """Return the values that identify this stage: all parameters, and content hashes of the Datasets in `against=`.

        The values do not depend on the paths of these Datasets.
        """
        values = {f.name: getattr(self, f.name) for f in fields(self)}  # type: ignore[arg-type]
        return values | {"against": [old.content for old in self.older]}


@dataclass(frozen=True)
class Joined:
    """Older Datasets and new documents as one Dataset, in this order.

    Attributes:
        docs: all documents, with shifted ids.
        n_old: the number of parts of the older Datasets.
        n_first: the number of parts of the first older Dataset, or of all documents if there is no older Dataset.
        firsts: the first id of each older Dataset, and of the new documents.
        folders: the folders of the older Datasets.
    """

    docs: Dataset
    n_old: int = 0
    n_first: int = 0
    firsts: tuple[int, ...] = (0,)
    folders: tuple[str, ...] = ()

    @classmethod
    def of(cls, older: Sequence[Older], docs: Dataset) -> Joined:
        """Return the documents of the Datasets `older`, then those of `docs`.

        Raises PlanError if there are too many input files.
        """
        if not older:
            return cls(docs, n_first=len(docs.parts))
        parts, offset, firsts = [], 0, [0]
        for old in older:
            parts += [replace(part, files_before=offset) for part in old.docs.parts]
            offset += old.docs.sealed.last_file + 1
            firsts.append(offset << B.POSITION_BITS)
        most = f"against= names Datasets of {offset:,} input files; there must be fewer than {MAX_FILES // 2:,}"
        require(offset < MAX_FILES // 2, most)
        n_old = len(parts)
        parts += [replace(part, files_before=offset) for part in docs.parts]
        return cls(docs.of(parts), n_old, len(older[0].docs.parts), tuple(firsts), tuple(old.given for old in older))

    @property
    def first_new(self) -> np.uint64:
        """The smallest id that a new document can have."""
        return np.uint64(self.firsts[-1])

    def new(self, rows: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return those of the rows, which have a field "id", that refer to new documents."""
        return rows[rows["id"] >= self.first_new]

    def place(self, ids: npt.NDArray[np.uint64]) -> tuple[pa.Array, npt.NDArray[np.uint64]]:
        """Return each document's Dataset, null for a new document, and its own id there; NOBODY remains NOBODY."""
        known = ids != NOBODY
        of = np.where(known, np.searchsorted(np.array(self.firsts, np.uint64), ids, "right") - 1, len(self.folders))
        homes = pa.array([*self.folders, None], pa.string())
        own = np.where(known, ids - np.array(self.firsts, np.uint64)[of], NOBODY)
        return homes.take(pa.array(of)), own

    def spans(self, rows: npt.NDArray[Any]) -> pa.RecordBatch:
        """Return the SPANs of new documents as rows of a table of spans to cut, with the documents' own ids."""
        if not self.folders:
            return span_rows(rows)
        rows = self.new(rows).copy()
        homes, rows["duplicate_of"] = self.place(rows["duplicate_of"])
        rows["id"] -= self.first_new
        return span_rows(rows, homes)
