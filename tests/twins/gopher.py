"""Twin of `filters/gopher/`."""

from __future__ import annotations

import itertools
import re
from collections import Counter

from twins.canonical import dropped_marks
from twins.unicode import NO_WORD, lower, points
from twins.words import kind


def gopher(text: str, rule, lists) -> dict[str, float]:
    """The scores of Gopher for one text; `lists` are its lists of stop words."""
    words, lines, paragraphs = text.split(), lines_of(text), paragraphs_of(text)
    chars = sum(map(len, words))
    letters = {re.sub(NO_WORD, "", lower(w)).replace("ς", "σ") for w in words}
    stops = [{re.sub(NO_WORD, "", lower(w)).replace("ς", "σ") for w in ws} for ws in lists]
    out = {
        "words": len(words),
        "mean_word_chars": mean_word_chars(words),
        "hashes": share(text.count("#"), len(words)),
        "ellipses": share(text.count("...") + text.count("…"), len(words)),
        "bullet_lines": share(sum(line.startswith(rule.bullets) for line in lines), len(lines)),
        "ellipsis_lines": share(sum(line.endswith(("...", "…")) for line in lines), len(lines)),
        "alphabetic": share(sum(any(c in points("ALPHA") for c in w) for w in words), len(words)),
        "stop_words": max((len(letters & s) for s in stops), default=0),
    }
    dup_lines, dup_line_chars = repeated_units(lines)
    dup_paragraphs, dup_paragraph_chars = repeated_units(paragraphs)
    out |= {
        "dup_lines": share(dup_lines, len(lines)),
        "dup_paragraphs": share(dup_paragraphs, len(paragraphs)),
        "dup_line_chars": share(dup_line_chars, chars),
        "dup_paragraph_chars": share(dup_paragraph_chars, chars),
    }
    for n in range(2, 11):
        grams = list(zip(*(words[k:] for k in range(n)), strict=False))
        top = max(Counter(grams).items(), key=lambda item: item[1], default=((), 0))
        late = {k + i for k, g in enumerate(grams) if g in grams[:k] for i in range(n)} if n > 4 else ()
        of_top = top[1] * sum(map(len, top[0])) if top[1] > 1 else 0
        out |= {f"top_{n}gram": share(of_top, chars)} if n < 5 else {
            f"dup_{n}gram": share(sum(len(words[k]) for k in late), chars)
        }  # fmt: skip
    return {f"gopher_{name}": value for name, value in out.items()}


def mean_word_chars(words: list[str]) -> float | None:
    """The mean of the words of scripts with spaces, without marks that no word needs; None if there are none."""
    silent = dropped_marks("diacritics")
    spaced = [sum(c not in silent for c in w) for w in words if not any(is_unspaced(c) for c in w)]
    return None if words and not spaced else share(sum(spaced), len(spaced))


def is_unspaced(c: str) -> bool:
    """Whether a character is a letter of a script without spaces between words."""
    return c in points("ALPHA") and not kind(c, tailored=True)


def share(part: int, whole: int) -> float:
    """The fraction, 0 of nothing."""
    return part / whole if whole else 0.0


def lines_of(text: str) -> list[str]:
    """The lines that are not blank, stripped."""
    return [line.strip() for line in text.splitlines() if line.strip()]


def paragraphs_of(text: str) -> list[str]:
    """Lines without a blank line between them."""
    groups = itertools.groupby(text.splitlines(), key=lambda line: bool(line.strip()))
    return ["\n".join(group) for full, group in groups if full]


def repeated_units(units: list[str]) -> tuple[int, int]:
    """How many of the units were there before, word by word, and the characters of their words."""
    split = [tuple(u.split()) for u in units]
    again = [u for k, u in enumerate(split) if u in split[:k]]
    return len(again), sum(len(w) for u in again for w in u)
