"""Read the accounts and contacts that exports state: of Telegram, Discord, Slack, Signal, Apple, phones, and vCards."""

from __future__ import annotations

import contextlib
import functools
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from dataprep.errors import ReadError
from dataprep.messages.names.phones import phone
from dataprep.read.chats.discord import Discord
from dataprep.read.chats.discord_csv import blocks
from dataprep.read.chats.discord_package import is_package
from dataprep.read.chats.imessage.reader import IMessage
from dataprep.read.chats.json_export import sort_out
from dataprep.read.chats.packs import DAMAGED_ZIP, Pack, folder_of, opened_zip, state_of
from dataprep.read.chats.signal import Signal
from dataprep.read.chats.slack.names import USERS
from dataprep.read.chats.slack.reader import Slack
from dataprep.read.chats.sms.reader import Sms, contact_names
from dataprep.read.chats.telegram.json import Telegram
from dataprep.read.json.stream import JsonStream
from dataprep.read.text import BOM
from dataprep.store import files

from .owners import StatedAccount, apple_accounts, direct, owner_of, zipped_package

Account = tuple[str, str]  # platform, id
CARD = ".vcf"
MAX_CARD_BYTES = 64 << 20
_FOLD = re.compile(r"\r?\n[ \t]")
_FIELD = re.compile(r"(?:[\w-]+\.)?(FN|TEL|BEGIN|END)(?:;[^:\n]*)?:(.*)", re.IGNORECASE)
_WAID = re.compile(r"waid=(\d+)", re.IGNORECASE)


@dataclass
class Stated:
    """The accounts and contacts that one file states.

    Attributes:
        accounts: pairs (account, name); an account may have several names.
        handles: those of these names that are ids or names of accounts, not of people.
        cards: contacts, (name, digits of a phone number).
        others: the names of people whose account is not stated, such as those of forwarded messages.
    """

    accounts: set[tuple[Account, str]] = field(default_factory=set)
    handles: set[str] = field(default_factory=set)
    cards: set[tuple[str, str]] = field(default_factory=set)
    others: set[str] = field(default_factory=set)

    def add(self, account: Account, handles: Iterable[Any], names: Iterable[Any] = ()) -> None:
        """Add an account: its ids and names of accounts (`handles`), and the names of its person; skip empty ones."""
        mine = {_text(one) for one in handles if one}
        self.handles |= mine
        self.accounts.update((account, name) for name in mine | {_text(one) for one in names if one})


def _text(value: Any) -> str:
    """Return a value of JSON as text; lone surrogates, which are not valid text, become question marks."""
    return str(value).encode("utf-8", "replace").decode()


STATING = (IMessage, Slack, Sms, Signal, Telegram, Discord)  # readers of exports that state accounts or numbers


def stated_by(source: tuple[str, Any]) -> Stated:
    """Return the accounts and contacts in a file.

    Args:
        source: the URL, and the Reader of the file; None for a file of vCards.
    """
    url, reader = source
    if reader is None:
        with files.open_read(url) as f:
            return Stated(cards=set(cards_in(f.read(MAX_CARD_BYTES).decode("utf-8", "replace"))))
    if url.lower().endswith(".zip"):
        return _zipped(url, reader)
    if isinstance(reader, IMessage):
        return _of_accounts("imessage", apple_accounts(url, reader.me))
    if isinstance(reader, Slack):
        return _slack_folder(folder_of(url, 2), state_of(reader.companions(url)))
    if isinstance(reader, (Sms, Signal)):
        named = reader.numbers(url) if isinstance(reader, Signal) else {(n, k) for k, n in contact_names(url).items()}
        return Stated(cards={(name, digits) for name, number in named if (digits := phone(number))})
    return _accounts(url, reader) if isinstance(reader, (Telegram, Discord)) else Stated()


def _accounts(url: str, reader: Telegram | Discord) -> Stated:
    """Return the accounts in a Telegram or Discord export."""
    with files.open_read(url) as stream:
        head = stream.read(256).removeprefix(BOM).lstrip()
    if isinstance(reader, Discord) and is_package(head):
        return _package(url, reader)
    if head.startswith((b"{", b"[")):
        return _json(url, isinstance(reader, Discord), reader.max_doc_bytes)
    found = Stated()
    if isinstance(reader, Discord):
        for _, block in blocks(url):
            for row in block:
                if len(row) > 1:
                    found.add(("discord", row[0]), row[:2])
    return found


def _package(url: str, reader: Discord) -> Stated:
    """Return the accounts that a Discord data package states for one of its files of messages."""
    pack, (middle, channel) = Pack(url, folder_of(url, 3)), url.rstrip("/").split("/")[-3:-1]
    found = Stated()
    with contextlib.suppress(ReadError):  # the reader of messages reports these
        found = _of_accounts("discord", [*owner_of(pack, reader.me), *direct(pack, f"{middle}/{channel}")])
    return found


def _of_accounts(platform: str, accounts: Iterable[StatedAccount]) -> Stated:
    found = Stated()
    for one in accounts:
        found.add((platform, one.id), one.handles, one.names)
    return found


def _json(url: str, is_discord: bool, max_bytes: int) -> Stated:  # noqa: FBT001 - which of two
    found = Stated()
    add = _discord if is_discord else _telegram
    with files.open_read(url) as stream:
        walk = JsonStream(stream, url, max_bytes)
        for group in walk.groups():
            for message in sort_out(group, max_bytes)[1]:
                add(found, message)
        document = walk.document()
    if isinstance(document, dict) and not is_discord:
        found.cards.update(_contacts(document))
        _owner(found, document.get("personal_information"))
    return found


def _owner(found: Stated, stated: Any) -> None:
    """Add the owner of an export of a whole account of Telegram: the account, its username, and the phone number."""
    if isinstance(stated, dict) and stated.get("user_id"):
        names = [_full_name(stated), stated.get("phone_number")]
        number = f"user{stated['user_id']}"
        found.add(("telegram", number), [number, str(stated.get("username") or "").lstrip("@")], names)


def _telegram(found: Stated, message: Mapping[str, Any]) -> None:
    """Add the authors, actors, forwarded people and mentions of a message of Telegram."""
    for which in ("from", "actor", "forwarded_from", "saved_from"):
        number, name = message.get(f"{which}_id"), message.get(which)
        if isinstance(number, str) and number.startswith("user"):
            found.add(("telegram", number), [number], [name])
        elif isinstance(number, str) and which == "from":  # a channel
            found.accounts.update((("telegram", number), one) for one in (number, name) if one)
        elif isinstance(name, str) and name and number is None:
            found.others.add(name)
    members = message.get("members")
    found.others.update(name for name in (members if isinstance(members, list) else ()) if isinstance(name, str))
    for text in (message.get("text"), message.get("text_entities")):
        for one in text if isinstance(text, list) else ():
            if isinstance(one, dict) and one.get("type") == "mention_name" and one.get("user_id"):
                found.add(("telegram", f"user{one['user_id']}"), [f"user{one['user_id']}"])
            elif isinstance(one, dict) and one.get("type") == "mention":
                found.others.add(str(one.get("text") or ""))


def _discord(found: Stated, message: Mapping[str, Any]) -> None:
    """Add the authors, the mentioned people and those who reacted to a message of Discord."""
    people = [message.get("author"), *_listed(message.get("mentions"))]
    people += [who for one in _listed(message.get("reactions")) for who in _listed(one.get("users"))]
    interaction = message.get("interaction")
    people += [interaction.get("user")] if isinstance(interaction, dict) else []
    for who in people:
        if isinstance(who, dict) and who.get("id"):
            found.add(("discord", str(who["id"])), [who["id"], who.get("name")], [who.get("nickname")])


def _listed(value: Any) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _contacts(document: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield (name, digits) of the contacts in the export of a complete Telegram account."""
    for section in ("contacts", "frequent_contacts"):
        inner = document.get(section)
        listed = inner.get("list") if isinstance(inner, dict) else None
        for one in listed if isinstance(listed, list) else []:
            if isinstance(one, dict):
                name = _full_name(one)
                digits = phone(str(one.get("phone_number") or ""))
                if name and digits:
                    yield name, digits


def _full_name(person: Mapping[str, Any]) -> str:
    return " ".join(str(person[part]) for part in ("first_name", "last_name") if person.get(part))


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


def _zipped(url: str, reader: Any) -> Stated:
    """Return the people in a zip's vCards, Slack lists of users and accounts of a Discord data package."""
    found = Stated()
    if isinstance(reader, Discord):
        with contextlib.suppress(ReadError, *DAMAGED_ZIP):
            found = _of_accounts("discord", zipped_package(url, reader.me))
    with contextlib.suppress(ReadError, *DAMAGED_ZIP), opened_zip(url) as z:  # the reader of messages reports these
        for info in z.infolist():
            name = files.name_of(info.filename)
            data = z.read(info) if info.file_size <= MAX_CARD_BYTES and (name in USERS or _is_card(name)) else b""
            if name in USERS:
                _add_users(found, data)
            found.cards.update(cards_in(data.decode("utf-8", "replace")) if _is_card(name) else ())
    return found


@functools.lru_cache(maxsize=64)
def _slack_folder(root: str, _: tuple[tuple[str, str], ...]) -> Stated:
    """Return the people in the user lists of a Slack export's folder; the second argument changes with the files."""
    found = Stated()
    for name in USERS:
        if files.exists(url := f"{root}{name}"):
            with files.open_read(url) as f:
                _add_users(found, f.read())
    return found


def _add_users(found: Stated, data: bytes) -> None:
    """Add the accounts and phone numbers of Slack's list of users, a JSON list."""
    try:
        users = orjson.loads(data)
    except orjson.JSONDecodeError:
        return
    for user in users if isinstance(users, list) else []:
        if not isinstance(user, dict) or not user.get("id"):
            continue
        account = "slack", f"{user.get('team_id', '')} {user['id']}"
        profile: Any = user.get("profile")
        profile = profile if isinstance(profile, dict) else {}
        names = {str(of[n]) for of in (user, profile) for n in ("display_name", "real_name") if of.get(n)}
        found.add(account, [user["id"], user.get("name")], [*names, profile.get("email")])
        names = names or {str(user[n]) for n in ("name", "id") if user.get(n)}
        digits = phone(str(profile.get("phone") or ""))
        found.cards.update((name, digits) for name in names if digits)


def card_files(paths: Iterable[str]) -> list[str]:
    """Return the URLs of files of vCards among `paths` and in these folders."""
    found = (url for path in paths for url in files.expand(path))
    return sorted({url for url in found if _is_card(url)})


def _is_card(name: str) -> bool:
    return name.lower().endswith(CARD)
