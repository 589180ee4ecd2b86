"""Similarities of dropped documents to those that they were dropped for."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from dataprep.core.tables import Drop

from .clusters import drop_batches, find_clusters, least_first

SPARE = 16  # times as many candidates are held, so that one kept document does not fill the list


@dataclass(frozen=True)
class Similarities:
    """Similarities of the documents that one stage dropped to those that they were dropped for.

    hundredths: documents per hundredth of similarity, those under 1, int64[100]. same: documents of similarity 1.
    """

    hundredths: npt.NDArray[np.int64]
    same: int


def by_stage(url: str) -> dict[str, Similarities]:
    """Return the similarities by stage, in order; a stage that measured none is left out."""
    found: dict[str, Similarities] = {}
    for batch, _ in drop_batches(url, ["stage", "similarity", "kept"]):
        rows = _with_survivor(batch)
        for stage in rows.column("stage").unique().to_pylist():
            mine = rows.filter(pc.equal(rows.column("stage").cast(pa.string()), stage))
            values = mine.column("similarity").to_numpy()
            counts = np.histogram(values[values < 1], bins=100, range=(0, 1))[0]
            old = found.get(stage, Similarities(np.zeros(100, np.int64), 0))
            found[stage] = Similarities(old.hundredths + counts, old.same + int((values >= 1).sum()))
    return found


def _with_survivor(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return the rows with a kept document and a similarity (that of a prototype is to a centroid, and has none)."""
    return batch.filter(pc.and_(batch.column("similarity").is_valid(), batch.column("kept").is_valid()))


def least_similar(url: str, n: int, source: str | None = None) -> list[Drop]:
    """Return the n dropped documents least similar to the one kept for them, of different kept ones if possible.

    source: only documents of this source.
    """
    mask = None if source is None else (found := find_clusters(url)).ids[found.of_source(source)]
    best: list[Drop] = []
    for batch, folder in drop_batches(url):
        rows = _with_survivor(batch)
        if mask is not None:
            rows = rows.filter(pc.is_in(rows.column("id"), pa.array(mask)))
        values: Any = rows.column("similarity").to_numpy()
        first = np.lexsort((rows.column("id").to_numpy(), values))[: n * SPARE]
        candidates = [Drop(**row, folder=folder) for row in rows.take(pa.array(first)).to_pylist()]
        best = heapq.nsmallest(n * SPARE, [*best, *candidates], key=least_first)
    firsts = list({(drop.kept_in, drop.kept): drop for drop in reversed(best)}.values())[::-1]
    others = [drop for drop in best if drop not in firsts]
    return sorted([*sorted(firsts, key=least_first), *others][:n], key=least_first)
