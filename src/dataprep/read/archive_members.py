"""Open the members of tar and zip files one after the other; nothing is extracted to named files.

Members of a zip and of a plain tar are read in place. Members of a compressed tar can be read only once; each is held
in memory or, above 64 MiB, in an unnamed temporary file. An archive that expands to more than 1 GiB, and more than 250
times its size, is taken for a zip bomb.
"""

from __future__ import annotations

import contextlib
import io
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import IO, Any, BinaryIO, cast

from dataprep.core.model.reader import Slice
from dataprep.errors import ReadError
from dataprep.store import compress, files

from .chats.packs import DAMAGED_ZIP, opened_zip

HELD = 64 << 20  # bytes of a member of a compressed tar that are held in memory
BLOCK = 1 << 20
MOST_BYTES, MOST_TIMES = 1 << 30, 250  # what an archive may expand to in any case, and how often its own size
SHORT = {".tgz": ".tar.gz", ".tbz2": ".tar.bz2", ".tbz": ".tar.bz2", ".txz": ".tar.xz", ".tzst": ".tar.zst"}
ENCRYPTED = 0x1
DAMAGED = (tarfile.TarError, *DAMAGED_ZIP)


@dataclass
class Expanded:
    """The number of bytes decompressed so far from an archive of `stored` bytes."""

    url: str
    stored: int
    before: int = 0  # of the members before this one
    here: int = 0  # of this member, as far as it was read

    def check(self, n: int) -> None:
        """Record that `n` bytes of this member were read. Raises ReadError if far more are read than stored."""
        self.here = max(self.here, n)
        total = self.before + self.here
        if total > MOST_BYTES and total > MOST_TIMES * self.stored:
            msg = f"it expands to over {MOST_TIMES} times its size, as zip bombs do; unpack it if you trust it"
            raise ReadError(msg, self.url)


@dataclass(frozen=True)
class MemberSlice(Slice):
    """A member of an archive, as a whole.

    Attributes:
        opened: returns a new stream of its bytes, as stored in the archive.
    """

    opened: Callable[[], BinaryIO] = field(default=io.BytesIO, compare=False)
    expanded: Expanded | None = field(default=None, compare=False)

    def open(self) -> BinaryIO:
        """Return a stream of the decompressed bytes of the member."""
        stream = compress.decompressed(cast("BinaryIO", _Guarded(self.opened(), self.url)), self.url)
        return cast("BinaryIO", io.BufferedReader(_Counted(stream, self.url, self.expanded), BLOCK))


class _Guarded(io.RawIOBase):
    """The stored bytes of a member; errors of archives become ReadError."""

    def __init__(self, inner: BinaryIO, url: str) -> None:
        super().__init__()
        self.inner, self.url, self.n = inner, url, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        with self._whole():
            return self.inner.seek(offset, whence)

    def readinto(self, buffer: Any) -> int:
        with self._whole():
            data = self.inner.read(len(buffer))
        buffer[: len(data)] = data
        self.n += len(data)
        return len(data)

    @contextlib.contextmanager
    def _whole(self) -> Iterator[None]:
        try:
            yield
        except DAMAGED as e:
            msg = f"the archive ends early or is damaged ({e}); fetch the file again"
            raise ReadError(msg, self.url, self.n) from e

    def close(self) -> None:
        self.inner.close()
        super().close()


class _Counted(io.RawIOBase):
    """A stream whose bytes are counted."""

    def __init__(self, inner: BinaryIO, url: str, expanded: Expanded | None) -> None:
        super().__init__()
        self.inner, self.url, self.expanded, self.n = inner, url, expanded, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self.inner.read(len(buffer))
        buffer[: len(data)] = data
        self.n += len(data)
        if self.expanded is not None:
            self.expanded.check(self.n)
        return len(data)

    def close(self) -> None:
        self.inner.close()
        super().close()


class _View(io.RawIOBase):
    """A stream of a file that stays open when the stream is closed."""

    def __init__(self, inner: IO[bytes]) -> None:
        super().__init__()
        self.inner, self.at = inner, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        self.at = self.inner.seek(offset, whence)
        return self.at

    def readinto(self, buffer: Any) -> int:
        self.inner.seek(self.at)
        data = self.inner.read(len(buffer))
        buffer[: len(data)] = data
        self.at += len(data)
        return len(data)


@dataclass(frozen=True)
class PackedFile:
    """A file in an archive: its path, its stated size, and a function that opens it (None if the file is encrypted)."""

    name: str
    size: int
    opened: Callable[[], BinaryIO] | None


def members_of(url: str) -> Iterator[PackedFile]:
    """Yield the files of a tar or zip in archive order. Raises ReadError if the archive is damaged."""
    return _zip_members(url) if files.suffix(url) == ".zip" else _tar_members(url)


def _zip_members(url: str) -> Iterator[PackedFile]:
    with opened_zip(url) as archive:
        for info in archive.infolist():
            if info.is_dir():
                continue
            is_open = not info.flag_bits & ENCRYPTED
            # The archive stays open while its members are read.
            opened = _opener(lambda info=info: archive.open(info), f"{url}/{info.filename}")  # type: ignore[misc]
            yield PackedFile(info.filename, info.file_size, opened if is_open else None)


def _opener(opened: Callable[[], Any], url: str) -> Callable[[], BinaryIO]:
    def open_it() -> BinaryIO:
        try:
            return cast("BinaryIO", opened())
        except DAMAGED as e:
            msg = f"it cannot be opened in the archive ({e}); unpack the archive and read its folder"
            raise ReadError(msg, url) from e

    return open_it


class _Whole(tarfile.TarInfo):
    """A header of a tar; a tar must end with a block of zeros, not with an unreadable header."""

    @classmethod
    def fromtarfile(cls, tarfile_: tarfile.TarFile) -> _Whole:
        """Return the next header. Raises tarfile.ReadError where `tarfile` would take damage for the end."""
        try:
            return super().fromtarfile(tarfile_)
        except tarfile.HeaderError as e:
            if type(e).__name__ == "EOFHeaderError":  # a block of zeros
                raise
            msg = f"{e}, byte {tarfile_.offset:,}"
            raise tarfile.ReadError(msg) from e


def _tar_members(url: str) -> Iterator[PackedFile]:
    short = SHORT.get(files.suffix(url), "")
    is_plain = not short and not files.is_compressed(url)
    with contextlib.ExitStack() as stack:
        raw = compress.decompressed(files.open_raw(url), f"{url}{short}") if short else files.open_read(url)
        stack.enter_context(raw)
        try:
            tar = stack.enter_context(tarfile.open(fileobj=raw, mode="r:" if is_plain else "r|", tarinfo=_Whole))
            for info in tar:
                tar.members = []  # type: ignore[attr-defined] # which would grow with every member
                if not info.isfile():
                    continue
                if is_plain:
                    yield PackedFile(info.name, info.size, _opener(lambda i=info: tar.extractfile(i), url))  # type: ignore[misc]
                    continue
                with tempfile.SpooledTemporaryFile(HELD) as held:
                    stored = tar.extractfile(info)
                    while stored is not None and (data := stored.read(BLOCK)):
                        held.write(data)
                    yield PackedFile(info.name, info.size, lambda f=held: cast("BinaryIO", _View(f)))  # type: ignore[misc]
        except DAMAGED as e:
            msg = f"the tar ends early or is damaged ({e}); fetch the file again"
            raise ReadError(msg, url) from e
