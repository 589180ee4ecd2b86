"""Digests of WARC records: hashes of a record's block, or of its payload, that show whether a byte was changed.

ISO 28500 does not define the payload of an HTTP response precisely. Writers hash the body as it was sent, without
chunks (Common Crawl), or without content encoding; a payload is intact if any of these forms has the stated digest.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator, Mapping
from functools import partial

from .response import STATUS, Refused, decoded, parse, unchunked

NAMES = ("md5", "sha1", "sha224", "sha256", "sha384", "sha512")
HASHES = {name: partial(getattr(hashlib, name), usedforsecurity=False) for name in NAMES}
SIZES = {name: 8 * made().digest_size for name, made in HASHES.items()}
# The characters of an encoding with 4, 5 or 6 bits each: hex, base32, base64 (also with - and _).
DIGITS = {
    4: "0123456789abcdef", 5: "abcdefghijklmnopqrstuvwxyz234567",
    6: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
}  # fmt: skip
ENCODINGS = {(size, -(-size // bits)): bits for size in set(SIZES.values()) for bits in (6, 5, 4)}
PYTHONS = str.maketrans(DIGITS[5], "0123456789abcdefghijklmnopqrstuv")  # the digits of int(text, 32)


def agrees(stated: str, data: bytes) -> bool | None:
    """Return whether `data` has the digest `stated`, such as "sha1:3I42H3S6..." in base32, hex or base64.

    Returns None if the hash function is unknown, or if the value does not have the length of its digests.
    """
    name, _, value = stated.partition(":")
    name, value = name.strip().lower().replace("-", ""), value.strip().rstrip("=")
    bits = ENCODINGS.get((SIZES.get(name, 0), len(value)))
    if bits is None:
        return None
    try:
        known = _number(value, bits) >> bits * len(value) - SIZES[name]
    except ValueError:
        return False
    return bool(known == int.from_bytes(HASHES[name](data).digest(), "big"))


def _number(value: str, bits: int) -> int:
    """Return the number that the digits of `bits` bits write. Raises ValueError for other characters."""
    if bits == 6:
        known = value.replace("-", "+").replace("_", "/")
        return sum(DIGITS[6].index(c) << bits * k for k, c in enumerate(reversed(known)))
    return int(value, 16) if bits == 4 else int(value.lower().translate(PYTHONS), 32)


def is_wrong(headers: Mapping[str, str], block: bytes, max_bytes: int) -> bool:
    """Return whether the block of a record differs from its digests; False if it has none that can be checked.

    - headers: the record's headers, with names in lower case. The payload digest is checked only if there is no block
      digest, and not if the crawler truncated the payload.
    - max_bytes: limit of the decoded payload.
    """
    agreed = agrees(headers.get("warc-block-digest", ""), block)
    if agreed is not None:
        return not agreed
    stated = headers.get("warc-payload-digest", "")
    if not stated or headers.keys() & {"warc-truncated", "warc-segment-number"}:
        return False
    known = [found for payload in _payloads(block, max_bytes) if (found := agrees(stated, payload)) is not None]
    return bool(known) and not any(known)


def _payloads(block: bytes, max_bytes: int) -> Iterator[bytes]:
    """Yield the payload of a block in the forms that writers hash."""
    if not STATUS.match(block):
        yield block
        return
    response = parse(block)
    yield response.payload
    if response.headers.get("transfer-encoding"):
        yield unchunked(response.payload)[0]
    if response.headers.get("content-encoding"):
        with contextlib.suppress(Refused):
            yield decoded(response, max_bytes, is_cut=True)
    if response.payload.startswith((b"\r\n", b"\n")):  # an empty line too much, as in Common Crawl's August 2018
        yield response.payload.split(b"\n", 1)[1]
