"""Estimator: reads all documents, tabulates what to drop or cut, and returns the Stage that applies the table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from dataprep.errors import PlanError
from dataprep.lazy import compute as pc
from dataprep.store import files
from dataprep.store.key import key

from .batch import show_id
from .stage import Declared, Stage

if TYPE_CHECKING:
    from ..run.runner import Runner
    from .dataset import Dataset
    from .verdict import DropIds


class Estimator(Declared):
    """Base class of steps that read all documents to decide which to drop or cut; `fit` returns a Stage that does so.

    Write a subclass as a frozen dataclass that defines `fit`; all other members have defaults.

    Attributes:
        needs: the columns that the Estimator reads in addition to id, text, source and meta.
        VERSION: an integer; increase it when the same parameters produce a different result.
        only_drops: the value of `only_drops` of the Stage that `fit` returns.
        hides: the value of `hides` of the Stage that `fit` returns.
        adds: the value of `adds` of the Stage that `fit` returns.
        loses: the data that later stages cannot see, as in `Stage`.
        sees: the data that this Estimator must see in full, as in `Stage`.
        reads_folders: the folders of Datasets that the Estimator reads in addition to its input; none of them can be
            the output folder.

    >>> @dataclass(frozen=True)                                              # doctest: +SKIP
    ... class Longest(Estimator):
    ...     def fit(self, docs, runner, out):
    ...         rows = ...                                      # pa.table({"id": ..., "reason": ...})
    ...         return self.drop(docs, out, rows)
    """

    reads_folders: tuple[str, ...] = ()

    def fit(self, docs: Dataset, runner: Runner, out: str) -> Stage:
        """Read `docs`, write tables under the folder `out`, and return the stage that applies them."""
        raise NotImplementedError

    def drop(self, docs: Dataset, out: str, rows: pa.Table, **facts: Any) -> DropIds:
        """Write the documents to drop as a table under `out`, and return the Stage that drops them.

        Args:
            docs: the documents that `fit` received.
            out: the folder that `fit` received.
            rows: one row per document, in any order, with the columns `id` (uint64), `reason`, and optionally
                `duplicate_of` (the id of the document that is kept instead), `duplicate_of_dataset` (the folder of that
                document's Dataset), `similarity`, `value` (the number that was compared) and `label`.
            facts: numbers to record in the manifest and the report.

        Raises PlanError if an id or a reason is missing, if an id occurs twice, or if a document is a duplicate of
        itself.
        """
        from ..output.layout import VERDICTS
        from .tables import write_verdicts
        from .verdict import DropIds

        url = files.join(out, VERDICTS)
        write_verdicts(url, self._checked(rows))
        return DropIds(verdicts=url, key=self.key_for(docs), estimator=self.name, facts=facts)

    def _checked(self, rows: pa.Table) -> pa.Table:
        """Return rows of documents to drop, sorted by id; raise PlanError if they are contradictory."""
        for name in ("id", "reason"):
            if name not in rows.column_names or rows[name].null_count:
                msg = f"{self.name}: each row of documents to drop must have a value in the column {name!r}"
                raise PlanError(msg)
        ids = rows["id"].to_numpy()
        if (ids[1:] <= ids[:-1]).any():
            rows = rows.sort_by("id")
            ids = rows["id"].to_numpy()
        wrong, why = ids[1:][ids[1:] == ids[:-1]], "is in two rows; return one row per document"
        if not len(wrong) and "duplicate_of" in rows.column_names:
            same = pc.fill_null(pc.equal(rows["id"], rows["duplicate_of"].cast(rows["id"].type)), fill_value=False)
            if "duplicate_of_dataset" in rows.column_names:
                same = pc.and_(same, pc.is_null(rows["duplicate_of_dataset"]))
            wrong, why = rows["id"].filter(same).to_numpy(), "is its own duplicate_of; state the document that is kept"
        if len(wrong):
            msg = f"{self.name}: document {show_id(int(wrong[0]))} {why}"
            raise PlanError(msg)
        return rows

    def key_for(self, docs: Dataset) -> str:
        """Return a hash that changes if this Estimator's parameters, or the content of any document, change."""
        return key((self, docs.key))
