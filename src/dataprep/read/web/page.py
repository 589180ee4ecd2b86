"""Decode the bytes of a web page; bytes that are not text, or that would cost a parser too much, are rejected."""

from __future__ import annotations

from dataprep.read.charsets.decide import DecodedText, characters
from dataprep.read.charsets.labels import codec_of
from dataprep.read.charsets.units import is_binary

from .response import refuse
from .tags import MAX_WORK, work

HTML = ("text/html", "application/xhtml+xml")


def page_of(data: bytes, declared: str, *, is_html: bool) -> DecodedText:
    """Return a page decoded in the charset that was found.

    - data: the page's bytes.
    - declared: the charset in the HTTP headers, or "".

    Raises Refused with the reason "binary", "charset" or "too_nested".
    """
    if is_binary(data, codec_of(declared)):
        refuse("binary")
    found = characters(data, declared, is_html=is_html)
    if found is None:
        refuse("charset")
    if is_html:
        if found.charset.startswith(("utf-16", "utf-32")):
            data = found.text.encode("utf-8", "replace")
        if work(data) >= MAX_WORK:
            refuse("too_nested")
    return found
