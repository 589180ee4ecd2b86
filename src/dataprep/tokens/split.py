"""Which documents are held out for validation and test, and which are sampled: pure functions of hash(seed, id).

Nothing is stored and nothing moves: `train_bpe`, `encode` and whoever asks later get the same sides from the ids.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dataprep.core import batch as B
from dataprep.core.batch import Batch, Ids
from dataprep.core.ledger import Ledger, mix
from dataprep.core.stage import Stage
from dataprep.errors import PlanError
from dataprep.unicode.text import text_hashes

SIDES = ("train", "val", "test")
VAL = 0.005  # of the documents: enough for a steady loss on any corpus that is worth training on
SEED = 0
HOLD_OUT = 0.05  # of the documents no tokenizer learns from, so that any smaller validation share is unseen
# One stream of hashes a purpose: a sample must not consist of the documents nearest to the validation side.
_SPLIT, _SAMPLE = 0x53504C49, 0x53414D50


@dataclass(frozen=True, kw_only=True)
class Split(Stage):
    """Which documents train, which validate and which test: a pure function of hash(seed, id), or of a group's name.

    val, test: shares of the documents; neither moves the other's. group: a column whose equal values stay together (a
    host, a conversation, an author), so that no side has seen the other's; a document without a value is a group of its
    own. seed: another seed is another split.

    `dp.encode(..., split=)` and `dp.train_bpe(..., split=)` ask it. As a stage it writes the column `side` (0 train, 1
    val, 2 test), by which a deduplication keeps the copy that is held out:

    >>> split = Split(val=0.01, test=0.01, group="host")
    >>> dp.Pipeline(split, dp.MinHash(keep="best:side")).run(docs, out="clean")    # doctest: +SKIP
    """

    val: float = VAL
    test: float = 0.0
    group: str | None = None
    seed: int = SEED

    def __post_init__(self) -> None:
        check_share("val", self.val)
        check_share("test", self.test)
        if self.val + self.test > 1:
            msg = f"val={self.val} and test={self.test} are more than all documents; leave some to train on"
            raise PlanError(msg)

    @property
    def needs(self) -> tuple[str, ...]:  # type: ignore[override]
        """The group's column."""
        return () if self.group is None or self.group in B.FIXED else (self.group,)

    @property
    def adds(self) -> Mapping[str, pa.DataType]:  # type: ignore[override]
        """The column `side`."""
        return {"side": pa.uint8()}

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that `sides` reads."""
        return ("id",) if self.group is None else ("id", self.group)

    def __call__(self, batches: Iterator[Batch], stats: Ledger) -> Iterator[Batch]:
        """The documents with their side."""
        for batch in batches:
            sides = self.sides(batch)
            for number, name in enumerate(SIDES):
                stats.count(f"side.{name}", int((sides == number).sum()))
            yield B.with_column(batch, "side", pa.array(sides))

    def sides(self, batch: Batch) -> npt.NDArray[np.uint8]:
        """The side of each document as its number in `SIDES`, uint8[n]."""
        ids = B.ids(batch)
        names = ids if self.group is None else _group_ids(batch.column(self.group), ids)
        return side_of(names, self.val, self.test, self.seed)

    def holds_out(self, other: Split) -> bool:
        """Whether everything that another split holds out is held out by this one."""
        same = (self.group, self.seed) == (other.group, other.seed)
        return other.val + other.test == 0 or (same and self.val >= other.val and self.test >= other.test)


def _group_ids(column: pa.Array, ids: Ids) -> Ids:
    """A number for each group, equal for equal names; a document without a group has its own."""
    names = column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
    try:
        names = names.cast(pa.large_string())
    except pa.ArrowNotImplementedError as e:
        msg = f"group= names a column of {column.type}, which are no names; give one of texts, numbers or times"
        raise PlanError(msg) from e
    hashes = text_hashes(*B.buffers(names.fill_null("")))[:, 0]
    return np.where(names.is_null().to_numpy(zero_copy_only=False), ids, hashes)


def side_of(ids: Ids, val: float = VAL, test: float = 0.0, seed: int = SEED) -> npt.NDArray[np.uint8]:
    """The side of each document as its number in `SIDES`, uint8[n].

    Validation takes the smallest hashes and test the largest, so that neither share moves the other's documents.

    >>> (side_of(np.arange(100_000, dtype=np.uint64), val=0.01) == 1).mean()   # about 0.01
    """
    hashes = mix(mix(ids, seed), _SPLIT)
    sides = _below(hashes, val).astype(np.uint8)
    sides[_below(~hashes, test) & (sides == 0)] = 2
    return sides


def sample_rank(ids: Ids, seed: int = SEED) -> Ids:
    """A random order of the documents, uint64[n]; the smallest ones are a sample, and a larger one holds it."""
    return mix(mix(ids, seed), _SAMPLE)


def check_share(name: str, share: float) -> None:
    """A share of documents lies in [0, 1]."""
    if not 0 <= share <= 1:
        msg = f"{name}={share} is not a share of the documents; give a number from 0 to 1"
        raise PlanError(msg)


def _below(hashes: Ids, share: float) -> npt.NDArray[np.bool_]:
    if share >= 1:  # 2**64 is no uint64
        return np.ones(len(hashes), bool)
    return np.asarray(hashes < np.uint64(int(share * 2**64)))
