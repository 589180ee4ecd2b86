"""`NAME.docs.parquet`: id, source and token range of each document of a shard; needs pyarrow."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from dataprep.errors import CorruptShard, raise_if_short
from dataprep.store import ranges
from dataprep.tokens.shard_format import AGAIN

COLUMNS = ("id", "source", "start", "stop")


@dataclass(frozen=True)
class Document:
    """One document in a folder of token shards: number `k` in the folder, number `row` in its shard, both from 0.

    Attributes:
        id: the document's id.
        source: the name of its source.
        split: the name of the split that contains the document.
        shard: the name of the shard that contains the document.
        start: the index of the document's first token in the shard.
        stop: the index after the document's last token.
    """

    k: int
    id: int
    source: str
    split: str
    shard: str
    row: int
    start: int
    stop: int


def docs_table(ends: npt.NDArray[Any], ids: Sequence[npt.NDArray[np.uint64]], sources: Sequence[Any]) -> bytes:
    """Return the content of the Parquet file that lists a shard's documents: id, source, start and stop of each.

    Args:
        ends: uint64[n], index after each document's last token, separators included.
        ids: arrays of ids, with n ids in total.
        sources: lists or Arrow arrays of source names, with n names in total.
    """
    names = [s.cast(pa.string()) if isinstance(s, pa.Array) else pa.array(s, pa.string()) for s in sources]
    columns = {
        "id": np.concatenate([np.zeros(0, np.uint64), *ids]),
        "source": pa.chunked_array(names, pa.string()).combine_chunks(),  # or the bytes would depend on the batches
        "start": np.concatenate([np.zeros(1, np.uint64), ends])[:-1],
        "stop": ends - np.uint64(1),  # the document without its separator
    }
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table(columns), sink, compression="zstd", use_dictionary=["source"])
    return bytes(sink.getvalue())


def read_docs(path: str | os.PathLike[str], columns: Sequence[str] = COLUMNS) -> pa.Table:
    """Return the table of a token shard's documents, in order.

    - columns: names of the columns to read.

    Raises CorruptShard if the file is not such a table, and FileNotFoundError if there is none.
    """
    try:
        with pa.BufferReader(ranges.read(path)) if ranges.is_url(path) else pa.OSFile(os.fsencode(path)) as f:
            return pq.read_table(f, columns=list(columns))
    except FileNotFoundError:
        raise
    except (pa.ArrowException, OSError) as e:
        raise_if_short(e)
        msg = f"cannot read {os.fspath(path)} as the table that was written: {str(e).splitlines()[0]}; {AGAIN}"
        raise CorruptShard(msg) from e


def column_of(tables: Iterable[pa.Table], name: str) -> pa.ChunkedArray:
    """Return the column "id" or "source" of all tables of documents."""
    none = pa.table({name: pa.array([], {"id": pa.uint64(), "source": pa.string()}[name])})
    return pa.concat_tables([none, *tables])[name]
