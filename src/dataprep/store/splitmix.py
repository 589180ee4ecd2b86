"""Hash integers by splitmix64's finaliser, equal on every machine. Imports only NumPy, as the trainer uses it too."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

GOLDEN = 0x9E3779B97F4A7C15  # the step of splitmix64 (Steele, Lea and Flood 2014)


def mix(x: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Return the hash of each number, uint64[n]; different numbers have different hashes (splitmix64's finaliser)."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
