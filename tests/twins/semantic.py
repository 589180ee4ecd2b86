"""Twin of `SemDeDup` (`dedup/embeddings`)."""

from __future__ import annotations

import math

import numpy as np

from dataprep.unicode import word_hashes as kernels
from twins.words import words


def on_grid(vectors) -> np.ndarray:
    """Each row scaled to a length of at most 4,096 and rounded; zeros stay zeros."""
    rows = np.asarray(vectors, np.float64)
    out = np.zeros(rows.shape, np.int64)
    for i, row in enumerate(rows):
        if row.any():
            unit = row / np.abs(row).max()
            out[i] = np.rint(unit / math.sqrt(math.fsum(unit**2)) * (4096 - math.sqrt(len(row)) / 2))
    return out


def cosine(a, b) -> float:
    """The cosine of two whole vectors to four digits; nothing is similar to zeros."""
    size = math.sqrt(int(a @ a)) * math.sqrt(int(b @ b))
    return min(1.0, round(int(a @ b) / size, 4)) if size else -1.0


def semantic_duplicates(vectors, order: list[int], epsilon: float, labels=None) -> dict[int, tuple[int, float]]:
    """Who goes: {document: (first kept one of its cluster, in keep order, above 1 - epsilon, the cosine)}."""
    grid, kept, gone = on_grid(vectors), [], {}
    for d in order:
        mates = [k for k in kept if labels is None or labels[k] == labels[d]]
        hit = next((k for k in mates if cosine(grid[d], grid[k]) > round(1 - epsilon, 4)), None)
        if hit is None:
            kept.append(d)
        else:
            gone[d] = (hit, cosine(grid[d], grid[hit]))
    return gone


def spherical_k_means(sample, k: int, iterations: int) -> np.ndarray:
    """Lloyd's iterations by cosine from the first k different rows; an empty cluster's centroid stays."""
    centroids = np.array(list(dict.fromkeys(map(tuple, sample[: 8 * k].tolist())))[:k])
    for _ in range(iterations):
        size = (1 / np.sqrt((centroids**2).sum(1))).astype(np.float32)
        labels = [int(np.argmax((row @ centroids.T).astype(np.float32) * size)) for row in sample]
        sums = np.array([sum((r for r, m in zip(sample, labels, strict=True) if m == c), sample[0] * 0)
                         for c in range(len(centroids))])  # fmt: skip
        centroids = np.where(sums.any(1)[:, None], on_grid(sums), centroids)
    return centroids


def word_sums(text: str, rows: dict[str, int], vectors, rare: int) -> np.ndarray:
    """The sum of the vectors of a text's words; a word without a row has one of the last `rare`, by its hash."""
    total = np.zeros(vectors.shape[1], np.int64)
    for word in words(text):
        _, hashes = kernels.words(np.array([0, len(word.encode())]), np.frombuffer(word.encode(), np.uint8))
        total += vectors[rows.get(word, len(vectors) - rare + (int(hashes[0]) >> 32) % rare)]
    return total
