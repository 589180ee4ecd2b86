"""Reader of tables in SQLite: each row is a document. The position of a document is its row number, from 0.

Binary values (BLOBs) are left out of `meta`, and counted as `values_of_bytes`. Rows are read in the order of the table,
or in the order that `query=` returns. A row of over `max_doc_bytes` is dropped. A value, of at most 1 GB, is held in
memory twice.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple
from urllib.parse import quote

import orjson

from dataprep.core.model.ledger import Ledger
from dataprep.core.model.reader import Slice
from dataprep.errors import ReadError, require
from dataprep.store import files
from dataprep.unicode.valid import is_utf8

from .json.records import JsonRecords, RawRecord
from .trust import BAD_RECORDS

MAGIC = b"SQLite format 3\0"
ANY = "\0"  # the name of no column, for a reader that does not need the text


def is_sqlite(head: bytes, url: str) -> bool:  # noqa: ARG001 - a sniffer
    """Return whether `head`, a file's first bytes, is the beginning of an SQLite database."""
    return head.startswith(MAGIC)


class _TooLong(NamedTuple):
    """The size of a text that is too long to be kept."""

    n_bytes: int


@dataclass(frozen=True, kw_only=True)
class Sqlite(JsonRecords):
    """Reads a table of a local SQLite database: one document per row.

    text, columns, meta and source refer to columns, as they refer to fields of JSON Lines.

    Attributes:
        table: the name of the table; "": the only table with the text column.
        query: a SELECT statement whose rows are read instead; use ORDER BY, since ids are row numbers.
    """

    table: str = ""
    query: str = ""
    VERSION: ClassVar[int] = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        require(not (self.table and self.query), "set either table= or query=, not both")

    @classmethod
    def unchecked(cls, names: tuple[str, ...]) -> Sqlite:  # noqa: ARG003
        """Return a reader that accepts files without the text column."""
        return cls(text=ANY)

    def records(self, piece: Slice, stats: Ledger) -> Iterator[RawRecord]:
        """Yield the rows as JSON objects. Raises ReadError if the database is damaged, or has no such table."""
        if not files.is_local(piece.url) or files.is_compressed(piece.url):
            msg = "a database must be a file on this machine that is not compressed; copy or decompress it"
            raise ReadError(msg, piece.url)
        for kind in ("wal", "journal"):
            if files.exists(beside := f"{piece.url}-{kind}") and files.size(beside):
                msg = (f"{files.name_of(beside)} has changes that are not in the database; close the program that uses "
                       "it, or make a complete copy with VACUUM INTO")  # fmt: skip
                raise ReadError(msg, piece.url)
        uri = f"file:{quote(files.path_of(piece.url))}?mode=ro&immutable=1"
        try:
            with contextlib.closing(sqlite3.connect(uri, uri=True)) as database:
                database.text_factory = self._text_of
                cursor = database.execute(self.query or self._select(database, piece.url))
                names = [column[0] for column in cursor.description or ()]
                for number, row in enumerate(cursor):
                    stats.count("values_of_bytes", sum(isinstance(value, bytes) for value in row))
                    yield self._record(number, names, row)
        except sqlite3.Error as e:
            msg = f"it cannot be read as an SQLite database ({e}); check table= and query=, or copy it again"
            raise ReadError(msg, piece.url) from e

    def _text_of(self, data: bytes) -> str | _TooLong:
        """Return a value as text; for a value that is too long, only its size, to avoid further copies of it."""
        return data.decode("utf-8", "surrogateescape") if len(data) <= self.max_doc_bytes else _TooLong(len(data))

    def _record(self, number: int, names: list[str], row: tuple[Any, ...]) -> RawRecord:
        """Return a row as a record, without bytes and nulls; it is bad if it is too long, or its text is not UTF-8."""
        values: dict[str, Any] = {}
        size = 0
        for name, value in zip(names, row, strict=True):
            if isinstance(value, _TooLong):
                size += value.n_bytes
            elif isinstance(value, str):
                data = value.encode("utf-8", "surrogateescape")
                size += len(data)
                if name == self.text and not is_utf8(data):
                    return RawRecord(number, None, size, "invalid_utf8", data[:60])
                values[name] = data.decode("utf-8", "replace")
            elif isinstance(value, (int, float)):
                values[name] = value
        if size > self.max_doc_bytes:
            return RawRecord(number, None, size, "too_long")
        return RawRecord(number, orjson.dumps(values), size)

    def _select(self, database: sqlite3.Connection, url: str) -> str:
        tables = _tables(database)
        having = [name for name in tables if self.text in (ANY, *_columns(database, name))]
        chosen = [self.table] if self.table in tables else [] if self.table else having
        if len(chosen) != 1:
            state = "there is no such table" if self.table else f"{len(having)} tables have a column {self.text!r}"
            shown = "; ".join(f"{name} ({', '.join(_columns(database, name))})" for name in tables)[:400]
            msg = f"{state}; name one with table=, and the column of the text with text=; it has {shown or 'none'}"
            if self.text != ANY or not chosen:
                raise ReadError(msg, url, reason=BAD_RECORDS)
        return f'SELECT * FROM "{chosen[0].replace(chr(34), chr(34) * 2)}"'  # noqa: S608 - a name of the file itself


def tables_of(url: str) -> list[str]:
    """Return the names of the tables and views in a local database; [] if it cannot be read."""
    uri = f"file:{quote(files.path_of(url))}?mode=ro&immutable=1"
    with contextlib.suppress(sqlite3.Error), contextlib.closing(sqlite3.connect(uri, uri=True)) as database:
        return _tables(database)
    return []


def _tables(database: sqlite3.Connection) -> list[str]:
    found = database.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view') ORDER BY name")
    return [name for (name,) in found]


def _columns(database: sqlite3.Connection, table: str) -> list[str]:
    rows = database.execute("SELECT name FROM pragma_table_info(?)", (table,))
    return [name for (name,) in rows]
