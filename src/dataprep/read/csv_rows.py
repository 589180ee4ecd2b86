"""Reader of CSV and TSV: each row is a document, with the text in one of the columns.

The first row has the names of the columns. The position of a document is the byte offset of its row in the
decompressed text (converted to UTF-8). Blank lines are skipped. Bad rows are dropped: `too_long` (over max_doc_bytes),
`open_quote` (a quote opens a field and is not closed, or swallows other rows), `too_many_fields`, `invalid_utf8`, and
`no_text` (the row ends before the text column).
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, ClassVar, cast

import orjson

from dataprep.core.model.ledger import Ledger
from dataprep.core.model.reader import Slice
from dataprep.errors import PlanError, ReadError
from dataprep.store import files

from .as_utf8 import open_as_utf8
from .chats.messages import LineFeeds
from .csv_records import csv_records, delimiter_of
from .json.records import JsonRecords, RawRecord
from .text_field import meant
from .trust import BAD_RECORDS

HEAD = 1 << 16
BLOCK = 1 << 20
TABS = (".tsv", ".tab")
NUMBER = re.compile(r"-?(0|[1-9]\d{0,17})(\.\d+)?([eE][+-]?\d{1,2})?")
BOOLS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
ANY = "\0"  # the name of no column, for a reader that does not need the text
BAD = {"open_quote": "has a quote that is not closed", "too_long": "is longer than max_doc_bytes"}
SHOWN = 400  # characters of names in an error


@dataclass(frozen=True, kw_only=True)
class Csv(JsonRecords):
    """Reads CSV and TSV: one document per row.

    text, columns, meta and source refer to the columns of the file in the same way as to the fields of JSON Lines.
    Values in `meta` are text.

    Attributes:
        delimiter: the character between fields; "": a tab in .tsv and .tab; otherwise it is detected from the first
            rows (comma, tab, semicolon or vertical bar).
        names: the column names of a file without a header row.
    """

    delimiter: str = ""
    names: tuple[str, ...] = ()
    VERSION: ClassVar[int] = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "names", tuple(self.names))
        one = len(self.delimiter.encode()) == 1 and self.delimiter not in '"\r\n'
        if self.delimiter and not one:
            msg = f"delimiter={self.delimiter!r} must be one character of ASCII, such as ';'"
            raise PlanError(msg)

    def remedy(self) -> str:
        """Return the advice for a file in which too many rows are bad."""
        return "set delimiter= if not detected, double the quotes inside quoted fields, or allow more with max_bad="

    @classmethod
    def unchecked(cls, names: tuple[str, ...]) -> Csv:
        """Return a reader that accepts files without the text column; values of the columns `names` have types."""
        return cls(columns=tuple((name, "double") for name in names), text=ANY)

    def records(self, piece: Slice, stats: Ledger) -> Iterator[RawRecord]:
        """Yield the rows of a file as JSON objects. Raises ReadError if it has no column with the name of the text."""
        delimiter = self.delimiter.encode() or (b"\t" if files.suffix(piece.url) in TABS else b"")
        if not delimiter:
            with _opened(piece, Ledger("", quiet=True)) as stream:
                delimiter = delimiter_of(stream.read(HEAD))
        typed = {name for name, kind in self.columns if kind != "string"}
        names = list(self.names)
        if names:
            self._check(names, piece.url)
        with _opened(piece, stats) as stream:
            for row in csv_records(stream, delimiter, self.max_doc_bytes, len(names)):
                if not names and row.fields is None:
                    found = f"its first row, with the names of the columns, {BAD[row.reason]} ({row.shown!r})"
                    msg = f"{found}; correct it, or pass names="
                    raise ReadError(msg, piece.url, row.position, reason=BAD_RECORDS)
                if not names and row.fields is not None:
                    names = _names(row.fields, piece.url)
                    self._check(names, piece.url)
                    continue
                yield _record(row.position, row.fields, names, typed, row.n_bytes, row.reason, row.shown)

    def _check(self, names: list[str], url: str) -> None:
        if self.text not in (*names, ANY):
            near = meant(self.text, names) or "; name one of them with text="
            msg = f"there is no column {self.text!r}; the columns are {', '.join(names)[:SHOWN]}{near}"
            raise ReadError(msg, url, 0, reason=BAD_RECORDS)


def _opened(piece: Slice, stats: Ledger) -> BinaryIO:
    """Return a stream of the file in UTF-8, with line feeds if its lines end in carriage returns alone."""
    return cast("BinaryIO", io.BufferedReader(LineFeeds(open_as_utf8(piece, stats)), BLOCK))


def _names(row: list[bytes], url: str) -> list[str]:
    """Return the distinct column names in the first row of a file. Raises ReadError if they are not text."""
    found: list[str] = []
    for number, field in enumerate(row, 1):
        try:
            name = field.decode().strip() or f"column_{number}"
        except UnicodeDecodeError as e:
            msg = f"the names of its columns are not UTF-8 ({field[:40]!r}); convert it to UTF-8 (iconv)"
            raise ReadError(msg, url, 0) from e
        if "\0" in name:
            msg = f"its first row contains NUL bytes ({field[:40]!r}); it must be a text file with column names"
            raise ReadError(msg, url, 0)
        found.append(name if name not in found else f"{name}_{number}")
    return found


def _record(
    position: int, fields: list[bytes] | None, names: list[str], typed: set[str], n_bytes: int, reason: str,
    shown: bytes,
) -> RawRecord:  # fmt: skip
    """Return a row as a record; numbers and booleans in the columns `typed` are converted to these types."""
    if fields is None:
        return RawRecord(position, None, n_bytes, reason, shown)
    try:
        values = {name: field.decode() for name, field in zip(names, fields, strict=False)}
    except UnicodeDecodeError:
        return RawRecord(position, None, n_bytes, "invalid_utf8", b" ".join(fields)[:60])
    record = {name: _typed(value) if name in typed else value for name, value in values.items()}
    return RawRecord(position, orjson.dumps(record), n_bytes)


def _typed(value: str) -> str | float | bool | None:
    """Return a value as a number or boolean if it is written as one; None if it is empty."""
    if not value:
        return None
    number = NUMBER.fullmatch(value)
    if number:
        return float(value) if number[2] or number[3] else int(value)
    return BOOLS.get(value, value)
