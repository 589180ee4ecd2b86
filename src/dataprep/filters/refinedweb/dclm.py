"""The kernel of `RefinedWeb(preset="dclm")`: the result of DCLM's seven steps, line by line.

DCLM applies each rule to the whole page, and strips the page after nearly every rule. Stripping affects only the first
and the last remaining line, so one pass is sufficient: `gone` is the last step that was needed to remove all lines
before a line. Slow reference for the tests: tests/twins/refinedweb.py.
"""

from __future__ import annotations

from dataprep.filters.line_rules import CutLog, log_cut, log_edit
from dataprep.unicode import text as T
from dataprep.unicode.kernel import kernel
from dataprep.unicode.text import U8, U16

from .dclm_lines import LineFigures, fasttext_words, is_blank, is_counter, line_at, points, splits_otherwise
from .phrases import COUNTER, EDITED, FEW_WORDS, KEEP, NUMBERS, UPPER_CASE, PackedPhrases, RefinedWebRules, longest

# DCLM's steps in its order; it strips the page after each but the fourth. LEFT: no step removes the line.
UPPER_STEP, NUMBER_STEP, COUNTER_STEP, WORDS_STEP, PHRASE_STEP, SUFFIX_STEP, PREFIX_STEP, LEFT = range(1, 9)


@kernel(_nrt=False)
def document(
    data: U8, start: int, stop: int, rules: RefinedWebRules, out: U8, w: int, log: CutLog
) -> tuple[int, int, int]:
    """Write a corrected document to `out[w:]`; return its end, and the numbers of words before and after.

    - log: counts the lines per code, and records what is cut.
    """
    before, after, a, begin, gone = 0, 0, start, w, 0
    while a < stop:
        line = line_at(data, a, stop, rules)
        b, after_line = line.end, min(line.end + 1, stop)
        counted = left = fasttext_words(data, a, b, rules.classes)
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
                    left = fasttext_words(out, w, end, rules.classes)
            log.counts[what] += 1
            gone = max(gone, step)
            if step != LEFT:
                log_cut(log, what, a, after_line)
            elif end < w + b - a:
                log_edit(log, what, data, a, b, out, w, end)
            if step == LEFT and after_line > b:
                out[end], end = 0x0A, end + 1
        elif a == b:
            out[w], end = 0x0A, w + (after_line > b)
        before, after, w, a = before + counted, after + left, end, after_line
    p, q = T.strip(out, begin, w, rules.classes)
    if splits_otherwise(out, begin, p) or splits_otherwise(out, q, w):
        after = fasttext_words(out, p, q, rules.classes)
    return _moved(out, p, q, begin), before, after


@kernel(_nrt=False)
def _judge(data: U8, a: int, line: LineFigures, stop: int, gone: int, rules: RefinedWebRules) -> tuple[int, int]:
    """Return the code (KEEP ...) of a non-blank line before edits, and the step that removes it, or LEFT."""
    b, numeric = line.end, line.numeric
    if line.upper > rules.max_upper * line.chars:
        return UPPER_CASE, UPPER_STEP
    if numeric:
        p, q = T.strip(data, a, b, rules.classes)
        bare = line.chars - (points(data, a, p) if gone <= UPPER_STEP else 0)
        if numeric > rules.max_numeric * bare:
            return NUMBERS, NUMBER_STEP
        bare -= points(data, q, b)
        if q < b and numeric > rules.max_numeric * bare and _upper_after(data, b + 1, stop, rules):
            return NUMBERS, NUMBER_STEP
        if is_counter(data, a, b, rules):
            return COUNTER, COUNTER_STEP
    return (FEW_WORDS, WORDS_STEP) if line.words < rules.min_line_words else (KEEP, LEFT)


@kernel(_nrt=False)
def _upper_after(data: U8, a: int, stop: int, rules: RefinedWebRules) -> bool:
    """Return whether all lines from `a` on are blank, or are removed for their upper case."""
    while a < stop:
        line = line_at(data, a, stop, rules)
        if line.shown and line.upper <= rules.max_upper * line.chars:
            return False
        a = line.end + 1
    return True


@kernel(_nrt=False)
def _gone_after(data: U8, a: int, stop: int, last: int, rules: RefinedWebRules, out: U8, w: int) -> bool:
    """Return whether the steps up to `last`, COUNTER_STEP or PHRASE_STEP, remove all lines from `a` on.

    The function writes to `out[w:]` while testing them.
    """
    while a < stop:
        line = line_at(data, a, stop, rules)
        if line.shown:
            step = _judge(data, a, line, stop, LEFT, rules)[1]
            if step == LEFT and last == PHRASE_STEP and line.words <= rules.max_edit_words:
                end = _without(data, a, line.end, rules, out, w)
                step = PHRASE_STEP if is_blank(out, w, end, rules.classes) else LEFT
            if step > last:
                return False
        a = line.end + 1
    return True


@kernel(_nrt=False)
def _edit(
    data: U8, a: int, b: int, stop: int, gone: int, rules: RefinedWebRules, out: U8, w: int
) -> tuple[int, int, bool]:
    """Write a short line without the phrases to `out[w:]`.

    Returns the line's end, the step that removes it, or LEFT, and whether it contains one of the phrases.
    """
    classes, after = rules.classes, b + 1
    p, q = T.strip(data, a, b, classes)
    p = p if gone <= COUNTER_STEP else a
    end = _without(data, p, b, rules, out, w)
    edited = end < w + b - p
    if edited and q < b and _gone_after(data, after, stop, COUNTER_STEP, rules, out, end):
        end = _without(data, p, q, rules, out, w)
        edited = end < w + q - p
    if is_blank(out, w, end, classes):
        return w, PHRASE_STEP, True
    p = T.skip_spaces(out, w, end, classes) if gone <= PHRASE_STEP else w
    q = T.strip(out, w, end, classes)[1]
    cut = _suffix(out, p, end, rules)
    short = _suffix(out, p, q, rules) if q < end else cut
    if cut != short and _gone_after(data, after, stop, PHRASE_STEP, rules, out, end):
        cut = short
    if cut >= 0:
        end, edited = cut, True
    if is_blank(out, w, end, classes):
        return w, SUFFIX_STEP, True
    p = T.skip_spaces(out, w, end, classes) if gone <= SUFFIX_STEP else w
    found = longest(out, p, end, rules.prefixes, rules.folds)
    if found >= 0:
        found += T.space(out, found, classes) if found < end else 0
        end, edited = _moved(out, found, end, w), True
    return (w, PREFIX_STEP, True) if is_blank(out, w, end, classes) else (end, LEFT, edited)


@kernel(_nrt=False)
def _without(data: U8, a: int, b: int, rules: RefinedWebRules, out: U8, w: int) -> int:
    """Write a line to `out[w:]` without the phrases that may occur anywhere, each with a blank before it."""
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
    """Return the offset of the longest phrase at the end of `out[a:b]`, or of a blank before it; -1 if none."""
    phrases, found = rules.suffixes, b
    for k in range(len(phrases.starts) - 1):
        i, left = b, points(phrases.data, phrases.starts[k], phrases.starts[k + 1])
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
