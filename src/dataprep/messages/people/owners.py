"""Read the accounts in Discord's data package and in Apple's message database: of the owner and of other people."""

from __future__ import annotations

import contextlib
import posixpath
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from dataprep.errors import ReadError
from dataprep.read.chats.discord_package import ACCOUNTS, CHANNEL, title_of_direct
from dataprep.read.chats.imessage.database import columns_of, opened
from dataprep.read.chats.packs import Pack, members, opened_zip

_DIGITS = re.compile(r"[0-9]+")


class StatedAccount(NamedTuple):
    """An account that an export states: its id, its handles (ids and account names), and the names of its person."""

    id: str
    handles: list[Any]
    names: list[Any]


def zipped_package(url: str, me: str | None) -> Iterator[StatedAccount]:
    """Yield the accounts in a Discord data package.

    Args:
        url: the zip.
        me: the owner's name, if the user gave one.
    """
    with opened_zip(url) as archive:
        found = [m for name in members(archive) if (m := CHANNEL.match(name))]
        for root in sorted({m[1] for m in found}):
            pack = Pack(url, root, archive)
            yield from owner_of(pack, me)
            for m in found:
                if m[1] == root:
                    yield from direct(pack, f"{m[2]}/{m[3]}")


def owner_of(pack: Pack, me: str | None) -> Iterator[StatedAccount]:
    """Yield the account of the owner of a data package and those of the owner's friends."""
    user = _dict(pack.document(*ACCOUNTS))
    phone = [user["phone"]] if isinstance(user.get("phone"), str) else []
    if user.get("id"):
        names = [user.get("global_name") or user.get("username"), me, user.get("email"), *phone]
        yield StatedAccount(str(user["id"]), [user["id"], user.get("username")], names)
    friends = user.get("relationships")
    for one in map(_dict, friends if isinstance(friends, list) else ()):
        who = _dict(one.get("user"))
        if id_ := who.get("id") or one.get("id"):
            names = [one.get("nickname"), who.get("global_name") or who.get("display_name")]
            yield StatedAccount(str(id_), [id_, who.get("username")], names)


def direct(pack: Pack, folder: str) -> Iterator[StatedAccount]:
    """Yield the accounts of the members of direct messages.

    - folder: the folder of the channel, such as "messages/c12".
    """
    channel = _dict(pack.document(posixpath.join(folder, "channel.json")))
    middle = posixpath.dirname(folder)
    stated = channel.get("recipients")
    owner = str(_dict(pack.document(*ACCOUNTS)).get("id", ""))
    others = [str(one) for one in (stated if isinstance(stated, list) else ()) if str(one) != owner]
    index = _dict(pack.document(posixpath.join(middle, "index.json")))
    name = title_of_direct(str(index.get(str(channel.get("id"))) or ""))
    for one in others:
        if _DIGITS.fullmatch(one):
            yield StatedAccount(one, [one], [name] if len(others) == 1 and owner else [])


def apple_accounts(url: str, me: str) -> Iterator[StatedAccount]:
    """Yield, from a database, the addresses of each person with several ones, and of the owner, who is called `me`."""
    with contextlib.suppress(ReadError), opened(url) as connection:  # the reader of messages reports the error
        owner = {me}
        for table, column in (("message", "account"), ("message", "destination_caller_id"), ("chat", "account_login")):
            if column in columns_of(connection, table):
                query = f"SELECT DISTINCT {column} FROM {table} WHERE typeof({column}) = 'text'"  # noqa: S608 - ours
                owner |= {re.sub(r"\A[EePp]:", "", value).strip() for (value,) in connection.execute(query)}
        yield StatedAccount("owner", [], sorted(owner))
        has = columns_of(connection, "handle")
        person, written = (c if c in has else "NULL" for c in ("person_centric_id", "uncanonicalized_id"))
        people: dict[str, set[str]] = {}
        query = f"SELECT id, {person}, {written} FROM handle"  # noqa: S608 - names of ours
        for id_, centric, form in connection.execute(query):
            mine = {value for value in (id_, form) if isinstance(value, str)}
            people.setdefault(str(centric or id_), set()).update(mine)
        for id_, names in sorted(people.items()):
            yield StatedAccount(f"person {id_}", [], sorted(names))


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
