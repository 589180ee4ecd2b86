"""Write documents to one file: JSON Lines, plain or compressed, or Parquet."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from dataprep.errors import PlanError, ReadError, StaleOutput
from dataprep.store import compress, files

from ..output.layout import DATASET_FILES, home_of
from . import batch as B
from .batch import Batch
from .part import Part, ShardWriter

FORMATS = ("jsonl", "jsonl.gz", "jsonl.zst", "parquet")
MAGIC = {b"\x1f\x8b": ".gz", b"\x28\xb5\x2f\xfd": ".zst"}  # the first bytes of compressed files
FIRST = 1 << 27  # bytes of the longest first line that is read


def check_file_apart(parts: Iterable[Part], out: str) -> None:
    """Raise PlanError if the file `out` is an input file of `parts`, or the next run would read it as one."""
    pieces = [piece for part in parts for piece in part.slices]
    urls = {piece.url for piece in pieces}
    read = any(files.real(url) == files.real(out) for url in urls)
    homes = {home for home in map(home_of, urls) if home is not None}
    read |= any(files.is_inside(out, home.path(name)) for home in homes for name in DATASET_FILES)
    if read or any(files.would_list(url, out) for url in {piece.listed for piece in pieces if piece.listed}):
        msg = f"{out} is one of the input files, or the next run would read it as one; give another file as out"
        raise PlanError(msg)


def check_file_ours(url: str) -> None:
    """Raise StaleOutput if the file `url` is there and does not hold documents as `write` writes them."""
    if files.exists(url) and not files.is_dir(url) and files.size(url):
        try:
            columns = _columns_of(url)
        except (ReadError, OSError, ValueError, pa.ArrowException):  # damaged, or not of these formats
            columns = []
        if columns[: len(B.FIXED)] != list(B.FIXED):
            msg = f"{url} exists and does not hold documents that dataprep wrote; give another file as out"
            raise StaleOutput(msg)


def _columns_of(url: str) -> list[str]:
    """Return the columns of a file of documents; for JSON Lines, those of the first line, or all if there is none."""
    with files.open_raw(url) as f:
        head = f.read(4)
        f.seek(0)
        if head == b"PAR1":
            return list(pq.read_schema(f).names)
        line = compress.decompressed(f, MAGIC.get(head[:2], MAGIC.get(head, ""))).readline(FIRST)
    found = orjson.loads(line) if line else dict(B.FIXED)
    return list(found) if isinstance(found, dict) else []


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
