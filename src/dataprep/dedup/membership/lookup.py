"""LookUp: look up stored keys in a Bloom filter, in the order of ids, and write the verdicts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dataprep.core.tables import NOBODY, SPAN, VERDICT_ROWS, VERDICTS, write_spans, write_verdicts
from dataprep.store import files

from .bloom_filter import BloomFilter, FilterSize
from .keys import segments


@dataclass(frozen=True)
class LookUp:
    """Enter the stored keys in the order of ids, in one process; write the verdicts or spans, and the filter.

    If a run is killed, the next starts again from the stored keys, so none is left out and none entered twice.
    """

    out: str
    url: str  # of the table
    unit: str
    threshold: float
    size: FilterSize
    n_parts: int

    def __call__(self, _: int) -> dict[str, Any]:
        """Return the files, and what was counted."""
        entered = BloomFilter(self.size)
        seen = _regrouped(self._seen(entered), VERDICT_ROWS)
        if self.unit == "document":
            found = {"dropped": write_verdicts(self.url, map(_verdicts, seen))}
        else:
            found = {"spans": write_spans(self.url, seen)}
        saved = files.join(self.out, "filter.bloom")
        entered.save(saved)
        return {
            "files": [self.url, saved],
            "entered": entered.n_keys,
            **found,
            "capacity": self.size.capacity,
            "filter_bytes": self.size.n_bytes,
            "error_rate": self.size.error_rate,
            "measured_rate": entered.measured_rate(),
            "expected_errors": round(self.size.expected_errors(entered.n_keys), 1),
        }

    def _seen(self, entered: BloomFilter) -> Iterator[npt.NDArray[Any]]:
        """Yield the ids or SPANs of every segment that were seen before."""
        for number in range(self.n_parts):
            for found in segments(self.out, number):
                yield look_up(entered, found, self.unit, self.threshold)


def look_up(entered: BloomFilter, found: dict[str, Any], unit: str, threshold: float) -> npt.NDArray[Any]:
    """Enter the keys of a segment; return what was seen before: ids of documents, or SPANs."""
    if unit == "document":
        return np.asarray(found["ids"][entered.enter(found["keys"]) == 1])
    if unit == "paragraph":
        seen = found["sizes"].astype(np.uint8)
        seen[seen == 1] = entered.enter(found["keys"])
        return _spans(found, seen)
    return _spans(found, entered.judge(found["keys"], found["units"], found["sizes"], threshold))


def _spans(found: dict[str, Any], seen: npt.NDArray[np.uint8]) -> npt.NDArray[Any]:
    """Return the SPANs of the paragraphs to cut: one for those in a row, with the shorter of the gaps around them.

    So no blank line appears and no paragraph break is lost. At a text's start or end the gaps on both sides are cut.
    """
    start, end, of = found["start"], found["end"], np.repeat(np.arange(len(found["units"])), found["units"])
    begins = np.diff(of, prepend=-1) != 0
    ends = np.diff(of, append=len(found["units"])) != 0
    cut = seen != 0
    first = np.flatnonzero(cut & (begins | ~np.append(False, cut)[:-1]))
    last = np.flatnonzero(cut & (ends | ~np.append(cut, False)[1:]))
    at_start, at_end = begins[first], ends[last]
    before, after = end[first - 1], start[np.minimum(last + 1, len(start) - 1)] if len(start) else start
    keep_after = ~at_start & (at_end | (after - end[last] >= start[first] - before))
    spans = np.empty(len(first), SPAN)
    spans["id"], spans["kept"], spans["kept_start"] = found["ids"][of[first]], NOBODY, 0
    spans["start"] = np.where(at_start, 0, np.where(keep_after, before, start[first]))
    spans["end"] = np.where(at_end, found["lengths"][of[first]], np.where(keep_after, end[last], after))
    return spans


def _verdicts(ids: npt.NDArray[np.uint64]) -> pa.Table:
    """Return the verdicts on documents that were seen before; a Bloom filter does not identify the first one."""
    n = len(ids)
    columns = [pa.array(ids), pa.repeat("seen_before", n), *(pa.nulls(n, f.type) for f in list(VERDICTS)[2:])]
    return pa.Table.from_arrays(columns, schema=VERDICTS)


def _regrouped(arrays: Iterable[npt.NDArray[Any]], n: int) -> Iterator[npt.NDArray[Any]]:
    """Yield the same rows, `n` at a time, so that the table does not depend on the sizes of batches."""
    held: list[npt.NDArray[Any]] = []
    rows = 0
    for array in arrays:
        held.append(array)
        rows += len(array)
        while rows >= n:
            together = np.concatenate(held)
            yield together[:n]
            held, rows = [together[n:]], rows - n
    if rows:
        yield np.concatenate(held)
