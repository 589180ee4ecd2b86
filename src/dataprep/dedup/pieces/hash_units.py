"""HashUnits: split the texts of a part into units, and spill a record of each by its hash."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dataprep.core import batch as B
from dataprep.core.batch import Batch, show_id
from dataprep.core.part import Part
from dataprep.core.passes import Pass
from dataprep.errors import DataprepError
from dataprep.store.spill import spill_to
from dataprep.unicode.text import I64

from .units import blocks

Records = npt.NDArray[Any]
RECORD = np.dtype(
    [("a", "<u8"), ("b", "<u8"), ("id", "<u8"), ("start", "<u4"), ("size", "<u4"), ("chars", "<u4")]
)  # the 128-bit hash, the document, the byte range in it, characters of the normal form
MAX_DOC_BYTES = 2**32 - 1
SEGMENT_RECORDS = 1 << 19  # 19 MB


@dataclass(frozen=True)
class HashUnits(Pass[Part]):
    """Read a part, and spill a record of every unit whose normal form is not empty, by partition of hashes.

    Receipt: how many documents and units there are, and the id of the first document of every segment.
    """

    folder = "hash"

    unit: str
    normalize: str | None
    partitions: int

    def write(self, url: str, item: Part) -> dict[str, Any]:
        """Write one section of RECORDs per partition."""
        counts = {"docs": 0, "units": 0}
        firsts: list[int] = []
        with spill_to(url, self.partitions) as spill:
            for records in _segments(self._records(item, counts)):
                firsts.append(int(records["id"][0]))
                spill.write(self._sections(records))
        return {"firsts": firsts, **counts}

    def _records(self, part: Part, counts: dict[str, int]) -> Iterator[Records]:
        """Yield the records of a part in order, and count documents and units in `counts`."""
        for batch in part.batches(["id", "text"]):
            offsets, data = _checked(batch)
            ids = B.ids(batch)
            counts["docs"] += batch.num_rows
            for block in blocks(offsets, data, self.unit, self.normalize):
                has = np.flatnonzero(block.chars)
                records = np.empty(len(has), RECORD)
                records["a"], records["b"] = block.hashes[has, 0], block.hashes[has, 1]
                text, start = block.text[has], block.start[has]
                records["id"], records["start"] = ids[text], start - offsets[text]
                records["size"] = block.end[has] - start
                records["chars"] = np.minimum(block.chars[has], 2**32 - 1)
                counts["units"] += len(has)
                yield records

    def _sections(self, records: Records) -> list[Records]:
        """Return the records of every partition."""
        partition = ((records["a"] >> np.uint64(32)) % np.uint64(self.partitions)).astype(np.uint16)
        order = np.argsort(partition, kind="stable")  # a radix sort, for two bytes
        return np.split(records[order], np.cumsum(np.bincount(partition, minlength=self.partitions))[:-1])


def _checked(batch: Batch) -> tuple[I64, Any]:
    """Return offsets and bytes of a batch's texts. Raises DataprepError if one has more than MAX_DOC_BYTES."""
    offsets, data = B.buffers(batch)
    longest = int(np.argmax(np.diff(offsets))) if batch.num_rows else 0
    if batch.num_rows and offsets[longest + 1] - offsets[longest] > MAX_DOC_BYTES:
        found = f"document {show_id(int(B.ids(batch)[longest]))} has {offsets[longest + 1] - offsets[longest]:,} bytes"
        msg = f"{found}; it must have at most {MAX_DOC_BYTES:,}: split it, or read with a smaller max_doc_bytes"
        raise DataprepError(msg)
    return offsets, data


def _segments(flow: Iterator[Records]) -> Iterator[Records]:
    """Yield the same records in arrays of about SEGMENT_RECORDS; none is empty."""
    held: list[Records] = []
    for records in flow:
        held.append(records)
        if sum(map(len, held)) >= SEGMENT_RECORDS:
            yield np.concatenate(held)
            held = []
    if sum(map(len, held)):
        yield np.concatenate(held)
