"""The stages of an experiment that divide documents: held out or not, copies of short held-out ones, and by source."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from dataprep.core.model import batch as B
from dataprep.core.model.batch import Batch
from dataprep.core.model.dataset import Dataset
from dataprep.core.model.ledger import Ledger
from dataprep.core.model.stage import Stage
from dataprep.filters.decontaminate.kernel import words_of
from dataprep.store.key import key
from dataprep.tokens.split import Split

SET = "held_out"  # the name of the evaluation set in statistics


@dataclass(frozen=True, kw_only=True)
class Side(Stage):
    """Keeps the documents of one split and drops the others with the reason `held_out` or `not_held_out`.

    Args:
        split: the split; its validation documents are the held-out ones.
        held: whether the held-out documents are kept, instead of the others.
    """

    split: Split
    held: bool
    only_drops = True

    @property
    def needs(self) -> tuple[str, ...]:  # type: ignore[override]
        """The column by which the split groups documents."""
        return self.split.needs

    def __call__(self, batches: Iterator[Batch], stats: Ledger) -> Iterator[Batch]:
        """Yield the documents of this split."""
        for batch in batches:
            dropped = (self.split.sides(batch) == 1) != self.held
            # They are in the other set, so that no warning says that nearly all documents were lost.
            stats.drop(B.ids(batch)[dropped], "not_held_out" if self.held else SET, moved=True)
            yield batch.filter(pa.array(~dropped))


@dataclass(frozen=True, kw_only=True)
class NotShort(Stage):
    """Drops documents that have the words of a held-out document and no others, with the reason `held_out_copy`.

    It is for texts that have too few words for `Decontaminate`, which may occur by chance in a longer document.

    Args:
        texts: the letters and digits of these held-out documents.
    """

    texts: frozenset[str]
    only_drops = True

    @classmethod
    def of(cls, held: Dataset, n: int) -> NotShort:
        """Return the stage for the held-out documents that have fewer than `n` words."""
        texts = held.table(["text"]).column("text").cast(pa.large_string()).combine_chunks()
        n_words = np.diff(words_of(texts, "unicode").ends)
        return cls(texts=frozenset(letters(text) for text in texts.filter(pa.array(n_words < n)).to_pylist()))

    def recipe(self) -> Any:
        """Return a hash of the texts."""
        return key(sorted(self.texts))

    def __call__(self, batches: Iterator[Batch], stats: Ledger) -> Iterator[Batch]:
        """Yield the other documents."""
        longest = 4 * max((len(text.encode()) for text in self.texts), default=0)  # with signs and marks
        for batch in batches:
            found = np.zeros(batch.num_rows, bool)
            short = np.flatnonzero(B.lengths(batch) <= longest)
            texts = batch.column("text").take(pa.array(short)).to_pylist()
            found[short] = [letters(text) in self.texts for text in texts]
            stats.drop(B.ids(batch)[found], "held_out_copy")
            yield batch.filter(pa.array(~found))


def letters(text: str) -> str:
    """Return the letters, marks and digits of a text in small letters; the text itself if it has none."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    return "".join(c for c in plain if unicodedata.category(c)[0] in "LMN") or text


@dataclass(frozen=True, kw_only=True)
class OfSource(Stage):
    """Keeps the documents with one value in a column, and drops the others with the reason `other_source`.

    Args:
        column: the column that names the source.
        value: the value of the documents to keep.
    """

    column: str
    value: str
    only_drops = True

    @property
    def needs(self) -> tuple[str, ...]:  # type: ignore[override]
        """The column, except if every batch has it."""
        return () if self.column in B.FIXED else (self.column,)

    def __call__(self, batches: Iterator[Batch], stats: Ledger) -> Iterator[Batch]:
        """Yield the documents of the source."""
        for batch in batches:
            dropped = ~named(batch.column(self.column), self.value)
            stats.drop(B.ids(batch)[dropped], "other_source", moved=True)
            yield batch.filter(pa.array(~dropped))


def named(column: pa.Array, value: str) -> npt.NDArray[np.bool_]:
    """Return which values of a column are `value` as text, bool[n]."""
    found = pc.fill_null(pc.equal(pc.cast(column, pa.string()), value), fill_value=False)
    return np.asarray(found.to_numpy(zero_copy_only=False), bool)
