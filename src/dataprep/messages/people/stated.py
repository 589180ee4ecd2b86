"""Read the accounts and contacts that exports state: ids of Telegram and Discord, contact lists and vCards."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from dataprep.errors import ReadError
from dataprep.messages.names.phones import phone
from dataprep.read.chats.discord import Discord, blocks
from dataprep.read.chats.json_export import sort_out
from dataprep.read.chats.sms.reader import Sms, contact_names
from dataprep.read.chats.telegram.json import Telegram
from dataprep.read.json.stream import JsonStream
from dataprep.read.text import BOM
from dataprep.store import files

Account = tuple[str, str]  # platform, id
CARD = ".vcf"
MAX_CARD_BYTES = 64 << 20
_FOLD = re.compile(r"\r?\n[ \t]")
_FIELD = re.compile(r"(?:[\w-]+\.)?(FN|TEL|BEGIN|END)(?:;[^:\n]*)?:(.*)", re.IGNORECASE)
_WAID = re.compile(r"waid=(\d+)", re.IGNORECASE)


@dataclass
class Stated:
    """Accounts and contacts of one file: (account, a name of it), and (name, digits of a phone number)."""

    accounts: set[tuple[Account, str]] = field(default_factory=set)
    cards: set[tuple[str, str]] = field(default_factory=set)


def stated_by(source: tuple[str, Any]) -> Stated:
    """Return the accounts and contacts in a file.

    source: the URL, and the Reader of the file; None for a file of vCards.
    """
    url, reader = source
    if reader is None:
        with files.open_read(url) as f:
            return Stated(cards=set(cards_in(f.read(MAX_CARD_BYTES).decode("utf-8", "replace"))))
    if url.lower().endswith(".zip"):
        return Stated(cards=set(_zipped(url)))
    if isinstance(reader, Sms):
        named = ((name, phone(number)) for number, name in contact_names(url).items())
        return Stated(cards={(name, digits) for name, digits in named if digits})
    if not isinstance(reader, (Telegram, Discord)):
        return Stated()
    with files.open_read(url) as stream:
        head = stream.read(64).removeprefix(BOM).lstrip()
    if head.startswith((b"{", b"[")):
        return _json(url, isinstance(reader, Discord), reader.max_doc_bytes)
    found = Stated()
    if isinstance(reader, Discord):
        for _, block in blocks(url):
            found.accounts.update((("discord", row[0]), name) for row in block if len(row) > 1 for name in row[:2])
    return found


def _json(url: str, is_discord: bool, max_bytes: int) -> Stated:  # noqa: FBT001 - which of two
    found = Stated()
    accounts = _discord if is_discord else _telegram
    with files.open_read(url) as stream:
        walk = JsonStream(stream, url, max_bytes)
        for group in walk.groups():
            for message in sort_out(group, max_bytes)[1]:
                found.accounts.update(accounts(message))
        document = walk.document()
    if isinstance(document, dict) and not is_discord:
        found.cards.update(_contacts(document))
    return found


def _telegram(message: Mapping[str, Any]) -> Iterator[tuple[Account, str]]:
    number, name = message.get("from_id"), message.get("from")
    if isinstance(number, str):
        yield ("telegram", number), number
        if isinstance(name, str) and name:
            yield ("telegram", number), name


def _discord(message: Mapping[str, Any]) -> Iterator[tuple[Account, str]]:
    who = message.get("author")
    if isinstance(who, dict) and who.get("id"):
        for name in ("id", "name", "nickname"):
            if who.get(name):
                yield ("discord", str(who["id"])), str(who[name])


def _contacts(document: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield (name, digits) of the contacts in the export of a whole account of Telegram."""
    for section in ("contacts", "frequent_contacts"):
        inner = document.get(section)
        listed = inner.get("list") if isinstance(inner, dict) else None
        for one in listed if isinstance(listed, list) else []:
            if isinstance(one, dict):
                name = " ".join(str(one[part]) for part in ("first_name", "last_name") if one.get(part))
                digits = phone(str(one.get("phone_number") or ""))
                if name and digits:
                    yield name, digits


def cards_in(text: str) -> Iterator[tuple[str, str]]:
    """Yield (name, digits of a phone number) for each number in a text of vCards (RFC 6350)."""
    name, numbers = "", list[str]()
    for line in _FOLD.sub("", text).splitlines():
        found = _FIELD.match(line.strip())
        if not found:
            continue
        which, value = found[1].upper(), found[2].strip()
        if which == "FN":
            name = re.sub(r"\\(.)", r"\1", value)
        elif which == "TEL":
            stated = _WAID.search(line)
            numbers.append(stated[1] if stated else value.removeprefix("tel:"))
        else:
            yield from ((name, digits) for number in numbers if name and (digits := phone(number)))
            name, numbers = "", []


def _zipped(url: str) -> Iterator[tuple[str, str]]:
    """Yield (name, digits) of the vCards in a zip."""
    try:
        with files.open_raw(url) as f, zipfile.ZipFile(f) as z:
            for info in z.infolist():
                if info.filename.lower().endswith(CARD) and info.file_size <= MAX_CARD_BYTES:
                    yield from cards_in(z.read(info).decode("utf-8", "replace"))
    except (zipfile.BadZipFile, OSError, ReadError):
        return  # the reader of messages reports a damaged file


def card_files(paths: Iterable[str]) -> list[str]:
    """Return the URLs of files of vCards among `paths` and in these folders."""
    found = (url for path in paths for url in files.expand(path))
    return sorted({url for url in found if url.lower().endswith(CARD)})
