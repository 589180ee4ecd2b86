"""Twin of `BadWords` (`filters/word_automaton.py`)."""

from __future__ import annotations

import re

from twins.folding import fold_chars
from twins.unicode import WORD, points


def bad_words(text: str, entries: tuple[str, ...], whole_words: bool) -> int:
    """The places of a text where an entry ends."""
    folded, part = fold_chars(text), [bool(re.match(WORD, c)) or c in points("MARK") for c in text]

    def ends_at(entry: str, i: int) -> bool:
        a = i - len(entry)
        if a < 0 or folded[a:i] != fold_chars(entry):
            return False
        return not whole_words or not (part[a - 1 : a] == [True] or part[i : i + 1] == [True])

    return sum(any(ends_at(e, i) for e in entries) for i in range(1, len(text) + 1))
