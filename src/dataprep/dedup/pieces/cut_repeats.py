"""CutRepeats: turn the repeats of a part into spans, joined and with the gaps around them closed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from dataprep.core import batch as B
from dataprep.core.batch import Batch
from dataprep.core.part import Part
from dataprep.core.passes import Pass
from dataprep.core.tables import SPAN
from dataprep.store.spill import Spill, spill_to

from .gaps import close_up
from .hash_units import Records
from .match_units import MatchUnits

TOP_CHARS = 200


@dataclass(frozen=True)
class CutRepeats(Pass[Part]):
    """Collect the repeats of a part, read its texts, and write its spans in order.

    Receipt: how many spans and bytes are cut, and those of the most frequent units that first occur in this part, as
    [id, start, text].
    """

    folder = "cut"

    partitions: int
    firsts: tuple[tuple[int, ...], ...]  # per part, the id of the first document of every segment
    top: tuple[tuple[int, ...], ...]  # the most frequent units: (count, id, start, size)

    def write(self, url: str, item: Part) -> dict[str, Any]:
        """Write segments of SPANs."""
        n_spans, n_bytes, texts = 0, 0, list[list[Any]]()
        with spill_to(url, 1) as spill:
            for spans in self._spans(item, texts):
                if len(spans):
                    spill.write([spans])
                    n_spans, n_bytes = n_spans + len(spans), n_bytes + int((spans["end"] - spans["start"]).sum())
        return {"spans": n_spans, "bytes": n_bytes, "top": texts}

    def _spans(self, item: Part, texts: list[list[Any]]) -> Iterator[Records]:
        """Yield the spans of every batch, and extend `texts`; one segment of repeats is in memory at a time."""
        firsts, at, held = self.firsts[item.number], 0, np.empty(0, SPAN)
        before = sum(map(len, self.firsts[: item.number]))
        for batch in item.batches(["id", "text"]) if firsts else ():
            if not batch.num_rows:
                continue
            last, more = B.ids(batch)[-1], True
            texts += self._texts(batch)
            while more:
                more = at < len(firsts) and firsts[at] <= last
                n = int(np.searchsorted(held["id"], last, "right"))
                done, running = close_up(held[:n], batch, final=not more)
                held = np.concatenate([running, held[n:]])
                yield done
                if more:
                    held = np.concatenate([held, self._repeats(before + at)])
                    at += 1

    def _repeats(self, segment: int) -> Records:
        """Return the repeats of a segment, from all partitions, in order of (id, start)."""
        found = [np.empty(0, SPAN)]
        for partition in range(self.partitions):
            with Spill(MatchUnits.url(self.out, partition)) as spill:
                found += [spill.read(number, segment, dtype=SPAN) for number in range(spill.segments)]
        repeats = np.concatenate(found)
        return repeats[np.lexsort((repeats["start"], repeats["id"]))]

    def _texts(self, batch: Batch) -> Iterator[list[Any]]:
        """Yield the most frequent units that first occur in this batch: [id, start, text]."""
        (offsets, data), ids = B.buffers(batch), B.ids(batch)
        for _, id_, start, size in self.top:
            row = int(np.searchsorted(ids, np.uint64(id_)))
            if row < len(ids) and ids[row] == id_:
                first = int(offsets[row]) + start
                text = bytes(data[first : first + min(size, 4 * TOP_CHARS)]).decode(errors="ignore")
                yield [id_, start, text[:TOP_CHARS]]
