"""Implement `annotate=`: write an Estimator's decisions as columns instead of dropping documents or cutting texts."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from dataprep.errors import PlanError
from dataprep.store import files

from . import batch as B
from .batch import Batch
from .ledger import Ledger
from .range_reader import RangeReader
from .tables import SPANS, VERDICTS, new_rows, read_rows, write_rows
from .verdict import CutSpans, DropIds, Verdict

CLUSTERS = pa.schema(
    [
        pa.field("id", pa.uint64(), nullable=False),
        pa.field("duplicate", pa.string()),  # the reason for which the document would be dropped; null: it would not
        pa.field("cluster", pa.uint64()),  # the document that would be kept; null: not known
        pa.field("cluster_dataset", pa.string()),  # the Dataset of that document; null: this one
        pa.field("cluster_size", pa.int64()),
        pa.field("similarity", pa.float32()),
    ]
)
CENTROIDS = pa.schema(
    [
        pa.field("id", pa.uint64(), nullable=False),
        pa.field("centroid", pa.int32()),  # number of the nearest centroid
        pa.field("centroid_similarity", pa.float32()),  # the cosine to the nearest centroid
    ]
)
COLUMNS = {f.name: f.type for f in CLUSTERS if f.name != "id"}
NEAREST = {f.name: f.type for f in CENTROIDS if f.name != "id"}
REPEATS = {"repeats": pa.list_(pa.struct([f for f in SPANS if f.name not in ("id", "reason")]))}


def added_columns(prefix: str | None, *, cuts: bool, centroids: bool = False) -> dict[str, pa.DataType]:
    """Return the added columns with their types; {} if `prefix`, the prefix of their names, is None.

    - cuts: whether the Estimator cuts texts; if not, it drops documents.
    - centroids: whether it compares vectors, in which case the columns of CENTROIDS are added too.
    """
    columns = REPEATS if cuts else COLUMNS | (NEAREST if centroids else {})
    return {} if prefix is None else {prefix + name: kind for name, kind in columns.items()}


def annotated(verdict: DropIds | CutSpans, prefix: str | None, centroids: str = "", *, sized: bool = True) -> Verdict:
    """Return a stage that writes the decisions of `verdict` as columns, or `verdict` itself if `prefix` is None.

    - prefix: the prefix of the columns' names.
    - centroids: as in AnnotateClusters.
    - sized: as in AnnotateClusters.

    Clusters are written to a table next to that of `verdict`; this takes about 60 bytes of memory per dropped document.
    """
    if prefix is None:
        return verdict
    given: dict[str, Any] = {"key": verdict.key, "estimator": verdict.estimator, "facts": verdict.facts}
    if isinstance(verdict, CutSpans):
        return AnnotateSpans(spans=verdict.spans, prefix=prefix, **given)
    url = files.join(verdict.verdicts.rpartition("/")[0], "clusters.parquet")
    write_rows(url, CLUSTERS, [clusters_of(read_rows(verdict.verdicts, VERDICTS))])
    return AnnotateClusters(clusters=url, centroids=centroids, sized=sized, prefix=prefix, **given)


def clusters_of(verdicts: pa.Table) -> pa.Table:
    """Return the members of all clusters of a table of documents to drop, with the columns of CLUSTERS, sorted by id.

    A cluster is a kept document and the documents that are dropped as its duplicates. A document that is dropped
    without a kept document has no cluster.
    """
    ids, known = verdicts["id"].to_numpy(), ~verdicts["duplicate_of"].is_null().to_numpy(zero_copy_only=False)
    homes = verdicts["duplicate_of_dataset"].combine_chunks().fill_null("").dictionary_encode()
    pairs = np.empty(len(ids), [("home", "<i8"), ("duplicate_of", "<u8")])
    pairs["home"], pairs["duplicate_of"] = homes.indices.to_numpy(), verdicts["duplicate_of"].fill_null(0).to_numpy()
    found, of, counts = np.unique(pairs[known], return_inverse=True, return_counts=True)
    sizes = np.zeros(len(ids), np.int64)
    sizes[known] = counts[of] + 1
    here = np.array([name == "" for name in homes.dictionary.to_pylist()] or [True])[found["home"]]
    heads, head_sizes = found["duplicate_of"][here], counts[here] + 1
    clusters = pairs["duplicate_of"].copy()
    at, is_head = B.find_sorted(heads, ids)  # a head that is dropped for another reason, as a prototype
    clusters[is_head], sizes[is_head] = ids[is_head], head_sizes[at[is_head]]
    known |= is_head
    more = ~np.isin(heads, ids)
    dropped = new_rows(
        CLUSTERS,
        id=verdicts["id"],
        duplicate=verdicts["reason"],
        cluster=pa.array(clusters, mask=~known),
        cluster_dataset=verdicts["duplicate_of_dataset"],
        cluster_size=pa.array(sizes, mask=~known),
        similarity=verdicts["similarity"],
    )
    kept = new_rows(CLUSTERS, id=heads[more], cluster=heads[more], cluster_size=head_sizes[more])
    return pa.Table.from_batches([dropped, kept]).sort_by("id")


@dataclass(frozen=True, kw_only=True, repr=False)
class _Annotate(Verdict):
    """Base class of stages that add columns.

    Args:
        prefix: the prefix of the columns' names.
    """

    only_drops: ClassVar[bool] = True

    prefix: str = ""

    def recipe(self) -> Any:
        """Return the values that identify this stage: the Estimator's name, `key`, and the names of the columns."""
        return (*super().recipe(), type(self).__name__, self.prefix)

    def _with(self, batch: Batch, columns: Mapping[str, pa.Array]) -> Batch:
        for name, column in columns.items():
            if self.prefix + name in batch.schema.names:
                msg = f"{self.name}: the column {self.prefix + name!r} already exists; set annotate='another_'"
                raise PlanError(msg)
            batch = B.with_column(batch, self.prefix + name, column)
        return batch


@dataclass(frozen=True, kw_only=True, repr=False)
class AnnotateClusters(_Annotate):
    """Adds the columns duplicate, cluster, cluster_dataset, cluster_size and similarity to every document.

    Attributes:
        clusters: the URL of the table of the members of clusters. A document that is in no cluster forms its own
            cluster, of size 1.
        centroids: the URL of a table with the columns of CENTROIDS, which are added too; "" if there is no such table.
        sized: whether the sizes of clusters are known; if not, `cluster_size` is null.
    """

    clusters: str
    centroids: str = ""
    sized: bool = True

    @property
    def adds(self) -> Mapping[str, pa.DataType]:  # type: ignore[override]
        """The columns that this stage adds, with their types."""
        return added_columns(self.prefix, cuts=False, centroids=bool(self.centroids))

    def __call__(self, batches: Iterator[Batch], stats: Ledger) -> Iterator[Batch]:  # noqa: ARG002 - drops nothing
        """Yield the same documents with the added columns."""
        with contextlib.ExitStack() as opened:
            table = opened.enter_context(RangeReader(self.clusters, CLUSTERS))
            near = opened.enter_context(RangeReader(self.centroids, CENTROIDS)) if self.centroids else None
            for batch in batches:
                rows, ids = table.of(batch), B.ids(batch)
                own = new_rows(CLUSTERS, id=ids, cluster=ids, cluster_size=1 if self.sized else None)
                both = pa.concat_tables([rows, pa.Table.from_batches([own])])
                place, known = B.find_sorted(rows["id"].to_numpy(), ids)
                at = np.where(known, place, np.arange(len(ids)) + len(rows))
                taken = both.take(pa.array(at)).combine_chunks()
                columns = {name: taken[name].combine_chunks() for name in COLUMNS}
                if near is not None:
                    measured = near.of(batch)
                    place, known = B.find_sorted(measured["id"].to_numpy(), ids)
                    rows = measured.take(pa.array(place, mask=~known))
                    columns |= {name: rows[name].combine_chunks() for name in NEAREST}
                yield self._with(batch, columns)


@dataclass(frozen=True, kw_only=True, repr=False)
class AnnotateSpans(_Annotate):
    """Adds the `repeats` column to every document: the list of the spans that would be cut, as in a cut table.

    Attributes:
        spans: the URL of the table of spans to cut.
    """

    spans: str

    @property
    def adds(self) -> Mapping[str, pa.DataType]:  # type: ignore[override]
        """The column that this stage adds, with its type."""
        return added_columns(self.prefix, cuts=True)

    def __call__(self, batches: Iterator[Batch], stats: Ledger) -> Iterator[Batch]:  # noqa: ARG002 - drops nothing
        """Yield the same documents with the added column."""
        with RangeReader(self.spans, SPANS) as table:
            for batch in batches:
                rows, ids = table.of(batch), B.ids(batch)
                of, kind = rows["id"].to_numpy(), REPEATS["repeats"]
                first, last = np.searchsorted(of, ids, "left"), np.searchsorted(of, ids, "right")
                ends = np.concatenate([[0], np.cumsum(last - first)])
                at = np.arange(ends[-1]) + np.repeat(first - ends[:-1], last - first)
                columns = [rows[f.name].combine_chunks() for f in kind.value_type]
                spans = pa.StructArray.from_arrays(columns, fields=list(kind.value_type)).take(pa.array(at))
                lists = pa.ListArray.from_arrays(pa.array(ends, pa.int32()), spans, type=kind)
                yield self._with(batch, {"repeats": lists})
