"""Counts for Gopher's rules: one pass over a document's bytes, then passes over the hashes of its words.

Repeated lines, paragraphs and n-grams are found by 64-bit hashes, without comparing texts. The hash of a word is
computed code point by code point, and mixed at the end. The hash of an n-gram is a polynomial in the hashes of its
words, mixed again (without the second mixing, the n-grams "0 10 0" and "11 0 0" had the same hash). In a text of
100,000 words, the probability that two different n-grams have the same hash is 10^-8; such a collision would change a
share by one n-gram. An n-gram can only be repeated if its first n - 1 words are repeated. For each n, therefore, only
the repeated runs of n - 1 words are examined.

Slow reference for the tests: tests/twins/gopher.py.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dataprep.filters.packed_strings import Packed, starts_with_one
from dataprep.filters.repeats import STEP, HashCounts, count_hash, count_repeats, hash_counts, slots_mask
from dataprep.unicode.hashes import mix64
from dataprep.unicode.kernel import kernel
from dataprep.unicode.spaced import UNSPACED
from dataprep.unicode.text import ALPHA, I64, IN_WORD, LINE, POINT, SPACE, U8, U16, U32, U64, Int, code_point

COUNTS = (
    "words", "chars", "alphabetic", "hashes", "ellipses", "lines", "bullets", "trailing", "stop_words",
    "paragraphs", "dup_lines", "dup_line_chars", "dup_paragraphs", "dup_paragraph_chars",
    *(f"gram_{n}" for n in range(2, 11)), "lengths", "length_words",
)  # fmt: skip
WORDS, CHARS, ALPHABETIC, HASHES, ELLIPSES, LINES, BULLETS, TRAILING, STOP_WORDS = range(9)
PARAGRAPHS, DUP_LINES, DUP_LINE_CHARS, DUP_PARAGRAPHS, DUP_PARAGRAPH_CHARS, GRAM_2 = range(9, 15)
LENGTHS, LENGTH_WORDS = range(23, 25)
N_COUNTS = len(COUNTS)
TOP, LONGEST = 4, 10  # n-grams of up to 4 words: the most frequent one; from 5 to 10: all that repeat
FACTOR = np.uint64(0x9E3779B97F4A7C15)


class GopherRules(NamedTuple):
    """The word lists of `Gopher` in the form that the kernels read.

    Attributes:
        bullets: the signs that begin a bullet line.
        keys: uint64, sorted hashes of all stop words.
        lists: uint64, one entry per stop word, in which bit k is set if the word is in list number k.
        n_lists: the number of lists.
        max_letters: the number of letters of the longest stop word.
        classes: the result of `word_classes`.
        lower: the lower case of each code point.
    """

    bullets: Packed
    keys: U64  # hashes of stop words, sorted
    lists: U64  # [keys]: bit k: the word is in list k
    n_lists: int
    max_letters: int  # of the longest stop word
    classes: U16
    lower: U32


class WordBuffers(NamedTuple):
    """Work buffers for the words of one document, made once per batch.

    Attributes:
        words: the hash of each word.
        chars: the number of characters of the words before each word.
        lines: the index of the first word of each line.
        paragraphs: the index of the first word of each paragraph.
        grams: the hash of the n-gram that starts at each word.
        starts: the indices of the words at which an (n - 1)-gram begins that occurs at least twice.
        slots: for each of these words, the slot in `counts` of the n-gram that begins there.
        counts: a table that counts hashes.
        stopped: for each stop word, the number of the last document that contains it.
    """

    words: U64  # hash of each word
    chars: I64  # characters of the words before each word
    lines: I64  # first word of each line
    paragraphs: I64
    grams: U64  # hash of the n-gram at each word
    starts: I64  # words whose (n - 1)-gram occurs twice
    slots: I64  # slot of the n-gram of each of those
    counts: HashCounts
    stopped: I64  # [keys]: the last document that held the stop word


@kernel
def count(offsets: I64, data: U8, rules: GopherRules) -> I64:
    """Return the counts for each document that Gopher's rules need, int64[n, len(COUNTS)]; COUNTS names the columns.

    Args:
        offsets: document k is data[offsets[k]:offsets[k + 1]].
        data: the documents, UTF-8 bytes.
        rules: the word lists.
    """
    n = len(offsets) - 1
    out = np.zeros((n, N_COUNTS), np.int64)
    longest: int = 0
    for d in range(n):
        longest = max(longest, offsets[d + 1] - offsets[d])
    b = _buffers(longest // 2 + 2, len(rules.keys))
    for d in range(n):
        row = out[d]
        _count_words(data, offsets[d], offsets[d + 1], rules, b, row, d + 1)
        row[DUP_LINES], row[DUP_LINE_CHARS] = count_repeats(b.words, b.chars, b.lines, row[LINES], b.counts)
        row[DUP_PARAGRAPHS], row[DUP_PARAGRAPH_CHARS] = count_repeats(
            b.words, b.chars, b.paragraphs, row[PARAGRAPHS], b.counts
        )
        _count_grams(b, row)
    return out


@kernel
def _buffers(words: int, keys: int) -> WordBuffers:
    """Return buffers for a document of up to `words` words."""
    n = words + 1
    return WordBuffers(
        np.empty(n, np.uint64), np.zeros(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64),
        np.empty(n, np.uint64), np.empty(n, np.int64), np.empty(n, np.int64), hash_counts(words),
        np.zeros(keys, np.int64),
    )  # fmt: skip


@kernel(_nrt=False)
def _count_words(data: U8, start: int, stop: int, rules: GopherRules, units: WordBuffers, row: I64, stamp: int) -> None:
    """Count the words, lines, paragraphs and symbols of one document; write hashes and first words to `units`."""
    i, word, first, last = start, start, start, start
    n, chars, lines, paragraphs, line, paragraph, dots = 0, 0, 0, 0, 0, 0, 0
    alphabetic, hashes, ellipses, symbols, silent, mute, spaced, lengths = 0, 0, 0, 0, 0, 0, 0, 0
    h, inside = np.uint64(0), False
    while i <= stop:
        c: Int = 0x0A
        size, bits = 1, SPACE | LINE  # the end of the text ends its word, line and paragraph
        if i < stop:
            c, size = code_point(data, i)
            bits = int(rules.classes[c])
        if not bits & SPACE:
            if not inside:
                inside, word, alphabetic, h, mute = True, i, 0, np.uint64(0), silent
                if n == line:
                    first = i
            h = (h ^ np.uint64(c)) * STEP
            alphabetic |= bits
            silent += bits >> 15
            hashes += c == 0x23
            dots = dots + 1 if c == 0x2E else 0
            if dots == 3 or c == 0x2026:
                ellipses, dots = ellipses + 1, 0
            chars += 1
            i += size
            continue
        if inside:
            inside, dots, last = False, 0, i
            units.words[n] = mix64(h)
            if not alphabetic & UNSPACED:
                spaced, lengths = spaced + 1, lengths + chars - units.chars[n] - silent + mute
            n += 1
            units.chars[n] = chars
            symbols += not alphabetic & ALPHA
            if rules.max_letters:
                _mark_stop_word(data, word, i, rules, units, stamp)
        if bits & LINE and not (c == 0x0D and i + 1 < stop and data[i + 1] == 0x0A):
            if n > line:
                units.lines[lines] = line
                lines, line = lines + 1, n
                row[BULLETS] += starts_with_one(data, first, last, rules.bullets) > 0
                row[TRAILING] += _ends_with_ellipsis(data, first, last)
                blank = False
            else:
                blank = True
            if (blank or i == stop) and n > paragraph:
                units.paragraphs[paragraphs] = paragraph
                paragraphs, paragraph = paragraphs + 1, n
        i += size
    units.lines[lines] = units.paragraphs[paragraphs] = n
    row[WORDS], row[CHARS], row[ALPHABETIC], row[HASHES], row[ELLIPSES] = n, chars, n - symbols, hashes, ellipses
    row[LINES], row[PARAGRAPHS], row[STOP_WORDS] = lines, paragraphs, _stop_words(rules, units, stamp)
    row[LENGTHS], row[LENGTH_WORDS] = lengths, spaced


@kernel(_nrt=False)
def _ends_with_ellipsis(data: U8, first: int, last: int) -> bool:
    """Return whether a line ends with three full stops or U+2026."""
    if last - first < 3:
        return False
    a, b, c = data[last - 3], data[last - 2], data[last - 1]
    return bool((a == 0x2E and b == 0x2E and c == 0x2E) or (a == 0xE2 and b == 0x80 and c == 0xA6))


@kernel
def letters_hash(data: U8, a: int, b: int, max_letters: int, lower: U32) -> Int:
    r"""Return a hash of the letters and digits (`\w`) of the word data[a:b], in lower case.

    - lower: the lower case of each code point.

    Returns 0 if the word has more than `max_letters` letters and digits.
    """
    h, letters, i = np.uint64(0), 0, a
    while i < b:
        c, size = code_point(data, i)
        i += size
        entry = lower[c]
        if entry & IN_WORD:
            letters += 1
            small = np.int64(entry & POINT)
            h = (h ^ np.uint64(0x3C3 if small == 0x3C2 else small)) * STEP  # both small sigmas are treated as one
            if letters > max_letters:
                return np.uint64(0)
    return mix64(h)


@kernel(_nrt=False)
def _mark_stop_word(data: U8, a: int, b: int, rules: GopherRules, buffers: WordBuffers, stamp: int) -> None:
    """Write `stamp` to `buffers.stopped` if the word is a stop word."""
    h = letters_hash(data, a, b, rules.max_letters, rules.lower)
    low, high = 0, len(rules.keys)
    while low < high:
        middle = (low + high) // 2
        if rules.keys[middle] < h:
            low = middle + 1
        else:
            high = middle
    if low < len(rules.keys) and rules.keys[low] == h:
        buffers.stopped[low] = stamp


@kernel(_nrt=False)
def _stop_words(rules: GopherRules, buffers: WordBuffers, stamp: int) -> int:
    """Return the number of stop words in the document, of the list with most of them."""
    most = 0
    for k in range(rules.n_lists):
        n = 0
        for i in range(len(rules.keys)):
            n += buffers.stopped[i] == stamp and (rules.lists[i] >> np.uint64(k)) & np.uint64(1) != 0
        most = max(most, n)
    return most


@kernel(_nrt=False)
def _count_grams(buffers: WordBuffers, out: I64) -> None:
    """Count characters of the most frequent n-gram, n = 2 to 4, and characters in repeated n-grams, n = 5 to 10."""
    words, starts, counts = out[WORDS], buffers.starts, buffers.counts
    for j in range(words):
        buffers.grams[j], starts[j] = buffers.words[j], j
    alive = words
    for n in range(2, LONGEST + 1):
        counts.stamp[0] += 1
        stamp, mask = counts.stamp[0], slots_mask(alive)
        while alive and starts[alive - 1] + n > words:
            alive -= 1
        covered = 0
        for k in range(alive):
            j = starts[k]
            buffers.grams[j] = buffers.grams[j] * FACTOR + buffers.words[j + n - 1]
            buffers.slots[k] = count_hash(counts, mask, mix64(buffers.grams[j]), stamp)
            if n > TOP and counts.state[buffers.slots[k]] & 0xFFFFFFFF > 1:
                out[GRAM_2 + n - 2] += buffers.chars[j + n] - buffers.chars[max(j, covered)]
                covered = j + n
        left, most = 0, 1
        for k in range(alive):
            j, times = starts[k], counts.state[buffers.slots[k]] & 0xFFFFFFFF
            if times > 1:
                starts[left] = j
                left += 1
            if times > most and n <= TOP:
                most = times
                out[GRAM_2 + n - 2] = times * (buffers.chars[j + n] - buffers.chars[j])
        alive = left
