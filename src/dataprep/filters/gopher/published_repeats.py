"""Count repetitions in a text as datatrove, Dolma and DCLM do: lines, paragraphs and n-grams of words.

A document is split into units (words, lines, paragraphs). Each has a hash and a length in code points; repeats are
counted by these hashes, as in kernel.py.

Slow reference for the tests: tests/twins/gopher_published.py
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dataprep.filters.repeats import STEP, HashCounts, count_hash, slots_mask
from dataprep.unicode.hashes import mix64
from dataprep.unicode.kernel import kernel
from dataprep.unicode.text import I64, SPACE, U8, U16, U64, Int, code_point
from dataprep.unicode.text import strip as strip_text

from .kernel import FACTOR

DATATROVE, DOLMA, DCLM = range(3)
GRAM_WORDS, GRAM_CHARS, GRAM_2, OF_GRAM_2 = 21, 22, 23, 32  # columns of the counts, see COUNTS in published.py


class Buffers(NamedTuple):
    """Work buffers for one document; a unit is a word, line or paragraph.

    Attributes:
        hashes: the hash of each unit.
        chars: the number of characters of the units before each unit; while words are counted, the length of each word,
            from index 1 on.
        grams: the hash of each n-gram.
        slots: the slot in `counts` of each unit or n-gram.
        counts: a table that counts hashes.
        stopped: the number of occurrences of each stop word.
    """

    hashes: U64
    chars: I64
    grams: U64
    slots: I64
    counts: HashCounts
    stopped: I64


@kernel(_nrt=False)
def hash_units(data: U8, a: int, b: int, least: int, runs: int, classes: U16, buffers: Buffers) -> int:
    r"""Write the hashes and lengths of the parts between `least` or more `\n` to `buffers`; return their number.

    - runs: 1 if all further `\n` belong to the separator.
    - classes: if this array is not empty, parts are stripped and blank parts are left out.
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
def repeated(buffers: Buffers, n: int, every: int) -> tuple[int, int]:
    """Return the number of units that repeat another unit, and the number of their characters.

    - every: 1 to count the first occurrences as well.
    """
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
def hash_words(data: U8, a: int, b: int, classes: U16, buffers: Buffers) -> int:
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


@kernel(_nrt=False)
def count_grams(code: int, buffers: Buffers, row: I64) -> None:
    """Count characters of the most frequent n-gram, n = 2 to 4, and characters in repeated n-grams, n = 5 to 10."""
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
    """Return the number of characters in all occurrences of repeated n-grams, and the number in all n-grams.

    For the first number, DCLM counts a character that is in several n-grams once, and Dolma once per n-gram.
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
