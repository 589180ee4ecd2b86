"""The kernel of RefinedWeb: one pass counts a line's words and characters, another copies the corrected line.

The kernel reads Arrow buffers. Slow reference for the tests: tests/twins/refinedweb.py.
"""

from __future__ import annotations

import numpy as np

from dataprep.filters.line_rules import CutLog, log_cut, log_edit
from dataprep.unicode import text as T
from dataprep.unicode.kernel import kernel
from dataprep.unicode.spaced import count_words
from dataprep.unicode.text import I64, U8, U16

from .dclm import document
from .phrases import (
    COUNTER,
    EDITED,
    EMPTY,
    FEW_WORDS,
    KEEP,
    NUMBERS,
    REMOVED_WORDS,
    UPPER_CASE,
    RefinedWebRules,
    longest,
)


@kernel
def correct(offsets: I64, data: U8, rules: RefinedWebRules, out: U8, ends: I64, reasons: U8, log: CutLog) -> int:
    """Correct the lines of documents; return the number of documents kept.

    The function writes the kept texts to `out`, the ends of these texts to `ends[1:]`, and a code for each document to
    `reasons`, uint8[n]: 0 if it is kept, else the index in NAMES of the drop reason. `log` counts each non-blank line
    by the code of the rule that applied to it, and records the cuts.

    - offsets: int64[n + 1] of the documents in `data`, UTF-8 bytes.
    """
    w = kept = int(np.int64(0))
    for d in range(len(reasons)):
        log.at[0] = d
        if rules.as_dclm:
            end, before, after = document(data, offsets[d], offsets[d + 1], rules, out, w, log)
        else:
            end, before, after = _document(data, offsets[d], offsets[d + 1], rules, out, w, log)
        if before - after > rules.max_removed * before:
            reasons[d] = REMOVED_WORDS
            log.compared[d] = (before - after) / max(before, 1)
        elif before == 0 or after == 0:
            reasons[d] = EMPTY
        else:
            w, kept = end, kept + 1
            ends[kept] = w
    return kept


@kernel(_nrt=False)
def _document(
    data: U8, start: int, stop: int, rules: RefinedWebRules, out: U8, w: int, log: CutLog
) -> tuple[int, int, int]:
    """Write a corrected document to `out[w:]`; return its end, and the numbers of words before and after.

    - log: counts the lines per code, and records the cuts.
    """
    before, after, a = 0, 0, start
    while a < stop:
        b, words, chars, upper, numeric, shown = _count_line(data, a, stop, rules)
        after_line = _after_break(data, b, stop)
        left = words
        if shown:
            what = _judge(data, a, b, words, chars, upper, numeric, rules)
            if what == KEEP and words <= rules.max_edit_words:
                edited, remain = _edit(data, a, b, rules, out, w)
                if edited >= 0:
                    left = remain
                    if remain:
                        log_edit(log, EDITED, data, a, b, out, w, edited)
                    else:
                        log_cut(log, EDITED, a, after_line)
                    what, w, a = EDITED, edited if remain else w, b if remain else after_line
            elif what != KEEP:
                log_cut(log, what, a, after_line)
                left, a = 0, after_line
            log.counts[what] += 1
        for i in range(a, after_line):
            out[w + i - a] = data[i]
        w, a = w + after_line - a, after_line
        before, after = before + words, after + left
    return w, before, after


@kernel(_nrt=False)
def _count_line(data: U8, a: int, stop: int, rules: RefinedWebRules) -> tuple[int, int, int, int, int, bool]:
    """Return a line's end, words, characters, upper-case and numeric characters, and whether it is not blank."""
    words, chars, upper, numeric, inside, i = 0, 0, 0, 0, False, a
    while i < stop:
        c, size = T.code_point(data, i)
        bits = int(rules.classes[c])
        if bits & T.LINE:
            break
        i += size
        space = bits & T.SPACE != 0
        words += not space and not inside
        inside = not space
        chars += not space
        upper += bits & T.UPPER != 0
        numeric += bits & T.NUMERIC != 0
    shown = words > 0
    if shown and rules.marks >= 0:
        words = count_words(data, a, i, rules.words, rules.classes, rules.marks)
    return i, words, chars, upper, numeric, shown


@kernel(_nrt=False)
def _after_break(data: U8, b: int, stop: int) -> int:
    r"""Return the offset after the line break at `b`; `\r\n` is one line break."""
    if b >= stop:
        return stop
    if data[b] == 0x0D and b + 1 < stop and data[b + 1] == 0x0A:
        return b + 2
    return b + T.code_size(data[b])


@kernel(_nrt=False)
def _judge(data: U8, a: int, b: int, words: int, chars: int, upper: int, numeric: int, rules: RefinedWebRules) -> int:
    """Return the code (KEEP ...) of a non-blank line before edits."""
    if upper > rules.max_upper * chars:
        return UPPER_CASE
    if numeric > rules.max_numeric * chars:
        return NUMBERS
    if words > 1 and _is_counter(data, a, b, rules):
        return COUNTER
    return FEW_WORDS if words < rules.min_line_words else KEEP


@kernel(_nrt=False)
def _is_counter(data: U8, a: int, b: int, rules: RefinedWebRules) -> bool:
    """Return whether a line is a number and one of the counters, `1.2K likes`, possibly after signs: `* 3 likes`."""
    if len(rules.counters.starts) == 1:
        return False
    a, b = _bare(data, a, b, rules.classes)
    digits, letters, i = 0, 0, a
    while i < b:
        c, size = T.code_point(data, i)
        bits = int(rules.classes[c])
        if bits & T.SPACE:
            break
        if bits & T.DECIMAL and letters == 0:
            digits += 1
        elif bits & T.WORD:
            unit = c | 0x20 in (0x6B, 0x6D, 0x62)  # k, m or b
            letters += 1 if digits and letters == 0 and unit else 9
        if letters > 1 or (letters and not digits):
            return False
        i += size
    if digits == 0:
        return False
    i, b = _bare(data, i, b, rules.classes)
    return longest(data, i, b, rules.counters, rules.lower) == b


@kernel(_nrt=False)
def _bare(data: U8, a: int, b: int, classes: U16) -> tuple[int, int]:
    r"""Return the range without characters other than `\w` at its ends."""
    while a < b and not classes[T.code_point(data, a)[0]] & T.WORD:
        a += T.code_size(data[a])
    while a < b:
        i = T.step_back(data, b)
        if classes[T.code_point(data, i)[0]] & T.WORD:
            break
        b = i
    return a, b


@kernel(_nrt=False)
def _edit(data: U8, a: int, b: int, rules: RefinedWebRules, out: U8, w: int) -> tuple[int, int]:
    """Write a line without the phrases to `out[w:]`, stripped; return its end (-1 if it has no phrase) and words."""
    a, b = T.strip(data, a, b, rules.classes)
    first, last, begin = a, b, w
    found = longest(data, a, b, rules.prefixes, rules.lower)
    if found >= 0:
        first = found
    if len(rules.suffixes.starts) > 1:
        i = first
        leads = rules.suffixes.leads
        while i < b and not (leads[data[i]] and longest(data, i, b, rules.suffixes, rules.lower) == b):
            i += 1  # no phrase begins inside a character
        last = i
    edited = first > a or last < b
    if not edited and len(rules.anywhere.starts) == 1:
        return -1, 0
    i, leads = first, rules.anywhere.leads
    while i < last:
        found = longest(data, i, last, rules.anywhere, rules.lower) if leads[data[i]] else -1
        if found >= 0:
            edited, i = True, found
            continue
        out[w] = data[i]
        w, i = w + 1, i + 1
    if not edited:
        return -1, 0
    end = _stripped(out, begin, w, rules.classes)
    return end, _count_line(out, begin, end, rules)[1]


@kernel(_nrt=False)
def _stripped(out: U8, begin: int, w: int, classes: U16) -> int:
    """Strip the text out[begin:w], which still begins at `begin`; return its end."""
    shown, end = T.strip(out, begin, w, classes)
    for i in range(shown, end):
        out[begin + i - shown] = out[i]
    return int(end - (shown - begin))
