"""Order the possible charsets of a document's bytes, the most plausible first."""

from __future__ import annotations

import re

from .alphabets import by_letters, confirmed, fits, has_letters
from .bare import high_bytes, without_tags
from .garbled import RELATED, garbled
from .labels import MULTIBYTE, same
from .signs import charset_of_signs

DEFAULT = "cp1252"  # what browsers read as ISO-8859-1; servers and editors name it without knowing
OTHER_LATIN = ("mac-roman", "cp1250", "iso8859-2", "cp852", "mac-latin2")  # tried if all named are garbled
LATIN = {DEFAULT, "utf-8", "mac-roman", "mac-latin2", "mac-turkish", "mac-iceland", "cp437", "cp850", "cp852"}
LATIN |= {f"cp{n}" for n in (857, 858, 860, 861, 863, 865, 1250, 1254, 1257, 1258)}
LATIN |= {f"iso8859-{n}" for n in (1, 2, 3, 4, 9, 10, 13, 14, 15, 16)}
WINDOWS = {"iso8859-15": "cp1252", "iso8859-2": "cp1250", "iso8859-5": "cp1251", "iso8859-7": "cp1253",
           "iso8859-8": "cp1255", "iso8859-6": "cp1256", "iso8859-13": "cp1257", "iso8859-3": "cp1254",
           "iso8859-4": "cp1257", "iso8859-10": "cp1252", "iso8859-14": "cp1252",
           "iso8859-16": "cp1250"}  # fmt: skip
C1 = bytes(range(0x80, 0xA0))  # control characters in ISO-8859, letters and signs in the code pages of Windows
FEW_HIGH = 16  # bytes over 127; from fewer, code pages of Latin script cannot be distinguished
LETTERS = 1 << 14  # bytes of a page whose letters are judged
ASCII = bytes(range(128))
BALTIC = {"cp1257", "iso8859-13", "iso8859-4", "iso8859-10"}  # the detector takes Albanian and Icelandic for these
TURKISH = b"\xf0\xfd\xfe\xdd\xde"  # its letters g, i, s
ICELANDIC = b"\xe1\xe9\xed\xf3\xfa\xe6\xc1\xc9\xcd\xd3\xda\xc6"  # its letters a, e, i, o, u, ae, which Turkish has not
FEW_TURKISH = 3
# Places of these bytes in Turkish words, which Icelandic words do not have: `kapı`, `kadın`, `kırmızı`, `iş`, `akşam`,
# `İyi`. The letters of both languages are the same bytes, and short texts of both are often plausible.
NOT_ICELANDIC = re.compile(rb"\xfe(?![aeiouyjrv\xe0-\xff])|[aeiouy]\xfe|[aeou][a-z]+\xfd[a-z]?(?![A-Za-z\xc0-\xff])"
                           rb"|\xfd[a-z]{0,4}\xfd|\xdd(?![mrst])|[\xe7\xfc\xc7\xdc]")  # fmt: skip
KANA = b"\x82\x83"  # the first byte of kana in Shift_JIS
FEW_MAC = 4  # fewer may be damage
MAC = bytes.fromhex("81888a8d8e8f909a9d9e9f")  # letters of Mac OS Roman; rare letters, or none, in Windows-1252
ESTONIAN = "äöõüšžÄÖÕÜŠŽ".encode("cp1252")
# `ö` of German and Swedish in Mac OS Roman; and capitals within a word, which would be `é` and `ä`.
BETWEEN_CONSONANTS = re.compile(rb"(?i)[bcdfghj-np-tvwxz][\x9a\x9e](?=[bcdfghj-np-tvwxz])")
WITHIN = re.compile(rb"(?<=[a-z])[\x8a\x8e]")
MAC_APOSTROPHE = re.compile(rb"[A-Za-z]\xd5(?:[stmd]|re|ve|ll)\b")  # `didn’t`; `didnÕt` in Windows-1252
_BESIDE_ASCII = re.compile(r"(?<=[A-Za-z])[^\x00-\x7f]|[^\x00-\x7f](?=[A-Za-z])")


def ranked(data: bytes, named: list[str], detected: str) -> list[str]:
    """Return the charsets in the order in which to try them; each is a codec of Python.

    Args:
        data: the bytes.
        named: the charset that HTTP states, and those that the document states, each "" if there is none.
        detected: the charset that the detector finds, or "".

    `ISO-8859-1` is the default of servers, so it counts less than any other name. If a document in Latin script has few
    bytes over 127, the detector is not trusted, and Windows-1252 is likely. Charsets that suit the bytes come first: in
    Latin script, few bytes over 127 are adjacent, whereas in other scripts most are. Charsets in which the text is not
    garbled follow, then charsets that two sources name. A charset of Latin script in which the page has the letters of
    one language comes before all others, unless the page has these letters in the first charset, too, or two sources
    name the first charset.
    """
    high, in_runs = high_bytes(data)
    is_latin = in_runs < high / 2
    stated = [name for name in dict.fromkeys(named) if name]
    turkish = _n_of(data, TURKISH) if detected == "cp1254" and not _n_of(data, ICELANDIC) else 0
    if turkish and DEFAULT in stated:
        turkish = len(NOT_ICELANDIC.findall(data))
    letters = without_tags(data[: 4 * LETTERS], LETTERS, scripts=True).translate(None, ASCII) if is_latin else b""
    other = not is_latin and detected not in LATIN
    sure = high >= FEW_HIGH or other or turkish > 0 or confirmed(letters, detected, DEFAULT)
    likely = DEFAULT if is_latin and not (detected == "cp932" and 2 * _n_of(data, KANA) >= high) else ""
    last = [detected, likely] if sure else [likely, detected]
    if DEFAULT in stated and detected in BALTIC and has_letters(letters, DEFAULT, least=1.0):
        sure = False
    order = [*(name for name in stated if name != DEFAULT), *([detected] if sure else []), *stated, *last]
    names = list(dict.fromkeys(name for name in order if name))
    names += [RELATED[name] for name in names if name in RELATED and RELATED[name] not in names]
    controls = len(data) != len(data.translate(None, C1))
    if controls:  # ISO-8859 has no characters for these bytes
        names = list(dict.fromkeys(one for name in names for one in (WINDOWS.get(name, name), name)))
    votes = [same(name) for name in (*named[:2], detected if sure else "")]
    judged = len({same(name) for name in names}) > 1  # else there is no choice
    wrong = garbled(data, names) if judged else set()
    wrong |= {name for name in names if controls and name in WINDOWS}
    wrong |= {DEFAULT} if turkish >= FEW_TURKISH else set()  # also if the header and `meta` are both the default
    if judged and is_latin and wrong.issuperset(LATIN.intersection(names)):
        more = [name for name in OTHER_LATIN if name not in names]
        names, wrong = names + more, wrong | garbled(data, more)
    trusted = {*stated, detected if high >= FEW_HIGH else ""}
    unsuited = {name for name in names if not _suits(data, name, is_latin=is_latin, is_trusted=name in trusted)}
    names.sort(key=lambda name: (name in unsuited, name in wrong, -votes.count(same(name))))
    if is_latin and names and (names[0] == DEFAULT or votes.count(same(names[0])) < 2):
        names = [name for name in dict.fromkeys((by_letters(letters, names[0], detected), *names)) if name]
    is_open = bool(names) and names[0] == DEFAULT and votes.count(DEFAULT) < 2 and is_latin
    if is_open and _is_mac(data, is_stated=DEFAULT in stated):
        names = ["mac-roman", *(name for name in names if name != "mac-roman")]
    first = next((name for name in names if name != "utf-8"), "")  # the bytes are not UTF-8
    if first not in stated:
        names = list(dict.fromkeys(name for name in (charset_of_signs(data, first), *names) if name))
    return names


def _is_mac(data: bytes, *, is_stated: bool) -> bool:
    """Return whether bytes in Latin script are Mac OS Roman rather than Windows-1252.

    Its accented letters are where Windows-1252 has signs; few are capitals after small letters. The apostrophe is `Õ`.

    - is_stated: whether Windows-1252 is stated; then `š` and `ž` are read next to vowels: `šokolaad`, but `schön`.
    """
    n_high, n_mac = len(data.translate(None, ASCII)), _n_of(data, MAC)
    if 2 * len(MAC_APOSTROPHE.findall(data)) > data.count(b"\xd5"):
        return True
    if n_mac < FEW_MAC or 2 * n_mac < n_high or fits(data.translate(None, ASCII), DEFAULT, "mac-roman"):
        return False
    if is_stated and not data.translate(None, ASCII + ESTONIAN):
        return 2 * len(BETWEEN_CONSONANTS.findall(data)) > n_mac or 4 * len(WITHIN.findall(data)) >= n_mac
    capitals: list[str] = re.findall("[a-z][ÄÅÇÉÑÖÜ]", data.decode("mac-roman"))
    return bool(10 * len(capitals) <= n_high)


def _n_of(data: bytes, some: bytes) -> int:
    return len(data) - len(data.translate(None, some))


def _suits(data: bytes, name: str, *, is_latin: bool, is_trusted: bool) -> bool:
    """Return whether the runs of bytes over 127 are those of the script of a charset.

    A trusted charset of another script also suits if its letters are not next to ASCII letters, as in `№ 5`. A trusted
    charset of Latin script also suits if most characters beyond ASCII are signs, or if they are letters of one
    language, as in `żółć`. A trusted charset with two bytes per character is judged by decoding alone.
    """
    if (name in LATIN) == is_latin or (is_trusted and name in MULTIBYTE):
        return True
    if not is_trusted:
        return False
    text = data[: 4 * LETTERS].decode(name, "replace")
    beyond = [c for c in text if c > "\x7f"]
    letters = sum(c.isalpha() for c in beyond)
    if name in LATIN:
        high = data[: 4 * LETTERS].translate(None, ASCII)
        return 2 * letters <= len(beyond) or (name != DEFAULT and has_letters(high, name))
    beside: list[str] = _BESIDE_ASCII.findall(text)
    return 2 * sum(c.isalpha() for c in beside) <= letters
