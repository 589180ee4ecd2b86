"""Diversify (D4; Tirumala et al. 2023): of what deduplication left, drop the documents closest to their centroids.

SSL prototypes (Sorscher et al. 2022): documents that are similar to many others add least. All clusters are taken
together: documents are dropped in order of their cosine to the nearest centroid, the largest first, and of equal ones
the later ids first.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dataprep.core.passes import Pass
from dataprep.store.spill import Spill, spill_to

from .kmeans import DroppedIds, FindSecondClusters, centroids_in, kept_in, nearest
from .vectors import UNITS

ROW = np.dtype([("id", "<u8"), ("cosine", "<i2")])
COSINES = 2 * UNITS + 1


@dataclass(frozen=True)
class MeasureNearness(Pass[int]):
    """Write the cosine of every kept document of a part to its centroid."""

    folder = "nearness"

    dim: int
    dropped: DroppedIds

    def write(self, url: str, item: int) -> dict[str, Any]:
        """Write one section of ROWs."""
        centroids = centroids_in(FindSecondClusters.url(self.out), self.dim)
        found = [np.zeros(0, ROW)]
        for block in kept_in(self.out, item, self.dim, self.dropped):
            rows = np.empty(len(block.ids), ROW)
            rows["id"], rows["cosine"] = block.ids, nearest(block.vectors, centroids)[1]
            found.append(rows)
        with spill_to(url, 1) as spill:
            spill.write([np.concatenate(found)])
        return {}


@dataclass(frozen=True)
class CosineLimit:
    """The documents to drop: all above `cosine` (ten-thousandths), and of those at it all but the first `keep`."""

    cosine: int
    keep: int


NO_LIMIT = CosineLimit(UNITS, 0)  # if there are no documents


def cosine_limit(out: str, n_parts: int, share: float) -> CosineLimit:
    """Return the limit that keeps `share` of the documents."""
    counts = np.zeros(COSINES, np.int64)
    for number in range(n_parts):
        counts += np.bincount(_rows(out, number)["cosine"].astype(np.int64) + UNITS, minlength=COSINES)
    left = np.cumsum(counts)
    wanted = int(np.ceil(round(share * int(left[-1]), 6)))
    at = int(np.searchsorted(left, wanted))
    if at == COSINES:
        return CosineLimit(UNITS, int(left[-1]))
    return CosineLimit(at - UNITS, wanted - int(left[at] - counts[at]))


def prototypes(out: str, n_parts: int, limit: CosineLimit) -> Iterator[npt.NDArray[Any]]:
    """Yield the ROWs of the documents to drop, part by part, in order of ids."""
    keep = limit.keep
    for number in range(n_parts):
        rows = _rows(out, number)
        at = np.flatnonzero(rows["cosine"] == limit.cosine)
        drop = rows["cosine"] > limit.cosine
        drop[at[keep:]] = True
        keep = max(0, keep - len(at))
        yield rows[drop]


def _rows(out: str, number: int) -> npt.NDArray[Any]:
    with Spill(MeasureNearness.url(out, number)) as spill:
        return spill.read(0, 0, dtype=ROW)
