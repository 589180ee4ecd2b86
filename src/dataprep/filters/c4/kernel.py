"""C4's rules over Arrow buffers: one pass over the bytes of a page, line by line.

The rules run in the order of the published code, which determines the reasons counted. Twin: tests/twins/c4.py.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dataprep.filters.packed_strings import Packed, ends_with_one, starts_with_one
from dataprep.unicode.kernel import kernel
from dataprep.unicode.text import DECIMAL, I64, U8, U16, U32, code_point
from dataprep.unicode.utf8 import code_size
from dataprep.unicode.whitespace import has_words, strip, word_too_long

from .lines import BLOCK, BRACKET, CURLY, FOLD, Phrases, Room, line_ends, make_room, phrases_in
from .sentences import count_sentences

# Codes of a line, and from PAGE on of its page.
KEEP, WORD_TOO_LONG, NO_END_MARK, TOO_FEW_WORDS, JAVASCRIPT, POLICY = 0, 1, 2, 3, 4, 5
PAGE, LOREM_IPSUM, CURLY_BRACKET, TOO_FEW_SENTENCES, EMPTY = 6, 6, 7, 8, 9
NAMES = (
    "valid", "word_too_long", "no_end_mark", "too_few_words", "javascript", "policy",
    "lorem_ipsum", "curly_bracket", "too_few_sentences", "empty",
)  # fmt: skip

# Bits of the phrases in a line, above the marks.
HAS_LOREM, HAS_JAVASCRIPT, HAS_POLICY = 32, 64, 128


class C4Rules(NamedTuple):
    """`C4`'s parameters as the kernels read them."""

    max_word_chars: int
    citations: bool
    end_marks: Packed
    not_end_marks: Packed
    may_end: U8  # [256]: this byte can be the last of a kept line, with or without white space after it
    min_words: int
    curly_bracket: bool
    fold_all: bool  # phrases have cased letters beyond ASCII: every line is lower-cased whole
    min_sentences: int
    sentence_marks: Packed
    sentence_leads: U8  # [256]: this byte can begin a sentence mark
    phrases: Phrases
    bracketed: Packed  # contents of a citation other than digits
    classes: U16
    lower: U32


@kernel
def clean(offsets: I64, data: U8, rules: C4Rules, out: U8, out_offsets: I64, reasons: U8, counts: I64) -> int:
    """Clean pages; return the number of pages kept.

    Writes the kept pages' text to `out` and its offsets to `out_offsets`, each page's reason (KEEP: 0) to `reasons`,
    and adds each line examined to `counts` under its code.
    """
    longest = w = kept = int(np.int64(0))  # not a literal 0, for which Numba would compile the callees again
    for page in range(len(reasons)):
        longest = max(longest, offsets[page + 1] - offsets[page])
    room = make_room(longest, rules.phrases.longest)
    for page in range(len(reasons)):
        reasons[page], end = clean_page(data, offsets[page], offsets[page + 1], rules, room, out, w, counts)
        if reasons[page] == KEEP:
            w, kept = end, kept + 1
            out_offsets[kept] = w
    return kept


@kernel(_nrt=False)
def clean_page(
    data: U8, start: int, stop: int, rules: C4Rules, room: Room, out: U8, first: int, counts: I64
) -> tuple[int, int]:
    """Write a cleaned page to `out[first:]`; return the page's reason and the end of its text."""
    begin, holds, sentences, w, end = start, int(np.int64(0)), 0, first, first
    for at in range(start, stop + 1, BLOCK):
        lines, holds = line_ends(data, at, stop, rules.phrases, holds, room)
        for k in range(lines):
            a, b = begin, at + room.ends[k]
            if a == stop:
                break  # the page's last byte ended its last line
            begin = b + code_size(room.low[room.ends[k]])
            if no_end_mark(data, a, b, room.holds[k], rules.may_end, rules.max_word_chars):
                counts[NO_END_MARK] += 1  # a shortcut of `judge`: a quarter faster
                continue
            what, line, a, b = judge(data, a, b, int(room.holds[k]), rules, room)
            if what >= PAGE:
                return what, first
            counts[what] += 1
            if what == KEEP:
                if sentences < rules.min_sentences:
                    sentences += sentences_of(line, a, b, rules, rules.min_sentences - sentences)
                w, end = append(line, a, b, rules.classes, out, first, w, end)
    if sentences < rules.min_sentences:
        return TOO_FEW_SENTENCES, first
    return KEEP if end > first else EMPTY, end


@kernel(_nrt=False)
def judge(data: U8, a: int, b: int, holds: int, rules: C4Rules, room: Room) -> tuple[int, U8, int, int]:
    """Return the code (KEEP ...) of the line `data[a:b]`, and its text as `(buffer, start, stop)`."""
    line = data
    a, b = strip(line, a, b, rules.classes)
    if b - a > rules.max_word_chars and word_too_long(line, a, b, rules.max_word_chars, rules.classes):
        return WORD_TOO_LONG, line, a, b
    fold = rules.fold_all or holds & FOLD != 0
    if holds & BRACKET and rules.citations:
        n = without_citations(line, a, b, room.cited, rules.bracketed, rules.classes)
        if n != b - a:
            line, a, b, fold = room.cited, 0, n, True  # removed citations can join phrases
    if not ends_sentence(line, a, b, rules):
        return NO_END_MARK, line, a, b
    if not has_words(line, a, b, rules.min_words, rules.classes):
        return TOO_FEW_WORDS, line, a, b
    if fold and len(rules.phrases.bits):
        holds = holds & CURLY | phrases_in(line, a, b, room.folded, rules.lower, rules.phrases)
    return by_content(holds, rules), line, a, b


@kernel(_nrt=False)
def sentences_of(line: U8, a: int, b: int, rules: C4Rules, enough: int) -> int:
    """Return the number of sentences of a line, at most `enough`."""
    return count_sentences(line, a, b, rules.sentence_marks, rules.sentence_leads, rules.classes, enough)


@kernel(_nrt=False)
def by_content(holds: int, rules: C4Rules) -> int:
    """Return the code (KEEP ...) of a line for the phrases in it."""
    if holds & HAS_LOREM:
        return LOREM_IPSUM
    if holds & HAS_JAVASCRIPT:
        return JAVASCRIPT
    if holds & CURLY and rules.curly_bracket:
        return CURLY_BRACKET
    return POLICY if holds & HAS_POLICY else KEEP


@kernel(_nrt=False)
def append(line: U8, a: int, b: int, classes: U16, out: U8, first: int, w: int, end: int) -> tuple[int, int]:
    """Append a line to the page at `out[w:]`; return the new `w`, and the page's end without white space.

    Lines come stripped, but a removed citation can leave white space at their ends; a page is stripped too.
    """
    shown, last = strip(line, a, b, classes)
    if w > first:
        out[w] = 0x0A
        w += 1
    elif shown == last:
        return w, end
    else:
        a = shown
    target = out[w : w + b - a]
    for i in range(b - a):
        target[i] = line[a + i]
    return w + b - a, w + last - a if last > shown else end


@kernel(_nrt=False)
def no_end_mark(line: U8, a: int, b: int, holds: int, may_end: U8, max_word_chars: int) -> bool:
    """Return whether the last byte alone shows that a line has no end mark; this drops most lines."""
    if b - a > max_word_chars or holds & BRACKET:
        return False
    while b > a and line[b - 1] == 0x20:
        b -= 1
    return bool(may_end[line[b - 1] if b > a else 0] == 0)


@kernel(_nrt=False)
def ends_sentence(line: U8, a: int, b: int, rules: C4Rules) -> bool:
    """Return whether the line ends with an end mark that is not an ellipsis; True if the rule is off."""
    if len(rules.end_marks.starts) == 1:
        return True
    return ends_with_one(line, a, b, rules.end_marks) and not ends_with_one(line, a, b, rules.not_end_marks)


@kernel(_nrt=False)
def without_citations(line: U8, a: int, b: int, cited: U8, bracketed: Packed, classes: U16) -> int:
    r"""Copy the line without `\[\d*\]`, `[edit]` and `[citation needed]`; return the bytes written."""
    w = 0
    while a < b:
        size = citation(line, a, b, bracketed, classes) if line[a] == 0x5B else 0
        if size:
            a += size
            continue
        cited[w] = line[a]
        w, a = w + 1, a + 1
    return w


@kernel(_nrt=False)
def citation(line: U8, a: int, b: int, bracketed: Packed, classes: U16) -> int:
    """Return the bytes of the citation whose bracket is at `a`; 0 if it is none."""
    i = a + 1
    while i < b:
        point, size = code_point(line, i)
        if point == 0x5D:
            return i + 1 - a
        if not classes[point] & DECIMAL:
            break
        i += size
    size = starts_with_one(line, a + 1, b, bracketed)
    return size + 1 if size else 0
