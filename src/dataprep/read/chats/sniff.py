"""Sniffers of chat exports, by their first bytes; and the order of exports that come in several files."""

from __future__ import annotations

import re
from collections.abc import Sequence

from dataprep.read.parts import InputFile
from dataprep.store import files

# Two records: JSON Lines, whatever the names of their fields.
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
SIGNAL = {  # of signal-export (chat.md, data.json) and signalbackup-tools; sigtop's text looks like any log
    ".md": re.compile(rb"\s*\[\d{4}-\d\d-\d\d,? \d\d:\d\d(:\d\d)?\] [^\n]{1,200}?:[ \n]"),
    ".txt": re.compile(rb"\s*\[[A-Z][a-z]{2} \d\d, \d{4} \d\d:\d\d:\d\d\] (<|\*\*\*)"),
    ".json": re.compile(rb'\s*\{(?=[^\n]*"date":)(?=[^\n]*"sender":)(?=[^\n]*"body":)[^\n]*\}[ \t\r]*(\n|\Z)'),
}
INSTAGRAM = re.compile(rb"(?i)instagram")

# Names of exports in numbered files; 1: the first file is the oldest, -1: the newest.
SERIES = {
    "messenger": (re.compile(r"message_(\d+)\.json(\.\w+)?$"), -1),
    "instagram": (re.compile(r"message_(\d+)\.json(\.\w+)?$"), -1),
    "telegram": (re.compile(r"messages(\d*)\.html(\.\w+)?$"), 1),
}


def is_signal(head: bytes, url: str) -> bool:
    """Return whether a file begins like Signal chats as signal-export or signalbackup-tools write them."""
    return bool(SIGNAL[files.suffix(url)].match(head))


def is_discord(head: bytes, url: str) -> bool:  # noqa: ARG001 - every sniffer is called so
    """Return whether a file begins like DiscordChatExporter's JSON or CSV."""
    return _is_json(head, *DISCORD) if head.lstrip().startswith(b"{") else bool(CSV.match(head))


def is_telegram(head: bytes, url: str) -> bool:  # noqa: ARG001
    """Return whether a file begins like Telegram's JSON or HTML."""
    if head.lstrip().startswith(b"<"):
        return bool(PAGE.search(head))
    return _is_json(head, TELEGRAM) or _is_json(head, ACCOUNT)


def is_instagram(head: bytes, url: str) -> bool:
    """Return whether a file begins like Meta's JSON, and it or its URL names Instagram."""
    return is_messenger(head, url) and ("instagram" in url.lower() or bool(INSTAGRAM.search(head)))


def is_messenger(head: bytes, url: str) -> bool:  # noqa: ARG001
    """Return whether a file begins like Meta's JSON."""
    return _is_json(head, META, META_TIME)


def _is_json(head: bytes, *patterns: re.Pattern[bytes]) -> bool:
    """Return whether a file begins like one JSON object, not JSON Lines, and has all of these keys."""
    begins = head.lstrip().startswith(b"{") and not JSON_LINES.match(head)
    return begins and all(pattern.search(head) for pattern in patterns)


def oldest_first(found: Sequence[InputFile]) -> list[InputFile]:
    """Return the files with those of one export (numbered, in one folder) in the order in which they were written.

    Messenger's message_1.json is the newest; Telegram's messages2.html comes after messages.html and before
    messages19.html. All other files keep their indices.
    """
    series: dict[tuple[str, str], list[tuple[int, int]]] = {}
    for index, file in enumerate(found):
        pattern, sign = SERIES.get(file.format.name, (None, 0))
        m = pattern.match(files.name_of(file.url)) if pattern else None
        if m:
            folder = file.url.rpartition("/")[0]
            series.setdefault((folder, file.format.name), []).append((sign * int(m[1] or 1), index))
    ordered = list(found)
    for members in series.values():
        for (_, old), new in zip(sorted(members), sorted(index for _, index in members), strict=True):
            ordered[new] = found[old]
    return ordered
