"""Keep: the policy that decides which copy is kept, for every kind of deduplication.

    "first"           the smallest id: earliest file, earliest in it
    "longest"         the most UTF-8 bytes of text
    "newest"          the latest value of the column `date`; "newest:COLUMN" names another (a time, or an ISO 8601 text)
    "best:COLUMN"     the largest number in a column
    "source:A,B,..."  the first source of the list; sources that are not listed come last

Missing values come last; among equal values the smallest id is kept.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from dataprep.core import batch as B
from dataprep.core.batch import Batch
from dataprep.errors import PlanError

KINDS = "first, longest, newest, newest:COLUMN, best:COLUMN, source:NAME,NAME"
LAST = np.uint64(2**64 - 1)


@dataclass(frozen=True)
class Keep:
    """A policy: its kind, and the column or the list of sources that it names."""

    kind: str
    what: str = ""

    @classmethod
    def parse(cls, text: str) -> Keep:
        """Return the policy that a `keep=` names. Raises PlanError if it names none."""
        kind, _, what = str(text).partition(":")
        what = "date" if text == "newest" else what
        plain = kind in ("first", "longest") and ":" not in str(text)
        if not (plain or (kind in ("newest", "best", "source") and what.strip(", "))):
            msg = f"keep={text!r} must be one of {KINDS}"
            raise PlanError(msg)
        return cls(kind, what)

    @property
    def needs(self) -> tuple[str, ...]:
        """The columns that decide, in addition to the fixed ones."""
        return (self.what,) if self.kind in ("newest", "best") and self.what not in B.FIXED else ()

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns that `rank` reads."""
        extra = {"newest": self.what, "best": self.what, "source": "source", "longest": "text"}.get(self.kind)
        return ("id",) if extra is None else ("id", extra)

    def rank(self, batch: Batch) -> npt.NDArray[np.uint64]:
        """Return the rank of each document, uint64[n]; of copies, the one with the smallest (rank, id) is kept."""
        if self.kind == "first":
            return np.zeros(batch.num_rows, np.uint64)
        if self.kind == "longest":
            return ~B.lengths(batch).astype(np.uint64)
        if self.kind == "source":
            return self._source_rank(batch.column("source"))
        return _descending(self._numbers(batch.column(self.what)))

    def _source_rank(self, sources: pa.DictionaryArray) -> npt.NDArray[np.uint64]:
        wanted = [name.strip() for name in self.what.split(",")]
        names = sources.dictionary.to_pylist()
        ranks = np.array([wanted.index(n) if n in wanted else len(wanted) for n in names] or [0], np.uint64)
        return np.asarray(ranks[sources.indices.to_numpy()], np.uint64)

    def _numbers(self, column: pa.Array) -> npt.NDArray[np.float64]:
        try:
            if pa.types.is_dictionary(column.type):
                column = column.dictionary_decode()
            if self.kind == "newest" and not pa.types.is_integer(column.type):
                column = pc.cast(column, pa.timestamp("us")).cast(pa.int64())
            column = column.cast(pa.float64(), safe=False)  # microseconds since 1970 are exact in 53 bits
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as e:
            wanted = "a time or an ISO 8601 text" if self.kind == "newest" else "a number"
            msg = f"keep='{self.kind}:{self.what}': the column must hold {wanted}; it holds {column.type} ({e})"
            raise PlanError(msg) from e
        return np.asarray(column.fill_null(float("nan")).to_numpy(zero_copy_only=False), np.float64)


def _descending(values: npt.NDArray[np.float64]) -> npt.NDArray[np.uint64]:
    """Return numbers as uint64 in descending order: the largest first, NaN last."""
    bits = (values + 0.0).view(np.uint64)  # + 0.0: minus zero is zero
    negative = bits >> np.uint64(63) == 1
    ascending = np.where(negative, ~bits, bits | np.uint64(1 << 63))
    return np.where(np.isnan(values), LAST, ~ascending)
