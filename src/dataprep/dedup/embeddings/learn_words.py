"""Word vectors from the corpus itself: weighted fastText vectors, trained on a sample of the documents.

The vector of a word with probability p is multiplied by a / (a + p) (SIF; Arora, Liang and Ma 2017). `word_vectors.py`
sums these vectors to document vectors.
"""

from __future__ import annotations

import heapq
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from dataprep.core.model import batch as B
from dataprep.core.model.part import Part
from dataprep.core.run.passes import Pass
from dataprep.errors import need
from dataprep.lazy import compute as pc
from dataprep.store import files
from dataprep.store.ranks import mix
from dataprep.store.spill import Spill, write_spill
from dataprep.unicode.word_texts import word_texts

from .vectors import F64, to_grid
from .word_vectors import build, without_common

SAMPLE_BYTES = 16 << 20  # of text: training takes 12 s (measured); more text changes little
LEAST_BYTES = 1 << 20  # of a part's own sample
MAX_CHARS = 100_000  # of a document of the sample
TRAINED_BYTES = 64 << 20  # a small sample is read several times, up to MAX_EPOCHS times
MIN_EPOCHS, MAX_EPOCHS = 5, 30
MIN_COUNT = 5  # of a word, to be learnt
MAX_WORDS = 1 << 16
SIF = 1e-3  # the weight's a
COMMON_WORDS = 100  # fewer words do not show what most have in common


def sample_bytes(n_parts: int) -> int:
    """Return the number of characters to sample from each of `n_parts` input parts."""
    return min(SAMPLE_BYTES, max(LEAST_BYTES, 2 * SAMPLE_BYTES // max(1, n_parts)))


@dataclass(frozen=True)
class SampleTexts(Pass[Part]):
    """Choose the documents with the smallest hash(seed, id) of an input part as a sample of up to `most` characters."""

    folder = "sample"

    seed: int
    most: int

    def write(self, url: str, item: Part) -> dict[str, Any]:
        """Write the sample of the input part `item` to the file `url`, in three sections; return {}.

        The sections are the documents' hashes, the sizes of their texts in bytes, and the texts, reduced to their words
        separated by single spaces.
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


@dataclass(frozen=True)
class LearnWords(Pass[int]):
    """Train word vectors on the sample of all `n_parts` input parts, in one task.

    Attributes:
        dim: the number of dimensions of a vector.

    The receipt states the size of the sample ("sample_bytes") and the number of learned words ("words").
    """

    folder = "words"
    noun = ""

    dim: int
    seed: int
    n_parts: int

    def write(self, url: str, item: int) -> dict[str, Any]:  # noqa: ARG002 - there is one item
        """Train the word vectors, and write the arrays of a WordTable to the file `url`.

        - item: unused, since there is one task.

        Returns {"sample_bytes": number of characters in the sample, "words": number of learned words}.
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

    - texts: the sample, words separated by spaces.
    - seed: the seed of the initial vectors. Training uses one thread, so that every run returns the same bytes. With
      one thread, fastText 0.9.3 initialises only a tenth of its input matrix, and the rest may lead to NaN. The initial
      vectors are therefore passed in.
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


def _write_start(url: str, names: Sequence[str], dim: int, seed: int) -> None:
    """Write the initial vectors in fastText's text format: uniform in +-1/dim, like fastText's own."""
    start = np.random.RandomState(seed).uniform(-1.0 / dim, 1.0 / dim, (len(names), dim))
    with files.atomic(url) as f:
        f.write(f"{len(names)} {dim}\n".encode())
        for name, row in zip(names, start.tolist(), strict=True):
            f.write((name + " " + " ".join(f"{x:.6f}" for x in row) + "\n").encode())


def spread(learnt: F64) -> F64:
    """Return the word vectors `learnt`, centred, without the directions that most of them share, scaled to length 1.

    learnt, and the result: float64[words, dim]. Training moves the vectors of rare words in one direction. With 300
    documents of random words, all cosines of documents were above 0.99 without this function, and none with it.
    """
    if not len(learnt):
        return learnt
    centred = learnt - learnt.mean(0)
    if len(learnt) >= COMMON_WORDS:
        centred = without_common(centred, to_grid(centred))
    return np.asarray(centred / np.maximum(np.linalg.norm(centred, axis=1, keepdims=True), 1e-9))
