"""Characters as every twin sees them: the project's Unicode tables read plainly, the same on every Python."""

from __future__ import annotations

import re
from functools import cache

from dataprep.unicode import tables


@cache
def points(name: str) -> frozenset[str]:
    """The characters of a class of the tables, as "ALPHA"."""
    spans = [span.partition("-") for span in tables.CLASSES[name].split()]
    return frozenset(chr(c) for a, _, b in spans for c in range(int(a, 16), int(b or a, 16) + 1))


def pattern(*names: str) -> str:
    r"""The inside of a regular expression's brackets with all characters of the classes."""
    spans = [span.partition("-") for name in names for span in tables.CLASSES[name].split()]
    return "".join(rf"\U{int(a, 16):08x}-\U{int(b or a, 16):08x}" for a, _, b in spans)


WORD = f"[_{pattern('ALPHA', 'NUMERIC')}]"  # as \w
NO_WORD = f"[^{WORD[1:]}"  # as \W
ALPHA = f"[{pattern('ALPHA')}]"
EXTENDING = re.compile(f"[{pattern('MARK', 'FORMAT')}]+")  # what belongs to the character before it


@cache
def _lowered() -> dict[str, str]:
    found = {}
    for run in tables.LOWER.split():
        span, _, change = run.partition("/")
        first, last = (int(x, 16) for x in span.split("-"))
        for c in range(first, last + 1, int(change[0])):
            found[chr(c)] = chr(c + int(change[1:], 16))
    return found


@cache
def _bases() -> dict[str, str]:
    found = dict.fromkeys(points("NONSPACING"), "")
    for token in tables.DECOMPOSED.split():
        whole, _, spans = token.partition("=")
        for a, _, b in (span.partition("-") for span in spans.split(",")):
            plain = "".join(chr(int(x, 16)) for x in whole.split("+") if chr(int(x, 16)) not in points("NONSPACING"))
            found |= {chr(c): plain for c in range(int(a, 16), int(b or a, 16) + 1)}
    return found


def without_accents(text: str) -> str:
    """The canonical decomposition of each character without its non-spacing marks; Hangul syllables as letters."""
    out = []
    for c in text:
        n = ord(c) - 0xAC00
        if 0 <= n < 11_172:  # Unicode, 3.12
            tail = chr(0x11A7 + n % 28) if n % 28 else ""
            out.append(chr(0x1100 + n // 588) + chr(0x1161 + n // 28 % 21) + tail)
        else:
            out.append(_bases().get(c, c))
    return "".join(out)


def lower(text: str) -> str:
    """As str.lower: U+0130 becomes two characters, and a capital sigma that ends a word the final form."""
    if text.isascii():
        return text.lower()
    out = []
    for i, c in enumerate(text):
        if c == "\u03a3":
            before, after = (
                next((x for x in side if x not in points("IGNORABLE")), "") for side in (text[:i][::-1], text[i + 1 :])
            )
            is_final = before in points("CASED") and after not in points("CASED")
            out.append("\u03c2" if is_final else "\u03c3")
        else:
            out.append("i\u0307" if c == "\u0130" else _lowered().get(c, c))
    return "".join(out)
