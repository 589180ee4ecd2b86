"""Write a Dataset's folder: Parquet shards, tables and a receipt for each part (task), and then one manifest."""

from __future__ import annotations

import itertools
import logging
import platform
from collections.abc import Callable, Iterator, Sequence
from dataclasses import astuple, dataclass, fields, replace
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import xxhash

from dataprep.errors import PlanError, ReadError
from dataprep.store import files, receipts

from ..model import batch as B
from ..model.batch import Batch
from ..model.dataset import Dataset
from ..model.describe import READ
from ..model.ledger import Ledger
from ..model.part import Part, Sealed, ShardWriter
from ..model.stage import n_hidden
from ..model.stats import HIDDEN, StageStats, Stats
from ..model.unread import Unread, check_unread, unread_of, without_names, write_unread
from ..output.audit import CELL, Search, Strings, audit, json_strings
from ..output.commit import Staging, Work
from ..output.layout import CUTS, DROPS, MANIFEST, ORIGIN, UNREAD, numbered
from ..output.state import Manifest, Receipt, Shard, UnreadTable
from .context import Context

log = logging.getLogger("dataprep")

SHARD_BYTES = 256 << 20  # of text per shard; a large file that is read as one part becomes several shards


@dataclass(frozen=True)
class Seal:
    """Task that reads a Part, applies its pending stages, and writes the resulting documents into a folder.

    It writes Parquet shards, the tables of dropped documents and cut spans, and the receipt, a record of these files.
    places: where they are written. codec: Parquet compression. ledgers: function that returns the ledgers in which a
    part's stages are recorded.
    """

    places: Staging
    codec: str
    ledgers: Callable[[Part], list[Ledger]] = Part.ledgers

    def __call__(self, part: Part) -> dict[str, Any]:
        """Write the files of a part, unless it has a valid receipt, and return its receipt."""
        return receipts.once(self.places.receipt(part.number), self.done_key(part), lambda: self._write(part))

    def done_key(self, part: Part) -> str:
        """Return the key that the receipt of a part states; `part` has its own."""
        return f"{part.key}-{self.codec}"

    def _write(self, part: Part) -> dict[str, Any]:
        ledgers = self.ledgers(part)
        shards = list(self._shards(part.batches(ledgers=ledgers), part))
        tables = {DROPS: [ledger.drop_table() for ledger in ledgers]}
        if any(ledger.cuts for ledger in ledgers):
            tables[CUTS] = [ledger.cut_table() for ledger in ledgers]
        urls = {kind: self.places.url(self.places.table(kind, part.number)) for kind in tables}
        for kind, found in tables.items():
            table = pa.concat_tables(found) if found else Ledger("").drop_table()
            with files.atomic(urls[kind]) as f:  # rows of one document are in the order of stages
                pq.write_table(
                    table.sort_by("id"), f, compression="zstd", row_group_size=1 << 16, write_page_checksum=True
                )
        unread = [row for ledger in ledgers for row in ledger.unread]
        unread = without_names(unread) if n_hidden(part.stages) else unread
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
            yield {"name": shard, **write_shard(flow, self.places.url(shard), self.codec, _schema(part))}
            if flow.next is None:
                return


def write_shard(
    flow: Flow, url: str, codec: str, schema: pa.Schema, most: float = SHARD_BYTES
) -> dict[str, Any]:
    """Write batches to `url` as one Parquet file (shard) until it is full; return its entry for the manifest.

    flow: the remaining batches. codec: Parquet compression. schema: of the file if there are no batches. most: bytes of
    text at which it is full. The entry has the number of documents and bytes, the last id, the columns and a hash of
    the content.
    """
    facts: dict[str, Any] = {"docs": 0, "bytes": 0}
    digest = xxhash.xxh3_128()
    with files.atomic(url) as f:
        writer = None
        for batch in flow.until(most):
            schema = batch.schema
            writer = writer or ShardWriter(f, schema, codec)
            writer.write(batch)
            facts["docs"] += batch.num_rows
            facts["bytes"] += B.text_bytes(batch)
            facts["last_id"] = str(B.ids(batch).max())
            _digest(digest, batch)
        if writer is None:
            schema = flow.schema or schema
            writer = ShardWriter(f, schema, codec)
        facts["columns"] = [[c.name, str(c.type)] for c in schema]
        writer.close()
    return facts | {"content": digest.hexdigest()}


def seal(
    docs: Dataset, work: Work[Dataset], context: Context, codec: str, *, label: str, saved: Sequence[str] = (),
    fits: Sequence[dict[str, Any]] = (), earlier: Sequence[Stats] = (), unread: Sequence[Unread] = (),
    searches: Sequence[Search] = (),
) -> Dataset:  # fmt: skip
    """Write the documents of `docs`, their tables and receipts, and commit them as the result of `work`; return it.

    codec: Parquet compression, lz4 for saved steps, zstd for results. label: title of the progress bar. saved: folders
    of saved inputs of Estimators. fits: the facts of each Estimator. earlier: statistics of the earlier passes. unread:
    files that they could not read. searches: for private strings in the folder.

    Raises Leak, before the result changes, if a search finds a private string that may not stay.
    """
    listed = _listed_rows(docs, unread)
    made, rows = _written(docs, work, context, codec, listed, label)
    manifest = _manifest(docs, work, made, earlier, _unread_table(work.files, [*listed, *rows]))
    manifest = replace(manifest, saved=list(saved), fits=list(fits))
    for search in () if context.trial else searches:
        written = Strings(MANIFEST, CELL, list(json_strings(orjson.dumps(manifest.record()))))
        left = audit(work.out, search, context, also=[written], skip=work.stale(manifest))
        if left:
            which = "%d names that are also common words are left in %s: see docs/chats-safety.md"
            log.warning(which, len(left), work.out)
    return work.commit(manifest)


def _written(
    docs: Dataset, work: Work[Dataset], context: Context, codec: str, listed: Sequence[Unread], label: str
) -> tuple[list[Receipt], list[Unread]]:
    """Write the files of all parts; return their receipts, and the files that could not be read."""
    places = work.files
    task = Seal(places, codec, context.trial.ledgers) if context.trial else Seal(places, codec)
    tasks, made, rows = docs.tasks, list[Receipt](), list[Unread]()
    work.keep([task.done_key(part) for part in tasks])
    try:
        for record in context.map(task, tasks, label):
            made.append(Receipt.of(record, places.receipt(len(made))))
            rows += [Unread(*row) for row in made[-1].unread]
            check_unread(rows, docs.max_bad_files)
        check_unread(rows, docs.max_bad_files, sum(map(_docs_read, made)) if rows else None)
    except ReadError as e:
        if e.path is not None and not n_hidden(docs.stages):
            _unread_table(places, [*listed, *rows, unread_of(e, e.path)])
        raise
    if len(made) != len(docs.parts):
        runner = context.runner
        msg = f"{runner!r} returned {len(made)} results of {len(docs.parts)} tasks; map must yield one result per item"
        raise PlanError(msg)
    return made, rows


def published(stats: Sequence[StageStats], stages: Sequence[Any]) -> Stats:
    """Return the statistics to save; names and texts are removed from all stages up to the last that hides its input.

    stats: the statistics of the reader and of the forget list, if there are any, and then of each of `stages`.
    """
    n = n_hidden(stages)
    last = n + len(stats) - len(stages) if n else 0
    return Stats([one.hidden() if i < last else one for i, one in enumerate(stats)])


class Flow:
    """Batches in canonical cuts, taken a shard at a time; `next` is None if all were taken."""

    def __init__(self, batches: Iterator[Batch]) -> None:
        self.schema: pa.Schema | None = None
        self.batches = B.recut(self._noted(batches))
        self.next: Batch | None = next(self.batches, None)

    def _noted(self, batches: Iterator[Batch]) -> Iterator[Batch]:
        for batch in batches:
            self.schema = batch.schema
            yield batch

    def until(self, n_bytes: float) -> Iterator[Batch]:
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


def _listed_rows(docs: Dataset, earlier: Sequence[Unread]) -> list[Unread]:
    """Return the files that were not read: those left out when `docs` was made, and those of `earlier` passes."""
    listed = [*docs.left_out, *earlier]
    return without_names(listed) if n_hidden(docs.stages) else listed


def _docs_read(receipt: Receipt) -> int:
    """Return the number of documents that the reader of a part returned, as stated in its receipt (work record)."""
    return sum(stage.docs_out for stage in Stats.from_json(receipt.stats) if stage.name == READ)


def _unread_table(places: Staging, rows: Sequence[Unread]) -> UnreadTable | None:
    """Write the table of files that were not read; return its entry for the manifest, None if there are none."""
    return write_unread(places.home, numbered(UNREAD, places.generation), rows)


def _manifest(
    docs: Dataset, work: Work[Dataset], made: Sequence[Receipt], earlier: Sequence[Stats], unread: UnreadTable | None
) -> Manifest:
    """Return the manifest, which describes a complete Dataset, without what the Estimators stated.

    made: the receipt of each part. earlier: statistics of the passes that saved the inputs of Estimators. The manifest
    does not depend on the time, the paths of this machine, or the workers.
    """
    shards, columns = list[Shard](), [[f.name, str(f.type)] for f in B.SCHEMA]
    for receipt in made:
        stored = {one.name.rpartition("../")[2]: one for one in receipt.files}
        tables = {name.partition("/")[0]: name for name in stored}
        for one in receipt.shards:
            shards.append(Shard(
                name=one.name, docs=one.docs, bytes=one.bytes, last_id=one.last_id, content=one.content,
                size=stored[one.name].size, hash=stored[one.name].hash, drops=tables[DROPS], cuts=tables.get(CUTS),
            ))  # fmt: skip
    if shards:
        columns = made[0].shards[0].columns
    stats = Stats([stage for stats in earlier for stage in stats])
    stats.stages += Stats.sum(Stats.from_json(receipt.stats) for receipt in made).stages
    last = max((shard.last_id for shard in shards if shard.last_id is not None), default=0)
    origin = numbered(ORIGIN, work.recipe.generation) if files.exists(work.unfinished.path(ORIGIN)) else None
    stated = {f.name: getattr(work.recipe, f.name) for f in fields(work.recipe) if f.name != "private"}
    return Manifest(
        **stated,
        docs=sum(shard.docs for shard in shards),
        bytes=sum(shard.bytes for shard in shards),
        content=xxhash.xxh3_128_hexdigest("".join(shard.content for shard in shards).encode()),
        columns=columns,
        last_file=max(B.split_id(last)[0], *(p.file for part in docs.parts for p in part.slices), 0),
        inputs=_inputs(docs, hidden=n_hidden(docs.stages) > 0),
        shards=tuple(shards),
        stats=stats.to_json(),
        unread=unread,
        origin=origin,
        made_with={"python": platform.python_version_tuple()[:2], "pyarrow": pa.__version__},
    )


def _inputs(docs: Dataset, *, hidden: bool) -> list[dict[str, Any]]:
    """Return the input files by number, or what was added to the file numbers of sealed Datasets."""
    found: dict[tuple[int, str], dict[str, Any]] = {}
    for part in docs.parts:
        kind = "offset" if isinstance(part.reader, Sealed) else "file"
        for piece in part.slices:
            name, source = (HIDDEN, HIDDEN) if hidden else (files.name_of(piece.url), piece.source)
            found.setdefault((piece.file, name), {kind: piece.file, "name": name, "source": source})
    return list(found.values())
