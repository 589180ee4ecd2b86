"""Reader of JSON Lines: one JSON object per line, the text in one of its fields.

The position of a document is the byte offset of its line in the decompressed text. Fields other than the text and the
columns remain in `meta` as written. Blank lines are skipped; a byte order mark, carriage returns and a missing last
newline are allowed. A line with an empty text is a document. Bad lines are dropped with the first reason that applies:
`too_long` (over max_doc_bytes), `invalid_utf8` (also for a text with an escaped lone surrogate, which UTF-8 cannot
encode), `not_json` (not valid by RFC 8259, or nested deeper than 1,024 levels), `not_an_object`, `no_text` (the field
is missing or not a string).
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dataprep.core.model import batch as B
from dataprep.core.model.batch import Batch, Ids, doc_id
from dataprep.core.model.ledger import Ledger
from dataprep.core.model.reader import Slice
from dataprep.errors import ReadError
from dataprep.read.source_field import as_sources, field_path
from dataprep.read.text import BOM, PADDING, LineBlock, blocks, open_at
from dataprep.read.text_field import meant, paths_of
from dataprep.read.trust import LimitedReader, Trust
from dataprep.store import files
from dataprep.unicode.valid import is_utf8

from . import scan as J
from .columns import KINDS, check_kinds, check_taken, convert, infer
from .inner import Inner

Ints: TypeAlias = npt.NDArray[np.int64]
BLOCK = B.MAX_BYTES  # bytes per read: a whole batch, since each batch costs some milliseconds, however small it is
HEAD = 4_096  # bytes at the start, which show how the file is written
BAD_LINES = 1_024  # the kernel returns after so many bad lines


@dataclass(frozen=True, kw_only=True)
class Jsonl(LimitedReader):
    """Reads JSON Lines: one document per line.

    Attributes:
        text: the field that contains the text, or "OUTER.INNER" for a nested field.
        columns: pairs (name, type); these fields become columns; types are string, int64, double and bool.
        meta: whether to keep the other fields.
        source: "field:NAME" or "field:OUTER.INNER", the field that names the source of a document; this field is also
            kept in meta. The limits of bad records apply to lines.
    """

    text: str = "text"
    columns: tuple[tuple[str, str], ...] = ()
    meta: bool = True
    source: str = ""
    splits: ClassVar[bool] = True
    picks: ClassVar[bool] = True
    thread_safe: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_taken(self.text, [name for name, _ in self.columns])
        check_kinds(self.columns)
        field_path(self.source, self.text)

    @classmethod
    def types_of(
        cls, url: str, names: tuple[str, ...], path: tuple[str, ...] = ()
    ) -> tuple[tuple[str, str], ...]:
        """Return (name, type) of each of the fields `names`, with types found in the first 1,000 records of a file.

        - path: a path to a field that a record must have.

        Logs a warning if none has one of the names, or the path.
        """
        with files.open_read(url) as stream:
            return infer(stream, names, url, path)

    @property
    def adds(self) -> Mapping[str, pa.DataType]:
        """The columns that this reader adds to id, text, source and meta, as {name: type}."""
        return {name: KINDS[kind] for name, kind in self.columns}

    def __call__(self, piece: Slice, stats: Ledger) -> Iterator[Batch]:
        """Yield the documents of the lines that begin in the slice as batches; bad lines are dropped in `stats`."""
        trust = Trust(piece.url, self.max_bad, whole=piece.start == 0 and piece.stop is None)
        sources: set[str] = set()
        with open_at(piece) as stream:
            for block in blocks(stream, piece.start, piece.stop, self.max_doc_bytes, BLOCK):
                if block.start == piece.start:
                    trust.remedy = _remedy(bytes(block.data[: min(HEAD, block.stop)]), self.text)
                for found in self._scan(block):
                    bad_at = found.bad[:, 0] + block.start
                    verdicts = [J.REASONS[v] for v in found.bad[:, 2].tolist()]
                    said = functools.partial(describe, block, found, self.text)
                    trust.count(found.starts + block.start, bad_at, said)
                    stats.drop(
                        bad_at.astype(np.uint64) + np.uint64(doc_id(piece.file, 0)), verdicts, n_bytes=found.bad[:, 1]
                    )
                    if len(found.starts):
                        yield self._batch(found, block, piece, (sources, stats))
        trust.close()

    def narrowed(self, columns: Sequence[str]) -> Jsonl:
        """Return a reader that leaves `meta` empty if it is not in `columns`."""
        return self if "meta" in columns or not self.meta else replace(self, meta=False)

    def pick(self, piece: Slice, positions: Ids) -> Iterator[Batch]:
        """Yield only the documents at these positions, ascending; other lines are not parsed."""
        sources: set[str] = set()
        with open_at(piece) as stream:
            for block in blocks(stream, piece.start, piece.stop, self.max_doc_bytes, BLOCK):
                ends = np.array([block.start, block.start + block.stop], np.uint64)
                own = positions[slice(*np.searchsorted(positions, ends))].astype(np.int64) - block.start
                for first in range(0, len(own), B.MAX_ROWS):
                    found = self._at(block, own[first : first + B.MAX_ROWS], piece)
                    yield self._batch(found, block, piece, (sources, Ledger("", quiet=True)))
                if not len(positions) or positions[-1] < ends[1]:
                    return  # what follows may be damaged

    def warm(self) -> None:
        """Compile the kernels (compiled functions) on one line; called once, before workers start."""
        line = b'{"a": 1}\n'
        block = LineBlock(np.frombuffer(bytearray(line + bytes(PADDING)), np.uint8), len(line), 1)
        for found in self._scan(block):
            _values(block, found.bad[:, :2], "string")

    def _scan(self, block: LineBlock) -> Iterator[_Found]:
        """Yield the records of one block, at most 16,384 at a time."""
        if block.too_long is not None:
            yield _Found.of_bad(0, block.too_long, J.TOO_LONG)
            return
        _skip_mark(block)
        invalid = _invalid_lines(block)
        fields, at = self._fields, 0
        while at < block.stop:
            out = self._buffers(block.stop - at + PADDING)
            at, rows, wrong = J.scan(block.data, at, block.stop, fields, out)
            found = self._found(out, rows, wrong)
            yield found.without(invalid) if len(invalid) else found

    def _at(self, block: LineBlock, starts: Ints, piece: Slice) -> _Found:
        """Return the records at `starts`, int64[n], which were read before."""
        _skip_mark(block)
        out = self._buffers(block.stop + PADDING)
        rows = J.scan_at(block.data, starts, self._fields, out)
        if rows < len(starts):
            msg = "changed while it was read; run again when nothing writes to it"
            raise ReadError(msg, piece.url, block.start + int(starts[rows]))
        return self._found(out, rows, 0)

    def _found(self, out: J.Records, rows: int, wrong: int) -> _Found:
        text = _own(out.text_ends[: rows + 1], out.text)
        meta = _own(out.meta_ends[: rows + 1], out.meta) if self.meta else None
        return _Found(out.starts[:rows], text, meta, out.spans[:rows], out.bad[:wrong])

    @property
    def _fields(self) -> J.Fields:
        """The names of the fields to find, and the settings, as the kernel needs them."""
        names, taken = self._names, 1 + len(self.columns)
        outer, *inner = self.text.split(".")
        path = Inner(*_joined(inner), np.array([inner.index(name) for name in inner], np.int64))
        number = names.index(outer) if inner else -2
        return J.Fields(*_joined(names), self.max_doc_bytes, self.meta, taken, number, path)

    @property
    def _names(self) -> list[str]:
        """The fields to find: the text, those of columns, and those with the source and with the text inside."""
        around = [self.text.partition(".")[0]] if "." in self.text else []
        names = [name for name, _ in self.columns]
        return [self.text, *dict.fromkeys([*names, *field_path(self.source, self.text)[:1], *around])]

    def _buffers(self, capacity: int) -> J.Records:
        n = B.MAX_ROWS
        return J.Records(
            np.empty(n, np.int64),
            np.empty(capacity, np.uint8), np.empty(n + 1, np.int64),
            np.empty(capacity, np.uint8), np.empty(n + 1, np.int64),
            np.empty((n, len(self._names) - 1, 2), np.int64), np.empty((BAD_LINES, 3), np.int64),
            np.empty(J.MAX_DEPTH - 1, np.uint8),
        )  # fmt: skip

    def _batch(self, found: _Found, block: LineBlock, piece: Slice, sources: tuple[set[str], Ledger]) -> Batch:
        columns = {}
        for k, (name, kind) in enumerate(self.columns):
            columns[name] = _values(block, found.spans[:, k], kind)
        ids = found.starts.astype(np.uint64) + np.uint64(doc_id(piece.file, block.start))
        source: Any = piece.source
        if path := field_path(self.source, self.text):
            values = _values(block, found.spans[:, self._names.index(path[0]) - 1], "string")
            source = as_sources(values, path[1:], piece, *sources)
        return B.make(ids, found.text, source, found.meta, columns)


@dataclass(frozen=True)
class _Found:
    """Records of one block: their positions in it and their values; bad lines as (start, bytes, verdict)."""

    starts: Ints
    text: pa.LargeStringArray
    meta: pa.LargeStringArray | None
    spans: Ints
    bad: Ints

    @classmethod
    def of_bad(cls, *line: int) -> _Found:
        none = np.empty(0, np.int64)
        return cls(none, pa.array([], pa.large_string()), None, none, np.array([line], np.int64))

    def without(self, invalid: Ints) -> _Found:
        """Return the records with `invalid` lines (start, bytes) among the bad lines, as not UTF-8 unless too long."""
        valid = ~np.isin(self.starts, invalid[:, 0])
        keep = pa.array(valid)
        known = np.isin(self.bad[:, 0], invalid[:, 0]) & (self.bad[:, 2] != J.TOO_LONG)
        bad = np.where(known[:, None] & (np.arange(3) == 2), J.INVALID_UTF8, self.bad)
        lines = invalid[np.isin(invalid[:, 0], self.starts)]
        bad = np.concatenate([bad, np.pad(lines, ((0, 0), (0, 1)), constant_values=J.INVALID_UTF8)])
        meta = None if self.meta is None else self.meta.filter(keep)
        return _Found(self.starts[valid], self.text.filter(keep), meta, self.spans[valid], bad[np.argsort(bad[:, 0])])


def _skip_mark(block: LineBlock) -> None:
    """Overwrite a byte order mark at the start of the file by spaces."""
    if block.start == 0 and block.data[:3].tobytes() == BOM:
        block.data[:3] = ord(" ")


def _invalid_lines(block: LineBlock) -> Ints:
    """Return the lines that are not UTF-8, int64[n, 2] of (start, bytes); the whole block is checked first."""
    found, start = [], 0
    data = block.data[: block.stop]
    for line in () if is_utf8(data) else bytes(data).split(b"\n")[:-1]:
        if not is_utf8(line):
            found.append((start, len(line)))
        start += len(line) + 1
    return np.array(found, np.int64).reshape(-1, 2)


def _values(block: LineBlock, spans: Ints, kind: str) -> pa.Array:
    starts, stops = np.ascontiguousarray(spans[:, 0]), np.ascontiguousarray(spans[:, 1])
    out = np.empty(int((stops - starts).sum()) + PADDING, np.uint8)
    ends, first = np.empty(len(starts) + 1, np.int64), np.empty(len(starts), np.uint8)
    J.gather(block.data, starts, stops, out, ends, first)
    return convert(B.strings(ends, out), first, kind)


def _own(ends: Ints, data: npt.NDArray[np.uint8]) -> pa.LargeStringArray:
    """Return kernel output as an Arrow array that holds no more memory than it needs."""
    used = int(ends[-1])
    return B.strings(ends, data if used * 2 > len(data) else data[:used].copy())


def _remedy(head: bytes, text: str) -> str:
    """Return the advice for a file of bad lines that begins with `head`.

    - text: the field of the text.
    """
    if head[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return "the file is UTF-16; convert it to UTF-8 (iconv -f UTF-16 -t UTF-8)"
    if head.lstrip()[:1] == b"[":
        return 'the file is one JSON array; read it with format="json", or write one object per line (jq -c ".[]")'
    if head.lstrip().split(b"\n")[0].strip() == b"{":
        return 'its objects have several lines; read them with format="json", or write one per line (jq -c .)'
    if b"\r" in head and b"\n" not in head.rstrip():
        return "its lines end with a carriage return alone; replace these by line feeds (tr '\\r' '\\n')"
    return f"name the text field with text= (now {text!r}), or allow more with max_bad="


def describe(block: LineBlock, found: _Found, text: str) -> str:
    """Return a description of the first bad line of `found`.

    - text: the field of the text.
    """
    start, n_bytes, verdict = found.bad[0].tolist()
    if verdict == J.TOO_LONG:
        return f"a line of {n_bytes:,} bytes, over max_doc_bytes"
    head = bytes(block.data[start : start + n_bytes])
    if verdict == J.NO_TEXT:
        return f"no text in an object with the fields {_fields(head, text)}"
    return f"{J.REASONS[verdict]} {head[:60]!r}"


def _fields(line: bytes, text: str) -> str:
    """Return the names of an object's fields, and the name that may be meant by `text`.

    A line that Python cannot parse (because it is nested a thousand levels deep) is returned as it is.
    """
    try:
        record = json.loads(line, parse_int=str)  # str: Python refuses integers of over 4,300 digits
    except (ValueError, RecursionError):
        return repr(line[:60])
    names = ", ".join(sorted(record)).encode("utf-8", "replace").decode()[:200] or "none"
    texts = [path for path, value in paths_of(record) if isinstance(value, str)]
    return names + meant(text, texts).encode("utf-8", "replace").decode()


def _joined(names: Sequence[str]) -> tuple[npt.NDArray[np.uint8], Ints]:
    """Return names in UTF-8, joined, and the end of each."""
    coded = [name.encode() for name in names]
    return np.array(bytearray(b"".join(coded)), np.uint8), np.cumsum([len(name) for name in coded], dtype=np.int64)
