"""Write a Dataset's folder: Parquet shards, tables and a receipt for each part (task), and finally one manifest."""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import xxhash

from dataprep.lazy import parquet as pq
from dataprep.store import files, receipts
from dataprep.store.atomic import sync
from dataprep.store.background import Background
from dataprep.store.parquet import compact, sorted_rows

from ..model import batch as B
from ..model.batch import Batch
from ..model.dataset import Dataset
from ..model.describe import FORGET
from ..model.ledger import Ledger
from ..model.part import Part, Sealed, ShardWriter
from ..model.stage import n_hidden
from ..model.stats import StageStats, Stats
from ..model.tables import without_columns
from ..model.unread import without_names
from ..output.commit import Work
from ..output.layout import CUTS, DROPS
from ..output.staging import Staging
from .account import Account
from .context import Context

SHARD_BYTES = 256 << 20  # of text per shard; a large file that is read as one part becomes several shards


@dataclass(frozen=True)
class Seal:
    """Task that reads a Part, applies its pending stages, and writes the resulting documents into a folder.

    It writes Parquet shards, the tables of dropped documents and cut spans, and the receipt, a record of these files.

    Attributes:
        places: the folders into which the files are written.
        codec: the Parquet compression.
        ledgers: a function that returns the ledgers in which the work of a part's stages is recorded.
        synced: whether the task waits until its files are on disk. If not, the commit syncs them.
    """

    places: Staging
    codec: str
    ledgers: Callable[[Part], list[Ledger]] = Part.ledgers
    synced: bool = True

    @property
    def thread_safe(self) -> bool:
        """True, unless the ledgers of several parts share what they record."""
        return self.ledgers is Part.ledgers

    def __call__(self, part: Part) -> dict[str, Any]:
        """Write the files of a part, unless it is finished, and return its receipt."""
        made = partial(self._write, part)
        return receipts.once(self.places.receipt(part.number), self.key(part), made, synced=self.synced)

    def key(self, part: Part) -> str:
        """Return the key of the receipt of a part."""
        return f"{part.key}-{self.codec}"

    def _write(self, part: Part) -> dict[str, Any]:
        ledgers = self.ledgers(part)
        lost = receipts.found(self.places.receipt(part.number))
        before = lost.get("shards", []) if lost is not None and lost["key"] == self.key(part) else []
        shards = [_as_before(shard, before) for shard in self._shards(part.batches(ledgers=ledgers), part)]
        tables = {DROPS: [ledger.drop_table() for ledger in ledgers]}
        if any(ledger.cuts for ledger in ledgers):
            tables[CUTS] = [ledger.cut_table() for ledger in ledgers]
        tables = {kind: _published_rows(found, ledgers, part.stages) for kind, found in tables.items()}
        urls = {kind: self.places.url(self.places.table(kind, part.number)) for kind in tables}
        for kind, found in tables.items():
            rows = pa.concat_tables(found) if found else Ledger("").drop_table()
            write_table(urls[kind], rows, synced=self.synced)
        unread = [row for ledger in ledgers for row in ledger.unread]
        unread = without_names(unread) if any(stage.hides for stage in part.stages) else unread
        return {
            "files": [*urls.values(), *(self.places.url(s["name"]) for s in shards)],
            "shards": shards,
            "stats": published([ledger.record for ledger in ledgers], part.stages).to_json(),
            **({"unread": [astuple(row) for row in unread]} if unread else {}),
        }

    def _shards(self, batches: Iterator[Batch], part: Part) -> Iterator[dict[str, Any]]:
        flow = Flow(batches)
        for number in itertools.count():
            shard = self.places.shard(part.number, number)
            given = self.places.url(shard), self.codec, _schema(part), SHARD_BYTES, part.view
            facts = write_shard(flow, *given, synced=self.synced)
            yield {"name": shard, **facts}
            if flow.next is None:
                return


def write_table(url: str, rows: pa.Table, *, synced: bool = True) -> None:
    """Write the table of dropped documents or cut spans of a part, sorted by document id.

    The rows of one document keep their relative order.

    - synced: as in `atomic.whole`.
    """
    with files.atomic(url, synced=synced) as f:
        pq.write_table(sorted_rows(rows, [("id", "ascending")]), f, row_group_size=1 << 16, **compact(rows.schema))


def _as_before(shard: dict[str, Any], before: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the entry of a regenerated shard with its original hash, on which keys depend.

    - before: the shards that the receipt of the lost part states.
    """
    sealed = [one.get("sealed") for one in before if one["content"] == shard["content"]]
    return {**shard, "sealed": sealed[0]} if sealed and sealed[0] else shard


def write_shard(
    flow: Flow, url: str, codec: str, schema: pa.Schema, most: float, of_view: str = "", *, synced: bool = True
) -> dict[str, Any]:
    """Write batches to `url` as one Parquet file (shard) until it is full; return its entry for the manifest.

    A thread compresses and writes a batch while the next one is made.

    - flow: the batches of documents that have not been written yet.
    - codec: the Parquet compression.
    - schema: the schema of the file if there are no batches.
    - most: the number of bytes of text at which the shard is full. The entry contains the number of documents and
      bytes, the last id, the columns and a hash of the content.
    - of_view: as `Part.view`.
    - synced: as in `atomic.whole`.
    """
    facts: dict[str, Any] = {"docs": 0, "bytes": 0}
    digest = xxhash.xxh3_128()
    with files.atomic(url, synced=synced) as f, Background("write") as background:
        writer = None
        for batch in flow.until(most):
            schema = batch.schema
            writer = writer or ShardWriter(f, schema, codec, of_view)
            background.call(_write, writer, digest, batch)
            facts["docs"] += batch.num_rows
            facts["bytes"] += B.text_bytes(batch)
            facts["last_id"] = str(B.ids(batch).max())
        background.wait()
        if writer is None:
            schema = flow.schema or schema
            writer = ShardWriter(f, schema, codec, of_view)
        facts["columns"] = [[c.name, str(c.type)] for c in schema]
        writer.close()
    return facts | {"content": digest.hexdigest()}


def _write(writer: ShardWriter, digest: Any, batch: Batch) -> None:
    writer.write(batch)
    _digest(digest, batch)


def seal(account: Account, work: Work[Dataset], context: Context, *, codec: str, label: str) -> Dataset:
    """Write the documents of an account, with tables and receipts; commit them and return them as `work`'s result.

    - codec: the Parquet compression, lz4 for saved steps, zstd for results; "view" if the parts have a `view`.
    - label: the title of the progress bar.
    """
    is_apart = getattr(context.runner, "has_other_machines", False)  # which the commit cannot sync
    task, parts = Seal(work.files, codec, context.ledgers, synced=is_apart), account.docs.tasks
    work.keep({part.number: task.key(part) for part in parts})
    with contextlib.closing(context.map(task, parts, label)) as records:  # so that no task continues after an error
        manifest = account.close(work, records if is_apart else _synced(records, task, parts))
    return work.commit(manifest, account.check(context))


def _synced(records: Iterable[dict[str, Any]], task: Seal, parts: Sequence[Part]) -> Iterator[dict[str, Any]]:
    """Yield the receipts of parts; their files are synced while more parts are written, so that the commit is quick."""
    with Background("sync") as background:
        for record, part in zip(records, parts, strict=False):
            urls = (receipts.resolved(task.places.receipt(part.number), one["name"]) for one in record["files"])
            background.call(sync, [url for url in urls if files.is_local(url)])
            yield record


def published(stats: Sequence[StageStats], stages: Sequence[Any]) -> Stats:
    """Return the statistics to save, without examples that quote the texts of forgotten documents.

    Names and texts are removed from all stages up to the last stage that hides its input. Private data that a stage
    masks is also masked in quoted texts, including those of earlier stages.

    - stats: the statistics of the reader and of the forget list, if they exist, followed by those of each of `stages`.
    """
    last, first = _n_unnamed(len(stats), stages), len(stats) - len(stages)
    quoted = [replace(one, examples={}) if one.name == FORGET else one for one in stats]
    for n, stage in enumerate(stages, first + 1):
        if stage.masks:
            quoted[:n] = [one.quoted(stage.masked) for one in quoted[:n]]
    shown = (one.quoted(list) for one in quoted)
    return Stats([one.hidden() if i < last else one for i, one in enumerate(shown)])


def _published_rows(tables: list[pa.Table], ledgers: Sequence[Ledger], stages: Sequence[Any]) -> list[pa.Table]:
    """Return the tables of `ledgers`, without sources that may not be named, and with bare rows for forgotten ones.

    The row of a forgotten document has only its id and the reason, as in a table that `forget` changes.
    """
    last = _n_unnamed(len(ledgers), stages)
    secret = [("source", "bytes") if one.stage == FORGET else ("source",) * (i < last) for i, one in enumerate(ledgers)]
    return [
        without_columns(table, *(name for name in names if name in table.schema.names))
        for table, names in zip(tables, secret, strict=True)
    ]


def _n_unnamed(n: int, stages: Sequence[Any]) -> int:
    """Return how many of a part's `n` records, whose last ones are those of `stages`, may not name sources."""
    hidden = n_hidden(stages)
    return hidden + n - len(stages) if hidden else 0


class Flow:
    """Batches with canonical boundaries, consumed one shard at a time; `next` is None when no batch is left."""

    def __init__(self, batches: Iterator[Batch]) -> None:
        self.schema: pa.Schema | None = None
        self.batches = B.recut(self._noted(batches))
        self.next: Batch | None = next(self.batches, None)

    def _noted(self, batches: Iterator[Batch]) -> Iterator[Batch]:
        for batch in batches:
            self.schema = batch.schema
            yield batch

    def until(self, n_bytes: float) -> Iterator[Batch]:
        """Yield the batches of one shard, until the shard has `n_bytes` of text."""
        held = 0
        while self.next is not None and held < n_bytes:
            yield self.next
            held += B.text_bytes(self.next)
            self.next = next(self.batches, None)


def _schema(part: Part) -> pa.Schema:
    """Return the schema of a part that yields no batch."""
    reader = part.reader
    of_reader = reader.schema(part.slices[0]) if isinstance(reader, Sealed) else [*B.SCHEMA, *_fields(reader.adds)]
    of_stages = [column for stage in part.stages for column in _fields(stage.adds)]
    return pa.schema({column.name: column for column in (*of_reader, *of_stages)}.values())


def _fields(adds: Mapping[str, pa.DataType]) -> list[pa.Field]:
    return [pa.field(name, kind) for name, kind in adds.items() if name not in B.FIXED]


def content_of(batches: Iterator[Batch]) -> str:
    """Return the content hash of the shard that the batches would become."""
    digest = xxhash.xxh3_128()
    for batch in Flow(batches).until(math.inf):
        _digest(digest, batch)
    return digest.hexdigest()


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
