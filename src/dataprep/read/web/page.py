"""Extract the text of a web page: find its charset (character encoding), and pass it to an extractor.

A small page can cost a parser as much as a large one, by HTML's rules: formatting elements that are left open are
opened again in every paragraph (1,000 of them and 1,000 paragraphs, 18 kB, take 390 MB and 1.4 s in Resiliparse 2.0),
and main-content extraction takes time quadratic in nested `div` and `article` (100,000: over a minute) and in the
attributes of a tag. So `work` estimates the cost of a page from its tags first, and costly pages are dropped.

Slow reference for the tests: tests/twins/page.py
"""

from __future__ import annotations

import codecs
import contextlib
import re
from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from dataprep.errors import need
from dataprep.unicode.kernel import kernel

from .extract import extract
from .garbled import RELATED, is_garbled, sample_of
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
TAG = re.compile(rb"<[^>]*>")
HIGH = bytes(b for b in range(128, 256) if b != 0xA0)  # not the no-break space, which stands next to all letters
ONLY_HIGH = bytes(b if b in HIGH else 32 for b in range(256))  # for translate: all other bytes become blanks
RUN = 3  # high bytes next to each other
FEW_HIGH = 16
ASCII = bytes(range(128))
UKRAINIAN = b"\xa4\xa6\xa7\xad\xb4\xb6\xb7\xbd"  # letters of KOI8-U, lines of tables in KOI8-R
HANGUL = re.compile("[가-힣]")
FEW_HANGUL, HANGUL_SHARE = 8, 0.8  # characters, and their share of those beyond ASCII
TURKISH, ICELANDIC = b"\xf0\xfd\xfe\xdd\xde", b"\xe1\xed\xfa\xe6"  # the letters g, i, s of Turkish; a, i, u, ae
DEFAULT = "cp1252"  # what browsers read as ISO-8859-1
LATIN = {DEFAULT, "utf-8", "mac-roman", *(f"cp125{n}" for n in (0, 4, 7, 8)),
         *(f"iso8859-{n}" for n in (1, 2, 3, 4, 9, 10, 13, 14, 15, 16))}  # fmt: skip
SAME = {"iso8859-1": "cp1252", "iso8859-9": "cp1254", "iso8859-8": "cp1255", "iso8859-11": "cp874", "gbk": "gb18030",
        "gb2312": "gb18030", "big5hkscs": "big5", "shift_jis": "cp932", "euc_kr": "cp949",
        "koi8-r": "koi8-u"}  # fmt: skip
CODEC = {"shift_jis": "cp932", "euc_kr": "cp949", "big5": "big5hkscs", "x-mac-cyrillic": "mac-cyrillic"}
ASCII_DIFFERS = ("utf-16", "utf-32", "iso2022", "hz")  # bytes that may be valid UTF-8 and mean something else


def text_of(
    data: bytes, declared: str, *, is_html: bool, options: Mapping[str, Any], extractor: str = "resiliparse"
) -> tuple[str, str, float]:
    """Return (text of a page, charset that decoded it, share of the evidence that names this charset, 0 to 1).

    data: the page's bytes. declared: the charset in the HTTP headers, or "". options, extractor: as for `extract`.
    Raises Refused with the reason "binary", "charset", "too_nested", "not_parsed" or "no_text".
    """
    if is_binary(data):
        refuse("binary")
    page, used, agreed = characters(data, declared, is_html=is_html)
    if is_html:
        if work(page.encode("utf-8", "replace") if used.startswith("utf-16") else data) >= MAX_WORK:
            refuse("too_nested")
        page = extract(page, extractor, options)
    if not page.strip():
        refuse("no_text")
    return page, used, agreed


def is_binary(data: bytes) -> bool:
    """Return whether the bytes cannot be text in any charset."""
    head = data[:SAMPLE]
    if head.startswith(BINARY):
        return True
    if len(head) - len(head.translate(None, CONTROLS)) <= MAX_CONTROLS * len(head):
        return False
    return not (head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) or utf16_of(head))


def characters(data: bytes, declared: str, *, is_html: bool) -> tuple[str, str, float]:
    """Decode a page; return (text, charset that decoded it, share of the evidence that names this charset, 0 to 1).

    data: the page's bytes. declared: the charset in the HTTP headers, or "". If there is a byte order mark, it decides.
    Otherwise, bytes of which every other one is zero are decoded as UTF-16, and valid UTF-8 as UTF-8. For all other
    bytes the candidates are the charset of HTTP, that of the tag `meta`, and the one that Resiliparse detects, the most
    plausible first. The first candidate that decodes every character is used, or, if there is none, the first that
    decodes 99 % of them.

    Raises Refused with the reason "charset" if none does.
    """
    for mark, name in (*BOMS, (b"", utf16_of(data[:SAMPLE]))):
        if name and data.startswith(mark):
            return data[len(mark) :].decode(name, "replace"), name, 1.0
    first = codec_of(declared)
    if not first.startswith(ASCII_DIFFERS) and b"\x1b" not in data:
        with contextlib.suppress(UnicodeDecodeError):
            return data.decode(), "utf-8", 1.0
    meta = META.search(data, 0, 16 * SAMPLE) if is_html else None
    detect = need("resiliparse.parse.encoding", extra="warc").detect_encoding
    found = codec_of(detect(TAG.sub(b" ", data) if is_html else data) or "")
    evidence = [first, codec_of(meta[1].decode()) if meta else "", found]
    if found == "utf-8":  # cut or patched: nearly all of its bytes over 127 are UTF-8, which Latin-1 would decode, too
        text = data.decode(found, "replace")
        if text.count("\ufffd") * 10 < len(text) - len(text.encode("ascii", "ignore")):
            return text, found, _share(found, evidence)
    evidence[2] = found = _corrected(data, found)
    names = _ranked(data, *evidence)
    for name in names:
        with contextlib.suppress(UnicodeDecodeError):
            same = name == "cp1252" and len(data) == len(data.translate(None, C1))  # decoded 20 times faster
            return data.decode("latin-1" if same else name), name, _share(name, evidence)
    for name in dict.fromkeys(["utf-8" if not first.startswith(ASCII_DIFFERS) else first, *names, "cp1252"]):
        text = data.decode(name, "replace")
        if text.count("\ufffd") <= MAX_WRONG * len(text):
            return text, name, _share(name, evidence)
    return refuse("charset")


def utf16_of(head: bytes) -> str:
    """Return which UTF-16 the first bytes of a page without a byte order mark are, by the position of zeros, or ""."""
    zeros = head[::2].count(0), head[1::2].count(0)
    if 10 * max(zeros) < len(head) or 20 * min(zeros) > max(zeros):
        return ""
    return "utf-16-be" if zeros[0] > zeros[1] else "utf-16-le"


def _corrected(data: bytes, detected: str) -> str:
    """Return the detected charset, or one that the detector does not know: EUC-KR (it says UTF-8) and KOI8-U."""
    if detected == "koi8-r" and len(data) != len(data.translate(None, UKRAINIAN)):
        return "koi8-u"
    if detected == "utf-8" and bytes_in_runs(data) > len(data.translate(None, ASCII)) / 2:
        text = data.decode("cp949", "replace")
        hangul = len(HANGUL.findall(text))
        if hangul >= FEW_HANGUL and hangul > HANGUL_SHARE * (len(text) - len(text.encode("ascii", "ignore"))):
            return "cp949"
    return detected


def _ranked(data: bytes, declared: str, meta: str, detected: str) -> list[str]:
    """Return the charsets in the order in which to try them; each is a codec, or "" if there is none.

    `ISO-8859-1` is the default of servers, so it counts less than any other name. First are charsets that suit the
    bytes: in Latin script few bytes over 127 stand next to others, in other scripts most do. Then those in which the
    text is not garbled, then those that two pieces of evidence name, then HTTP, `meta` and the detector, which is not
    trusted with few bytes.
    """
    if declared.startswith(ASCII_DIFFERS):
        return [name for name in (declared, meta, detected) if name]
    high = len(data) - len(data.translate(None, HIGH))
    is_latin = bytes_in_runs(data) < high / 2
    turkish = detected == "cp1254" and len(data) != len(data.translate(None, TURKISH))
    sure = high >= FEW_HIGH or not is_latin or (turkish and len(data) == len(data.translate(None, ICELANDIC)))
    named = [name for name in (declared, meta) if name]
    order = [*(name for name in named if name != DEFAULT), *([detected] if sure else []), *named, detected]
    names = list(dict.fromkeys(name for name in order if name))
    names += [RELATED[name] for name in names if name in RELATED and RELATED[name] not in names]
    votes = [SAME.get(name, name) for name in (declared, meta, detected)]
    judged = len({SAME.get(name, name) for name in names}) > 1  # else there is no choice
    sample = sample_of(data) if judged else b""
    wrong = {name for name in names if judged and is_garbled(sample, name)}
    return sorted(
        names, key=lambda name: ((name in LATIN) != is_latin, name in wrong, -votes.count(SAME.get(name) or name))
    )


def bytes_in_runs(data: bytes) -> int:
    """Return how many bytes over 127 stand in runs of at least three, not counting no-break spaces."""
    return sum(len(run) for run in data.translate(ONLY_HIGH).split() if len(run) >= RUN)


def _share(name: str, evidence: list[str]) -> float:
    """Return the share of the pieces of evidence that name a charset, 0 if there is none."""
    known = [SAME.get(one, one) for one in evidence if one]
    return round(known.count(SAME.get(name) or name) / max(1, len(known)), 2)


@cache
def codec_of(label: str) -> str:
    """Return the name of Python's codec for a charset label, as browsers interpret the label; "" if there is none."""
    label = label.strip().lower()
    if label in {"", "utf-7"}:
        return ""
    parse = need("resiliparse.parse.encoding", extra="warc")
    name = parse.map_encoding_to_html5(label, fallback_utf8=False) or label
    try:
        info = codecs.lookup(CODEC.get(name, name))
    except (LookupError, ValueError):
        return ""
    return info.name if info._is_text_encoding else ""  # noqa: SLF001 - as bytes.decode does


FREE = 256  # nested elements or attributes of one tag that cost nothing; browsers nest 512 at most
MAX_WORK = 1_000_000  # at most 0.4 GB and two seconds; 1,670 nested elements reach it
SMALL, FEW = 64 << 10, 1_024  # bytes and tags; pages with fewer of both are not scanned: 3 s and 0.2 GB at worst
NESTING = "div article a b big code em font i nobr s small strike strong tt u"


def _packed(name: str) -> int:
    return int.from_bytes(name.encode()[:8], "big")


NAMES = np.array(sorted(_packed(name) for name in NESTING.split()), np.uint64)
RAW = np.array([_packed(name) for name in ("script", "style")], np.uint64)


def work(html: bytes) -> int:
    """Return an estimate of what it costs to parse a page, up to MAX_WORK.

    For each tag, the elements that are open beyond 256 and the attributes of the tag beyond 256 are counted; the
    estimate is the sum over all tags.
    """
    if len(html) < SMALL and html.count(b"<") < FEW:
        return 0
    return int(_work(np.frombuffer(html, np.uint8), NAMES, RAW, np.zeros(len(NAMES), np.int64)))


@kernel(_nrt=False)
def _work(html: npt.NDArray[np.uint8], names: npt.NDArray[np.uint64], raw: npt.NDArray[np.uint64],
          opened: npt.NDArray[np.int64]) -> int:  # fmt: skip
    """Return the cost in one pass over the tags; `opened` counts the open elements of each name."""
    n, i, depth, found = len(html), np.int64(0), np.int64(0), np.int64(0)
    while i + 1 < n and found < MAX_WORK:
        if html[i] != 60:  # <
            i += 1
            continue
        i += 1
        if html[i] == 33 and i + 2 < n and html[i + 1] == 45 and html[i + 2] == 45:  # <!-- up to -->
            i += 2
            while i + 1 < n and not (html[i] == 62 and html[i - 1] == 45 and html[i - 2] == 45):
                i += 1
            continue
        closing = html[i] == 47
        i += closing
        if i >= n or not 97 <= (html[i] | 32) <= 122:
            continue
        name, k = np.uint64(0), 0
        while i < n and html[i] > 32 and html[i] != 47 and html[i] != 62:
            if k < 8:
                name = name << np.uint64(8) | np.uint64(html[i] | 32)
            k, i = k + 1, i + 1
        attributes, between = np.int64(0), True
        while i < n and html[i] != 62:
            if html[i] == 61:  # = and a quoted value, in which > and < are text
                i += 1
                while i < n and html[i] <= 32:
                    i += 1
                if i < n and (html[i] == 34 or html[i] == 39):
                    quote = html[i]
                    i += 1
                    while i < n and html[i] != quote:
                        i += 1
                    i += 1
                    between = True
                continue
            space = html[i] <= 32 or html[i] == 47
            if between and not space:
                attributes += 1
                found += max(np.int64(0), attributes - FREE)
            between = space
            i += 1
        at = 0
        while at < len(names) and names[at] != name:
            at += 1
        if at < len(names) and closing:
            depth -= opened[at] > 0
            opened[at] -= opened[at] > 0
        elif at < len(names):
            opened[at] += 1
            depth += 1
        if closing:
            continue
        found += max(np.int64(0), depth - FREE)
        if name == raw[0] or name == raw[1]:  # the text of a script or style holds no tags, up to </s
            while i + 2 < n and not (html[i] == 60 and html[i + 1] == 47 and (html[i + 2] | 32) == 115):
                i += 1
    return int(found)
