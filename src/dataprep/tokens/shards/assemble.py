"""The second pass of `encode`: assemble shards of `shard_tokens` from the pieces of all parts."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np

from dataprep.store import files, receipts
from dataprep.store.key import key
from dataprep.tokens.shard_format import DTYPES
from dataprep.tokens.split import SIDES

from .claim import receipt_of
from .pieces import ends_of, read_rows
from .writer import Writer, arrange, copy_ranges

BLOCK_TOKENS = 1 << 22  # copied at a time


@dataclass(frozen=True)
class ShardPlan:
    """One shard to write: the documents [start, stop) of each of these pieces."""

    side: str
    number: int
    runs: tuple[tuple[str, int, int], ...]


def shard_plans(pieces: str, receipts: Sequence[dict[str, Any]], shard_tokens: int) -> list[ShardPlan]:
    """Return the shards to write from the pieces in `receipts`, train first, then validation and test."""
    made: list[ShardPlan] = []
    for side in SIDES:
        found = [(f"{r['folder']}/{e['name']}", e) for r in receipts for e in r["entries"] if e["split"] == side]
        ends = [ends_of(read_rows(f"{pieces}/{name}")) for name, _ in found]
        for number, runs in enumerate(arrange(ends, shard_tokens)):
            made.append(ShardPlan(side, number, tuple((found[i][0], start, stop) for i, start, stop in runs)))
    return made


@dataclass(frozen=True, kw_only=True)
class Assemble:
    """Task that assembles one shard from its pieces, with a receipt."""

    out: str
    pieces: str
    dtype: str

    def __call__(self, plan: ShardPlan) -> dict[str, Any]:
        """Return the shard's entry in the manifest."""
        receipt = files.join(self.pieces, f"{plan.side}-{plan.number:05d}.json")
        entry = receipts.once(receipt, key(plan.runs), lambda: self._write(plan))["entry"]
        return dict(entry)

    def _write(self, plan: ShardPlan) -> dict[str, Any]:
        with Writer(self.out, plan.side, plan.number, dtype=self.dtype) as shard:
            for name, start, stop in plan.runs:
                self._copy(shard, files.join(self.pieces, name), start, stop)
        return receipt_of(self.out, shard.entry)

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
