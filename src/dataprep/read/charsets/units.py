"""Recognise binary data, UTF-16 and UTF-32 without a byte order mark, and charsets of seven bits."""

from __future__ import annotations

import codecs
import contextlib
import re
import unicodedata
from collections import Counter

SAMPLE = 4_096
MAX_CONTROLS = 0.05  # of the first 4 kB; text has none but white space and, in ISO-2022, escapes
CONTROLS = bytes([*range(9), *range(14, 27), *range(28, 32)])
BINARY = (b"%PDF-", b"\x89PNG", b"GIF8", b"\xff\xd8\xff", b"PK\x03\x04", b"\x1f\x8b", b"BZh", b"Rar!", b"ID3", b"OggS",
          b"MZ\x90", b"\x7fELF", b"\x00\x00\x01\x00", b"RIFF", b"\xd0\xcf\x11\xe0", b"wOF2", b"wOFF")  # fmt: skip
WIDE = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_BE)  # that of UTF-32 LE begins with the first
HZ = re.compile(rb"~\{(?:[\x21-\x77][\x21-\x7e])+~\}")  # Chinese characters in ASCII: `~{<:Ky~}`
ONE_SCRIPT = 0.9  # the share of the letters of UTF-16 that are in one block of 256 below U+2000
CONTROLS_OF_EAST = 0.01  # of the bytes of Chinese, Japanese or Korean in UTF-16 that are control characters, at least
EAST = ("gb2312", "big5", "euc_jp", "euc_kr")
KANA = re.compile("[\u3041-\u30ff]")
MARKS = ".,;:!?'\"-()|/*#_`<>={}"  # the signs of texts, tables, markup and code
WORDS = 0.8  # the share of letters, digits, blanks and these signs in a text that is not UTF-16, at least
SHOWN = "\t\n\r\f\u3000\u00a0\u200b\u200c\u200d\u200e\u200f\u00ad\ufeff"  # besides printable characters
FEW_HZ = 3  # such runs, if no charset is named
JAPANESE = re.compile(rb"\x1b(?:\$[@B]|\$\([A-D])")  # ISO-2022 changes to two bytes per character
KOREAN = b"\x1b$)C"


def begins_as_utf8(data: bytes) -> bool:
    """Return whether bytes are UTF-8, except for a character that may be cut off at their end."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(data)
    except UnicodeDecodeError:
        return False
    return True


def is_binary(data: bytes, stated: str = "") -> bool:
    """Return whether bytes cannot be text in any charset, by the first 4 kB of them.

    - stated: the codec that a header states, or "".
    """
    head = data[:SAMPLE]
    if head.startswith(BINARY):
        return True
    if len(head) - len(head.translate(None, CONTROLS)) <= MAX_CONTROLS * len(head):
        return False
    return not (head.startswith(WIDE) or wide_of(head, stated) or KOREAN in head)


def wide_of(head: bytes, stated: str = "") -> str:
    """Return the UTF-16 or UTF-32 variant in which a document without a byte order mark begins, or "".

    - stated: the codec that a header states. If it is UTF-16 and the bytes may be text in it, it is returned.
    """
    if stated.startswith("utf-16") and _may_be_stated(head, stated):
        return stated
    if head.isascii() and b"\0" not in head:
        return ""
    sample = head[: min(SAMPLE, len(head) - len(head) % 4)]
    for name in ("utf-32-le", "utf-32-be") if b"\0\0" in sample else ():
        with contextlib.suppress(UnicodeDecodeError):  # of nearly all other bytes
            if sample and "\0" not in sample.decode(name):
                return name
    return utf16_of(head)


def utf16_of(head: bytes) -> str:
    """Return the UTF-16 variant of a document without a byte order mark, or "" if it is not UTF-16.

    Blanks, digits and ASCII letters have a zero; few zeros suffice if the other characters are letters of one script.
    In Chinese, Japanese and Korean there may be no zero, but many second bytes are control characters as ASCII.
    """
    zeros = head[::2].count(0), head[1::2].count(0)
    name = "utf-16-be" if zeros[0] > zeros[1] else "utf-16-le"
    other = "utf-16-le" if name == "utf-16-be" else "utf-16-be"
    is_clear = 10 * max(zeros) >= len(head) and 20 * min(zeros) <= max(zeros)
    if not is_clear and has_controls(head) and not begins_as_utf8(head):
        east = next((one for one in (name, other) if _is_east_asian(_text(head, one))), "")
        if east:
            return east
    return name if is_clear or (any(zeros) and _is_one_script(_text(head, name))) else ""


def has_controls(head: bytes) -> bool:
    """Return whether bytes contain more control characters than text in an extension of ASCII."""
    return len(head) - len(head.translate(None, CONTROLS)) > CONTROLS_OF_EAST * len(head)


def _may_be_stated(head: bytes, name: str) -> bool:
    """Return whether bytes may be text in the UTF-16 that a header states."""
    text = _text(head, name)
    if _is_east_asian(text):
        return 2 * len(KANA.findall(text)) > len(text) or not _reads_as_utf8(head)
    return has_controls(head) and bool(text) and (_is_one_script(text) or text.isprintable())


def _reads_as_utf8(head: bytes) -> bool:
    """Return whether bytes are UTF-8 and mostly letters, digits, blanks and usual signs, without control characters."""
    if has_controls(head) or not begins_as_utf8(head):
        return False
    text = head.decode("utf-8", "replace")
    return sum(c.isalnum() or c.isspace() or c in MARKS for c in text) >= WORDS * len(text) and (
        len(head) >= SAMPLE or not text.endswith("\ufffd")
    )


def _text(head: bytes, name: str) -> str:
    """Return the text of the first 4 kB in UTF-16; "" if it is none, or if a character in it cannot be shown."""
    whole = head[: min(SAMPLE, len(head)) // 2 * 2]
    try:
        text = whole.decode(name)
    except UnicodeDecodeError as e:
        text = whole[: e.start].decode(name) if len(whole) - e.start <= 2 else ""  # a pair that the sample cuts
    return text if all(c.isprintable() or c in SHOWN for c in text) else ""


def _is_one_script(text: str) -> bool:
    """Return whether a text consists of letters and vowel signs of one script below U+2000."""
    letters = [c for c in text if unicodedata.category(c)[0] in "LM"]
    blocks = Counter(ord(c) >> 8 for c in letters if c < "\u2000")
    most = max(blocks.values(), default=0)
    return 2 * len(letters) > len(text) and most >= ONE_SCRIPT * len(letters)


def _is_east_asian(text: str) -> bool:
    """Return whether a text is Chinese, Japanese or Korean: nearly all its letters are in one of their charsets.

    These charsets contain a third or a half of the ideographs and syllables. Other bytes, decoded as UTF-16, are
    characters from all of Unicode.
    """
    beyond = [c for c in text if c > "\x7f"]
    east = [c for c in beyond if c >= "\u2000" and c.isalpha()]
    if not east or 2 * len(east) < len(beyond):
        return False
    known = max(sum(bool(c.encode(name, "ignore")) for c in east) for name in EAST)
    return known >= ONE_SCRIPT * len(east)


def seven_bits(data: bytes, named: list[str]) -> str:
    """Return the codec of ISO-2022, HZ or UTF-7 if bytes below 128 are text in it, or "".

    ISO-2022 is recognised by its escapes. HZ must be named or have several runs of characters. UTF-7 must be named,
    because `+AB-` may be a formula.

    - named: the codecs that the document or its headers state.
    """
    tried: list[str] = []
    if KOREAN in data:
        tried = ["iso2022_kr"]
    elif JAPANESE.search(data):
        tried = ["iso2022_jp", "iso2022_jp_2", "iso2022_jp_ext", "iso2022_jp_3"]
    elif b"~{" in data and len(HZ.findall(data)) >= (1 if "hz" in named else FEW_HZ):
        tried = ["hz"]
    elif b"+" in data and "utf-7" in named:
        tried = ["utf-7"]
    for name in tried:
        with contextlib.suppress(UnicodeDecodeError):
            if not data.decode(name).isascii():
                return name
    return tried[0] if tried and tried[0].startswith("iso2022") else ""
