"""Twin of `read/chats/whatsapp/close_names.py`: the author of a line without a blank after the colon."""

from __future__ import annotations

import re


def close_name(line: str) -> tuple[str, str] | None:
    """The name and the text after the header, or None: there is no colon, a number, a URL, or a blank after it."""
    name, colon, text = line.partition(":")
    if not colon or set(name) & set('"<=>\\{}') or not re.search("[A-Za-z\u0080-\U0010ffff]", name):
        return None
    return None if not text or text[0] in " \r\n\u00a0" or text.startswith("//") else (name, text)
