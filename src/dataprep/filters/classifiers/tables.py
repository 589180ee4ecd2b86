"""Read the files of fastText classifiers: check that a file is complete, and create the tables of `likeliest`.

Slow reference for the tests: tests/twins/likeliest.py.
"""

from __future__ import annotations

import os
import struct
from typing import Any

import numpy as np
import numpy.typing as npt

from dataprep.errors import PlanError
from dataprep.store import files
from dataprep.unicode.kernel import kernel
from dataprep.unicode.text import I64, U8

from .likeliest import F32, I32, Tables, fill, likeliest

MAGIC, NEWEST, SUPERVISED, TREE = 793712314, 12, 3, 1
# Magic, version, the arguments; entries, words, labels, tokens and pruned subwords (-1: none) of the dictionary.
HEADER = struct.Struct("<ii12id3iqq")
MATRIX = struct.Struct("<?qq")  # quantized or not, rows, columns
MAX_BYTES = 1 << 28  # of decoded vectors
CENTROIDS = 256
SAMPLES = ("", "The garden was open to everyone. 12 </s> x", "الحديقة مفتوحة 123 été", "__label__x 花園 сад\x00x\x0bla")


def check(path: str) -> None:
    """Raise PlanError if the file at `path` is not a complete fastText classifier.

    fastText would crash on a truncated file, or load random data. A model ends with the matrix of its labels, whose
    size is in the header.
    """
    with files.open_raw(path) as f:
        start = f.read(HEADER.size)
        if len(start) < HEADER.size or struct.unpack_from("<i", start)[0] != MAGIC:
            msg = f"{path} is not a fastText model: it begins with {start[:12]!r}; pass a .bin or .ftz file"
            raise PlanError(msg)
        _, version, dim, *settings = HEADER.unpack(start)
        kind, n_labels = settings[6], settings[-3]
        if kind != SUPERVISED or version > NEWEST or n_labels < 1 or dim < 1:
            msg = f"{path} must be a classifier, but contains word vectors; pass a model of fastText's train_supervised"
            raise PlanError(msg)
        tail = MATRIX.size + 4 * dim * n_labels
        size = f.seek(0, os.SEEK_END)
        f.seek(max(0, size - tail))
        if MATRIX.unpack(f.read(MATRIX.size)) != (False, n_labels, dim):
            msg = f"{path} is truncated or damaged: its {size:,} bytes do not end like a fastText model; fetch it again"
            raise PlanError(msg)


def tables_of(path: str, model: Any) -> Tables | None:
    """Return the tables of a fastText classifier; None if the library must be used instead.

    Args:
        path: the file of a model that the library could load.
        model: the library's object. Tables are created for quantized models with pruned subwords, hierarchical softmax
            and no word n-grams. For other models, the compiled code was less than twice as fast as the library. The
            result is also None if the library gives other answers to SAMPLES.
    """
    data = np.asarray(np.memmap(path, np.uint8, "r"))
    _, version, dim, *settings = HEADER.unpack(data[: HEADER.size].tobytes())
    n_grams, loss, _, bucket, shortest, longest = settings[4:10]
    n, n_words, n_labels, _, n_pruned = settings[12:]
    if version != NEWEST or loss != TREE or n_grams > 1 or n_pruned < 1 or bucket < 1 or not model.is_quantized():
        return None
    words, starts, counts, at = _entries(data, HEADER.size, n)
    pairs, at = _numbers(data, at, np.int32, 2 * n_pruned).reshape(-1, 2), at + 8 * n_pruned
    rows = _decoded(data, at + 1)
    if rows is None or not ((pairs >= 0) & (pairs < (bucket, len(rows) - n_words))).all():
        return None
    slots = np.full(bucket, -1, np.int32)
    slots[pairs[:, 0]] = n_words + pairs[:, 1]
    known = np.packbits(slots >= 0, bitorder="little")
    outputs = _numbers(data, len(data) - 4 * dim * n_labels, np.float32, dim * n_labels).reshape(n_labels, dim)
    table = np.full(1 << (3 * n).bit_length(), -1, np.int32)
    fill(table, words, starts)
    arrays = (words, starts, table, slots, known, rows, outputs, *_tree(counts[n_words:]))
    for array in arrays:
        array.flags.writeable = False  # kernels are compiled once, for read-only arrays
    tables = Tables(*arrays, n_words, shortest, longest, bucket)
    return tables if _agree(tables, model) else None


def _agree(tables: Tables, model: Any) -> bool:
    """Return whether the labels of SAMPLES equal the library's, and the probabilities too, up to rounding."""
    names = model.get_labels()
    for sample in SAMPLES:
        data = np.frombuffer(sample.encode(), np.uint8)
        labels, scores = likeliest(tables, np.array([[0, 0, len(data), len(data)]]), data)
        ours = [(float(p), names[label]) for label, p in zip(labels, scores, strict=True) if label >= 0]
        theirs = model.f.predict(f"{sample}\n", 1, 0.0, "strict")
        if [label for _, label in ours] != [label for _, label in theirs]:
            return False
        if not np.allclose([p for p, _ in ours], [p for p, _ in theirs], rtol=0, atol=1e-5):
            return False
    return True


@kernel
def _entries(data: U8, at: int, n: int) -> tuple[U8, I64, I64, int]:
    """Return the n entries of a dictionary at an offset of a model file: bytes of all words, their starts, counts.

    Each entry ends with a zero, a count of eight bytes and a type of one byte. The last value is the offset after the
    entries.
    """
    starts, counts = np.zeros(n + 1, np.int64), np.zeros(n, np.int64)
    i = at
    for k in range(n):
        a = i
        while data[i] != 0:
            i += 1
        starts[k + 1] = starts[k] + i - a
        for b in range(8):
            counts[k] |= np.int64(data[i + 1 + b]) << 8 * b
        i += 10
    words = np.empty(starts[n], np.uint8)
    for k in range(n):
        a = at + starts[k] + 10 * k
        words[starts[k] : starts[k + 1]] = data[a : a + starts[k + 1] - starts[k]]
    return words, starts, counts, i


def _numbers(data: U8, at: int, kind: npt.DTypeLike, n: int) -> Any:
    """Return n numbers at an offset of a file, which need not be aligned."""
    return np.frombuffer(data[at : at + n * np.dtype(kind).itemsize].tobytes(), kind)


def _decoded(data: U8, at: int) -> F32 | None:
    """Return the vectors of a quantized matrix at an offset; None if they exceed MAX_BYTES.

    Each part of a vector is the code of one of 256 centroids (product quantization); its norm is encoded in the same
    way.
    """
    has_norms, (n, dim, n_codes) = data[at], struct.unpack("<qqi", data[at + 1 : at + 21].tobytes())
    if 4 * n * dim > MAX_BYTES:
        return None
    at += 21
    codes = data[at : at + n_codes].reshape(n, -1)
    _, parts, size, last = struct.unpack("<4i", data[at + n_codes : at + n_codes + 16].tobytes())
    at += n_codes + 16
    centroids, at = _numbers(data, at, np.float32, CENTROIDS * dim), at + 4 * CENTROIDS * dim
    norms = np.ones(n, np.float32)
    if has_norms:
        norms = _numbers(data, at + n + 16, np.float32, CENTROIDS)[data[at : at + n]]
    rows = np.empty((n, dim), np.float32)
    for k in range(parts):
        start = k * size
        stop = start + (last if k == parts - 1 else size)
        part = centroids[CENTROIDS * start : CENTROIDS * stop].reshape(CENTROIDS, stop - start)
        rows[:, start:stop] = norms[:, None] * part[codes[:, k]]
    return rows


def _tree(counts: I64) -> tuple[I32, I32]:
    """Return the children, left and right, of each node of the Huffman tree of labels with these descending counts."""
    n = len(counts)
    left, right = np.full(2 * n - 1, -1, np.int32), np.full(2 * n - 1, -1, np.int32)
    weights = [*counts.tolist(), *[10**15] * (n - 1)]
    leaf, node = n - 1, n
    for parent in range(n, 2 * n - 1):
        pair = []
        for _ in range(2):
            if leaf >= 0 and weights[leaf] < weights[node]:
                pair.append(leaf)
                leaf -= 1
            else:
                pair.append(node)
                node += 1
        left[parent], right[parent] = pair
        weights[parent] = weights[pair[0]] + weights[pair[1]]
    return left, right
