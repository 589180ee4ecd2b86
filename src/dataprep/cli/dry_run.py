"""`dataprep run --dry-run`: what every stage of a pipeline would drop and change, on a sample, with examples.

The steps are really run on a few megabytes spread over the input, in a folder that is removed again; nothing else is
written. Each document is compared before and behind every stage.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from dataprep.core import pipeline_file
from dataprep.core.batch import Batch, ids, show_id
from dataprep.core.ledger import Ledger, mix
from dataprep.core.part import Part
from dataprep.core.stats import StageStats
from dataprep.core.trial import Trial
from dataprep.history.estimate import LAST, Counting
from dataprep.messages.counts import STAGE
from dataprep.report.blocks import visible
from dataprep.store import files

from .chats import print_messages

T = TypeVar("T")
R = TypeVar("R")
CONTEXT_CHARS = 30  # shown before the first difference
VALUES_SHOWN = 6  # of a column that a stage adds
MAX_VALUES = 1000  # of a column that are told apart


@dataclass(order=True)
class Change:
    """One document's column before and behind a stage; those with the smallest hash of the id are kept."""

    rank: int
    id: int
    before: str = field(compare=False)
    after: str = field(compare=False)


@dataclass
class Notes:
    """What one stage did in one pass: its book, what it changed by column, and the values of columns it added."""

    book: StageStats
    examples: int
    changed: Counter[str] = field(default_factory=Counter)
    changes: dict[str, list[Change]] = field(default_factory=dict)
    added: dict[str, Counter[str]] = field(default_factory=dict)

    def compare(self, before: Batch, after: Batch) -> None:
        """Note what differs between the same rows."""
        for name in after.schema.names:
            new = _plain(after.column(name))
            if name not in before.schema.names:
                self._add(name, new)
            elif name != "id" and not pa.types.is_nested(new.type):
                self._change(name, _plain(before.column(name)), new, ids(after))

    def _add(self, name: str, values: pa.Array) -> None:
        found = self.added.setdefault(name, Counter())
        if pa.types.is_string(values.type) and len(found) < MAX_VALUES:
            found.update({str(v["values"]): v["counts"] for v in pc.value_counts(values).to_pylist()})

    def _change(self, name: str, old: pa.Array, new: pa.Array, at: Any) -> None:
        same = pc.equal(old, new)
        other = pc.invert(pc.fill_null(same, pc.and_(pc.is_null(old), pc.is_null(new))))
        rows = np.flatnonzero(other.to_numpy(zero_copy_only=False))
        if not len(rows):
            return
        self.changed[name] += len(rows)
        ranks = mix(at[rows], 0)
        have = self.changes.setdefault(name, [])
        for i in np.argsort(ranks, kind="stable")[: self.examples].tolist():
            row = int(rows[i])
            have.append(Change(int(ranks[i]), int(at[row]), str(old[row]), str(new[row])))
        have.sort()
        del have[self.examples :]


def _plain(column: pa.Array) -> pa.Array:
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


@dataclass
class _Comparing(Ledger):
    """A book that also compares what comes out with what went in."""

    notes: Notes | None = None
    now: Batch | None = None

    def returned(self, batch: Batch) -> Batch:
        self.now = batch
        return super().returned(batch)

    def _settle(self, ids: Any, verb: str) -> Iterator[Any]:
        for held, rows, found in super()._settle(ids, verb):
            if verb == "returned" and self.notes is not None and self.now is not None:
                self.notes.compare(held.batch.take(pa.array(rows)), self.now.filter(pa.array(found)))
            yield held, rows, found


@dataclass
class _Watch:
    """Makes ledgers that compare documents before and after every stage of a sealed Dataset."""

    examples: int
    noted: list[Notes] = field(default_factory=list)

    def ledgers(self, part: Part) -> list[Ledger]:
        """Return the ledgers of a part; the parts of one pass add to the same notes."""
        plain = part.ledgers()
        names = tuple(ledger.stage for ledger in plain)
        if part.number == 0:
            self.noted += [Notes(StageStats(name), self.examples) for name in names]
        notes = self.noted[len(self.noted) - len(names) :]
        made: list[Ledger] = []
        for ledger, one in zip(plain, notes, strict=True):
            made.append(_Comparing(ledger.stage, ledger.seed, hides=ledger.hides, notes=one))
            made[-1].record = one.book
        return made


@dataclass(frozen=True)
class Rehearsed:
    """What one step would do."""

    step: str
    notes: list[Notes]


def rehearse(
    steps: Sequence[pipeline_file.Step], to: str | None = None, *, sample_bytes: int = 16 << 20, examples: int = 3
) -> tuple[list[Rehearsed], int]:
    """Run the steps on a sample, in a folder that is removed; what each did, and the bytes of text tried."""
    tried = [step for step in steps if step.name not in LAST]
    found = []
    with tempfile.TemporaryDirectory(prefix="dataprep-dry-run-") as folder:
        watch = _Watch(examples)
        with Trial(folder, sample_bytes, watch.ledgers) as trial:
            for done in pipeline_file.execute(tried, files.join(folder, "out"), Counting(), to):
                found.append(Rehearsed(done.name, [n for n in watch.noted if n.book.name != "Head"]))
                watch.noted.clear()
    return found, sum(one.sample for one in trial.inputs)


def show(console: Console, found: Sequence[Rehearsed], sample_bytes: int) -> None:
    """A table and examples for each step."""
    for one in found:
        if not one.notes:
            continue
        console.rule(f"[bold]{escape(one.step)}", align="left", style="dim")
        console.print(_table(one.notes))
        for notes in one.notes:
            if notes.book.name.startswith(STAGE):
                print_messages(console, notes.book)
            _print_examples(console, notes)
    tried = f"{sample_bytes / 1e6:,.1f} MB of text were tried in a folder that is gone"
    console.print(f"\n[dim]dry run: nothing is written; {tried}[/]", highlight=False)


def _table(notes: Sequence[Notes]) -> Table:
    """A row a stage, then one for each way in which it drops, changes, adds and counts."""
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("stage")
    for title in ("documents", "of input"):
        table.add_column(title, justify="right")
    for one in notes:
        n = max(1, one.book.docs_in)
        table.add_row(one.book.name, f"{one.book.docs_out:,}", f"{one.book.docs_out / n:.1%}", style="bold")
        rows = [(f"- {reason}", k) for reason, k in one.book.reasons.items()]
        rows += [(f"~ {column} changed", k) for column, k in sorted(one.changed.items())]
        rows += [(f". {name}", k) for name, k in sorted(one.book.counts.items()) if not one.book.name.startswith(STAGE)]
        for what, k in rows:
            table.add_row(f"  {what}", f"{k:,}", "" if what[0] == "." else f"{k / n:.1%}", style="dim")
        for column, values in sorted(one.added.items()):
            table.add_row(f"  + {column}", "", "", style="dim")
            for value, k in values.most_common(VALUES_SHOWN):
                table.add_row(f"      {escape(visible(value))}", f"{k:,}", f"{k / n:.1%}", style="dim")
    return table


def _print_examples(console: Console, notes: Notes) -> None:
    def line(text: str) -> None:
        console.print(text, overflow="ellipsis", no_wrap=True, highlight=False)

    for reason, examples in sorted(notes.book.examples.items()):
        if examples and notes.examples:
            console.print(f"[bold]{escape(notes.book.name)}[/] drops by {escape(reason)}", highlight=False)
            for e in examples[: notes.examples]:
                line(f"  [cyan]{show_id(e.id)}[/] [red]{escape(_line(e.text))}[/]")
    for column, changes in sorted(notes.changes.items()):
        if changes:
            console.print(f"[bold]{escape(notes.book.name)}[/] changes {escape(column)}", highlight=False)
        for change in changes:
            before, after = excerpts(change.before, change.after)
            line(f"  [cyan]{show_id(change.id)}[/] [red]{escape(_line(before))}[/]")
            line(f"  {'':{len(show_id(change.id))}} [green]{escape(_line(after))}[/]")


def _line(text: str) -> str:
    """A text on one line."""
    return visible(text.replace("\n", " \u23ce "))


def excerpts(before: str, after: str) -> tuple[str, str]:
    """Both from a little before the first difference on."""
    pairs = enumerate(zip(before, after, strict=False))
    start = max(0, next((i for i, (a, b) in pairs if a != b), min(len(before), len(after))) - CONTEXT_CHARS)
    mark = "\u2026" if start else ""
    return mark + before[start:], mark + after[start:]
