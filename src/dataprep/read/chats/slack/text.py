"""Turn Slack's markup of a text (`<@U1>`, `<#C1|tea>`, `<https://example.org|label>`, `&amp;`) into what people saw."""

from __future__ import annotations

import re
from collections.abc import Mapping

MARKED = re.compile(r"<([@#!]?)([^<>|]*)(?:\|([^<>]*))?>")
ESCAPED = {"&lt;": "<", "&gt;": ">", "&amp;": "&"}
ENTITY = re.compile("|".join(ESCAPED))


def plain(text: str, users: Mapping[str, str], channels: Mapping[str, str]) -> str:
    """Return a text without Slack's markup; users, channels: names by id.

    >>> plain("<@U1>: see <https://example.org|example.org> &amp; <#C1>", {"U1": "Ilse"}, {"C1": "tea"})
    '@Ilse: see example.org & #tea'
    """
    if "<" in text:
        text = MARKED.sub(lambda m: _shown(m[1], m[2], m[3], users, channels), text)
    return ENTITY.sub(lambda m: ESCAPED[m[0]], text) if "&" in text else text


def _shown(sign: str, value: str, label: str | None, users: Mapping[str, str], channels: Mapping[str, str]) -> str:
    """Return what people saw in place of a mark; sign: its first character, "" for a link."""
    if sign == "@":
        return f"@{users.get(value) or label or value}"
    if sign == "#":
        return f"#{label or channels.get(value) or value}"
    if sign == "!":
        return label or f"@{value.partition('^')[0]}"
    if not label or label == value:
        return value.removeprefix("mailto:")
    return label if label in value else f"{label} ({value})"
