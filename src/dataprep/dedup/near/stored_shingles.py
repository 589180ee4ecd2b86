"""Stored shingles: hashes of shingles from the first read, so that candidates' texts are not read and split again.

HashDocuments stores the distinct hashes of the shingles of each document, with its keys. GatherCandidates reads the
hashes of the candidates, and the files are then deleted. All parts together store at most STORED_BYTES; the documents
after the last batch that fits into a part's share are read a second time. The result does not depend on this limit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from dataprep.core.model.batch import Batch
from dataprep.store import files, receipts
from dataprep.store.spill import Spill, SpillWriter
from dataprep.unicode.text import I64, U64

from .sketch import Shingles, Sketch

SHINGLES = "shingle-sets"  # the folder of the files
# Of all parts together. On 1.2 to 2.5 GB of text, 0.25, 1 and 4 GiB took the same CPU time (within 8 %, the noise: what
# is not split twice is written), but 4 GiB took 1.1 to 3.2 GB more disk. All shingles of 322 MB of text fit in.
STORED_BYTES = 512 << 20


@dataclass
class ShingleWriter:
    """Hashes the documents of a part, and stores the hashes of their shingles until `left` bytes are used up.

    Attributes:
        spill: the file of hashes; a segment per batch of n documents has three sections: the number of distinct
            shingles of each document, int64[n], the keys, uint64[bands, n], and the hashes of the shingles, uint64.
    """

    sketch: Shingles
    spill: SpillWriter
    left: int

    def keys(self, batch: Batch) -> tuple[I64, U64]:
        """Return the sizes and keys of a batch's documents, as `Shingles.keys` does."""
        starts, hashes, keys = self.sketch.contents(batch)
        sizes = np.diff(starts)
        self.left -= sizes.nbytes + keys.nbytes + hashes.nbytes
        if self.left >= 0:
            self.spill.write([sizes, keys, hashes])
        return sizes, keys


@dataclass(frozen=True)
class StoredShingles:
    """The stored shingles of a part; the shingles of its first `n_docs` documents are in the file `url`."""

    url: str
    n_docs: int

    @classmethod
    def found(cls, url: str) -> StoredShingles:
        """Return the shingles stored in the file `url`; none if the file is missing or damaged."""
        if receipts.valid(url + ".json", files.name_of(url)) is None:
            return cls(url, 0)
        with Spill(url) as spill:
            return cls(url, sum(len(spill.read(n, 0, dtype=np.int64)) for n in range(spill.segments)))

    def of(self, rows: npt.NDArray[Any], sketch: Sketch) -> Iterator[tuple[I64, tuple[I64, U64, U64]]]:
        """Yield, for each batch with documents in `rows`, their rows in it, and its `Sketch.contents`.

        - rows: numbers of documents, ascending, all below `n_docs`.

        One segment of the file is in memory at a time.
        """
        if not len(rows) or not isinstance(sketch, Shingles):
            return
        first = 0
        with Spill(self.url) as spill:
            for segment in range(spill.segments):
                sizes = spill.read(segment, 0, dtype=np.int64)
                own = rows[slice(*np.searchsorted(rows, [first, first + len(sizes)]))] - first
                first += len(sizes)
                if len(own):
                    keys = spill.read(segment, 1, dtype=np.uint64).reshape(sketch.bands, len(sizes))
                    hashes, starts = spill.read(segment, 2, dtype=np.uint64), np.append(0, np.cumsum(sizes))
                    yield own, (starts, hashes, keys)


def with_shares(items: Sequence[Any], n_old: int, sketch: Sketch, share: float = 1.0) -> list[Any]:
    """Return the parts to hash, each with the number of bytes of shingles that it may store, according to its size.

    Nothing is stored for the `n_old` parts of older Datasets, since few of their documents are candidates. Nothing is
    stored either for methods that compare texts instead of shingles.

    - share: in a trial, the fraction of the input that is read; the parts then store this fraction of STORED_BYTES.
    """
    if not isinstance(sketch, Shingles):
        return list(items)
    new = items[n_old:]
    total = max(1, sum(item.n_bytes for item in new))
    return [*items[:n_old], *(replace(item, stored=int(share * STORED_BYTES) * item.n_bytes // total) for item in new)]
