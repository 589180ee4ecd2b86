"""GatherCandidates: write the contents of the candidates (possible duplicates) to temporary files, by partition.

This is the second read of the text; of JSON Lines, only the lines of candidates are parsed. The partition of a
candidate is chosen by the first document of its connected component (documents joined by shared keys), so a component
is in one partition. The number of partitions depends on the size of the candidates, never on workers or memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dataprep.core.model import batch as B
from dataprep.core.model.batch import Batch
from dataprep.core.model.part import Part
from dataprep.core.run.passes import Pass
from dataprep.dedup.keep import Keep
from dataprep.store.ranks import mix
from dataprep.store.spill import Spill, spill_to
from dataprep.unicode.text import U64

from .components import CANDIDATE, FindComponents
from .keys import SEGMENT_BYTES, HashDocuments, without_drops
from .sketch import Sketch

HEADER = np.dtype([("id", "<u8"), ("rank", "<u8"), ("words", "<i8")])  # words of payload: keys, then contents
PARTITION_BYTES = 32 << 20
MAX_PARTITIONS = 4096


def n_partitions(cost: int) -> int:
    """Return how many partitions (groups of candidates) to make, if all candidates take `cost` bytes."""
    return min(MAX_PARTITIONS, max(1, -(-cost // PARTITION_BYTES)))


@dataclass(frozen=True)
class GatherCandidates(Pass[Part]):
    """Read an input part; write the id, rank, keys and contents of each candidate to a temporary file, by partition.

    A candidate is a document that shares a key with another; a partition is a group of candidates that are compared
    with each other.

    Attributes:
        sketch: computes the keys, and the contents, which are the hashes that are compared.
        keep: computes the rank, which decides which copy is kept.
        partitions: their number.
        n_old: the first `n_old` parts belong to older Datasets, whose documents are all kept. The receipt (the task's
            record) states how many values `keep` could not read ("unreadable"), and the first of them ("such_as").
    """

    folder = "gather"

    sketch: Sketch
    keep: Keep
    partitions: int
    n_old: int  # parts of older Datasets: all of their documents are kept

    def item_key(self, item: Part) -> str:  # noqa: ARG002 - `key` covers all parts
        """Return the hash of the whole deduplication, since a part's candidates depend on all other parts."""
        return self.key

    def write(self, url: str, item: Part) -> dict[str, Any]:
        """Write the candidates of the input part `item` to the file `url`; return {"unreadable": n, "such_as": text}.

        For each partition, the file has HEADERs (id, rank, and number of 64-bit words) and these words: the keys and
        contents of the candidates. The result is that of the class.
        """
        with Spill(FindComponents.url(self.out)) as found:
            candidates = found.read(item.number, 0, dtype=CANDIDATE)
        keep = Keep.parse("first") if item.number < self.n_old else self.keep
        unreadable: list[str] = []
        chosen = self._candidates(item, keep, candidates)
        rows = (self._rows(batch, keep.rank(batch, unreadable), roots) for batch, roots in chosen)
        with spill_to(url, 2 * self.partitions) as spill:
            spill.write_together(rows, lambda row: row[2].nbytes, SEGMENT_BYTES, self._sections)
        return {"unreadable": len(unreadable), "such_as": next(iter(unreadable), "")}

    def _candidates(
        self, part: Part, keep: Keep, candidates: npt.NDArray[Any]
    ) -> Iterator[tuple[Batch, npt.NDArray[Any]]]:
        """Yield the candidates of a part, and the roots of their components."""
        if not len(candidates):
            return
        with Spill(HashDocuments.url(self.out, part.number)) as rows:
            ids = rows.read(0, 0, dtype=np.uint64)[candidates["doc"]]
        done = 0
        columns = list(dict.fromkeys((*keep.columns, *self.sketch.columns)))
        for batch in without_drops(part)[0].pick(ids, columns):  # dropped documents are not candidates
            yield batch, candidates["root"][done : done + batch.num_rows]
            done += batch.num_rows

    def _rows(self, batch: Batch, ranks: U64, roots: npt.NDArray[Any]) -> tuple[Any, Any, Any]:
        """Return the partition, header and payload (words: keys, then contents) of every document."""
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
        headers["id"], headers["rank"] = B.ids(batch), ranks
        headers["words"] = np.diff(offsets)
        partition = mix(roots.astype(np.uint64), 0) % np.uint64(self.partitions)
        return (partition.astype(np.uint16), headers, words)

    def _sections(self, held: list[tuple[Any, ...]]) -> list[npt.NDArray[Any]]:
        """Return the headers and payloads of every partition in turn."""
        partition, headers, words = (np.concatenate(column) for column in zip(*held, strict=True))
        starts = np.concatenate([[0], np.cumsum(headers["words"])])
        order = np.argsort(partition, kind="stable")
        sections: list[npt.NDArray[Any]] = []
        for rows in np.split(order, np.searchsorted(partition[order], np.arange(1, self.partitions))):
            payloads = [words[starts[r] : starts[r + 1]] for r in rows.tolist()]
            sections += [headers[rows], np.concatenate(payloads) if payloads else words[:0]]
        return sections
