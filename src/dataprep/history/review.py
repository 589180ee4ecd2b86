"""Judgements of people on dropped documents: the file next to a run with the judgements, and the resulting precision.

The file is `RUN.review.parquet`, next to the run's folder, because a sealed folder is never changed. It contains no
text, and no name of a source, which a later run may hide: a judgement has the id of a dropped document and a hash of
the texts that the reviewer saw. If the hash of the present texts differs, the judgement is stale. `dataprep forget`
removes the judgements on forgotten documents.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterable, Mapping
from datetime import datetime
from math import sqrt
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from dataprep.core.model.tables import Drop, checked, row_object
from dataprep.store import files

from .clusters import drop_batches
from .texts import DocumentsAsRead, pairs_of

SUFFIX = ".review.parquet"
RIGHT, WRONG, UNSURE = "right", "wrong", "unsure"
VERDICTS = (RIGHT, WRONG, UNSURE)
SCHEMA = pa.schema(
    [
        pa.field("id", pa.uint64(), nullable=False),
        pa.field("stage", pa.string(), nullable=False),
        pa.field("reason", pa.string(), nullable=False),
        pa.field("verdict", pa.string(), nullable=False),  # whether it was right to drop the document
        pa.field("reviewer", pa.string(), nullable=False),
        pa.field("content", pa.string(), nullable=False),  # a hash of the texts that the reviewer saw
        pa.field("time", pa.timestamp("us", "UTC"), nullable=False),
    ]
)
Z = 1.959964  # of a 95 % interval


class Judgement(NamedTuple):
    """A person's judgement on a dropped document; the fields are the columns of the file."""

    id: int
    stage: str
    reason: str
    verdict: str
    reviewer: str
    content: str
    time: datetime


class Precision(NamedTuple):
    """The share of drops that were correct, with a 95 % confidence interval.

    Attributes:
        share: the estimate, 0 to 1.
        low: the lower end of the interval.
        high: the upper end of the interval.
        n: the number of judgements that it is based on.
    """

    share: float
    low: float
    high: float
    n: int


def place_of(url: str) -> str:
    """Return the path of the file of judgements of the run in the folder `url`."""
    return f"{files.join(url)}{SUFFIX}"


def load(url: str) -> list[Judgement]:
    """Return the judgements on the run in the folder `url`, in the order in which they were made.

    Raises CorruptShard if the file is damaged, or is not a file of judgements.
    """
    at = place_of(url)
    if not is_there(url):
        return []
    with checked(at, "file of judgements", "restore it from a copy, or move it away"), files.open_arrow(at) as f:
        rows = pq.read_table(f, schema=SCHEMA).to_pylist()
    return [Judgement(**row) for row in rows]


def save(url: str, judgements: Iterable[Judgement]) -> None:
    """Write the file of judgements on the run in the folder `url`; it appears whole or not at all."""
    rows = [one._asdict() for one in judgements]
    buffer = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows, SCHEMA), buffer)
    files.write_bytes(place_of(url), buffer.getvalue())


def remove(url: str, ids: Iterable[int]) -> int:
    """Remove the judgements on documents from the file of the run in the folder `url`; return their number."""
    gone, found = set(ids), load(url)
    left = [one for one in found if one.id not in gone]
    if len(left) < len(found):
        save(url, left)
    return len(found) - len(left)


def content_of(dropped: str | None, kept: str | None) -> str:
    """Return a hash of the texts that a reviewer sees; a text that cannot be read differs from an empty one."""
    digest = hashlib.blake2b(digest_size=16)
    for text in (dropped, kept):
        data = b"" if text is None else text.encode()
        digest.update(f"{-1 if text is None else len(data)}:".encode() + data)
    return digest.hexdigest()


def is_there(url: str) -> bool:
    """Return whether there are judgements on the run in the folder `url`."""
    return files.exists(place_of(url))


def contents(url: str, judged: Iterable[tuple[int, str]]) -> dict[tuple[int, str], tuple[str, str | None, str | None]]:
    """Return, for drops with these (id, stage), the hash of the current texts, the dropped text, and its source.

    Drops that the run no longer has are left out; the text is None if it cannot be read, the source if it is hidden.
    """
    wanted = set(judged)
    ids, drops = pa.array(sorted({id_ for id_, _ in wanted}), pa.uint64()), dict[tuple[int, str], Drop]()
    for batch, folder in drop_batches(url) if wanted else ():
        for row in batch.filter(pc.is_in(batch.column("id"), ids)).to_pylist():
            if (row["id"], row["stage"]) in wanted:
                drops[row["id"], row["stage"]] = row_object(Drop, row, folder=folder)
    documents = pairs_of(url, drops.values())
    return {key: (*content_of_drop(documents, drop), drop.source) for key, drop in drops.items()}


def content_of_drop(documents: DocumentsAsRead, drop: Drop) -> tuple[str, str | None]:
    """Return the hash of the two texts of a drop, and the text of the dropped document, None if it cannot be read.

    - documents: documents of the run, among them those of the drop.
    """
    rows = documents.dropped(drop), documents.survivor(drop)
    dropped, kept = (None if row is None else str(row["text"]) for row in rows)
    return content_of(dropped, kept), dropped


def latest(judgements: Iterable[Judgement]) -> dict[tuple[int, str], Judgement]:
    """Return the last judgement on each document and stage."""
    return {(one.id, one.stage): one for one in judgements}


def wilson(share: float, n: float) -> tuple[float, float]:
    """Return Wilson's 95 % interval of a share (0 to 1) that was found in `n` independent cases; (0, 1) for none."""
    if n <= 0:
        return 0.0, 1.0
    middle = (share + Z * Z / (2 * n)) / (1 + Z * Z / n)
    half = Z * sqrt(share * (1 - share) / n + Z * Z / (4 * n * n)) / (1 + Z * Z / n)
    return max(0.0, min(share, middle - half)), min(1.0, max(share, middle + half))  # `share` is inside, after rounding


def precision(counts: Mapping[str | None, tuple[int, int]], population: Mapping[str | None, int]) -> Precision | None:
    """Return the share of correct drops, for a sample with an equal number per source; None for an empty sample.

    The weight of a source is its number of drops. The interval is Wilson's, with Kish's effective sample size, which is
    smaller than the number of judgements if their weights differ.

    Args:
        counts: (drops judged right, drops judged wrong) by source.
        population: the number of drops by source.
    """
    judged = {source: (right, right + wrong) for source, (right, wrong) in counts.items() if right + wrong}
    if not judged:
        return None
    weights = {source: population[source] / n for source, (_, n) in judged.items()}  # of each judgement
    total = sum(weights[source] * n for source, (_, n) in judged.items())
    share = sum(weights[source] * right for source, (right, _) in judged.items()) / total
    effective = total**2 / sum(weights[source] ** 2 * n for source, (_, n) in judged.items())
    return Precision(share, *wilson(share, effective), sum(n for _, n in judged.values()))
