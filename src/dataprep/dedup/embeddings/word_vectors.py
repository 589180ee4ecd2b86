"""Document vectors from the corpus itself: fastText word vectors, trained on a sample, as weighted sums.

A document's vector is the sum of the unit vectors of its words. The vector of a word of probability p is weighted by a
/ (a + p) (SIF; Arora, Liang and Ma 2017), and the directions that most documents share are removed (Mu and Viswanath
2018, All-but-the-Top). A word too rare to be learnt has a random vector, chosen by the hash of the word. Without this,
documents that differ only in rare words, such as names, would have equal vectors.

Slow reference for the tests: tests/twins/semantic.py
"""

from __future__ import annotations

import heapq
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dataprep.core import batch as B
from dataprep.core.batch import Batch
from dataprep.core.ledger import mix
from dataprep.core.part import Part
from dataprep.core.passes import Pass
from dataprep.errors import need
from dataprep.store import files
from dataprep.store.spill import Spill, write_spill
from dataprep.unicode.kernel import kernel
from dataprep.unicode.text import I64, U8, U64
from dataprep.unicode.words import word_texts, words

from .kmeans import I32
from .vectors import F64, I16, LENGTH, to_grid

SAMPLE_BYTES = 16 << 20  # of text: 12 s of training, measured; more changes little
LEAST_BYTES = 1 << 20  # of a part's own sample
MAX_CHARS = 100_000  # of a document of the sample
TRAINED_BYTES = 64 << 20  # a small sample is read more often, up to MAX_EPOCHS times
MIN_EPOCHS, MAX_EPOCHS = 5, 30
MIN_COUNT = 5  # of a word, to be learnt
MAX_WORDS = 1 << 16
RARE = 4096  # random vectors for the other words
SIF = 1e-3  # the weight's a
COMMON = 2  # directions removed, of words and again of documents
COMMON_WORDS, COMMON_DOCS = 100, 1000  # fewer do not show what most share


@dataclass(frozen=True)
class SampleTexts(Pass[Part]):
    """Choose the documents with the smallest hash(seed, id) of an input part as a sample of up to `most` characters."""

    folder = "sample"

    seed: int
    most: int

    def write(self, url: str, item: Part) -> dict[str, Any]:
        """Write the sample of the input part `item` to the file `url`, in three sections; return {}.

        The sections are the documents' hashes, the sizes of their texts in bytes, and the texts, reduced to their words
        with one space between them.
        """
        chosen = self._choose(item)
        texts = pa.array([text for _, text in chosen], pa.large_string())
        offsets, data = word_texts(*B.buffers(texts))
        write_spill(url, [np.array([rank for rank, _ in chosen], np.uint64), np.diff(offsets), data])
        return {}

    def _choose(self, part: Part) -> list[tuple[int, str]]:
        """Return the chosen (hash, text), in order of hashes."""
        held: list[tuple[int, str]] = []  # a heap: the largest hash first
        size, cut = 0, 1 << 64
        for batch in part.batches(["id", "text"]):
            ranks = mix(B.ids(batch), self.seed)
            rows = np.flatnonzero(ranks < np.uint64(cut - 1))
            texts = pc.utf8_slice_codeunits(batch.column("text").take(pa.array(rows)), 0, MAX_CHARS).to_pylist()
            for rank, text in zip(ranks[rows].tolist(), texts, strict=True):
                if rank < cut:
                    heapq.heappush(held, (-rank, text))
                    size += len(text)
                while size > self.most and len(held) > 1:
                    largest, removed = heapq.heappop(held)
                    cut, size = -largest, size - len(removed)
        return sorted((-rank, text) for rank, text in held)


class WordTable(NamedTuple):
    """The vectors of words, and a hash table that finds the vector of a word by the word's hash.

    keys: hashes of words, one per slot of the table (open addressing). rows: for each slot, the word's row in
    `vectors`; -1 if the slot is free. vectors: int16[:, dim], first those of the learnt words, then RARE random ones
    for other words.
    """

    keys: U64
    rows: I32  # of every slot; -1: the slot is free
    vectors: I16


@dataclass(frozen=True)
class LearnWords(Pass[int]):
    """Train word vectors on the sample of all `n_parts` input parts, in one task.

    dim: numbers per vector. The receipt (the task's record) states the characters in the sample ("sample_bytes") and
    the number of words learnt ("words").
    """

    folder = "words"
    noun = ""

    dim: int
    seed: int
    n_parts: int

    def write(self, url: str, item: int) -> dict[str, Any]:  # noqa: ARG002 - there is one item
        """Train the word vectors, and write the arrays of a WordTable to the file `url`.

        item: unused, since there is one task. Returns {"sample_bytes": characters in the sample, "words": learnt
        words}.
        """
        texts = self._texts()
        counts: Counter[str] = Counter()
        for text in texts:
            counts.update(text.split())
        often = sorted((-n, word) for word, n in counts.items() if n >= MIN_COUNT)[:MAX_WORDS]
        vocabulary = [word for _, word in often]
        learnt = train(texts, vocabulary, self.dim, self.seed)
        share = np.array([-n for n, _ in often], np.float64) / max(1, counts.total())
        table = build(vocabulary, spread(learnt) * (SIF / (SIF + share))[:, None], texts, self.seed)
        write_spill(url, table)
        return {"sample_bytes": sum(map(len, texts)), "words": len(vocabulary)}

    def _texts(self) -> list[str]:
        """Return the sample in order of its hashes, which shuffles it."""
        found: list[tuple[int, int, int, int]] = []
        for number in range(self.n_parts):
            with Spill(SampleTexts.url(self.out, number)) as spill:
                ranks, sizes = spill.read(0, 0, dtype=np.uint64), spill.read(0, 1, dtype=np.int64)
            ends = np.cumsum(sizes)
            found += zip(ranks.tolist(), [number] * len(ranks), (ends - sizes).tolist(), ends.tolist(), strict=True)
        found.sort()
        total = np.cumsum([stop - start for _, _, start, stop in found])
        chosen = found[: max(1, int(np.searchsorted(total, SAMPLE_BYTES)))]
        return [self._text(*where) for _, *where in chosen]

    def _text(self, number: int, start: int, stop: int) -> str:
        with Spill(SampleTexts.url(self.out, number)) as spill:
            first, _ = spill.where(0, 2)
            return spill.bytes(first + start, first + stop).tobytes().decode()


def train(texts: Sequence[str], vocabulary: Sequence[str], dim: int, seed: int) -> F64:
    """Return a vector for each word of `vocabulary`, float64[words, dim], trained by fastText's CBOW.

    texts: the sample, words separated by spaces. seed: decides the initial vectors. Training uses one thread, so that
    every run returns the same bytes. With one thread, fastText 0.9.3 initialises only a tenth of its input matrix, and
    the rest may lead to NaN; so the initial vectors are passed in.
    """
    if not vocabulary:
        return np.zeros((0, dim))
    fasttext = need("fasttext", extra="langid")
    known = set(vocabulary)
    with tempfile.TemporaryDirectory() as folder:
        lines, start = files.join(folder, "sample"), files.join(folder, "start")
        n_bytes = 0
        with files.atomic(lines) as f:
            for text in texts:
                n_bytes += f.write((" ".join(w for w in text.split() if w in known) + "\n").encode())
        _write_start(start, [*vocabulary, "</s>"], dim, seed)
        epochs = min(MAX_EPOCHS, max(MIN_EPOCHS, TRAINED_BYTES // max(1, n_bytes)))
        model = fasttext.train_unsupervised(
            lines, model="cbow", dim=dim, epoch=epochs, lr=0.1, minCount=1, minn=0, maxn=0, bucket=1, thread=1,
            verbose=0, label="\x01", pretrainedVectors=start,
        )  # fmt: skip
    return np.array([model.get_word_vector(word) for word in vocabulary], np.float64)


def spread(learnt: F64) -> F64:
    """Return the word vectors `learnt`, centred, without the directions that most share, and scaled to length 1.

    learnt, and the result: float64[words, dim]. Training moves the vectors of rare words in one direction: with 300
    documents of random words, all cosines of documents were above 0.99 without this step, and none with it.
    """
    if not len(learnt):
        return learnt
    centred = learnt - learnt.mean(0)
    if len(learnt) >= COMMON_WORDS:
        centred = without_common(centred, to_grid(centred))
    return np.asarray(centred / np.maximum(np.linalg.norm(centred, axis=1, keepdims=True), 1e-9))


def without_common(vectors: F64, sample: I16) -> F64:
    """Return `vectors` without their components along the two main directions of the vectors `sample`, int16[n, dim].

    vectors, and the result: float64[m, dim].
    """
    exact = sample.astype(np.float64)  # sums of products of whole numbers: the same for every BLAS
    common = np.linalg.eigh(exact.T @ exact)[1][:, -COMMON:]
    return np.asarray(vectors - vectors @ common @ common.T)


def _write_start(url: str, names: Sequence[str], dim: int, seed: int) -> None:
    """Write the first vectors in fastText's text form: uniform in +-1/dim, as its own are."""
    start = np.random.RandomState(seed).uniform(-1.0 / dim, 1.0 / dim, (len(names), dim))
    with files.atomic(url) as f:
        f.write(f"{len(names)} {dim}\n".encode())
        for name, row in zip(names, start.tolist(), strict=True):
            f.write((name + " " + " ".join(f"{x:.6f}" for x in row) + "\n").encode())


def _sums(texts: tuple[I64, U8], table: WordTable) -> Any:
    """Return the sum of the vectors of the words of every text."""
    return sum_words(*words(*texts), table.keys, table.rows, table.vectors)


def build(vocabulary: Sequence[str], weighted: F64, texts: Sequence[str], seed: int) -> WordTable:
    """Return the table of word vectors: the learnt ones, and RARE random ones for words that were not learnt.

    vocabulary: the learnt words. weighted: float64[words, dim], the learnt vectors times their weights. texts: a
    sample; if it is large enough, directions that most of its documents share are removed from all vectors. seed:
    decides the random vectors.
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
    """Return vectors of length 4,096 for a word of weight 1; read-only, as arrays from a file: one compilation."""
    out = np.rint(vectors * LENGTH).astype(np.int16)
    out.flags.writeable = False
    return out


def slots(vocabulary: Sequence[str]) -> tuple[U64, I32]:
    """Return a hash table of words with open addressing: the key and the word number of each slot, uint64 and int32.

    vocabulary: the words; their order defines the numbers. A key is the hash of a word; the word number of a free slot
    is -1.
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

    hashes: the hashes of all words; those of document i are hashes[ends[i]:ends[i + 1]]. keys, rows, vectors: a
    WordTable; a word that is not in it has one of the RARE random vectors at the end of `vectors`.
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

    url: the file of the WordTable. key: identifies the content of this file. dim: numbers per vector.
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


def sample_bytes(n_parts: int) -> int:
    """Return how many characters to sample from each input part, if there are `n_parts` parts."""
    return min(SAMPLE_BYTES, max(LEAST_BYTES, 2 * SAMPLE_BYTES // max(1, n_parts)))
