"""The distinct words of texts and their counts, from which merges are learned.

The words are counted in an open-addressing table of four numbers per word. A word of up to 16 bytes is in its entry, so
that counting it again reads one line of the processor's cache.

Slow reference for the tests: tests/twins/bpe.py
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dataprep.core.model import batch as B
from dataprep.unicode.hashes import eight_bytes
from dataprep.unicode.kernel import kernel
from dataprep.unicode.prefetch import prefetch
from dataprep.unicode.text import I64, U8, U64, Int

from .cutting import Machine, cut_words
from .encoder import MASKS, WIDTH, first_entry, key_of_few, key_of_long, same_bytes

I32 = npt.NDArray[np.int32]
CHUNK = 1 << 20  # bytes of text whose words are counted at a time, unless one document is longer
BLOCK = 1 << 10  # words cut before they are counted, while their entries are loaded
# An entry: two numbers that are the word's bytes, or two hashes of a word of over 16 bytes; then its number << 8 | its
# bytes, 17 for a longer one; then its count.
LONG = 17


class DistinctWords(NamedTuple):
    """Distinct words.

    Attributes:
        ends: int64[n], the index after the last byte of each word in `bytes`.
        bytes: uint8[size], the UTF-8 bytes of all words, one after another.
    """

    ends: I64
    bytes: U8


class WordCounts(NamedTuple):
    """Distinct words, as in `DistinctWords`, and the number of times each occurs, int64[n]."""

    ends: I64
    bytes: U8
    counts: I64


def count_words(texts: Iterable[Sequence[str] | pa.LargeStringArray], machine: Machine) -> WordCounts:
    """Return the distinct words of batches of texts, with counts.

    - machine: state machine that divides texts into words.
    """
    table, sizes = np.zeros(WIDTH << 15, np.uint64), np.zeros(2, np.int64)
    words = DistinctWords(np.empty(0, np.int64), np.empty(0, np.uint8))
    for batch in texts:
        offsets, data = B.buffers(texts_of(batch))
        first = 0
        while first + 1 < len(offsets):
            last = max(first + 1, int(np.searchsorted(offsets, offsets[first] + CHUNK, "right")) - 1)
            more = int(offsets[last] - offsets[first])
            words = DistinctWords(_with_room(words.ends, sizes[0], more), _with_room(words.bytes, sizes[1], more))
            table = _count(offsets[first : last + 1], data, machine, MASKS, table, words, sizes)
            first = last
    return WordCounts(words.ends[: sizes[0]], words.bytes[: sizes[1]], _counts(table, sizes[0]))


def _with_room(array: npt.NDArray[Any], used: int, more: int) -> npt.NDArray[Any]:
    """Return `array`, of which `used` items are in use, or a copy of these with room for at least `more` items."""
    return array if used + more <= len(array) else grown(array[:used], max(2 * used, used + 2 * more))


def texts_of(batch: Sequence[str] | pa.LargeStringArray) -> pa.LargeStringArray:
    """Return a batch of texts as an Arrow large_string array."""
    return batch if isinstance(batch, pa.Array) else pa.array(batch, pa.large_string())


def grown(array: npt.NDArray[Any], n: int) -> npt.NDArray[Any]:
    """Return a copy of `array` with the length `n`; the items added at its end are not initialised."""
    larger = np.empty(n, array.dtype)
    larger[: len(array)] = array
    return larger


@kernel
def _counts(table: U64, n: Int) -> I64:
    """Return the counts of the `n` words of a table, in the order of their numbers."""
    counts = np.empty(n, np.int64)
    for e in range(0, len(table), WIDTH):
        if table[e + 2]:
            counts[table[e + 2] >> np.uint64(8)] = table[e + 3]
    return counts


@kernel
def _twice(table: U64) -> U64:
    """Return a table of twice the size with the same words."""
    larger = np.zeros(2 * len(table), np.uint64)
    for e in range(0, len(table), WIDTH):
        a, b, head = table[e], table[e + 1], table[e + 2]
        if head:
            to = first_entry(a, b, head & np.uint64(0xFF), larger)
            while larger[to + np.uint64(2)]:
                to = (to + np.uint64(WIDTH)) & np.uint64(len(larger) - 1)
            for k in range(WIDTH):
                larger[to + np.uint64(k)] = table[e + k]
    return larger


@kernel
def _count(offsets: I64, data: U8, machine: Machine, masks: U64, table: U64, words: DistinctWords, sizes: I64) -> U64:
    """Count the words of texts; return the table, which is another one if it had to grow.

    - masks: masks[n] selects the first n of eight bytes.
    - words: has room for all words of the texts.
    - sizes: the number of distinct words and of their bytes, which are updated.
    """
    ends, keys = np.empty(BLOCK, np.int64), np.empty(3 * BLOCK, np.uint64)
    for d in range(len(offsets) - 1):
        start, stop = offsets[d], offsets[d + 1]
        while start < stop:
            after, n = cut_words(data, start, stop, machine, ends)
            while 2 * WIDTH * (sizes[0] + n) > len(table):
                table = _twice(table)
            _find_keys(data, start, ends[:n], masks, table, keys)
            _count_block(data, start, ends[:n], keys, table, words, sizes)
            start = after
    return table


@kernel(_nrt=False)
def _find_keys(data: U8, start: Int, stops: I64, masks: U64, table: U64, keys: U64) -> None:
    """Store the key of each of consecutive words, and where its search begins; begin to load the entries.

    - keys: uint64[3 * n], gets the two numbers and the index for each word.
    """
    last, eight = np.uint64(max(0, len(data) - 16)), np.uint64(8)
    i, at = np.uint64(start), np.uint64(0)
    for word_end in stops:
        stop = np.uint64(word_end)
        n = stop - i
        if n >= np.uint64(LONG):
            a, b = key_of_long(data, i, stop)
        elif i < last:
            a = eight_bytes(data, i) & masks[n]
            b = eight_bytes(data, i + eight) & masks[max(n, eight) - eight]
        else:
            a, b = key_of_few(data, np.int64(i), np.int64(stop)), key_of_few(data, np.int64(i + eight), np.int64(stop))
        e = first_entry(a, b, min(n, np.uint64(LONG)), table)
        prefetch(table, e)
        keys[at], keys[at + np.uint64(1)], keys[at + np.uint64(2)] = a, b, e
        i, at = stop, at + np.uint64(3)


@kernel(_nrt=False)
def _count_block(data: U8, start: Int, stops: I64, keys: U64, table: U64, words: DistinctWords, sizes: I64) -> None:
    """Count consecutive words, of which the first begins at `start`; `keys` is from `_find_keys`."""
    beyond, eight = np.uint64(len(table) - 1), np.uint64(8)
    i, k = np.uint64(start), np.uint64(0)
    for word_end in stops:
        stop = np.uint64(word_end)
        n = stop - i
        a, b, e = keys[k], keys[k + np.uint64(1)], keys[k + np.uint64(2)]
        size = min(n, np.uint64(LONG))
        head = table[e + np.uint64(2)]
        while head and not (
            table[e] == a
            and table[e + np.uint64(1)] == b
            and head & np.uint64(0xFF) == size
            and (size < np.uint64(LONG) or _is_word(data, i, n, words, head >> eight))
        ):
            e = (e + np.uint64(WIDTH)) & beyond
            head = table[e + np.uint64(2)]
        if not head:
            w, at = np.uint64(sizes[0]), np.uint64(sizes[1])
            table[e], table[e + np.uint64(1)], table[e + np.uint64(2)] = a, b, w << eight | size
            for j in range(n):
                words.bytes[at + j] = data[i + j]
            words.ends[w] = sizes[1] = at + n
            sizes[0] += 1
        table[e + np.uint64(3)] += np.uint64(1)
        i, k = stop, k + np.uint64(3)


@kernel(_nrt=False)
def _is_word(data: U8, i: Int, n: Int, words: DistinctWords, w: Int) -> bool:
    """Return whether data[i:i + n], of over 16 bytes, is word number `w`."""
    begin = np.uint64(words.ends[w - np.uint64(1)]) if w else np.uint64(0)
    return np.uint64(words.ends[w]) - begin == n and same_bytes(data, i, n, words.bytes, begin)
