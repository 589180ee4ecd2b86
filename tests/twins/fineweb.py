"""Twin of `filters/fineweb/`."""

from __future__ import annotations

from twins.gopher import lines_of, repeated_units, share
from twins.words import spans, tokens


def fineweb(text: str, rule) -> dict[str, float]:
    """The scores of FineWeb for one text."""
    lines, chars = lines_of(text), sum(map(len, text.split()))
    breaks = len((text + "x").splitlines()) - 1
    words = [w for a, b in spans(text) for w in text[a:b].split()] if rule.word_split == "unicode" else text.split()
    return {
        "fineweb_punctuated_lines": share(sum(line.endswith(rule.terminal_punctuation) for line in lines), len(lines)),
        "fineweb_short_lines": share(sum(len(line) <= rule.short_line_chars for line in lines), len(lines)),
        "fineweb_dup_line_chars": share(repeated_units(lines)[1], chars),
        "fineweb_breaks": share(breaks, len(words)),
    }


def code(text: str, rule) -> dict[str, float]:
    """The scores of FineWeb's published code for one text."""
    lines = [line for line in text.split("\n") if line.strip()]
    again = [line for k, line in enumerate(lines) if line in lines[:k]]
    return {
        "fineweb_punctuated_lines": share(sum(line.endswith(rule.terminal_punctuation) for line in lines), len(lines)),
        "fineweb_short_lines": share(sum(len(line) <= rule.short_line_chars for line in lines), len(lines)),
        "fineweb_dup_line_chars": share(sum(map(len, again)), len(text.replace("\n", ""))),
        "fineweb_breaks": share(text.count("\n"), len(tokens(text))),
    }
