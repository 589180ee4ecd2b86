"""Keep: the rule that decides which copy is kept, for every kind of deduplication.

    "first"           the smallest id: the document in the earliest file, and the earliest document in that file
    "longest"         the most UTF-8 bytes of text
    "newest"          the latest value of the column `date`; "newest:COLUMN" names another (a time, or an ISO 8601 text)
    "best:COLUMN"     the largest number in a column
    "source:A,B,..."  the first source of the list; sources that are not listed come last
    "none"            no copy: every document that has one is dropped, and so is the document that "first" would keep

A document without a value comes last; if values are equal, the document with the smallest id is kept. A text that
cannot be parsed as a time or a number is treated as missing, and the number of such texts is reported. A time without a
time zone is interpreted as UTC.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dataprep.core.model import batch as B
from dataprep.core.model.batch import Batch
from dataprep.errors import PlanError, require
from dataprep.lazy import compute as pc

log = logging.getLogger("dataprep")

KINDS = "first, longest, newest, newest:COLUMN, best:COLUMN, source:NAME,NAME, none"
LAST = np.uint64(2**64 - 1)
ZONE = r"[T ]\d{2}.*(Z|[+-]\d{2}(:?\d{2})?)$"  # at the end of a time of day
SHOWN = 60  # characters of an unreadable value


@dataclass(frozen=True)
class Keep:
    """The rule that a value of `keep=` names; it decides which of several copies of a document is kept.

    Attributes:
        kind: "first", "longest", "newest", "best", "source" or "none".
        what: the column ("newest", "best"), or the sources in order of preference, separated by commas ("source").
    """

    kind: str
    what: str = ""

    @classmethod
    def parse(cls, text: str) -> Keep:
        """Return the rule that `text`, a value of `keep=` such as "newest:COLUMN", names.

        Raises PlanError if `text` names no rule.
        """
        kind, _, what = str(text).partition(":")
        what = "date" if text == "newest" else what
        plain = kind in ("first", "longest", "none") and ":" not in str(text)
        named = kind in ("newest", "best", "source") and what.strip(", ")
        require(plain or named, f"keep={text!r} must be one of {KINDS}")
        return cls(kind, what)

    @property
    def needs(self) -> tuple[str, ...]:
        """The extra column that the rule reads, as a tuple; () if it reads only columns that every batch has."""
        return (self.what,) if self.kind in ("newest", "best") and self.what not in B.FIXED else ()

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of all columns that `rank` reads, "id" included."""
        extra = {"newest": self.what, "best": self.what, "source": "source", "longest": "text"}.get(self.kind)
        return ("id",) if extra is None else ("id", extra)

    def rank(self, batch: Batch, unreadable: list[str]) -> npt.NDArray[np.uint64]:
        """Return a rank for each document of the batch, uint64[n]; of several copies, the smallest (rank, id) is kept.

        Values that are neither a time nor a number are appended, as text, to `unreadable`. Raises PlanError if the
        column contains neither times, numbers nor strings.
        """
        if self.kind in ("first", "none"):
            return np.zeros(batch.num_rows, np.uint64)
        if self.kind == "longest":
            return ~B.lengths(batch).astype(np.uint64)
        if self.kind == "source":
            return self._source_rank(batch.column("source"))
        return _descending(self._numbers(batch.column(self.what), unreadable))

    def warn(self, name: str, found: Mapping[str, Any]) -> dict[str, int]:
        """Log a warning if values could not be read; return {"unreadable": their number}, or {} if there are none.

        Args:
            name: the stage's name, for the message.
            found: the result of `unreadable_values`.
        """
        if not found["unreadable"]:
            return {}
        kind = "an ISO 8601 time" if self.kind == "newest" else "a number"
        shown = f"{found['unreadable']:,}, such as {found['such_as']!r}"
        log.warning("%s: values of the column %r that are not %s count as missing: %s", name, self.what, kind, shown)
        return {"unreadable": found["unreadable"]}

    def _source_rank(self, sources: pa.DictionaryArray) -> npt.NDArray[np.uint64]:
        wanted = [name.strip() for name in self.what.split(",")]
        names = sources.dictionary.to_pylist()
        ranks = np.array([wanted.index(n) if n in wanted else len(wanted) for n in names], np.uint64)
        return np.asarray(ranks[sources.indices.to_numpy()], np.uint64)

    def _numbers(self, column: pa.Array, unreadable: list[str]) -> npt.NDArray[np.float64]:
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        try:
            if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
                texts = pc.utf8_trim_whitespace(column)
                column = _times(texts) if self.kind == "newest" else _readable(texts, pa.float64())
                wrong = pc.and_(column.is_null(), pc.fill_null(pc.not_equal(texts, ""), False))
                unreadable += [text[:SHOWN] for text in texts.filter(wrong).to_pylist()]
            if self.kind == "newest" and not pa.types.is_integer(column.type):
                column = pc.cast(column, pa.timestamp("us"), safe=False).cast(pa.int64())
            column = column.cast(pa.float64(), safe=False)  # microseconds since 1970 are exact in 53 bits
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as e:
            wanted = "a time or an ISO 8601 text" if self.kind == "newest" else "a number"
            msg = f"keep='{self.kind}:{self.what}': the column must hold {wanted}; it holds {column.type} ({e})"
            raise PlanError(msg) from e
        return np.asarray(column.fill_null(float("nan")).to_numpy(), np.float64)


def unreadable_values(receipts: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return {"unreadable": number of values that could not be read, "such_as": the first of them or ""} for all parts.

    Args:
        receipts: the receipts of the tasks, one per input part; each has the entries "unreadable" and "such_as".
    """
    found = [receipt for receipt in receipts if receipt["unreadable"]]
    return {
        "unreadable": sum(receipt["unreadable"] for receipt in found),
        "such_as": next((receipt["such_as"] for receipt in found), ""),
    }


def _times(texts: pa.Array) -> pa.Array:
    """Return ISO 8601 texts as times in UTC, null if they are invalid; nanoseconds are truncated to microseconds."""
    texts = pc.replace_substring_regex(texts, r"(\.\d{6})\d+", r"\1")
    zoned = pc.fill_null(pc.match_substring_regex(texts, ZONE), False)
    plain = _readable(pc.if_else(zoned, None, texts), pa.timestamp("us"))
    return pc.coalesce(plain, _readable(pc.if_else(zoned, texts, None), pa.timestamp("us", "UTC")).cast(plain.type))


def _readable(texts: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return texts as values of a type, null if they cannot be converted."""
    try:
        return texts.cast(kind)
    except pa.ArrowInvalid:
        n = len(texts) // 2
        halves = [_readable(half, kind) for half in (texts[:n], texts[n:])] if n else [pa.nulls(1, kind)]
        return pa.concat_arrays(halves)


def _descending(values: npt.NDArray[np.float64]) -> npt.NDArray[np.uint64]:
    """Return numbers as uint64 in descending order: the largest first, NaN last."""
    bits = (values + 0.0).view(np.uint64)  # + 0.0: minus zero is zero
    negative = bits >> np.uint64(63) == 1
    ascending = np.where(negative, ~bits, bits | np.uint64(1 << 63))
    return np.where(np.isnan(values), LAST, ~ascending)
