"""Twin of `read/chats/whatsapp/kinds_kernel.py`."""

from __future__ import annotations

import json

from dataprep.read.chats.whatsapp import kinds as whatsapp_words


def whatsapp(messages: list[tuple[str, bool]]) -> list[tuple[str, str, str]]:
    """Kind, text and meta of (said, whether somebody speaks), with the rules of the module but none passed over."""
    w = whatsapp_words
    marked = any(c in said.split("\n")[0] for said, _ in messages for c in "\u200e\u200f")
    out = []
    for said, speaks in messages:
        meta, left = {}, said
        bare = said.rstrip(w.MARKS + w.SPACES + "\n")
        start = bare.rfind("<")
        inside = bare[start + 1 : -1]
        tail = start >= 0 and bare.endswith(">") and 3 <= len(inside) <= 60 and "\n" not in inside
        if tail and w.bare(inside) in w.EDITED:
            left, meta = said[:start].rstrip(w.MARKS), {"edited": True}
            left = left[:-1] if left.endswith(tuple(w.SPACES)) else left
        kind, name = w.kind_of(left, speaks=speaks, marked=marked)
        meta = {"file": name, **meta} if name else meta
        out.append((kind, left.strip(w.EDGES), json.dumps(meta, ensure_ascii=False) if meta else "{}"))
    return out
