"""Kernels that find, for the documents of a cluster, the first kept document with a similar vector.

Slow reference for the tests: tests/twins/semantic.py
"""

from __future__ import annotations

import numpy as np

from dataprep.unicode.kernel import kernel
from dataprep.unicode.text import I64, Int

from .vectors import F32, F64


@kernel(inline="always")
def cosine(product: Int, a: Int, b: Int) -> Int:
    """Return the cosine of two vectors, rounded to an integer in ten-thousandths.

    Args:
        product: the vectors' scalar product.
        a: the norm of the first vector.
        b: the norm of the second vector.
    """
    return np.int64(np.rint(min(np.float64(product) / (a * b), 1.0) * 10_000.0))


@kernel
def first_hits(products: F32, a: F64, b: F64, limit: int, rows: I64, names: I64, hit: I64, similar: F32) -> None:
    """Find, for each of n documents, the first of m kept documents whose cosine, in ten-thousandths, is above `limit`.

    - products: float32[n, m], scalar products.
    - a: lengths (norms) of the n documents' vectors.
    - b: lengths of the m kept documents' vectors.
    - rows: the index of each of the n documents in `hit` and `similar`.
    - names: a number for each of the m kept documents. If document i is similar to kept document j, names[j] is written
      to hit[rows[i]], and the cosine (0 to 1) to similar[rows[i]]; otherwise nothing is written.
    """
    n, m = products.shape
    least = np.empty(m, np.float32)
    for i in range(n):
        for j in range(m):  # just below the limit, so that few are computed exactly
            least[j] = np.float32((limit - 1) / 10_000.0 * a[i] * b[j])
        some = 0
        for j in range(m):  # no branch: eight at a time
            some += products[i, j] > least[j]
        if some:
            for j in range(m):
                if products[i, j] > least[j]:
                    c = cosine(products[i, j], a[i], b[j])
                    if c > limit:
                        hit[rows[i]], similar[rows[i]] = names[j], np.float32(c / 10_000.0)
                        break


@kernel
def among(products: F32, a: F64, limit: int, rows: I64, names: I64, capacity: int, hit: I64, similar: F32) -> I64:
    """Compare n documents with each other, in order; return the entries of `rows` of those to keep.

    - products: float32[n, n], scalar products.
    - a: lengths (norms) of the vectors.
    - rows: the index of each document in `names`, `hit` and `similar`.
    - capacity: the largest number of entries to return.
    - limit: a document is dropped if its cosine to an earlier kept one, in ten-thousandths, is above this. If document
      i is similar to kept document j, names[rows[j]] is written to hit[rows[i]], and the cosine (0 to 1) to
      similar[rows[i]].
    """
    n = len(products)
    kept, k = np.empty(n, np.int64), 0
    for i in range(n):
        for e in range(k):
            c = cosine(products[i, kept[e]], a[i], a[kept[e]])
            if c > limit:
                hit[rows[i]], similar[rows[i]] = names[rows[kept[e]]], np.float32(c / 10_000.0)
                break
        if hit[rows[i]] < 0 and k < capacity:
            kept[k] = i
            k += 1
    out = np.empty(k, np.int64)
    for e in range(k):
        out[e] = rows[kept[e]]
    return out
