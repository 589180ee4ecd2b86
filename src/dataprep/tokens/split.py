"""`Split`: assign documents to train, validation and test, and order them for samples, by hash(seed, id).

Nothing is stored: `train_bpe`, `encode` and later callers compute the same splits from the ids.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dataprep.core.model import batch as B
from dataprep.core.model.batch import Batch, Ids
from dataprep.core.model.dataset import Dataset
from dataprep.core.model.ledger import Ledger
from dataprep.core.model.stage import Stage
from dataprep.errors import PlanError
from dataprep.store.ranks import mix
from dataprep.unicode.hashes import text_hashes

SIDES = ("train", "val", "test")
VAL = 0.005  # of the documents: enough for a steady loss on any corpus that is worth training on
SEED = 0
HOLD_OUT = 0.05  # of the documents that no tokenizer is trained on, so that any smaller validation share is unseen
SEEDS = 1_000  # that are tried
# One stream of hashes per purpose: a sample must not consist of the documents nearest to the validation split.
_SPLIT, _SAMPLE = 0x53504C49, 0x53414D50


@dataclass(frozen=True, kw_only=True)
class Split(Stage):
    """Assign documents to training, validation and test splits by hash(seed, id), or by a hash of the group's name.

    Args:
        val: the share of the documents for validation; changing it does not reassign test documents.
        test: the share of the documents for the test set; changing it does not reassign validation documents.
        group: a column whose equal values (a host, a conversation, an author) are in one split; a document without a
            value is its own group.
        seed: a different seed produces a different split.

    `dp.encode(..., split=)` and `dp.train_bpe(..., split=)` use it. As a stage it adds the `side` column (0 train, 1
    val, 2 test), by which a deduplication can keep the held-out copy:

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
            msg = f"val={self.val} and test={self.test} must sum to at most 1; leave documents to train on"
            raise PlanError(msg)

    @property
    def needs(self) -> tuple[str, ...]:  # type: ignore[override]
        """The name of the column by which documents are grouped, as a tuple; () if documents are not grouped."""
        return () if self.group is None or self.group in B.FIXED else (self.group,)

    @property
    def adds(self) -> Mapping[str, pa.DataType]:  # type: ignore[override]
        """The column that this stage adds, as {"side": uint8}."""
        return {"side": pa.uint8()}

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns that the method `sides` reads."""
        return ("id",) if self.group is None else ("id", self.group)

    def check_columns(self, columns: Collection[str]) -> None:
        """Raise PlanError if `columns`, the documents' columns, lack the column by which documents are grouped."""
        if self.group is not None and self.group not in columns:
            msg = (
                f"the split's group={self.group!r} must be a column of the documents: {', '.join(columns)}; "
                f"if the input has a field of this name, pass columns=[{self.group!r}] to dp.read"
            )
            raise PlanError(msg)

    def __call__(self, batches: Iterator[Batch], stats: Ledger) -> Iterator[Batch]:
        """Yield the batches with the column `side` added (0 train, 1 val, 2 test), and count the documents of each."""
        for batch in batches:
            sides = self.sides(batch)
            for number, name in enumerate(SIDES):
                stats.count(f"side.{name}", int((sides == number).sum()))
            yield B.with_column(batch, "side", pa.array(sides))

    def sides(self, batch: Batch) -> npt.NDArray[np.uint8]:
        """Return the split of each document, uint8[n]: 0 train, 1 validation, 2 test."""
        return side_of(self.names(batch), self.val, self.test, self.seed)

    def names(self, batch: Batch) -> Ids:
        """Return the number by which each document is assigned to a split, uint64[n]; it is equal for equal groups."""
        ids = B.ids(batch)
        return ids if self.group is None else _group_ids(batch.column(self.group), ids)

    def holds_out(self, other: Split) -> bool:
        """Return whether this Split also holds out every document that `other` holds out."""
        same = (self.group, self.seed) == (other.group, other.seed)
        return other.val + other.test == 0 or (same and self.val >= other.val and self.test >= other.test)


def split_of(docs: Dataset, split: Split, size: Callable[[Batch], npt.NDArray[np.int64]]) -> tuple[Split, bool]:
    """Return `split` with a seed that holds out about its shares of the documents' sizes, and whether they are near.

    Args:
        docs: the documents, with the column `split.group` and the columns that `size` reads.
        split: the wanted shares.
        size: a function that returns the size of each document of a batch, int64[n].

    A share is near if it is between half and twice that of `split`. The first seed whose shares differ from those of
    `split` by at most a quarter is used. If there is none, the seed with the nearest shares is used, provided that some
    documents are held out and at least half of the sizes are for training. A single document is not held out.
    """
    if not split.val + split.test:
        return split, True
    batches = [(split.names(batch), size(batch)) for batch in docs.batches() if batch.num_rows]
    names, sizes = (np.concatenate(column) for column in zip(*batches, strict=True))
    best, least = None, np.inf
    wanted = np.array([1 - split.val - split.test, split.val, split.test])
    for seed in range(split.seed, split.seed + SEEDS):
        shares = np.bincount(side_of(names, split.val, split.test, seed), sizes, 3) / max(1, sizes.sum())
        wrong = np.abs(shares - wanted)[1:].sum()
        if shares[1:].sum() and shares[0] >= min(0.5, wanted[0] / 2) and wrong < least:
            best, least = (replace(split, seed=seed), shares), wrong
            if _near(shares, wanted, 0.75, 1.25):
                break
    if best is None:
        return (split if len(names) > 1 else replace(split, val=0.0, test=0.0)), False
    return best[0], _near(best[1], wanted, 0.5, 2)


def _near(shares: npt.NDArray[np.float64], wanted: npt.NDArray[np.float64], low: float, high: float) -> bool:
    return bool(((shares >= low * wanted) & (shares <= high * wanted))[1:].all())


def _group_ids(column: pa.Array, ids: Ids) -> Ids:
    """Return a number per document, equal for equal groups; a document without a group has its own number."""
    names = column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
    try:
        names = names.cast(pa.large_string())
    except pa.ArrowNotImplementedError as e:
        msg = f"the column that group= names has the type {column.type}; name a column of texts, numbers or times"
        raise PlanError(msg) from e
    hashes = text_hashes(*B.buffers(names.fill_null("")))[:, 0]
    return np.where(names.is_null().to_numpy(zero_copy_only=False), ids, hashes)


def side_of(ids: Ids, val: float = VAL, test: float = 0.0, seed: int = SEED) -> npt.NDArray[np.uint8]:
    """Return the split of each document by a hash of its id, uint8[n]: 0 train, 1 validation, 2 test.

    Args:
        ids: uint64[n], the documents' ids.
        val: the share of the documents for validation, 0 to 1.
        test: the share of the documents for the test set, 0 to 1.
        seed: the seed of the hash.

    Validation takes the smallest hashes and test the largest, so that changing one share does not move documents of the
    other.

    >>> (side_of(np.arange(100_000, dtype=np.uint64), val=0.01) == 1).mean()   # about 0.01
    """
    hashes = mix(mix(ids, seed), _SPLIT)
    sides = _below(hashes, val).astype(np.uint8)
    sides[_below(~hashes, test) & (sides == 0)] = 2
    return sides


def sample_rank(ids: Ids, seed: int = SEED) -> Ids:
    """Return a random rank per document, uint64[n]: the documents with the smallest ranks form a sample.

    With the same seed, a smaller sample is contained in any larger one.
    """
    return mix(mix(ids, seed), _SAMPLE)


def check_share(name: str, share: float) -> None:
    """Raise PlanError if `share` is not from 0 to 1.

    - name: the parameter's name, for the message.
    """
    if isinstance(share, bool) or not isinstance(share, numbers.Real) or not 0 <= share <= 1:
        msg = f"{name}={share!r} must be a share of the documents, from 0 to 1"
        raise PlanError(msg)


def _below(hashes: Ids, share: float) -> npt.NDArray[np.bool_]:
    if share >= 1:  # 2**64 is not a uint64
        return np.ones(len(hashes), bool)
    return np.asarray(hashes < np.uint64(int(share * 2**64)))
