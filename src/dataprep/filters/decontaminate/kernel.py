"""Find runs of words from evaluation sets in documents: the table of runs, and the scan.

The scan reads every word once. It looks up a rolling hash of as many words as the shortest run has in a bit table,
which rejects nearly all offsets. For the other offsets, the words of each length of run are hashed, looked up in the
table of runs, and compared byte by byte.

Slow reference for the tests: tests/twins/decontaminate.py.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dataprep.core.model import batch as B
from dataprep.unicode.canonical import FORMS, canonical
from dataprep.unicode.hashes import mix64
from dataprep.unicode.kernel import kernel
from dataprep.unicode.text import I64, U8, U64, Int
from dataprep.unicode.word_hashes import words
from dataprep.unicode.word_texts import word_texts
from dataprep.unicode.words import FOLDED

BITS_PER_RUN = 16
FACTOR = 0x9E3779B97F4A7C15


class Words(NamedTuple):
    """Texts as lower-cased words separated by single spaces.

    Attributes:
        data: UTF-8 bytes of all texts.
        offsets: int64[texts + 1], the offset of each text in `data`.
        ends: int64[texts + 1], the index of each text's first word.
        hashes: the hash of each word.
        starts: the offset in `data` at which each word begins.
    """

    offsets: I64  # [n + 1] into `data`
    data: U8
    ends: I64  # [n + 1] into the words
    hashes: U64  # [words]
    starts: I64  # [words] into `data`


class Runs(NamedTuple):
    """The distinct runs of words (n-grams) of the evaluation sets, numbered from 0, in a hash table.

    Attributes:
        lengths: the lengths of the runs, in words, ascending.
        slots: for each slot of the table, the number of its run, or -1 if it is free.
        keys: the hash of each run.
        at: the offset of each run in `data`, UTF-8 bytes.
        size: the number of bytes of each run.
        bits: a bit table; for each run, the bit of the hash of its first words is set.
        mask: the bit mask of the bits of a hash that are used.
    """

    lengths: I64  # all different lengths in words, ascending
    slots: I64  # [a power of two] the number of a run, or -1
    keys: U64  # [runs] their hashes
    at: I64  # [runs] offsets of their bytes in `data`
    size: I64  # [runs] and their number
    data: U8
    bits: U64  # [a power of two] one bit for the start of each run
    mask: U64  # [1] the bits of a hash that are used; tests use few, to make hashes collide


def words_of(texts: pa.LargeStringArray, word_split: str = "unicode") -> Words:
    """Return the lower-cased words of texts, with their hashes and offsets.

    With "unicode", composed and decomposed characters are equal, and so are letters and their variant forms.

    - word_split: "unicode" or "regex".
    """
    given, word_split = _same_form(texts, word_split)
    offsets, data = B.buffers(B.strings(*word_texts(*given, word_split)))
    ends, hashes = words(offsets, data, word_split)
    firsts = offsets[:-1][np.diff(offsets) > 0]
    starts = np.sort(np.concatenate([firsts, np.flatnonzero(data == ord(" ")) + 1]))
    assert len(starts) == len(hashes), "every word has one hash"
    return Words(offsets, data, ends, hashes, starts)


def _same_form(texts: pa.LargeStringArray, word_split: str) -> tuple[tuple[I64, U8], str]:
    """Return the buffers of texts, and the word split; with "unicode", letters are in plain form, and `ı` is `i`."""
    given = B.buffers(texts)
    return (canonical(*given, FORMS), FOLDED) if word_split == "unicode" else (given, word_split)


def table_of(texts: Words, n: int, shortest: int, key_bits: int) -> tuple[Runs, npt.NDArray[np.int64], I64]:
    """Return the table of the distinct runs of words in `texts`, and for each occurrence the run and the text.

    - key_bits: the number of bits of the hashes that are used.

    Returns (table, numbers of runs, indices of texts); the last two are int64 arrays with an entry for each occurrence
    of a run, in the order of the texts. A run has `n` words; a text with `shortest` to n - 1 words is one run.
    """
    sizes = np.diff(texts.ends)
    per_text = np.where(sizes >= n, sizes - n + 1, sizes >= shortest).astype(np.int64)
    owner = np.repeat(np.arange(len(sizes)), per_text)
    first = np.arange(len(owner)) - np.repeat(np.cumsum(per_text) - per_text, per_text) + texts.ends[owner]
    length = np.minimum(sizes, n)[owner]
    n_slots = 1 << max(4, (2 * len(owner)).bit_length())
    mask = np.array([(1 << key_bits) - 1], np.uint64)
    runs = Runs(
        lengths=np.unique(length),
        slots=np.full(n_slots, -1, np.int64),
        keys=np.zeros(len(owner), np.uint64),
        at=np.zeros(len(owner), np.int64),
        size=np.zeros(len(owner), np.int64),
        data=texts.data,
        bits=np.zeros(n_slots * BITS_PER_RUN // 64, np.uint64),
        mask=mask,
    )
    return runs, _fill(runs, texts, first, length), owner


@kernel(inline="always")
def _key(h: Int, length: Int, mask: U64) -> Int:
    """Return the hash of a run from the polynomial of its words."""
    return mix64(h ^ np.uint64(length)) & mask[0]


@kernel
def _find(runs: Runs, key: Int, data: U8, at: Int, size: Int) -> tuple[Int, Int]:
    """Return the number of the run with these bytes, or -1, and its slot or the free slot for it."""
    last = np.uint64(len(runs.slots) - 1)
    slot = key & last
    while runs.slots[slot] >= 0:
        e = runs.slots[slot]
        if runs.keys[e] == key and runs.size[e] == size:
            k = 0
            while k < size and runs.data[runs.at[e] + k] == data[at + k]:
                k += 1
            if k == size:
                return e, np.int64(slot)
        slot = (slot + np.uint64(1)) & last
    return np.int64(-1), np.int64(slot)


@kernel
def _span(texts: Words, d: Int, j: Int, length: Int) -> Int:
    """Return the bytes of `length` words from word j of text d."""
    last = j + length
    return (texts.starts[last] - 1 if last < texts.ends[d + 1] else texts.offsets[d + 1]) - texts.starts[j]


@kernel
def _shift(runs: Runs) -> Int:
    """Return how far a hash is shifted right to obtain its bit number in `runs.bits`."""
    shift = np.uint64(64)
    while np.int64(1) << (np.int64(64) - np.int64(shift)) < 64 * len(runs.bits):
        shift -= np.uint64(1)
    return shift


@kernel
def _fill(runs: Runs, texts: Words, first: I64, length: I64) -> I64:
    """Write every run to the table; return their numbers."""
    out = np.empty(len(first), np.int64)
    stem, used, d = runs.lengths[0] if len(runs.lengths) else 0, 0, 0
    shift = _shift(runs)
    for g in range(len(first)):
        j = first[g]
        while texts.ends[d + 1] <= j:
            d += 1
        size = _span(texts, d, j, length[g])
        h, stem_hash = np.uint64(0), np.uint64(0)
        for k in range(j, j + length[g]):
            h = h * np.uint64(FACTOR) + texts.hashes[k]
            if k == j + stem - 1:
                stem_hash = h
        key = _key(h, length[g], runs.mask)
        e, slot = _find(runs, key, texts.data, texts.starts[j], size)
        if e < 0:
            e = used
            used += 1
            runs.slots[slot], runs.keys[e], runs.at[e], runs.size[e] = e, key, texts.starts[j], size
            bit = stem_hash >> shift
            runs.bits[bit >> np.uint64(6)] |= np.uint64(1) << (bit & np.uint64(63))
        out[g] = e
    return out


@kernel
def candidates(ends: I64, hashes: U64, runs: Runs) -> npt.NDArray[np.bool_]:
    """Return, for each text, whether it may contain one of the runs of words, bool[texts].

    True means that some words have the same hash as a run; bytes are not compared.

    Args:
        ends: int64[texts + 1], the index of each text's first word.
        hashes: uint64, of all words.
        runs: the runs of words to find.
    """
    n = len(ends) - 1
    out = np.zeros(n, np.bool_)
    stem, factor, drop = runs.lengths[0], np.uint64(FACTOR), np.uint64(1)
    last = np.uint64(len(runs.slots) - 1)
    for _ in range(stem):
        drop *= factor
    shift = _shift(runs)
    for d in range(n):
        h: Int = np.uint64(0)
        begin = ends[d] + stem
        for i in range(ends[d], ends[d + 1]):
            h = h * factor + hashes[i]
            if i + 1 < begin:
                continue
            if i >= begin:
                h -= hashes[i - stem] * drop
            bit = h >> shift
            if runs.bits[bit >> np.uint64(6)] >> (bit & np.uint64(63)) & np.uint64(1):
                first, k, whole = i + 1 - stem, i + 1 - stem, np.uint64(0)
                for length in runs.lengths:
                    if first + length > ends[d + 1]:
                        break
                    while k < first + length:
                        whole = whole * factor + hashes[k]
                        k += 1
                    key = _key(whole, length, runs.mask)
                    slot = key & last
                    while runs.slots[slot] >= 0 and runs.keys[runs.slots[slot]] != key:
                        slot = (slot + np.uint64(1)) & last
                    out[d] = out[d] or runs.slots[slot] >= 0
                if out[d]:
                    break
    return out


@kernel
def occurrences(texts: Words, runs: Runs, out: I64) -> int:
    """Write a row (index of text, index of run) to `out` for each occurrence of a run of words; return the count.

    A run may occur at any word; its bytes are compared, not only its hash.

    - out: int64[capacity, 2]; rows beyond the capacity are counted, but not written.
    """
    n = 0
    for d in range(len(texts.ends) - 1):
        for j in range(texts.ends[d], texts.ends[d + 1]):
            h, k = np.uint64(0), j
            for length in runs.lengths:
                if j + length > texts.ends[d + 1]:
                    break
                while k < j + length:
                    h = h * np.uint64(FACTOR) + texts.hashes[k]
                    k += 1
                size = _span(texts, d, j, length)
                e, _ = _find(runs, _key(h, length, runs.mask), texts.data, texts.starts[j], size)
                if e >= 0:
                    if n < len(out):
                        out[n, 0], out[n, 1] = d, e
                    n += 1
    return n


def find(texts: pa.LargeStringArray, runs: Runs, word_split: str = "unicode") -> I64:
    """Find all occurrences of the runs in texts: candidates are found by hash and confirmed byte by byte.

    - word_split: see `words_of`.

    Returns int64[occurrences, 2] with rows (index of the text, number of the run), in the order of the texts.
    """
    given, folded = _same_form(texts, word_split)
    rows = np.flatnonzero(candidates(*words(*given, folded), runs))
    few = words_of(texts.take(pa.array(rows)), word_split)
    out = np.empty((len(few.hashes), 2), np.int64)  # rarely too small: an offset can have a run of each length
    n_found = occurrences(few, runs, out)
    if n_found > len(out):
        out = np.empty((n_found, 2), np.int64)
        occurrences(few, runs, out)
    out = out[:n_found]
    out[:, 0] = rows[out[:, 0]]
    return out
