"""Decide the charset of a document from all available evidence, and decode the document.

Evidence is used in the order of the standards: byte order mark, HTTP header, XML declaration, the `meta` tag, and
finally the detector. A stated charset is used if the bytes agree with it: a charset that decodes every byte is
preferred to any other.
"""

from __future__ import annotations

import contextlib
import re
from typing import NamedTuple

from dataprep.errors import PlanError, need

from .bare import high_bytes, without_tags
from .labels import CODE_UNITS, SEVEN_BITS, codec_of, same
from .ranked import ASCII, DEFAULT, LATIN, WINDOWS, ranked
from .signs import valid_by_chance
from .stated import in_meta, in_xml, marked
from .units import SAMPLE, seven_bits, wide_of

MAX_WRONG = 0.01  # of the characters of a document that may be unreadable, each is then U+FFFD
FEW_WRONG = 3  # that may be unreadable in a short document, if half of it can be read
NEARLY = 10  # characters beyond ASCII for each that is not UTF-8, in UTF-8 that was cut or patched
C1 = bytes(range(0x80, 0xA0))  # the only bytes that Latin-1 and Windows-1252 read in two ways
UNDEFINED = b"\x81\x8d\x8f\x90\x9d"  # in Windows-1252
CONTROL = re.compile("[\x80-\x9f]")
LETTER_LOST = re.compile(rb"[A-Za-z\xc0-\xff][\x81\x8d\x8f\x90\x9d]|[\x81\x8d\x8f\x90\x9d][A-Za-z\xc0-\xff]")
UKRAINIAN = b"\xa4\xa6\xa7\xad\xb4\xb6\xb7\xbd"  # letters of KOI8-U, lines of tables in KOI8-R
HANGUL = re.compile("[가-힣]")
FEW_HANGUL, HANGUL_SHARE = 8, 0.8  # characters, and their share of those beyond ASCII
GREEK_ISO = b"\xb6"  # a letter in ISO 8859-7, a sign in Windows-1253


class DecodedText(NamedTuple):
    """A decoded document.

    Attributes:
        charset: the codec that decoded it.
        agreed: of the sources (header, document, detector) that name a charset, the share (0 to 1) that name this one.
        n_lost: the number of characters that became U+FFFD because their bytes are not text.
    """

    text: str
    charset: str
    agreed: float
    n_lost: int = 0


def characters(data: bytes, declared: str = "", *, is_html: bool) -> DecodedText | None:
    """Decode a document; return None if no charset decodes all but three characters of it, or 99 %.

    Args:
        data: its bytes.
        declared: the charset in the HTTP header, or "".
        is_html: whether a `meta` tag counts.

    Three kinds of bytes are recognised whatever charset is stated: bytes with a zero at every other offset are UTF-16,
    ASCII with the escapes of ISO-2022 or HZ is text in these encodings, and valid UTF-8 is UTF-8. Raises PlanError if
    the detector is needed and not installed.
    """
    mark, name = marked(data)
    data = data[len(mark) :]
    stated = codec_of(declared)
    wide = name if name.startswith(CODE_UNITS) else wide_of(data[:SAMPLE], stated)
    if wide:
        return _decoded(data, wide, 1.0)
    sources = [stated, codec_of(in_xml(data)), codec_of(in_meta(data)) if is_html else ""]
    if data.isascii():
        seven = seven_bits(data, sources)
        return _decoded(data, seven, 1.0) if seven else DecodedText(data.decode(), "utf-8", 1.0)
    named = [one if _is_usable(one) else "" for one in (stated, sources[1] or sources[2], sources[2])]
    with contextlib.suppress(UnicodeDecodeError):
        text = data.decode()
        by_chance = valid_by_chance(data, named[0] or named[1])
        return _by_rank(data, named, is_html=is_html) if by_chance else DecodedText(text, "utf-8", 1.0)
    nearly = _decoded(data, "utf-8", 1.0)
    if nearly.n_lost * NEARLY < len(nearly.text) - len(nearly.text.encode("ascii", "ignore")):
        return nearly._replace(agreed=_share("utf-8", [*named[:2], "utf-8"]))
    return _by_rank(data, named, is_html=is_html)


def _by_rank(data: bytes, named: list[str], *, is_html: bool) -> DecodedText | None:
    """Decode a document that is not UTF-8 in the most plausible charset that fits it; None if none fits.

    - named: the charset in the HTTP header, and those that the document states, each "" if there is none.
    """
    judged = data.translate(None, UNDEFINED) if _is_damaged(data) else data
    detected = _detected(judged, is_html=is_html, is_stated=any(named))
    evidence = [*named[:2], detected]
    names = ranked(judged, named, detected)
    if judged is not data and next((one for one in names if one != "utf-8"), "") == DEFAULT:
        return _decoded(data, DEFAULT, _share(DEFAULT, evidence))
    controls = len(data) != len(data.translate(None, C1))
    for name in names:
        if controls and name in WINDOWS and name in LATIN:
            continue  # it reads these bytes as control characters, which no text has
        with contextlib.suppress(UnicodeDecodeError):
            as_latin = name == DEFAULT and not controls  # decoded 20 times faster
            text = data.decode("latin-1" if as_latin else name)
            return _without_controls(DecodedText(text, name, _share(name, evidence)))
    lossy = [_decoded(data, name, _share(name, evidence)) for name in dict.fromkeys([*names, "utf-8", DEFAULT])]
    some = [_without_controls(one) for one in lossy]
    best = min(some, key=lambda one: one.n_lost + len(CONTROL.findall(one.text)))
    return best if best.n_lost <= _most_wrong(best.text) else None


def _without_controls(one: DecodedText) -> DecodedText:
    """Return a document of ISO 8859 with U+FFFD in place of a few control characters; unchanged if it has many."""
    n = len(CONTROL.findall(one.text)) if one.charset in WINDOWS else 0
    if not 0 < n <= _most_wrong(one.text):
        return one
    return one._replace(text=CONTROL.sub("\ufffd", one.text), n_lost=one.n_lost + n)


def _most_wrong(text: str) -> float:
    """Return how many characters of a text may be unreadable."""
    return max(min(FEW_WRONG, len(text) // 2), MAX_WRONG * len(text))


def _decoded(data: bytes, name: str, agreed: float) -> DecodedText:
    """Return a document decoded by a codec, with U+FFFD in place of bytes that are not text."""
    text = data.decode(name, "replace")
    n_lost = text.count("\ufffd")
    if n_lost and name.startswith(("utf-8", "gb18030", *CODE_UNITS)):  # these can write U+FFFD itself
        n_lost -= data.decode(name, "ignore").count("\ufffd")
    return DecodedText(text, name, agreed, n_lost)


def _is_damaged(data: bytes) -> bool:
    """Return whether bytes are Windows-1252 except for up to three undefined bytes, none of them in a word."""
    n_high, n_lost = (len(data) - len(data.translate(None, some)) for some in (bytes(range(128, 256)), UNDEFINED))
    return 0 < n_lost <= min(FEW_WRONG, n_high // 2) and not LETTER_LOST.search(data)


def _is_usable(name: str) -> bool:
    """Return whether a stated charset can be that of bytes over 127 that are not in UTF-16 or UTF-32."""
    return bool(name) and not name.startswith((*SEVEN_BITS, *CODE_UNITS))


def _detected(data: bytes, *, is_html: bool, is_stated: bool) -> str:
    """Return the codec that the detector finds, with known errors corrected; "" if it finds none.

    Raises PlanError if the detector is not installed and needed: the script is not Latin, and no charset is stated.
    """
    high, in_runs = high_bytes(data)
    try:
        detect = need("resiliparse.parse.encoding", extra="warc").detect_encoding
    except PlanError:
        if is_stated or in_runs < high / 2:
            return ""
        raise
    bare = without_tags(data, len(data), scripts=False) if is_html else data
    label = detect(bare, html5_compatible=False) or ""
    found = "" if label in {"ascii", "utf-8"} else codec_of(label)
    if found == "koi8-r" and len(data) != len(data.translate(None, UKRAINIAN)):
        return "koi8-u"
    if found == "iso8859-7" and GREEK_ISO not in data:
        return "cp1253"  # has nearly the same letters
    if not found and in_runs > len(data.translate(None, ASCII)) / 2:
        return next((name for name in ("cp949", "johab") if _is_hangul(data, name)), "")
    return "" if found.startswith((*SEVEN_BITS, *CODE_UNITS)) else found


def _is_hangul(data: bytes, name: str) -> bool:
    """Return whether most characters beyond ASCII are Hangul; fewer suffice if all bytes are characters."""
    text = data.decode(name, "replace")
    hangul = len(HANGUL.findall(text))
    share = HANGUL_SHARE if "\ufffd" in text else HANGUL_SHARE / 2
    return hangul >= FEW_HANGUL and hangul > share * (len(text) - len(text.encode("ascii", "ignore")))


def _share(name: str, evidence: list[str]) -> float:
    """Return the share of the sources that name a charset, 0 if there is none."""
    known = [same(one) for one in evidence if one]
    return round(known.count(same(name)) / max(1, len(known)), 2)
