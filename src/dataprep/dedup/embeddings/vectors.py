"""Vectors on a grid: unit vectors as integers, so that their products are exact, and EmbedDocuments, which makes them.

A vector is scaled to length 4,096 and rounded to int16. Any partial sum of the products of two such vectors is a whole
number of at most 4096^2 = 2^24 (Cauchy-Schwarz), which float32 holds exactly; so `a @ b` gives the same bits whatever
the shape of the matrices, the threads, or the BLAS. The rounding changes a cosine by about 1e-4.

Twin: tests/twins/semantic.py
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from dataprep.core import batch as B
from dataprep.core.batch import Batch
from dataprep.core.part import Part
from dataprep.core.passes import Pass
from dataprep.dedup.keep import Keep
from dataprep.errors import PlanError
from dataprep.store.spill import Spill, spill_to
from dataprep.unicode.kernel import kernel
from dataprep.unicode.text import U64

I16: TypeAlias = npt.NDArray[np.int16]
F32: TypeAlias = npt.NDArray[np.float32]
F64: TypeAlias = npt.NDArray[np.float64]
LENGTH = 4096  # of every vector, at most
UNITS = 10_000  # decisions use cosines as integers of this scale
SEGMENT_BYTES = 8 << 20
TEXTS_AT_ONCE = 1024  # passed to `embed`, counted from the start of the part, so that batch sizes do not matter


@kernel
def to_grid(vectors: F64) -> I16:
    """Scale every row to length 4,096 and round it, int16[n, d]; a zero row is unchanged."""
    n, d = vectors.shape
    out = np.zeros((n, d), np.int16)
    scale = 4096.0 - 0.5 * np.sqrt(np.float64(d))  # rounding adds at most sqrt(d) / 2 to the length
    for i in range(n):
        largest, total = 0.0, 0.0
        for j in range(d):
            largest = max(largest, abs(vectors[i, j]))
        if largest == 0.0:
            continue
        for j in range(d):  # one after the other: the sum does not depend on how many rows there are
            x = vectors[i, j] / largest
            total += x * x
        factor = scale / np.sqrt(total)
        for j in range(d):
            out[i, j] = np.int16(np.rint(vectors[i, j] / largest * factor))
    return out


def lengths(vectors: I16) -> F64:
    """Return the length of every vector, float64[n]; 0 for a zero vector, which is similar to nothing."""
    exact = vectors.astype(np.float32)
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", exact, exact).astype(np.float64)))


class Embed(Protocol):
    """Computes vectors of texts; a frozen dataclass, since it is sent to workers."""

    def __call__(self, batch: Batch) -> I16:
        """Return vectors on the grid, int16[n, d]; a zero vector is similar to nothing."""


@dataclass(frozen=True)
class UserVectors:
    """Vectors from the user's function: list[str] -> array[n, d]."""

    fn: Callable[[list[str]], Any]

    def __call__(self, batch: Batch) -> I16:
        """Call the function; raises PlanError unless it returns one finite vector per text."""
        texts = batch.column("text").to_pylist()
        answer = self.fn(texts)
        try:
            found = np.asarray(answer, np.float64)
        except (TypeError, ValueError):  # rows of different lengths, or not numbers
            found = np.zeros(0)
        if found.ndim != 2 or len(found) != len(texts) or not found.shape[1]:
            msg = (
                f"embed={_name(self.fn)} returned an array of shape {found.shape} for {len(texts)} texts; "
                "it must return numbers[n, d], one vector per text"
            )
            raise PlanError(msg)
        bad = np.flatnonzero(~np.isfinite(found).all(1))
        if len(bad):
            msg = (
                f"embed={_name(self.fn)} returned a vector with NaN or infinity for document "
                f"{B.show_id(int(B.ids(batch)[bad[0]]))} ({texts[bad[0]][:40]!r}); it must return finite numbers"
            )
            raise PlanError(msg)
        return np.asarray(to_grid(np.ascontiguousarray(found)))


def _name(fn: Any) -> str:
    return str(getattr(fn, "__qualname__", type(fn).__name__))


class VectorBlock(NamedTuple):
    """Some documents of a part: ids, ranks (the smallest is preferred) and vectors."""

    ids: U64
    ranks: U64
    vectors: I16


@dataclass(frozen=True)
class EmbedDocuments(Pass[Part]):
    """Read a part and spill the vector of every document.

    Receipt: how many documents and components there are, and how many vectors are not zero.
    """

    folder = "vectors"

    embed: Embed
    keep: Keep

    def write(self, url: str, item: Part) -> dict[str, Any]:
        """Write segments of ids, ranks and vectors."""
        found = {"docs": 0, "vectors": 0, "dim": 0}
        with spill_to(url, 3) as spill:
            held: list[VectorBlock] = []
            for block in self._blocks(item):
                dim = block.vectors.shape[1]
                if found["dim"] not in (0, dim):
                    raise PlanError(two_sizes(found["dim"], dim))
                found["dim"] = dim
                found["docs"] += len(block.ids)
                found["vectors"] += int(np.count_nonzero(block.vectors.any(1)))
                held.append(block)
                if sum(b.vectors.nbytes for b in held) >= SEGMENT_BYTES:
                    spill.write([np.concatenate(column) for column in zip(*held, strict=True)])
                    held = []
            if held:
                spill.write([np.concatenate(column) for column in zip(*held, strict=True)])
        return found

    def _blocks(self, part: Part) -> Iterator[VectorBlock]:
        """Yield the documents of a part, TEXTS_AT_ONCE at a time."""
        columns = list(dict.fromkeys(("id", "text", *self.keep.columns)))
        for batch in B.recut(part.batches(columns)):
            ids, ranks = B.ids(batch), self.keep.rank(batch)
            for first in range(0, batch.num_rows, TEXTS_AT_ONCE):
                rows = slice(first, first + TEXTS_AT_ONCE)
                yield VectorBlock(ids[rows], ranks[rows], self.embed(batch.slice(first, TEXTS_AT_ONCE)))


def two_sizes(one: int, other: int) -> str:
    """Return the message about vectors of different sizes."""
    return f"embed returned vectors of {one} numbers and of {other}; all must have the same number"


def blocks(out: str, number: int, dim: int) -> Iterator[VectorBlock]:
    """Yield the vectors of a part, about 8 MB at a time."""
    with Spill(EmbedDocuments.url(out, number)) as spill:
        for segment in range(spill.segments):
            yield VectorBlock(
                spill.read(segment, 0, dtype=np.uint64),
                spill.read(segment, 1, dtype=np.uint64),
                spill.read(segment, 2, dtype=np.int16).reshape(-1, dim),
            )
