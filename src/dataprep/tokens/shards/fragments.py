"""Pieces: the intermediate files that the first pass of `encode` writes and the second pass joins to shards.

PIECE.bin          ids as in a shard
PIECE.msk          their mask, if there is one
PIECE.docs.arrow   id, source, end (exclusive, in tokens), size (bytes of text), one record batch; not compressed
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dataprep.core.model import batch as B
from dataprep.core.output.state import TokenShard
from dataprep.errors import CorruptShard, raise_if_short
from dataprep.store import files
from dataprep.store.key import key
from dataprep.tokens.shard_format import DTYPES
from dataprep.tokens.split import SIDES

from .folder import shard_once
from .writer import Writer, arrange, copy_ranges

BLOCK_TOKENS = 1 << 22  # copied at a time
KINDS = ("bin", "docs.arrow")
SCHEMA = pa.schema({"id": pa.uint64(), "source": B.SOURCE, "end": pa.uint64(), "size": pa.int64()})


class PieceWriter:
    """Context manager that writes encoded documents of one split into files (pieces) in `folder`.

    A piece ends when it has at least `most` tokens, so that memory is limited; the last piece ends with the `with`
    block. The files of a piece appear when it ends.
    """

    def __init__(self, folder: str, side: str, dtype: str, most: int) -> None:
        self.folder, self.side, self.dtype, self.most = folder, side, DTYPES[dtype], most
        self.entries: list[dict[str, Any]] = []
        self._open: ExitStack | None = None

    def __enter__(self) -> PieceWriter:
        return self

    def add(self, tokens: Any, ends: Any, ids: Any, sources: pa.Array, sizes: Any, mask: Any = None) -> None:
        """Append n whole documents to the current piece (file).

        Args:
            tokens: the token ids of all documents.
            ends: uint64[n], the index in `tokens` after each document.
            ids: uint64[n], document ids.
            sources: the names of the sources of the n documents.
            sizes: int64[n], bytes of their texts.
            mask: uint8[len(tokens)], 1 if a token counts in the loss; None: no mask.
        """
        if self._open is None:
            self._open, self._tokens = ExitStack(), 0
            self._name = f"{self.side}-{len(self.entries):05d}"
            self._rows: list[pa.RecordBatch] = []
            self._bin, self._mask = self._file("bin"), None if mask is None else self._file("msk")
        self._bin.write(np.ascontiguousarray(tokens, self.dtype).view(np.uint8).data)
        if self._mask is not None:
            self._mask.write(np.ascontiguousarray(mask, np.uint8).data)
        columns = [pa.array(ids), sources, pa.array(ends + np.uint64(self._tokens)), pa.array(sizes)]
        self._rows.append(pa.record_batch(columns, schema=SCHEMA))
        self._tokens += len(tokens)
        if self._tokens >= self.most:
            self.__exit__(None, None, None)

    def _file(self, kind: str) -> BinaryIO:
        assert self._open is not None
        return self._open.enter_context(files.atomic(files.join(self.folder, f"{self._name}.{kind}")))

    def __exit__(self, *error: object) -> None:
        if self._open is None:
            return
        if error[0] is None:
            table = pa.Table.from_batches(self._rows, SCHEMA).unify_dictionaries().combine_chunks()
            with pa.ipc.new_file(self._file("docs.arrow"), SCHEMA) as out:
                out.write_table(table)
            self.entries.append({"name": self._name, "split": self.side, "documents": len(table)})
        stack, self._open = self._open, None
        stack.__exit__(*error)  # type: ignore[arg-type]


def read_rows(url: str) -> pa.RecordBatch:
    """Return the documents of a piece (file of encoded documents) as rows (id, source, end, size).

    A local file is memory-mapped.

    Args:
        url: the URL of the piece, without suffix.

    Raises CorruptShard if the file has changed since it was written.
    """
    try:
        name = f"{url}.docs.arrow"
        with pa.memory_map(os.fsencode(files.path_of(name))) if files.is_local(name) else files.open_arrow(name) as f:
            return pa.ipc.open_file(f).get_batch(0)
    except (OSError, pa.ArrowException) as e:
        raise_if_short(e)
        msg = f"{url}.docs.arrow is not what this run wrote ({str(e).splitlines()[0]}); remove it and run again"
        raise CorruptShard(msg) from e


def ends_of(rows: pa.RecordBatch) -> npt.NDArray[np.uint64]:
    """Return the index after each document's last token in its piece (file), uint64[n].

    Args:
        rows: the result of `read_rows`.
    """
    ends: npt.NDArray[np.uint64] = rows.column("end").to_numpy()
    return ends


@dataclass(frozen=True)
class ShardPlan:
    """One token shard to write: number `number` of the split `side` ("train" ...), made of `runs`.

    A run is (piece, start, stop): the documents start to stop - 1 of a piece, a file of encoded documents.
    """

    side: str
    number: int
    runs: tuple[tuple[str, int, int], ...]


def shard_plans(pieces: str, receipts: Sequence[dict[str, Any]], shard_tokens: int) -> list[ShardPlan]:
    """Return the token shards to write from all pieces (files of encoded documents): train, validation, then test.

    Args:
        pieces: the folder of the pieces.
        receipts: the result of each EncodePart task, in order.
        shard_tokens: the maximum number of tokens per shard.
    """
    made: list[ShardPlan] = []
    for side in SIDES:
        found = [f"{r['folder']}/{e['name']}" for r in receipts for e in r["entries"] if e["split"] == side]
        ends = [ends_of(read_rows(f"{pieces}/{name}")) for name in found]
        for number, runs in enumerate(arrange(ends, shard_tokens)):
            made.append(ShardPlan(side, number, tuple((found[i], start, stop) for i, start, stop in runs)))
    return made


@dataclass(frozen=True, kw_only=True)
class Assemble:
    """The task that writes one token shard from files of encoded documents (pieces), unless it is finished already.

    Attributes:
        out: the folder for the shards.
        pieces: the folder of the pieces.
        dtype: the type of the token ids.
        generation: the generation of the shards; see `Recipe`.
    """

    out: str
    pieces: str
    dtype: str
    generation: int = 1

    def __call__(self, plan: ShardPlan) -> TokenShard:
        """Write the shard `plan`, unless a receipt shows that it exists; return its entry in the manifest."""
        writer = Writer(self.out, plan.side, plan.number, dtype=self.dtype, generation=self.generation)
        return shard_once(self.pieces, key(plan.runs), writer, lambda shard: self._fill(shard, plan))

    def _fill(self, shard: Writer, plan: ShardPlan) -> None:
        for name, start, stop in plan.runs:
            self._copy(shard, files.join(self.pieces, name), start, stop)

    def _copy(self, shard: Writer, piece: str, start: int, stop: int) -> None:
        dtype, table = DTYPES[self.dtype], read_rows(piece)
        ends = ends_of(table)
        with ExitStack() as stack:  # read, not mapped: mapped pages would count as this process's memory
            begin = int(ends[start - 1]) if start else 0
            bins = _open_at(stack, f"{piece}.bin", begin * dtype.itemsize)
            masks = _open_at(stack, f"{piece}.msk", begin) if files.exists(f"{piece}.msk") else None
            for a, b, first, last in copy_ranges(ends, start, stop, BLOCK_TOKENS):
                block = np.frombuffer(bins.read((last - first) * dtype.itemsize), dtype)
                mask = None if masks is None else np.frombuffer(masks.read(last - first), np.uint8)
                rows = table.slice(a, b - a)
                n_bytes = int(rows.column("size").to_numpy().sum())
                ids, source = rows.column("id").to_numpy(), rows.column("source")
                shard.add(block, ends_of(rows) - np.uint64(first), ids, source, n_bytes, mask)


def _open_at(stack: ExitStack, url: str, offset: int) -> BinaryIO:
    f = stack.enter_context(files.open_raw(url))
    f.seek(offset)
    return f
