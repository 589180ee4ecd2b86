"""Documents at rest: input files or sealed shards, and the stages still to apply.

A Dataset is a list of Parts; a Part is what one task works on. `read(...)` makes Parts of input files, a Pipeline
seals a folder of Parquet shards with a manifest, `open_dataset(DIR)` opens it again.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, cast

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from . import batch as B
from . import files
from .batch import Batch
from .errors import CorruptShard, PlanError, ReadError, need
from .key import key
from .meter import Meter, watch
from .stage import DropIds, Stage
from .stats import Stats

MANIFEST = "manifest.json"
READ = "read"  # the name of the reader's book


@dataclass(frozen=True)
class Slice:
    """A piece of one input file: what lies in [start, stop) of the reader's own positions; stop None is the end."""

    url: str
    file: int  # its number in the Dataset; for sealed shards, what is added to the file numbers inside
    start: int = 0
    stop: int | None = None
    source: str = ""
    fingerprint: str = ""  # tells the file's content; empty: taken from the file when a key is asked for
    n_bytes: int = 0  # as stored

    def recipe(self) -> Any:
        """What is in it, not where it lies."""
        return (
            self.fingerprint or files.fingerprint(self.url),
            self.file,
            self.start,
            self.stop,
            self.source,
        )


class Reader:
    """Reads Slices into batches: a frozen dataclass, found by suffix or by name.

    `columns` are those it adds to the fixed ones. `splits`: whether a plain file may be entered at any byte.
    """

    VERSION: ClassVar[int] = 1
    suffixes: ClassVar[tuple[str, ...]] = ()
    splits: ClassVar[bool] = False

    @property
    def adds(self) -> Mapping[str, pa.DataType]:
        """Columns beyond the fixed ones."""
        return {}

    def __call__(self, piece: Slice, stats: Meter) -> Iterator[Batch]:
        """The documents of a slice; bad records are dropped through `stats` with their position."""
        raise NotImplementedError


@dataclass(frozen=True)
class Sealed(Reader):
    """Reads the Parquet shards that a Pipeline wrote; one row group is one batch."""

    extra: tuple[
        tuple[str, str], ...
    ] = ()  # the names and types of columns beyond the fixed ones, for the plan
    suffixes: ClassVar[tuple[str, ...]] = ()

    @property
    def adds(self) -> Mapping[str, pa.DataType]:
        """Columns beyond the fixed ones."""
        return {name: pa.null() for name, _ in self.extra}

    def __call__(self, piece: Slice, stats: Meter) -> Iterator[Batch]:
        """Every row group as one batch."""
        return self.read(piece, None)

    def read(self, piece: Slice, columns: Sequence[str] | None) -> Iterator[Batch]:
        """Every row group as one batch, only the columns named."""
        try:
            with (
                files.open_raw(piece.url) as f,
                pq.ParquetFile(f, memory_map=False, pre_buffer=False) as parquet,
            ):
                if parquet.metadata.num_row_groups == 0:
                    empty = B.empty(parquet.schema_arrow)
                    yield empty if columns is None else empty.select(columns)
                for group in range(parquet.metadata.num_row_groups):
                    table = parquet.read_row_group(group, columns=columns, use_threads=False)
                    for batch in table.combine_chunks().to_batches():
                        yield _renumber(batch, piece.file)
        except (pa.ArrowInvalid, OSError, ReadError) as e:
            msg = f"{piece.url} is not the shard that was sealed ({e}); run the pipeline again"
            raise CorruptShard(msg) from e


def _renumber(batch: Batch, offset: int) -> Batch:
    if not offset or "id" not in batch.schema.names:
        return batch
    return B.with_column(batch, "id", pa.array(B.ids(batch) + (offset << B.POSITION_BITS)))


@dataclass(frozen=True)
class Part:
    """What one task works on: some slices, their reader, and the stages still to apply."""

    slices: tuple[Slice, ...]
    reader: Reader
    stages: tuple[Stage, ...] = ()

    @property
    def n_bytes(self) -> int:
        """Bytes as stored."""
        return sum(piece.n_bytes for piece in self.slices)

    def __str__(self) -> str:
        first = self.slices[0]
        more = f" and {len(self.slices) - 1} more" if len(self.slices) > 1 else ""
        return f"{first.url}[{first.start}:{'' if first.stop is None else first.stop}]{more}"

    def meters(self, seed: int = 0) -> list[Meter]:
        """A book for the reader (not for sealed shards, of which nothing is dropped) and one for each stage."""
        names = [] if isinstance(self.reader, Sealed) else [READ]
        return [Meter(name, seed) for name in (*names, *(s.name for s in self.stages))]

    def batches(
        self, columns: Sequence[str] | None = None, meters: Sequence[Meter] | None = None
    ) -> Iterator[Batch]:
        """The documents, through the pending stages; ids ascend.

        columns: only these, where it saves reading. meters: one a book (`meters()`), to keep the books.
        """
        if isinstance(self.reader, Sealed):
            flow: Iterator[Batch] = itertools.chain.from_iterable(
                self.reader.read(piece, self._wanted(columns)) for piece in self.slices
            )
            book = list(meters or [])
        else:
            book = list(meters or self.meters())
            flow = self._read(book.pop(0))
        for stage in self.stages:
            flow = watch(stage, flow, book.pop(0)) if book else stage(flow, cast("Meter", _Deaf()))
        return flow if columns is None else (batch.select(list(columns)) for batch in flow)

    def _wanted(self, columns: Sequence[str] | None) -> list[str] | None:
        if columns is None or not all(isinstance(s, DropIds) for s in self.stages):
            return None
        return list(dict.fromkeys(["id", *columns]))

    def _read(self, meter: Meter) -> Iterator[Batch]:
        for piece in self.slices:
            meter.source = piece.source
            for batch in self.reader(piece, meter):
                if batch.num_rows:
                    yield meter.gave(batch)


class _Deaf:
    """Stands in for a Meter where a stage's book was kept by an earlier pass."""

    def drop(self, *args: Any, **kwargs: Any) -> None:
        pass

    count = observe = drop


@dataclass(frozen=True)
class Dataset:
    """Documents, in order of their ids.

    Iterating costs a read each time unless it is sealed: `Pipeline().run(docs, out=DIR)` seals.
    """

    parts: tuple[Part, ...]
    url: str | None = None  # the folder, if sealed
    manifest: dict[str, Any] = field(default_factory=dict, hash=False)

    @cached_property
    def part_keys(self) -> list[str]:
        """One key a part: what is in its input, how it is read, and the pending stages."""
        known: dict[str, str] = {}

        def named(piece: Slice) -> Slice:
            if not piece.fingerprint and piece.url not in known:
                known[piece.url] = files.fingerprint(piece.url)
            return replace(piece, fingerprint=piece.fingerprint or known[piece.url])

        return [key((p.reader, [named(s) for s in p.slices], p.stages)) for p in self.parts]

    @cached_property
    def key(self) -> str:
        """The key of everything in it."""
        return key(self.part_keys)

    @property
    def stages(self) -> tuple[Stage, ...]:
        """The stages still to apply."""
        return self.parts[0].stages if self.parts else ()

    @property
    def columns(self) -> list[str]:
        """Names of the columns, those that pending stages add included."""
        names = list(B.FIXED)
        for part in self.parts[:1]:
            names += [*part.reader.adds, *(name for stage in part.stages for name in stage.adds)]
        return list(dict.fromkeys(names))

    @property
    def n_bytes(self) -> int:
        """Bytes as stored."""
        return sum(part.n_bytes for part in self.parts)

    def then(self, *stages: Stage) -> Dataset:
        """The same documents with stages still to apply."""
        return Dataset(tuple(replace(part, stages=(*part.stages, *stages)) for part in self.parts))

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[Batch]:
        """Every batch, in order."""
        self._check_columns(columns)
        for part in self.parts:
            yield from part.batches(columns)

    def table(self, columns: Sequence[str] | None = None) -> pa.Table:
        """All documents in memory, or only some columns of them."""
        batches = list(self.batches(columns))
        if not batches:
            empty = B.empty() if columns is None else B.empty().select([c for c in columns if c in B.FIXED])
            return pa.Table.from_batches([empty])
        return pa.Table.from_batches(batches).unify_dictionaries()

    def take(self, n: int) -> list[dict[str, Any]]:
        """The first n documents as dicts, to look at."""
        rows: list[dict[str, Any]] = []
        for batch in self.batches():
            rows += batch.slice(0, n - len(rows)).to_pylist()
            if len(rows) >= n:
                break
        return rows

    @property
    def count(self) -> int:
        """How many documents; read to be counted unless sealed."""
        if self.manifest and not self.stages:
            return int(self.manifest["docs"])
        return sum(batch.num_rows for batch in self.batches(["id"]))

    def __len__(self) -> int:
        return self.count

    @property
    def stats(self) -> Stats:
        """What each stage kept, dropped, and why; empty for a Dataset that no Pipeline made."""
        return Stats.from_json(self.manifest.get("stats", []))

    def __repr__(self) -> str:
        what = (
            f"{self.manifest['docs']:,} documents in {self.url}"
            if self.manifest
            else f"{len(self.parts)} parts"
        )
        return f"Dataset({what}; columns {', '.join(self.columns)})"

    def write(self, path: str, format: str | None = None) -> None:  # noqa: A002 - the word users know
        """Write all documents to one file: `jsonl`, `jsonl.gz`, `jsonl.zst` (the default) or `parquet`."""
        formats = {
            "jsonl": _write_jsonl,
            "jsonl.gz": _write_jsonl,
            "jsonl.zst": _write_jsonl,
            "parquet": _write_parquet,
        }
        name = format or next((f for f in formats if str(path).endswith("." + f)), "jsonl.zst")
        if name not in formats:
            msg = f"unknown format {name!r}; write {', '.join(formats)}"
            raise PlanError(msg)
        with files.atomic(str(path)) as f:
            formats[name](self, f, name)

    def to_hf(self) -> Any:
        """A `datasets.Dataset` of the same rows; needs the extra `hf`."""
        datasets = need("datasets", extra="hf")
        table = self.table()
        plain = [
            table.column(n).cast(pa.string()) if n == "source" else table.column(n)
            for n in table.column_names
        ]
        return datasets.Dataset(pa.table(plain, names=table.column_names))

    def _check_columns(self, columns: Sequence[str] | None) -> None:
        unknown = sorted(set(columns or ()) - set(self.columns))
        if unknown:
            msg = f"there is no column {', '.join(unknown)}; there are {', '.join(self.columns)}"
            raise PlanError(msg)


def _write_jsonl(docs: Dataset, f: Any, name: str) -> None:
    with files.compressor(f, name) as out:
        for batch in docs.batches():
            rows = batch.to_pylist()
            for row in rows:
                row["id"] = str(row["id"])  # ids pass 2^53
                row["meta"] = orjson.Fragment(row["meta"])
            out.write(b"".join(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE) for row in rows))


def _write_parquet(docs: Dataset, f: Any, _: str) -> None:
    writer = None
    for batch in B.recut(docs.batches()):
        writer = writer or parquet_writer(f, batch.schema, "zstd")
        writer.write_batch(batch)
    writer = writer or parquet_writer(f, B.SCHEMA, "zstd")
    writer.close()


def parquet_writer(f: Any, schema: pa.Schema, compression: str) -> pq.ParquetWriter:
    """How every shard is written: the text without a dictionary, which would halve the speed of reading."""
    dictionaries = [field.name for field in schema if pa.types.is_dictionary(field.type)]
    return pq.ParquetWriter(
        f, schema, compression=compression, use_dictionary=dictionaries or False, write_statistics=["id"]
    )


def open_dataset(url: str) -> Dataset:
    """Open a folder that a Pipeline sealed.

    Errors: ReadError if there is none, CorruptShard if a shard is missing or has another size.
    """
    url = str(url).rstrip("/")
    place = files.join(url, MANIFEST)
    if not files.exists(place):
        msg = "there is no sealed Dataset (no manifest.json); was the pipeline run to its end?"
        raise ReadError(msg, url)
    manifest = files.read_json(place)
    if manifest.get("kind") != "dataset":
        msg = "manifest.json is not of a Dataset; token shards are opened with Shards.open"
        raise ReadError(msg, url)
    reader = Sealed(extra=tuple((n, t) for n, t in manifest["columns"] if n not in B.FIXED))
    return Dataset(tuple(Part((_shard(url, s),), reader) for s in manifest["shards"]), url, manifest)


def _shard(url: str, shard: dict[str, Any]) -> Slice:
    place = files.join(url, shard["name"])
    found = files.size(place) if files.exists(place) else None
    if found != shard["size"]:
        state = "is missing" if found is None else f"has {found:,} bytes, {shard['size']:,} were sealed"
        msg = f"{place} {state}; run the pipeline again with replace=True"
        raise CorruptShard(msg)
    return Slice(place, 0, source="", fingerprint=shard["hash"], n_bytes=shard["size"])


def join_datasets(datasets: Sequence[Dataset]) -> Dataset:
    """Several sealed Datasets as one: file numbers are shifted so that ids stay unique."""
    parts: list[Part] = []
    offset = 0
    for docs in datasets:
        if not docs.manifest:
            msg = "only sealed Datasets can be read together; seal each with Pipeline().run(docs, out=DIR) first"
            raise PlanError(msg)
        for part in docs.parts:
            parts.append(replace(part, slices=tuple(replace(s, file=s.file + offset) for s in part.slices)))
        offset += docs.manifest["last_file"] + 1
    return Dataset(tuple(parts))
