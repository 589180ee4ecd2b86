"""A hash of document ids, by which documents are selected pseudo-randomly, the same documents in every run."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from . import splitmix


def mix(ids: npt.NDArray[np.uint64], seed: int) -> npt.NDArray[np.uint64]:
    """Return a hash of each id and the seed, uint64[n]; it is the same on every machine."""
    with np.errstate(over="ignore"):
        return splitmix.mix(ids + np.uint64((seed + 1) * splitmix.GOLDEN & (1 << 64) - 1))
