"""N-grams on disk, partitioned by their last but one word, so that memory holds one part at a time.

From order 3 on, an n-gram, the one it ends with and all that share its context have the same last but one word: counts,
sums and probabilities of a part need no other part. Single words are kept in memory. Only a back-off weight is computed
in another part than its n-gram: it is written to a file for that part, in the order of that part's n-grams.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from typing import IO, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dataprep.errors import PlanError
from dataprep.unicode.text import I64

from .order import Sorted
from .vocabulary import BOS, EOS, I32

FULLEST = 4096  # words assigned to parts one by one, those with most n-grams first


def n_bytes(order: int) -> int:
    """Return the bytes of memory per n-gram of the highest order, at most: 150 at order 5, as measured."""
    return 24 * order + 40


def shares(frequency: I64, order: int, memory: int) -> tuple[npt.NDArray[np.int16], int]:
    """Return the part of each word, so that no part has more n-grams than fit in memory, and the number of parts."""
    room = memory // n_bytes(order)
    most = int(frequency.max(initial=0))
    if most > room:
        msg = (
            f"the {most:,} n-grams after the most frequent word take {most * n_bytes(order) >> 20:,} MiB, "
            f"and {memory >> 20:,} are allowed; raise memory, or lower the order"
        )
        raise PlanError(msg)
    n_parts = max(1, -(-int(frequency.sum() * 1.05) // room))
    while True:
        part = np.arange(len(frequency)) % n_parts
        fullest = np.argsort(-frequency, kind="stable")[:FULLEST]
        load = np.bincount(part, frequency, n_parts) - np.bincount(part[fullest], frequency[fullest], n_parts)
        for word in fullest.tolist():
            part[word] = least = int(load.argmin())
            load[least] += frequency[word]
        if load.max() <= room:
            return part.astype(np.int16), n_parts
        n_parts += 1


class Heap(NamedTuple):
    """N-grams of a part, unsorted: blocks int32[order, size] one after the other in a nameless file."""

    f: IO[bytes]
    sizes: list[int]


def scatter(folder: str, blocks: Iterator[I32], order: int, part_of: npt.NDArray[np.int16], n_parts: int) -> list[Heap]:
    """Write the n-grams of all words to the heaps of their parts, block by block; return the heaps."""
    heaps = [Heap(tempfile.TemporaryFile(dir=folder), []) for _ in range(n_parts)]  # noqa: SIM115 - closed when read
    before = np.full(order, BOS, np.int32)
    for block in blocks:
        tokens = np.concatenate([before, block])
        at = np.flatnonzero(block != BOS) + order
        part = part_of[tokens[at - 1]]
        for number in np.unique(part).tolist():
            mine = at[part == number] if n_parts > 1 else at
            heaps[number].f.write(np.stack([tokens[mine - d] for d in range(order)]).data)
            heaps[number].sizes.append(len(mine))
        before = tokens[-order:]
    return heaps


def scattered(heap: Heap, order: int) -> I32:
    """Close a heap and return its n-grams, int32[order, n]."""
    columns, start = np.empty((order, sum(heap.sizes)), np.int32), 0
    with heap.f as f:
        f.seek(0)
        for size in heap.sizes:
            block = np.frombuffer(f.read(4 * order * size), np.int32)
            columns[:, start : start + size] = block.reshape(order, size)
            start += size
    return columns


def save(folder: str, part: int, ngrams: Sorted) -> None:
    """Write sorted n-grams to disk."""
    for name, array in ngrams._asdict().items():
        np.save(os.path.join(folder, f"{part}.{name}.npy"), array)


def saved(folder: str, part: int) -> Sorted:
    """Remove the files of sorted n-grams; return the n-grams."""
    arrays = {}
    for name in Sorted._fields:
        path = os.path.join(folder, f"{part}.{name}.npy")
        arrays[name] = np.load(path)
        os.unlink(path)
    return Sorted(**arrays)


class Exchange:
    """Files that join probabilities of n-grams with their back-off weights, which another part computes.

    A part writes its n-grams in suffix order, the other its weights in context order: between two parts, both
    orders are the same.
    """

    def __init__(self, folder: str, part_of: npt.NDArray[np.int16], n_parts: int) -> None:
        self.folder, self.part_of, self.n_parts = folder, part_of, n_parts

    def give_ngrams(self, part: int, columns: I32, probability: Any) -> None:
        """Write n-grams that do not end a sentence, int32[order, n], with a probability (NaN if pruned)."""
        goes = np.where(columns[0] == EOS, -1, self.part_of[columns[0]])
        for to in range(self.n_parts):
            name = f"{part}-{to}.{len(columns)}"
            mine = goes == to
            for d, column in enumerate(columns):
                _put(self.folder, f"{name}.words{d}", column[mine])
            _put(self.folder, f"{name}.probability", probability[mine])

    def give_weights(self, part: int, contexts: I32, gamma: Any) -> None:
        """Write back-off weights of contexts int32[order, n], the last word first."""
        comes = self.part_of[contexts[1]]
        for source in range(self.n_parts):
            _put(self.folder, f"{source}-{part}.{len(contexts)}.weights", gamma[comes == source])

    def take(self, order: int) -> Iterator[tuple[I32, Any, Any]]:
        """Yield all n-grams of an order, with probability and weight; remove their files."""
        for source in range(self.n_parts):
            for to in range(self.n_parts):
                name = f"{source}-{to}.{order}"
                words = [_taken(self.folder, f"{name}.words{d}", np.int32) for d in range(order)]
                probability, weights = (_taken(self.folder, f"{name}.{x}", float) for x in ("probability", "weights"))
                assert len(probability) == len(weights), name
                yield np.stack(words), probability, weights


def _put(folder: str, name: str, array: npt.NDArray[Any]) -> None:
    array.tofile(os.path.join(folder, name))


def _taken(folder: str, name: str, dtype: Any) -> npt.NDArray[Any]:
    """Remove a file; return its numbers."""
    path = os.path.join(folder, name)
    array = np.fromfile(path, dtype)
    os.unlink(path)
    return array
