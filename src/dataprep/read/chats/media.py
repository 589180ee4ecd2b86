"""Kinds of files by media type or name, and times as exports write them."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from datetime import datetime, timezone
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

SUFFIXES = {
    "image": "jpg jpeg png heic heif bmp tiff avif svg",
    "video": "mp4 mov 3gp webm mkv avi m4v",
    "audio": "opus ogg oga m4a mp3 aac wav flac amr",
    "gif": "gif",
    "sticker": "webp tgs",
    "contact": "vcf",
}
BY_SUFFIX = {f".{suffix}": kind for kind, names in SUFFIXES.items() for suffix in names.split()}
TYPES = {"image/gif": "gif", "image/webp": "sticker", "application/x-tgsticker": "sticker", "text/vcard": "contact"}
MAIN_TYPES = ("image", "video", "audio")
SECONDS = pa.timestamp("s")


def kind_of_file(name: Any, media_type: Any = None) -> str:
    """Return image, video, audio, gif, sticker or contact; file if neither type nor name determines the kind.

    >>> kind_of_file("photos/a.JPG"), kind_of_file("a.bin", "video/mp4"), kind_of_file(None)
    ('image', 'video', 'file')
    """
    if isinstance(media_type, str) and media_type:
        main = media_type.partition("/")[0]
        kind = TYPES.get(media_type) or (main if main in MAIN_TYPES else None)
        if kind:
            return kind
    bare = str(name or "").partition("?")[0].lower()
    return BY_SUFFIX.get(posixpath.splitext(bare)[1], "file")


def wall_clock(times: Sequence[str | None]) -> pa.Array:
    """Return ISO 8601 texts as timestamp[s] without zone and fractions; null if a text is not a time."""
    heads = pc.utf8_slice_codeunits(pa.array(times, pa.string()), 0, 19)
    try:
        return heads.cast(SECONDS)
    except pa.ArrowInvalid:
        return pa.array([_clock(time) for time in heads.to_pylist()], SECONDS)


def _clock(time: str | None) -> datetime | None:
    try:
        return None if time is None else datetime.fromisoformat(time).replace(tzinfo=None)
    except ValueError:
        return None


def utc_text(seconds: Any) -> str | None:
    """Return seconds since 1970 (a number or its digits) as an ISO 8601 text in UTC; None if they are not a time."""
    try:
        return datetime.fromtimestamp(int(seconds), timezone.utc).isoformat()
    except (ValueError, TypeError, OverflowError, OSError):
        return None
