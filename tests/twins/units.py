"""Twin of the units of text of `dedup/spans`: lines, sentences and their normal forms."""

from __future__ import annotations

import re

import numpy as np

from dataprep.unicode.text import SENTENCE, classes
from twins.text import normal
from twins.unicode import ALPHA, EXTENDING, WORD, lower, points, without_accents

TERMINALS = "".join(map(chr, np.flatnonzero(classes() & SENTENCE)))


def lines(text: str) -> list[str]:
    """The pieces between line feeds."""
    pieces = text.split("\n")
    return pieces if pieces[-1] else pieces[:-1]


def sentences(text: str) -> list[str]:
    """The sentences of a text; the rule of `c4_sentences` with every sentence terminal of Unicode."""
    found = []
    for line in text.splitlines():
        first = 0
        for m in re.finditer("([" + re.escape(TERMINALS) + r"]+)([\"')\]}»’”]*)(\s*)", line):
            before, after = line[: m.start()], line[m.end() : m.end() + 1]
            small = after in points("CASED") and after not in points("UPPER")
            initial = m[1] == "." and re.search(rf"(?<!{WORD})(?<!'){ALPHA}\Z", EXTENDING.sub("", before))
            inside = set(m[1]) == {"."} and (small or initial)
            if after and (m[3] or ord(m[1][-1]) > 0x7F) and not inside:
                found.append(line[first : m.end(2)].strip())
                first = m.end()
        found.append(line[first:].strip())
    return [s for s in found if s]


def unit_form(unit: str, form: str | None) -> str:
    """A unit's normal form."""
    if form == "c4":
        return lower(unit.strip())
    if form not in ("ccnet", "ccnet_digits"):
        return unit if form is None else normal(unit, form)
    left = [" " if c in points("SPACE") else c for c in without_accents(lower(unit.strip()))]
    zeros = points("DECIMAL") if form == "ccnet" else ()
    left = ["0" if c in zeros else c for c in left if c not in points("PUNCT") and not is_control(c)]
    return " ".join("".join(left).split())


def is_control(c: str) -> bool:
    """Whether a character is of the class Cc, which no version of Unicode changes."""
    return c < " " or "\x7f" <= c < "\xa0"
