"""Counts of FineWeb's rules, in one pass over a document's bytes. Twin: tests/twins/fineweb.py."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dataprep.filters.packed_strings import Packed, ends_with_one
from dataprep.filters.repeats import STEP, HashCounts, count_repeats, hash_counts
from dataprep.unicode.kernel import kernel
from dataprep.unicode.text import I64, LINE, SPACE, U8, U16, U64, Int, code_point, mix64

COUNTS = ("words", "chars", "lines", "ended", "short", "breaks", "repeated_lines", "repeated_line_chars")
WORDS, CHARS, LINES, ENDED, SHORT, BREAKS, REPEATED_LINES, REPEATED_LINE_CHARS = range(8)
N_COUNTS = len(COUNTS)


class FineWebRules(NamedTuple):
    """`FineWeb`'s parameters as the kernels read them."""

    end_marks: Packed
    short_chars: int  # a line is short up to these many characters
    classes: U16


class LineBuffers(NamedTuple):
    """Buffers for one document, made once per batch."""

    words: U64  # hash of each word
    chars: I64  # characters of the words before each word
    lines: I64  # first word of each line
    counts: HashCounts


@kernel
def count_lines(offsets: I64, data: U8, rules: FineWebRules) -> I64:
    """Return the counts of every document, int64[n, len(COUNTS)]."""
    n = len(offsets) - 1
    out = np.zeros((n, N_COUNTS), np.int64)
    longest: int = 0
    for d in range(n):
        longest = max(longest, offsets[d + 1] - offsets[d])
    words = longest // 2 + 2
    buffers = LineBuffers(
        np.empty(words + 1, np.uint64), np.zeros(words + 1, np.int64), np.empty(words + 1, np.int64), hash_counts(words)
    )
    for d in range(n):
        _count_document(data, offsets[d], offsets[d + 1], rules, buffers, out[d])
        out[d, REPEATED_LINES], out[d, REPEATED_LINE_CHARS] = count_repeats(
            buffers.words, buffers.chars, buffers.lines, out[d, LINES], buffers.counts
        )
    return out


@kernel(_nrt=False)
def _count_document(data: U8, start: int, stop: int, rules: FineWebRules, buffers: LineBuffers, out: I64) -> None:
    """Count the words and lines of one document; write the words' hashes and the lines' first words to `buffers`."""
    i, first, last = start, start, start
    n, chars, spaces, lines, line, base, width = 0, 0, 0, 0, 0, 0, 0
    h, inside = np.uint64(0), False
    while i <= stop:
        c: Int = 0x0A
        size, bits = 1, SPACE | LINE  # the end of the text ends its word and line
        if i < stop:
            c, size = code_point(data, i)
            bits = int(rules.classes[c])
        if not bits & SPACE:
            if not inside:
                inside, h = True, np.uint64(0)
                if n == line:
                    first, base = i, chars + spaces
            h = (h ^ np.uint64(c)) * STEP
            chars += 1
            i += size
            continue
        if inside:
            inside, last, width = False, i, chars + spaces - base
            buffers.words[n] = mix64(h)
            n += 1
            buffers.chars[n] = chars
        spaces += 1
        if bits & LINE and not (c == 0x0D and i + 1 < stop and data[i + 1] == 0x0A):
            if n > line:
                buffers.lines[lines] = line
                lines, line = lines + 1, n
                out[ENDED] += ends_with_one(data, first, last, rules.end_marks)
                out[SHORT] += width <= rules.short_chars
            out[BREAKS] += i < stop
        i += size
    buffers.lines[lines] = n
    out[WORDS], out[CHARS], out[LINES] = n, chars, lines
