"""Formats: a table of readers by name, with their file suffixes, and functions that recognise files by first bytes."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from dataprep.core.model.reader import Reader
from dataprep.errors import PlanError, ReadError
from dataprep.store import files

from .chats.charsets import head_as_utf8
from .text import BOM

Sniffer: TypeAlias = Callable[[bytes, str], bool]  # (first 64 kB, decompressed and without a byte order mark; URL)
HEAD_BYTES = 1 << 16
TEXT = (".txt", ".md")  # suffixes of files that may be in another encoding than UTF-8
WHOLE_FILE = "text"  # the format of one document per file
OF_FOLDERS = ("text", "code", "html", "notebook", "docx", "epub", "pdf")  # of which a corpus has many files


@dataclass(frozen=True)
class Format:
    """A file format that `dp.read` knows.

    Attributes:
        reader: a Reader, its class, or "module:Class" in this package.
        suffixes: the suffixes of files of this format, such as ".txt"; an entry that does not start with a dot is a
            whole file name.
        sniff: a function that accepts or rejects a file with one of these suffixes by its first bytes; None: every file
            with one of the suffixes is accepted.
        is_chat: whether its documents are chat messages.
    """

    name: str
    reader: Reader | type[Reader] | str
    suffixes: tuple[str, ...] = ()
    sniff: Sniffer | str | None = None
    is_chat: bool = False

    def claims(self, url: str) -> bool:
        """Return whether the file `url` has one of this format's suffixes or file names; its content is not read."""
        return files.suffix(url) in self.suffixes or files.name_of(url).lower() in self.suffixes

    def accepts(self, head: bytes, url: str) -> bool:
        """Return whether `sniff` accepts the file `url` by `head`, its first bytes, decompressed."""
        try:
            return bool(_loaded(self.sniff)(head, url))
        except Exception as e:
            msg = f"{url}: the sniffer of format {self.name!r} failed ({type(e).__name__}: {e}); it takes (head, url)"
            raise PlanError(msg) from e

    def load(self) -> Any:
        """Return the Reader or its class; import it first if it is given as "module:Class"."""
        return _loaded(self.reader)


def _loaded(value: Any) -> Any:
    """Import and return the object that "module:name" names; return other values unchanged."""
    if not isinstance(value, str):
        return value
    module, _, name = value.partition(":")
    return getattr(importlib.import_module(f".{module}", __package__), name)


# Two objects on two lines: JSON Lines, whatever the names of their fields.
_JSON_LINES = re.compile(rb"\s*\{[^\n]*\}[ \t\r]*\n\s*\{")
KEY = rb'(?<!\\)"%s"\s*:\s*'
TELEGRAM_TYPES = (
    rb'"(personal_chat|bot_chat|saved_messages|replies|verification_codes|'
    rb'(private|public)_(group|supergroup|channel))"'
)
TELEGRAM = re.compile(KEY % b"type" + TELEGRAM_TYPES)
ACCOUNT = re.compile(  # of all chats: each of these objects begins so
    KEY % b"(personal_information|chats|left_chats|frequent_contacts)" + rb'\{\s*"(user_id|first_name|about|list)"\s*:'
)
DISCORD = (re.compile(KEY % b"guild" + rb"\{"), re.compile(KEY % b"channel" + rb"\{"))
META = re.compile(KEY % b"(sender_name|senderName)")
META_CHAT = tuple(re.compile(KEY % name) for name in (rb"participants", rb"title", rb"messages"))
META_TIME = re.compile(KEY % b"(timestamp_ms|timestamp)" + rb"\d{12,}")
CSV = re.compile(rb'"?AuthorID"?,"?Author"?,"?Date"?,"?Content"?')
PAGE = re.compile(rb'<div class="(history|page_body chat_page)">')
SIGNAL = {  # of signal-export (chat.md, data.json) and signalbackup-tools, and sigtop's long text
    ".md": re.compile(rb"\s*\[\d{4}-\d\d-\d\d,? \d\d:\d\d(:\d\d)?\] [^\n]{1,200}?:[ \n]"),
    ".txt": re.compile(
        rb"\s*\[[A-Z][a-z]{2} \d\d, \d{4} \d\d:\d\d:\d\d\] (<|\*\*\*)"
        rb"|Conversation: [^\n]+\n\r?\n(From: [^\n]+\n)?Type: [\w-]+\r?\n"
    ),
    ".json": re.compile(rb'\s*\{(?=[^\n]*"date":)(?=[^\n]*"sender":)(?=[^\n]*"body":)[^\n]*\}[ \t\r]*(\n|\Z)'),
}
INSTAGRAM = re.compile(rb"(?i)instagram")


def is_signal(head: bytes, url: str) -> bool:
    """Return whether a file begins like Signal chats of signal-export or signalbackup-tools, or sigtop's long text.

    - head: the file's first bytes.
    """
    return bool(SIGNAL[files.suffix(url)].match(head))


def is_discord(head: bytes, url: str) -> bool:
    """Return whether a file is DiscordChatExporter's JSON or CSV, or a data package.

    - head: the file's first bytes.
    """
    from .chats.discord_package import CHANNEL, is_package
    from .chats.packs import names_in

    if files.suffix(url) == ".zip":
        return any(CHANNEL.match(name) for name in names_in(url, head))
    if head.lstrip().startswith(b"{"):
        return _is_json(head, *DISCORD)
    return bool(CSV.match(head)) or is_package(head)


def is_telegram(head: bytes, url: str) -> bool:  # noqa: ARG001
    """Return whether `head`, a file's first bytes, is the beginning of Telegram's JSON or HTML."""
    if head.lstrip().startswith(b"<"):
        return bool(PAGE.search(head))
    return _is_json(head, TELEGRAM) or _is_json(head, ACCOUNT)


def is_instagram(head: bytes, url: str) -> bool:
    """Return whether a file is an Instagram chat export: Meta's JSON with the word Instagram in `head` or `url`.

    - head: the file's first bytes.
    """
    return is_messenger(head, url) and ("instagram" in url.lower() or bool(INSTAGRAM.search(head)))


def is_messenger(head: bytes, url: str) -> bool:  # noqa: ARG001
    """Return whether `head`, a file's first bytes, is the beginning of a Messenger or Instagram export in JSON."""
    return _is_json(head, META, META_TIME) or _is_json(head, META, *META_CHAT)


def _is_json(head: bytes, *patterns: re.Pattern[bytes]) -> bool:
    """Return whether a file begins like one JSON object, not JSON Lines, and has all of these keys."""
    begins = head.lstrip().startswith(b"{") and not _JSON_LINES.match(head)
    return begins and all(pattern.search(head) for pattern in patterns)


_CHAT_FILES = (".json", ".html", ".htm", ".csv")
_SIGNAL_FILES = (".txt", "chat.md", "index.md", "data.json")

FORMATS: dict[str, Format] = {
    f.name: f
    for f in (
        Format("jsonl", "json.reader:Jsonl", (".jsonl", ".ndjson", ".json")),
        Format("parquet", "parquet:Parquet", (".parquet",)),
        Format(WHOLE_FILE, "whole_file:Text", (".txt", ".md", ".rst")),
        Format("csv", "csv_rows:Csv", (".csv", ".tsv", ".tab")),
        Format("html", "html:Html", (".html", ".htm", ".xhtml")),
        Format("docx", "office:Docx", (".docx",)),
        Format("epub", "office:Epub", (".epub",)),
        Format("pdf", "office:Pdf", (".pdf",)),
        Format("mail", "mail:Mail", (".eml", ".mbox", ".mbx")),
        Format("notebook", "code:Notebook", (".ipynb",)),
        Format("code", "code:Code"),
        Format("tar", "archive:TextArchive", (".tar", ".tgz", ".tbz2", ".tbz", ".txz", ".tzst")),
        Format("paragraphs", "text:Paragraphs"),
        Format("lines", "text:Lines"),
        Format("wet", "web.derived:Wet", (".wet",)),
        Format("warc", "web.warc:Warc", (".warc",)),
        Format("arc", "web.warc:Warc", (".arc",)),
        Format("wat", "web.derived:Wat", (".wat",)),
        # Sniffers are called in this order.
        Format("whatsapp", "chats.whatsapp.reader:WhatsApp", (".txt", ".zip"),
               "chats.whatsapp.archives:sniff_whatsapp", is_chat=True),
        Format("signal", "chats.signal:Signal", _SIGNAL_FILES, is_signal, is_chat=True),
        Format("line", "chats.line.reader:LineChat", (".txt",), "chats.line.reader:is_line", is_chat=True),
        Format("kakaotalk", "chats.kakao:KakaoTalk", (".txt", ".csv"), "chats.kakao:is_kakao", is_chat=True),
        Format("imessage", "chats.imessage.reader:IMessage", (".db", ".txt"), "chats.imessage.reader:is_imessage",
               is_chat=True),
        Format("slack", "chats.slack.reader:Slack", (".json", ".zip"), "chats.slack.reader:is_slack", is_chat=True),
        Format("sms", "chats.sms.reader:Sms", (".xml",), "chats.sms.reader:is_sms", is_chat=True),
        Format("discord", "chats.discord:Discord", (*_CHAT_FILES, ".zip"), is_discord, is_chat=True),
        Format("telegram", "chats.telegram.json:Telegram", _CHAT_FILES, is_telegram, is_chat=True),
        Format("instagram", "chats.messenger:Instagram", _CHAT_FILES, is_instagram, is_chat=True),
        Format("messenger", "chats.messenger:Messenger", _CHAT_FILES, is_messenger, is_chat=True),
        Format("sqlite", "sqlite_rows:Sqlite", (".db", ".sqlite", ".sqlite3", ".db3"), "sqlite_rows:is_sqlite"),
        Format("stackexchange", "stackexchange:StackExchange", (".xml",), "stackexchange:is_stackexchange"),
        Format("mediawiki", "mediawiki:MediaWiki", (".xml",), "mediawiki:is_mediawiki"),
        Format("zip", "archive:TextArchive", (".zip",), "archive:has_texts"),
        Format("json", "json.elements:Json", (".json",), "json.elements:is_json"),
        Format("chat", "chats.plain:Chat", is_chat=True),
    )
}  # fmt: skip
PLATFORMS = tuple(name for name, f in FORMATS.items() if f.is_chat)


def register(
    name: str, reader: Reader | type[Reader], *, suffixes: tuple[str, ...] = (), sniff: Sniffer | None = None
) -> None:
    """Add a format to those of `dp.read` in this process, in place of a registered one of the same name.

    Args:
        name: the name of the format.
        reader: a Reader, or its class, which gets the options of `dp.read`.
        suffixes: the suffixes of files of this format, which take precedence over formats that were registered earlier.
            Compression suffixes are left out: ".log" also means ".log.gz".
        sniff: a function that is called as `sniff(head, url)` with a file's first 64 kB, decompressed; if it is given,
            only files that it accepts are of this format.

    Raises PlanError for the name of a built-in format, or a reader that is not a frozen dataclass.

    >>> extend.register("log", MyLog, suffixes=(".log",), sniff=lambda head, url: head[:4] == b"#log")  # doctest: +SKIP
    """
    old = FORMATS.get(name) if isinstance(name, str) else None
    if name == "hf" or (old is not None and isinstance(old.reader, str)):
        msg = f"{name!r} is a built-in format; choose another name"
        raise PlanError(msg)
    if not isinstance(name, str) or not name:
        msg = f"name={name!r} must be a non-empty string, such as 'log'"
        raise PlanError(msg)
    if not isinstance(suffixes, tuple) or not all(isinstance(s, str) and "." in s and s == s.lower() for s in suffixes):
        msg = f"suffixes={suffixes!r} must be a tuple of suffixes or file names in lower case, such as ('.log',)"
        raise PlanError(msg)
    if sniff is not None and (not callable(sniff) or not suffixes):
        msg = f"sniff={sniff!r} must be a function of (head, url), and needs suffixes= of the files to check"
        raise PlanError(msg)
    added = dataclasses.replace(format_of_reader(reader), name=name, suffixes=suffixes, sniff=sniff)
    others = {k: f for k, f in FORMATS.items() if k != name}
    FORMATS.clear()
    FORMATS.update({name: added, **others})


def format_of_reader(reader: Reader | type[Reader]) -> Format:
    """Return a Format, without suffixes, for a Reader or Reader class that is not registered under a name.

    Raises PlanError if it is not a Reader, or not a frozen dataclass.
    """
    kind = reader if isinstance(reader, type) else type(reader)
    if not issubclass(kind, Reader) or not dataclasses.is_dataclass(kind):
        msg = f"{kind.__name__} must be a frozen dataclass derived from dataprep.extend.Reader"
        raise PlanError(msg)
    return Format(kind.__name__, reader)


def named(name: str | Reader | type[Reader]) -> Format:
    """Return the format with the name `name`, or a new one for a Reader or its class.

    Raises PlanError if no format has this name.
    """
    if not isinstance(name, str):
        return format_of_reader(name)
    if name not in FORMATS:
        msg = f"there is no format {name!r}; the formats are {', '.join(FORMATS)}, hf"
        raise PlanError(msg)
    return FORMATS[name]


def name_of(reader: Reader) -> str:
    """Return the name of the format that `reader` reads; for a Reader that has none, that of its class."""
    kind = type(reader)
    of = (f.name for f in FORMATS.values() if f.reader in (reader, kind) or str(f.reader).endswith(f":{kind.__name__}"))
    return next(of, kind.__name__)


def format_of(url: str) -> Format | None:
    """Return the first format that has the file's suffix and accepts the file; None if there is none.

    Registered formats are tried first, then those with `sniff`, then those for which the suffix suffices.
    """
    claiming = [f for f in FORMATS.values() if f.claims(url)]
    registered = next((f for f in claiming if not isinstance(f.reader, str)), None)
    if registered is not None and registered.sniff is None:
        return registered
    return sniffed(url) or next((f for f in claiming if f.sniff is None), None)


def sniffed(url: str) -> Format | None:
    """Return the format that recognises the file `url` by its first bytes; None if none does.

    Also returns None for a .json file that is not on this machine, because such a file is not opened.
    """
    asked = [f for f in FORMATS.values() if f.sniff is not None and f.claims(url)]
    if not asked or (files.suffix(url) == ".json" and not files.is_local(url)):
        return None
    with contextlib.suppress(ReadError), files.open_read(url) as stream:  # of a damaged file, its reader reports it
        head = stream.read(HEAD_BYTES)
        if files.suffix(url) in TEXT:
            head = head_as_utf8(head, url)
        head = head.removeprefix(BOM)
        return next((f for f in asked if f.accepts(head, url)), None)
    return None


def may_be_chat(url: str) -> bool:
    """Return whether the suffix of `url` is one that chat exports have (.txt .json .html .csv .xml .db .zip)."""
    return any(f.is_chat and f.claims(url) for f in FORMATS.values())
