"""Which documents are held out for validation and test, and which are sampled: pure functions of hash(seed, id).

Nothing is stored and nothing moves: `train_bpe`, `encode` and whoever asks later get the same sides from the ids.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dataprep.batch import Ids
from dataprep.errors import PlanError
from dataprep.meter import mix

SIDES = ("train", "val", "test")
VAL = 0.005  # of the documents: enough for a steady loss on any corpus that is worth training on
SEED = 0
HOLD_OUT = 0.05  # of the documents no tokenizer learns from, so that any smaller validation share is unseen
# One stream of hashes a purpose: a sample must not consist of the documents nearest to the validation side.
_SPLIT, _SAMPLE = 0x53504C49, 0x53414D50


def is_val(ids: Ids, val: float = VAL, seed: int = SEED) -> npt.NDArray[np.bool_]:
    """Whether each document is held out: a share `val` of all ids, bool[n]; a smaller share lies in every larger one.

    >>> is_val(np.arange(100_000, dtype=np.uint64), val=0.01).mean()   # about 0.01
    """
    return _below(mix(mix(ids, seed), _SPLIT), val)


def side_of(ids: Ids, val: float = VAL, test: float = 0.0, seed: int = SEED) -> npt.NDArray[np.uint8]:
    """The side of each document as its number in `SIDES`, uint8[n].

    Validation takes the smallest hashes and test the largest, so that neither share moves the other's documents.
    """
    hashes = mix(mix(ids, seed), _SPLIT)
    sides = _below(hashes, val).astype(np.uint8)
    sides[_below(~hashes, test) & (sides == 0)] = 2
    return sides


def sample_rank(ids: Ids, seed: int = SEED) -> Ids:
    """A random order of the documents, uint64[n]; a sample of share p is those `sampled(rank, p)`."""
    return mix(mix(ids, seed), _SAMPLE)


def sampled(rank: Ids, share: float) -> npt.NDArray[np.bool_]:
    """Whether each rank belongs to a sample of this share; a smaller sample lies inside every larger one."""
    return _below(rank, share)


def check_sides(val: float, test: float) -> None:
    """Two shares that leave something to train on."""
    check_share("val", val)
    check_share("test", test)
    if val + test > 1:
        msg = f"val={val} and test={test} are more than all documents together; give shares that leave some to train on"
        raise PlanError(msg)


def check_share(name: str, share: float) -> None:
    """A share of documents lies in [0, 1]."""
    if not 0 <= share <= 1:
        msg = f"{name}={share} is not a share of the documents; give a number from 0 to 1"
        raise PlanError(msg)


def _below(hashes: Ids, share: float) -> npt.NDArray[np.bool_]:
    if share >= 1:  # 2**64 is no uint64
        return np.ones(len(hashes), bool)
    return np.asarray(hashes < np.uint64(int(share * 2**64)))
