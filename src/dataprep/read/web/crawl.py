"""Base class of the readers of web crawl archives: records become documents, and their fields become columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np
import orjson
import pyarrow as pa

from dataprep.core.model import batch as B
from dataprep.core.model.batch import Batch, doc_id
from dataprep.core.model.ledger import Ledger
from dataprep.core.model.reader import Slice
from dataprep.core.model.tables import BAD_DIGEST, DAMAGED, SEGMENTED, Unread
from dataprep.errors import PlanError, ReadError, a_or_an, counted
from dataprep.read.json.columns import KINDS
from dataprep.read.text import Record, RecordColumns, documents
from dataprep.read.trust import LimitedReader, Trust

from .archive import Entry
from .blocks import ArchiveBlock
from .digests import is_wrong
from .members import has_no_checksum
from .records import read_records
from .response import Refused, refuse
from .segments import NUMBER, Segments

CHANGED = "the bytes of the record differ from its WARC digest; fetch the file again, or read it with digests=False"
NAMED, NAMED_CHARS = 10, 40  # record types in a message, and characters of each
TOGETHER = 1 << 20  # characters of pages that are extracted in a row, while the parser's code and data are in the cache
FLUSH = 1_024  # dropped records that are added to the statistics together


Refusal: TypeAlias = tuple[int, str, int]  # of a record that is dropped: position, reason, bytes


class PageRecord(NamedTuple):
    """A record that becomes a document: position, text or characters of HTML, size as stored, and JSON metadata."""

    position: int
    content: bytes | str
    n_bytes: int
    meta: str


class Plain(NamedTuple):
    """The documents of many records, none of which is dropped (None: there are none), and the number of each type."""

    rows: RecordColumns | None
    types: Counter[str]


@dataclass(frozen=True, kw_only=True)
class Crawl(LimitedReader):
    """Base class of readers of web crawl archives; every record of the type `HOLDS` becomes a document.

    Attributes:
        columns: pairs (name, type); these entries of FIELDS become columns of their own, the others are stored in
            `meta`. max_doc_bytes: the maximum size of a record's payload in bytes, decompressed. max_bad: the largest
            share of broken records; above it the file is rejected.
        strict: raise ReadError at the first broken record; otherwise broken records are dropped with reason and
            position.
        digests: whether records are compared with their WARC digests; None: only in archives whose compression has no
            checksum of its own, that is, all but gzip and xz.
    """

    columns: tuple[tuple[str, str], ...] = ()
    strict: bool = False
    digests: bool | None = None

    NAME: ClassVar[str]
    HOLDS: ClassVar[str]  # the record type of documents
    ALSO: ClassVar[frozenset[str]] = frozenset()  # other types that may be documents
    OTHERS: ClassVar[frozenset[str]] = frozenset()  # other types that are left out one by one, with a reason
    FIELDS: ClassVar[Mapping[str, str]]  # name: type

    def __post_init__(self) -> None:
        super().__post_init__()
        strange = [(n, k) for n, k in self.columns if self.FIELDS.get(n) != k]
        if strange:
            known = ", ".join(f"{n} ({k})" for n, k in self.FIELDS.items())
            msg = f"{self.NAME} has no field {strange[0][0]!r} that is {a_or_an(strange[0][1])}; the fields are {known}"
            raise PlanError(msg)

    @classmethod
    def types_of(cls, url: str, names: tuple[str, ...]) -> tuple[tuple[str, str], ...]:  # noqa: ARG003 - they are known
        """Return (name, type) of each of the fields `names`; the types of an archive's fields are fixed."""
        return tuple((name, cls.FIELDS.get(name, "string")) for name in names)

    @property
    def adds(self) -> Mapping[str, pa.DataType]:
        """The columns that this reader adds to id, text, source and meta, as {name: type}."""
        return {name: KINDS[kind] for name, kind in self.columns}

    def __call__(self, piece: Slice, stats: Ledger) -> Iterator[Batch]:
        """Yield the documents of a file as batches; broken and rejected records are dropped in `stats`."""
        trust = Trust(piece.url, self.max_bad, whole=False)
        batches = documents(self._records(piece, stats), piece, stats, trust)
        yield from map(self._lifted, batches) if self.columns else batches

    def document(self, entry: Entry, stats: Ledger, seen: set[Any]) -> tuple[bytes | str, Mapping[str, Any]] | None:
        """Return (text in UTF-8, {name: value} for columns and meta) of a record; None if the record is ignored.

        If the text is to be extracted from HTML, that is returned in its place, as a str.

        - entry: the record.
        - seen: a set that is empty at the start of each file, for the reader's own use.

        Raises Refused with the reason if the record is to be dropped.
        """
        raise NotImplementedError

    def at_once(self, block: ArchiveBlock) -> Plain | None:  # noqa: ARG002 - most readers need each record
        """Return the documents of a block of records; None if its records must be read one by one."""
        return None

    def extracted(self, html: str) -> bytes:
        """Return the text of HTML that `document` returned, in UTF-8. Raises Refused if there is no text."""
        raise NotImplementedError

    def max_block(self) -> int:
        """Return the largest size in bytes of a record's content that is loaded; larger records are dropped."""
        return self.max_doc_bytes

    def _records(self, piece: Slice, stats: Ledger) -> Iterator[Record | RecordColumns]:
        archive = Trust(piece.url, self.max_bad, remedy="fetch the file again, or allow more with max_bad=")
        types: Counter[str] = Counter()
        refused: list[Refusal] = []
        seen: set[Any] = set()
        wanted = frozenset({self.HOLDS, *self.ALSO})
        checks = has_no_checksum(piece.url) if self.digests is None else self.digests
        changed: list[int] = []
        held: list[PageRecord] = []
        size = 0
        segments = Segments(self.max_block())
        loaded = wanted | {"continuation"}
        try:
            for entry in self._found(piece, loaded, checks=checks):
                if isinstance(entry, Plain):
                    archive.good += sum(entry.types.values())
                    types.update(entry.types)
                    if entry.rows is not None:
                        yield from self._finished(held, refused)
                        yield entry.rows
                    continue
                if len(refused) >= FLUSH:
                    record_drops(refused, piece, stats)
                if entry.lost:
                    refused.append((entry.position, entry.lost, entry.n_bytes))
                    archive.count((), (entry.position,), lambda e=entry: e.message)  # type: ignore[misc]
                    continue
                if checks and self._is_changed(entry, piece.url):
                    changed.append(entry.position)
                    refused.append((entry.position, BAD_DIGEST, entry.n_bytes))
                    archive.count((), (entry.position,), lambda: CHANGED)
                    continue
                archive.good += 1
                kind = entry.headers.get("warc-type", "").lower() or "without a type"
                types[kind] += 1
                if kind not in loaded and kind not in self.OTHERS:
                    continue
                if NUMBER in entry.headers and (kind == "continuation" or entry.body is not None):
                    whole = segments.add(entry)
                    if whole is None:
                        continue
                    entry = whole  # noqa: PLW2901 - the record of which it is the last segment
                elif kind == "continuation":
                    continue
                try:
                    if kind in self.OTHERS:
                        refuse(kind)
                    if entry.body is None:
                        refuse("too_long")
                    found = self.document(entry, stats, seen)
                except Refused as e:
                    refused.append((entry.position, e.reason, entry.n_bytes))
                    continue
                if found is None:
                    continue
                meta = orjson.dumps(found[1]).decode()
                held.append(PageRecord(entry.position, found[0], entry.n_bytes, meta))
                size += len(found[0])
                if size >= TOGETHER:
                    yield from self._finished(held, refused)
                    size = 0
        except ReadError:
            yield from self._finished(held, refused)
            raise
        yield from self._finished(held, refused)
        segments.close()
        refused += segments.lost
        record_drops(refused, piece, stats)
        for kind, n in types.items():
            stats.count(f"records.{kind}", n if kind not in wanted and kind not in self.OTHERS else 0)
        archive.close()
        if not any(types[kind] for kind in wanted):
            broken = f" and {archive.bad:,} broken" if archive.bad else ""
            named = ", ".join(kind[:NAMED_CHARS] for kind in [*types][:NAMED])
            msg = (
                f"the file has no {self.HOLDS} records, which {self.NAME} files hold, only {named}{broken}; "
                "fetch it again, or name another reader with format="
            )
            raise ReadError(msg, piece.url, 0, reason="unreadable" if archive.bad else "empty")
        stats.unread += _rows_of_broken(piece.url, archive, changed)
        apart = [position for position, reason, _ in segments.lost if reason == SEGMENTED]
        if apart:
            detail = f"dropped {counted(len(apart), 'record')} whose segments are missing from the file or out of order"
            stats.unread.append(Unread(piece.url, SEGMENTED, min(apart), detail))

    def _finished(self, held: list[PageRecord], refused: list[Refusal]) -> Iterator[Record]:
        """Yield the pages as records with their texts, and empty the list; pages without text are added to `refused`.

        The texts of all pages are extracted in a row, so that the parser's code and data stay in the cache.
        """
        held.reverse()
        found = [self._finish(held.pop(), refused) for _ in range(len(held))]  # each page leaves its memory to the next
        yield from (record for record in found if record is not None)

    def _finish(self, page: PageRecord, refused: list[Refusal]) -> Record | None:
        try:
            text = self.extracted(page.content) if isinstance(page.content, str) else page.content
        except Refused as e:
            refused.append((page.position, e.reason, page.n_bytes))
            return None
        return Record(page.position, text, len(text), page.meta)

    def _found(self, piece: Slice, loaded: frozenset[str], *, checks: bool) -> Iterator[Entry | Plain]:
        """Yield the records of a file, in their order; those of whole blocks together if `at_once` can read them."""
        for found in read_records(piece.url, loaded, self.max_block(), strict=self.strict):
            if isinstance(found, Entry):
                yield found
                continue
            plain = None if checks else self.at_once(found)
            if plain is None and not checks:
                found, types = found.without(loaded | self.OTHERS)  # noqa: PLW2901 - the records that are left
                yield Plain(None, types)
            if plain is None:
                yield from found.entries(loaded, self.max_block())
            else:
                yield plain

    def _is_changed(self, entry: Entry, url: str) -> bool:
        """Return whether a record that was loaded differs from its digest. Raises ReadError if it does and `strict`."""
        found = entry.body is not None and is_wrong(entry.headers, entry.body, self.max_doc_bytes)
        if found and self.strict:
            raise ReadError(CHANGED, url, entry.position)
        return found

    def _lifted(self, batch: Batch) -> Batch:
        """Move the columns out of the batch's meta; return the batch."""
        metas = [orjson.loads(meta) for meta in batch.column("meta").to_pylist()]
        for name, kind in self.columns:
            values = [meta.pop(name, None) for meta in metas]
            if kind == "string":
                values = [v if v is None or isinstance(v, str) else orjson.dumps(v).decode() for v in values]
            batch = B.with_column(batch, name, pa.array(values, KINDS[kind]))
        left = pa.array([orjson.dumps(meta).decode() for meta in metas], pa.large_string())
        return B.with_column(batch, "meta", left)


def _rows_of_broken(url: str, archive: Trust, changed: list[int]) -> Iterator[Unread]:
    """Yield the rows of an archive that was read except for broken records, and records with wrong digests."""
    total, n_broken = archive.good + archive.bad, archive.bad - len(changed)
    if changed:
        detail = f"{len(changed):,} of {total:,} records were dropped, since {CHANGED}"
        yield Unread(url, BAD_DIGEST, changed[0], detail)
    if n_broken and archive.first is not None:
        position, why = archive.first
        yield Unread(url, DAMAGED, position, f"{n_broken:,} of {total:,} records are damaged; the first: {why}")


def record_drops(refused: list[Refusal], piece: Slice, stats: Ledger) -> None:
    """Record the dropped records in the statistics and empty the list; each position counts once."""
    once = {position: (why, n) for position, why, n in reversed(refused)}
    ids = np.array([doc_id(piece.file, position) for position in once], np.uint64)
    stats.drop(ids, [why for why, _ in once.values()], n_bytes=[n for _, n in once.values()])
    refused.clear()
