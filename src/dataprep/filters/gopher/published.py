"""Counts for Gopher's rules as in the code of datatrove, Dolma and DCLM, which differ from the paper in details.

Characters, words and lines are counted here; repetitions are counted in published_repeats.py.

Slow reference for the tests: tests/twins/gopher_published.py
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dataprep.filters.packed_strings import Packed, ends_with_one, starts_with_one
from dataprep.filters.repeats import STEP, hash_counts
from dataprep.unicode.hashes import mix64
from dataprep.unicode.kernel import kernel
from dataprep.unicode.text import ALPHA, I64, LINE, POINT, SPACE, U8, U16, U32, U64, WORD, Int, code_point
from dataprep.unicode.text import strip as strip_text

from .published_repeats import (
    DATATROVE,
    DCLM,
    DOLMA,
    GRAM_CHARS,
    GRAM_WORDS,
    Buffers,
    count_grams,
    hash_units,
    hash_words,
    repeated,
)
from .segments import hash_segments

COUNTS = (
    "words", "counted_words", "counted_chars", "alphabetic", "symbol_words", "stop_words", "median",
    "chars", "hashes", "ellipses", "lines", "bullets", "trailing",
    "units", "unit_chars", "dup_lines", "dup_line_chars", "paragraphs", "paragraph_chars", "dup_paragraphs",
    "dup_paragraph_chars", "gram_words", "gram_chars",
    *(f"gram_{n}" for n in range(2, 11)), *(f"of_gram_{n}" for n in range(2, 11)),
)  # fmt: skip
N_COUNTS = len(COUNTS)
WORDS, COUNTED, COUNTED_CHARS, ALPHABETIC, SYMBOL_WORDS, STOP_WORDS, MEDIAN = range(7)
CHARS, HASHES, ELLIPSES, LINES, BULLETS, TRAILING = range(7, 13)
UNITS, PARAGRAPHS = 13, 17  # the columns of n-grams are in published_repeats.py


class Published(NamedTuple):
    """The parameters of the rules in the form that the kernels read.

    Attributes:
        code: DATATROVE, DOLMA or DCLM.
        bullets: the signs that begin a bullet line.
        endings: the ellipses that end an ellipsis line.
        keys: uint64, sorted hashes of all stop words.
        lists: one entry per stop word, in which bit k is set if the word is in list number k.
        symbols: uint8[0x110000], 1 for certain characters; a word that consists only of such characters is not counted.
        classes: the class bits of each code point.
        lower: the lower case of each code point.
        segments: the result of `segment_table`.
    """

    code: int
    bullets: Packed
    endings: Packed
    keys: U64
    lists: U64
    n_lists: int
    symbols: U8
    classes: U16
    lower: U32
    segments: U8


@kernel
def count(offsets: I64, data: U8, gram_offsets: I64, gram_data: U8, rules: Published) -> I64:
    """Return the counts of each document, int64[n, len(COUNTS)]; COUNTS names the columns.

    - offsets: document k is data[offsets[k]:offsets[k + 1]].
    - data: the documents, UTF-8 bytes.
    - gram_offsets, gram_data: the same documents as words separated by single spaces; the n-grams of datatrove and
      Dolma consist of these words, and datatrove counts these words too.
    """
    n = len(offsets) - 1
    out, longest = np.zeros((n, N_COUNTS), np.int64), int(np.int64(0))
    for d in range(n):
        longest = max(longest, offsets[d + 1] - offsets[d], gram_offsets[d + 1] - gram_offsets[d])
    b = Buffers(
        np.empty(longest + 2, np.uint64), np.zeros(longest + 3, np.int64), np.empty(longest + 2, np.uint64),
        np.empty(longest + 2, np.int64), hash_counts(longest + 2), np.zeros(len(rules.keys), np.int64),
    )  # fmt: skip
    for d in range(n):
        row, first, stop = out[d], offsets[d], offsets[d + 1]
        _count_text(data, first, stop, rules, row)
        _count_lines(data, first, stop, rules, row)
        _count_units(data, first, stop, rules, b, row)
        if rules.code == DATATROVE:
            _count_words(gram_data, gram_offsets[d], gram_offsets[d + 1], rules, b, row)
        else:
            _count_words(data, first, stop, rules, b, row)
        if rules.code == DOLMA and row[WORDS]:
            lengths = np.sort(b.chars[1 : row[WORDS] + 1])
            row[MEDIAN] = lengths[(row[WORDS] - 1) // 2] + lengths[row[WORDS] // 2]  # twice the median
        if rules.code == DCLM:
            row[GRAM_WORDS] = hash_segments(data, first, stop, rules.segments, b.hashes, b.chars)
        else:
            row[GRAM_WORDS] = hash_words(gram_data, gram_offsets[d], gram_offsets[d + 1], rules.classes, b)
        row[GRAM_CHARS] = b.chars[row[GRAM_WORDS]]
        count_grams(rules.code, b, row)
    return out


@kernel(_nrt=False)
def _count_text(data: U8, a: int, b: int, rules: Published, row: I64) -> None:
    """Count the code points, `#` and ellipses of a text; DCLM also counts ". . .", each of three kinds separately."""
    i, dots, spread = a, 0, 0
    while i < b:
        c, size = code_point(data, i)
        row[CHARS] += 1
        row[HASHES] += c == 0x23
        row[ELLIPSES] += c == 0x2026
        dots = dots + 1 if c == 0x2E else 0
        if dots == 3:
            row[ELLIPSES], dots = row[ELLIPSES] + 1, 0
        spread = spread + 1 if c == (0x20 if spread % 2 else 0x2E) else int(c == 0x2E)
        if spread == 5:
            row[ELLIPSES], spread = row[ELLIPSES] + (rules.code == DCLM), 0
        i += size


@kernel(_nrt=False)
def _count_lines(data: U8, a: int, b: int, rules: Published, row: I64) -> None:
    r"""Count the lines that begin with a bullet and those that end with an ellipsis.

    datatrove reads the lines of `str.splitlines`, stripped; Dolma those between `\n`, as they are; both count blank
    lines. DCLM reads the lines between `\n`, stripped, without blank lines.
    """
    i, first = a, a
    while i <= b:
        size, end = 1, i == b
        if i < b:
            c, size = code_point(data, i)
            end = c == 0x0A or (rules.code == DATATROVE and rules.classes[c] & LINE != 0)
            end = end and not (c == 0x0D and i + 1 < b and data[i + 1] == 0x0A)
        if end:
            p, q = (first, i) if rules.code == DOLMA else strip_text(data, first, i, rules.classes)
            counted = p < q if rules.code == DCLM else i < b or rules.code == DOLMA or first < b
            row[LINES] += counted
            row[BULLETS] += counted and starts_with_one(data, p, q, rules.bullets) > 0
            row[TRAILING] += counted and ends_with_one(data, p, q, rules.endings)
            first = i + size
        i += size


@kernel(_nrt=False)
def _count_units(data: U8, a: int, b: int, rules: Published, buffers: Buffers, row: I64) -> None:
    """Count lines and paragraphs, their characters, and those that are repeated."""
    runs, tidy = int(rules.code == DATATROVE), rules.code == DCLM
    for least, at in ((1, UNITS), (2, PARAGRAPHS)):
        if least == 2 and rules.code == DOLMA:
            return
        p, q = strip_text(data, a, b, rules.classes) if runs and least == 2 else (a, b)
        n = hash_units(data, p, q, least, runs, rules.classes if tidy else rules.classes[:0], buffers)
        row[at], row[at + 1] = n, buffers.chars[n]
        row[at + 2], row[at + 3] = repeated(buffers, n, 1 - runs)
        if tidy and n == 1:
            row[at + 2] = row[at + 3] = 0


@kernel
def stop_hash(data: U8, a: int, b: int, lower: U32) -> Int:
    """Return a hash of the word data[a:b].

    - lower: the lower case of each code point, or an empty array if case matters.
    """
    h = np.uint64(0)
    while a < b:
        c, size = code_point(data, a)
        h = (h ^ np.uint64((lower[c] & POINT if len(lower) else c) + 1)) * STEP
        a += size
    return mix64(h)


@kernel(_nrt=False)
def _count_words(data: U8, a: int, b: int, rules: Published, buffers: Buffers, row: I64) -> None:
    """Count words: all words, those that count for number and length, and those with letters or symbols."""
    buffers.stopped[:] = 0
    lower = rules.lower if rules.code == DCLM else rules.lower[:0]
    n, i, begin, chars, alpha, real, marked, head, gap = 0, a, a, 0, False, False, False, False, np.int64(0x20)
    while i <= b:
        c: Int = np.int64(0x20)
        size = 1
        if i < b:
            c, size = code_point(data, i)
        bits = rules.classes[c]
        if bits & SPACE and chars:
            n += 1
            row[ALPHABETIC] += alpha
            row[SYMBOL_WORDS] += marked
            counted = head if rules.code == DCLM else real
            row[COUNTED] += counted
            row[COUNTED_CHARS] += chars if counted or rules.code == DCLM else 0
            buffers.chars[n] = chars
            _mark(buffers, rules.keys, stop_hash(data, begin, i, lower))
            chars, alpha, real, marked = 0, False, False, False
        if bits & SPACE:
            gap = c
        else:
            if chars == 0:
                begin, head = i, bool(bits & WORD != 0 and c != 0x5F and (gap == 0x20 or 9 <= gap <= 13))
            chars += 1
            alpha = alpha or bits & ALPHA != 0
            real = real or rules.symbols[c] == 0
            marked = marked or c in (0x23, 0x2026)
        i += size
    row[WORDS] = n
    row[STOP_WORDS] = _stop_words(rules, buffers)


@kernel(_nrt=False)
def _mark(buffers: Buffers, keys: U64, h: Int) -> None:
    """Count a word if it is a stop word."""
    for k in range(len(keys)):
        if keys[k] == h:
            buffers.stopped[k] += 1


@kernel(_nrt=False)
def _stop_words(rules: Published, buffers: Buffers) -> int:
    """Return the stop words of the list with the most matches: distinct words (datatrove) or occurrences."""
    most = 0
    for k in range(rules.n_lists):
        n = 0
        for i in range(len(rules.keys)):
            if (rules.lists[i] >> np.uint64(k)) & np.uint64(1):
                n += min(buffers.stopped[i], 1) if rules.code == DATATROVE else buffers.stopped[i]
        most = max(most, n)
    return most
