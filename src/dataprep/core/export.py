"""Write documents to one file: JSON Lines, plain or compressed, or Parquet."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import orjson

from dataprep.errors import PlanError
from dataprep.store import compress, files

from . import batch as B
from .batch import Batch
from .part import ShardWriter

FORMATS = ("jsonl", "jsonl.gz", "jsonl.zst", "parquet")


def write(batches: Callable[[], Iterator[Batch]], path: str, name: str | None) -> None:
    """Write the documents of `batches()` to the file `path`; name: one of FORMATS, or None for the one of the path.

    Raises PlanError if the format is unknown.
    """
    name = name or next((f for f in FORMATS if path.endswith("." + f)), "jsonl.zst")
    if name not in FORMATS:
        msg = f"format={name!r} is unknown; it must be one of {', '.join(FORMATS)}"
        raise PlanError(msg)
    with files.atomic(path) as f:
        (_write_parquet if name == "parquet" else _write_jsonl)(batches(), f, name)


def _write_jsonl(batches: Iterator[Batch], f: Any, name: str) -> None:
    with compress.compressor(f, name) as out:
        for batch in batches:
            rows = batch.to_pylist()
            for row in rows:
                row["id"] = str(row["id"])  # ids exceed 2^53
                row["meta"] = orjson.Fragment(row["meta"])
            out.write(b"".join(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE) for row in rows))


def _write_parquet(batches: Iterator[Batch], f: Any, _: str) -> None:
    writer = None
    for batch in B.recut(batches):
        writer = writer or ShardWriter(f, batch.schema, "zstd")
        writer.write(batch)
    writer = writer or ShardWriter(f, B.SCHEMA, "zstd")
    writer.close()
