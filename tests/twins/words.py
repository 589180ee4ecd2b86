"""Twin of the words of `unicode/words.py`: the rules of UAX #29, one after the other, at every place of a text."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from functools import cache, lru_cache

import regex

from dataprep.unicode import tables
from twins.unicode import WORD, lower, points

BLANK, PICTURE, KATAKANA = (regex.compile(rf"\p{{{name}}}") for name in ("WB=WSegSpace", "ExtPict", "WB=Katakana"))
HIDDEN = {chr(c) for a, b in ((0x180B, 0x180D), (0x180F, 0x180F), (0xFE00, 0xFE0F)) for c in range(a, b + 1)}
NEWLINES = "\r\n\x0b\x0c\x85\u2028\u2029"
HIDDEN |= {chr(c) for c in range(0xE0100, 0xE01F0)}


@cache
def _classes() -> dict[str, str]:
    found = {}
    for token in tables.WORD_BREAK.split():
        name, _, spans = token.partition("=")
        for a, _, b in (span.partition("-") for span in spans.split(",")):
            found |= {chr(c): name for c in range(int(a, 16), int(b or a, 16) + 1)}
    return found | {'"': "QUOTE"}


@cache
def kind(c: str, tailored: bool) -> str:
    """The class of a character; "" for those that the rules do not name."""
    found = _classes().get(c, "")
    if tailored and c == "\u202f":
        return "MID_NUMBER"
    if not tailored and KATAKANA.match(c):
        return "KATAKANA"
    return "" if tailored and c in points("FORMAT") and found != "EXTEND" else found


def is_boundary(text: str, i: int, tailored: bool = True) -> bool:
    """Whether a word may begin or end before the character `i`, 0 < i < len(text)."""
    before, after = text[i - 1], text[i]
    if before + after == "\r\n":  # WB3
        return False
    if before in NEWLINES or after in NEWLINES:  # WB3a, WB3b
        return True
    if not tailored and before == "\u200d" and PICTURE.match(after):  # WB3c
        return False
    if BLANK.match(before) and BLANK.match(after):  # WB3d
        return False
    if kind(after, tailored) == "EXTEND":  # WB4
        return False
    a, a2 = [*itertools.islice(_backwards(text, i, tailored), 2), "", ""][:2]
    right = itertools.islice((text[j] for j in range(i, len(text)) if kind(text[j], tailored) != "EXTEND"), 2)
    b, b2 = [*right, "", ""][:2]
    quote = b == "'"
    a, a2, b, b2 = (kind(c, tailored) if c else "" for c in (a, a2, b, b2))
    letters = ("LETTER", "HEBREW")
    mid_a, mid_b = (x in ("MID_LETTER", "MID_BOTH") for x in (a, b))
    number_a, number_b = (x in ("MID_NUMBER", "MID_BOTH") for x in (a, b))
    joined = (
        (a in letters and b in letters)  # WB5
        or (a in letters and mid_b and b2 in letters)  # WB6
        or (a2 in letters and mid_a and b in letters)  # WB7
        or (a == "HEBREW" and quote and not tailored)  # WB7a
        or (a == "HEBREW" and b == "QUOTE" and b2 == "HEBREW")  # WB7b
        or (a2 == "HEBREW" and a == "QUOTE" and b == "HEBREW")  # WB7c
        or (a == "DIGIT" and b == "DIGIT")  # WB8
        or (a in letters and b == "DIGIT")  # WB9
        or (a == "DIGIT" and b in letters)  # WB10
        or (a2 == "DIGIT" and number_a and b == "DIGIT")  # WB11
        or (a == "DIGIT" and number_b and b2 == "DIGIT")  # WB12
        or (a == b == "KATAKANA")  # WB13
        or (a in (*letters, "DIGIT", "KATAKANA", "JOINER") and b == "JOINER")  # WB13a
        or (a == "JOINER" and b in (*letters, "DIGIT", "KATAKANA"))  # WB13b
    )
    flags = "\U0001f1e6" <= after <= "\U0001f1ff" and itertools.takewhile(
        lambda c: "\U0001f1e6" <= c <= "\U0001f1ff", _backwards(text, i, tailored)
    )
    paired = len(list(flags or ())) % 2 == 1  # WB15, WB16
    return not (joined or paired)


def _backwards(text: str, i: int, tailored: bool) -> Iterator[str]:
    """The characters before the place `i`, the last first, without those that extend another (WB4)."""
    extending = False
    for j in range(i - 1, -1, -1):
        c = text[j]
        if kind(c, tailored) == "EXTEND":
            extending = True
            continue
        if extending and c in NEWLINES:
            yield "\ufffd"
        yield c
        extending = False
    if extending:
        yield "\ufffd"


def segments(text: str, tailored: bool = True) -> list[str]:
    """A text, cut at all boundaries."""
    cuts = [0, *(i for i in range(1, len(text)) if is_boundary(text, i, tailored)), len(text)]
    return [text[a:b] for a, b in itertools.pairwise(cuts) if a < b]


def is_word(segment: str) -> bool:
    r"""Whether a segment has a letter, a digit or an underscore: a character of these classes, or else of `\w`."""
    return any(
        kind(c, True) in ("LETTER", "HEBREW", "DIGIT", "JOINER") or (not kind(c, True) and re.match(WORD, c))
        for c in segment
    )


@lru_cache(1000)
def spans(text: str, split: str = "unicode") -> tuple[tuple[int, int], ...]:
    """Where the words of a text start and end, in characters."""
    if split == "regex":
        return tuple(m.span() for m in re.finditer(f"{WORD}+", text))
    found, at = [], 0
    for segment in segments(text):
        if is_word(segment):
            found.append((at, at + len(segment)))
        at += len(segment)
    return tuple(found)


def words(text: str, split: str = "unicode") -> list[str]:
    """The words of a text as they are compared."""
    if split == "regex":
        return re.findall(f"{WORD}+", lower(text))
    small = lower(text.replace("\u0130", "i"))
    assert len(small) == len(text), "lower-casing keeps every place"
    table = str.maketrans(dict.fromkeys("\u2018\u2019\uff07", "'") | dict.fromkeys([*HIDDEN, *points("FORMAT")], ""))
    return [small[a:b].translate(table) for a, b in spans(text)]


def tokens(text: str) -> list[str]:
    """The words of a text as they are written, and between them the runs of one other character; none has a blank."""
    inside = {i: i == a for a, b in spans(text) for i in range(a, b)}  # whether a word starts here
    found, before = [""], ""
    for i, c in enumerate(text):
        same = c == before or c in points("MARK") or c in points("FORMAT")
        if c in points("SPACE"):
            found.append("")
        elif inside.get(i, not same):
            found.append(c)
        else:
            found[-1] += c
        before = "" if i in inside or c in points("SPACE") else c
    return [token for token in found if token]


def kinds_of_words(text: str, words: str) -> list[str]:
    """The words of a text, of the kind that the filters' parameter `words` names."""
    if words == "unicode":
        return [w for a, b in spans(text) for w in text[a:b].split()]
    return tokens(text) if words == "punctuation" else text.split()


def word_hash(word: str) -> int:
    """The hash of a word in the form in which words are compared: its UTF-8 bytes, eight at a time."""
    data = b"".join((ord(c) | 0x20).to_bytes(1, "little") if c < "\x80" else c.encode() for c in word)
    h, full = 0, (1 << 64) - 1
    for at in range(0, len(data), 8):
        if at:
            h = h * 0x9E3779B97F4A7C15 & full
            h ^= h >> 32
        h ^= int.from_bytes(data[at : at + 8], "little")
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        h = (h ^ h >> 33) * factor & full
    return h ^ h >> 33
