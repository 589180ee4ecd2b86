"""Read the documents that a Pipeline dropped and the texts that it cut out, from its input."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import pyarrow as pa

from dataprep.errors import PlanError, ReadError, require
from dataprep.lazy import compute as pc
from dataprep.store import files
from dataprep.store.hashes import Hashes

from ..model import batch as B
from ..model.batch import Batch
from ..model.ledger import Ledger
from ..model.part import Part
from ..model.reader import Reader, Slice, reader_of
from ..model.tables import SCHEMAS, id_bounds, opened, rows_between
from ..model.unread import read_unread
from ..output.layout import CUTS, DROPS, FORGET_LIST, Folder
from .look_up import is_same, is_there

FORGOTTEN = "forgotten"  # the reason of documents that must not be read again (`forget_list.py`)


@dataclass(frozen=True)
class IdTable:
    """A table of dropped documents or of cut spans, and the smallest and the largest id in it."""

    url: str
    first: int
    last: int


def tables_of(folders: Sequence[Folder], kind: str) -> tuple[IdTable, ...]:
    """Return the tables of dropped documents (DROPS) or of cut spans (CUTS) of the folders that have rows."""
    found = []
    for url in (url for folder in folders for url in folder.tables(kind)):
        with opened(url, SCHEMAS[kind]) as file:
            bounds = id_bounds(file.metadata)
        if bounds:
            found.append(IdTable(url, min(low for low, _ in bounds), max(high for _, high in bounds)))
    return tuple(found)


def input_parts(folder: Folder) -> tuple[Part, ...]:
    """Return the input files of a Dataset as parts, one part per file, without the files that the run left out.

    A part skips its file's damage if the run did.

    Raises ReadError if the input is not known, or a file is missing or has changed since.
    """
    origin = folder.origin
    if origin is None:
        msg = "the input files are not known, since the folder was moved without origin.json, or a stage hides them"
        raise ReadError(msg, folder.url)
    known = Hashes()
    known.load(folder.url)
    unread = read_unread(folder.url).column("file").to_pylist()
    parts = []
    for row in (row for row in origin.files if not row.left_out):
        reader, url = reader_of(origin.readers[row.reader]), row.url
        if reader is None:
            msg = "it was read by a custom reader; read it again with that reader, and select the ids in `drops()`"
            raise ReadError(msg, url)
        if not is_same(row, reader, known):
            state = "has changed" if is_there(url) else "is missing"
            msg = f"this input file of {folder.url} {state}; restore the original file"
            raise ReadError(msg, url)
        piece = Slice(url, row.file, source=row.source, fingerprint=row.fingerprint, n_bytes=row.size)
        parts.append(Part((piece,), reader, skips_bad=any(name.startswith(url) for name in unread)))
    return tuple(parts)


@dataclass(frozen=True)
class Removed(Reader):
    """Base class of readers of removed documents and texts.

    Attributes:
        reader: the reader of the input.
        made: a hash that identifies the result whose stages removed the documents or texts.
        tables: the drop or cut tables; their paths have no influence on hashes.
        skips_bad: whether the run skipped the rest of a file that is damaged.
    """

    reader: Reader
    made: str
    tables: tuple[IdTable, ...]
    skips_bad: bool = field(default=False, kw_only=True, compare=False)
    kind: ClassVar[str]  # of the tables
    columns: ClassVar[Mapping[str, pa.DataType]] = {}

    def recipe(self) -> Any:
        """Return the values that identify this reader: the reader of the input, and the result."""
        return (self.reader, self.made)

    @property
    def adds(self) -> Mapping[str, pa.DataType]:
        """The columns of the input, and the columns that describe what was removed."""
        return {**self.reader.adds, **self.columns}

    def __call__(self, piece: Slice, stats: Ledger) -> Iterator[Batch]:
        """Yield the documents of the slice from which something was removed."""
        for batch in self._read(piece, stats):
            ids = B.ids(batch)
            low, high = (int(ids.min()), int(ids.max())) if len(ids) else (1, 0)
            found = [table.url for table in self.tables if table.first <= high and table.last >= low]
            rows = [rows_between(url, low, high, SCHEMAS[self.kind]) for url in found]
            if sum(map(len, rows)):
                yield from self._chosen(batch, pa.concat_tables(rows))

    def _read(self, piece: Slice, stats: Ledger) -> Iterator[Batch]:
        try:
            yield from self.reader(piece, Ledger(stats.stage, quiet=True))
        except ReadError:
            if not self.skips_bad:
                raise

    def _chosen(self, batch: Batch, rows: pa.Table) -> Iterator[Batch]:
        """Yield the documents of a batch that are in the table, with the added columns."""
        raise NotImplementedError


@dataclass(frozen=True)
class DroppedDocuments(Removed):
    """Reads the documents that were dropped, as they are in the input, with the columns of the drop table."""

    kind: ClassVar[str] = DROPS
    columns: ClassVar[Mapping[str, pa.DataType]] = {
        f.name: f.type for f in SCHEMAS[DROPS] if f.name not in ("id", "source", "bytes")  # the document contains them
    }

    def _chosen(self, batch: Batch, rows: pa.Table) -> Iterator[Batch]:
        rows = rows.filter(pc.not_equal(rows["reason"], FORGOTTEN)).sort_by("id")
        at, there = B.find_sorted(rows["id"].to_numpy(), B.ids(batch))
        if there.any():
            taken, out = rows.take(pa.array(at[there])), batch.filter(pa.array(there))
            for name in self.columns:
                out = B.with_column(out, name, taken[name].combine_chunks())
            yield out


@dataclass(frozen=True)
class CutTexts(Removed):
    """Reads the texts that one stage cut out; the fragments cut from one document are joined by line feeds.

    Attributes:
        stage: the label of the stage.
        earlier: the labels of the earlier stages that cut spans of the same texts.
    """

    stage: str
    earlier: tuple[str, ...]
    kind: ClassVar[str] = CUTS
    columns: ClassVar[Mapping[str, pa.DataType]] = {"stage": pa.string()}

    def recipe(self) -> Any:
        """Return the values that identify this reader: the reader of the input, the result, and the stage."""
        return (*super().recipe(), self.stage)

    def _chosen(self, batch: Batch, rows: pa.Table) -> Iterator[Batch]:
        cuts: dict[tuple[int, str], list[tuple[int, int]]] = {}
        for id_, stage, start, end in zip(*(rows[n].to_pylist() for n in ("id", "stage", "start", "end")), strict=True):
            cuts.setdefault((id_, stage), []).append((start, end))
        numbers, texts, chosen = B.ids(batch).tolist(), batch.column("text"), []
        pieces: list[str] = []
        for row, id_ in enumerate(numbers):
            if (id_, self.stage) in cuts:
                data = texts[row].as_py().encode()
                for stage in self.earlier:
                    data = b"".join(split(data, cuts.get((id_, stage), []))[0])
                chosen.append(row)
                pieces.append(b"\n".join(split(data, cuts[id_, self.stage])[1]).decode(errors="replace"))
        if chosen:
            out = B.with_column(batch.take(pa.array(chosen)), "text", pa.array(pieces, pa.large_string()))
            yield B.with_column(out, "stage", pa.array([self.stage] * len(chosen)))


def split(data: bytes, spans: Sequence[tuple[int, int]]) -> tuple[list[bytes], list[bytes]]:
    """Return the fragments of `data` outside the ranges `spans`, pairs (start, end), and those inside, both in order.

    Ranges that overlap or touch count as one range.
    """
    outside, inside, at = [], list[tuple[int, int]](), 0
    for start, end in sorted(spans):
        if inside and start <= at:
            inside[-1] = (inside[-1][0], max(at, end))
        else:
            outside.append(data[at:start])
            inside.append((start, end))
        at = max(at, end)
    return [*outside, data[at:]], [data[start:end] for start, end in inside]


def dropped_parts(home: Folder) -> tuple[Part, ...]:
    """Return parts that read the documents that were dropped to make the Dataset in the folder `home`."""
    given, listed = (home.sealed.key, tables_of((*home.saved, home), DROPS)), forget_list_of(home)
    return tuple(
        replace(part, reader=DroppedDocuments(part.reader, *given, skips_bad=part.skips_bad), forgotten=listed)
        for part in input_parts(home)
    )


def forget_list_of(home: Folder) -> str:
    """Return the URL of the list of forgotten documents, which are not read; "" if there is no list."""
    return home.path(FORGET_LIST) if files.exists(home.path(FORGET_LIST)) else ""


def cut_parts(home: Folder, stage: str | None, opened: Callable[[str], tuple[Part, ...]]) -> tuple[Part, ...]:
    """Return parts that read the texts which a stage cut out to make the Dataset in the folder `home`.

    - stage: as in `cut_by`.
    - opened: returns the parts of the sealed Dataset in a folder.
    """
    folders = [*home.saved, home]
    place, label, earlier = cut_by(folders, stage)
    at = folders.index(place)
    given = (home.sealed.key, tables_of([place], CUTS), label, earlier)
    parts = opened(folders[at - 1].url) if at else input_parts(home)
    listed = forget_list_of(home)
    return tuple(
        replace(part, reader=CutTexts(part.reader, *given, skips_bad=part.skips_bad), forgotten=listed)
        for part in parts
    )


def cut_by(folders: Sequence[Folder], stage: str | None) -> tuple[Folder, str, tuple[str, ...]]:
    """Return the folder in which a stage cut texts, its label, and the labels of earlier stages that cut texts there.

    - stage: the label of the stage; None if it is the only stage that cut texts.

    Raises PlanError if the stage cut nothing.
    """
    labels: dict[str, Folder] = {}
    stats = {folder: (folder.record or folder.sealed).stats for folder in folders}
    by_rule = {one["name"] for some in stats.values() for one in some if one.get("cuts")}
    for folder, some in stats.items():  # the statistics of a folder include those of the saved folders before it
        for one in some:
            if one.get("counts", {}).get("spans_cut"):
                labels.setdefault(one["name"], folder)
    wanted = next(iter(labels)) if stage is None and len(labels) == 1 else stage
    if wanted not in labels:
        require(stage not in by_rule, f"stage={stage!r} stores no spans, only counts and examples per rule "
                "(`stats`, `dataprep inspect`); `dataprep why DIR ID` shows the cuts of one document")  # fmt: skip
        which = ", ".join(map(repr, labels)) or "there is none"
        msg = f"stage={stage!r} must be one of the stages that cut texts: {which}"
        raise PlanError(msg)
    place = labels[str(wanted)]
    names = [name for name, folder in labels.items() if folder is place]
    return place, str(wanted), tuple(names[: names.index(str(wanted))])
