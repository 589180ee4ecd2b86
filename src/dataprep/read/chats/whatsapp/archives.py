"""Open WhatsApp's exports (a text file, compressed or not, or a zip as the phone writes it), and name their chats."""

from __future__ import annotations

import contextlib
import io
import itertools
import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from zipfile import ZipFile

import numpy as np

from dataprep.core.model.ledger import Ledger
from dataprep.errors import ReadError
from dataprep.read.chats.charsets import Charset, Utf8Stream, charset_of, head_as_utf8
from dataprep.read.chats.messages import LineFeeds
from dataprep.read.chats.packs import DAMAGED_ZIP, list_unread, members, opened_zip
from dataprep.store import files

from . import headers as H
from . import scan as S
from .close_names import close
from .kinds import is_system

FIRST_BYTES = 1 << 16  # of a file, which show whether it is a chat
TITLES = (  # text before the chat's name in file names
    r"WhatsApp[ -]Chat (with|mit|met|med|-)|Chat (de )?WhatsApp (con|com)|Conversa do WhatsApp com|"
    r"Discussion WhatsApp avec|Чат WhatsApp с|محادثة واتساب مع"
)


class ExportStream(LineFeeds):
    """A stream of the bytes of one exported chat; errors in a zip raise ReadError, which states the byte offset."""

    def __init__(self, inner: Any, url: str) -> None:
        super().__init__(inner)
        self.url, self.n_bytes = url, 0

    def readinto(self, buffer: Any) -> int:
        """Read the next bytes into `buffer`; return their number."""
        try:
            n = super().readinto(buffer)
        except DAMAGED_ZIP as e:
            msg = f"the zip ends early or is damaged ({e}); fetch the file again"
            raise ReadError(msg, self.url, self.n_bytes) from e
        self.n_bytes += n
        return n


@dataclass(frozen=True)
class Export:
    """One exported chat: the file's URL, the chat's name and, if the file is a zip, the text file in it (`member`).

    Attributes:
        archive: the open zip; None: each stream opens it again.
    """

    url: str
    chat: str
    member: str = ""
    archive: ZipFile | None = field(default=None, compare=False, repr=False)

    @contextlib.contextmanager
    def open(self, charset: Charset | None = None) -> Iterator[ExportStream]:
        """Yield a stream of the chat's bytes, in UTF-8.

        Args:
            charset: the file's encoding; None: UTF-8.
        """
        with (
            self._stored() as inner,
            ExportStream(Utf8Stream(inner, charset) if charset else inner, self.url) as stream,
        ):
            yield stream

    @contextlib.contextmanager
    def _stored(self) -> Iterator[Any]:
        if not self.member:
            with files.open_read(self.url) as stream:
                yield stream
            return
        with contextlib.nullcontext(self.archive) if self.archive else opened_zip(self.url) as archive:
            try:
                inner = archive.open(self.member)
            except DAMAGED_ZIP as e:
                msg = f"'{self.member}' in the zip cannot be opened ({e}); unpack it and read the text file"
                raise ReadError(msg, self.url) from e
            with inner:
                yield inner

    def charset(self) -> Charset | None:
        """Return the encoding of the chat's bytes; None: UTF-8."""
        with self._stored() as inner:
            return charset_of(inner, self.url)

    def first_bytes(self) -> bytes:
        """Return the first 64 kB of the chat's bytes, in UTF-8."""
        with self.open() as stream:
            return head_as_utf8(io.BufferedReader(stream, FIRST_BYTES).read(FIRST_BYTES), self.url)


@contextlib.contextmanager
def exports(url: str, stats: Ledger | None = None) -> Iterator[list[Export]]:
    """Yield the chats in an exported file: one of a text file, or those of a zip, which stays open in the meantime.

    In each folder of a zip, chats are the file `_chat.txt` and the text file with the zip's name. If a folder has
    neither, the text files that begin like a chat are chats; other text files may be attachments. A zip's single text
    file is a chat.

    - stats: if given, the other files of a zip are recorded in it as unread.

    Raises ReadError if a zip holds no chat.
    """
    if not is_zip(url):
        yield [Export(url, chat_of(url))]
        return
    with opened_zip(url) as archive:
        names = members(archive)
        texts = sorted((n for n in names if n.lower().endswith(".txt")), key=posixpath.split)
        folders = [list(found) for _, found in itertools.groupby(texts, posixpath.dirname)]
        found = [export for some in folders for export in _in_folder(url, archive, some, alone=len(texts) == 1)]
        if not found:
            shown = ", ".join(names[:3]) + (" ..." if len(names) > 3 else "") if names else "nothing"
            found_none = f"the zip contains no exported chat (a .txt file), only {shown}"
            msg = f"{found_none}; export the chat again on the phone, or unpack the zip of another platform"
            raise ReadError(msg, url, reason="not_a_chat")
        if stats is not None:
            list_unread(url, archive, {export.member for export in found}, stats)
        yield found


def _in_folder(url: str, archive: ZipFile, texts: list[str], *, alone: bool) -> list[Export]:
    """Return the chats among the text files of one folder of a zip.

    - alone: whether the zip has no other text file.
    """
    wanted = {"_chat", files.name_of(url)[: -len(".zip")]}
    main = [n for n in texts if posixpath.basename(n)[: -len(".txt")] in wanted]
    found = [Export(url, chat_of(url if n == "_chat.txt" else n), n, archive) for n in main or texts]
    return found if main or alone else [e for e in found if is_chat(e.first_bytes())]


def sniff_whatsapp(head: bytes, url: str) -> bool:
    """Return whether a file is a WhatsApp export.

    - head: the first bytes of the file. For a zip, the first bytes of the text files inside decide instead.
    """
    if not is_zip(url):
        return is_chat(head)
    with contextlib.suppress(ReadError), exports(url) as found:
        return any(is_chat(export.first_bytes()) for export in found)
    return False


def is_chat(data: bytes) -> bool:
    """Return whether `data`, the first bytes of a file, is the beginning of a WhatsApp chat.

    The data must begin with a header (date and time of a message). A header must be followed by an author, or by a
    message that WhatsApp itself writes.
    """
    data = data if b"\n" in data else data.replace(b"\r", b"\n")
    data = data[: data.rfind(b"\n") + 1] if len(data) == FIRST_BYTES else data
    found = H.find_in(data)
    if not len(found) or data[: found[0, S.START]].strip(b" \r\n\t\xef\xbb\xbf"):
        return False
    padded = np.frombuffer(data + b"\n" + bytes(64), np.uint8)
    found = np.where(found[:, S.SAID, None] < 0, close(padded, found), found)
    named = found[found[:, S.SAID] >= 0]
    names = [data[a:b].decode("utf-8", "replace") for a, b in named[:, [S.NAME, S.NAME_STOP]].tolist()]
    lines = [data[a:b].decode("utf-8", "replace") for a, b in found[:, [S.BODY, S.LINE_STOP]].tolist()]
    return not all(map(is_system, names)) or any(map(is_system, lines))


def is_zip(url: str) -> bool:
    """Return whether the file's name ends in .zip."""
    return url.lower().endswith(".zip")


def chat_of(url: str) -> str:
    """Return the chat's name: from the file's name, or from the folder's if the file is `_chat.txt`."""
    name = re.sub(r"\.(txt|zip)(\.(gz|zst|xz|bz2))?$", "", files.name_of(url), flags=re.IGNORECASE)
    if name == "_chat":
        name = files.name_of(url.rpartition("/")[0]) or name
    name = name.encode("utf-8", "backslashreplace").decode()  # names of files need not be UTF-8
    return re.sub(rf"^({TITLES}) ", "", name)
