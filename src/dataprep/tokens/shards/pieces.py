"""Pieces: files of tokens and document rows, from the first pass of `encode` to the second; not compressed.

PIECE.bin          ids as in a shard
PIECE.msk          their mask, if there is one
PIECE.docs.arrow   id, source, end (exclusive, in tokens), size (bytes of text), one record batch
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dataprep.core import batch as B
from dataprep.errors import CorruptShard
from dataprep.store import files
from dataprep.tokens.shard_format import DTYPES

KINDS = ("bin", "docs.arrow")
SCHEMA = pa.schema({"id": pa.uint64(), "source": B.SOURCE, "end": pa.uint64(), "size": pa.int64()})


class PieceWriter:
    """Writes one piece; its files appear when the `with` block ends without an error."""

    def __init__(self, folder: str, side: str, number: int, dtype: str) -> None:
        self.side, self.name, self.dtype = side, f"{side}-{number:05d}", DTYPES[dtype]
        self.url = files.join(folder, self.name)
        self.tokens = 0
        self.entry: dict[str, Any] = {}
        self._rows: list[pa.RecordBatch] = []
        self._mask: BinaryIO | None = None

    def __enter__(self) -> PieceWriter:
        self._open = ExitStack()
        self._bin = self._open.enter_context(files.atomic(f"{self.url}.bin"))
        return self

    def add(self, tokens: Any, ends: Any, ids: Any, sources: pa.Array, sizes: Any, mask: Any = None) -> None:
        """Append whole documents: `ends` uint64[n] are exclusive, `sizes` int64[n] the bytes of their texts."""
        self._bin.write(np.ascontiguousarray(tokens, self.dtype).view(np.uint8).data)
        if mask is not None:
            self._mask = self._mask or self._open.enter_context(files.atomic(f"{self.url}.msk"))
            self._mask.write(np.ascontiguousarray(mask, np.uint8).data)
        columns = [pa.array(ids), sources, pa.array(ends + np.uint64(self.tokens)), pa.array(sizes)]
        self._rows.append(pa.record_batch(columns, schema=SCHEMA))
        self.tokens += len(tokens)

    def __exit__(self, *error: object) -> None:
        if error[0] is None:
            table = pa.Table.from_batches(self._rows, SCHEMA).unify_dictionaries().combine_chunks()
            with files.atomic(f"{self.url}.docs.arrow") as f, pa.ipc.new_file(f, SCHEMA) as out:
                out.write_table(table)
            self.entry = {"name": self.name, "split": self.side, "documents": len(table)}
        self._open.__exit__(*error)  # type: ignore[arg-type]


def read_rows(url: str) -> pa.RecordBatch:
    """Return the rows of a piece, memory-mapped."""
    try:
        with pa.memory_map(f"{url}.docs.arrow") as f:
            return pa.ipc.open_file(f).get_batch(0)
    except (OSError, pa.ArrowException) as e:
        msg = f"{url}.docs.arrow is not what this run wrote ({str(e).splitlines()[0]}); remove it and run again"
        raise CorruptShard(msg) from e


def ends_of(rows: pa.RecordBatch) -> npt.NDArray[np.uint64]:
    """Return the exclusive ends of the documents, uint64[n]."""
    ends: npt.NDArray[np.uint64] = rows.column("end").to_numpy()
    return ends
