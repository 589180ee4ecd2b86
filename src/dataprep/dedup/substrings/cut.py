"""Cut: the marks of an engine become one table of spans, a stretch of text or a part at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dataprep.core import batch as B
from dataprep.core.part import Part
from dataprep.core.runner import Runner
from dataprep.core.tables import SPAN, write_spans
from dataprep.store import files, receipts
from dataprep.store.spill import Spill
from dataprep.unicode.text import U64, classes

from .repeats import CHAR, COLUMNS, CUTS, SPAN_COLUMNS, in_order, spans_of

MAX_GROUPS = 1024  # every file of marks is opened once a group


def group_firsts(firsts: Sequence[int]) -> tuple[int, ...]:
    """The first id of every group of stretches, of which there are at most MAX_GROUPS."""
    step = -(-max(1, len(firsts)) // MAX_GROUPS)
    return tuple(sorted(firsts)[::step]) or (0,)


def by_group(marks: U64, firsts: Sequence[int]) -> list[U64]:
    """Marks cut where groups begin, each in order."""
    rows = in_order(marks)
    return np.split(rows, np.searchsorted(rows[:, 0], np.array(firsts[1:], np.uint64)))


@dataclass(frozen=True)
class Bring:
    """Bring the marks of a group together, in order; for cuts at code points, as spans."""

    out: str
    key: str
    cut: str
    sources: tuple[str, ...]  # the files of marks, one section a group

    def __call__(self, group: int) -> dict[str, Any]:
        """The receipt: how many."""
        url = files.join(self.out, "marks", f"group-{group:05d}")
        return receipts.once(url + ".json", self.key, lambda: self._write(url, group))

    def _write(self, url: str, group: int) -> dict[str, Any]:
        found = [_no_rows()]
        for source in self.sources:
            with Spill(source) as spill:
                found += [
                    spill.read(segment, group, dtype=np.uint64).reshape(-1, COLUMNS)
                    for segment in range(spill.segments)
                ]
        rows = in_order(np.concatenate(found))
        if self.cut == "char":
            nobody = np.zeros(0, np.uint64), np.zeros(1, np.int64), np.zeros(0, np.uint8)
            nobody[2].flags.writeable = False
            rows = spans_of(rows, *nobody, classes(), CHAR)
        with files.atomic(url) as f:
            f.write(rows.tobytes())
        return {"files": [url], "rows": len(rows)}


@dataclass(frozen=True)
class Shrink:
    """Read a part and shrink its marks to words or lines."""

    out: str
    key: str
    cut: str
    firsts: tuple[int, ...]

    def __call__(self, item: Part) -> dict[str, Any]:
        """The receipt: how many spans."""
        url = files.join(self.out, "spans", f"part-{item.number:05d}")
        return receipts.once(url + ".json", self.key, lambda: self._write(url, item))

    def _write(self, url: str, item: Part) -> dict[str, Any]:
        groups, n_rows = _Groups(self.out, self.firsts), 0
        with files.atomic(url) as f:
            for batch in B.recut(item.batches(["id", "text"])):
                ids = B.ids(batch)
                marks = groups.between(int(ids[0]), int(ids[-1]))
                offsets, data = B.buffers(batch)
                rows = spans_of(marks, ids.copy(), offsets.copy(), data, classes(), CUTS.index(self.cut))
                f.write(rows.tobytes())
                n_rows += len(rows)
        return {"files": [url], "rows": n_rows}


class _Groups:
    """The marks of an id range; holds one group at a time."""

    def __init__(self, out: str, firsts: tuple[int, ...]) -> None:
        self.out, self.firsts = out, np.array(firsts, np.uint64)
        self.number, self.rows = -1, _no_rows()

    def between(self, low: int, high: int) -> U64:
        """The marks of the ids low..high, in order."""
        first, last = (max(0, int(np.searchsorted(self.firsts, np.uint64(x), "right")) - 1) for x in (low, high))
        found = [_no_rows()]
        for number in range(first, last + 1):
            if number != self.number:
                self.number, self.rows = number, read_rows(files.join(self.out, "marks", f"group-{number:05d}"))
            start = np.searchsorted(self.rows[:, 0], np.uint64(low))
            found.append(self.rows[start : np.searchsorted(self.rows[:, 0], np.uint64(high), "right")])
        return np.concatenate(found)


def _no_rows() -> U64:
    return np.zeros((0, COLUMNS), np.uint64)


def read_rows(url: str, columns: int = COLUMNS) -> U64:
    """All rows of a file of marks, or of spans, uint64[m, columns]."""
    with files.open_raw(url) as f:
        return np.frombuffer(f.read(), np.uint64).reshape(-1, columns)


def write_cuts(
    items: Sequence[Part], run: Runner, out: str, *, url: str, name: str, key: str, cut: str,
    sources: Sequence[str], firsts: tuple[int, ...],
) -> dict[str, int]:  # fmt: skip
    """From files of marks to the table of spans under `url`: how many spans, documents and bytes are cut."""
    list(run.map(Bring(out, key, cut, tuple(sources)), range(len(firsts)), f"{name}: bring"))
    places = [files.join(out, "marks", f"group-{group:05d}") for group in range(len(firsts))]
    if cut != "char":
        list(run.map(Shrink(out, key, cut, firsts), items, f"{name}: shrink"))
        places = [files.join(out, "spans", f"part-{item.number:05d}") for item in items]
    counted = {"spans": 0, "documents_cut": 0, "bytes_cut": 0}

    def spans() -> Iterator[npt.NDArray[Any]]:
        for place in places:
            rows = read_rows(place, SPAN_COLUMNS).view(SPAN).reshape(-1)
            counted["spans"] += len(rows)
            counted["documents_cut"] += len(np.unique(rows["id"]))
            counted["bytes_cut"] += int((rows["end"] - rows["start"]).sum())
            yield rows

    write_spans(url, spans())
    return counted
