"""Rows of the drop and cut tables of sealed Datasets, some at a time."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.parquet as pq

from dataprep.core.folder import MANIFEST
from dataprep.core.tables import CUTS, DROPS
from dataprep.errors import CorruptShard, DataprepError
from dataprep.store import files

SCHEMAS = {"drops": DROPS, "cuts": CUTS}


def read_tables(folder: str, kind: str, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
    """Yield the rows of the drop or cut tables ("drops", "cuts") of a sealed folder; names are dictionary-encoded.

    Raises CorruptShard if a table is missing or damaged.
    """
    for url in table_urls(folder, kind):
        schema = SCHEMAS[kind]
        coded = [field.name for field in schema if field.type == pa.string()]
        with checked(url), files.open_raw(url) as f:
            names = pq.read_schema(f).names
            if names != schema.names:
                msg = f"its columns are {', '.join(names)}"
                raise pa.ArrowInvalid(msg)
            with pq.ParquetFile(f, read_dictionary=coded) as table:
                yield from table.iter_batches(1 << 16, columns=None if columns is None else list(columns))


def table_urls(folder: str, kind: str) -> list[str]:
    """Return the URLs of the tables of a folder; each part has a drop table, and a cut table if something was cut."""
    names = [name for name in files.listdir(files.join(folder, kind)) if name.endswith(".parquet")]
    if kind == "drops":
        shards = files.read_json(files.join(folder, MANIFEST))["shards"]
        parts = dict.fromkeys(files.name_of(shard["name"]).rpartition("-")[0] + ".parquet" for shard in shards)
        names = list(parts)
    return [files.join(folder, kind, name) for name in names]


@contextlib.contextmanager
def checked(url: str) -> Iterator[None]:
    """Raise CorruptShard for any error in reading the table at `url`, except those of the network."""
    try:
        yield
    except (ConnectionError, TimeoutError):  # a fault of the network, not of the table
        raise
    except (pa.ArrowException, OSError, DataprepError) as e:
        state = str(e).rstrip(".") if files.exists(url) else "it is missing"
        msg = f"{url} is not the table that was written ({state}); run the pipeline again with replace=True"
        raise CorruptShard(msg) from e
