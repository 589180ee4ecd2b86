"""The rules of `RefinedWeb` as its kernels read them, and the search for a phrase at an offset.

Case is folded character by character (`fold_chars`), so that a match has the same offset in a text and in its folded
form. Slow reference for the tests: tests/twins/refinedweb.py.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dataprep.filters.packed_strings import fold_char, fold_chars, pack
from dataprep.unicode import text as T
from dataprep.unicode.kernel import kernel
from dataprep.unicode.text import I64, U8, U16, U32

ANY = 0xFFFF  # in a phrase: any character
KEEP, UPPER_CASE, NUMBERS, COUNTER, FEW_WORDS, EDITED, REMOVED_WORDS, EMPTY = range(8)
NAMES = ("valid", "upper_case", "numbers", "counter", "few_words", "edited", "removed_words", "empty")


class PackedPhrases(NamedTuple):
    """Phrases without case differences, for kernels: phrase k is the UTF-8 bytes data[starts[k]:starts[k + 1]].

    Attributes:
        leads: uint8[256], 1 for each byte that can begin a phrase in a text of any case.
    """

    data: U8
    starts: I64
    leads: U8  # [256]


class RefinedWebRules(NamedTuple):
    """The parameters of `RefinedWeb` in the form that the kernels read.

    Attributes:
        as_dclm: True for `preset="dclm"`, whose kernel is in dclm.py.
        max_upper: the maximum share, 0 to 1, of upper-case characters in a line.
        max_numeric: the maximum share, 0 to 1, of numeric characters in a line.
        max_removed: the maximum share, 0 to 1, of a document's words that may be removed.
        marks: the kind of words, as in `spaced.marks_of`.
        words: the table of word boundaries.
        classes: the class bits of each code point.
        lower: the lower case of each code point.
        folds: the lower case of each code point, as used to compare phrases.
    """

    as_dclm: bool
    max_upper: float
    max_numeric: float
    counters: PackedPhrases
    min_line_words: int
    max_edit_words: int
    prefixes: PackedPhrases
    suffixes: PackedPhrases
    anywhere: PackedPhrases
    max_removed: float
    marks: int
    words: U32
    classes: U16
    lower: U32
    folds: U32


def pack_phrases(phrases: tuple[str, ...], lower: U32 | None = None) -> PackedPhrases:
    """Return the phrases, case-folded, in the form that the kernels read.

    - lower: the case table for texts.
    """
    folded, leads = [fold_chars(p) for p in phrases], np.zeros(256, np.uint8)
    small = (T.lowered() if lower is None else lower) & T.POINT
    small[small == ord("ς")] = ord("σ")
    for first in {ord(p[0]) for p in folded}:
        leads[[chr(c).encode("utf-8", "replace")[0] for c in np.flatnonzero(small == first).tolist()]] = 1
        leads[:0x80], leads[0xC0:] = leads[:0x80] | (first == ANY), leads[0xC0:] | (first == ANY)
    return PackedPhrases(*pack(folded), leads)


@kernel(_nrt=False)
def longest(data: U8, a: int, b: int, phrases: PackedPhrases, lower: U32) -> int:
    """Return the end of the longest phrase with which `data[a:b]` starts, ignoring case; -1 if there is none.

    ANY in a phrase matches any character.
    """
    best = -1
    if a < b and not phrases.leads[data[a]]:
        return best
    for k in range(len(phrases.starts) - 1):
        i, j, stop = a, phrases.starts[k], phrases.starts[k + 1]
        while i < b and j < stop:
            c, size = T.code_point(data, i)
            p, step = T.code_point(phrases.data, j)
            if p not in (ANY, fold_char(c, lower)):
                break
            i, j = i + size, j + step
        if j == stop:
            best = max(best, i)
    return best
