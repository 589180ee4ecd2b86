"""Sort n-grams, divided into parts on disk by their second-to-last word; memory holds one part at a time.

N-grams are arrays of word numbers, int32[order, n]: row 0 has the last word of each n-gram, row 1 the word before it.
Two sort orders are used. In *suffix* order (by the last word, then by the word before it ...), n-grams with the same
ending are neighbours. In *context* order (by the second-to-last word, then by the word before it ...), n-grams with the
same context, which is all words but the last, are neighbours. A stable sort of the context order by the last word
produces the suffix order.

From order 3 on, an n-gram, its suffix (the n-gram without its first word) and all n-grams with the same context have
the same second-to-last word. The counts, sums and probabilities of a part can therefore be computed without other
parts. Single words are kept in memory. Only the back-off weight of an n-gram is computed in a different part than its
probability; `Exchange` joins the two.

Slow reference for the tests: tests/twins/ngram.py
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from typing import IO, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dataprep.errors import PlanError
from dataprep.unicode.kernel import kernel
from dataprep.unicode.text import I64

from .vocabulary import BOS, EOS, I32

DIGIT_BITS = 11  # of a radix sort: 2,048 counters fit in the first cache
FULLEST = 4096  # words assigned to parts one by one, those with most n-grams first


def n_bytes(order: int) -> int:
    """Return how many bytes of memory to allow per n-gram of the highest order: 160 at order 5 (150 were measured)."""
    return 24 * order + 40


def shares(frequency: I64, order: int, memory: int) -> tuple[npt.NDArray[np.int16], int]:
    """Divide n-grams into parts of at most `memory` bytes; return (part of each word, int16[words]; number of parts).

    An n-gram belongs to the part of its second-to-last word.

    - frequency: int64[words], the number of n-grams with each word as the second-to-last.

    Raises PlanError if the n-grams of one word do not fit.
    """
    room = memory // n_bytes(order)
    most = int(frequency.max(initial=0))
    if most > room:
        msg = (
            f"the {most:,} n-grams whose second-to-last word is the most frequent one take "
            f"{most * n_bytes(order) >> 20:,} MiB, but only {memory >> 20:,} MiB are allowed; "
            "raise memory, or lower the order"
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
    """Unsorted n-grams in the temporary file `f`: one block int32[order, size] for each size of `sizes`."""

    f: IO[bytes]
    sizes: list[int]


def scatter(folder: str, blocks: Iterator[I32], order: int, part_of: npt.NDArray[np.int16], n_parts: int) -> list[Heap]:
    """Write every n-gram of the text to a temporary file per part; return one Heap (file) per part.

    - blocks: the word numbers of the text, in arrays of any length.
    - part_of: int16[words], the part of the n-grams whose second-to-last word is this word.
    - n_parts: the number of parts.
    """
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
    """Return the n-grams that `scatter` wrote to the file of `heap`, int32[order, n], and delete the file."""
    columns, start = np.empty((order, sum(heap.sizes)), np.int32), 0
    with heap.f as f:
        f.seek(0)
        for size in heap.sizes:
            block = np.frombuffer(f.read(4 * order * size), np.int32)
            columns[:, start : start + size] = block.reshape(order, size)
            start += size
    return columns


def save(folder: str, part: int, ngrams: Sorted) -> None:
    """Write the sorted n-grams of part number `part` to files in `folder`."""
    for name, array in ngrams._asdict().items():
        np.save(os.path.join(folder, f"{part}.{name}.npy"), array)


def saved(folder: str, part: int) -> Sorted:
    """Return the sorted n-grams of part number `part` that `save` wrote, and delete their files."""
    arrays = {}
    for name in Sorted._fields:
        path = os.path.join(folder, f"{part}.{name}.npy")
        arrays[name] = np.load(path)
        os.unlink(path)
    return Sorted(**arrays)


class Exchange:
    """Files that join the probability and the back-off weight of each n-gram, which are computed in different parts.

    N-grams are processed in parts; each part writes one file for each other part. The probabilities that part i writes
    for part j, and the weights that part j writes for part i, belong to the same n-grams, in the same order.
    """

    def __init__(self, folder: str, part_of: npt.NDArray[np.int16], n_parts: int) -> None:
        self.folder, self.part_of, self.n_parts = folder, part_of, n_parts

    def give_ngrams(self, part: int, columns: I32, probability: Any) -> None:
        """Write the n-grams of part number `part` with their probabilities to files, except those that end with </s>.

        - columns: word numbers, int32[order, n]; row 0 has the last words.
        - probability: float64[n], NaN if the n-gram is pruned.
        """
        goes = np.where(columns[0] == EOS, -1, self.part_of[columns[0]])
        for to in range(self.n_parts):
            name = f"{part}-{to}.{len(columns)}"
            mine = goes == to
            for d, column in enumerate(columns):
                column[mine].tofile(os.path.join(self.folder, f"{name}.words{d}"))
            probability[mine].tofile(os.path.join(self.folder, f"{name}.probability"))

    def give_weights(self, part: int, contexts: I32, gamma: Any) -> None:
        """Write the back-off weights that part number `part` computed to files.

        - gamma: the weights, float64[n].
        - contexts: the n-grams to which the weights belong, as word numbers, int32[order, n]; row 0 has the last words.
        """
        comes = self.part_of[contexts[1]]
        for source in range(self.n_parts):
            path = os.path.join(self.folder, f"{source}-{part}.{len(contexts)}.weights")
            gamma[comes == source].tofile(path)

    def take(self, order: int) -> Iterator[tuple[I32, Any, Any]]:
        """Yield all n-grams of length `order`, file by file, and delete the files.

        Each item is (word numbers int32[order, n], probabilities float64[n], back-off weights float64[n]).
        """
        for source in range(self.n_parts):
            for to in range(self.n_parts):
                name = f"{source}-{to}.{order}"
                words = [_taken(self.folder, f"{name}.words{d}", np.int32) for d in range(order)]
                probability, weights = (_taken(self.folder, f"{name}.{x}", float) for x in ("probability", "weights"))
                assert len(probability) == len(weights), name
                yield np.stack(words), probability, weights


def _taken(folder: str, name: str, dtype: Any) -> npt.NDArray[Any]:
    """Remove a file; return the numbers that it contained."""
    path = os.path.join(folder, name)
    array = np.fromfile(path, dtype)
    os.unlink(path)
    return array


class Sorted(NamedTuple):
    """The distinct n-grams of the highest order, sorted by the last word first, with their counts.

    Attributes:
        columns: word numbers, int32[order, n]; row 0 has the last words.
        counts: the numbers of occurrences, int64[n].
        by_context: the indices of the n-grams, sorted by context (all words but the last).
    """

    columns: I32  # [order, n]
    counts: I64
    by_context: I32  # their indices in context order


def sort_ngrams(columns: I32, n_words: int) -> Sorted:
    """Return the distinct n-grams of `columns`, int32[order, n], sorted and counted.

    - n_words: the size of the vocabulary.
    """
    perm = np.arange(columns.shape[1], dtype=np.int32)
    spare = np.empty_like(perm)
    for column in columns[:0:-1]:
        perm, spare = sort_by(column, perm, spare, n_words)
    by_context = perm.copy()
    perm, spare = sort_by(columns[0], perm, spare, n_words)
    columns = np.stack([column[perm] for column in columns])
    new = np.ones(len(perm), np.bool_)
    if len(new):
        new[1:] = (columns[:, 1:] != columns[:, :-1]).any(0)
    first = np.flatnonzero(new)
    number = spare  # of the distinct n-gram that a row shows first, -1 for its further rows
    number[perm] = np.where(new, np.cumsum(new) - 1, -1)
    shown = number[by_context]
    counts = np.diff(first, append=len(new)).astype(np.int64)
    return Sorted(np.ascontiguousarray(columns[:, first]), counts, shown[shown >= 0])


@kernel
def sort_by(keys: I32, perm: I32, spare: I32, n_words: int) -> tuple[I32, I32]:
    """Sort row numbers stably by the keys of the rows; return (sorted row numbers, int32; the unused array).

    - keys: the key (a word number from 0 to `n_words` - 1) of each row, int32.
    - perm: the row numbers to sort.
    - spare: an array of the same length as `perm`; both arrays are overwritten.
    """
    bits = 1
    while (1 << bits) < n_words:
        bits += 1
    n_digits = (bits + DIGIT_BITS - 1) // DIGIT_BITS
    width = (bits + n_digits - 1) // n_digits
    mask = (1 << width) - 1
    for digit in range(n_digits):
        shift = digit * width
        starts = np.zeros((1 << width) + 1, np.int64)
        for i in range(len(keys)):  # the counts of digits do not depend on the order of rows
            starts[((keys[i] >> shift) & mask) + 1] += 1
        for place in range(1 << width):
            starts[place + 1] += starts[place]
        for i in range(len(perm)):
            row = perm[i]
            place = (keys[row] >> shift) & mask
            spare[starts[place]] = row
            starts[place] += 1
        perm, spare = spare, perm
    return perm, spare
