"""Find the texts that a run cut out most often."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from dataprep.core.output.layout import CUTS
from dataprep.core.output.lineage import family
from dataprep.store.ranks import mix

from . import why

BUCKETS = 1 << 20  # of hashes, which are counted first: 8 MB for any number of spans
MOST_CHARS = 1_200
COLUMNS = ("stage", "duplicate_of_dataset", "duplicate_of", "duplicate_of_start", "duplicate_of_end")

# folder, stage, duplicate_of_dataset, duplicate_of, duplicate_of_start
FirstOccurrence = tuple[str, str, Any, int, int]


@dataclass(frozen=True)
class RepeatedCut:
    """A text that a stage cut out several times, because it first occurs in the document `duplicate_of`.

    Attributes:
        times: the number of cuts.
        duplicate_of_dataset: the Dataset of `duplicate_of` if that is a different Dataset, else None.
        n_bytes: the length of the shortest cut in bytes.
        most_bytes: the length of the longest cut in bytes.
        text: the beginning of the shortest cut; None if it cannot be read.
    """

    stage: str
    times: int
    n_bytes: int
    most_bytes: int
    duplicate_of_dataset: str | None
    duplicate_of: int
    duplicate_of_start: int
    text: str | None


def most_repeated_cuts(url: str, n: int) -> list[RepeatedCut]:
    """Return the `n` texts that were cut most often in the run at `url`.

    Cuts that refer to the same first occurrence are counted as the same text.
    The cut tables are read twice. In the first pass, cuts are counted by buckets of hashes; in the second, the cuts in
    the largest buckets are counted exactly. Memory does not grow with the number of cuts.
    """
    counts = np.zeros(BUCKETS, np.int64)
    for rows, _ in _spans(url):
        counts += np.bincount(_bucket(rows), minlength=BUCKETS)
    fullest = np.zeros(BUCKETS, bool)
    fullest[np.argsort(-counts, kind="stable")[: 4 * n]] = True
    fullest &= counts > 1
    lengths: dict[FirstOccurrence, Counter[int]] = {}
    for rows, folder in _spans(url):
        for row in rows.filter(pa.array(fullest[_bucket(rows)])).to_pylist():
            lengths.setdefault(_first(row, folder), Counter())[_length(row)] += 1
    best = sorted(lengths.items(), key=lambda item: (-item[1].total(), item[0][3:]))
    return [_read(url, first, found) for first, found in best[:n] if found.total() > 1]


def context(data: bytes, start: int, end: int, around: int = 120, most: int = 600) -> tuple[str, str, str]:
    """Return three texts: those before, in and after the range data[start:end] of UTF-8 bytes.

    - around: characters to return before and after the range.
    - most: characters to return of the range; if the range is longer, only its two ends are returned.
    """
    inside = data[start:end].decode(errors="replace")
    if len(inside) > most:
        inside = f"{inside[: most // 2]} … {inside[-most // 2 :]}"
    before = data[max(0, start - 4 * around) : start].decode(errors="ignore")[-around:]
    return before, inside, data[end : end + 4 * around].decode(errors="ignore")[:around]


def _spans(url: str) -> Iterator[tuple[pa.RecordBatch, str]]:
    """Yield the rows whose first occurrence is known, each batch with its folder."""
    for folder in family(url):
        for batch in folder.table(CUTS, COLUMNS):
            yield batch.filter(batch.column("duplicate_of").is_valid()), folder.url


def _bucket(rows: pa.RecordBatch) -> npt.NDArray[np.int64]:
    """Return the bucket of each row, by a hash of its first occurrence."""
    start: Any = pc.fill_null(rows.column("duplicate_of_start"), -1).to_numpy().view(np.uint64)
    return (mix(mix(rows.column("duplicate_of").to_numpy(), 1) ^ start, 2) % np.uint64(BUCKETS)).astype(np.int64)


def _length(row: dict[str, Any]) -> int:
    """Return the bytes of the first occurrence."""
    return (
        0
        if None in (row["duplicate_of_start"], row["duplicate_of_end"])
        else int(row["duplicate_of_end"] - row["duplicate_of_start"])
    )


def _first(row: dict[str, Any], folder: str) -> FirstOccurrence:
    start = -1 if row["duplicate_of_start"] is None else row["duplicate_of_start"]
    return folder, row["stage"], row["duplicate_of_dataset"], row["duplicate_of"], start


def _read(url: str, first: FirstOccurrence, lengths: Counter[int]) -> RepeatedCut:
    folder, stage, duplicate_of_dataset, duplicate_of, start = first
    least, most = min(lengths), max(lengths)
    data = None if duplicate_of_dataset is not None or start < 0 else why.text_as_read(url, duplicate_of, folder, stage)
    text = None if data is None else data[start : start + least].decode(errors="ignore")[:MOST_CHARS]
    return RepeatedCut(stage, lengths.total(), least, most, duplicate_of_dataset, duplicate_of, start, text)
