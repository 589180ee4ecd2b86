"""GatherCandidates: write the contents of the candidates (possible duplicates) to temporary files, by partition.

Shingles that were stored when the text was hashed are reused (`stored_shingles.py`). The text of other candidates is
read a second time; in JSON Lines files, only the lines of candidates are parsed. The partition of a candidate is chosen
by the first document of its connected component (documents joined by shared keys), so a component is in one partition.
The number of partitions depends on the size of the candidates, never on workers or memory.

Slow reference for the tests: tests/twins/minhash.py
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dataprep.core.model.part import Part
from dataprep.core.run.merge import MergeSections, SplitSections, in_sections, payloads_of
from dataprep.core.run.passes import Pass
from dataprep.dedup.keep import Keep
from dataprep.store import files, receipts
from dataprep.store.ranks import mix
from dataprep.store.spill import Spill, spill_to
from dataprep.unicode.kernel import kernel, read_only
from dataprep.unicode.text import I64, U32, U64

from .components import CANDIDATE, FindComponents
from .keys import SEGMENT_BYTES, HashDocuments, without_drops
from .sketch import Sketch
from .stored_shingles import SHINGLES, StoredShingles

HEADER = np.dtype(  # words of payload: keys, then contents
    [("id", "<u8"), ("rank", "<u8"), ("words", "<i8"), ("part", "<u4"), ("section", "<u4")]
)
PARTITION_BYTES = 32 << 20


def n_partitions(cost: int) -> int:
    """Return how many partitions (groups of candidates) to make if all candidates together take `cost` bytes."""
    return max(1, -(-cost // PARTITION_BYTES))


@dataclass(frozen=True)
class GatherCandidates(Pass[Part]):
    """Write the id, rank, keys and contents of each candidate in an input part to a temporary file, by partition.

    A candidate is a document that shares a key with another; a partition is a group of candidates that are compared
    with each other.

    Attributes:
        sketch: the rule that computes the keys, and the contents, which are the hashes that are compared.
        keep: the rule that computes the rank, which decides which copy is kept.
        partitions: the number of partitions.
        sections: the number of sections of the file; each has one partition, or several adjacent ones.
        n_old: the first `n_old` parts belong to older Datasets, whose documents are all kept. The receipt (the task's
            record) states how many values `keep` could not read ("unreadable"), and the first of them ("such_as").
    """

    folder = "gather"

    sketch: Sketch
    keep: Keep
    partitions: int
    sections: int
    n_old: int  # parts of older Datasets: all of their documents are kept

    @property
    def thread_safe(self) -> bool:  # type: ignore[override]
        """True, unless the sketch calls a tokenizer or other code that threads cannot share."""
        return self.sketch.thread_safe

    def item_key(self, item: Part) -> str:  # noqa: ARG002 - `key` covers all parts
        """Return the hash of the whole deduplication, since a part's candidates depend on all other parts."""
        return self.key

    def write(self, url: str, item: Part) -> dict[str, Any]:
        """Write the candidates of the input part `item` to the file `url`; return {"unreadable": n, "such_as": text}.

        For each section, the file has HEADERs (id, rank, number of 64-bit words, and number of the partition), followed
        by these words: the keys and contents of the candidates. The result is described in the class.
        """
        with Spill(FindComponents.url(self.out)) as found:
            candidates = found.read(item.number, 0, dtype=CANDIDATE)
        keep = Keep.parse("first") if item.number < self.n_old else self.keep
        unreadable: list[str] = []
        rows = self._rows(item, keep, candidates, unreadable)
        with spill_to(url, 2 * self.sections) as spill:
            spill.write_together(_cut(rows), lambda row: row[1].nbytes, SEGMENT_BYTES, self._sections)
        return {"unreadable": len(unreadable), "such_as": next(iter(unreadable), "")}

    def _rows(
        self, part: Part, keep: Keep, candidates: npt.NDArray[Any], unreadable: list[str]
    ) -> Iterator[tuple[Any, Any]]:
        """Yield the headers and payloads (words: keys, then contents) of a part's candidates, in order.

        - unreadable: as in `Keep.rank`.
        """
        if not len(candidates):
            return
        with Spill(HashDocuments.url(self.out, part.number)) as rows:
            ids = rows.read(0, 0, dtype=np.uint64)[candidates["doc"]]
        partition = (mix(candidates["root"].astype(np.uint64), 0) % np.uint64(self.partitions)).astype(np.uint32)
        base = without_drops(part)[0]  # dropped documents are not candidates
        stored = self._stored(part.number)
        n = int(np.searchsorted(candidates["doc"], stored.n_docs))
        ranks, done = _ranks(base, keep, ids[:n], unreadable), 0
        for own, found in stored.of(candidates["doc"][:n].astype(np.int64), self.sketch):
            one = slice(done, done + len(own))
            yield _rows(part.number, partition[one], ids[one], ranks[one], own, found)
            done = one.stop
        columns = list(dict.fromkeys((*keep.columns, *self.sketch.columns)))
        for batch in base.pick(ids[n:], columns) if n < len(ids) else ():
            one = slice(done, done + batch.num_rows)
            own, found = np.arange(batch.num_rows), self.sketch.contents(batch)
            yield _rows(part.number, partition[one], ids[one], keep.rank(batch, unreadable), own, found)
            done = one.stop

    def _stored(self, number: int) -> StoredShingles:
        """Return the shingles that were stored when the part with this number was hashed; none if it was not hashed."""
        receipt = receipts.found(HashDocuments.url(self.out, number) + ".json") or {"keys": []}
        step, name = receipt["keys"][0] if len(receipt["keys"]) == 1 else ("/", "")
        return StoredShingles.found(files.join(self.out, SHINGLES, name)) if not step else StoredShingles("", 0)

    def _sections(self, held: list[tuple[Any, Any]]) -> list[npt.NDArray[Any]]:
        """Return the headers and payloads of every section in turn."""
        headers = np.concatenate([headers for headers, _ in held])
        section = ((headers["section"].astype(np.int64) + 1) * self.sections - 1) // self.partitions
        every = [payload for headers, words in held for payload in payloads_of(words, headers["words"])]
        return in_sections(section, headers, every, self.sections)


class MergeGathered(MergeSections):
    """Merge the candidates of many parts into a few files, from which the partitions are read."""

    folder = "gather-merged"


class SplitGathered(SplitSections):
    """Divide the sections of all candidates into partitions, if there are very many."""

    folder = MergeGathered.folder


def _cut(rows: Iterator[tuple[Any, Any]]) -> Iterator[tuple[Any, Any]]:
    """Yield the same rows, divided where a segment of the file is full, regardless of the payloads' origin."""
    held = 0
    for headers, words in rows:
        ends = np.append(0, np.cumsum(headers["words"]))
        first = 0
        while first < len(headers):
            last = 1 + int(np.searchsorted(8 * (ends[1:] - ends[first]), SEGMENT_BYTES - held))
            last = min(last, len(headers))
            yield headers[first:last], words[ends[first] : ends[last]]
            held += 8 * int(ends[last] - ends[first])
            held, first = (0 if held >= SEGMENT_BYTES else held), last


def _ranks(part: Part, keep: Keep, ids: U64, unreadable: list[str]) -> U64:
    """Return the rank of each document of a part, uint64; nothing is read if the rule reads only ids."""
    if keep.columns == ("id",):
        return np.zeros(len(ids), np.uint64)
    found = [keep.rank(batch, unreadable) for batch in part.pick(ids, list(keep.columns))] if len(ids) else []
    return np.concatenate([np.zeros(0, np.uint64), *found])


def _rows(
    part: int, partition: U32, ids: U64, ranks: U64, own: I64, found: tuple[I64, U64, U64]
) -> tuple[npt.NDArray[Any], U64]:
    """Return the headers and payloads (words: keys, then contents) of documents of part number `part`.

    - partition: the number of each document's partition.
    - own: their rows in the batch.
    - found: offsets, contents and keys of the batch, as `Sketch.contents` returns them.
    """
    starts, contents, keys = found
    offsets, words = payloads(own, starts, *read_only(contents, keys))
    headers = np.empty(len(ids), HEADER)
    headers["id"], headers["rank"], headers["words"] = ids, ranks, np.diff(offsets)
    headers["part"], headers["section"] = part, partition
    return headers, words


@kernel
def payloads(own: I64, starts: I64, contents: U64, keys: U64) -> tuple[I64, U64]:
    """Return the payloads (keys, then contents) of documents: offsets int64[m + 1] into words, uint64.

    - own: int64[m], the rows of the documents in what follows.
    - starts, contents, keys: the result of `Sketch.contents`.
    """
    bands, m = len(keys), len(own)
    offsets = np.zeros(m + 1, np.int64)
    for i in range(m):
        offsets[i + 1] = offsets[i] + bands + starts[own[i] + 1] - starts[own[i]]
    out = np.empty(offsets[m], np.uint64)
    for i in range(m):
        at, first = offsets[i], starts[own[i]]
        for band in range(bands):
            out[at + band] = keys[band, own[i]]
        for j in range(starts[own[i] + 1] - first):
            out[at + bands + j] = contents[first + j]
    return offsets, out
