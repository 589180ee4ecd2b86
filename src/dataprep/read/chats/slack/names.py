"""The names in a Slack export: of people (users.json), and of channels, groups and direct messages."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dataprep.read.chats.packs import Pack

USERS = ("users.json", "org_users.json")
CHATS = ("channels.json", "groups.json", "mpims.json", "dms.json")
FIELDS = {  # of a user or of its profile, in the order in which they are tried
    "display": ("display_name", "real_name", "name"),
    "real": ("real_name", "display_name", "name"),
    "name": ("name", "display_name", "real_name"),
    "id": (),
}


@dataclass(frozen=True)
class SlackNames:
    """The names in a Slack export: of users by id, of channels by id, and of chats by the name of their folder."""

    users: Mapping[str, str] = field(default_factory=dict)
    channels: Mapping[str, str] = field(default_factory=dict)
    folders: Mapping[str, str] = field(default_factory=dict)


def name_of(user: Mapping[str, Any], author: str) -> str | None:
    """Return the name of a user, or of the author of a message by its profile.

    Args:
        user: the user's object, or the profile in a message.
        author: the name to use: "display", "real", "name" or "id".
    """
    profile = user.get("profile")
    both = {**user, **{k: v for k, v in profile.items() if v}} if isinstance(profile, dict) else user
    return next((str(both[name]) for name in FIELDS[author] if both.get(name)), None)


def names_in(pack: Pack, author: str) -> SlackNames:
    """Return the names that the files of an export state.

    A group conversation without a name is named after its members.

    - author: "display", "real", "name" or "id".
    """
    users: dict[str, str] = {"USLACKBOT": "Slackbot"}
    for file in USERS:
        for user in _listed(pack.document(file)):
            users[str(user.get("id"))] = name_of(user, author) or str(user.get("id"))
    channels: dict[str, str] = {}
    folders: dict[str, str] = {}
    for file in CHATS:
        for chat in _listed(pack.document(file)):
            id_, name = str(chat.get("id")), str(chat.get("name") or "")
            members = chat.get("members")
            people = [users.get(str(m), str(m)) for m in members] if isinstance(members, list) else []
            direct = file in {"dms.json", "mpims.json"} and people
            shown = ", ".join(sorted(people)) if direct else name or id_
            channels[id_] = name or shown
            folders[name or id_] = shown
            folders.setdefault(id_, shown)
    return SlackNames(users, channels, folders)


@functools.lru_cache(maxsize=4)
def cached_names(root: str, state: tuple[tuple[str, str], ...], author: str) -> SlackNames:  # noqa: ARG001 - key
    """Return the names in the folder `root` as `names_in` does, from a cache.

    - state: the hashes of the files with names, so that a changed file is read again.
    - author: as in `names_in`.
    """
    return names_in(Pack(root, root), author)


def _listed(value: Any) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []
