"""Twin of `read/chats/whatsapp/scan.py` and `fields.py`: the header of a message."""

from __future__ import annotations

import re
from functools import cache

_SKIP = "[ \t\u00a0\u061c\ufeff\u2009-\u200f\u202a-\u202f\u2066-\u2069]"

_DIGIT = "[0-9\u0660-\u0669\u06f0-\u06f9\u0966-\u096f\u09e6-\u09ef\u0e50-\u0e59\u1040-\u1049\uff10-\uff19]"

_WORD = rf"(?:(?!{_DIGIT})[^\x00-\x08\x0a-\x1f!#-&(-\-/:;\[\]\u060c\u2013\u2014])*"

_ERA = rf"(?:(?:\.|{_SKIP})*(?P<era>[RHSrhs]|令和?|平成?|昭和?|民[國国]|西暦|公元)(?:\.|{_SKIP})*)?"

_LAST = _ERA.replace("<era>", "<last>")

_DATE = (
    rf"(?:(?P<first>{_WORD}元年)|{_ERA}(?P<a>{_DIGIT}{{1,4}}){_SKIP}*(?P<s1>[-./,年년])){_SKIP}*"
    rf"(?P<b>{_DIGIT}{{1,2}}){_SKIP}*(?P<s2>[-./,月월]){_SKIP}*{_LAST}(?P<c>{_DIGIT}{{1,4}})(?!{_DIGIT})(?:{_SKIP}*[日일])?"
)

_CLOCK = (
    rf"(?P<h>{_DIGIT}{{1,2}}){_SKIP}*(?P<mark>[:.h]){_SKIP}*(?P<m>{_DIGIT}{{2}})(?!{_DIGIT})"
    rf"(?:(?P=mark)(?P<s>{_DIGIT}{{2}})(?!{_DIGIT}))?"
)

_TIME = rf"{_CLOCK}(?P<late>{_WORD})"

_START, _END = rf"{_SKIP}*(?P<bracket>\[)?{_SKIP}*", rf"(?(bracket)\] ?|(?P<end>[-–—:;])(?=\s|$|{_SKIP})[ \u00a0]?)"

_DATE_FIRST = re.compile(rf"{_START}{_DATE}(?P<w1>{_WORD})[-,\u060c]?(?P<w2>{_WORD}){_TIME}{_END}")

_BLANK = re.compile(  # 13. 6. 2018. 21:25:15 Bee: hi
    rf"{_SKIP}*{_DATE}(?={_SKIP}*\.)(?P<w1>{_WORD})[-,\u060c]?(?P<w2>{_WORD}){_CLOCK}{_SKIP}+(?!:)"
)

_NAMED = re.compile("[^\r\n]+?:[ \r\n\u00a0]")

_TIME_FIRST = re.compile(rf"{_START}(?P<w1>{_WORD}){_TIME}[-,\u060c]?{_SKIP}*{_DATE}(?P<w2>{_WORD}){_END}")


def whatsapp_header(line: str) -> tuple[int, tuple[int, int, int], int] | None:
    """Where the header of a line ends (in characters), its three numbers as written, and the second of the day."""
    from dataprep.read.chats.whatsapp import fields as F
    from dataprep.read.chats.whatsapp import headers as H

    head = line.encode()[1:12].split(b"\n")[0]
    if line[:1] in {" ", "\t"} or (re.match("[A-Za-z]", line) and not re.search(rb"[0-9\xc2-\xff]", head)):
        return None
    found = _DATE_FIRST.match(line) or _TIME_FIRST.match(line)
    read = _numbers(line, found) if found else None
    blank = _BLANK.match(line)
    if blank and blank["s1"] == "." and _NAMED.match(line + "\n", blank.end()):
        word = _plain(found["late"], H) if read and found["end"] == ":" else ""
        no_half = _meanings().get(word) == F.NEUTRAL or int(blank["h"]) > 12
        word_is_name = word and (no_half or not _NAMED.match(line + "\n", found.end()))
        if read is None or word_is_name:
            return _numbers(line, blank)
    return read


def _numbers(line: str, found: re.Match[str]) -> tuple[int, tuple[int, int, int], int] | None:
    from dataprep.read.chats.whatsapp import fields as F
    from dataprep.read.chats.whatsapp import headers as H

    meanings = _meanings()
    parts = found.groupdict()
    words = [meanings.get(_plain(parts.get(k) or "", H), F.UNKNOWN) if _plain(parts.get(k) or "", H) else 0
             for k in ("era", "w1", "w2", "late", "last")]  # fmt: skip
    a, b, c, h, m, s = (int(found[k] or 0) for k in ("a", "b", "c", "h", "m", "s"))
    n_a, n_c = len(found["a"] or ""), len(found["c"])
    last = words.pop()
    after = 2 if found.re is _TIME_FIRST else 1  # the word after the date
    if found.re is _TIME_FIRST and words[3] >= F.ERA:  # 9:12 R6/5/3
        if words[0] or set("-,\u060c") & set(line[found.end("late") : found.start("a")]):
            return None
        words[0], words[3] = words[3], 0
    if not found["first"] and not words[0] and not last and n_a <= 2 >= n_c and words[after] >= F.ERA:  # 3/5/6 R
        last, words[after] = words[after], 0
    year_sign = bool(found["first"]) or found["s1"] in "年년"
    if (found["s2"] in "月월") != year_sign or not (year_sign or found["s1"] == found["s2"]):
        return None
    if last:
        if found["first"] or words[0] or n_a > 2 or n_c > 2 or found["s1"] in "年년":
            return None
        c += last - F.ERA
    elif found["first"]:
        a = meanings.get(_plain(found["first"], H), F.UNKNOWN) - F.FIRST_YEAR
    elif words[0] >= F.ERA:
        a += words[0] - F.ERA
    if last:
        known = last >= F.ERA
    elif found["first"] or words[0] >= F.ERA or n_a == 4 or year_sign:
        known = a >= 0 and n_c <= 2
    else:
        known = n_a <= 2 and (n_c in {2, 4} or (n_a, n_c) == (2, 1)) and words[0] == 0
        a += 2_000 * (n_c == 1)
    half = max(words[1:])
    if not known or min(words) < 0 or half >= F.ERA or m > 59 or s > 59:
        return None
    if half and half <= F.NIGHT and h <= 12:
        afternoon = half == F.PM or (half == F.NOON and h not in {10, 11}) or (half == F.NIGHT and 5 < h < 12)
        h = h % 12 + 12 * afternoon
    if h > 23 or (found.re is _TIME_FIRST and _plain(found["w2"], H) and words[2]):
        return None
    return found.end(), (a, b, c), h * 3_600 + m * 60 + s


@cache
def _meanings() -> dict[str, int]:
    from dataprep.read.chats.whatsapp import headers as H

    return {_plain(word, H): code for word, code in reversed(H._meanings().items())}


def _plain(word: str, headers) -> str:
    return "".join(c.lower() if c.isascii() else c for c in word.translate(headers.SKIPPED))
