"""Replace Slack's markup (`<@U1>`, `<#C1|tea>`, `<https://example.org|label>`, `&amp;`) by the text that people saw."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

MARKED = re.compile(r"<([@#!]?)([^<>|]*)(?:\|([^<>]*))?>")
ESCAPED = {"&lt;": "<", "&gt;": ">", "&amp;": "&"}
ENTITY = re.compile("|".join(ESCAPED))


# What people see in a block, in this order; blocks of unknown types are read field by field.
_INNER = ("title", "subtitle", "label", "description", "body", "details", "output", "fields", "elements", "blocks",
          "cards", "tasks", "sources", "actions", "accessory", "element", "child_blocks", "content")  # fmt: skip
_TYPES = """
actions alert card carousel container context context_actions data_table divider file header image input markdown plan
rich_text section table task_card video
"""  # of blocks, as Slack documents them
TYPES = frozenset(_TYPES.split())
# Fields of blocks that people do not see.
_HIDDEN = re.compile(r"(?:.*_)?(?:id|type|url|value|style|level|status|key|source|size|emoji|verbatim)\Z")
_INLINE = {"text", "link", "user", "channel", "usergroup", "broadcast", "emoji", "date", "color"}


def plain(text: str, users: Mapping[str, str], channels: Mapping[str, str]) -> str:
    """Return a text without Slack's markup.

    - users, channels: names by id.

    >>> plain("<@U1>: see <https://example.org|example.org> &amp; <#C1>", {"U1": "Ilse"}, {"C1": "tea"})
    '@Ilse: see example.org & #tea'
    """
    if "<" in text:
        text = MARKED.sub(lambda m: _shown(m[1], m[2], m[3], users, channels), text)
    return ENTITY.sub(lambda m: ESCAPED[m[0]], text) if "&" in text else text


def _shown(sign: str, value: str, label: str | None, users: Mapping[str, str], channels: Mapping[str, str]) -> str:
    """Return the text that people saw in place of markup.

    - sign: the first character of the markup, "" for a link.
    """
    if sign == "@":
        return f"@{users.get(value) or label or value}"
    if sign == "#":
        return f"#{label or channels.get(value) or value}"
    if sign == "!":
        return label or f"@{value.partition('^')[0]}"
    if not label or label == value:
        return value.removeprefix("mailto:")
    return label if label in value else f"{label} ({value})"


def unknown_types(blocks: Any) -> set[str]:
    """Return the types of blocks that Slack does not document, or that are newer than this reader."""
    some = blocks if isinstance(blocks, list) else []
    return {str(one.get("type")) for one in some if isinstance(one, dict)} - TYPES


def _every_text(value: Any, users: Mapping[str, str], channels: Mapping[str, str]) -> str:
    """Return all texts in a block of unknown type, one per line, without the values of technical fields."""
    if isinstance(value, str):
        return plain(value, users, channels)
    if isinstance(value, dict):
        value = [inner for name, inner in value.items() if not _HIDDEN.match(str(name))]
    inner = value if isinstance(value, list) else []
    return "\n".join(filter(None, (_every_text(one, users, channels) for one in inner)))


def blocks_text(blocks: Any, users: Mapping[str, str], channels: Mapping[str, str]) -> str:
    """Return the text of the blocks of a message; one of an unknown type is read field by field.

    >>> blocks_text([{"type": "novelty", "novelty_id": "N1", "says": {"text": "Hi <@U1>"}}], {"U1": "Bo"}, {})
    'Hi @Bo'
    """
    parts = []
    for one in blocks if isinstance(blocks, list) else []:
        is_known = isinstance(one, dict) and one.get("type") in TYPES
        parts.append((in_blocks(one, users, channels) if is_known else "") or _every_text(one, users, channels))
    return "\n".join(filter(None, parts))


def in_blocks(value: Any, users: Mapping[str, str], channels: Mapping[str, str]) -> str:
    """Return the text of blocks, or of what is in them, in which programs write their messages; one line per block.

    >>> in_blocks([{"type": "section", "text": {"type": "mrkdwn", "text": "Hi <@U1>"}}], {"U1": "Ilse"}, {})
    'Hi @Ilse'
    """
    if isinstance(value, list):
        joint = "" if any(isinstance(one, dict) and one.get("type") in _INLINE for one in value) else "\n"
        return joint.join(filter(None, (in_blocks(one, users, channels) for one in value)))
    if not isinstance(value, dict):
        return ""
    if value.get("type") == "user":
        return plain(f"<@{value.get('user_id')}>", users, channels)
    if value.get("type") == "channel":
        return plain(f"<#{value.get('channel_id')}>", users, channels)
    own = value.get("text") or value.get("url") if value.get("type") == "link" else value.get("text")
    said = plain(own, users, channels) if isinstance(own, str) else in_blocks(own, users, channels)
    inner = [in_blocks(value.get(name), users, channels) for name in _INNER]
    rows = value.get("rows")
    rows = [row for row in rows if isinstance(row, list)] if isinstance(rows, list) else []
    cells = ([in_blocks(cell, users, channels) for cell in row] for row in rows)
    return "\n".join(filter(None, (said, *inner, *map("\t".join, cells))))
