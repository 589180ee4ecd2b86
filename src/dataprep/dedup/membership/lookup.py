"""Look saved keys up in a Bloom filter, in the order of ids, and write what was seen before."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dataprep.core.tables import NOBODY, SPAN, VERDICT_ROWS, VERDICTS, write_spans, write_verdicts
from dataprep.store import files, receipts

from .bloom_filter import Filter, Size
from .keys import segments


@dataclass(frozen=True)
class LookUp:
    """Enter the saved keys in the order of ids, by one process, and write what was seen, and the filter.

    A run that is killed starts over from the saved keys, so nothing is forgotten and nothing entered twice.
    """

    out: str
    url: str
    receipt: str
    key: str
    unit: str
    threshold: float
    size: Size
    counted: dict[str, int]
    n_parts: int

    def __call__(self, _: int) -> dict[str, Any]:
        """The receipt: the verdicts, the filter, and what was counted."""
        return receipts.once(self.receipt, self.key, self._write)

    def _write(self) -> dict[str, Any]:
        entered = Filter(self.size)
        seen = _regrouped(self._seen(entered), VERDICT_ROWS)
        if self.unit == "document":
            told = {"dropped": write_verdicts(self.url, map(_verdicts, seen))}
        else:
            told = {"spans": write_spans(self.url, seen)}
        saved = files.join(self.out, "filter.bloom")
        entered.save(saved)
        return {
            "files": [self.url, saved],
            **self.counted,
            "entered": entered.n_keys,
            **told,
            "capacity": self.size.capacity,
            "filter_bytes": self.size.n_bytes,
            "error_rate": self.size.error_rate,
            "measured_rate": entered.measured_rate(),
            "expected_errors": round(self.size.expected_errors(entered.n_keys), 1),
        }

    def _seen(self, entered: Filter) -> Iterator[npt.NDArray[Any]]:
        for number in range(self.n_parts):
            for found in segments(self.out, number):
                yield look_up(entered, found, self.unit, self.threshold)


def look_up(entered: Filter, found: dict[str, Any], unit: str, threshold: float) -> npt.NDArray[Any]:
    """What of a segment was seen before: ids of documents, or SPANs."""
    if unit == "document":
        return np.asarray(found["ids"][entered.enter(found["keys"]) == 1])
    if unit == "paragraph":
        gone = found["sizes"].astype(np.uint8)
        gone[gone == 1] = entered.enter(found["keys"])
        return _spans(found, gone)
    return _spans(found, entered.judge(found["keys"], found["units"], found["sizes"], threshold))


def _spans(found: dict[str, Any], gone: npt.NDArray[np.uint8]) -> npt.NDArray[Any]:
    """The SPANs of the paragraphs that go: one for those in a row, and with it the shorter of the gaps beside it.

    So no blank line appears and no paragraph break is lost. At a text's start or end the gaps on both sides go.
    """
    start, end, of = found["start"], found["end"], np.repeat(np.arange(len(found["units"])), found["units"])
    begins = np.diff(of, prepend=-1) != 0
    ends = np.diff(of, append=len(found["units"])) != 0
    go = gone != 0
    first = np.flatnonzero(go & (begins | ~np.append(False, go)[:-1]))
    last = np.flatnonzero(go & (ends | ~np.append(go, False)[1:]))
    at_start, at_end = begins[first], ends[last]
    before, behind = end[first - 1], start[np.minimum(last + 1, len(start) - 1)] if len(start) else start
    keep_behind = ~at_start & (at_end | (behind - end[last] >= start[first] - before))
    spans = np.empty(len(first), SPAN)
    spans["id"], spans["kept"], spans["kept_start"] = found["ids"][of[first]], NOBODY, 0
    spans["start"] = np.where(at_start, 0, np.where(keep_behind, before, start[first]))
    spans["end"] = np.where(at_end, found["lengths"][of[first]], np.where(keep_behind, end[last], behind))
    return spans


def _verdicts(ids: npt.NDArray[np.uint64]) -> pa.Table:
    """Documents that were seen before; which one was first, a Bloom filter does not know."""
    n = len(ids)
    columns = [pa.array(ids), pa.repeat("seen_before", n), *(pa.nulls(n, f.type) for f in list(VERDICTS)[2:])]
    return pa.Table.from_arrays(columns, schema=VERDICTS)


def _regrouped(arrays: Iterable[npt.NDArray[Any]], n: int) -> Iterator[npt.NDArray[Any]]:
    """The same rows, `n` at a time, so that what is written does not depend on where batches were cut."""
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
