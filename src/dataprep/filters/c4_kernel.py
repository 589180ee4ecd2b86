"""C4's rules over Arrow buffers: one pass over the bytes of a page, line by line.

The order of the rules is that of the published code, since it decides which reason a line is counted under and which
pages a later rule never sees.
"""

from __future__ import annotations

from typing import NamedTuple

from ..kernel import kernel
from ..text import ALPHA, CASED, DECIMAL, I64, SPACE, U8, U16, U32, UPPER, WORD, code_point
from .c4_marks import BLOCK, BRACKET, CURLY, FOLD, Phrases, Room, line_ends, make_room, phrases_in

# What becomes of a line (and, from PAGE on, of its page).
KEEP, WORD_TOO_LONG, NO_END_MARK, TOO_FEW_WORDS, JAVASCRIPT, POLICY = 0, 1, 2, 3, 4, 5
PAGE, LOREM_IPSUM, CURLY_BRACKET, TOO_FEW_SENTENCES, EMPTY = 6, 6, 7, 8, 9
NAMES = (
    "valid", "word_too_long", "no_end_mark", "too_few_words", "javascript", "policy",
    "lorem_ipsum", "curly_bracket", "too_few_sentences", "empty",
)  # fmt: skip

# Bits of the phrases a line holds, above the marks.
HAS_LOREM, HAS_JAVASCRIPT, HAS_POLICY = 32, 64, 128

EDIT, NEEDED = tuple(b"edit]"), tuple(b"citation needed]")


class Rules(NamedTuple):
    """`C4`'s parameters as the kernels read them."""

    max_word_chars: int
    citations: bool
    end_marks: U8
    end_mark_starts: I64
    not_ends: U8
    not_end_starts: I64
    may_end: U8  # [256]: may this byte be the last of a stripped line that stays?
    min_words: int
    curly_bracket: bool
    fold_all: bool  # phrases hold letters with case beyond ASCII: every line is lower-cased whole
    min_sentences: int
    sentence_marks: U8
    sentence_mark_starts: I64
    sentence_leads: U8  # [256]: may this byte begin a sentence mark?
    phrases: Phrases
    classes: U16
    lower: U32


@kernel
def clean(offsets: I64, data: U8, rules: Rules, out: U8, out_offsets: I64, reasons: U8, counts: I64) -> int:
    """Clean pages; how many are kept.

    Writes the kept pages' text to `out` and its offsets to `out_offsets`, each page's reason (KEEP: 0) to `reasons`,
    and adds each line looked at to `counts` under what became of it.
    """
    longest = 0
    for page in range(len(reasons)):
        longest = max(longest, offsets[page + 1] - offsets[page])
    room = make_room(longest, rules.phrases.longest)
    kept, w = 0, 0
    for page in range(len(reasons)):
        reasons[page], end = clean_page(data, offsets[page], offsets[page + 1], rules, room, out, w, counts)
        if reasons[page] == KEEP:
            w, kept = end, kept + 1
            out_offsets[kept] = w
    return kept


@kernel(_nrt=False)
def clean_page(
    data: U8, start: int, stop: int, rules: Rules, room: Room, out: U8, first: int, counts: I64
) -> tuple[int, int]:
    """Clean one page to `out[first:]`: the page's reason, and where its text ends."""
    begin, holds, sentences, w, end = start, 0, 0, first, first
    for at in range(start, stop + 1, BLOCK):
        lines, holds = line_ends(data, at, stop, rules.phrases, holds, room)
        for k in range(lines):
            a, b = begin, at + room.ends[k]
            if a == stop:
                break  # the page's last byte ended its last line
            begin = b + code_size(room.low[room.ends[k]])
            if no_end_mark(data, a, b, room.holds[k], rules.may_end, rules.max_word_chars):
                counts[NO_END_MARK] += 1  # without the call that would find the same: a quarter faster
                continue
            what, line, a, b = judge(data, a, b, int(room.holds[k]), rules, room)
            if what >= PAGE:
                return what, first
            counts[what] += 1
            if what == KEEP:
                if sentences < rules.min_sentences:
                    sentences += count_sentences(line, a, b, rules, rules.min_sentences - sentences)
                w, end = append(line, a, b, rules.classes, out, first, w, end)
    if sentences < rules.min_sentences:
        return TOO_FEW_SENTENCES, first
    return KEEP if end > first else EMPTY, end


@kernel(_nrt=False)
def judge(data: U8, a: int, b: int, holds: int, rules: Rules, room: Room) -> tuple[int, U8, int, int]:
    """Look at the line `data[a:b]`: what becomes of it, and its text as `(buffer, start, stop)`."""
    line = data
    a, b = strip(line, a, b, rules.classes)
    if b - a > rules.max_word_chars and word_too_long(line, a, b, rules.max_word_chars, rules.classes):
        return WORD_TOO_LONG, line, a, b
    fold = rules.fold_all or holds & FOLD != 0
    if holds & BRACKET and rules.citations:
        n = without_citations(line, a, b, room.cited, rules.classes)
        if n != b - a:
            line, a, b, fold = room.cited, 0, n, True  # what a phrase is may have changed
    if not ends_sentence(line, a, b, rules):
        return NO_END_MARK, line, a, b
    if not has_words(line, a, b, rules.min_words, rules.classes):
        return TOO_FEW_WORDS, line, a, b
    if fold and len(rules.phrases.bits):
        holds = holds & CURLY | phrases_in(line, a, b, room.folded, rules.lower, rules.phrases)
    return by_content(holds, rules), line, a, b


@kernel(_nrt=False)
def by_content(holds: int, rules: Rules) -> int:
    """What becomes of a line for what it says."""
    if holds & HAS_LOREM:
        return LOREM_IPSUM
    if holds & HAS_JAVASCRIPT:
        return JAVASCRIPT
    if holds & CURLY and rules.curly_bracket:
        return CURLY_BRACKET
    return POLICY if holds & HAS_POLICY else KEEP


@kernel(_nrt=False)
def append(line: U8, a: int, b: int, classes: U16, out: U8, first: int, w: int, end: int) -> tuple[int, int]:
    """Join a line to the page at `out[w:]`: the new `w`, and where the page ends without white space behind it.

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
    """Whether the last byte alone shows that a line has no end mark; most lines that go are found here."""
    if b - a > max_word_chars or holds & BRACKET:
        return False
    while b > a and line[b - 1] == 0x20:
        b -= 1
    return bool(may_end[line[b - 1] if b > a else 0] == 0)


@kernel(_nrt=False)
def code_size(lead: int) -> int:
    """The bytes of the code point that begins with `lead`."""
    return 1 if lead < 0x80 else 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4


@kernel(_nrt=False)
def space(line: U8, i: int, classes: U16) -> int:
    """The bytes of the white space that begins at byte `i`; 0 for anything else."""
    c = line[i]
    if c < 0x80:
        return 1 if c == 0x20 or 0x09 <= c <= 0x0D or 0x1C <= c <= 0x1F else 0
    point, size = code_point(line, i)
    return size if classes[point] & SPACE else 0


@kernel(_nrt=False)
def strip(line: U8, a: int, b: int, classes: U16) -> tuple[int, int]:
    """The line without white space at its ends, as `str.strip` cuts it."""
    while a < b:
        size = space(line, a, classes)
        if size == 0:
            break
        a += size
    while a < b:
        i = before(line, b)
        if space(line, i, classes) == 0:
            break
        b = i
    return a, b


@kernel(_nrt=False)
def word_too_long(line: U8, a: int, b: int, max_chars: int, classes: U16) -> bool:
    """Whether a word, as `str.split` cuts them, has more than `max_chars` code points."""
    if not unbroken(line, a, b, max_chars):
        return False
    chars = 0
    while a < b:
        size = space(line, a, classes)
        chars = 0 if size else chars + 1
        if chars > max_chars:
            return True
        a += size or code_size(line[a])
    return False


@kernel(_nrt=False)
def unbroken(line: U8, a: int, b: int, n: int) -> bool:
    """Whether more than `n` bytes in a row hold no blank: looks at few bytes, and most long lines end here."""
    while b - a > n:
        i = a + n
        while i >= a and line[i] != 0x20:
            i -= 1
        if i < a:
            return True
        a = i + 1
    return False


@kernel(_nrt=False)
def has_words(line: U8, a: int, b: int, n: int, classes: U16) -> bool:
    """Whether the line has at least `n` words, as `str.split` cuts them."""
    inside = False
    while n > 0 and a < b:
        size = space(line, a, classes)
        n -= size == 0 and not inside
        inside = size == 0
        a += size or code_size(line[a])
    return n <= 0


@kernel(_nrt=False)
def ends_with(line: U8, a: int, b: int, texts: U8, starts: I64) -> bool:
    """Whether `line[a:b]` ends with one of the packed texts."""
    for k in range(len(starts) - 1):
        n = starts[k + 1] - starts[k]
        i = 0
        while i < n <= b - a and line[b - 1 - i] == texts[starts[k + 1] - 1 - i]:
            i += 1
        if i == n:
            return True
    return False


@kernel(_nrt=False)
def ends_sentence(line: U8, a: int, b: int, rules: Rules) -> bool:
    """Whether the line ends with an end mark that is not an ellipsis; always, where no marks are asked for."""
    if len(rules.end_mark_starts) == 1:
        return True
    if not ends_with(line, a, b, rules.end_marks, rules.end_mark_starts):
        return False
    return not ends_with(line, a, b, rules.not_ends, rules.not_end_starts)


@kernel(_nrt=False)
def without_citations(line: U8, a: int, b: int, cited: U8, classes: U16) -> int:
    r"""Copy the line without `\[\d*\]`, `[edit]` and `[citation needed]`; bytes left."""
    w = 0
    while a < b:
        size = citation(line, a, b, classes) if line[a] == 0x5B else 0
        if size:
            a += size
            continue
        cited[w] = line[a]
        w, a = w + 1, a + 1
    return w


@kernel(_nrt=False)
def citation(line: U8, a: int, b: int, classes: U16) -> int:
    """The bytes of the citation whose bracket is at `a`; 0 if it is none."""
    i = a + 1
    while i < b:
        point, size = code_point(line, i)
        if point == 0x5D:
            return i + 1 - a
        if not classes[point] & DECIMAL:
            break
        i += size
    if starts_with(line, a + 1, b, EDIT):
        return 1 + len(EDIT)
    return 1 + len(NEEDED) if starts_with(line, a + 1, b, NEEDED) else 0


@kernel(_nrt=False)
def starts_with(line: U8, a: int, b: int, word: tuple[int, ...]) -> bool:
    """Whether `line[a:b]` starts with these bytes."""
    if b - a < len(word):
        return False
    for i in range(len(word)):  # noqa: SIM110 - Numba has no generators here
        if line[a + i] != word[i]:
            return False
    return True


@kernel(_nrt=False)
def count_sentences(line: U8, a: int, b: int, rules: Rules, enough: int) -> int:
    """The sentences of a line, or `enough` if there are more (see `C4` for the rule)."""
    a, b = strip(line, a, b, rules.classes)
    found = 1 if a < b else 0
    i = a
    while i < b and found < enough:
        run = mark_run(line, i, b, rules)
        if run == i:
            i += 1
            continue
        closed = skip_closers(line, run, b)
        after = skip_spaces(line, closed, b, rules.classes)
        if after < b and (after > closed or (run - i > 1 and line[run - 1] >= 0x80)):
            found += not inside_sentence(line, a, i, run, after, rules.classes)
        i = after
    return found


@kernel(_nrt=False)
def mark_run(line: U8, i: int, b: int, rules: Rules) -> int:
    """Where the run of sentence marks that begins at `i` ends."""
    starts = rules.sentence_mark_starts
    while i < b and rules.sentence_leads[line[i]]:
        size = 0
        for k in range(len(starts) - 1):
            n = starts[k + 1] - starts[k]
            j = 0
            while j < n and i + j < b and line[i + j] == rules.sentence_marks[starts[k] + j]:
                j += 1
            if j == n:
                size = n
        if size == 0:
            break
        i += size
    return i


@kernel(_nrt=False)
def skip_closers(line: U8, i: int, b: int) -> int:
    """Past the quotation marks and brackets that close with a sentence."""
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
def skip_spaces(line: U8, i: int, b: int, classes: U16) -> int:
    """Past white space."""
    while i < b:
        size = space(line, i, classes)
        if size == 0:
            break
        i += size
    return i


@kernel(_nrt=False)
def inside_sentence(line: U8, a: int, i: int, run: int, after: int, classes: U16) -> bool:
    """Whether full stops `line[i:run]` end no sentence: a small letter follows, or one stands before (J. Doe)."""
    for j in range(i, run):
        if line[j] != 0x2E:
            return False
    point, _ = code_point(line, after)
    if classes[point] & CASED and not classes[point] & UPPER:
        return True
    if run - i > 1 or i == a:
        return False
    letter = before(line, i)
    point, _ = code_point(line, letter)
    if not classes[point] & ALPHA:
        return False
    if letter == a:
        return True
    point, _ = code_point(line, before(line, letter))
    return not (classes[point] & WORD or point == 0x27)


@kernel(_nrt=False)
def before(line: U8, i: int) -> int:
    """Where the code point that ends before byte `i` begins."""
    i -= 1
    while line[i] & 0xC0 == 0x80:
        i -= 1
    return i
