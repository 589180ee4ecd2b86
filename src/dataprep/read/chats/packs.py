"""Exports of several files: a folder, or a zip that is read without unpacking it; and lists of messages as streams.

For names, a file of messages needs other files of the export, such as users.json; `Pack` opens them in a folder and in
a zip alike.
"""

from __future__ import annotations

import contextlib
import io
import json
import logging
import lzma
import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO, cast

from dataprep.core.model.ledger import Ledger
from dataprep.core.model.tables import Unread
from dataprep.errors import ReadError, counted
from dataprep.read.text import BOM
from dataprep.store import files, hashes

log = logging.getLogger("dataprep")
MAC = "__MACOSX/"  # what macOS adds to a zip
SUFFIXES = (".txt", ".json", ".html", ".htm", ".csv", ".md", ".xml", ".db", ".zip")  # that chat exports have
CHUNK = 1 << 20  # bytes read at once
MAX_NAMES = 256 << 20  # bytes of a file of names
MAX_VALUES = 1 << 23  # in it: those of 100,000 people; a value of three bytes takes over sixty as a Python object
# What zipfile raises for a damaged file; OSError is a seek to before its beginning, or its compression in bzip2.
DAMAGED_ZIP = (zipfile.BadZipFile, EOFError, ValueError, RuntimeError, NotImplementedError, OSError, zlib.error,
               lzma.LZMAError, struct.error)  # fmt: skip
BEFORE, AFTER = b'{"messages":', b"}"  # around a list of messages, for `JsonStream`


@dataclass(frozen=True)
class Pack:
    """The folder `root` of an export.

    Attributes:
        archive: the open zip that contains it, or None if it is in the file system.
    """

    url: str
    root: str
    archive: zipfile.ZipFile | None = None

    def open(self, name: str) -> BinaryIO | None:
        """Return a stream of a file's bytes, `name` relative to the root; None if there is no such file."""
        path = f"{self.root}{name}"
        if self.archive is None:
            return files.open_read(path) if files.exists(path) else None
        try:
            return cast("BinaryIO", self.archive.open(path))
        except KeyError:
            return None
        except DAMAGED_ZIP as e:
            msg = f"'{path}' in the zip cannot be opened ({e}); unpack the zip and read its folder"
            raise ReadError(msg, self.url) from e

    def document(self, *names: str) -> Any:
        """Return the first of the JSON files `names` that exists as Python objects; None if there is none.

        Raises ReadError if it is damaged.
        """
        for name in names:
            stream = self.open(name)
            if stream is None:
                continue
            with stream:
                try:
                    data = stream.read(MAX_NAMES).removeprefix(BOM)
                    if data.count(b",") > MAX_VALUES:
                        msg = f"it has over {MAX_VALUES:,} values"
                        raise ValueError(msg)
                    return json.loads(data)
                except (RecursionError, *DAMAGED_ZIP) as e:
                    msg = f"{name}, which lists the names in this export, is damaged ({e}); export again, or remove it"
                    raise ReadError(msg, self.url) from e
        return None


@contextlib.contextmanager
def opened_zip(url: str) -> Iterator[zipfile.ZipFile]:
    """Yield a zip, open for reading. Raises ReadError if it is damaged."""
    with files.open_raw(url) as raw:
        try:
            archive = zipfile.ZipFile(raw)
        except DAMAGED_ZIP as e:
            msg = f"the zip is truncated or damaged ({e}); fetch the file again"
            raise ReadError(msg, url) from e
        with archive:
            yield archive


def names_in(url: str, head: bytes) -> list[str]:
    """Return the names of the files in a zip, whose first bytes are `head`; [] if it is damaged or not a zip."""
    if not head.startswith(b"PK"):
        return []
    with contextlib.suppress(ReadError), opened_zip(url) as archive:
        return members(archive)
    return []


def members(archive: zipfile.ZipFile) -> list[str]:
    """Return the names of the files in a zip, without folders and the files that macOS adds."""
    return [name for name in archive.namelist() if not name.startswith(MAC) and not name.endswith("/")]


def list_unread(url: str, archive: zipfile.ZipFile, read: Collection[str], stats: Ledger) -> None:
    """Add a row to `stats.unread` for each file in a zip that is not in `read`; log how many there are, by suffix.

    The reasons are those of files in a folder; all files that macOS adds are one row, `hidden`.

    - url: the zip.
    """
    left = [name for name in members(archive) if name not in read]
    reasons = ("not_a_chat" if files.suffix(name) in SUFFIXES else "unknown_type" for name in left)
    rows = [Unread(f"{url}/{name}", reason) for name, reason in zip(left, reasons, strict=True)]
    if any(name.startswith(MAC) for name in archive.namelist()):
        stats.unread.append(Unread(f"{url}/{MAC.rstrip('/')}", "hidden"))
    stats.unread += rows
    if rows:
        kinds = Counter(files.suffix(name) or "without a suffix" for name in left)
        shown = ", ".join(f"{kind} {n:,}" for kind, n in kinds.most_common())
        n = f"{counted(len(rows), 'file')} in the zip {'is' if len(rows) == 1 else 'are'}"
        log.warning("%s: %s not read (%s), see docs.unread()", url, n, shown)


def folder_of(url: str, levels: int) -> str:
    """Return the folder that is `levels` above a file, with a slash at its end; "" for the working folder."""
    for _ in range(levels):
        url = url.rstrip("/").rpartition("/")[0]
    return f"{url}/" if url else ""


def state_of(urls: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """Return (URL, hash of the content) of each file, as the argument of a cached function that reads the files."""
    return tuple((url, hashes.fingerprint(url)) for url in urls)


class PieceStream(io.RawIOBase):
    """A stream of byte chunks made from another stream, which is closed with it."""

    def __init__(self, inner: Any, pieces: Iterator[bytes]) -> None:
        super().__init__()
        self.inner, self.pieces, self.held = inner, pieces, b""

    def readable(self) -> bool:
        """Return True: the stream can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read the next bytes into `buffer`; return their number."""
        while not self.held:
            piece = next(self.pieces, None)
            if piece is None:
                return 0
            self.held = piece
        n = min(len(buffer), len(self.held))
        buffer[:n], self.held = self.held[:n], self.held[n:]
        return n

    def close(self) -> None:
        """Close the stream and its file."""
        self.inner.close()
        super().close()


class ListStream(PieceStream):
    """A stream that wraps a JSON list in a JSON object, as the list `messages`; errors of a zip become ReadError.

    A byte at the offset n of the file (without its byte order mark) has the offset n + len(BEFORE) in the stream.
    """

    def __init__(self, inner: BinaryIO, url: str) -> None:
        super().__init__(inner, _in_object(inner, url))


def _in_object(inner: BinaryIO, url: str) -> Iterator[bytes]:
    """Yield BEFORE, the bytes of a file without its byte order mark, and AFTER."""
    try:
        yield BEFORE + inner.read(len(BOM)).removeprefix(BOM)
        while data := inner.read(CHUNK):
            yield data
    except DAMAGED_ZIP as e:
        msg = f"the zip ends early or is damaged ({e}); fetch the file again"
        raise ReadError(msg, url) from e
    yield AFTER
