"""Ledger: records what one stage does to each document. Stages receive it as `stats`.

A stage must return every document that it receives, or drop it with a reason, exactly once. The ledger keeps the
batches that a stage has not yet returned, and reports any document that a stage lost, invented or counted twice. The
records do not depend on the sizes of batches.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dataprep.errors import FunctionFailed, counted
from dataprep.lazy import compute as pc
from dataprep.store.parquet import sorted_rows
from dataprep.store.ranks import mix

from . import batch as B
from .batch import Batch, Ids, show_id
from .quotes import QUOTED_BYTES, QUOTED_CHARS, Quotes, first_missing
from .stats import EXAMPLES, OTHER, Amount, Example, RuleCuts, StageStats
from .tables import CUTS, DROPS, Unread, new_rows, united

Rows: TypeAlias = npt.NDArray[np.intp]
Found: TypeAlias = npt.NDArray[np.bool_]

BYTES_KEPT, BYTES_DROPPED = "bytes_kept", "bytes_dropped"  # histograms of every stage: documents by length


class HeldBatch:
    """One input batch, and one flag per row: whether the row is accounted for."""

    def __init__(self, batch: Batch) -> None:
        ids = B.ids(batch)
        is_sorted = bool(np.all(ids[1:] > ids[:-1]))
        self.batch = batch
        self.order = np.arange(len(ids)) if is_sorted else np.argsort(ids, kind="stable")
        self.ids = ids if is_sorted else ids[self.order]
        self.n_bytes = B.lengths(batch)
        self.left = len(ids)
        self.done = np.zeros(len(ids), bool)

    def rows(self, ids: Ids) -> tuple[Rows, Found]:
        """Return the row of each id that was found, and whether each id was found."""
        at, found = B.find_sorted(self.ids, ids)
        return self.order[at[found]], found


@dataclass
class Ledger:
    """Records what one stage or reader does to each document; stages receive it as the argument `stats`.

    `record` has the counts, `drops` and `cuts` have the rows of the tables, `unread` has the unreadable files.

    Attributes:
        stage: the stage's name.
        source: for the ledger of a reader, the source name of its documents; None for a stage.
        quiet: if True, nothing is recorded, because an earlier pass over the same documents has recorded it.
        same_text: if True, FunctionFailed is raised if a stage returns a text that differs from the one it received.
        is_replay: True if a stage is run once more to find where its rules cut. The stage must then pass each cut to
            `cut`, with its rule as `reason`, instead of calling `trim`.
    """

    stage: str
    record: StageStats = field(init=False)
    drops: list[pa.RecordBatch] = field(default_factory=list)
    cuts: list[pa.RecordBatch] = field(default_factory=list)
    unread: list[Unread] = field(default_factory=list)
    source: str | None = None
    quiet: bool = False
    same_text: bool = False
    is_replay: bool = False
    _quotes: Quotes = field(default_factory=lambda: Quotes(EXAMPLES))
    _states_rules: bool = False  # whether the stage calls `trim` or `cut`
    _new_cuts: list[pa.RecordBatch] = field(default_factory=list)  # of documents that are not returned yet
    _held: list[HeldBatch] = field(default_factory=list)  # the batches with documents that are not accounted for
    _last: Ids = field(default_factory=lambda: np.zeros(0, np.uint64))  # the last id that was returned, if any

    def __post_init__(self) -> None:
        self.record = StageStats(self.stage)

    def drop(
        self,
        ids: Any,
        reason: Any,
        duplicate_of: Any = None,
        similarity: Any = None,
        *,
        duplicate_of_dataset: Any = None,
        n_bytes: Any = None,
        moved: bool = False,
        **further: Any,
    ) -> None:
        """Record that documents are dropped.

        Args:
            ids: the documents' ids, uint64[n].
            reason: one word for all ids, or one word per id.
            duplicate_of: uint64[n], the documents that are kept instead; an Arrow array with nulls if some documents
                have none.
            similarity: float[n] or None, the similarity of each dropped document to the kept one.
            duplicate_of_dataset: the folder of the Dataset that contains `duplicate_of`, if it is a different Dataset.
            n_bytes: only for Readers, the size in bytes of records that never became documents.
            moved: True if the text is now part of the document `duplicate_of`, so that it is not counted as lost.
            further: `value`, float[n], the numbers that the rule compared; `label`, the labels of a classifier.
        """
        id_array = np.asarray(ids, np.uint64).reshape(-1)
        n = len(id_array)
        if n == 0 or self.quiet:
            return
        reasons = _reasons(reason, n)
        further |= {
            "duplicate_of": duplicate_of,
            "similarity": similarity,
            "duplicate_of_dataset": duplicate_of_dataset,
        }
        rows = new_rows(DROPS, id=id_array, stage=self.stage, reason=reasons, **further)
        self.record.moved |= set(reasons.unique().to_pylist()) if moved else set()
        if self.source is not None:
            source = pa.DictionaryArray.from_arrays(np.zeros(n, np.int32), pa.array([self.source], pa.string()))
            self._add_drops(rows, source, None if n_bytes is None else np.asarray(n_bytes, np.int64), None)
            return
        for held, at, found in self._settle(id_array, "dropped"):
            mine = rows if found.all() else rows.filter(pa.array(found))
            self._add_drops(mine, held.batch.column("source").take(pa.array(at)), held.n_bytes[at], (held.batch, at))

    def cut(
        self, ids: Any, start: Any, end: Any, duplicate_of: Any = None, duplicate_of_start: Any = None,
        duplicate_of_end: Any = None, *, duplicate_of_dataset: Any = None, **further: Any,
    ) -> None:  # fmt: skip
        """Record byte ranges that were removed from texts and, for each range, the copy that is retained elsewhere.

        Args:
            ids: uint64[n], the documents that lose a range.
            start: int64[n], offsets in UTF-8 bytes in the text that the stage received.
            end: int64[n], the offset after the last removed byte of each range.
            duplicate_of: uint64[n] or None, the document with the retained copy.
            duplicate_of_start: int64[n] or None, the offset of the copy in that document.
            duplicate_of_end: int64[n] or None, the offset after the last byte of the copy.
            duplicate_of_dataset: the folder of the Dataset that contains `duplicate_of`, if it is a different Dataset.
            further: `reason`, the rule that cut each range.

        Ranges of a document may overlap. The removed bytes are counted when the batch is returned; a document of which
        nothing remains must also be dropped.
        """
        if self.quiet:
            return
        id_array = np.asarray(ids, np.uint64).reshape(-1)
        further |= {
            "duplicate_of": duplicate_of,
            "duplicate_of_start": duplicate_of_start,
            "duplicate_of_end": duplicate_of_end,
            "duplicate_of_dataset": duplicate_of_dataset,
        }
        further |= {"source": self._sources(id_array)}
        rows = new_rows(CUTS, id=id_array, stage=self.stage, start=start, end=end, **further)
        self.cuts.append(rows)
        self._new_cuts.append(rows)
        self._states_rules = True
        self.count("spans_cut", len(united(id_array, *(rows.column(name).to_numpy() for name in ("start", "end")))[0]))

    def trim(self, rule: str, ids: Any, times: Any, n_bytes: Any, *, private: bool = False) -> None:
        """Record how much a rule cut out of texts, for a stage with so many cuts that a row of `cut` for each is slow.

        Args:
            rule: the name of the rule.
            ids: uint64[n], documents that the stage returns afterwards.
            times: int64[n], the number of cuts in each document.
            n_bytes: int64[n], the total size of these cuts in UTF-8 bytes.
            private: True if the texts that were cut must not be quoted.

        A few of the documents are passed to the stage once more, with a ledger whose `is_replay` is True, so that the
        statistics can quote texts that the rule cut. The cuts of a document must not depend on other documents.
        """
        if self.quiet or self.is_replay:
            return
        self._states_rules = True
        hit = np.flatnonzero(times)
        if len(hit):
            cuts = self.record.cuts.setdefault(rule, RuleCuts())
            cuts += RuleCuts(int(np.asarray(times).sum()), int(np.asarray(n_bytes).sum()))
            if not private:
                for _ in self._quotes.choose(rule, np.asarray(ids, np.uint64)[hit], self._quotable):
                    pass

    def count(self, name: str, n: int = 1, *, private: bool = False) -> None:
        """Add `n` to the counter `name`; `private` counters, which name people, are left out where names are hidden."""
        if n and not self.quiet:
            self.record.counts[name] += int(n)
            if private:
                self.record.private.add(name)

    def observe(self, name: str, values: Any) -> None:
        """Add integers `values` >= 0 to the histogram `name`, whose bins are the numbers of binary digits."""
        if self.quiet:
            return
        counts = np.bincount(np.frexp(np.asarray(values, np.float64))[1])
        for bucket in np.flatnonzero(counts).tolist():
            self.record.histograms.setdefault(name, Counter())[bucket] += int(counts[bucket])

    def received(self, batch: Batch) -> Batch:
        """Record that the stage receives a batch, and return the batch."""
        if batch.num_rows:
            self._held.append(HeldBatch(batch))
            _tally(self.record.into, batch.column("source"), B.lengths(batch))
        return batch

    def returned(self, batch: Batch) -> Batch:
        """Record that the stage returns a batch, and return the batch."""
        B.check(batch, self.stage)
        if batch.num_rows == 0:
            return batch
        n_bytes = B.lengths(batch)
        _tally(self.record.out, batch.column("source"), n_bytes)
        self.observe(BYTES_KEPT, n_bytes)
        if self.source is not None:
            _tally(self.record.into, batch.column("source"), n_bytes)
            self._check_order(B.ids(batch))
            return batch
        self._tally_cuts(batch)
        for held, rows, found in self._settle(B.ids(batch), "returned"):
            if self.same_text:
                self._check_same(held.batch.take(pa.array(rows)), batch.filter(pa.array(found)))
            lost = held.n_bytes[rows] - n_bytes[found]
            self.record.cut += int(lost[lost > 0].sum())
            self.record.added -= int(lost[lost < 0].sum())
            if not self._states_rules and (lost > 0).any():
                self._tally_lost(held, rows, batch, np.flatnonzero(found), lost)
        self._quotes.forget_others()
        self._check_order(B.ids(batch))
        return batch

    def _tally_cuts(self, batch: Batch) -> None:
        """Count the spans that `cut` recorded for the documents of a returned batch, by rule, and quote some."""
        if not self._new_cuts or self.is_replay:
            return
        rows = pa.Table.from_batches(self._new_cuts).select(["id", "start", "end", "reason"])
        self._new_cuts = []
        given = rows.column("id").to_numpy()
        begins, n = B.runs(given)
        is_here = B.find_sorted(B.ids(batch), given[begins])[1]
        rows = rows if is_here.all() else rows.filter(pa.array(np.repeat(is_here, n)))
        reasons = rows.column("reason")
        for rule in (rules := reasons.unique().fill_null(self.stage).unique().to_pylist()):
            mine = rows if len(rules) == 1 else rows.filter(pc.equal(reasons.fill_null(self.stage), rule))
            ids, start, end = united(*(mine.column(name).to_numpy() for name in ("id", "start", "end")))
            cuts = self.record.cuts.setdefault(rule, RuleCuts())
            cuts += RuleCuts(len(ids), int((end - start).sum()))
            for id_ in self._quotes.choose(rule, np.unique(ids), self._quotable):
                held, row = self._quotes.waiting[id_], np.flatnonzero(ids == id_)
                data = B.buffers(held)[1]
                texts = (bytes(data[start[i] : end[i]]).decode(errors="replace").strip("\r\n") for i in row.tolist())
                self._quotes.keep(rule, id_, next((text for text in texts if text.strip()), ""))

    def _tally_lost(self, held: HeldBatch, rows: Rows, batch: Batch, at: Rows, lost: npt.NDArray[np.int64]) -> None:
        """Count the documents that a stage without named rules shortened, and quote some of the lost texts.

        - rows: the rows of the documents in `held`.
        - at: the rows of the documents in the returned batch.
        - lost: the number of bytes by which each document became shorter.
        """
        hit = lost > 0
        cuts = self.record.cuts.setdefault(OTHER, RuleCuts())
        cuts += RuleCuts(int(hit.sum()), int(lost[hit].sum()))
        ids = B.ids(batch)[at[hit]]
        places = dict(zip(ids.tolist(), zip(rows[hit].tolist(), at[hit].tolist(), strict=True), strict=True))

        def place(id_: int) -> tuple[Batch, int] | None:
            row = places[id_][0]
            return (held.batch, row) if held.n_bytes[row] <= QUOTED_BYTES else None

        for id_ in self._quotes.choose(OTHER, ids, place):
            before, after = held.batch.column("text")[places[id_][0]], batch.column("text")[places[id_][1]]
            self._quotes.keep(OTHER, id_, first_missing(before.as_py(), after.as_py()))

    def _quotable(self, id_: int) -> tuple[Batch, int] | None:
        """Return the batch and row of a document not yet accounted for; None if it is too long to be quoted."""
        for held in self._held:
            rows, _ = held.rows(np.array([id_], np.uint64))
            if len(rows):
                return (held.batch, int(rows[0])) if held.n_bytes[rows[0]] <= QUOTED_BYTES else None
        return None

    def _check_same(self, before: Batch, after: Batch) -> None:
        """Raise FunctionFailed if a text of `after` differs from that in the same row of `before`."""
        differs = pc.not_equal(before.column("text"), after.column("text")).to_numpy(zero_copy_only=False).nonzero()[0]
        if len(differs):
            row = int(differs[0])
            what = f"{self.stage} has only_drops = True and changed a text; set it to False, or return texts unchanged"
            raise FunctionFailed(what, show_id(int(B.ids(after)[row])), before.column("text")[row].as_py()[:60])

    def _check_order(self, ids: Ids) -> None:
        """Raise AssertionError if the ids of returned documents do not ascend, within and across batches."""
        known = np.concatenate([self._last, ids])
        falls = np.flatnonzero(known[1:] <= known[:-1])
        if len(falls):
            before, after = (show_id(int(id_)) for id_ in known[falls[0] : falls[0] + 2])
            msg = f"stage {self.stage} returned document {after} after {before}; return documents in order of their ids"
            raise AssertionError(msg)
        self._last = ids[-1:].copy()

    def close(self) -> None:
        """Raise AssertionError if the stage received a document that it neither returned nor dropped."""
        if self._held:
            left, held = sum(held.left for held in self._held), self._held[0]
            first = show_id(int(B.ids(held.batch)[~held.done][0]))
            msg = (
                f"stage {self.stage} neither returned nor dropped {counted(left, 'document')}, the first is {first}; "
                "return each document, or pass its id to stats.drop"
            )
            raise AssertionError(msg)
        left = self.record.cut - sum(cuts.bytes for cuts in self.record.cuts.values())
        if self._states_rules and left > 0 and not self.is_replay:
            self.record.cuts.setdefault(OTHER, RuleCuts()).bytes += left
        for rule, cuts in self.record.cuts.items():
            cuts.examples = [Example(*quote) for quote in self._quotes.of(rule)]

    def quote(self, stage: Callable[..., Iterator[Batch]]) -> None:
        """Run a stage once more on the documents to be quoted, to find the cuts of each rule."""
        if waiting := self._quotes.replayed():
            replay = Ledger(self.stage, is_replay=True)
            together = (batch for _, some in groupby(waiting, lambda one: one.schema) for batch in B.recut(some))
            for _ in stage((replay.received(batch) for batch in together), replay):
                pass
            self._quotes.keep_spans(replay.cut_table())

    def drop_table(self) -> pa.Table:
        """Return the recorded drops as a table, one row per dropped document, sorted by id."""
        return sorted_rows(pa.Table.from_batches(self.drops, DROPS), [("id", "ascending")])

    def cut_table(self) -> pa.Table:
        """Return the recorded cuts as a table, one row per span cut out of a text, sorted by document id and start."""
        return sorted_rows(pa.Table.from_batches(self.cuts, CUTS), [("id", "ascending"), ("start", "ascending")])

    def _settle(self, ids: Ids, verb: str) -> Iterator[tuple[HeldBatch, Rows, Found]]:
        """Mark ids as accounted for; yield each batch with the matching rows, and whether it has each id.

        `verb` is "returned" or "dropped". Raises AssertionError for a document not received, or accounted for already.
        """
        open_ids = np.ones(len(ids), bool)
        for held in list(self._held):
            rows, found = held.rows(ids)
            if not len(rows):
                continue
            ascending = bool((rows[1:] > rows[:-1]).all())
            if held.done[rows].any() or not (ascending or len(np.unique(rows)) == len(rows)):
                twice = show_id(int(B.ids(held.batch)[rows[0]]))
                msg = f"stage {self.stage} {verb} a document twice (in a batch with {twice}); return or drop it once"
                raise AssertionError(msg)
            held.done[rows] = True
            held.left -= len(rows)
            open_ids &= ~found
            yield held, rows, found
            if held.left == 0:
                self._held.remove(held)
            if not open_ids.any():
                return
        if open_ids.any():
            unknown = show_id(int(ids[open_ids][0]))
            msg = (
                f"stage {self.stage} {verb} document {unknown}, which it did not receive or has already returned; "
                "return or drop each document exactly once, and do not change its id"
            )
            raise AssertionError(msg)

    def _sources(self, ids: Ids) -> pa.StringArray:
        """Return the source of each document not yet accounted for, null for other documents."""
        begins, sizes = B.runs(ids)
        at, found_in, n = np.full(len(begins), -1), [pa.nulls(0, pa.string())], 0
        for held in self._held:
            rows, found = held.rows(ids[begins])
            at[found] = np.arange(n, n + len(rows))
            found_in.append(held.batch.column("source").take(pa.array(rows)).cast(pa.string()))
            n += len(rows)
        of_runs = pa.concat_arrays(found_in).take(pa.array(at, mask=at < 0))
        return of_runs.take(pa.array(np.repeat(np.arange(len(begins)), sizes)))

    def _add_drops(
        self, rows: pa.RecordBatch, source: pa.DictionaryArray, n_bytes: Any, where: tuple[Batch, Rows] | None
    ) -> None:
        """Add drops to the table and to the counts.

        - source: the source of each document.
        - n_bytes: the size of each document in bytes; None if the reader does not know it.
        - where: the batch that a stage received, and the documents' rows in it; None for the records of a reader.
        """
        filled = {"source": source.cast(pa.string()), "bytes": None if n_bytes is None else pa.array(n_bytes)}
        for name, column in filled.items():
            if column is not None:
                rows = rows.set_column(rows.schema.get_field_index(name), DROPS.field(name), column)
        self.drops.append(rows)
        sizes = np.zeros(len(source), np.int64) if n_bytes is None else n_bytes
        if where is None:
            _tally(self.record.into, source, sizes)
        else:
            self.observe(BYTES_DROPPED, sizes)
        coded = rows.column("reason").dictionary_encode()
        codes, reasons = coded.indices.to_numpy(), coded.dictionary.to_pylist()
        for code, reason in enumerate(reasons):
            at, some, own = np.flatnonzero(codes == code), rows, source
            if len(reasons) > 1:
                some, own = (values.take(pa.array(at)) for values in (rows, source))
            _tally(self.record.dropped.setdefault(reason, {}), own, sizes[at])
            self._remember(reason, some, where and (where[0], where[1][at]))

    def _remember(self, reason: str, rows: pa.RecordBatch, where: tuple[Batch, Rows] | None) -> None:
        """Keep the drops with the smallest hashes of their ids as examples."""
        ranks = mix(rows.column("id").to_numpy(), 0)
        have = self.record.examples.setdefault(reason, [])
        best = np.argsort(ranks, kind="stable")[:EXAMPLES]
        for i in best.tolist():
            if len(have) >= EXAMPLES and int(ranks[i]) >= have[-1].rank:
                continue
            source, text = self.source or "", ""
            if where is not None:
                source, text = (where[0].column(c)[int(where[1][i])].as_py() for c in ("source", "text"))
            row = {name: rows.column(name)[i].as_py() for name in ("id", "duplicate_of", "similarity")}
            have.append(Example(int(ranks[i]), source=source, text=text[:QUOTED_CHARS], **row))
            have.sort()
            del have[EXAMPLES:]


def watch(stage: Callable[..., Iterator[Batch]], batches: Iterator[Batch], ledger: Ledger) -> Iterator[Batch]:
    """Apply `stage` to `batches` and yield the resulting batches; record in `ledger` the documents in and out.

    Raises AssertionError if a document is neither returned nor dropped, or is returned or dropped more than once.
    """
    for out in stage((ledger.received(batch) for batch in batches), ledger):
        yield ledger.returned(out)
    ledger.quote(stage)
    ledger.close()


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
