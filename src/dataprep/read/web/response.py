"""Parse HTTP responses in crawls: status, headers, and the payload without transfer and content encodings.

Headers in archives often no longer describe the payload, which may be decoded already or wrongly labelled. A payload
that does not begin as its header states is used unchanged. Nothing is decompressed beyond a limit.
"""

from __future__ import annotations

import io
import re
import zlib
from typing import Any, NamedTuple, NoReturn

import zstandard

from dataprep.errors import need

STATUS = re.compile(rb"(?:\r?\n){0,2}(?:HTTP/\d(?:\.\d)?|ICY)[ \t]+(\d{3})\b")  # RFC 9112, 2.2: empty lines first
HEAD_END = re.compile(rb"\n\r*\n")
CHUNK_SIZE = re.compile(rb"[ \t]*([0-9A-Fa-f]{1,8})[ \t]*(?:;[^\n]*)?\r?\n")
NAMED = re.compile(
    rb"\n(content-type|content-encoding|transfer-encoding)[ \t]*:([^\r\n]*(?:\r*\n[ \t][^\r\n]*)*)", re.IGNORECASE
)
JOINED = {"content-encoding", "transfer-encoding"}
BEGINS = {"gzip": b"\x1f\x8b", "zstd": b"\x28\xb5\x2f\xfd"}
ALIASES = {"x-gzip": "gzip", "x-compress": "compress", "x-zstd": "zstd", "brotli": "br"}


class Refused(Exception):
    """Raised for a page that is dropped, with the reason under which it is counted."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def refuse(reason: str) -> NoReturn:
    """Raise Refused(reason), so that the page is dropped and counted under this reason."""
    raise Refused(reason)


class Response(NamedTuple):
    """An HTTP response, with only the three headers about its payload; their names are in lower case.

    Attributes:
        status: the HTTP status; None if the record has no HTTP head, but only a payload and its type.
    """

    status: int | None
    headers: dict[str, str]
    payload: bytes


def parse(block: bytes) -> Response:
    """Return the status, headers and payload of an HTTP response.

    Args:
        block: the bytes of a response record.

    Raises Refused with the reason "bad_http" if it is not a response.
    """
    status = STATUS.match(block)
    if status is None:
        refuse("bad_http")
    end = HEAD_END.search(block, status.end())
    head, payload = (block, b"") if end is None else (block[: end.start()], block[end.end() :])
    headers: dict[str, str] = {}
    for found in NAMED.finditer(head):
        name, value = found[1].decode("latin-1").lower(), found[2].decode("latin-1").strip()
        headers[name] = f"{headers[name]}, {value}" if name in JOINED and name in headers else headers.get(name, value)
    return Response(int(status[1]), headers, payload)


def media_type(headers: dict[str, str]) -> str:
    """Return the Content-Type in lower case without parameters, `text/html` for `Text/HTML; charset=x`; "" if none."""
    return headers.get("content-type", "").partition(";")[0].partition(",")[0].strip().lower()


def charset(headers: dict[str, str]) -> str:
    """Return the charset in the header Content-Type, in lower case; "" if it states none."""
    _, found, rest = headers.get("content-type", "").lower().partition("charset=")
    return re.split(r"[;,\s]", rest.strip("\"' "), maxsplit=1)[0].strip("\"'") if found else ""


def decoded(response: Response, max_bytes: int, *, is_cut: bool) -> bytes:
    """Return the payload of a response without transfer and content encodings, such as gzip.

    - max_bytes: limit of the decoded payload.
    - is_cut: whether the crawler truncated the payload (WARC-Truncated), which is then accepted as it is.

    Raises Refused with the reason "cut_payload", "bad_encoding" or "too_long".
    """
    data, whole = response.payload, True
    if "chunked" in response.headers.get("transfer-encoding", "").lower():
        data, whole = unchunked(data)
    names = [n.strip().lower() for n in response.headers.get("content-encoding", "").split(",")]
    for name in reversed([ALIASES.get(n, n) for n in names if n and n not in {"identity", "none", "utf-8"}]):
        data, complete = _unpacked(data, name, max_bytes) if len(data) <= max_bytes else (data, True)
        whole = whole and complete
    if len(data) > max_bytes:
        refuse("too_long")
    if not whole and not is_cut:
        refuse("cut_payload")
    return data


def unchunked(data: bytes) -> tuple[bytes, bool]:
    """Remove chunked transfer encoding (RFC 9112); return (data, whether the last chunk was found).

    Data that is not chunked is returned unchanged, with True.
    """
    parts: list[bytes] = []
    at = 0
    while size := CHUNK_SIZE.match(data, at):
        n, start = int(size[1], 16), size.end()
        if n == 0:
            return b"".join(parts), True
        parts.append(data[start : start + n])
        if start + n > len(data):
            return b"".join(parts), False
        at = start + n
        at += 2 if data[at : at + 2] == b"\r\n" else data[at : at + 1] == b"\n"
    return (b"".join(parts), False) if parts else (data, True)


def _unpacked(data: bytes, name: str, max_bytes: int) -> tuple[bytes, bool]:
    """Return at most max_bytes + 1 decompressed bytes, and whether the end was reached."""
    if not data or (name in BEGINS and not data.startswith(BEGINS[name])):
        return data, True  # the header is wrong
    if name not in UNPACK:
        refuse("bad_encoding")
    try:
        return UNPACK[name](data, max_bytes)
    except (zlib.error, zstandard.ZstdError, OSError):
        if data[:64].lstrip().startswith(b"<"):
            return data, True
        refuse("bad_encoding")


def _deflate(data: bytes, max_bytes: int) -> tuple[bytes, bool]:
    try:
        return _inflated(data, max_bytes, 15)
    except zlib.error:
        return _inflated(data, max_bytes, -15)  # without the header RFC 9110 asks for, as some servers do


def _zstd(data: bytes, max_bytes: int) -> tuple[bytes, bool]:
    with zstandard.ZstdDecompressor().stream_reader(data) as stream:
        return _read(stream, max_bytes), True


def _brotli(data: bytes, max_bytes: int) -> tuple[bytes, bool]:
    readers = need("fastwarc.stream_io", extra="warc")
    return _read(readers.BrotliReader(io.BytesIO(data)), max_bytes), True


def _inflated(data: bytes, max_bytes: int, wbits: int = 31) -> tuple[bytes, bool]:
    parts: list[bytes] = []
    left = max_bytes + 1
    while data and left > 0:
        member = zlib.decompressobj(wbits)
        parts.append(member.decompress(data, left))
        left -= len(parts[-1])
        if not member.eof:
            return b"".join(parts), left <= 0
        data = member.unused_data if member.unused_data.startswith(BEGINS["gzip"]) else b""
    return b"".join(parts), True


def _read(stream: Any, max_bytes: int) -> bytes:
    parts: list[bytes] = []
    left = max_bytes + 1
    while left > 0 and (data := stream.read(min(left, 1 << 20))):
        parts.append(data)
        left -= len(data)
    return b"".join(parts)


UNPACK = {"gzip": _inflated, "deflate": _deflate, "zstd": _zstd, "br": _brotli}
