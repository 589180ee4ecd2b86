"""Unread files: files passed to `dp.read` that were not read, as listed in the table OUT/unread.parquet of a Dataset.

A row represents a file or a hidden folder. `dp.read` leaves out files for the reasons `hidden`, `unknown_type`,
`attachment`, `not_a_chat`, `empty` and `unreadable`. When the other files are read later, rows are added for files that
are `empty` (without records), `unreadable` or `quarantined` (a worker was killed twice while reading them), and for
members of archives (`encrypted`, or `not_installed`: a package that their reader needs). Rows are
also added for archives with records that were dropped because they are broken (`damaged`), differ from their digests
(`bad_digest`) or are divided into segments (`segmented`). The table exists only if it has rows. Files that turn out to
be bad during reading count towards `Dataset.max_bad_files`.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

import pyarrow as pa

from dataprep.errors import ReadError, counted, redacted
from dataprep.lazy import parquet as pq
from dataprep.store import files

from ..output.layout import UNREAD as NAME
from ..output.layout import Folder
from ..output.owned import discard
from ..output.staging import Staging
from ..output.state import UnreadTable
from .stats import HIDDEN
from .tables import BAD_DIGEST, DAMAGED, EMPTY, QUARANTINED, UNREAD, UNREADABLE, Unread, new_rows, read_rows, row_object

log = logging.getLogger("dataprep")

NOT_OPENED = "unread"  # in place of the hash of a file that cannot be opened
SKIP = 'or read the other files with dp.read(..., on_bad_file="skip"), which lists this one as unread'


def unread_of(error: ReadError, url: str) -> Unread:
    """Return the `Unread` that describes the file `url`, during whose reading `error` was raised."""
    return Unread(url, EMPTY if error.reason == EMPTY else UNREADABLE, error.offset, error.message)


def set_aside(error: ReadError, url: str, *, skip: bool) -> Unread:
    """Return the `Unread` of the file `url`, during whose reading `error` was raised.

    - skip: whether a bad file may be left out; if not, a ReadError is raised whose message names the option that allows
      this.
    """
    row = unread_of(error, url)
    if row.reason == UNREADABLE and not skip:
        raise _stopped_at(row) from error
    return row


def _stopped_at(row: Unread) -> ReadError:
    return ReadError(f"{_detail(row)}; {SKIP}", row.file, row.offset)


def check_unread(rows: Iterable[Unread], max_bad_files: int | None, n_docs: int | None = None) -> None:
    """Check the number of bad files; log a warning if some files are bad but this is allowed.

    Args:
        rows: the files that could not be read to their end.
        max_bad_files: the maximum number of bad files; None sets no limit.
        n_docs: the number of documents that were read; None if the number is not known yet.

    Raises ReadError if more than `max_bad_files` files are bad, or if files are bad or empty and no document was read.
    """
    rows = list(rows)
    found = [row for row in rows if row.reason in (UNREADABLE, EMPTY, QUARANTINED)]
    bad = {row if row.file == HIDDEN else row.file: row for row in found if row.reason != EMPTY}
    if max_bad_files is not None and len(bad) > max_bad_files:
        last = list(bad.values())[-1]
        if not max_bad_files:
            raise _stopped_at(last)
        msg = f"{len(bad):,} files are bad, more than max_bad_files={max_bad_files}; the last: {_detail(last)}"
        raise ReadError(msg, last.file, last.offset)
    if found and n_docs == 0:
        raise ReadError(_detail(found[0]), found[0].file, found[0].offset)
    broken = {row.file: row for row in rows if row.reason in (BAD_DIGEST, DAMAGED)}
    if broken and n_docs is not None:
        log.warning("damaged records in %s; of %s, %s", counted(len(broken), "archive"), *_shown(broken))
    if bad and n_docs:
        log.warning("not read, or not to the end: %s; of %s, %s", counted(len(bad), "bad file"), *_shown(bad))


def _shown(bad: Mapping[Any, Unread]) -> tuple[str, str]:
    first = next(iter(bad.values()))
    return first.file, _detail(first)


def _detail(row: Unread) -> str:
    return row.detail or f"the file is {row.reason}"  # a hidden file has no detail


def unread_table(rows: Iterable[Unread]) -> pa.Table:
    """Return `rows` as an Arrow table, sorted by file, offset, reason and detail.

    Bytes in file names that are not valid UTF-8 are written as escape sequences.
    """
    rows = (replace(row, file=_stored(row.file), detail=row.detail and _stored(row.detail)) for row in rows)
    ordered = sorted(rows, key=lambda row: (row.file, row.offset or 0, row.reason, row.detail or ""))
    columns = {field.name: [getattr(row, field.name) for row in ordered] for field in fields(Unread)}
    return pa.Table.from_batches([new_rows(UNREAD, **columns)])


def _stored(text: str) -> str:
    return redacted(text).encode("utf-8", "backslashreplace").decode()


def by_kind(rows: Iterable[Unread]) -> dict[tuple[str, str], list[Unread]]:
    """Return the rows grouped as {(reason, suffix of the file): rows}, sorted by reason and suffix."""
    groups: dict[tuple[str, str], list[Unread]] = {}
    for row in rows:
        groups.setdefault((row.reason, files.suffix(row.file)), []).append(row)
    return dict(sorted(groups.items()))


def without_names(rows: Iterable[Unread]) -> list[Unread]:
    """Return copies of the rows in which "hidden" replaces the names of files, and details are removed."""
    return [replace(row, file=HIDDEN, detail=None) for row in rows]


class UnreadFiles:
    """Collects the files that a run's tasks did not read; `table` is the manifest entry, or None without such files.

    Attributes:
        listed: files that are known in advance not to be read.
        names: whether the table may name files. As a context manager, it writes the table even if a bad file ends the
            `with` block; this file is included.
    """

    def __init__(self, max_bad_files: int | None, places: Staging, listed: Sequence[Unread], *, names: bool) -> None:
        self.max_bad_files, self.places, self.listed, self.names = max_bad_files, places, listed, names
        self.rows: list[Unread] = []
        self.table: UnreadTable | None = None

    def __enter__(self) -> UnreadFiles:
        return self

    def __exit__(self, _: object, e: BaseException | None, __: object) -> None:
        if isinstance(e, ReadError) and e.path is not None and self.names:
            self._write([*self.rows, unread_of(e, e.path)])

    def add(self, rows: Iterable[Sequence[Any]]) -> None:
        """Add the rows in a receipt. Raises ReadError if there are more bad files than allowed."""
        self.rows += [Unread(*row) for row in rows]
        check_unread(self.rows, self.max_bad_files)

    def close(self, n_docs: int) -> None:
        """Write the table.

        Args:
            n_docs: number of documents that were read.

        Raises ReadError as `check_unread` does.
        """
        check_unread(self.rows, self.max_bad_files, n_docs if self.rows else None)
        self.table = self._write(self.rows)

    def _write(self, rows: Sequence[Unread]) -> UnreadTable | None:
        name = self.places.numbered(NAME)
        rows = [*self.listed, *rows]
        if not rows:
            discard(self.places.url(name))
            return None
        with files.atomic(self.places.url(name)) as f:
            pq.write_table(unread_table(rows), f, compression="zstd")
        reasons = dict(sorted(Counter(row.reason for row in rows).items()))
        size, digest = files.stored(self.places.url(name))
        return UnreadTable(name=name, size=size, hash=digest, reasons=reasons)


def read_unread(out: str) -> pa.Table:
    """Return the table of files that were not read for the Dataset in `out`; empty if its manifest names no table.

    Raises CorruptShard if the table cannot be read.
    """
    manifest = Folder(out).manifest
    if manifest is None or manifest.unread is None:
        return UNREAD.empty_table()
    return read_rows(Folder(out).path(manifest.unread.name), UNREAD)


def rows_of(table: pa.Table) -> list[Unread]:
    """Return the rows of a table of unread files as `Unread` objects."""
    return [row_object(Unread, row) for row in table.to_pylist()]
