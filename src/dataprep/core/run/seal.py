"""Write a Dataset's folder: Parquet shards, tables and a receipt for each part (task), and then one manifest."""

from __future__ import annotations

import itertools
import logging
import platform
from collections.abc import Callable, Iterator, Sequence
from dataclasses import astuple, dataclass
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
from ..model.dataset import Dataset, open_dataset
from ..model.describe import READ
from ..model.ledger import Ledger
from ..model.part import Part, Sealed, ShardWriter
from ..model.stage import n_hidden
from ..model.stats import HIDDEN, StageStats, Stats
from ..model.unread import Unread, check_unread, unread_of, without_names, write_unread
from ..output import owned
from ..output.audit import CELL, Search, Strings, audit, json_strings
from ..output.changed import renumber
from ..output.claim import remove_parts_of_others
from ..output.layout import CUTS, DROPS, MANIFEST, Folder
from .context import trial_of
from .runner import Runner

log = logging.getLogger("dataprep")

SHARD_BYTES = 256 << 20  # of text per shard; a large file that is read as one part becomes several shards


@dataclass(frozen=True)
class Seal:
    """Task that reads a Part, applies its pending stages, and writes the resulting documents into the folder `out`.

    It writes Parquet shards, the tables of dropped documents and cut spans, and the receipt, a record of these files.
    codec: Parquet compression. ledgers: function that returns the ledgers in which a part's stages are recorded.
    """

    out: str
    codec: str
    ledgers: Callable[[Part], list[Ledger]] = Part.ledgers

    def __call__(self, part: Part) -> dict[str, Any]:
        """Write the files of a part, unless it has a valid receipt, and return its receipt."""
        receipt = Folder(self.out).receipt(part.number)
        return receipts.once(receipt, self.done_key(part), lambda: self._write(part))

    def done_key(self, part: Part) -> str:
        """Return the key that the receipt of a part states; `part` has its own."""
        return f"{part.key}-{self.codec}"

    def _write(self, part: Part) -> dict[str, Any]:
        ledgers = self.ledgers(part)
        shards = list(self._shards(part.batches(ledgers=ledgers), part))
        tables = {DROPS: [ledger.drop_table() for ledger in ledgers]}
        if any(ledger.cuts for ledger in ledgers):
            tables[CUTS] = [ledger.cut_table() for ledger in ledgers]
        urls = {kind: Folder(self.out).table(kind, part.number) for kind in tables}
        for kind, found in tables.items():
            table = pa.concat_tables(found) if found else Ledger("").drop_table()
            with files.atomic(urls[kind]) as f:  # rows of one document are in the order of stages
                pq.write_table(
                    table.sort_by("id"), f, compression="zstd", row_group_size=1 << 16, write_page_checksum=True
                )
        unread = [row for ledger in ledgers for row in ledger.unread]
        unread = without_names(unread) if n_hidden(part.stages) else unread
        return {
            "files": [*urls.values(), *(files.join(self.out, s["name"]) for s in shards)],
            "shards": shards,
            "stats": published([ledger.record for ledger in ledgers], part.stages).to_json(),
            **({"unread": [astuple(row) for row in unread]} if unread else {}),
        }

    def _shards(self, batches: Iterator[Batch], part: Part) -> Iterator[dict[str, Any]]:
        flow = _Flow(batches)
        for number in itertools.count():
            shard = Folder(self.out).shard(part.number, number)
            facts = self.shard(flow, files.join(self.out, shard), part)
            yield {"name": shard, **facts}
            if flow.next is None:
                return

    def shard(self, flow: _Flow, url: str, part: Part) -> dict[str, Any]:
        """Write batches to `url` as one Parquet file (shard) until it is full; return its entry for the manifest.

        flow: the remaining batches of `part`, after those of earlier shards. The entry has the number of documents and
        bytes, the last id, the columns and a hash of the content.
        """
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


def seal(
    docs: Dataset, out: str, run: Runner, codec: str, recipe: dict[str, Any], *, earlier: Sequence[Stats], label: str,
    unread: Sequence[Unread] = (), audits: Sequence[Search] = (), hidden: Sequence[str] = (),
) -> Dataset:  # fmt: skip
    """Write the documents of `docs`, their tables and receipts and, last, the manifest into `out`; return the Dataset.

    run: the Runner. codec: Parquet compression, lz4 for saved steps, zstd for results. recipe: the input and the
    stages, for the manifest. label: title of the progress bar. earlier: statistics of the earlier passes. unread: files
    that could not be read. audits: searches for private strings in the folder. hidden: paths that the audits skip,
    since they are deleted afterwards.

    Raises Leak, before the manifest is written, if an audit finds a private string that may not stay.
    """
    trial = trial_of(run)
    task = Seal(out, codec, trial.ledgers) if trial else Seal(out, codec)
    receipts: list[dict[str, Any]] = []
    rows: list[Unread] = []
    listed = _listed_rows(docs, unread)
    tasks = docs.tasks
    renumber(out, [task.done_key(part) for part in tasks])
    try:
        for receipt in run.map(task, tasks, label):
            receipts.append(receipt)
            rows += _unread_rows(receipt)
            check_unread(rows, docs.max_bad_files)
        check_unread(rows, docs.max_bad_files, sum(map(_docs_read, receipts)) if rows else None)
    except ReadError as e:
        if e.path is not None and not n_hidden(docs.stages):
            write_unread(out, [*listed, *rows, unread_of(e, e.path)])
        raise
    if len(receipts) != len(docs.parts):
        msg = f"{run!r} returned {len(receipts)} results of {len(docs.parts)} tasks; map must yield one result per item"
        raise PlanError(msg)
    files.sweep(out)
    remove_parts_of_others(out, receipts)
    stated = write_unread(out, [*listed, *rows])
    record = _manifest(docs, recipe, receipts, earlier) | stated
    for search in () if trial else audits:
        written = Strings(MANIFEST, CELL, list(json_strings(orjson.dumps(record))))
        left = audit(out, search, run, also=[written], skip=hidden)
        if left:
            log.warning("%d names that are also common words are left in %s: see docs/chats-safety.md", len(left), out)
    files.write_state(Folder(out).path(MANIFEST), record)
    owned.settle(out)
    return open_dataset(out)


def write_shard(batches: Iterator[Batch], url: str, codec: str, columns: Sequence[str]) -> dict[str, Any]:
    """Write batches to `url` as one Parquet file (shard); return its entry for the manifest.

    The entry has the number of documents and bytes, the last id, the columns and a hash of the content. codec: Parquet
    compression. columns: the columns of the file if there are no batches.
    """
    part = Part((), Sealed(extra=tuple((name, "") for name in columns if name not in B.FIXED)))
    return Seal(out="", codec=codec).shard(_Flow(batches), url, part)


def published(stats: Sequence[StageStats], stages: Sequence[Any]) -> Stats:
    """Return the statistics to save; names and texts are removed from all stages up to the last that hides its input.

    stats: the statistics of the reader and of the forget list, if there are any, and then of each of `stages`.
    """
    n = n_hidden(stages)
    last = n + len(stats) - len(stages) if n else 0
    return Stats([one.hidden() if i < last else one for i, one in enumerate(stats)])


class _Flow:
    """Batches in canonical cuts, taken a shard at a time; `next` is None if all were taken."""

    def __init__(self, batches: Iterator[Batch]) -> None:
        self.schema: pa.Schema | None = None
        self.batches = B.recut(self._noted(batches))
        self.next: Batch | None = next(self.batches, None)

    def _noted(self, batches: Iterator[Batch]) -> Iterator[Batch]:
        for batch in batches:
            self.schema = batch.schema
            yield batch

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


def _listed_rows(docs: Dataset, earlier: Sequence[Unread]) -> list[Unread]:
    """Return the files that were not read: those left out when `docs` was made, and those of `earlier` passes."""
    listed = [*docs.left_out, *earlier]
    return without_names(listed) if n_hidden(docs.stages) else listed


def _unread_rows(receipt: dict[str, Any]) -> list[Unread]:
    """Return the files that were not read while a part was made, as listed in the part's receipt (work record)."""
    return [Unread(*row) for row in receipt.get("unread", [])]


def _docs_read(receipt: dict[str, Any]) -> int:
    """Return the number of documents that the reader of a part returned, as stated in its receipt (work record)."""
    return sum(stage.docs_out for stage in Stats.from_json(receipt["stats"]) if stage.name == READ)


def _manifest(
    docs: Dataset, recipe: dict[str, Any], receipts: list[dict[str, Any]], earlier: Sequence[Stats]
) -> dict[str, Any]:
    """Return the content of manifest.json, the description of a complete Dataset, as plain values.

    recipe: its first fields. receipts: the record of each part's work. earlier: statistics of the passes that saved the
    inputs of Estimators. The manifest does not depend on the time, the paths of this machine, or the workers.
    """
    stored = [{files.name_of(f["name"]): f for f in receipt["files"] if "data" in f["name"]} for receipt in receipts]
    shards = [
        shard | {name: found[files.name_of(shard["name"])][name] for name in ("size", "hash")}
        for receipt, found in zip(receipts, stored, strict=True) for shard in receipt["shards"]
    ]  # fmt: skip
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
        "inputs": _inputs(docs, hidden=n_hidden(docs.stages) > 0),
        "shards": [{k: v for k, v in s.items() if k != "columns"} for s in shards],
        "stats": stats.to_json(),
        "made_with": {"python": platform.python_version_tuple()[:2], "pyarrow": pa.__version__},
    }


def _inputs(docs: Dataset, *, hidden: bool) -> list[dict[str, Any]]:
    """Return the input files by number, or what was added to the file numbers of sealed Datasets."""
    found: dict[tuple[int, str], dict[str, Any]] = {}
    for part in docs.parts:
        kind = "offset" if isinstance(part.reader, Sealed) else "file"
        for piece in part.slices:
            name, source = (HIDDEN, HIDDEN) if hidden else (files.name_of(piece.url), piece.source)
            found.setdefault((piece.file, name), {kind: piece.file, "name": name, "source": source})
    return list(found.values())
