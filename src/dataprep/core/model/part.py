"""Part: the share of the input that one task reads: slices of files, their reader, and the stages still to apply."""

from __future__ import annotations

import contextlib
import functools
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from dataprep.errors import ReadError
from dataprep.lazy import parquet as pq
from dataprep.store import compress, hashes
from dataprep.store.key import key
from dataprep.store.place import check_here, here

from ..output.layout import open_at_hand
from . import batch as B
from . import blame, view
from .batch import Batch, Ids
from .columns import from_text, with_columns
from .describe import FORGET, READ, numbered
from .ledger import Ledger
from .process import begin_slice, check_stopped
from .reader import Reader, Slice
from .stage import Stage
from .tables import checked, rows_of_ids
from .unread import set_aside
from .verdict import CutSpans, DropIds, Verdict

REOPEN = (
    "if documents were forgotten since the Dataset was opened, open it again; otherwise `dataprep verify DIR --repair "
    "PIPELINE` restores it"
)


@dataclass(frozen=True)
class Sealed(Reader):
    """Reads the Parquet files of documents (shards) that a Pipeline wrote; one row group is one batch.

    Attributes:
        extra: (name, type) of each column other than id, text, source and meta.
        joined: the schema of all Datasets that this one is joined with, as text; columns that a shard lacks contain
            nulls. "" if all shards have the same columns.
    """

    thread_safe: ClassVar[bool] = True

    extra: tuple[tuple[str, str], ...] = ()
    joined: str = field(default="", compare=False)  # `extra` has the same names and types

    @property
    def adds(self) -> Mapping[str, pa.DataType]:
        """The columns of the shards in addition to id, text, source and meta; the type of each is given as null."""
        return {name: pa.null() for name, _ in self.extra}

    def schema(self, piece: Slice) -> pa.Schema:
        """Return the schema of the batches of the shard `piece`."""
        if self.joined:
            return from_text(self.joined)
        with self._opened(piece.url) as parquet:
            stated = view.stated_in(parquet)
            return from_text(stated["schema"]) if stated else parquet.schema_arrow.remove_metadata()

    def __call__(self, piece: Slice, stats: Ledger) -> Iterator[Batch]:  # noqa: ARG002 - drops nothing
        """Yield every row group of a shard as one batch; `piece.file` is added to the file numbers in ids."""
        return self.read(piece, None)

    def read(self, piece: Slice, columns: Sequence[str] | None) -> Iterator[Batch]:
        """Yield every row group of the shard (Parquet file) `piece` as one batch.

        - columns: the names of the columns to read; None: all.
        """
        flow = self._stored(piece, columns)
        if self.joined:
            schema = from_text(self.joined)
            return (with_columns(batch, schema, columns) for batch in flow)
        return flow

    def _stored(self, piece: Slice, columns: Sequence[str] | None) -> Iterator[Batch]:
        with self._opened(piece.url) as parquet:
            stated = view.stated_in(parquet)
            if not stated or (columns is not None and {*columns}.isdisjoint(stated["given"])):
                yield from self._groups(parquet, piece, columns)
                return
            own = parquet.read(use_threads=False)
        for batch in view.documents(stated, own, piece.url, columns, Sealed):
            yield _renumbered(batch, piece.file) if "id" in batch.schema.names else batch

    def _groups(self, parquet: pq.ParquetFile, piece: Slice, columns: Sequence[str] | None) -> Iterator[Batch]:
        if parquet.metadata.num_row_groups == 0:
            empty = B.empty(parquet.schema_arrow)
            yield empty if columns is None else empty.select([c for c in columns if c in empty.schema.names])
        for group in range(parquet.metadata.num_row_groups):
            table = parquet.read_row_group(group, columns=columns, use_threads=False)
            for batch in table.replace_schema_metadata().combine_chunks().to_batches():
                yield _renumbered(batch, piece.file) if "id" in batch.schema.names else batch

    @contextlib.contextmanager
    def _opened(self, url: str) -> Iterator[pq.ParquetFile]:
        coded = ["source", *(name for name, kind in self.extra if kind.startswith("dictionary"))]
        with checked(url, "shard that was sealed", REOPEN), open_at_hand(url) as f:
            footer = pq.read_metadata(f)
            there = [name for name in coded if name in footer.schema.names]  # a view has few of them
            yield pq.ParquetFile(
                f, metadata=footer, read_dictionary=there, pre_buffer=False, page_checksum_verification=True
            )

    def rows(self, url: str, ids: Sequence[int], schema: pa.Schema | None = None) -> Iterator[dict[str, Any]]:
        """Yield the documents of the shard `url` with the given ids, in ascending order, as dicts.

        - schema: the columns to read; None: all.
        """
        with self._opened(url) as parquet:
            stated = view.stated_in(parquet)
            own = parquet.read(use_threads=False) if stated else None
        if own is None:
            yield from rows_of_ids(url, ids, schema)
            return
        names = None if schema is None else schema.names
        for batch in view.documents(stated, own, url, names, Sealed, np.array(sorted(ids), np.uint64)):
            yield from batch.to_pylist()


@dataclass(frozen=True)
class Part:
    """The share of the input that one task reads: slices of files, their reader, and the stages still to apply.

    Args:
        number: the part's index in the Dataset.
        key: a hash of the part's content and stages. `Dataset.tasks` sets `number` and `key`.
        labels: the names of the stages in statistics, if these differ from the stages' own names.
        forgotten: the URL of a list of documents that are dropped right after reading; "" for none.
        skips_bad: whether reading continues after a bad file.
        max_window: the largest allowed window of zstd files, in bytes; 0 means 128 MiB.
        files_before: a number that is added to the file numbers in ids, after the stages, so that the ids of several
            Datasets remain unique.
        view: what the shards of a view state about their documents (`view.statement`); "" to write the documents.
        given_in: the working folder in which relative paths of the slices were given. The key does not depend on
            `forgotten`, `skips_bad`, `files_before`, `view` or `given_in`.
    """

    slices: tuple[Slice, ...]
    reader: Reader
    stages: tuple[Stage, ...] = ()
    labels: tuple[str, ...] = field(default=(), compare=False)
    forgotten: str = field(default="", compare=False)
    skips_bad: bool = field(default=False, compare=False)
    max_window: int = 0
    number: int = field(default=0, compare=False)
    key: str = field(default="", compare=False)
    files_before: int = field(default=0, compare=False)
    view: str = field(default="", compare=False)
    given_in: str = field(default_factory=here, compare=False, repr=False)

    @property
    def n_bytes(self) -> int:
        """The size of the slices in bytes, as stored."""
        return sum(piece.n_bytes for piece in self.slices)

    @property
    def thread_safe(self) -> bool:
        """Whether the reader and all stages are dataprep's, and threads may run them on several parts at once."""
        run: tuple[Reader | Stage, ...] = (self.reader, *self.stages)
        return all(blame.is_ours(one) and one.thread_safe for one in run)

    @property
    def stage_names(self) -> tuple[str, ...]:
        """The name of each stage in statistics."""
        return (*self.labels[: len(self.stages)], *(stage.name for stage in self.stages[len(self.labels) :]))

    @property
    def applied(self) -> tuple[Stage, ...]:
        """The stages to apply after reading: a stage that drops the documents of `forgotten`, if any, then `stages`."""
        forget = DropIds(verdicts=self.forgotten, key="", estimator=FORGET)
        return (*((forget,) if self.forgotten else ()), *self.stages)

    def check_here(self) -> None:
        """Raise PlanError if a relative path was given and the working folder has changed since then."""
        check_here(self.given_in, (piece.url for piece in self.slices))
        for stage in self.stages:
            stage.check_here()

    def work_key(self, fingerprints: Mapping[str, str], hash_of: Callable[[str], str] = hashes.fingerprint) -> str:
        """Return a hash of the slices' content, the reader, and the stages.

        Args:
            fingerprints: {URL: hash} of the slices' files.
            hash_of: a function that returns the content hash of a companion file, which the reader reads in addition to
                the slices.
        """
        named = [replace(piece, fingerprint=fingerprints[piece.url]) for piece in self.slices]
        beside = {url: None for s in self.slices if s.unread is None for url in self.reader.companions(s.url)}
        paths = [self.reader.named(piece) for piece in self.slices]
        read_with = [hash_of(url) for url in beside]
        return key((self.reader, named, self.stages, read_with, self.max_window, paths))

    def __str__(self) -> str:
        first = self.slices[0]
        more = f" and {len(self.slices) - 1} more" if len(self.slices) > 1 else ""
        return f"{first.url}[{first.start}:{'' if first.stop is None else first.stop}]{more}"

    def then(self, *stages: Stage, labels: Sequence[str] = ()) -> Part:
        """Return a Part that applies `stages` after those of this one.

        - labels: the names of `stages` in statistics.
        """
        names = (*labels, *(stage.name for stage in stages[len(labels) :]))
        return replace(self, stages=(*self.stages, *stages), labels=tuple(numbered([*self.stage_names, *names])))

    def shifted(self, offset: int) -> Part:
        """Return a Part of the same documents, with `offset` added to the file numbers in their ids."""
        return replace(self, slices=tuple(replace(piece, file=piece.file + offset) for piece in self.slices))

    def ledgers(self) -> list[Ledger]:
        """Return new ledgers (records of drops and counts): one for the reader, then one per stage in `applied`.

        There is no ledger for the reader of sealed shards, since it drops nothing.
        """
        names = [] if isinstance(self.reader, Sealed) else [READ]
        names += [FORGET] if self.forgotten else []
        return [Ledger(name) for name in (*names, *self.stage_names)]

    def batches(self, columns: Sequence[str] | None = None, ledgers: Sequence[Ledger] | None = None) -> Iterator[Batch]:
        """Yield the documents in batches, in the order of their ids, with the pending stages applied to them.

        Args:
            columns: the names of the columns to read; None: all.
            ledgers: from `ledgers()`, to record the drops and cuts of each stage.
        """
        self.check_here()
        if isinstance(self.reader, Sealed):
            flow: Iterator[Batch] = itertools.chain.from_iterable(
                self.reader.read(piece, self._wanted(columns)) for piece in self.slices
            )
            records = list(ledgers or [])
        else:
            records = list(ledgers or self.ledgers())
            reader = self.reader if columns is None or self.applied else self.reader.narrowed(columns)
            flow = self._read(reader, records.pop(0))
        return self._given(blame.applied(self.applied, flow, records, self.slices), columns)

    def pick(self, ids: Ids, columns: Sequence[str]) -> Iterator[Batch]:
        """Yield the documents with the given ids in batches, in the order of `ids`; the rest is not parsed if possible.

        Args:
            ids: uint64[n], ascending, of documents that `batches` yields.
            columns: the names of the columns to read.
        """
        self.check_here()
        if self.applied or not self.reader.picks:
            for batch in self.batches(list(dict.fromkeys(("id", *columns)))):
                rows = np.flatnonzero(B.find_sorted(ids, B.ids(batch))[1])
                if len(rows):
                    yield batch.take(pa.array(rows)).select(list(columns))
            return
        in_parts = ids - np.uint64(self.files_before << B.POSITION_BITS)
        yield from self._given(self._picked(in_parts, columns), columns)

    def _picked(self, ids: Ids, columns: Sequence[str]) -> Iterator[Batch]:
        for piece in self.slices:
            base, stop = B.doc_id(piece.file, 0), 1 << B.POSITION_BITS if piece.stop is None else piece.stop
            own = ids[slice(*np.searchsorted(ids, np.array([base + piece.start, base + stop], np.uint64)))]
            if len(own):
                pick = functools.partial(self.reader.narrowed(columns).pick, piece, own - np.uint64(base))
                yield from compress.in_windows(self.max_window, blame.read_by(self.reader, piece.url, pick))

    def _given(self, flow: Iterator[Batch], columns: Sequence[str] | None) -> Iterator[Batch]:
        for batch in flow:
            check_stopped()
            numbered_batch = _renumbered(batch, self.files_before)
            yield numbered_batch if columns is None else numbered_batch.select(list(columns))

    def _wanted(self, columns: Sequence[str] | None) -> list[str] | None:
        if columns is None or not all(isinstance(s, Verdict) for s in self.stages):
            return None
        cutting = ["text"] if any(isinstance(s, CutSpans) for s in self.stages) else []
        added = {name for stage in self.stages for name in stage.adds}
        return [name for name in dict.fromkeys(["id", *cutting, *columns]) if name not in added]

    def _read(self, reader: Reader, ledger: Ledger) -> Iterator[Batch]:
        for index, piece in enumerate(self.slices):
            begin_slice(index)
            ledger.source = piece.source
            if piece.unread is not None:
                ledger.unread.append(piece.unread)
                continue
            try:
                flow = blame.read_by(reader, piece.url, functools.partial(reader, piece, ledger))
                for batch in compress.in_windows(self.max_window, flow):
                    if batch.num_rows:
                        yield ledger.returned(batch)
            except ReadError as e:
                ledger.unread.append(set_aside(e, piece.url, skip=self.skips_bad))


def _renumbered(batch: Batch, n: int) -> Batch:
    """Return the batch with `n` added to the file numbers in its ids."""
    return B.with_column(batch, "id", pa.array(B.ids(batch) + np.uint64(n << B.POSITION_BITS))) if n else batch


class ShardWriter:
    """Writes one Parquet file of documents (shard); texts are not dictionary-encoded, which would halve reading speed.

    Columns that are dictionaries in memory (source) are dictionary-encoded in the file too. However, the file's schema
    declares plain strings, since Hugging Face's `datasets` rejects Arrow dictionaries.
    """

    def __init__(self, f: Any, schema: pa.Schema, compression: str, of_view: str = "") -> None:
        from dataprep.store.parquet_writer import FileWriter

        if of_view:
            schema, compression = view.stored_schema(schema, of_view), "zstd"
        self.coded = [field.name for field in schema if pa.types.is_dictionary(field.type)]
        plain = [field.with_type(field.type.value_type) if field.name in self.coded else field for field in schema]
        self.parquet = FileWriter(
            f, pa.schema(plain, metadata=schema.metadata if of_view else None), compression=compression,
            use_dictionary=self.coded or False, write_statistics=["id"],
            write_page_checksum=True,
        )  # fmt: skip

    def write(self, batch: Batch) -> None:
        """Write a batch of documents as one row group of the Parquet file."""
        batch = batch.select(self.parquet.schema.names)
        for name in self.coded:
            batch = B.with_column(batch, name, batch.column(name).dictionary_decode())
        self.parquet.write_batch(batch.cast(self.parquet.schema))

    def close(self) -> None:
        """Write the footer of the Parquet file, which completes it."""
        self.parquet.close()
