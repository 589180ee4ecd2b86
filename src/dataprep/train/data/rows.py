"""Rows of tokens as the trainer reads them, and a keyed permutation of rows that is computed when needed."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dataprep.store.splitmix import mix

IGNORE = -100  # a target without loss: cross_entropy's own default
_ROUNDS = 8  # four make a strong permutation (Luby and Rackoff 1988); more for tiny domains


class Rows(NamedTuple):
    """B training rows of T inputs and T targets.

    Attributes:
        tokens: ids (B, T+1), of which the input in column t predicts the token in column t+1 (target); the last column
            is no input.
        learn: bool (B, T), whether each target counts; None: all targets count.
        begins: bool (B, T), whether each input begins a document that must not see the inputs before it; None: no input
            does.
        prefix: bool (B, T), whether each input belongs to its document's prefix, whose tokens all attend to each
            other; None: no input does.
        targets: int64 (B, T), the target of each input, or IGNORE (-100); None: the next tokens.
    """

    tokens: NDArray[Any]
    learn: NDArray[np.bool_] | None = None
    begins: NDArray[np.bool_] | None = None
    prefix: NDArray[np.bool_] | None = None
    targets: NDArray[np.int64] | None = None

    @property
    def n_targets(self) -> int:
        """The number of tokens that are predicted in these rows."""
        if self.targets is not None:
            counts = self.targets != IGNORE
            return int(np.count_nonzero(counts if self.learn is None else counts & self.learn))
        every = self.tokens.shape[0] * (self.tokens.shape[1] - 1)
        return every if self.learn is None else int(np.count_nonzero(self.learn))

    def part(self, start: int, stop: int) -> Rows:
        """Return the rows `start` to `stop` - 1; their arrays are views, so nothing is copied."""
        return Rows._make(None if a is None else a[start:stop] for a in self)


Objective = Callable[[Rows, NDArray[np.int64]], Rows]
"""Function of rows and their numbers in the run; returns rows with other tokens or other targets."""


def permute(place: NDArray[np.int64], n: int, key: str) -> NDArray[np.int64]:
    """Return the number to which a pseudorandom permutation of range(n) maps each number in `place`, int64.

    A Feistel network permutes pairs (remainder, quotient) in a rectangle of about sqrt(n) by sqrt(n). Results outside
    range(n) are permuted again until they are inside (cycle walking, Black and Rogaway 2002).

    - key: a different text produces a different permutation.

    >>> sorted(permute(np.arange(5), 5, "any key").tolist())
    [0, 1, 2, 3, 4]
    """
    wide = max(1, math.isqrt(n - 1) + 1)
    high = -(-n // wide)
    keys = np.frombuffer(hashlib.blake2b(key.encode(), digest_size=8 * _ROUNDS).digest(), dtype="<u8")
    value = _feistel(place.astype(np.uint64), np.uint64(high), np.uint64(wide), keys)
    while (outside := value >= n).any():
        value[outside] = _feistel(value[outside], np.uint64(high), np.uint64(wide), keys)
    return value.astype(np.int64)


def _feistel(
    value: NDArray[np.uint64], high: np.uint64, wide: np.uint64, keys: NDArray[np.uint64]
) -> NDArray[np.uint64]:
    """Apply invertible rounds, each of which adds a hash of one half to the other half, modulo its size."""
    half, shift = np.uint64(32), value // wide
    moved, other, size, other_size = shift, value - shift * wide, high, wide
    for key in keys:
        moved = moved + (((mix(other ^ key) >> half) * size) >> half)
        moved -= size * (moved >= size)
        moved, other, size, other_size = other, moved, other_size, size
    return moved * wide + other if len(keys) % 2 == 0 else other * wide + moved
