"""Which platform's chat a file is, told by its first bytes; and the order of exports that come in several files."""

from __future__ import annotations

import codecs
import contextlib
import re
from collections.abc import Sequence

from dataprep.errors import ReadError
from dataprep.read.lines import BOM
from dataprep.read.parts import InputFile
from dataprep.store import files

HEAD = 1 << 16
SUFFIXES = (".txt", ".zip", ".json", ".html", ".htm", ".csv")  # what exports of chats are called
PLATFORMS = ("whatsapp", "telegram", "discord", "messenger", "instagram", "signal", "chat")

# Two records: JSON Lines, whatever their fields are called.
JSON_LINES = re.compile(rb"\s*\{[^\n]*\}[ \t\r]*\n\s*\{")
KEY = rb'(?<!\\)"%s"\s*:\s*'
TELEGRAM_TYPES = (
    rb'"(personal_chat|bot_chat|saved_messages|replies|verification_codes|'
    rb'(private|public)_(group|supergroup|channel))"'
)
TELEGRAM = re.compile(KEY % b"type" + TELEGRAM_TYPES)
ACCOUNT = re.compile(KEY % b"(personal_information|chats|left_chats|frequent_contacts)" + rb"\{")
DISCORD = (re.compile(KEY % b"guild" + rb"\{"), re.compile(KEY % b"channel" + rb"\{"))
META = re.compile(KEY % b"(sender_name|senderName)")
META_TIME = re.compile(KEY % b"(timestamp_ms|timestamp)" + rb"\d{12,}")
CSV = re.compile(rb'"?AuthorID"?,"?Author"?,"?Date"?,"?Content"?')
PAGE = re.compile(rb'<div class="(history|page_body chat_page)">')
SIGNAL = {  # of signal-export's folders (chat.md, data.json) and signalbackup-tools' text; sigtop's is any log's form
    ".md": re.compile(rb"\s*\[\d{4}-\d\d-\d\d,? \d\d:\d\d(:\d\d)?\] [^\n]{1,200}?:[ \n]"),
    ".txt": re.compile(rb"\s*\[[A-Z][a-z]{2} \d\d, \d{4} \d\d:\d\d:\d\d\] (<|\*\*\*)"),
    ".json": re.compile(rb'\s*\{(?=[^\n]*"date":)(?=[^\n]*"sender":)(?=[^\n]*"body":)[^\n]*\}[ \t\r]*(\n|\Z)'),
}
SIGNAL_NAMES = {".md": ("chat.md", "index.md"), ".json": ("data.json",)}
INSTAGRAM = re.compile(rb"(?i)instagram")

# Exports in numbered files, and whether the first is the oldest.
SERIES = {
    "messenger": (re.compile(r"message_(\d+)\.json(\.\w+)?$"), -1),
    "instagram": (re.compile(r"message_(\d+)\.json(\.\w+)?$"), -1),
    "telegram": (re.compile(r"messages(\d*)\.html(\.\w+)?$"), 1),
}


def platform_of(url: str) -> str | None:
    """The format of a chat export, one of PLATFORMS but `chat`, which has no form of its own; None if it is none.

    Only files with a suffix of `SUFFIXES` are opened, and `chat.md`; of these the first 64 kB are read.
    """
    if not may_be_chat(url):
        return None
    with contextlib.suppress(ReadError):  # a damaged file: its reader tells
        if files.suffix(url) in {".txt", ".zip"}:
            from dataprep.read.chats.whatsapp.reader import (
                looks_like_chat,  # Numba: reading other files does not wait for it
            )

            if looks_like_chat(url):
                return "whatsapp"
        if files.suffix(url) != ".zip":
            with files.open_read(url) as stream:
                return _by_content(stream.read(HEAD).removeprefix(BOM), url)
    return None


def may_be_chat(url: str) -> bool:
    """Whether exports of chats have such names."""
    suffix = files.suffix(url)
    return suffix in SUFFIXES or files.name_of(url).lower() in SIGNAL_NAMES.get(suffix, ())


def tried() -> str:
    """The forms of headers that WhatsApp's reader knows, for an error."""
    from dataprep.read.chats.whatsapp.headers import TRIED

    return TRIED


def refuse_utf16(head: bytes, url: str) -> None:
    """Say so where a file begins like UTF-16, as editors may save it."""
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        msg = "the file is UTF-16, and chats are exported in UTF-8; convert it (iconv -f UTF-16 -t UTF-8)"
        raise ReadError(msg, url, 0)


def refuse_zip(url: str) -> None:
    """Say of a zip that is no chat export why: it is damaged, or holds none."""
    from dataprep.read.chats.whatsapp.archives import exports

    exports(url)


def _by_content(head: bytes, url: str) -> str | None:
    suffix = files.suffix(url)
    own_name = files.name_of(url).lower() in SIGNAL_NAMES.get(suffix, (files.name_of(url).lower(),))
    if suffix in SIGNAL and own_name and SIGNAL[suffix].match(head):
        return "signal"
    if suffix == ".txt":
        return None
    begins = head.lstrip()[:1]
    if begins == b"{":
        return _json(head, url)
    if begins == b"<":
        return "telegram" if PAGE.search(head) else None
    return "discord" if CSV.match(head) else None


def _json(head: bytes, url: str) -> str | None:
    if JSON_LINES.match(head):
        return None
    if all(pattern.search(head) for pattern in DISCORD):
        return "discord"
    if TELEGRAM.search(head) or ACCOUNT.search(head):
        return "telegram"
    if META.search(head) and META_TIME.search(head):
        return "instagram" if "instagram" in url.lower() or INSTAGRAM.search(head) else "messenger"
    return None


def oldest_first(found: Sequence[InputFile]) -> list[InputFile]:
    """The same files, those of one export (in one folder, numbered) in the order in which they were written.

    Messenger's message_1.json is the newest; Telegram's messages2.html comes after messages.html, and not after
    messages19.html. All other files stay where they are.
    """
    series: dict[tuple[str, str], list[tuple[int, int]]] = {}
    for place, file in enumerate(found):
        pattern, sign = SERIES.get(file.format, (None, 0))
        m = pattern.match(files.name_of(file.url)) if pattern else None
        if m:
            folder = file.url.rpartition("/")[0]
            series.setdefault((folder, file.format), []).append((sign * int(m[1] or 1), place))
    ordered = list(found)
    for members in series.values():
        for (_, source), place in zip(sorted(members), sorted(place for _, place in members), strict=True):
            ordered[place] = found[source]
    return ordered
