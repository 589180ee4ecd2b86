"""The limit of bad records above which a file is an error.

A bad record is dropped with its reason and position. A file with mostly bad records is damaged, or the wrong reader
was chosen: it raises a ReadError that shows the first bad record.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dataprep.errors import ReadError

FIRST = 100  # so many bad records before any good one, and reading on is pointless
FEWEST = 10  # fewer bad records than this never condemn a file that has good ones: a small file may hold a few
MAX_DOC_BYTES = 64 << 20  # of one record; longer ones are dropped as too_long
MAX_BAD = 0.01  # the share of records


@dataclass
class Trust:
    """Counts good and bad records of one file, or of one 256 MB slice of a plain file."""

    url: str
    max_bad: float = MAX_BAD
    whole: bool = True  # whether the file is read from its first record to its last
    remedy: str = "check that this is the right file and format"
    good: int = 0
    bad: int = 0
    first: tuple[int, str] | None = None  # position and description of the first bad record

    def count(self, good: Any, bad: Any, first: Callable[[], str]) -> None:
        """Count ascending positions of good and bad records; `first` describes the first bad one.

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
        """Finish the file.

        Raises ReadError if it held no record, no good one, or over `max_bad` bad ones (and 10 or more).
        """
        total = self.good + self.bad
        if not total and self.whole:
            msg = "the file holds no records; remove it or fetch it again"
            raise ReadError(msg, self.url, 0)
        if self.bad and not self.good:
            self._give_up(f"all {total:,} records are bad" if total > 1 else "its only record is bad")
        if self.bad >= FEWEST and self.bad > self.max_bad * total:
            self._give_up(f"{self.bad:,} of {total:,} records are bad, more than max_bad={self.max_bad:g} allows")

    def _give_up(self, found: str) -> None:
        position, why = self.first or (0, "")
        msg = f"{found}; this is the first: {why}; {self.remedy}"
        raise ReadError(msg, self.url, position)
