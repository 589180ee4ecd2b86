"""Document vectors as sums of the vectors of words: the table of words, and the compiled loop that adds them.

A word that is not in the table has a random vector, chosen by the hash of the word. Without these vectors, documents
that differ only in rare words, such as names, would have equal vectors. The directions that most documents share are
removed (Mu and Viswanath 2018, All-but-the-Top).

Slow reference for the tests: tests/twins/semantic.py
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from dataprep.core.model import batch as B
from dataprep.core.model.batch import Batch
from dataprep.store.spill import Spill
from dataprep.unicode.kernel import kernel
from dataprep.unicode.text import I64, U8, U64
from dataprep.unicode.word_hashes import words

from .kmeans import I32
from .vectors import F64, I16, LENGTH, to_grid

RARE = 4096  # random vectors for the other words
COMMON = 2  # directions removed, of words and again of documents
COMMON_DOCS = 1000  # fewer documents do not show what most have in common


class WordTable(NamedTuple):
    """The vectors of words, and a hash table that finds the vector of a word by the word's hash.

    Attributes:
        keys: the hashes of words, one per slot of the table (open addressing).
        rows: for each slot, the word's row in `vectors`; -1 if the slot is free.
        vectors: int16[:, dim], the vectors of the learned words, then RARE random vectors for other words.
    """

    keys: U64
    rows: I32  # of every slot; -1: the slot is free
    vectors: I16


def without_common(vectors: F64, sample: I16) -> F64:
    """Return `vectors` without their components along the two main directions of the vectors `sample`, int16[n, dim].

    vectors, and the result: float64[m, dim].
    """
    exact = sample.astype(np.float64)  # sums of products of integers: the same for every BLAS
    common = np.linalg.eigh(exact.T @ exact)[1][:, -COMMON:]
    return np.asarray(vectors - vectors @ common @ common.T)


def _sums(texts: tuple[I64, U8], table: WordTable) -> Any:
    """Return the sum of the vectors of the words of every text."""
    return sum_words(*words(*texts), table.keys, table.rows, table.vectors)


def build(vocabulary: Sequence[str], weighted: F64, texts: Sequence[str], seed: int) -> WordTable:
    """Return the table of word vectors: the learned vectors, and RARE random vectors for other words.

    Args:
        vocabulary: the learned words.
        weighted: float64[words, dim], the learned vectors times their weights.
        texts: a sample; if it is large enough, directions that most of its documents share are removed from all
            vectors.
        seed: the seed of the random vectors.
    """
    rare = np.random.RandomState(seed + 1).standard_normal((RARE, weighted.shape[1]))
    vectors = np.concatenate([weighted, rare / np.linalg.norm(rare, axis=1, keepdims=True)])
    keys, rows = slots(vocabulary)
    table = WordTable(keys, rows, _rounded(vectors))
    if len(texts) < COMMON_DOCS:
        return table
    sample = to_grid(_sums(B.buffers(pa.array(texts, pa.large_string())), table))
    return WordTable(keys, rows, _rounded(without_common(vectors, sample)))


def _rounded(vectors: F64) -> I16:
    """Return vectors of length 4,096 for words of weight 1, read-only like arrays from a file, for one compilation."""
    out = np.rint(vectors * LENGTH).astype(np.int16)
    out.flags.writeable = False
    return out


def slots(vocabulary: Sequence[str]) -> tuple[U64, I32]:
    """Return a hash table of words with open addressing: the key and the word number of each slot, uint64 and int32.

    Args:
        vocabulary: the words; their order defines the numbers. A key is the hash of a word; the word number of a free
            slot is -1.
    """
    _, hashes = words(*B.buffers(pa.array(vocabulary, pa.large_string())))
    assert len(hashes) == len(vocabulary), "a word of a normal form is one word"
    size = 1 << max(4, (2 * len(vocabulary)).bit_length())
    keys, rows = np.zeros(size, np.uint64), np.full(size, -1, np.int32)
    for number, h in enumerate(hashes.tolist()):
        at = h % size
        while rows[at] >= 0:
            at = (at + 1) % size
        keys[at], rows[at] = h, number
    keys.flags.writeable = rows.flags.writeable = False
    return keys, rows


@kernel
def sum_words(ends: I64, hashes: U64, keys: U64, rows: I32, vectors: I16) -> F64:
    """Return, for each document, the sum of the vectors of its words, float64[n, d]; these sums of integers are exact.

    - hashes: the hashes of all words; those of document i are hashes[ends[i]:ends[i + 1]].
    - keys, rows, vectors: a WordTable; a word that is not in it has one of the RARE random vectors at the end of
      `vectors`.
    """
    n, d = len(ends) - 1, vectors.shape[1]
    known, mask = np.uint64(len(vectors) - RARE), np.uint64(len(keys) - 1)
    out = np.zeros((n, d), np.float64)
    total = np.zeros(d, np.int32)
    for i in range(n):
        count = 0
        for w in range(ends[i], ends[i + 1]):
            h = hashes[w]
            at = h & mask
            while rows[at] >= 0 and keys[at] != h:
                at = (at + np.uint64(1)) & mask
            row = np.int64(rows[at])
            if row < 0:
                row = np.int64(known + (h >> np.uint64(32)) % np.uint64(RARE))
            vector = vectors[row]
            for j in range(d):
                total[j] += np.int32(vector[j])
            count += 1  # int32 holds the sum of 65,536 components of int16
            if count == 65_536 or w + 1 == ends[i + 1]:
                for j in range(d):
                    out[i, j] += np.float64(total[j])
                    total[j] = 0
                count = 0
    return out


@dataclass(frozen=True)
class WordVectors:
    """Computes documents' vectors as sums of their words' vectors, int16[n, dim]; a document without words has zeros.

    Attributes:
        url: the file of the WordTable.
        key: the hash that identifies the content of this file.
        dim: the number of dimensions of a vector.
    """

    url: str
    key: str
    dim: int

    def __call__(self, batch: Batch) -> I16:
        """Return the vectors of the documents of a batch, on the grid, int16[n, dim]."""
        return np.asarray(to_grid(_sums(B.buffers(batch), _table(self.url, self.key, self.dim))))


@lru_cache(maxsize=1)
def _table(url: str, key: str, dim: int) -> WordTable:  # noqa: ARG001 - the key identifies the model
    with Spill(url) as spill:
        keys, rows = spill.read(0, 0, dtype=np.uint64), spill.read(0, 1, dtype=np.int32)
        return WordTable(keys, rows, spill.read(0, 2, dtype=np.int16).reshape(-1, dim))
