"""Find the charset (character encoding) of a web page, and decode the page."""

from __future__ import annotations

import codecs
import contextlib
import re
from functools import cache

from dataprep.errors import need

from .alphabets import by_letters
from .bare import high_bytes, without_tags
from .garbled import RELATED, garbled
from .response import refuse
from .tags import MAX_WORK, SAMPLE, Glance, glance, work

HTML = ("text/html", "application/xhtml+xml")
MAX_CONTROLS = 0.05  # of the first 4 kB; text has none but white space and, in ISO-2022, escapes
MAX_WRONG = 0.01  # of the characters of a page that may be unreadable, each is then U+FFFD
C1 = bytes(range(0x80, 0xA0))  # the only bytes that Latin-1 and Windows-1252 read in two ways
BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
BINARY = (b"%PDF-", b"\x89PNG", b"GIF8", b"\xff\xd8\xff", b"PK\x03\x04", b"\x1f\x8b", b"BZh", b"Rar!", b"ID3", b"OggS",
          b"MZ\x90", b"\x7fELF", b"\x00\x00\x01\x00", b"RIFF", b"\xd0\xcf\x11\xe0", b"wOF2", b"wOFF")  # fmt: skip
META = re.compile(rb"<meta[^>]{0,500}?charset\s*=\s*[\"']?\s*([a-zA-Z0-9_:.-]{1,40})", re.IGNORECASE)
FEW_HIGH = 16
LETTERS = 1 << 14  # bytes of a page whose letters are judged
HZ = re.compile(rb"~\{(?:[\x21-\x77][\x21-\x7e])+~\}")  # Chinese characters in ASCII: `~{<:Ky~}`
FEW_HZ = 3  # such runs, where no charset is named
ASCII = bytes(range(128))
UKRAINIAN = b"\xa4\xa6\xa7\xad\xb4\xb6\xb7\xbd"  # letters of KOI8-U, lines of tables in KOI8-R
HANGUL = re.compile("[가-힣]")
FEW_HANGUL, HANGUL_SHARE = 8, 0.8  # characters, and their share of those beyond ASCII
TURKISH, ICELANDIC = b"\xf0\xfd\xfe\xdd\xde", b"\xe1\xed\xfa\xe6"  # the letters g, i, s of Turkish; a, i, u, ae
FEW_TURKISH = 3
DEFAULT = "cp1252"  # what browsers read as ISO-8859-1
OTHER_LATIN = ("mac-roman", "cp1250", "iso8859-2")  # tried if the text is garbled in all that are named
LATIN = {DEFAULT, "utf-8", "mac-roman", *(f"cp125{n}" for n in (0, 4, 7, 8)),
         *(f"iso8859-{n}" for n in (1, 2, 3, 4, 9, 10, 13, 14, 15, 16))}  # fmt: skip
SAME = {"iso8859-1": "cp1252", "iso8859-9": "cp1254", "iso8859-8": "cp1255", "iso8859-11": "cp874", "gbk": "gb18030",
        "gb2312": "gb18030", "big5hkscs": "big5", "shift_jis": "cp932", "euc_kr": "cp949",
        "koi8-r": "koi8-u"}  # fmt: skip
CODEC = {"shift_jis": "cp932", "euc_kr": "cp949", "big5": "big5hkscs", "x-mac-cyrillic": "mac-cyrillic"}
ASCII_DIFFERS = ("utf-16", "utf-32", "iso2022", "hz")  # bytes that may be valid UTF-8 and mean something else


def page_of(data: bytes, declared: str, *, is_html: bool) -> tuple[str, str, float]:
    """Return (characters of a page, charset that decoded it, share of the evidence that names this charset, 0 to 1).

    data: the page's bytes. declared: the charset in the HTTP headers, or "".
    Raises Refused with the reason "binary", "charset" or "too_nested".
    """
    seen = glance(data)
    if is_binary(data, seen):
        refuse("binary")
    page, used, agreed = characters(data, declared, is_html=is_html, seen=seen)
    if is_html:
        if used.startswith("utf-16"):
            data = page.encode("utf-8", "replace")
            seen = glance(data)
        if work(data, seen.n_tags) >= MAX_WORK:
            refuse("too_nested")
    return page, used, agreed


def is_binary(data: bytes, seen: Glance | None = None) -> bool:
    """Return whether the bytes cannot be text in any charset. seen: `glance(data)`, if it is known."""
    seen = seen or glance(data)
    head = data[:SAMPLE]
    if head.startswith(BINARY):
        return True
    if seen.n_controls <= MAX_CONTROLS * len(head):
        return False
    return not (head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) or utf16_of(head))


def characters(data: bytes, declared: str, *, is_html: bool, seen: Glance | None = None) -> tuple[str, str, float]:
    """Decode a page; return (text, charset that decoded it, share of the evidence that names this charset, 0 to 1).

    data: the page's bytes. declared: the charset in the HTTP headers, or "". seen: `glance(data)`, if it is known. If
    there is a byte order mark, it decides. Otherwise, bytes of which every other one is zero are decoded as UTF-16,
    ASCII with the escapes of HZ or of declared UTF-7 as these, and valid UTF-8 as UTF-8. For all other bytes the
    candidates are the charset of HTTP, that of the tag `meta`, and the one that Resiliparse detects, the most plausible
    first. The first candidate that decodes every character is used, or, if there is none, the first that decodes 99 %
    of them.

    Raises Refused with the reason "charset" if none does.
    """
    seen = seen or glance(data)
    wide = utf16_of(data[:SAMPLE]) if seen.n_zeros or not data else ""
    seven = _seven_bits(data, declared, is_html=is_html) if data.isascii() else ""
    for mark, name in (*BOMS, (b"", wide or seven)):
        if name and data.startswith(mark):
            return data[len(mark) :].decode(name, "replace"), name, 1.0
    first = codec_of(declared)
    if not first.startswith(ASCII_DIFFERS) and not seen.has_escapes:
        with contextlib.suppress(UnicodeDecodeError):
            return data.decode(), "utf-8", 1.0
    stated = is_html and b"charset" in data[: 16 * SAMPLE].lower()
    meta = META.search(data, 0, 16 * SAMPLE) if stated else None
    detect = need("resiliparse.parse.encoding", extra="warc").detect_encoding
    found = codec_of(detect(without_tags(data, len(data), scripts=False) if is_html else data) or "")
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


def _seven_bits(data: bytes, declared: str, *, is_html: bool) -> str:
    """Return "utf-7" or "hz" if a page of ASCII is text in it, or "".

    UTF-7 must be declared, since `+AB-` may be a formula; HZ must be declared or have several runs of characters.
    """
    label = declared.strip().lower()
    name = "hz" if b"~{" in data else "utf-7" if b"+" in data else ""
    if name == "utf-7" and label != name and not (is_html and (b"utf-7" in data or b"UTF-7" in data)):
        return ""
    meta = META.search(data, 0, 16 * SAMPLE) if name and is_html else None
    named = (label, meta[1].decode().lower() if meta else "")
    if name == "utf-7" and name not in named:
        return ""
    if name == "hz" and len(HZ.findall(data)) < (1 if any(one.startswith("hz") for one in named) else FEW_HZ):
        return ""
    with contextlib.suppress(UnicodeDecodeError):
        return name if name and not data.decode(name).isascii() else ""
    return ""


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
    if detected == "utf-8" and high_bytes(data)[1] > len(data.translate(None, ASCII)) / 2:
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
    trusted with few bytes. Before all stands a charset of Latin script in which the page has the letters of one
    language, if it has not in the first one, and no two pieces of evidence name that one.
    """
    if declared.startswith(ASCII_DIFFERS):
        return [name for name in (declared, meta, detected) if name]
    high, in_runs = high_bytes(data)
    is_latin = in_runs < high / 2
    turkish = len(data) - len(data.translate(None, TURKISH)) if detected == "cp1254" else 0
    turkish *= len(data) == len(data.translate(None, ICELANDIC))
    sure = high >= FEW_HIGH or not is_latin or turkish > 0
    named = [name for name in (declared, meta) if name]
    order = [*(name for name in named if name != DEFAULT), *([detected] if sure else []), *named, detected]
    names = list(dict.fromkeys(name for name in order if name))
    names += [RELATED[name] for name in names if name in RELATED and RELATED[name] not in names]
    votes = [SAME.get(name, name) for name in (declared, meta, detected)]
    judged = len({SAME.get(name, name) for name in names}) > 1  # else there is no choice
    wrong = garbled(data, names) if judged else set()
    wrong |= {DEFAULT} if turkish >= FEW_TURKISH else set()  # also if the header and `meta` are both the default
    if judged and is_latin and wrong.issuperset(LATIN.intersection(names)):
        more = [name for name in OTHER_LATIN if name not in names]
        names, wrong = names + more, wrong | garbled(data, more)
    names.sort(key=lambda name: ((name in LATIN) != is_latin, name in wrong, -votes.count(SAME.get(name) or name)))
    if is_latin and names and (names[0] == DEFAULT or votes.count(SAME.get(names[0]) or names[0]) < 2):
        high_only = without_tags(data[: 4 * LETTERS], LETTERS, scripts=True).translate(None, ASCII)
        names = [name for name in (by_letters(high_only, names[0]), *names) if name]
    return names


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
