"""C4's rules over Arrow buffers: one pass over the bytes of a page, line by line.

The rules are applied in the order of the published code; a line is counted under the reason of the first rule that
drops it.

Slow reference for the tests: tests/twins/c4.py.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dataprep.filters.line_rules import OTHER_CODE, CutLog, log_cut, log_span
from dataprep.filters.packed_strings import Marks, Packed, ends_with_mark, ends_with_one, starts_with_one
from dataprep.unicode import text as T
from dataprep.unicode.byte_masks import WIDTH, bytes_between, n_bits
from dataprep.unicode.kernel import kernel
from dataprep.unicode.spaced import count_words
from dataprep.unicode.text import I64, U8, U16, U32, Int

from .lines import BLOCK, BRACKET, CURLY, FOLD, Phrases, Room, line_ends, make_room, phrases_in

# Codes of a line, and from PAGE on of its page.
KEEP, WORD_TOO_LONG, NO_END_MARK, TOO_FEW_WORDS, JAVASCRIPT, POLICY = 0, 1, 2, 3, 4, 5
PAGE, LOREM_IPSUM, CURLY_BRACKET, TOO_FEW_SENTENCES, EMPTY = 6, 6, 7, 8, 9
NAMES = (
    "valid", "word_too_long", "no_terminal_punctuation", "too_few_words", "javascript", "policy",
    "lorem_ipsum", "curly_bracket", "too_few_sentences", "empty",
)  # fmt: skip

# Bits of the phrases in a line, above the marks.
HAS_LOREM, HAS_JAVASCRIPT, HAS_POLICY = 32, 64, 128


class C4Rules(NamedTuple):
    """The parameters of `C4` in the form that the kernels read.

    Attributes:
        may_end: uint8[256], 1 for bytes that can be the last of a kept line.
        fold_all: True if every line must be lower-cased completely.
        phrases: the phrases of `lorem_ipsum`, `javascript` and `policy`.
        sentence_leads: uint8[256], 1 for bytes that can begin a sentence mark.
        bracketed: the contents of a citation other than digits.
        marks: the kind of words, as in `unicode.spaced.marks_of`.
        words: the table of word boundaries.
        classes: the class bits of each code point.
        lower: the lower case of each code point.
    """

    max_word_chars: int
    citations: bool
    terminal_punctuation: Marks
    not_terminal_punctuation: Packed
    may_end: U8  # [256]: this byte can be the last of a kept line, with or without white space after it
    min_words: int
    curly_bracket: bool
    fold_all: bool  # phrases have cased letters beyond ASCII: every line is lower-cased whole
    min_sentences: int
    sentence_terminals: Marks
    sentence_leads: U8  # [256]: this byte can begin a sentence mark
    phrases: Phrases
    bracketed: Packed  # contents of a citation other than digits
    marks: int  # -1: words between white space
    words: U32
    classes: U16
    lower: U32


@kernel
def clean(offsets: I64, data: U8, rules: C4Rules, out: U8, out_offsets: I64, reasons: U8, log: CutLog) -> int:
    """Apply C4's rules to pages; return the number of pages kept.

    The function writes the texts of kept pages to `out`, the ends of these texts to `out_offsets[1:]`, and a code for
    each page to `reasons`, uint8[n]: 0 if it is kept, else the index in NAMES of the reason to drop it. Each examined
    line is counted in `log`. The lines that are cut, with their line breaks, and the citations (code 0) are also
    recorded there.

    - offsets: int64[n + 1] of the pages in `data`, UTF-8 bytes.
    """
    longest = w = kept = int(np.int64(0))  # not a literal 0, for which Numba would compile the callees again
    for page in range(len(reasons)):
        longest = max(longest, offsets[page + 1] - offsets[page])
    room = make_room(longest, rules.phrases.longest)
    for page in range(len(reasons)):
        log.at[0] = page
        reasons[page], end = clean_page(data, offsets[page], offsets[page + 1], rules, room, out, w, log)
        if reasons[page] == KEEP:
            w, kept = end, kept + 1
            out_offsets[kept] = w
    return kept


@kernel(_nrt=False)
def clean_page(
    data: U8, start: int, stop: int, rules: C4Rules, room: Room, out: U8, first: int, log: CutLog
) -> tuple[int, int]:
    """Write the cleaned page data[start:stop] to `out` from `first` on; return (code, end of the text in `out`).

    The page's code is KEEP (0) or the reason to drop the page.

    - room: work buffers.
    - log: counts the lines per code, and records what is cut.
    """
    begin, holds, sentences, w, end = start, int(np.int64(0)), 0, first, first
    n_unended = unended = int(np.int64(0))  # lines without end mark, and their bytes: most of the lines that are cut
    for at in range(start, stop + 1, BLOCK):
        lines, holds = line_ends(data, at, stop, rules.phrases, holds, room)
        for k in range(lines):
            a, b = begin, at + room.ends[k]
            if a == stop:
                break  # the page's last byte ended its last line
            begin = b + T.code_size(room.low[room.ends[k]])
            if no_terminal_punctuation(data, a, b, room.holds[k], rules.may_end, rules.max_word_chars):
                n_unended, unended = n_unended + 1, unended + min(begin, stop) - a
                if len(log.spans):
                    log_span(log, NO_END_MARK, a, min(begin, stop))
                continue  # a shortcut of `judge`: a quarter faster
            whole = a
            what, line, a, b = judge(data, a, b, int(room.holds[k]), rules, room)
            if what >= PAGE:
                log.counts[NO_END_MARK] += n_unended
                return what, first
            log.counts[what] += 1
            if what != KEEP:
                log_cut(log, what, whole, min(begin, stop))
            else:
                if room.holds[k] & BRACKET and rules.citations:
                    log_citations(data, whole, min(begin, stop), rules, log)
                if sentences < rules.min_sentences:
                    sentences += count_sentences(line, a, b, rules, rules.min_sentences - sentences)
                w, end = append(line, a, b, rules.classes, out, first, w, end)
    log.counts[NO_END_MARK] += n_unended
    log.times[log.at[0], NO_END_MARK] += n_unended
    log.n_bytes[log.at[0], NO_END_MARK] += unended
    if sentences < rules.min_sentences:
        log.compared[log.at[0]] = sentences
        return TOO_FEW_SENTENCES, first
    return KEEP if end > first else EMPTY, end


@kernel(_nrt=False)
def judge(data: U8, a: int, b: int, holds: int, rules: C4Rules, room: Room) -> tuple[int, U8, int, int]:
    """Apply the rules to the line data[a:b]; return (code, buffer, start, stop); the line's text is buffer[start:stop].

    The code is 0 if the line is kept, else the reason to drop it. The buffer is `data`, or `room.cited` if citations
    were removed.

    - holds: a bit for each phrase or bracket that occurs in the line.
    - room: work buffers.
    """
    line = data
    a, b = T.strip(line, a, b, rules.classes)
    if b - a > rules.max_word_chars and T.word_too_long(line, a, b, rules.max_word_chars, rules.classes):
        return WORD_TOO_LONG, line, a, b
    fold = rules.fold_all or holds & FOLD != 0
    if holds & BRACKET and rules.citations:
        n = without_citations(line, a, b, room.cited, rules.bracketed, rules.classes)
        if n != b - a:
            line, a, b, fold = room.cited, 0, n, True  # removed citations can join phrases
    if not ends_sentence(line, a, b, rules):
        return NO_END_MARK, line, a, b
    if not _has_words(line, a, b, rules):
        return TOO_FEW_WORDS, line, a, b
    if fold and len(rules.phrases.bits):
        holds = holds & CURLY | phrases_in(line, a, b, room.folded, rules.lower, rules.phrases)
    return by_content(holds, rules), line, a, b


@kernel(_nrt=False)
def _has_words(line: U8, a: int, b: int, rules: C4Rules) -> bool:
    """Return whether line[a:b] has at least `min_words` words."""
    if rules.marks < 0:
        if a + WIDTH <= len(line) and words_begin(line, np.uint64(a), b - a) >= rules.min_words:
            return True
        return bool(T.has_words(line, a, b, rules.min_words, rules.classes))
    return bool(count_words(line, a, b, rules.words, rules.classes, rules.marks) >= rules.min_words)


@kernel(inline="always")
def words_begin(line: U8, a: Int, size: int) -> Int:
    """Return how many words begin in the first bytes of line[a:a + size], at most 64, up to one that is not ASCII.

    `line` must have 64 bytes from `a` on.
    """
    one = np.uint64(1)
    blanks = bytes_between(line, a, np.uint8(0x09), np.uint8(0x0D))
    blanks |= bytes_between(line, a, np.uint8(0x1C), np.uint8(0x20))
    end = bytes_between(line, a, np.uint8(0x80), np.uint8(0xFF))
    if size < WIDTH:
        end |= one << np.uint64(size)
    begins = ~blanks & (blanks << one | one) & ((end & (~end + one)) - one)
    return np.int64(n_bits(begins))


@kernel(_nrt=False)
def by_content(holds: int, rules: C4Rules) -> int:
    """Return the code of a line according to its phrases and braces: 0 if it is kept, else the reason to drop it.

    - holds: a bit for each phrase or brace that is in the line.
    """
    if holds & HAS_LOREM:
        return LOREM_IPSUM
    if holds & HAS_JAVASCRIPT:
        return JAVASCRIPT
    if holds & CURLY and rules.curly_bracket:
        return CURLY_BRACKET
    return POLICY if holds & HAS_POLICY else KEEP


@kernel(_nrt=False)
def append(line: U8, a: int, b: int, classes: U16, out: U8, first: int, w: int, end: int) -> tuple[int, int]:
    """Append the line line[a:b] to the page in `out`, with a line feed between lines; return the new (w, end).

    - classes: class bits of each code point.
    - first: offset in `out` at which the page's text begins.
    - w: the offset at which the page's text ends.
    - end: the same offset, not counting white space at the end of the text; a line can end in white space if a citation
      was removed.
    """
    shown, last = T.strip(line, a, b, classes)
    if w > first:
        out[w] = 0x0A
        w += 1
    elif shown == last:
        return w, end
    else:
        a = shown
    T.copied(line, a, b, out, w)
    return w + b - a, w + last - a if last > shown else end


@kernel(_nrt=False)
def no_terminal_punctuation(line: U8, a: int, b: int, holds: int, may_end: U8, max_word_chars: int) -> bool:
    """Return True if the last byte of line[a:b] alone shows that the line has no end mark.

    This quick test finds most dropped lines.

    - holds: a bit for each phrase or bracket in the line. If it has a bracket and ends with one, the result is False,
      since it may end in a citation.
    - may_end: uint8[256], 0 for bytes that cannot be the last of a kept line.
    - max_word_chars: if the line has more bytes than this, the result is False.
    """
    if b - a > max_word_chars:
        return False
    while b > a and line[b - 1] == 0x20:
        b -= 1
    last = line[b - 1] if b > a else np.uint8(0)
    return bool(may_end[last] == 0 and not (holds & BRACKET and last == 0x5D))


@kernel(_nrt=False)
def ends_sentence(line: U8, a: int, b: int, rules: C4Rules) -> bool:
    """Return True if line[a:b] ends with terminal punctuation that counts, or if this rule is off."""
    if rules.terminal_punctuation.n == 0:
        return True
    return ends_with_mark(line, a, b, rules.terminal_punctuation) and not ends_with_one(
        line, a, b, rules.not_terminal_punctuation
    )


@kernel(_nrt=False)
def without_citations(line: U8, a: int, b: int, cited: U8, bracketed: Packed, classes: U16) -> int:
    """Copy line[a:b] to `cited` without `[]`, `[12]`, `[edit]` and `[citation needed]`; return the bytes written.

    - bracketed: the contents of a citation other than digits, with the closing bracket.
    - classes: class bits of each code point.
    """
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
def log_citations(data: U8, a: int, b: int, rules: C4Rules, log: CutLog) -> None:
    """Record the citations of the line data[a:b] in `log`."""
    while a < b:
        size = citation(data, a, b, rules.bracketed, rules.classes) if data[a] == 0x5B else 0
        if size:
            log_cut(log, OTHER_CODE, a, a + size)
        a += max(size, 1)


@kernel(_nrt=False)
def citation(line: U8, a: int, b: int, bracketed: Packed, classes: U16) -> int:
    """Return the length in bytes of the citation that begins with the bracket at line[a]; 0 if there is none.

    - b: the end of the line.
    - bracketed: the contents of a citation other than digits, with the closing bracket.
    - classes: class bits of each code point.
    """
    i = a + 1
    while i < b:
        point, size = T.code_point(line, i)
        if point == 0x5D:
            return i + 1 - a
        if not classes[point] & T.DECIMAL:
            break
        i += size
    size = starts_with_one(line, a + 1, b, bracketed)
    return size + 1 if size else 0


@kernel(_nrt=False)
def count_sentences(line: U8, a: int, b: int, rules: C4Rules, enough: int) -> int:
    """Return the number of sentences in line[a:b], or `enough` if there are at least `enough` sentences."""
    marks, leads, classes = rules.sentence_terminals.single, rules.sentence_leads, rules.classes
    a, b = T.strip(line, a, b, classes)
    found = 1 if a < b else 0
    i = a
    while i < b and found < enough:
        run = i
        while run < b and leads[line[run]]:
            c, size = T.code_point(line, run)
            if not marks[c]:
                break
            run += size
        if run == i:
            i += 1
            continue
        closed = T.skip_closers(line, run, b)
        after = T.skip_spaces(line, closed, b, classes)
        if after < b and (after > closed or line[run - 1] >= 0x80):
            found += not T.inside_sentence(line, a, i, run, after, classes)
        i = after
    return found
