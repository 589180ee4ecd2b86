"""Watches one stage at work and keeps its book: the object a stage calls `stats`.

A document that comes in must go out or be dropped with a reason, exactly once; the ledger holds the batches in
flight and says which document a stage lost, made up or counted twice. Nothing depends on where batches are cut.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from . import batch as B
from .batch import Batch, Ids, show_id
from .stats import EXAMPLE_CHARS, EXAMPLES, Amount, Example, StageStats
from .tables import CUTS, DROPS

BYTES_KEPT, BYTES_DROPPED = "bytes kept", "bytes dropped"  # histograms of every book: documents by length


class _InFlight:
    """One input batch, and which of its rows are accounted for."""

    def __init__(self, batch: Batch) -> None:
        ids = B.ids(batch)
        self.batch = batch
        self.sorted = bool(np.all(ids[1:] > ids[:-1]))
        self.order = np.arange(len(ids)) if self.sorted else np.argsort(ids, kind="stable")
        self.ids = ids if self.sorted else ids[self.order]
        self.n_bytes = B.lengths(batch)
        self.left = len(ids)
        self.done = np.zeros(len(ids), bool)

    def rows(self, ids: Ids) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.bool_]]:
        """Which row each id is (where found), and whether it was found."""
        at = np.minimum(np.searchsorted(self.ids, ids), len(self.ids) - 1)
        found = self.ids[at] == ids
        return self.order[at[found]], found


@dataclass
class Ledger:
    """The `stats` that a stage is handed: `drop`, `count`, `observe`."""

    stage: str
    seed: int = 0
    book: StageStats = field(init=False)
    drops: list[pa.RecordBatch] = field(default_factory=list)
    cuts: list[pa.RecordBatch] = field(default_factory=list)
    source: str | None = None  # set while a Reader reads: what it drops never was a row
    hides: bool = False  # names and texts are left out of what is saved (`Stage.hides`)
    quiet: bool = False  # record nothing: an earlier pass over the same documents did
    _flight: list[_InFlight] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.book = StageStats(self.stage)

    def drop(
        self,
        ids: Any,
        reason: Any,
        kept: Any = None,
        similarity: Any = None,
        *,
        kept_in: Any = None,
        n_bytes: Any = None,
        moved: bool = False,
    ) -> None:
        """Say that documents go, and why.

        ids: uint64[n]. reason: one word, or one a row. kept: uint64[n] or None, the document that stays instead
        (0 is an id: use an Arrow array with nulls where only some rows have one). similarity: float[n] or None.
        n_bytes: only for Readers, the bytes of records that never became rows. moved: the text lives on in `kept`, so
        that no alarm counts it as lost.
        """
        id_array = np.asarray(ids, np.uint64).reshape(-1)
        n = len(id_array)
        if n == 0 or self.quiet:
            return
        reasons = _reasons(reason, n)
        columns = [
            pa.array(id_array),
            pa.repeat(self.stage, n),
            reasons,
            _column(kept_in, pa.string(), n),
            _column(kept, pa.uint64(), n),
            _column(similarity, pa.float32(), n),
        ]
        rows = pa.RecordBatch.from_arrays(columns, schema=DROPS)
        self.drops.append(rows)
        coded = reasons.dictionary_encode()
        codes = coded.indices.to_numpy()
        self.book.moved |= set(coded.dictionary.to_pylist()) if moved else set()
        for code, name in enumerate(coded.dictionary.to_pylist()):
            mine = codes == code
            size = None if n_bytes is None else np.asarray(n_bytes)[mine]
            self._book_drop(name, rows.filter(pa.array(mine)) if len(coded.dictionary) > 1 else rows, size)

    def cut(
        self, ids: Any, start: Any, end: Any, kept: Any = None, kept_start: Any = None, kept_in: Any = None
    ) -> None:
        """Say which bytes of texts go: [start, end) in UTF-8 bytes of the text that came in, and where they stay.

        Rows of one document may be many. Bytes are booked when the batch comes out; a document that goes altogether
        is also dropped.
        """
        if self.quiet:
            return
        id_array = np.asarray(ids, np.uint64).reshape(-1)
        n = len(id_array)
        places = (_column(values, pa.int64(), n) for values in (start, end))
        whose = (_column(kept_in, pa.string(), n), _column(kept, pa.uint64(), n), _column(kept_start, pa.int64(), n))
        columns = [pa.array(id_array), pa.repeat(self.stage, n), *places, *whose]
        self.cuts.append(pa.RecordBatch.from_arrays(columns, schema=CUTS))
        self.count("spans cut", n)

    def count(self, name: str, n: int = 1, *, private: bool = False) -> None:
        """Add to a named counter; private: its name is that of a person, and is left out where people are hidden."""
        if n and not self.quiet:
            self.book.counts[name] += int(n)
            if private:
                self.book.private.add(name)

    def observe(self, name: str, values: Any) -> None:
        """Add integers to a histogram whose bucket b holds the values of b bits."""
        if self.quiet:
            return
        counts = np.bincount(np.frexp(np.asarray(values, np.float64))[1])
        for bucket in np.flatnonzero(counts).tolist():
            self.book.histograms.setdefault(name, Counter())[bucket] += int(counts[bucket])

    def saw(self, batch: Batch) -> Batch:
        """A batch goes into the stage."""
        if batch.num_rows:
            self._flight.append(_InFlight(batch))
            _tally(self.book.into, batch.column("source"), B.lengths(batch))
        return batch

    def gave(self, batch: Batch) -> Batch:
        """A batch comes out of the stage."""
        B.check(batch, self.stage)
        if batch.num_rows == 0:
            return batch
        n_bytes = B.lengths(batch)
        _tally(self.book.out, batch.column("source"), n_bytes)
        self.observe(BYTES_KEPT, n_bytes)
        if self.source is not None:
            _tally(self.book.into, batch.column("source"), n_bytes)
            return batch
        for held, rows, found in self._settle(B.ids(batch), "gave"):
            lost = held.n_bytes[rows] - n_bytes[found]
            self.book.cut += int(lost[lost > 0].sum())
            self.book.added -= int(lost[lost < 0].sum())
        return batch

    def close(self) -> None:
        """The stage is through: everything that came in must be accounted for."""
        left = sum(held.left for held in self._flight)
        if left:
            held = self._flight[0]
            first = show_id(int(B.ids(held.batch)[~held.done][0]))
            msg = f"stage {self.stage} lost {left:,} documents without a reason, the first is {first}"
            raise AssertionError(msg)

    def drop_table(self) -> pa.Table:
        """Everything dropped, sorted by id."""
        table = pa.Table.from_batches(self.drops, DROPS)
        return table.sort_by("id") if len(table) else table

    def cut_table(self) -> pa.Table:
        """Every span cut, sorted by document and place."""
        table = pa.Table.from_batches(self.cuts, CUTS)
        return table.sort_by([("id", "ascending"), ("start", "ascending")]) if len(table) else table

    def result(self) -> StageStats:
        """Return the statistics to save, with names and texts removed if the stage is private."""
        return self.book.hidden() if self.hides else self.book

    def _settle(self, ids: Ids, verb: str) -> Iterator[tuple[_InFlight, npt.NDArray[np.intp], npt.NDArray[np.bool_]]]:
        """Tick off ids against the batches in flight; yields each batch with the rows found in it."""
        open_ids = np.ones(len(ids), bool)
        for held in list(self._flight):
            rows, found = held.rows(ids)
            if not len(rows):
                continue
            if held.done[rows].any() or len(np.unique(rows)) < len(rows):
                twice = show_id(int(B.ids(held.batch)[rows[0]]))
                msg = f"stage {self.stage} {verb} a document twice: one of those near {twice}"
                raise AssertionError(msg)
            held.done[rows] = True
            held.left -= len(rows)
            open_ids &= ~found
            yield held, rows, found
            if held.left == 0:
                self._flight.remove(held)
            if not open_ids.any():
                return
        if open_ids.any():
            unknown = show_id(int(ids[open_ids][0]))
            msg = f"stage {self.stage} {verb} document {unknown}, which it was not given or had already accounted for"
            raise AssertionError(msg)

    def _book_drop(self, reason: str, rows: pa.RecordBatch, n_bytes: Any) -> None:
        ids = rows.column("id").to_numpy()
        into = self.book.dropped.setdefault(reason, {})
        if self.source is not None:
            size = 0 if n_bytes is None else int(np.sum(n_bytes))
            for sources in (into, self.book.into):
                sources.setdefault(self.source, Amount()).__iadd__(Amount(len(ids), size))
            self._remember(reason, rows, None)
            return
        for held, at, found in self._settle(ids, "dropped"):
            _tally(into, held.batch.column("source").take(pa.array(at)), held.n_bytes[at])
            self.observe(BYTES_DROPPED, held.n_bytes[at])
            self._remember(reason, rows.filter(pa.array(found)), (held.batch, at))

    def _remember(self, reason: str, rows: pa.RecordBatch, where: tuple[Batch, npt.NDArray[np.intp]] | None) -> None:
        """Keep the drops with the smallest hash(seed, id) as examples."""
        ranks = mix(rows.column("id").to_numpy(), self.seed)
        have = self.book.examples.setdefault(reason, [])
        best = np.argsort(ranks, kind="stable")[:EXAMPLES]
        for i in best.tolist():
            if len(have) >= EXAMPLES and int(ranks[i]) >= have[-1].rank:
                continue
            source, text = self.source or "", ""
            if where is not None:
                source, text = (where[0].column(c)[int(where[1][i])].as_py() for c in ("source", "text"))
            row = {name: rows.column(name)[i].as_py() for name in ("id", "kept", "similarity")}
            have.append(Example(int(ranks[i]), source=source, text=text[:EXAMPLE_CHARS], **row))
            have.sort()
            del have[EXAMPLES:]


def watch(stage: Callable[..., Iterator[Batch]], batches: Iterator[Batch], ledger: Ledger) -> Iterator[Batch]:
    """The stage's output, every document of it accounted for."""
    for out in stage((ledger.saw(batch) for batch in batches), ledger):
        yield ledger.gave(out)
    ledger.close()


def mix(ids: npt.NDArray[np.uint64], seed: int) -> npt.NDArray[np.uint64]:
    """hash(seed, id): splitmix64's finaliser, uint64[n]; the same on every machine."""
    with np.errstate(over="ignore"):
        x = ids + np.uint64((seed * 0x9E3779B97F4A7C15 + 0x9E3779B97F4A7C15) & (1 << 64) - 1)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return np.asarray(x ^ (x >> np.uint64(31)), np.uint64)


def _tally(into: dict[str, Amount], source: pa.DictionaryArray, n_bytes: npt.NDArray[np.int64]) -> None:
    names = source.dictionary.to_pylist()
    codes = source.indices.to_numpy()
    docs = np.bincount(codes, minlength=len(names))
    size = np.bincount(codes, n_bytes, minlength=len(names))
    for code in np.flatnonzero(docs).tolist():
        into.setdefault(names[code], Amount()).__iadd__(Amount(int(docs[code]), int(size[code])))


def _reasons(reason: Any, n: int) -> pa.StringArray:
    if isinstance(reason, str):
        return pa.repeat(reason, n)
    if isinstance(reason, (pa.Array, pa.ChunkedArray)):
        flat = reason.combine_chunks() if isinstance(reason, pa.ChunkedArray) else reason
        return flat.dictionary_decode() if pa.types.is_dictionary(flat.type) else flat.cast(pa.string())
    return pa.array(list(reason), pa.string())


def _column(values: Any, kind: pa.DataType, n: int) -> pa.Array:
    if values is None:
        return pa.nulls(n, kind)
    if isinstance(values, pa.Array):
        return values.cast(kind)
    if isinstance(values, (str, int, float)):
        return pa.repeat(pa.scalar(values, kind), n)
    return pa.array(values, kind)
