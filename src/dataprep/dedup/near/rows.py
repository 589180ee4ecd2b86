"""Candidates of a partition: headers in memory, payloads read from the spill files when needed."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dataprep.store import files
from dataprep.store.spill import Spill
from dataprep.unicode.text import I64, U64

from .gather import HEADER, GatherCandidates


@dataclass
class CandidateRows:
    """The candidates of a partition: their headers, and the offsets of their payloads."""

    urls: list[str]
    ids: npt.NDArray[np.uint64]
    rank: npt.NDArray[np.uint64]
    words: npt.NDArray[np.int64]
    file: npt.NDArray[np.int32]
    offset: npt.NDArray[np.int64]  # of the payload in the file, in bytes

    @classmethod
    def read(cls, out: str, n_parts: int, partition: int) -> CandidateRows:
        """Read all headers of a partition, in order of parts."""
        urls = [GatherCandidates.url(out, number) for number in range(n_parts)]
        headers, file, offset = [np.zeros(0, HEADER)], [np.zeros(0, np.int32)], [np.zeros(0, np.int64)]
        for number, url in enumerate(urls):
            with Spill(url) as spill:
                for segment in range(spill.segments):
                    found = spill.read(segment, 2 * partition, dtype=HEADER)
                    start, _ = spill.where(segment, 2 * partition + 1)
                    headers.append(found)
                    file.append(np.full(len(found), number, np.int32))
                    offset.append(start + 8 * (np.cumsum(found["words"]) - found["words"]))
        all_headers = np.concatenate(headers)
        ids, rank, words = (np.ascontiguousarray(all_headers[name]) for name in ("id", "rank", "words"))
        return cls(urls, ids, rank, words, np.concatenate(file), np.concatenate(offset))

    def load(self, rows: npt.NDArray[np.intp]) -> tuple[I64, U64]:
        """Read the payloads of some rows: the index of each in the words, int64[n], and the words."""
        order = np.lexsort((self.offset[rows], self.file[rows]))
        chosen = rows[order]
        size = self.words[chosen]
        starts = np.cumsum(size) - size
        out = np.empty(int(size.sum()), np.uint64)
        for number, runs in itertools.groupby(self._runs(chosen), lambda run: int(self.file[chosen[run[0]]])):
            with files.open_raw(self.urls[number]) as f:
                for low, high in runs:
                    f.seek(int(self.offset[chosen[low]]))
                    words = int(size[low:high].sum())
                    out[starts[low] : starts[low] + words] = np.frombuffer(f.read(8 * words), np.uint64)
        back = np.empty(len(rows), np.int64)
        back[order] = starts
        return back, out

    def _runs(self, chosen: npt.NDArray[np.intp]) -> Iterator[tuple[int, int]]:
        """Yield runs of rows whose payloads are adjacent in one file."""
        file, offset = self.file[chosen], self.offset[chosen]
        apart = (file[1:] != file[:-1]) | (offset[1:] != offset[:-1] + 8 * self.words[chosen[:-1]])
        cuts = [0, *(np.flatnonzero(apart) + 1).tolist(), len(chosen)]
        return itertools.pairwise(cuts) if len(chosen) else iter(())
