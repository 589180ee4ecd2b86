"""Gather: the contents of the candidates of one component travel to one partition.

The second read of the text. A partition is chosen by the component's root; how many there are depends on what the
candidates weigh, never on workers or memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dataprep.core import batch as B
from dataprep.core.batch import Batch
from dataprep.core.ledger import mix
from dataprep.core.part import Part
from dataprep.dedup.keep import Keep
from dataprep.store import files, receipts
from dataprep.store.spill import Spill, spill_to

from .cluster import CANDIDATE
from .sign import SEGMENT_BYTES, beneath
from .sketch import Sketch

HEADER = np.dtype([("id", "<u8"), ("rank", "<u8"), ("words", "<i8")])  # words of payload: keys, then contents
PARTITION_BYTES = 32 << 20
MAX_PARTITIONS = 4096


def n_partitions(cost: int) -> int:
    """How many partitions candidates of this cost in bytes take."""
    return min(MAX_PARTITIONS, max(1, -(-cost // PARTITION_BYTES)))


@dataclass(frozen=True)
class Gather:
    """Read a part and spill the headers and payloads of its candidates by partition."""

    out: str
    key: str
    sketch: Sketch
    keep: Keep
    partitions: int
    n_old: int  # parts of older Datasets: nobody chooses between their documents

    def __call__(self, item: Part) -> dict[str, Any]:
        """The receipt."""
        url = files.join(self.out, "gather", f"part-{item.number:05d}")
        return receipts.once(url + ".json", self.key, lambda: self._write(url, item))

    def _write(self, url: str, item: Part) -> dict[str, Any]:
        with Spill(files.join(self.out, "cluster")) as spill:
            candidates = spill.read(item.number, 0, dtype=CANDIDATE)
        with spill_to(url, 2 * self.partitions) as spill:
            held: list[tuple[Any, ...]] = []
            size = 0
            keep = Keep.parse("first") if item.number < self.n_old else self.keep
            for batch, roots in self._candidates(item, keep, candidates):
                held.append(self._rows(batch, keep, roots))
                size += held[-1][2].nbytes
                if size >= SEGMENT_BYTES:
                    spill.write(self._sections(held))
                    held, size = [], 0
            if held:
                spill.write(self._sections(held))
        return {"files": [url]}

    def _candidates(
        self, part: Part, keep: Keep, candidates: npt.NDArray[Any]
    ) -> Iterator[tuple[Batch, npt.NDArray[Any]]]:
        """The rows of a part that are candidates, and their components."""
        if not len(candidates):
            return
        first = 0
        columns = list(dict.fromkeys((*keep.columns, *self.sketch.columns)))
        for batch in beneath(part)[0].batches(columns):  # who was dropped before is no candidate
            low, high = np.searchsorted(candidates["doc"], [first, first + batch.num_rows])
            if low < high:
                own = candidates[low:high]
                yield batch.take(pa.array(own["doc"] - first)), own["root"]
            first += batch.num_rows

    def _rows(self, batch: Batch, keep: Keep, roots: npt.NDArray[Any]) -> tuple[Any, Any, Any]:
        """Partitions, headers, and payloads (offsets and words: keys then contents)."""
        starts, contents, keys = self.sketch.contents(batch)
        bands = len(keys)
        offsets = starts + bands * np.arange(len(starts))
        words = np.empty(offsets[-1], np.uint64)
        at_keys = offsets[:-1, None] + np.arange(bands)
        words[at_keys] = keys.T
        is_contents = np.ones(len(words), bool)
        is_contents[at_keys] = False
        words[is_contents] = contents
        headers = np.empty(batch.num_rows, HEADER)
        headers["id"], headers["rank"] = B.ids(batch), keep.rank(batch)
        headers["words"] = np.diff(offsets)
        partition = mix(roots.astype(np.uint64), 0) % np.uint64(self.partitions)
        return (partition.astype(np.uint16), headers, words)

    def _sections(self, held: list[tuple[Any, ...]]) -> list[npt.NDArray[Any]]:
        """Headers and payloads of every partition in turn."""
        partition, headers, words = (np.concatenate(column) for column in zip(*held, strict=True))
        starts = np.concatenate([[0], np.cumsum(headers["words"])])
        order = np.argsort(partition, kind="stable")
        cuts = np.searchsorted(partition[order], np.arange(self.partitions + 1))
        sections: list[npt.NDArray[Any]] = []
        for low, high in zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True):
            rows = order[low:high]
            pieces = [words[starts[r] : starts[r + 1]] for r in rows.tolist()]
            sections += [headers[rows], np.concatenate(pieces) if pieces else words[:0]]
        return sections
