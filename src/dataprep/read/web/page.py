"""Text of a web page: its bytes, the charset, and the extraction by Resiliparse."""

from __future__ import annotations

import codecs
import contextlib
import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from dataprep.errors import need

from .html_kernel import MAX_WORK, work
from .response import refuse

HTML = ("text/html", "application/xhtml+xml")
SAMPLE = 4_096
MAX_CONTROLS = 0.05  # of the first 4 kB; text has none but white space and, in ISO-2022, escapes
MAX_WRONG = 0.01  # of the characters of a page that may be unreadable, each is then U+FFFD
CONTROLS = bytes(set(range(32)) - set(b"\t\n\v\f\r\x1b"))
C1 = bytes(range(0x80, 0xA0))  # the only bytes that Latin-1 and Windows-1252 read in two ways
BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
BINARY = (b"%PDF-", b"\x89PNG", b"GIF8", b"\xff\xd8\xff", b"PK\x03\x04", b"\x1f\x8b", b"BZh", b"Rar!", b"ID3", b"OggS",
          b"MZ\x90", b"\x7fELF", b"\x00\x00\x01\x00", b"RIFF", b"\xd0\xcf\x11\xe0", b"wOF2", b"wOFF")  # fmt: skip
META = re.compile(rb"<meta[^>]{0,500}?charset\s*=\s*[\"']?\s*([a-zA-Z0-9_:.-]{1,40})", re.IGNORECASE)
ASCII_DIFFERS = ("utf-16", "utf-32", "iso2022", "hz")  # bytes that may be valid UTF-8 and mean something else


def text_of(data: bytes, declared: str, *, is_html: bool, options: Mapping[str, Any]) -> tuple[str, str]:
    """Return the text of a page and the charset that was used to decode it.

    data: the payload. declared: the charset in the HTTP headers, or "". options: of Resiliparse's extract_plain_text.
    Raises Refused("binary"), ("charset"), ("too_nested"), ("not_parsed") or ("no_text").
    """
    if is_binary(data):
        refuse("binary")
    page, used = characters(data, declared, is_html=is_html)
    if is_html:
        if work(page.encode("utf-8", "replace") if used.startswith("utf-16") else data) >= MAX_WORK:
            refuse("too_nested")
        page = _extract(page, options)
    if not page.strip():
        refuse("no_text")
    return page, used


def is_binary(data: bytes) -> bool:
    """Return whether bytes are not text in any charset."""
    head = data[:SAMPLE]
    if head.startswith(BINARY):
        return True
    if len(head) - len(head.translate(None, CONTROLS)) <= MAX_CONTROLS * len(head):
        return False
    return not (head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) or b"<\0" in head or b"\0<" in head)


def characters(data: bytes, declared: str, *, is_html: bool) -> tuple[str, str]:
    """Return the characters of a page and the charset that decoded them.

    A byte order mark decides. Otherwise valid UTF-8 is UTF-8 (other text hardly ever is); then the charset of HTTP,
    then that of `meta`, if the bytes are valid in it or nearly so; then the charset that Resiliparse detects.
    Raises Refused("charset") if none decodes 99 % of the characters.
    """
    for mark, name in BOMS:
        if data.startswith(mark):
            return data[len(mark) :].decode(name, "replace"), name
    first = codec_of(declared)
    if not first.startswith(ASCII_DIFFERS) and b"\x1b" not in data:
        with contextlib.suppress(UnicodeDecodeError):
            return data.decode(), "utf-8"
    meta = META.search(data, 0, 16 * SAMPLE) if is_html else None
    names = [name for name in (first, codec_of(meta[1].decode()) if meta else "") if name]
    if not any(name.startswith(ASCII_DIFFERS) for name in names[:1]):
        names.insert(0, "utf-8")
    for name in names:
        with contextlib.suppress(UnicodeDecodeError):
            same = name == "cp1252" and len(data) == len(data.translate(None, C1))  # decoded 20 times faster
            return data.decode("latin-1" if same else name), name
    detect = need("resiliparse.parse.encoding", extra="warc").detect_encoding
    names.append(codec_of(detect(data) or "") or "cp1252")
    for name in names:
        text = data.decode(name, "replace")
        if text.count("\ufffd") <= MAX_WRONG * len(text):
            return text, name
    return refuse("charset")


@cache
def codec_of(label: str) -> str:
    """Return Python's codec for a charset label as browsers interpret it; "" if there is none."""
    label = label.strip().lower()
    if label in {"", "utf-7"}:
        return ""
    parse = need("resiliparse.parse.encoding", extra="warc")
    name = parse.map_encoding_to_html5(label, fallback_utf8=False) or label
    try:
        info = codecs.lookup({"shift_jis": "cp932", "euc_kr": "cp949", "big5": "big5hkscs"}.get(name, name))
    except (LookupError, ValueError):
        return ""
    return info.name if info._is_text_encoding else ""  # noqa: SLF001 - as bytes.decode does


@cache
def _extractor() -> Any:
    return need("resiliparse.extract.html2text", extra="warc").extract_plain_text


def _extract(page: str, options: Mapping[str, Any]) -> str:
    try:
        text: str = _extractor()(page, **options)
    except Exception:  # noqa: BLE001 - a parser that gives up on one page must not end the run
        refuse("not_parsed")
    except BaseException as e:
        if type(e).__name__ != "PanicException":  # the exception of a Rust panic
            raise
        refuse("not_parsed")
    return text
