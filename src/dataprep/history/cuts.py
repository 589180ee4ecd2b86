"""What was cut out of texts: the spans that were cut most often, and what stands in them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from dataprep.core.ledger import mix

from . import why

BUCKETS = 1 << 20  # counted by hash first: 8 MB, however many spans there are
MOST_CHARS = 1_200
COLUMNS = ("stage", "start", "end", "kept_in", "kept", "kept_start")

Place = tuple[str, str, Any, int, int]  # folder, stage, kept_in, kept, kept_start


@dataclass(frozen=True)
class Repeat:
    """What was cut out of many places, all for what stands in one place first."""

    stage: str
    times: int
    n_bytes: int  # of the shortest span
    most_bytes: int  # of the longest
    kept_in: str | None
    kept: int
    kept_start: int
    text: str | None  # its beginning; None if it cannot be read any more


def most_repeated(url: str, n: int) -> list[Repeat]:
    """The n texts that were cut most often: spans that are the same, or at least begin so.

    Two looks at the cut tables: the first counts by hash, the second exactly in the fullest buckets. Memory does not
    grow with the number of spans.
    """
    counts = np.zeros(BUCKETS, np.int64)
    for rows, _ in _spans(url):
        counts += np.bincount(_bucket(rows), minlength=BUCKETS)
    fullest = np.zeros(BUCKETS, bool)
    fullest[np.argsort(-counts, kind="stable")[: 4 * n]] = True
    fullest &= counts > 1
    lengths: dict[Place, Counter[int]] = {}
    for rows, folder in _spans(url):
        for row in rows.filter(pa.array(fullest[_bucket(rows)])).to_pylist():
            lengths.setdefault(_place(row, folder), Counter())[row["end"] - row["start"]] += 1
    best = sorted(lengths.items(), key=lambda item: (-item[1].total(), item[0][3:]))
    return [_read(url, place, found) for place, found in best[:n] if found.total() > 1]


def context(data: bytes, start: int, end: int, around: int = 120, most: int = 600) -> tuple[str, str, str]:
    """What stands before, in and after a span of UTF-8 text; a long span keeps its two ends."""
    inside = data[start:end].decode(errors="replace")
    if len(inside) > most:
        inside = f"{inside[: most // 2]} … {inside[-most // 2 :]}"
    before = data[max(0, start - 4 * around) : start].decode(errors="ignore")[-around:]
    return before, inside, data[end : end + 4 * around].decode(errors="ignore")[:around]


def _spans(url: str) -> Iterator[tuple[pa.RecordBatch, str]]:
    """The rows whose first occurrence is known."""
    for folder in why.sealed_folders(url):
        for batch in why.tables(folder, "cuts", COLUMNS):
            yield batch.filter(batch.column("kept").is_valid()), folder


def _bucket(rows: pa.RecordBatch) -> npt.NDArray[np.int64]:
    """The bucket of each row, by first occurrence."""
    start: Any = pc.fill_null(rows.column("kept_start"), -1).to_numpy().view(np.uint64)
    return (mix(mix(rows.column("kept").to_numpy(), 1) ^ start, 2) % np.uint64(BUCKETS)).astype(np.int64)


def _place(row: dict[str, Any], folder: str) -> Place:
    start = -1 if row["kept_start"] is None else row["kept_start"]
    return folder, row["stage"], row["kept_in"], row["kept"], start


def _read(url: str, place: Place, lengths: Counter[int]) -> Repeat:
    folder, stage, kept_in, kept, start = place
    least, most = min(lengths), max(lengths)
    data = None if kept_in is not None or start < 0 else why.text_read(url, kept, folder, stage)
    text = None if data is None else data[start : start + least].decode(errors="ignore")[:MOST_CHARS]
    return Repeat(stage, lengths.total(), least, most, kept_in, kept, start, text)
