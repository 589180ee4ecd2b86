"""Files in a folder of chats that are not chats: each is read in its own format, except attachments and settings.

An attachment is a file that a chat in the same folder, or in a parent folder, names as a sent file. Settings are tables
and JSON in which no record has a text, and pages next to chats in HTML.
"""

from __future__ import annotations

import contextlib
import json
import posixpath
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from dataprep.core.model.batch import Batch, Ids, with_column
from dataprep.core.model.ledger import Ledger
from dataprep.core.model.reader import Reader, Slice
from dataprep.core.model.tables import Unread
from dataprep.errors import ReadError
from dataprep.store import files

from .chats.messages import COLUMNS
from .trust import BAD_RECORDS

MAY_BE_SETTINGS = (".json", ".csv", ".zip", ".db")  # suffixes of files that programs put beside chats
HTML = (".html", ".htm", ".xhtml")
HEAD = 1 << 16
BLOCK = 4 << 20
LONGEST = 255  # bytes of a name


@dataclass(frozen=True, kw_only=True)
class BesideChats(Reader):
    """Reads the documents of another reader, from a folder that also contains chats; the message columns are null.

    Attributes:
        inner: the other reader.
    """

    inner: Reader

    @property
    def plain(self) -> Reader:
        """The other reader."""
        return self.inner

    @property
    def adds(self) -> Mapping[str, pa.DataType]:
        """The columns of messages, and those of the other reader."""
        return {**COLUMNS, **self.inner.adds}

    @property
    def picks(self) -> bool:  # type: ignore[override]
        """Whether the other reader reads single documents faster than all."""
        return self.inner.picks

    def named(self, piece: Slice) -> str:
        """Return the parts of the path that the documents contain."""
        return self.inner.named(piece)

    def companions(self, url: str) -> tuple[str, ...]:
        """Return the files that are read together with the file `url`."""
        return self.inner.companions(url)

    def cuts(self, url: str, n_bytes: int, target: int) -> list[tuple[int, int | None, int]]:
        """Return the slices of a file as (start, stop, bytes)."""
        return self.inner.cuts(url, n_bytes, target)

    def enters(self, url: str) -> bool:
        """Return whether a slice of the file can be read without the bytes before it."""
        return self.inner.enters(url)

    def warm(self) -> None:
        """Compile the kernels of the other reader."""
        self.inner.warm()

    def narrowed(self, columns: Sequence[str]) -> Reader:
        """Return a reader of the same documents that may fill the columns not in `columns` with any values."""
        return BesideChats(inner=self.inner.narrowed(columns))

    def __call__(self, piece: Slice, stats: Ledger) -> Iterator[Batch]:
        """Yield the documents of a slice in batches."""
        return map(_with_nulls, self.inner(piece, stats))

    def pick(self, piece: Slice, positions: Ids) -> Iterator[Batch]:
        """Yield only the documents of a slice at the given positions."""
        return map(_with_nulls, self.inner.pick(piece, positions))


def _with_nulls(batch: Batch) -> Batch:
    """Return the batch with null message columns, unless it has columns of these names."""
    for name, kind in COLUMNS.items():
        if name not in batch.schema.names:
            batch = with_column(batch, name, pa.nulls(batch.num_rows, kind))
    return batch


def attachments(chats: Collection[str], others: Collection[str]) -> set[str]:
    """Return which of the files `others` are attachments of chats; reads the chats in the parent folders.

    A chat states an attachment at the end of a line, before a bracket, or in quotes or angle brackets. Chats that are
    not on this machine, in a zip or in a database are not read.
    """
    found: set[str] = set()
    for chat in chats:
        folder = f"{posixpath.dirname(chat)}/".lstrip("/")
        inside = {url for url in others if url.lstrip("/").startswith(folder)} - found
        if inside and files.is_local(chat) and files.suffix(chat) not in {".zip", ".db"}:
            suffixes = {posixpath.splitext(url)[1].encode("utf-8", "surrogateescape") for url in inside} - {b""}
            stated = {name for block in _blocks(chat) for name in _stated(block, suffixes)}
            found |= {url for url in inside if files.name_of(url) in stated}
    return found


def _stated(block: bytes, suffixes: Collection[bytes]) -> Iterator[str]:
    """Yield the file names with one of these suffixes that a chat may state as sent files."""
    ends = re.compile(rb"(?:%s)(?= \(|[\">]|\s*$)" % b"|".join(map(re.escape, sorted(suffixes))), re.MULTILINE)
    for match in ends.finditer(block):
        before = block[max(0, match.start() - LONGEST) : match.end()]
        name = re.split(rb"[\n\":/>]|\xe2\x80\x8e", before)[-1].strip().decode("utf-8", "surrogateescape")
        yield name
        if "\\" in name:
            with contextlib.suppress(ValueError):
                yield str(json.loads(f'"{name}"'))


def _blocks(url: str) -> Iterator[bytes]:
    """Yield the blocks of a file, each with the end of the block before; stop at the first damage."""
    end = b""
    try:
        with files.open_read(url) as stream:
            while data := stream.read(BLOCK):
                yield end + data
                end = data[-LONGEST:]
    except ReadError:  # which the reader of the chat reports
        return


def pages_of_exports(chats: Collection[str], pages: Collection[str]) -> set[str]:
    """Return which HTML files `pages` belong to an HTML export: files below a chat's folder, and Telegram's."""
    html = [f"{posixpath.dirname(chat)}/" for chat in chats if files.suffix(chat) in HTML]
    return {url for url in pages if html and (url.startswith(tuple(html)) or _is_of_telegram(url))}


def _is_of_telegram(url: str) -> bool:
    with contextlib.suppress(ReadError), files.open_read(url) as stream:
        return b'class="page_wrap' in stream.read(HEAD)
    return False


def settings(url: str, source: str, reader: Reader) -> Unread | None:
    """Return the row of a file that has records but no texts, such as a program's settings; None for other files.

    The file is read up to its first documents. Other errors in it are left to the run.
    """
    try:
        next(iter(reader(Slice(url, 0, source=source, n_bytes=files.size(url)), Ledger("", quiet=True))), None)
    except ReadError as e:
        return Unread(url, "not_a_chat", e.offset, e.message) if e.reason == BAD_RECORDS else None
    return None
