"""`NAME.docs.parquet`: id, source and token range of each document of a shard; needs pyarrow."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from dataprep.errors import CorruptShard, DataprepError, Replaced, raise_if_short
from dataprep.tokens.shard_format import AGAIN

if TYPE_CHECKING:
    from pathlib import Path

    from .shard import Shards

COLUMNS = ("id", "source", "start", "stop")


@dataclass(frozen=True)
class Document:
    """One document in a folder of token shards: number `k` in the folder, number `row` in its shard, both from 0.

    id: the document's id. source: the name of its source. split, shard: names of the split and the shard that contain
    the document. start, stop: the tokens of the document in the shard are start to stop - 1.
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

    ends: uint64[n], index after each document's last token, separators included. ids, sources: arrays of ids and of
    source names, which joined have n items; an array of names may be a list or an Arrow array.
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


def read_docs(shards: Shards, number: int, columns: Sequence[str] = COLUMNS) -> pa.Table:
    """Return the table of the documents of shard number `number`, in order; columns: names of the columns to read.

    Raises CorruptShard if the file is not such a table.
    """
    name = f"{shards.shards[number].name}.docs.parquet"

    def table(path: Path) -> pa.Table:
        with pa.OSFile(os.fsencode(path)) as f:
            return pq.read_table(f, columns=list(columns))

    try:
        return shards.read(name, table)
    except Replaced:
        raise
    except (DataprepError, pa.ArrowException, OSError) as e:
        raise_if_short(e)
        msg = f"{shards.path / name} is not the table that was written ({str(e).splitlines()[0]}); {AGAIN}"
        raise CorruptShard(msg) from e


def read_column(shards: Shards, name: str) -> pa.ChunkedArray:
    """Return the column "id" or "source" of all documents."""
    none = pa.table({name: pa.array([], {"id": pa.uint64(), "source": pa.string()}[name])})
    return pa.concat_tables([none, *(read_docs(shards, i, [name]) for i in range(len(shards.shards)))])[name]


def document_in(shards: Shards, number: int, k: int, row: int) -> Document:
    """Return the facts about one document: row `row` of shard number `number`, and number `k` of all documents."""
    entry = shards.shards[number]
    found = read_docs(shards, number).slice(row, 1).to_pylist()[0]
    return Document(k=k, split=entry.split, shard=entry.name, row=row, **found)


def numbers_of(shards: Shards, id_: int) -> list[int]:
    """Return the numbers, among all documents, of the documents with the id `id_`; a mixture may have several."""
    numbers: list[int] = np.flatnonzero(read_column(shards, "id").to_numpy() == np.uint64(id_)).tolist()
    return numbers
