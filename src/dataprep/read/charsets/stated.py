"""Read the charset that a document itself states: byte order marks, XML declarations and the `meta` tag."""

from __future__ import annotations

import codecs
import re

MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF32_LE, "utf-32-le"), (codecs.BOM_UTF32_BE, "utf-32-be"),
         (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))  # fmt: skip
IN = 1 << 16  # bytes in which the tag `meta` is searched for
XML = re.compile(rb"""[\s\x00]*<\?xml\s[^>]{0,200}?\bencoding\s*=\s*["']([A-Za-z][A-Za-z0-9._:-]{0,40})["']""")
COMMENT = re.compile(rb"<!--.*?(?:-->|\Z)", re.DOTALL)
META = re.compile(rb"<meta[\s/]([^>]{0,1000})", re.IGNORECASE)
ATTRIBUTE = re.compile(rb"""([^\s"'>/=]+)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>]+))""")
CHARSET = re.compile(rb"""charset\s*=\s*["']?\s*([A-Za-z0-9_:.-]{1,40})""", re.IGNORECASE)


def marked(data: bytes) -> tuple[bytes, str]:
    """Return (byte order mark, codec) of the bytes of a document; (b"", "") if they begin with no such mark."""
    return next(((mark, name) for mark, name in MARKS if data.startswith(mark)), (b"", ""))


def in_xml(data: bytes) -> str:
    """Return the charset that the XML declaration at the start of a document states, or ""."""
    found = XML.match(data, 0, 512) if data[:64].lstrip().startswith(b"<?xml") else None
    return found[1].decode() if found else ""


def in_meta(data: bytes) -> str:
    """Return the charset that a `meta` tag in the first 64 kB of a page states, or "".

    As in the HTML Standard, comments are ignored, and `content` counts only in a tag with `http-equiv="content-type"`.
    """
    head = data[:IN]
    if b"charset" not in head.lower():
        return ""
    for tag in META.finditer(COMMENT.sub(b"", head)):
        fields = {name.lower(): a or b or c for name, a, b, c in ATTRIBUTE.findall(tag[1])}
        stated = b"charset=" + fields.get(b"charset", b"")
        if b"charset" not in fields and fields.get(b"http-equiv", b"").strip().lower() == b"content-type":
            stated = fields.get(b"content", b"")
        if found := CHARSET.search(stated):
            return found[1].decode()
    return ""
