"""Rows of the Parquet files of sealed Datasets, read without loading whole files."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from dataprep.core import folder as F
from dataprep.core.tables import CUTS, DROPS
from dataprep.errors import CorruptShard, DataprepError
from dataprep.store import files

SCHEMAS = {F.DROPS: DROPS, F.CUTS: CUTS}


def read_tables(url: str, kind: str, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
    """Yield the rows of the drop or cut tables (folder.DROPS, CUTS) of a sealed Dataset; names are dictionary-encoded.

    Raises CorruptShard if a table is missing or damaged.
    """
    schema = SCHEMAS[kind]
    encoded = [field.name for field in schema if field.type == pa.string()]
    for table in F.Folder(url).tables(kind):
        with checked(table), files.open_raw(table) as f:
            names = pq.read_schema(f).names
            if names != schema.names:
                msg = f"its columns are {', '.join(names)}"
                raise pa.ArrowInvalid(msg)
            with pq.ParquetFile(f, read_dictionary=encoded) as parquet:
                yield from parquet.iter_batches(1 << 16, columns=None if columns is None else list(columns))


def rows_of_id(url: str, id_: int) -> list[dict[str, Any]]:
    """Return the rows of an id in a Parquet file; only row groups that may contain the id are read.

    Raises CorruptShard if the file is missing or damaged.
    """
    with checked(url), files.open_raw(url) as f:
        return list(pq.read_table(f, filters=[("id", "=", id_)]).to_pylist())


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
