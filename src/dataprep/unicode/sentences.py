"""Ends of sentences, without a model, for `C4`, which documents the rule, and `Exact`.

Twin: tests/twins/units.py.
"""

from __future__ import annotations

from .kernel import kernel
from .text import ALPHA, CASED, U8, U16, UPPER, WORD, code_point
from .utf8 import step_back


@kernel(_nrt=False)
def skip_closers(line: U8, i: int, b: int) -> int:
    """Return the offset after the quotation marks and brackets that close with a sentence."""
    while i < b:
        c = line[i]
        if c in (0x22, 0x27, 0x29, 0x5D, 0x7D):  # " ' ) ] }
            i += 1
        elif c == 0xC2 and line[i + 1] == 0xBB:  # U+00BB
            i += 2
        elif c == 0xE2 and line[i + 1] == 0x80 and (line[i + 2] == 0x99 or line[i + 2] == 0x9D):  # U+2019, U+201D
            i += 3
        else:
            break
    return i


@kernel(_nrt=False)
def inside_sentence(line: U8, a: int, i: int, run: int, after: int, classes: U16) -> bool:
    """Return whether full stops `line[i:run]` end no sentence: before a small letter, or after one letter (J. Doe)."""
    for j in range(i, run):
        if line[j] != 0x2E:
            return False
    point, _ = code_point(line, after)
    if classes[point] & CASED and not classes[point] & UPPER:
        return True
    if run - i > 1 or i == a:
        return False
    letter = step_back(line, i)
    point, _ = code_point(line, letter)
    if not classes[point] & ALPHA:
        return False
    if letter == a:
        return True
    point, _ = code_point(line, step_back(line, letter))
    return not (classes[point] & WORD or point == 0x27)
