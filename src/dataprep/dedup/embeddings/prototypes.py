"""Diversify (D4; Tirumala et al. 2023): of what deduplication left, drop the documents closest to their centroids.

SSL prototypes (Sorscher et al. 2022): the documents that are most like many others teach least. All clusters are taken
together: the documents go in order of their cosine to the nearest centroid, the largest first, and of equal ones the
later ids first.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dataprep.store import files, receipts
from dataprep.store.spill import Spill, spill_to

from .kmeans import Gone, centroids_of, left_in, nearest
from .vectors import UNITS

ROW = np.dtype([("id", "<u8"), ("cosine", "<i2")])
COSINES = 2 * UNITS + 1


@dataclass(frozen=True)
class Nearness:
    """Write the cosine of every document that is left of a part to its centroid."""

    out: str
    key: str
    dim: int
    gone: Gone

    def __call__(self, number: int) -> dict[str, Any]:
        """The receipt."""
        url = _place(self.out, number)
        return receipts.once(url + ".json", self.key, lambda: self._write(url, number))

    def _write(self, url: str, number: int) -> dict[str, Any]:
        centroids = centroids_of(self.out, "diverse", self.dim)
        found = [np.zeros(0, ROW)]
        for block in left_in(self.out, number, self.dim, self.gone):
            rows = np.empty(len(block.ids), ROW)
            rows["id"], rows["cosine"] = block.ids, nearest(block.vectors, centroids)[1]
            found.append(rows)
        with spill_to(url, 1) as spill:
            spill.write([np.concatenate(found)])
        return {"files": [url]}


@dataclass(frozen=True)
class Cut:
    """Who goes: everyone above `cosine` (ten-thousandths), and of those at it all but the first `stay`."""

    cosine: int
    stay: int


NOBODY = Cut(UNITS, 0)  # where there is nobody


def cut(out: str, n_parts: int, share: float) -> Cut:
    """Where to cut so that `share` of the documents is left."""
    counts = np.zeros(COSINES, np.int64)
    for number in range(n_parts):
        counts += np.bincount(_rows(out, number)["cosine"].astype(np.int64) + UNITS, minlength=COSINES)
    left = np.cumsum(counts)
    wanted = int(np.ceil(round(share * int(left[-1]), 6)))
    at = int(np.searchsorted(left, wanted))
    return Cut(at - UNITS, wanted - int(left[at] - counts[at])) if at < COSINES else Cut(UNITS, int(left[-1]))


def prototypes(out: str, n_parts: int, where: Cut) -> Iterator[npt.NDArray[Any]]:
    """Part by part, who goes: ids and cosines, in order of ids."""
    stay = where.stay
    for number in range(n_parts):
        rows = _rows(out, number)
        at = np.flatnonzero(rows["cosine"] == where.cosine)
        goes = rows["cosine"] > where.cosine
        goes[at[stay:]] = True
        stay = max(0, stay - len(at))
        yield rows[goes]


def _place(out: str, number: int) -> str:
    return files.join(out, "nearness", f"part-{number:05d}")


def _rows(out: str, number: int) -> npt.NDArray[Any]:
    with Spill(_place(out, number)) as spill:
        return spill.read(0, 0, dtype=ROW)
