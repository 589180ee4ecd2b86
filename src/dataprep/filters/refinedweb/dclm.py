"""The kernel of `RefinedWeb(preset="dclm")`: the result of DCLM's seven steps, line by line.

DCLM applies each rule to the whole page, and strips the page after nearly every rule. A strip matters only to the first
and the last line that are left at that time, so that one pass suffices: `gone` is the last step that was needed to
remove all lines before a line. Slow reference for the tests: tests/twins/refinedweb.py.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

from dataprep.unicode import text as T
from dataprep.unicode.kernel import kernel
from dataprep.unicode.spaced import count_words
from dataprep.unicode.text import I64, U8, U16, U32

from .phrases import COUNTER, EDITED, FEW_WORDS, KEEP, NUMBERS, UPPER_CASE, PackedPhrases, RefinedWebRules, longest

# DCLM's steps in its order; it strips the page after each but the fourth. LEFT: no step removes the line.
UPPER_STEP, NUMBER_STEP, COUNTER_STEP, WORDS_STEP, PHRASE_STEP, SUFFIX_STEP, PREFIX_STEP, LEFT = range(1, 9)
# What `str.isdigit` accepts beside decimal digits: superscripts, and digits in circles and brackets.
OTHER_DIGITS = (
    "B2-B3 B9 1369-1371 19DA 2070 2074-2079 2080-2089 2460-2468 2474-247C 2488-2490 24EA 24F5-24FD 24FF 2776-277E "
    "2780-2788 278A-2792 10A40-10A43 10E60-10E68 11052-1105A 1F100-1F10A"
)


class LineFigures(NamedTuple):
    """A line for kernels: its end, its words and characters, the upper-case ones and digits, and if it is not blank."""

    end: int
    words: int
    chars: int
    upper: int
    numeric: int
    shown: bool


@cache
def tables() -> tuple[U16, U32, U32]:
    """Return the class bits of each code point, its lower case for counters, and the one for phrases.

    NUMERIC is what `str.isdigit` accepts. A dotted capital I is no `i` in a counter (`str.lower` writes two
    characters). In a phrase it is one, as are the dotless `i` and the long s (`re.IGNORECASE`).
    """
    classes, lower, folds = T.classes().copy(), T.lowered().copy(), T.lowered().copy()
    classes &= ~np.uint16(T.NUMERIC)
    classes[classes & T.DECIMAL != 0] |= T.NUMERIC
    for span in OTHER_DIGITS.split():
        first, _, last = span.partition("-")
        classes[int(first, 16) : int(last or first, 16) + 1] |= T.NUMERIC
    lower[0x130] = 0x130
    folds[0x131], folds[0x17F] = ord("i"), ord("s")
    for table in (classes, lower, folds):
        table.flags.writeable = False
    return classes, lower, folds


@kernel(_nrt=False)
def document(
    data: U8, start: int, stop: int, rules: RefinedWebRules, out: U8, w: int, counts: I64
) -> tuple[int, int, int]:
    """Write a corrected document to `out[w:]`; return its end, and its words before and after."""
    before, after, a, begin, gone = 0, 0, start, w, 0
    while a < stop:
        line = _line(data, a, stop, rules)
        b, after_line = line.end, min(line.end + 1, stop)
        counted = left = _counted(data, a, b, rules.classes)
        end = w
        if line.shown:
            what, step = _judge(data, a, line, stop, gone, rules)
            if what != KEEP:
                left = 0
            elif line.words > rules.max_edit_words:
                end = _copied(data, a, b, out, w)
            else:
                end, step, edited = _edit(data, a, b, stop, gone, rules, out, w)
                what = EDITED if edited else KEEP
                if end < w + b - a:
                    left = _counted(out, w, end, rules.classes)
            counts[what] += 1
            gone = max(gone, step)
            if step == LEFT and after_line > b:
                out[end], end = 0x0A, end + 1
        elif a == b:
            out[w], end = 0x0A, w + (after_line > b)
        before, after, w, a = before + counted, after + left, end, after_line
    p, q = T.strip(out, begin, w, rules.classes)
    if _has_others(out, begin, p) or _has_others(out, q, w):
        after = _counted(out, p, q, rules.classes)
    return _moved(out, p, q, begin), before, after


@kernel(_nrt=False)
def _line(data: U8, a: int, stop: int, rules: RefinedWebRules) -> LineFigures:
    """Return the line that begins at `a`."""
    words, chars, upper, numeric, inside, i = 0, 0, 0, 0, False, a
    while i < stop:
        c, size = T.code_point(data, i)
        if c == 0x0A:
            break
        bits = int(rules.classes[c])
        space = bits & T.SPACE != 0
        words += not space and not inside
        inside = not space
        chars += 1
        upper += bits & T.UPPER != 0
        numeric += bits & T.NUMERIC != 0
        i += size
    shown = words > 0
    if shown and rules.marks >= 0:
        words = count_words(data, a, i, rules.words, rules.classes, rules.marks)
    return LineFigures(i, words, chars, upper, numeric, shown)


@kernel(_nrt=False)
def _counted(data: U8, a: int, b: int, classes: U16) -> int:
    r"""Return the runs of characters between fastText's white space (ASCII's, and NUL) that begin with `\w`, no `_`."""
    n, outside, i = 0, True, a
    while i < b:
        c, size = T.code_point(data, i)
        n += outside and c != 0x5F and classes[c] & T.WORD != 0
        outside, i = c == 0x20 or 9 <= c <= 13 or c == 0, i + size
    return n


@kernel(_nrt=False)
def _judge(data: U8, a: int, line: LineFigures, stop: int, gone: int, rules: RefinedWebRules) -> tuple[int, int]:
    """Return the code (KEEP ...) of a line that is not blank, before edits, and the step that removes it, or LEFT."""
    b, numeric = line.end, line.numeric
    if line.upper > rules.max_upper * line.chars:
        return UPPER_CASE, UPPER_STEP
    if numeric:
        p, q = T.strip(data, a, b, rules.classes)
        bare = line.chars - (_points(data, a, p) if gone <= UPPER_STEP else 0)
        if numeric > rules.max_numeric * bare:
            return NUMBERS, NUMBER_STEP
        bare -= _points(data, q, b)
        if q < b and numeric > rules.max_numeric * bare and _upper_after(data, b + 1, stop, rules):
            return NUMBERS, NUMBER_STEP
        if _is_counter(data, a, b, rules):
            return COUNTER, COUNTER_STEP
    return (FEW_WORDS, WORDS_STEP) if line.words < rules.min_line_words else (KEEP, LEFT)


@kernel(_nrt=False)
def _upper_after(data: U8, a: int, stop: int, rules: RefinedWebRules) -> bool:
    """Return whether all lines from `a` on are blank, or go for their upper case."""
    while a < stop:
        line = _line(data, a, stop, rules)
        if line.shown and line.upper <= rules.max_upper * line.chars:
            return False
        a = line.end + 1
    return True


@kernel(_nrt=False)
def _gone_after(data: U8, a: int, stop: int, last: int, rules: RefinedWebRules, out: U8, w: int) -> bool:
    """Return whether the steps up to `last`, COUNTER_STEP or PHRASE_STEP, remove all lines from `a` on.

    Writes to `out[w:]` as it tries them.
    """
    while a < stop:
        line = _line(data, a, stop, rules)
        if line.shown:
            step = _judge(data, a, line, stop, LEFT, rules)[1]
            if step == LEFT and last == PHRASE_STEP and line.words <= rules.max_edit_words:
                end = _without(data, a, line.end, rules, out, w)
                step = PHRASE_STEP if _is_blank(out, w, end, rules.classes) else LEFT
            if step > last:
                return False
        a = line.end + 1
    return True


@kernel(_nrt=False)
def _edit(
    data: U8, a: int, b: int, stop: int, gone: int, rules: RefinedWebRules, out: U8, w: int
) -> tuple[int, int, bool]:
    """Write a short line without the phrases to `out[w:]`.

    Returns its end, the step that removes it, or LEFT, and whether it has one of the phrases.
    """
    classes, after = rules.classes, b + 1
    p, q = T.strip(data, a, b, classes)
    p = p if gone <= COUNTER_STEP else a
    end = _without(data, p, b, rules, out, w)
    edited = end < w + b - p
    if edited and q < b and _gone_after(data, after, stop, COUNTER_STEP, rules, out, end):
        end = _without(data, p, q, rules, out, w)
        edited = end < w + q - p
    if _is_blank(out, w, end, classes):
        return w, PHRASE_STEP, True
    p = T.skip_spaces(out, w, end, classes) if gone <= PHRASE_STEP else w
    q = T.strip(out, w, end, classes)[1]
    cut = _suffix(out, p, end, rules)
    short = _suffix(out, p, q, rules) if q < end else cut
    if cut != short and _gone_after(data, after, stop, PHRASE_STEP, rules, out, end):
        cut = short
    if cut >= 0:
        end, edited = cut, True
    if _is_blank(out, w, end, classes):
        return w, SUFFIX_STEP, True
    p = T.skip_spaces(out, w, end, classes) if gone <= SUFFIX_STEP else w
    found = longest(out, p, end, rules.prefixes, rules.folds)
    if found >= 0:
        found += T.space(out, found, classes) if found < end else 0
        end, edited = _moved(out, found, end, w), True
    return (w, PREFIX_STEP, True) if _is_blank(out, w, end, classes) else (end, LEFT, edited)


@kernel(_nrt=False)
def _without(data: U8, a: int, b: int, rules: RefinedWebRules, out: U8, w: int) -> int:
    """Write a line to `out[w:]` without the phrases that can stand anywhere, each with a blank before it."""
    i, leads = a, rules.anywhere.leads
    while i < b:
        if leads[data[i]]:
            begin, end = _blank_and_phrase(data, a, i, b, rules.anywhere, rules)
            if begin >= 0:
                w, i, a = w - (i - begin), end, end
                continue
        out[w] = data[i]
        w, i = w + 1, i + 1
    return w


@kernel(_nrt=False)
def _suffix(out: U8, a: int, b: int, rules: RefinedWebRules) -> int:
    """Return the offset of the longest phrase at the end of `out[a:b]`, or of a blank before it; -1: there is none."""
    phrases, found = rules.suffixes, b
    for k in range(len(phrases.starts) - 1):
        i, left = b, _points(phrases.data, phrases.starts[k], phrases.starts[k + 1])
        while left and i > a:
            i, left = T.step_back(out, i), left - 1
        if left == 0 and i < found and longest(out, i, b, phrases, rules.folds) == b:
            found = i
    return -1 if found == b else _before(out, a, found, rules.classes)


@kernel(_nrt=False)
def _blank_and_phrase(
    data: U8, a: int, i: int, b: int, phrases: PackedPhrases, rules: RefinedWebRules
) -> tuple[int, int]:  # fmt: skip
    """Return the range of a phrase at `i`, with one blank before it, in data[a:b]; -1, -1 if there is none."""
    if data[i] <= 0x20 or data[i] >= 0x80:  # a blank, if a phrase begins with a full stop
        size = T.space(data, i, rules.classes)
        end = longest(data, i + size, b, phrases, rules.folds) if size else -1
        if end >= 0:
            return i, end
    end = longest(data, i, b, phrases, rules.folds)
    return (-1, -1) if end < 0 else (_before(data, a, i, rules.classes), end)


@kernel(_nrt=False)
def _before(data: U8, a: int, i: int, classes: U16) -> int:
    """Return the offset of the white space before `i` in data[a:i]; `i` if there is none."""
    before = T.step_back(data, i) if i > a else i
    return before if before < i and T.space(data, before, classes) else i


@kernel(_nrt=False)
def _is_counter(data: U8, a: int, b: int, rules: RefinedWebRules) -> bool:
    """Return whether a line is a number, `1.2K`, blanks and a counter, perhaps between signs: `* 3 likes!`."""
    while a < b and not rules.classes[T.code_point(data, a)[0]] & T.WORD:
        a += T.code_size(data[a])
    i = a
    while i < b:
        c, size = T.code_point(data, i)
        if not rules.classes[c] & T.DECIMAL and (i == a or c not in (0x2C, 0x2E)):
            break
        i += size
    if i < b and i > a and T.code_point(data, i)[0] in (0x6B, 0x6D, 0x62, 0x4B, 0x4D, 0x42, 0x212A):  # k, m or b
        i += T.code_size(data[i])
    gap = T.skip_spaces(data, i, b, rules.classes)
    if i in (a, gap):
        return False
    end = longest(data, gap, b, rules.counters, rules.lower)
    if end < 0:
        return False
    while end < b and not rules.classes[T.code_point(data, end)[0]] & T.WORD:
        end += T.code_size(data[end])
    return bool(end == b)


@kernel(_nrt=False)
def _is_blank(out: U8, a: int, b: int, classes: U16) -> bool:
    """Return whether a range has no character but white space."""
    return bool(T.skip_spaces(out, a, b, classes) == b)


@kernel(_nrt=False)
def _points(data: U8, a: int, b: int) -> int:
    """Return the number of code points of a range."""
    n = 0
    for i in range(a, b):
        n += data[i] & 0xC0 != 0x80
    return n


@kernel(_nrt=False)
def _has_others(out: U8, a: int, b: int) -> bool:
    """Return whether a range of white space has a character at which fastText does not split."""
    found = False
    for i in range(a, b):
        found |= out[i] > 0x20 or 0x1C <= out[i] < 0x20
    return found


@kernel(_nrt=False)
def _copied(data: U8, a: int, b: int, out: U8, w: int) -> int:
    """Copy data[a:b] to `out[w:]`; return the end."""
    for i in range(a, b):
        out[w + i - a] = data[i]
    return w + b - a


@kernel(_nrt=False)
def _moved(out: U8, a: int, b: int, w: int) -> int:
    """Move out[a:b] to the front, to `out[w:]`; return the end."""
    if a == w:
        return b
    for i in range(a, b):
        out[w + i - a] = out[i]
    return w + b - a
