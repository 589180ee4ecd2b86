"""Digits, signs and letters, for the twins of the search for phones."""

from __future__ import annotations

import unicodedata

VALUES = {c: str(unicodedata.decimal(c)) for c in map(chr, range(0x1FBFA)) if c.isdecimal()}
DASHES = "\u2212\u301c\u3030\u30a0" + "".join(c for c in map(chr, range(0x110000)) if unicodedata.category(c) == "Pd")
WIDE = {c: " " for c in map(chr, range(0x110000)) if unicodedata.category(c) == "Zs"} | dict.fromkeys(DASHES, "-")
WIDE |= dict(zip("（）＋．／", "()+./", strict=True))
INVISIBLE = "\u00ad\ufeff" + "".join(map(chr, (*range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x206A))))
BLANKS, SIGNS = [" "], ["-", "."]


def plain(line: str) -> str:
    """A line with the digits and signs of ASCII instead of those of other scripts."""
    return "".join(WIDE.get(c) or VALUES.get(c, c) for c in line)


def is_word(c: str) -> bool:
    """Whether a character is a letter, a digit or an underscore."""
    return c.isalnum() or c == "_"


def in_list(line: str, end: int, start: int) -> bool:
    """Whether a number is the next one in a list after a phone that ends at `end`."""
    gap = line[end : start - line[:start].endswith(("+", "("))]
    return end >= 0 and 1 <= len(gap) <= 3 and set(gap) <= set(" ,;/-")


def groups_of(line: str) -> list[tuple[int, int, str]]:
    """All groups of digits: start, end, Western digits."""
    found = []
    for i, c in enumerate(line):
        if c in VALUES and found and found[-1][1] == i:
            found[-1] = (found[-1][0], i + 1, found[-1][2] + VALUES[c])
        elif c in VALUES:
            found.append((i, i + 1, VALUES[c]))
    return found


def word_before(text: str) -> tuple[str, str]:
    """The word with which a text ends, and what precedes it."""
    n = next((i for i, c in enumerate(reversed(text)) if not is_word(c)), len(text))
    return text[len(text) - n :], text[: len(text) - n]


def joins(c: str) -> bool:
    """Whether a character is of Hebrew, Arabic or a script in which words may follow each other without a space."""
    ranges = [(0x590, 0x6FF), (0x900, 0xFFF), (0x1000, 0x10FF), (0x1200, 0x137F), (0x1780, 0x17FF), (0x3040, 0x9FFF)]
    return bool(c) and any(a <= ord(c) <= b for a, b in [*ranges, (0xAC00, 0xD7AF)])


def closed(line: str, group) -> bool:
    """Whether a group has at most four digits, and a bracket closes behind it."""
    return len(group[2]) <= 4 and line[group[1] :].startswith(")")


def is_latin(c: str) -> bool:
    """Whether a character is a Latin letter up to U+024F."""
    return (c.isascii() and c.isalpha()) or "\u00c0" <= c <= "\u024f"


DIGITS = tuple("0123456789")


def is_letter(c: str) -> bool:
    """Whether a character is a letter or a number other than a decimal digit."""
    return c.isalnum() and not c.isdecimal()
