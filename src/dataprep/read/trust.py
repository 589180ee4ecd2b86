"""The maximum share of bad records, above which reading a file raises an error.

A bad record is dropped with its reason and position. If most records of a file are bad, it is damaged or the wrong
reader was chosen. In this case, a ReadError shows the first bad record.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dataprep.core.model.reader import Reader
from dataprep.errors import PlanError, ReadError

FIRST = 100  # bad records before any good one, at which reading stops
FEWEST = 10  # a file with good records is an error only from this many bad ones on: a small file may hold a few
MAX_DOC_BYTES = 64 << 20  # of one record; longer ones are dropped as too_long
MAX_BAD = 0.01  # the share of records
BAD_RECORDS = "bad_records"  # the reason of the error


@dataclass(frozen=True, kw_only=True)
class LimitedReader(Reader):
    """Base class of readers that limit the size of records and the share of bad records.

    Attributes:
        max_doc_bytes: longer records are dropped.
        max_bad: the largest share of bad records, 0 to 1; if a file has a larger share, and at least 10 bad records,
            ReadError is raised.
    """

    max_doc_bytes: int = MAX_DOC_BYTES
    max_bad: float = MAX_BAD

    def __post_init__(self) -> None:
        if self.max_doc_bytes < 1:
            msg = f"max_doc_bytes={self.max_doc_bytes} must be at least 1, the bytes of the longest record to keep"
            raise PlanError(msg)
        if isinstance(self.max_bad, (bool, str)) or not 0 <= self.max_bad <= 1:
            msg = f"max_bad={self.max_bad!r} must be a share from 0 to 1, such as 0.05 for 5 %"
            raise PlanError(msg)


@dataclass
class Trust:
    """Counts the good and bad records of one file, or of a slice of it, and raises ReadError if too many are bad.

    Attributes:
        max_bad: the largest share of bad records.
        whole: whether the records of a whole file are counted.
        remedy: the advice in the error.
        good: the number of good records so far.
        bad: the number of bad records so far.
        first: position and description of the first bad record.
    """

    url: str
    max_bad: float = MAX_BAD
    whole: bool = True  # whether the file is read from its first record to its last
    remedy: str = "check that this is the right file and format"
    good: int = 0
    bad: int = 0
    first: tuple[int, str] | None = None  # position and description of the first bad record

    def count(self, good: Any, bad: Any, first: Callable[[], str]) -> None:
        """Count good and bad records.

        Args:
            good: the positions of the good records, ascending.
            bad: the positions of the bad ones, ascending.
            first: returns a description of the first bad record.

        Raises ReadError if 100 bad records came before any good one.
        """
        if len(bad) and self.first is None:
            self.first = (int(bad[0]), first())
        before = len(bad) if not len(good) else sum(1 for p in bad[:FIRST] if p < good[0])
        if not self.good and self.bad + before >= FIRST:
            self._give_up(f"the first {FIRST} records are all bad")
        self.good += len(good)
        self.bad += len(bad)

    def close(self) -> None:
        """Check the counts after the last record of the file.

        Raises ReadError if the file has no record, no good record, or more bad ones than `max_bad` (and at least 10).
        """
        total = self.good + self.bad
        if not total and self.whole:
            msg = "the file contains no records; remove it or fetch it again"
            raise ReadError(msg, self.url, 0, reason="empty")
        if self.bad and not self.good:
            self._give_up(f"all {total:,} records are bad" if total > 1 else "its only record is bad")
        if self.bad >= FEWEST and self.bad > self.max_bad * total:
            self._give_up(f"{self.bad:,} of {total:,} records are bad, more than max_bad={self.max_bad:g} allows")

    def _give_up(self, found: str) -> None:
        position, why = self.first or (0, "")
        msg = f"{found}; this is the first: {why}; {self.remedy}"
        raise ReadError(msg, self.url, position, reason=BAD_RECORDS)
