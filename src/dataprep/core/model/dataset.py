"""Dataset: documents in input files or sealed shards, and the stages still to apply.

A Dataset is a list of Parts; a Part is the work of one task. `read(...)` makes Parts of input files. A Pipeline seals a
folder: it writes Parquet shards and, as the last file, a manifest. `open_dataset(DIR)` opens the folder again.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from dataprep.errors import CorruptShard, PlanError, ReadError, counted, require
from dataprep.shown.notebook import shown_in_notebooks
from dataprep.store import files
from dataprep.store.hashes import Hashes, fingerprints, listed
from dataprep.store.key import key
from dataprep.store.place import check_here, here

from ..inputs import removed
from ..inputs.look_up import check_input
from ..output import layout as folder
from ..output.layout import Folder, at_hand
from ..output.one_result import one_result, opened
from ..output.state import Manifest, Shard
from . import batch as B
from . import blame
from .batch import Batch
from .columns import as_text, union_of
from .documents import Documents
from .part import Part, Sealed
from .reader import Reader, Slice
from .stage import Head, Stage
from .stats import HIDDEN, Stats
from .tables import SCHEMAS, Unread, read_rows
from .unread import NOT_OPENED, check_unread, read_unread, rows_of, unread_table
from .verdict import Verdict

SPREAD = 8  # parts from which a sample is taken
WITH_TEXT = pa.schema([B.SCHEMA.field("id"), B.SCHEMA.field("text")])
MOST_SOURCES = 64  # sources of which a sample also contains the beginning


@dataclass(frozen=True)
class Dataset(Documents):
    """A collection of documents in input files or in a sealed (complete) output folder, in the order of their ids.

    Documents are read when they are needed. Each iteration reads the input again and applies the pending stages (those
    that were added but not run yet). To save the result, call `Pipeline().run(docs, out=DIR)`.

    Attributes:
        parts: the input, divided into parts; each part is one task.
        url: the output folder if the Dataset is sealed, else None.
        manifest: the content of the folder's manifest; None if the Dataset is not sealed.
        left_out: the listed files that are not read.
        max_bad_files: ReadError is raised if more files than this are bad (damaged, or with too many bad records); None
            sets no limit.
        last: an object that remembers the batch that was read last; None if no batch is remembered.
        hashes: the known content hashes of input files, which are not computed again.
        given_in: the working folder in which `url` was given.
    """

    parts: tuple[Part, ...]
    url: str | None = None  # the folder, if sealed
    manifest: Manifest | None = field(default=None, hash=False)
    left_out: tuple[Unread, ...] = ()  # found while listing files; no key depends on this or on the limit
    max_bad_files: int | None = 0  # None: no limit
    last: blame.LastRead | None = field(default=None, compare=False, repr=False)
    hashes: Hashes = field(default_factory=Hashes, compare=False, repr=False)
    given_in: str = field(default_factory=here, compare=False, repr=False)

    def check_here(self) -> None:
        """Raise PlanError if a relative path was given and the working folder has changed since then."""
        if self.url is not None:
            check_here(self.given_in, [self.url])
        for part in self.parts:
            part.check_here()

    @cached_property
    def fingerprints(self) -> dict[str, str]:
        """{URL: hash of the content} of the input files; a fixed text replaces the hash of a file that is not read."""
        self.check_here()
        pieces = [(piece, part.skips_bad) for part in self.parts for piece in part.slices]
        known = {piece.url: piece.fingerprint for piece, _ in pieces}
        stated = listed(dict.fromkeys(piece.listed for piece, _ in pieces if piece.listed and not piece.fingerprint))
        may_fail = {piece.url for piece, skips_bad in pieces if skips_bad or piece.unread is not None}

        def hash_of(url: str) -> str:
            try:
                return self.hashes.fingerprint(url)
            except ReadError:
                if url not in may_fail:
                    raise
                return NOT_OPENED

        known |= {url: found or stated.get(url, "") for url, found in known.items()}
        return known | fingerprints((url for url, found in known.items() if not found), hash_of)

    @cached_property
    def part_keys(self) -> list[str]:
        """One hash per part, computed from the content of its input, its reader, and the pending stages."""
        return [part.work_key(self.fingerprints, self.hashes.fingerprint) for part in self.parts]

    @property
    def part_urls(self) -> list[str]:
        """The URL of the first file of each part that reads files."""
        return [part.slices[0].url for part in self.parts if part.slices]

    @property
    def tasks(self) -> list[Part]:
        """The parts, one per task, with `number` and `key` set, to be passed to a Runner's `map`."""
        self.check_here()
        keyed = enumerate(zip(self.parts, self.part_keys, strict=True))
        return [replace(part, number=number, key=key_) for number, (part, key_) in keyed]

    @cached_property
    def key(self) -> str:
        """One hash of the content of all input and of the pending stages."""
        return key(self.part_keys)

    @property
    def stages(self) -> tuple[Stage, ...]:
        """The stages that are applied to the documents each time they are read."""
        return self.parts[0].stages if self.parts else ()

    @property
    def stage_names(self) -> tuple[str, ...]:
        """The names, in statistics, of the stages that are applied each time that the documents are read."""
        return self.parts[0].stage_names if self.parts else ()

    @property
    def is_only_decided(self) -> bool:
        """True if all pending stages only apply Estimators' decisions, so nothing must be saved before the next one.

        The beginnings of parts, which a trial reads, can be read again, too.
        """
        return all(isinstance(stage, (Head, Verdict)) for stage in self.stages)

    @property
    def hides(self) -> bool:
        """True if a pending stage hides the input, so that its files and sources must not be named."""
        return any(stage.hides for stage in self.stages)

    @property
    def inputs(self) -> list[dict[str, Any]]:
        """The input files by number; for sealed Datasets, the number added to the file numbers in their ids."""
        found: dict[tuple[int, str], dict[str, Any]] = {}
        hides = self.hides
        for part in self.parts:
            kind = "offset" if isinstance(part.reader, Sealed) else "file"
            for piece in part.slices:
                name, source = (HIDDEN, HIDDEN) if hides else (files.name_of(piece.url), piece.source)
                found.setdefault((piece.file, name), {kind: piece.file, "name": name, "source": source})
        return list(found.values())

    @property
    def last_file(self) -> int:
        """The largest file number in an id, also in those of documents that sealed Datasets dropped."""
        pieces = [(_is_sealed(part.reader), piece) for part in self.parts for piece in part.slices]
        homes = {(folder.home_of(piece.url) if is_sealed else None, piece.file) for is_sealed, piece in pieces}
        made = ((number, None if home is None else home.readable) for home, number in homes)
        return max((number + (0 if of is None else of.last_file) for number, of in made), default=0)

    @property
    def unread_rows(self) -> list[Unread]:
        """The files that were not read."""
        return rows_of(self.unread())

    @property
    def columns(self) -> list[str]:
        """The names of the columns, including the columns that pending stages add."""
        of_reader = [name for part in self.parts[:1] for name in part.reader.adds]
        return list(dict.fromkeys([*B.FIXED, *of_reader, *(name for stage in self.stages for name in stage.adds)]))

    @property
    def n_bytes(self) -> int:
        """The size of the input in bytes, as stored; for compressed files this is the compressed size."""
        return sum(part.n_bytes for part in self.parts)

    def of(self, parts: Iterable[Part]) -> Dataset:
        """Return an unsealed Dataset of the given parts, with the other fields of this Dataset."""
        return replace(self, parts=tuple(parts), url=None, manifest=None)

    def then(self, *stages: Stage, labels: Sequence[str] = ()) -> Dataset:
        """Return a Dataset that also applies `stages` when it is read.

        - labels: the stages' names in statistics.
        """
        return self.of(part.then(*stages, labels=labels) for part in self.parts)

    def sample(self, max_bytes: int) -> Dataset:
        """Return a Dataset of about `max_bytes` of text, taken from the beginnings of up to 8 evenly spaced parts."""
        chosen = self.spread()
        return self.of(part.then(Head(max_bytes=max_bytes // len(chosen))) for part in chosen)

    def spread(self) -> Sequence[Part]:
        """Return up to 8 evenly spaced parts, and the first part of each of up to 64 sources of input files."""
        n = len(self.parts)
        first: dict[str, int] = {}
        for i, part in enumerate(self.parts):
            for piece in part.slices:
                first.setdefault(piece.source, i)
        even = range(n) if n <= SPREAD else [i * n // SPREAD for i in range(SPREAD)]
        return [self.parts[i] for i in sorted({*even, *list(first.values())[:MOST_SOURCES]})]

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[Batch]:
        """Yield all documents in batches, after the pending stages.

        Args:
            columns: names of the columns to read (None: all).

        Raises ReadError if more files than `max_bad_files` are damaged or have too many bad records.
        """
        self._check_columns(columns)
        rows, n_docs = list[Unread](), 0
        for part in self.parts:
            reader = [] if isinstance(part.reader, Sealed) else part.ledgers()[:1]
            flow = part.batches(columns, reader)
            yield from flow if self.last is None else map(self.last.noted, flow)
            for ledger in reader:
                rows, n_docs = rows + ledger.unread, n_docs + ledger.record.docs_out
            check_unread(rows, self.max_bad_files)
        check_unread(rows, self.max_bad_files, n_docs)

    @property
    def count(self) -> int:
        """The number of documents. Unless the Dataset is sealed (complete), all documents are read to count them."""
        return self.sealed.docs if self._is_counted else sum(batch.num_rows for batch in self.batches(["id"]))

    @property
    def _is_counted(self) -> bool:
        return self.manifest is not None and not self.stages

    def __len__(self) -> int:
        """Return the number of documents. Raises TypeError if they must be read to count them; use `count` then."""
        if not self._is_counted:
            msg = "a Dataset that is not sealed has no length until it is read; use docs.count, which reads it"
            raise TypeError(msg)
        return self.count

    def __bool__(self) -> bool:
        """Return whether the Dataset has at least one document."""
        return self.count > 0 if self._is_counted else any(batch.num_rows for batch in self.batches(["id"]))

    @property
    def sealed(self) -> Manifest:
        """The manifest of this Dataset. Raises PlanError if it is not sealed (complete)."""
        if self.manifest is None:
            msg = f"{self!r} is not sealed; open a finished folder with dp.open_dataset, or run a Pipeline first"
            raise PlanError(msg)
        return self.manifest

    @property
    def stats(self) -> Stats:
        """The statistics of each stage that made this Dataset; empty if no Pipeline made it."""
        return Stats.from_json([] if self.manifest is None else self.manifest.stats)

    def drops(self) -> pa.Table:
        """Return a table of the documents that this Dataset's stages dropped, one row per document.

        The columns are:

        - id, stage, reason: the id of the dropped document, and the stage and the reason for which it was dropped.
        - duplicate_of: the id of the document that was kept instead; null if there is none.
        - duplicate_of_dataset: the Dataset that contains the kept document; null if it is this Dataset.
        - similarity: the similarity of the two documents, 0 to 1.
        - source: the source of the dropped document.
        - bytes: the size, in UTF-8 bytes, of the text that the stage received.
        - value: the number, such as a score, that the filter compared with its threshold.
        - label: the label of a classifier, such as the language.
        """
        return self._tables(folder.DROPS)

    def cuts(self) -> pa.Table:
        """Return a table of the spans that stages cut out of texts, one row per span. Offsets are in UTF-8 bytes.

        The columns are:

        - id, stage, start, end: the document's id, the stage, and the offsets of the span in the text that the stage
          read.
        - duplicate_of_dataset, duplicate_of, duplicate_of_start, duplicate_of_end: the location of the copy that was
          kept: its Dataset (null if it is this one), its document, and its offsets in that document.
        - reason: the rule that cut the span; null if the stage has only one rule.
        - source: the document's source.
        """
        return self._tables(folder.CUTS)

    def dropped(self) -> Dataset:
        """Return a Dataset of the documents that this Dataset's stages dropped, with their texts as in the input.

        The Dataset also has the columns stage, reason, duplicate_of_dataset, duplicate_of, similarity, value and label
        of `drops()`. Forgotten documents are left out. If the Pipeline ran with `keep_dropped=True`, the documents are
        read from the output folder, where stages that mask private data have masked it; otherwise they are read from
        the input. Raises ReadError if the input is not known, or has moved or changed.
        """
        with self._reading() as home:
            kept = home.kept
            if kept.readable is None:
                return Dataset(removed.dropped_parts(home))
            listed, parts = removed.forget_list_of(home), open_dataset(kept.url).parts
            return Dataset(tuple(replace(part, forgotten=listed) for part in parts))

    def cut_texts(self, stage: str | None = None) -> Dataset:
        """Return a Dataset of the texts that a stage cut out; fragments of the same document are joined by line feeds.

        Args:
            stage: the stage's name in `cuts()`; None if only one stage cut texts.

        The Dataset has the further column `stage`. Raises PlanError if the stage cut nothing, and ReadError if the
        input of the stage is not known, or has moved or changed.
        """
        with self._reading() as home:
            return Dataset(removed.cut_parts(home, stage, lambda url: open_dataset(url).parts))

    @contextlib.contextmanager
    def _reading(self) -> Iterator[Folder]:
        """Yield the folder of this Dataset. Raises Replaced if another result replaces or has replaced this one.

        Raises PlanError if the Dataset is not sealed, or has stages that have not been run.
        """
        known = "only a sealed Dataset records what was removed; run a Pipeline first, and use its result"
        require(self._is_counted, known)
        self.check_here()
        home = Folder(str(self.url))
        with one_result(home.url):
            now, own = home.manifest, self.sealed
            if now is None or not now.is_same(own) or now.generation != own.generation:
                raise folder.replaced(home.url)
            yield home

    def unread(self) -> pa.Table:
        """Return a table of the files that were not read, with the columns file, reason, offset (in bytes) and detail.

        If the Dataset is not sealed (complete), the table lists only the files that were left out when the Dataset was
        created.
        """
        if self.manifest is not None:
            with self._reading() as home:
                return shown_in_notebooks(read_unread(home.url))
        empty = (piece.unread for part in self.parts for piece in part.slices if piece.unread is not None)
        return shown_in_notebooks(unread_table((*self.left_out, *empty)))

    def _tables(self, kind: str) -> pa.Table:
        schema, found = SCHEMAS[kind], list[pa.Table]()
        if self.manifest is not None:
            with self._reading() as home:
                found = [read_rows(url, schema) for one in (*home.saved, home) for url in one.tables(kind)]
        return shown_in_notebooks(pa.concat_tables([schema.empty_table(), *found]))

    def __repr__(self) -> str:
        m = self.manifest
        what = f"{counted(m.docs, 'document')} in {self.url}" if m is not None else counted(len(self.parts), "part")
        return f"Dataset({what}; columns {', '.join(self.columns)})"

    def text_of(self, id_: int | str) -> str:
        """Return the text of the document `id_` (an integer or "file:position"). Raises PlanError if it is unknown."""
        id_ = B.parse_id(str(id_))
        if self._is_counted:  # the shard is known, and its row group is found by the ids
            self.check_here()
            ends = [-1 if shard.last_id is None else shard.last_id for shard in self.sealed.shards]
            parts = [part for part, end in zip(self.parts, ends, strict=True) if end >= id_]
            for row in Sealed().rows(parts[0].slices[0].url, [id_], WITH_TEXT) if parts else ():
                return str(row["text"])
        else:
            for batch in itertools.chain.from_iterable(part.batches(["id", "text"]) for part in self.parts):
                rows = np.flatnonzero(B.ids(batch) == id_)
                if len(rows):
                    return str(batch.column("text")[int(rows[0])])
        msg = f"there is no document {B.show_id(id_)} in {self!r}; `dataprep inspect` prints the ids"
        raise PlanError(msg)

    def _check_columns(self, columns: Sequence[str] | None) -> None:
        unknown = sorted(set(columns or ()) - set(self.columns))
        if unknown:
            msg = f"there is no column {', '.join(unknown)}; the columns are {', '.join(self.columns)}"
            raise PlanError(msg)


def _is_sealed(reader: Reader) -> bool:
    """Return whether a reader reads the shards of a sealed Dataset, also for what was removed from them."""
    return isinstance(reader, Sealed) or (isinstance(reader, removed.Removed) and _is_sealed(reader.reader))


def check_dataset(docs: object) -> None:
    """Raise PlanError unless `docs` is a Dataset."""
    if not isinstance(docs, Dataset):
        msg = f"docs={docs!r:.80} must be a Dataset; read files with dp.read, open results with dp.open_dataset"
        raise PlanError(msg)


def open_dataset(url: str) -> Dataset:
    """Return the Dataset in a folder that a Pipeline completed (sealed).

    Args:
        url: the folder, as a path or a URL.

    Raises ReadError if the folder contains no sealed Dataset, and CorruptShard if a data file is missing or has the
    wrong size.
    """
    url = str(url).rstrip("/")
    return opened(url, lambda: _opened(url))


def _opened(url: str) -> Dataset:
    home = Folder(url)
    if home.manifest is None and home.is_sealed:
        msg = "manifest.json does not describe a Dataset; to open token shards, use Shards.open"
        raise ReadError(msg, url)
    manifest = home.sealed
    check_input(home)
    reader = Sealed(extra=tuple((n, t) for n, t in manifest.columns if n not in B.FIXED))
    sizes = {} if files.is_local(url) else files.sizes(files.join(url, folder.DATA))
    return Dataset(tuple(Part((_shard(url, s, sizes),), reader) for s in manifest.shards), url, manifest)


def _size(url: str) -> int | None:
    """Return the size of a file in bytes; None if it does not exist."""
    try:
        return files.size(url)
    except ReadError as e:
        if isinstance(e.__cause__, FileNotFoundError):
            return None
        raise


def _shard(url: str, shard: Shard, sizes: Mapping[str, int]) -> Slice:
    stored = files.join(url, shard.name)
    found = sizes[stored] if stored in sizes else _size(at_hand(stored))
    if found != shard.size:
        state = "is missing" if found is None else f"has {counted(found, 'byte')}, but {shard.size:,} were sealed"
        msg = f"{stored} {state}; run the pipeline again to restore it"
        raise CorruptShard(msg)
    made = shard.sealed or shard.hash  # the hash before documents were forgotten, so that keys stay the same
    return Slice(stored, 0, source="", fingerprint=made, n_bytes=shard.size)


def join_datasets(datasets: Sequence[Dataset]) -> Dataset:
    """Return several sealed (complete) Datasets as one. File numbers in ids are shifted, so that ids remain unique.

    The result has the columns of all Datasets; if a Dataset lacks a column, its documents have nulls there. Raises
    PlanError if a Dataset is not sealed, or if the types of a column differ and no type can represent all values.
    """
    parts: list[Part] = []
    offset = 0
    for docs in datasets:
        if docs.manifest is None:
            msg = "only sealed Datasets can be read together; seal each with Pipeline().run(docs, out=DIR) first"
            raise PlanError(msg)
        parts += [part.shifted(offset) for part in docs.parts]
        offset += docs.manifest.last_file + 1
    return Dataset(_alike(parts, datasets))


def _alike(parts: Sequence[Part], datasets: Sequence[Dataset]) -> tuple[Part, ...]:
    """Return the parts of several sealed Datasets with readers that yield the columns of all of them."""
    first = {str(docs.url): docs.parts[0] for docs in datasets if docs.parts}
    readers = {url: part.reader for url, part in first.items() if isinstance(part.reader, Sealed)}
    if len(set(readers.values())) <= 1:
        return tuple(parts)
    schema = union_of({url: reader.schema(first[url].slices[0]) for url, reader in readers.items()})
    extra = tuple((column.name, str(column.type)) for column in schema if column.name not in B.FIXED)
    return tuple(replace(part, reader=Sealed(extra, as_text(schema))) for part in parts)
