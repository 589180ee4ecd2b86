"""Compute the likeliest label of many texts at once, for lid.176 and fastText classifiers of its kind.

fastText reads a text byte by byte from a C++ stream, and creates a string for each subword. Here the same vectors are
added in the same order, so the labels are equal, and the probabilities have the same bits unless the library was
compiled with fused multiply-add. fastText trains and loads all models; `tables.py` creates the tables.

Slow reference for the tests: tests/twins/likeliest.py, which calls the library.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dataprep.unicode.kernel import kernel
from dataprep.unicode.text import I64, U8

F32 = npt.NDArray[np.float32]
I32 = npt.NDArray[np.int32]
BASIS, PRIME = np.uint32(2166136261), np.uint32(16777619)  # of the hash FNV-1a
END, LABEL = np.frombuffer(b"</s>", np.uint8), np.frombuffer(b"__label__", np.uint8)
HELD = 4_096  # rows that are added together
LOWEST = np.float32(np.log(1e-5))  # logarithm of the smallest probability of a node of the tree that is searched


class Tables(NamedTuple):
    """A classifier as read-only arrays.

    Attributes:
        words: the bytes of all words, and of all labels after them.
        starts: word k is words[starts[k]:starts[k + 1]].
        table: a hash table of the words by their FNV hash; -1 for an empty slot.
        slots: the row of each subword hash modulo `bucket`; -1 if it has no row.
        known: a bit for each slot, 1 if it has a row (these bits fit into the cache).
        rows: the vectors of words and subwords.
        outputs: the vectors of the tree's nodes.
        left: the left child of each node of the tree; -1 for a leaf, which is a label.
        right: the right child of each node; -1 for a leaf.
        n_words: the number of words.
        shortest: the number of characters of the shortest subwords.
        longest: the number of characters of the longest subwords.
        bucket: see slots.
    """

    words: U8
    starts: I64
    table: I32
    slots: I32
    known: U8
    rows: F32
    outputs: F32
    left: I32
    right: I32
    n_words: int
    shortest: int
    longest: int
    bucket: int


class TextScratch(NamedTuple):
    """Arrays in which the kernels work.

    Attributes:
        word: two bytes longer than the longest text.
        held: the rows to be added.
        total: the sum of the rows.
        nodes, scores: arrays with two more entries than there are labels.
    """

    word: U8
    held: I32
    total: F32
    nodes: I32
    scores: F32


def likeliest(tables: Tables, units: I64, data: U8) -> tuple[I32, F32]:
    """Return the likeliest label of each text, and its probability; -1 and 0 if the model knows no part of the text.

    - units: int64[n, 4] of `units_of`; text k is data[units[k, 1]:units[k, 2]], UTF-8; line feeds count as blanks.
    """
    labels, scores = np.full(len(units), -1, np.int32), np.zeros(len(units), np.float32)
    room, n = int((units[:, 2] - units[:, 1]).max(initial=0)) + 2, len(tables.outputs) + 2
    word, held, total = np.empty(room, np.uint8), np.empty(HELD + tables.longest, np.int32), tables.rows[0].copy()
    work = TextScratch(word, held, total, np.empty(n, np.int32), np.empty(n, np.float32))
    _likeliest(tables, units, data, work, labels, scores)
    return labels, scores


@kernel(_nrt=False)
def _mixed(h: np.uint32, byte: np.uint8) -> np.uint32:
    """Return the hash of the bytes so far and one more byte, which is treated as signed."""
    return np.uint32((h ^ np.uint32(np.int8(byte))) * PRIME)


@kernel(_nrt=False)
def fill(table: I32, words: U8, starts: I64) -> None:
    """Insert all words into an empty hash table, whose length is a power of two greater than their number."""
    last = len(table) - 1
    for k in range(len(starts) - 1):
        h = BASIS
        for at in range(starts[k], starts[k + 1]):
            h = _mixed(h, words[at])
        i = np.int64(h) & last
        while table[i] >= 0:
            i = (i + 1) & last
        table[i] = k


@kernel(_nrt=False)
def _word_of(t: Tables, data: U8, start: int, stop: int, h: np.uint32) -> int:
    """Return the number of the word or label data[start:stop], which has the hash `h`; -1 if it is unknown."""
    last = len(t.table) - 1
    i = np.int64(h) & last
    while t.table[i] >= 0:
        k = np.int64(t.table[i])
        at, n = t.starts[k], stop - start
        if t.starts[k + 1] - at == n and _starts_with(data, start, stop, t.words[at : at + n]):
            return int(k)
        i = (i + 1) & last
    return -1


@kernel(_nrt=False)
def _starts_with(data: U8, start: int, stop: int, prefix: U8) -> bool:
    k, n = 0, min(len(prefix), stop - start)
    while k < n and data[start + k] == prefix[k]:
        k += 1
    return k == len(prefix)


@kernel(_nrt=False)
def _add(rows: F32, held: I32, n: int, total: F32) -> None:
    """Add the rows held[:n] to `total`, in this order; eight columns at a time, which stay in registers."""
    dim = len(total)
    whole = dim - dim % 8
    for d in range(0, whole, 8):
        a0, a1, a2, a3 = total[d], total[d + 1], total[d + 2], total[d + 3]
        a4, a5, a6, a7 = total[d + 4], total[d + 5], total[d + 6], total[d + 7]
        for i in range(n):
            row = np.int64(held[i])
            a0 += rows[row, d]
            a1 += rows[row, d + 1]
            a2 += rows[row, d + 2]
            a3 += rows[row, d + 3]
            a4 += rows[row, d + 4]
            a5 += rows[row, d + 5]
            a6 += rows[row, d + 6]
            a7 += rows[row, d + 7]
        total[d], total[d + 1], total[d + 2], total[d + 3] = a0, a1, a2, a3
        total[d + 4], total[d + 5], total[d + 6], total[d + 7] = a4, a5, a6, a7
    for d in range(whole, dim):
        for i in range(n):
            total[d] += rows[np.int64(held[i]), d]


@kernel(_nrt=False)
def _subwords(t: Tables, word: U8, size: int, held: I32, n: int, total: F32) -> tuple[int, int]:
    """Collect the rows of the subwords of word[:size], a word between < and >, after the n rows in `held`.

    Returns how many rows are held afterwards, and how many were added to `total` because `held` was full.
    """
    added = 0
    for i in range(size):
        if word[i] & 0xC0 == 0x80:
            continue
        if n + t.longest > len(held):
            _add(t.rows, held, n, total)
            added, n = added + n, 0
        j, chars, h = i, 0, BASIS
        while j < size and chars < t.longest:
            h = _mixed(h, word[j])
            j += 1
            while j < size and word[j] & 0xC0 == 0x80:
                h = _mixed(h, word[j])
                j += 1
            chars += 1
            if chars >= t.shortest and not (chars == 1 and (i == 0 or j == size)):
                slot = np.int64(h % np.uint32(t.bucket))
                if t.known[slot >> 3] >> (slot & 7) & 1:
                    held[n] = t.slots[slot]
                    n += 1
    return n, added


@kernel(_nrt=False)
def _add_text(t: Tables, data: U8, start: int, stop: int, w: TextScratch) -> int:
    """Add the rows of the words and subwords of a text, and of the end of a text, to w.total; return their number."""
    n, added, i = 0, 0, start
    while True:
        while i < stop and _is_blank(data[i]):
            i += 1
        a, h = i, BASIS
        while i < stop and not _is_blank(data[i]):
            h = _mixed(h, data[i])
            w.word[i - a + 1] = data[i]
            i += 1
        if i == a or (i - a == len(END) and _starts_with(data, a, i, END)):
            break
        k = _word_of(t, data, a, i, h)
        if k >= t.n_words or (k < 0 and _starts_with(data, a, i, LABEL)):
            continue
        w.held[n] = k
        n += k >= 0
        w.word[0], w.word[i - a + 1] = 0x3C, 0x3E
        n, more = _subwords(t, w.word, i - a + 2, w.held, n, w.total)
        added += more
    h = BASIS
    for byte in END:
        h = _mixed(h, byte)
    w.held[n] = _word_of(t, END, 0, len(END), h)
    n += w.held[n] >= 0
    _add(t.rows, w.held, n, w.total)
    return int(added + n)


@kernel(_nrt=False)
def _is_blank(byte: np.uint8) -> bool:
    return bool(byte == 0x20 or 9 <= byte <= 13 or byte == 0)


@kernel(_nrt=False)
def _log(share: float) -> np.float32:
    return np.float32(np.log(share + 1e-5))


@kernel(_nrt=False)
def _best_leaf(t: Tables, hidden: F32, nodes: I32, scores: F32) -> tuple[int, np.float32]:
    """Return the likeliest label of the tree, -1 if there is none, and the logarithm of its probability."""
    n, best, top, depth = len(t.outputs), np.int64(-1), np.float32(0), 1
    nodes[0], scores[0] = 2 * n - 2, 0
    while depth > 0:
        depth -= 1
        node, score = np.int64(nodes[depth]), scores[depth]
        if score < LOWEST or (best >= 0 and score < top):
            continue
        if t.left[node] < 0:
            best, top = node, score
            continue
        dot = np.float32(0)
        for d in range(len(hidden)):
            dot += t.outputs[node - n, d] * hidden[d]
        right = np.float32(1 / np.float64(np.float32(1) + np.exp(-dot)))
        left = np.float32(1 - np.float64(right))
        nodes[depth], scores[depth] = t.right[node], score + _log(np.float64(right))
        nodes[depth + 1], scores[depth + 1] = t.left[node], score + _log(np.float64(left))
        depth += 2
    return int(best), top


@kernel(_nrt=False)
def _likeliest(t: Tables, units: I64, data: U8, w: TextScratch, labels: I32, scores: F32) -> None:
    for u in range(len(units)):
        w.total[:] = 0
        n = _add_text(t, data, units[u, 1], units[u, 2], w)
        if n == 0:
            continue
        share = np.float32(1 / n)
        for d in range(len(w.total)):
            w.total[d] *= share
        best, top = _best_leaf(t, w.total, w.nodes, w.scores)
        if best >= 0:
            labels[u], scores[u] = best, np.exp(top)
