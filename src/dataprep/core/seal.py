"""Sealing: write each part as shards with tables and a receipt, then the manifest of all."""

from __future__ import annotations

import itertools
import platform
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import xxhash

from dataprep.store import files, receipts

from . import batch as B
from .batch import Batch
from .dataset import Dataset
from .folder import CUTS, DROPS, Folder
from .hiding import hides, published
from .ledger import Ledger
from .part import Part, Sealed, ShardWriter
from .stats import HIDDEN, Stats

SHARD_BYTES = 256 << 20  # of text: a file that cannot be entered in the middle becomes many shards


@dataclass(frozen=True)
class Seal:
    """The task that applies the pending stages of a part and writes its shards, drop and cut tables, and receipt."""

    out: str
    codec: str
    ledgers: Callable[[Part], list[Ledger]] = Part.ledgers

    def __call__(self, part: Part) -> dict[str, Any]:
        """Return the receipt, made now or found."""
        receipt = Folder(self.out).receipt(part.number)
        return receipts.once(receipt, f"{part.key}-{self.codec}", lambda: self._write(part))

    def _write(self, part: Part) -> dict[str, Any]:
        ledgers = self.ledgers(part)
        shards = list(self._shards(part.batches(ledgers=ledgers), part))
        tables = {DROPS: [ledger.drop_table() for ledger in ledgers]}
        if any(ledger.cuts for ledger in ledgers):
            tables[CUTS] = [ledger.cut_table() for ledger in ledgers]
        urls = {kind: Folder(self.out).table(kind, part.number) for kind in tables}
        for kind, found in tables.items():
            _write_table(urls[kind], found)
        return {
            "files": [*urls.values(), *(files.join(self.out, s["name"]) for s in shards)],
            "shards": shards,
            "stats": published([ledger.record for ledger in ledgers], part.stages).to_json(),
        }

    def _shards(self, batches: Iterator[Batch], part: Part) -> Iterator[dict[str, Any]]:
        flow = _Flow(batches)
        for number in itertools.count():
            shard = Folder(self.out).shard(part.number, number)
            facts = self.shard(flow, files.join(self.out, shard), part)
            yield {"name": shard, **facts}
            if flow.done:
                return

    def shard(self, flow: _Flow, url: str, part: Part) -> dict[str, Any]:
        """Write one shard, and return its record for the manifest."""
        facts: dict[str, Any] = {"docs": 0, "bytes": 0, "last_id": None}
        digest = xxhash.xxh3_128()
        with files.atomic(url) as f:
            writer, schema = None, _schema(part)
            for batch in flow.until(SHARD_BYTES):
                schema = batch.schema
                writer = writer or ShardWriter(f, schema, self.codec)
                writer.write(batch)
                facts["docs"] += batch.num_rows
                facts["bytes"] += B.text_bytes(batch)
                facts["last_id"] = str(B.ids(batch).max())
                _digest(digest, batch)
            if writer is None:
                schema = flow.schema or schema
                writer = ShardWriter(f, schema, self.codec)
            facts["columns"] = [(c.name, str(c.type)) for c in schema]
            writer.close()
        return facts | {"content": digest.hexdigest()}


def write_shard(batches: Iterator[Batch], url: str, codec: str, columns: Sequence[str]) -> dict[str, Any]:
    """Write batches as one shard, and return its record for the manifest without size and hash."""
    part = Part((), Sealed(extra=tuple((name, "") for name in columns if name not in B.FIXED)))
    return Seal(out="", codec=codec).shard(_Flow(batches), url, part)


class _Flow:
    """Batches in canonical cuts, taken a shard at a time."""

    def __init__(self, batches: Iterator[Batch]) -> None:
        self.schema: pa.Schema | None = None
        self.batches = B.recut(self._noted(batches))
        self.next: Batch | None = next(self.batches, None)

    def _noted(self, batches: Iterator[Batch]) -> Iterator[Batch]:
        for batch in batches:
            self.schema = batch.schema
            yield batch

    @property
    def done(self) -> bool:
        """True if all batches were taken."""
        return self.next is None

    def until(self, n_bytes: int) -> Iterator[Batch]:
        """Yield the batches of one shard, until it has `n_bytes` of text."""
        held = 0
        while self.next is not None and held < n_bytes:
            yield self.next
            held += B.text_bytes(self.next)
            self.next = next(self.batches, None)


def _schema(part: Part) -> pa.Schema:
    """Return the schema of a part that yields no batch."""
    added = dict(part.reader.adds)
    for stage in part.stages:
        added |= stage.adds
    return pa.schema([*B.SCHEMA, *(pa.field(n, t) for n, t in added.items() if n not in B.FIXED)])


def _digest(digest: Any, batch: Batch) -> None:
    """Add a batch to the content hash, which covers ids, texts and columns, not how Parquet stores them."""
    for column in batch.columns:
        plain = column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
        if plain.null_count:
            digest.update(np.packbits(plain.is_null().to_numpy(zero_copy_only=False)).tobytes())
        if pa.types.is_string(plain.type) or pa.types.is_large_string(plain.type):
            offsets, data = B.buffers(plain)
            digest.update(np.diff(offsets).tobytes())
            digest.update(data[offsets[0] : offsets[-1]].data)
        elif pa.types.is_primitive(plain.type) and not plain.null_count:
            digest.update(np.ascontiguousarray(plain.to_numpy(zero_copy_only=False)).view(np.uint8).tobytes())
        else:
            digest.update(repr(plain.to_pylist()).encode())


def _write_table(url: str, tables: Sequence[pa.Table]) -> None:
    """Write the drop or cut table of a part, sorted by id; rows of one document are in the order of stages."""
    table = pa.concat_tables(tables) if tables else Ledger("").drop_table()
    with files.atomic(url) as f:
        pq.write_table(table.sort_by("id"), f, compression="zstd", row_group_size=1 << 16)


def manifest(
    docs: Dataset, recipe: dict[str, Any], receipts: list[dict[str, Any]], earlier: Sequence[Stats]
) -> dict[str, Any]:
    """Return the manifest; nothing in it depends on the time, paths of this machine, or workers."""
    shards = [_shard_record(receipt, shard) for receipt in receipts for shard in receipt["shards"]]
    stats = Stats([stage for stats in earlier for stage in stats])
    stats.stages += Stats.sum(Stats.from_json(r["stats"]) for r in receipts).stages
    last = max((int(s["last_id"]) for s in shards if s["last_id"] is not None), default=0)
    return {
        **recipe,
        "docs": sum(s["docs"] for s in shards),
        "bytes": sum(s["bytes"] for s in shards),
        "content": xxhash.xxh3_128_hexdigest("".join(s["content"] for s in shards).encode()),
        "columns": shards[0]["columns"] if shards else [[f.name, str(f.type)] for f in B.SCHEMA],
        "last_file": max(B.split_id(last)[0], *(p.file for part in docs.parts for p in part.slices), 0),
        "inputs": _inputs(docs, hidden=hides(docs.stages)),
        "shards": [{k: v for k, v in s.items() if k != "columns"} for s in shards],
        "stats": stats.to_json(),
        "made_with": {"python": platform.python_version_tuple()[:2], "pyarrow": pa.__version__},
    }


def _shard_record(receipt: dict[str, Any], shard: dict[str, Any]) -> dict[str, Any]:
    name = files.name_of(shard["name"])
    stored = next(f for f in receipt["files"] if files.name_of(f["name"]) == name and "data" in f["name"])
    return shard | {"size": stored["size"], "hash": stored["hash"]}


def _inputs(docs: Dataset, *, hidden: bool) -> list[dict[str, Any]]:
    """Return the input files by number, or what was added to the file numbers of sealed Datasets."""
    found: dict[tuple[int, str], dict[str, Any]] = {}
    for part in docs.parts:
        kind = "offset" if isinstance(part.reader, Sealed) else "file"
        for piece in part.slices:
            name, source = (HIDDEN, HIDDEN) if hidden else (files.name_of(piece.url), piece.source)
            found.setdefault((piece.file, name), {kind: piece.file, "name": name, "source": source})
    return list(found.values())
