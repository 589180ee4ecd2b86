"""Vectors with integer coordinates, so that scalar products are exact; EmbedDocuments computes and stores them.

A vector is scaled to length 4,096 and rounded to int16 ("on the grid"). Any partial sum of the products of two such
vectors is an integer of at most 4096^2 = 2^24 (Cauchy-Schwarz), which float32 represents exactly. Therefore `a @ b`
gives the same bits regardless of the shape of the matrices, the threads, or the BLAS. The rounding changes a cosine by
about 1e-4.

Slow reference for the tests: tests/twins/semantic.py
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from dataprep.core.model import batch as B
from dataprep.core.model import blame
from dataprep.core.model.batch import Batch
from dataprep.core.model.part import Part
from dataprep.core.run.passes import Pass
from dataprep.dedup.keep import Keep
from dataprep.errors import PlanError, require
from dataprep.store.spill import Spill, spill_to
from dataprep.unicode.kernel import kernel
from dataprep.unicode.text import U64

I16: TypeAlias = npt.NDArray[np.int16]
F32: TypeAlias = npt.NDArray[np.float32]
F64: TypeAlias = npt.NDArray[np.float64]
LAST_ID = np.uint64(2**64 - 1)
LENGTH = 4096  # of every vector, at most
UNITS = 10_000  # decisions use cosines as integers of this scale
SEGMENT_BYTES = 8 << 20
TEXTS_AT_ONCE = 1024  # passed to `embed`, counted from the start of the part, so that batch sizes do not matter


@kernel
def to_grid(vectors: F64) -> I16:
    """Return each vector (row) scaled to length 4,096 and rounded to integers, int16[n, d]; zero vectors stay zero."""
    n, d = vectors.shape
    out = np.zeros((n, d), np.int16)
    scale = 4096.0 - 0.5 * np.sqrt(np.float64(d))  # rounding adds at most sqrt(d) / 2 to the length
    for i in range(n):
        largest, total = 0.0, 0.0
        for j in range(d):
            largest = max(largest, abs(vectors[i, j]))
        if largest == 0.0:
            continue
        for j in range(d):  # sequential, so that the sum does not depend on the number of rows
            x = vectors[i, j] / largest
            total += x * x
        factor = scale / np.sqrt(total)
        for j in range(d):
            out[i, j] = np.int16(np.rint(vectors[i, j] / largest * factor))
    return out


def lengths(vectors: I16) -> F64:
    """Return the length (Euclidean norm) of every vector, float64[n].

    Args:
        vectors: int16[n, d].
    """
    exact = vectors.astype(np.float32)
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", exact, exact).astype(np.float64)))


class Embed(Protocol):
    """A callable that maps a Batch of documents to their vectors, int16[n, d], in the form that `to_grid` returns.

    It must be a frozen dataclass, since it is sent to workers.
    """

    def __call__(self, batch: Batch) -> I16:
        """Return one vector per document, on the grid, int16[n, d]; a zero vector is similar to no other vector."""


@dataclass(frozen=True)
class UserVectors:
    """Computes documents' vectors with the user's function `fn`, which maps n texts, list[str], to array[n, d]."""

    fn: Callable[[list[str]], Any]

    def __call__(self, batch: Batch) -> I16:
        """Call the function on the texts of a batch; return the vectors on the grid, int16[n, d].

        Raises PlanError unless it returns one finite vector per text.
        """
        texts = batch.column("text").to_pylist()
        name = f"embed={getattr(self.fn, '__qualname__', type(self.fn).__name__)}"
        answer = blame.called(name, lambda some: self.fn(some.column("text").to_pylist()), batch)
        try:
            found = np.asarray(answer, np.float64)
        except (TypeError, ValueError):  # rows of different lengths, or values that are not numbers
            found = np.zeros(0)
        require(
            found.ndim == 2 and len(found) == len(texts) and found.shape[1],
            f"{name} returned an array of shape {found.shape} for {len(texts)} texts; "
            "it must return numbers[n, d], one vector per text",
        )
        for bad in np.flatnonzero(~np.isfinite(found).all(1)):
            msg = (
                f"{name} returned a vector with NaN or infinity for document "
                f"{B.show_id(int(B.ids(batch)[bad]))} ({texts[bad][:40]!r}); it must return finite numbers"
            )
            raise PlanError(msg)
        return np.asarray(to_grid(np.ascontiguousarray(found)))


class VectorBlock(NamedTuple):
    """Some documents of an input part, as their ids, ranks and vectors.

    Attributes:
        ids: uint64[n], the documents' ids.
        ranks: uint64[n]; of several copies, the document with the smallest (rank, id) is kept.
        vectors: int16[n, d].
    """

    ids: U64
    ranks: U64
    vectors: I16


@dataclass(frozen=True)
class StoredVectors:
    """The vectors of the documents of an older Dataset, which were computed when it was made.

    Attributes:
        urls: files of EmbedDocuments, in order of ids.
        shift: the number to add to an id to get its counterpart in the files, modulo 2^64.
    """

    urls: tuple[str, ...]
    shift: int

    def covers(self, part: Part) -> bool:
        """Return whether every document of `part` has a vector in the files."""
        wanted = np.concatenate([np.zeros(0, np.uint64), *map(self._ids, part.batches(["id"]))])
        known = [ids for _, _, ids in self._segments(wanted[0], wanted[-1])] if len(wanted) else []
        return bool(B.find_sorted(np.concatenate([wanted[:0], *known]), wanted)[1].all())

    def of(self, part: Part) -> Iterator[tuple[Batch, I16]]:
        """Yield the batches of `part`, with the column id alone, and the vectors of their documents, int16[n, d]."""
        segments, held = None, (np.zeros(0, np.uint64), np.zeros((0, 0), np.int16))
        for batch in filter(len, part.batches(["id"])):
            wanted = self._ids(batch)
            segments = segments or self._segments(wanted[0], LAST_ID)
            while not len(held[0]) or held[0][-1] < wanted[-1]:
                spill, segment, ids = next(segments)
                vectors = spill.read(segment, 2, dtype=np.int16).reshape(len(ids), -1)
                held = np.append(held[0], ids), np.concatenate([held[1].reshape(-1, vectors.shape[1]), vectors])
            yield batch, held[1][B.find_sorted(held[0], wanted)[0]]
            used = int(np.searchsorted(held[0], wanted[-1], "right"))
            held = held[0][used:], held[1][used:]

    def _ids(self, batch: Batch) -> U64:
        return np.asarray(B.ids(batch) + np.uint64(self.shift), np.uint64)

    def _segments(self, first: np.uint64, last: np.uint64) -> Iterator[tuple[Spill, int, U64]]:
        """Yield (file, segment, ids) of the segments with ids from `first` to `last`; other files are skipped early."""
        for url in self.urls:
            with Spill(url) as spill:
                if not spill.segments or spill.read(spill.segments - 1, 0, dtype=np.uint64)[-1] < first:
                    continue
                for segment in range(spill.segments):
                    ids = spill.read(segment, 0, dtype=np.uint64)
                    if ids[0] > last:
                        return
                    if ids[-1] >= first:
                        yield spill, segment, ids


@dataclass(frozen=True)
class EmbedDocuments(Pass[Part]):
    """Compute the vector of every document of an input part, and write the vectors to a temporary file.

    Attributes:
        embed: the object that computes the vectors.
        keep: the rule that ranks copies; it is not applied to the first `n_old` parts, which belong to older Datasets.
        stored: for each of these parts, the vectors that an earlier run stored; () or None if there are none. The
            receipt (the task's record) states the number of documents ("docs"), numbers per vector ("dim"), nonzero
            vectors ("vectors"), and values that `keep` cannot read ("unreadable"), with the first of these ("such_as").
    """

    folder = "vectors"

    embed: Embed
    keep: Keep
    n_old: int = 0  # the first parts, of older Datasets, whose documents are all kept
    stored: tuple[StoredVectors | None, ...] = ()

    def write(self, url: str, item: Part) -> dict[str, Any]:
        """Write the ids, ranks and vectors of the documents of the input part `item` to the file `url`.

        Returns {"docs", "vectors", "dim", "unreadable", "such_as"}; see the class. Raises PlanError if `embed` returns
        vectors of different sizes.
        """
        found: dict[str, Any] = {"docs": 0, "vectors": 0, "dim": 0, "unreadable": 0, "such_as": ""}
        with spill_to(url, 3) as spill:
            spill.write_together(
                self._blocks(item, found), lambda block: block.vectors.nbytes, SEGMENT_BYTES,
                lambda held: list(map(np.concatenate, zip(*held, strict=True))),
            )  # fmt: skip
        return found

    def _blocks(self, part: Part, found: dict[str, Any]) -> Iterator[VectorBlock]:
        """Yield the documents of a part, TEXTS_AT_ONCE at a time, and count them in `found`."""
        keep = Keep.parse("first") if part.number < self.n_old else self.keep
        stored = self.stored[part.number] if part.number < len(self.stored) else None
        if stored is not None and stored.covers(part):
            for batch, vectors in stored.of(part):
                self._count(found, vectors)
                yield VectorBlock(B.ids(batch), keep.rank(batch, []), vectors)
            return
        columns = list(dict.fromkeys(("id", "text", *keep.columns)))
        for batch in B.recut(part.batches(columns)):
            unreadable: list[str] = []
            ids, ranks = B.ids(batch), keep.rank(batch, unreadable)
            found["unreadable"] += len(unreadable)
            found["such_as"] = found["such_as"] or next(iter(unreadable), "")
            for first in range(0, batch.num_rows, TEXTS_AT_ONCE):
                rows = slice(first, first + TEXTS_AT_ONCE)
                with blame.located(part.slices):
                    vectors = self.embed(batch.slice(first, TEXTS_AT_ONCE))
                self._count(found, vectors)
                yield VectorBlock(ids[rows], ranks[rows], vectors)

    def _count(self, found: dict[str, Any], vectors: I16) -> None:
        dim = vectors.shape[1]
        require(found["dim"] in (0, dim), two_sizes(found["dim"], dim))
        found["dim"] = dim
        found["docs"] += len(vectors)
        found["vectors"] += int(np.count_nonzero(vectors.any(1)))


def common_dim(made: Sequence[dict[str, Any]]) -> int:
    """Return the number of dimensions of every vector, from receipts of EmbedDocuments; 1 if there are no vectors.

    Raises PlanError if the receipts differ.
    """
    found = sorted({r["dim"] for r in made if r["dim"]})
    if len(found) > 1:
        raise PlanError(two_sizes(*found[:2]))
    return int(found[0]) if found else 1


def two_sizes(one: int, other: int) -> str:
    """Return the error message for an `embed` that returned vectors with `one` and with `other` dimensions."""
    return f"embed returned vectors of {one} and {other} numbers; all must have the same length"


def blocks(out: str, number: int, dim: int) -> Iterator[VectorBlock]:
    """Yield the stored vectors of input part `number`, about 8 MB at a time.

    - out: the folder of the temporary files.
    - dim: the number of dimensions of a vector.
    """
    with Spill(EmbedDocuments.url(out, number)) as spill:
        for segment in range(spill.segments):
            yield VectorBlock(
                spill.read(segment, 0, dtype=np.uint64),
                spill.read(segment, 1, dtype=np.uint64),
                spill.read(segment, 2, dtype=np.int16).reshape(-1, dim),
            )
