"""Counts for Gopher's rules as in the code of datatrove, Dolma and DCLM, whose details differ from the paper's.

A document is split into units (words, lines, paragraphs). Each has a hash and a length in code points; repeats are
counted by these hashes, as in kernel.py.

Slow reference for the tests: tests/twins/gopher_published.py
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dataprep.filters.packed_strings import Packed, ends_with_one, starts_with_one
from dataprep.filters.repeats import STEP, HashCounts, count_hash, hash_counts, slots_mask
from dataprep.unicode.hashes import mix64
from dataprep.unicode.kernel import kernel
from dataprep.unicode.text import ALPHA, I64, LINE, POINT, SPACE, U8, U16, U32, U64, WORD, Int, code_point
from dataprep.unicode.text import strip as strip_text

from .kernel import FACTOR

DATATROVE, DOLMA, DCLM = range(3)
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
UNITS, PARAGRAPHS, GRAM_WORDS, GRAM_CHARS, GRAM_2, OF_GRAM_2 = 13, 17, 21, 22, 23, 32


class Published(NamedTuple):
    """The parameters of the rules in the form that the kernels read.

    code: DATATROVE, DOLMA or DCLM. bullets: the signs with which a bullet line begins. endings: the ellipses with which
    an ellipsis line ends. keys: uint64, sorted hashes of all stop words. lists: an entry per stop word, in which bit k
    is set if the word is in list number k. symbols: uint8[0x110000], 1 for some characters; a word that consists only
    of these is not counted. classes: the class bits of each code point. lower: the lower case of each code point.
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


class Buffers(NamedTuple):
    """Work buffers for one document; a unit is a word, line or paragraph.

    hashes: hash of each unit. chars: length of each unit. grams: hash of each n-gram. slots: slot in `counts` of each
    unit or n-gram. counts: a table that counts hashes. stopped: how often each stop word occurs.
    """

    hashes: U64
    chars: I64  # characters of the units before each unit
    grams: U64
    slots: I64  # of the units or grams in `counts`
    counts: HashCounts
    stopped: I64  # [keys]: how often each stop word occurs


@kernel
def count(offsets: I64, data: U8, gram_offsets: I64, gram_data: U8, rules: Published) -> I64:
    """Return the counts of each document, int64[n, len(COUNTS)]; COUNTS names the columns.

    offsets, data: the documents. gram_offsets, gram_data: the same documents with one space between their words; the
    n-grams of all three codes are made of these words, and datatrove counts these words too.
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
        row[GRAM_WORDS] = _words(gram_data, gram_offsets[d], gram_offsets[d + 1], rules.classes, b)
        row[GRAM_CHARS] = b.chars[row[GRAM_WORDS]]
        _count_grams(rules.code, b, row)
    return out


@kernel(_nrt=False)
def _count_text(data: U8, a: int, b: int, rules: Published, row: I64) -> None:
    """Count the code points, the `#` and the ellipses of a text; DCLM counts ". . ." too, each of three kinds apart."""
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

    datatrove: lines of `str.splitlines`, stripped; Dolma: lines between `\n`, as they are; both count blank lines.
    DCLM: lines between `\n`, stripped, without blank lines.
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
    """Count the lines and paragraphs, their characters, and those that repeat others."""
    runs, tidy = int(rules.code == DATATROVE), rules.code == DCLM
    for least, at in ((1, UNITS), (2, PARAGRAPHS)):
        if least == 2 and rules.code == DOLMA:
            return
        p, q = strip_text(data, a, b, rules.classes) if runs and least == 2 else (a, b)
        n = _units(data, p, q, least, runs, rules.classes if tidy else rules.classes[:0], buffers)
        row[at], row[at + 1] = n, buffers.chars[n]
        row[at + 2], row[at + 3] = _repeated(buffers, n, 1 - runs)
        if tidy and n == 1:
            row[at + 2] = row[at + 3] = 0


@kernel(_nrt=False)
def _units(data: U8, a: int, b: int, least: int, runs: int, classes: U16, buffers: Buffers) -> int:
    r"""Write the hashes and lengths of the parts between `least` or more `\n` to `buffers`; return their number.

    runs: 1 if all further `\n` belong to the separator. classes: if it is not empty, parts are stripped and blank ones
    left out.
    """
    n, first, i = 0, a, a
    while i <= b:
        k = 0
        while i + k < b and data[i + k] == 0x0A and (runs or k < least):
            k += 1
        if i < b and k < least:
            i += max(k, 1)
            continue
        p, q = strip_text(data, first, i, classes) if len(classes) else (first, i)
        if p < q or not len(classes):
            h, chars = np.uint64(0), 0
            while p < q:
                c, size = code_point(data, p)
                h, chars, p = (h ^ np.uint64(c + 1)) * STEP, chars + 1, p + size
                h ^= h >> np.uint64(32)
            buffers.hashes[n], buffers.chars[n + 1] = mix64(h), buffers.chars[n] + chars
            n += 1
        if i == b:
            break
        i += k
        first = i
    return n


@kernel(_nrt=False)
def _repeated(buffers: Buffers, n: int, every: int) -> tuple[int, int]:
    """Return the number and the characters of the units that repeat another; every: 1 counts the first ones, too."""
    counts, units, chars = buffers.counts, 0, 0
    counts.stamp[0] += 1
    stamp, mask = counts.stamp[0], slots_mask(n)
    for k in range(n):
        buffers.slots[k] = count_hash(counts, mask, buffers.hashes[k], stamp)
        if counts.state[buffers.slots[k]] & 0xFFFFFFFF > 1 and not every:
            units, chars = units + 1, chars + buffers.chars[k + 1] - buffers.chars[k]
    for k in range(n if every else 0):
        if counts.state[buffers.slots[k]] & 0xFFFFFFFF > 1:
            units, chars = units + 1, chars + buffers.chars[k + 1] - buffers.chars[k]
    return units, chars


@kernel(_nrt=False)
def _words(data: U8, a: int, b: int, classes: U16, buffers: Buffers) -> int:
    """Write the hashes of the words between white space, and their characters, to `buffers`; return their number."""
    n, chars, i, h, inside = 0, 0, a, np.uint64(0), False
    while i <= b:
        c: Int = np.int64(0x20)
        size = 1
        if i < b:
            c, size = code_point(data, i)
        if classes[c] & SPACE:
            if inside:
                buffers.hashes[n] = mix64(h)
                n += 1
                buffers.chars[n], inside = chars, False
        else:
            if not inside:
                inside, h = True, np.uint64(0)
            h, chars = (h ^ np.uint64(c + 1)) * STEP, chars + 1
        i += size
    return n


@kernel
def stop_hash(data: U8, a: int, b: int, lower: U32) -> Int:
    """Return a hash of the word data[a:b]; lower: the lower case of each code point, or empty if case counts."""
    h = np.uint64(0)
    while a < b:
        c, size = code_point(data, a)
        h = (h ^ np.uint64((lower[c] & POINT if len(lower) else c) + 1)) * STEP
        a += size
    return mix64(h)


@kernel(_nrt=False)
def _count_words(data: U8, a: int, b: int, rules: Published, buffers: Buffers, row: I64) -> None:
    """Count words: all, those that count for the number and length of words, and those with letters or symbols."""
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
    """Return the number of stop words of the list that has most: different ones (datatrove), or their occurrences."""
    most = 0
    for k in range(rules.n_lists):
        n = 0
        for i in range(len(rules.keys)):
            if (rules.lists[i] >> np.uint64(k)) & np.uint64(1):
                n += min(buffers.stopped[i], 1) if rules.code == DATATROVE else buffers.stopped[i]
        most = max(most, n)
    return most


@kernel(_nrt=False)
def _count_grams(code: int, buffers: Buffers, row: I64) -> None:
    """Count the characters of the most frequent n-gram, n = 2 to 4, and those in repeated n-grams, n = 5 to 10."""
    words, counts, chars, grams = row[GRAM_WORDS], buffers.counts, buffers.chars, buffers.grams
    for j in range(words):
        grams[j] = buffers.hashes[j]
    for n in range(2, 11):
        counts.stamp[0] += 1
        stamp, mask = counts.stamp[0], slots_mask(words)
        for j in range(words - n + 1):
            grams[j] = grams[j] * FACTOR + buffers.hashes[j + n - 1]
        if n < 5:
            row[GRAM_2 + n - 2] = _top(code, n, buffers, words, mask)
        elif code == DATATROVE:
            j = 0
            while j + n <= words:
                again = counts.state[count_hash(counts, mask, mix64(grams[j]), stamp)] & 0xFFFFFFFF > 1
                row[GRAM_2 + n - 2] += chars[j + n] - chars[j] if again else 0
                j += n if again else 1
        else:
            row[GRAM_2 + n - 2], row[OF_GRAM_2 + n - 2] = _dups(code, n, buffers, words, mask)


@kernel(_nrt=False)
def _top(code: int, n: int, buffers: Buffers, words: int, mask: Int) -> int:
    """Return the characters of the most frequent n-gram, times its occurrences, as each code counts them.

    datatrove: with the spaces between its words; DCLM: the longest of the most frequent ones, if they occur twice.
    """
    counts, chars, slots = buffers.counts, buffers.chars, buffers.slots
    most, size = 0, 0
    for j in range(words - n + 1):
        slots[j] = count_hash(counts, mask, mix64(buffers.grams[j]), counts.stamp[0])
    for j in range(words - n + 1):
        times = counts.state[slots[j]] & 0xFFFFFFFF
        length = chars[j + n] - chars[j] + (n - 1 if code == DATATROVE else 0)
        if times > most or (times == most and code == DCLM and length > size):
            most, size = times, length
    return int(0 if code == DCLM and most == 1 else most * size)


@kernel(_nrt=False)
def _dups(code: int, n: int, buffers: Buffers, words: int, mask: Int) -> tuple[int, int]:
    """Return the characters in n-grams that occur twice, first occurrences too, and the characters of all n-grams.

    DCLM counts a character inside several n-grams once, Dolma counts it for each.
    """
    counts, chars, slots = buffers.counts, buffers.chars, buffers.slots
    found, every, covered = 0, 0, 0
    for j in range(words - n + 1):
        slots[j] = count_hash(counts, mask, mix64(buffers.grams[j]), counts.stamp[0])
    for j in range(words - n + 1):
        every += chars[j + n] - chars[j]
        if counts.state[slots[j]] & 0xFFFFFFFF > 1:
            found += chars[j + n] - chars[j if code == DOLMA else max(j, covered)]
            covered = j + n
    return found, every
