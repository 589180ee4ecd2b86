"""Write the character tables of fixed Unicode versions: tables.txt and assigned.txt in src/dataprep/unicode.

Run `python scripts/make_unicode.py` with Python 3.11 (Unicode 14.0) and the `regex` package to write tables.txt, and
with Python 3.10 (Unicode 13.0) to write assigned.txt. The tables are frozen so that every Python gives the same words,
and so the same bytes; the tests in `tests/unicode` compare them with `re` and `unicodedata`.
"""

from __future__ import annotations

import sys
import textwrap
import unicodedata
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

TARGET = Path(__file__).parents[1] / "src" / "dataprep" / "unicode"
POINTS = [c for c in range(sys.maxunicode + 1) if not 0xD800 <= c < 0xE000]


def category(letter: str) -> Callable[[str], bool]:
    """Whether a character's general category begins with a letter."""
    return lambda ch: unicodedata.category(ch)[0] == letter


def cased(ch: str) -> bool:
    """The Cased property, as `str.lower` uses it for the final sigma."""
    return ch.islower() or ch.isupper() or ch.istitle()


def ignorable(ch: str) -> bool:
    """The Case_Ignorable property, read off from what `str.lower` does with a sigma."""
    return ("A" + ch + "\u03a3").lower()[-1] == "\u03c2" and (ch + "\u03a3").lower()[-1] == "\u03c3"


def sentence_end(ch: str) -> bool:
    """The Sentence_Terminal property of the characters that this version knows."""
    import regex

    return unicodedata.category(ch) != "Cn" and bool(regex.match(r"\p{Sentence_Terminal}", ch))


CLASSES: dict[str, tuple[Callable[[str], bool], str]] = {
    "SPACE": (str.isspace, "str.isspace: white space, as str.split and \\s see it"),
    "LINE": (lambda ch: len((ch + "x").splitlines()) == 2, "a line break of str.splitlines"),
    "ALPHA": (str.isalpha, "str.isalpha: a letter"),
    "DECIMAL": (str.isdecimal, "str.isdecimal: a decimal digit, \\d"),
    "NUMERIC": (str.isnumeric, "str.isnumeric: anything with a numeric value, some ideographs too"),
    "NUMBER": (category("N"), "general category N"),
    "MARK": (category("M"), "general category M: combining marks"),
    "NONSPACING": (lambda ch: unicodedata.category(ch) == "Mn", "general category Mn: non-spacing marks"),
    "PUNCT": (category("P"), "general category P: punctuation"),
    "SENTENCE": (sentence_end, "Sentence_Terminal: full stops, question marks and their kin"),
    "UPPER": (str.isupper, "str.isupper"),
    "CASED": (cased, "Cased: has an upper, lower or title case"),
    "FORMAT": (lambda ch: unicodedata.category(ch) == "Cf", "general category Cf: soft hyphens, joiners, directions"),
    "NOT_NFC": (lambda ch: unicodedata.normalize("NFC", ch) != ch, "never in a text in NFC"),
    "IGNORABLE": (ignorable, "Case_Ignorable: looked through when deciding a final sigma"),
}


def ranges(test: Callable[[str], bool]) -> str:
    """The code points that pass, as hexadecimal ranges."""
    return " ".join(spans([c for c in POINTS if test(chr(c))]))


def spans(points: list[int]) -> list[str]:
    """Ascending code points as hexadecimal ranges."""
    found: list[list[int]] = []
    for c in points:
        if found and found[-1][1] == c - 1:
            found[-1][1] = c
        else:
            found.append([c, c])
    return [f"{a:x}" if a == b else f"{a:x}-{b:x}" for a, b in found]


def lower_runs() -> str:
    """The lower-case mapping as runs `first-last/step+shift`; only the first code point of the image counts."""
    runs: list[list[int]] = []
    for c in POINTS:
        shift = ord(chr(c).lower()[0]) - c
        if shift == 0:
            continue
        last = runs[-1] if runs else [0, -9, 0, 0]
        step = c - last[1]
        if last[3] == shift and (last[2] == step or (last[0] == last[1] and step <= 2)):
            last[1], last[2] = c, step
        else:
            runs.append([c, c, 1, shift])
    return " ".join(f"{a:x}-{b:x}/{step}{shift:+x}" for a, b, step, shift in runs)


def known(prop: str, *values: str) -> Callable[[str], bool]:
    """Whether a property of a character that this version knows has one of the values."""

    def has(ch: str) -> bool:
        import regex

        pattern = "|".join(rf"\p{{{prop}={value}}}" for value in values)
        return unicodedata.category(ch) != "Cn" and bool(regex.match(pattern, ch))

    return has


BREAKS: dict[str, Callable[[str], bool]] = {
    "LETTER": known("WB", "ALetter"),
    "HEBREW": known("WB", "Hebrew_Letter"),
    "DIGIT": known("WB", "Numeric"),
    "JOINER": known("WB", "ExtendNumLet"),
    "MID_LETTER": known("WB", "MidLetter"),
    "MID_NUMBER": known("WB", "MidNum"),
    "MID_BOTH": known("WB", "MidNumLet", "Single_Quote"),
    "EXTEND": known("WB", "Extend", "Format", "ZWJ"),
}


def word_breaks() -> str:
    """The classes of Word_Break that words are made of, by name."""
    return tokens({name: [c for c in POINTS if test(chr(c))] for name, test in BREAKS.items()})


def decompositions() -> str:
    """The full canonical decompositions, as `point+point`, without the syllables of Hangul (Unicode, 3.12)."""
    groups: dict[str, list[int]] = {}
    for c in POINTS:
        whole = unicodedata.normalize("NFD", chr(c))
        if whole != chr(c) and not 0xAC00 <= c < 0xD7A4:
            groups.setdefault("+".join(f"{ord(ch):x}" for ch in whole), []).append(c)
    return tokens(groups)


def orders() -> str:
    """The canonical combining classes that are not 0."""
    groups: dict[int, list[int]] = {}
    for c in POINTS:
        if unicodedata.combining(chr(c)):
            groups.setdefault(unicodedata.combining(chr(c)), []).append(c)
    return tokens(dict(sorted(groups.items())))


def tokens(groups: Mapping[Any, list[int]]) -> str:
    """Return groups of ascending code points as tokens `key=ranges`, each of up to eight ranges."""
    out = []
    for name, points in groups.items():
        cut = spans(points)
        out += [f"{name}={','.join(cut[i : i + 8])}" for i in range(0, len(cut), 8)]
    return " ".join(out)


def assigned(ch: str) -> bool:
    """Whether this version has the character, control characters and private use included."""
    return unicodedata.category(ch) != "Cn"


def section(name: str, comment: str, text: str) -> str:
    """Return a section of the file: its name and meaning, then the text in lines."""
    return "\n".join([f"[{name}] {comment}", *textwrap.wrap(text, 118, break_on_hyphens=False)])


def main() -> None:
    """Write the file that is of this Python's Unicode version."""
    parts = [f"# Unicode {unicodedata.unidata_version}. Written by scripts/make_unicode.py; do not edit."]
    if unicodedata.unidata_version == "13.0.0":
        parts.append(section("ASSIGNED", "all characters, with control characters and private use", ranges(assigned)))
        (TARGET / "assigned.txt").write_text("\n".join(parts) + "\n", encoding="utf-8")
        return
    parts += [section(name, comment, ranges(test)) for name, (test, comment) in CLASSES.items()]
    lower = "first-last/step+shift; U+0130 maps to two code points, of which the first is here"
    parts.append(section("LOWER", lower, lower_runs()))
    meaning = "class=points: Word_Break of UAX #29, the classes that words are made of"
    parts.append(section("WORD_BREAK", meaning, word_breaks()))
    meaning = "points=points: full canonical decompositions, without Hangul"
    parts.append(section("DECOMPOSED", meaning, decompositions()))
    parts.append(section("ORDER", "class=points: canonical combining classes other than 0", orders()))
    (TARGET / "tables.txt").write_text("\n".join(parts) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
