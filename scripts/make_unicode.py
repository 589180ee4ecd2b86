"""Write src/dataprep/unicode.py: the character tables at one fixed Unicode version.

Run with Python 3.11 (Unicode 14.0) and the `regex` package: `python scripts/make_unicode.py`. The tables are frozen
so that every Python gives the same words, and so the same bytes; `tests/test_text.py` compares them with `re`.
"""

from __future__ import annotations

import sys
import textwrap
import unicodedata
from collections.abc import Callable
from pathlib import Path

import regex

TARGET = Path(__file__).parents[1] / "src" / "dataprep" / "unicode.py"
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
    return unicodedata.category(ch) != "Cn" and bool(regex.match(r"\p{Sentence_Terminal}", ch))


CLASSES: dict[str, tuple[Callable[[str], bool], str]] = {
    "SPACE": (str.isspace, "str.isspace: white space, as str.split and \\s see it"),
    "LINE": (lambda ch: len((ch + "x").splitlines()) == 2, "a line break of str.splitlines"),
    "ALPHA": (str.isalpha, "str.isalpha: a letter"),
    "DECIMAL": (str.isdecimal, "str.isdecimal: a decimal digit, \\d"),
    "NUMERIC": (str.isnumeric, "str.isnumeric: anything with a numeric value, some ideographs too"),
    "NUMBER": (category("N"), "general category N"),
    "MARK": (category("M"), "general category M: combining marks"),
    "PUNCT": (category("P"), "general category P: punctuation"),
    "SENTENCE": (sentence_end, "Sentence_Terminal: full stops, question marks and their kin"),
    "UPPER": (str.isupper, "str.isupper"),
    "CASED": (cased, "Cased: has an upper, lower or title case"),
    "IGNORABLE": (ignorable, "Case_Ignorable: looked through when deciding a final sigma"),
}


def ranges(test: Callable[[str], bool]) -> str:
    """The code points that pass, as hexadecimal ranges."""
    spans: list[list[int]] = []
    for c in POINTS:
        if test(chr(c)):
            if spans and spans[-1][1] == c - 1:
                spans[-1][1] = c
            else:
                spans.append([c, c])
    return " ".join(f"{a:x}" if a == b else f"{a:x}-{b:x}" for a, b in spans)


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


def block(text: str) -> str:
    """A long string as lines of source."""
    lines = textwrap.wrap(text, 104)
    return "(\n" + "\n".join(f'    "{line} "' for line in lines) + "\n)"


def main() -> None:
    """Write the file."""
    version = unicodedata.unidata_version
    parts = [
        f'"""Character classes and the lower-case mapping of Unicode {version}.',
        '\nWritten by scripts/make_unicode.py: do not edit. `text.py` turns these ranges into tables.\n"""\n',
        f'VERSION = "{version}"\n\nCLASSES = {{',
    ]
    for name, (test, comment) in CLASSES.items():
        parts.append(f'    # {comment}\n    "{name}": {textwrap.indent(block(ranges(test)), "    ").lstrip()},')
    parts.append("}\n\n# first-last/step+shift; U+0130 maps to two code points, of which the first is here")
    parts.append(f"LOWER = {block(lower_runs())}\n")
    TARGET.write_text("\n".join(parts), encoding="utf-8")


if __name__ == "__main__":
    main()
