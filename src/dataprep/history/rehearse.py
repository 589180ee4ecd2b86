"""Run the steps of a pipeline file on a sample, and record what every stage would drop and change, with examples.

The steps run on a few megabytes spread over the input, in a temporary folder; nothing else is written. Each document is
compared before and after every stage.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dataprep.core import pipeline_file
from dataprep.core.batch import Batch, ids
from dataprep.core.ledger import Ledger, mix
from dataprep.core.part import Part
from dataprep.core.stats import StageStats
from dataprep.core.trial import Trial
from dataprep.store import files

from .estimate import UNTRIED, CountingRunner

MAX_VALUES = 1000  # different values that are counted per added column


@dataclass(order=True)
class ColumnChange:
    """One document's value of a column before and after a stage; `rank` is a hash of the id."""

    rank: int
    id: int
    before: str = field(compare=False)
    after: str = field(compare=False)


@dataclass
class StageChanges:
    """The changes that one stage made in one pass.

    stats: documents, reasons and examples of drops. n_examples: at most so many per column. changed: documents with
    another value, by column. examples: those of them with the smallest hash of the id, by column. added: documents by
    value, for each column that the stage added.
    """

    stats: StageStats
    n_examples: int
    changed: Counter[str] = field(default_factory=Counter)
    examples: dict[str, list[ColumnChange]] = field(default_factory=dict)
    added: dict[str, Counter[str]] = field(default_factory=dict)

    def compare(self, before: Batch, after: Batch) -> None:
        """Record the differences between two batches of the same documents."""
        for name in after.schema.names:
            new = _decoded(after.column(name))
            if name not in before.schema.names:
                self._count_values(name, new)
            elif name != "id" and not pa.types.is_nested(new.type):
                self._record(name, _decoded(before.column(name)), new, ids(after))

    def _count_values(self, name: str, values: pa.Array) -> None:
        counts = self.added.setdefault(name, Counter())
        if pa.types.is_string(values.type) and len(counts) < MAX_VALUES:
            counts.update({str(v["values"]): v["counts"] for v in pc.value_counts(values).to_pylist()})

    def _record(self, name: str, old: pa.Array, new: pa.Array, document_ids: Any) -> None:
        same = pc.equal(old, new)
        differs = pc.invert(pc.fill_null(same, pc.and_(pc.is_null(old), pc.is_null(new))))
        rows = np.flatnonzero(differs.to_numpy(zero_copy_only=False))
        if not len(rows):
            return
        self.changed[name] += len(rows)
        ranks = mix(document_ids[rows], 0)
        examples = self.examples.setdefault(name, [])
        for i in np.argsort(ranks, kind="stable")[: self.n_examples].tolist():
            row = int(rows[i])
            examples.append(ColumnChange(int(ranks[i]), int(document_ids[row]), str(old[row]), str(new[row])))
        examples.sort()
        del examples[self.n_examples :]


def _decoded(column: pa.Array) -> pa.Array:
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


@dataclass
class _ComparingLedger(Ledger):
    """A Ledger that also compares the documents that a stage yields with those that it got."""

    changes: StageChanges | None = None
    now: Batch | None = None

    def returned(self, batch: Batch) -> Batch:
        self.now = batch
        return super().returned(batch)

    def _settle(self, ids: Any, verb: str) -> Iterator[Any]:
        for held, rows, found in super()._settle(ids, verb):
            if verb == "returned" and self.changes is not None and self.now is not None:
                self.changes.compare(held.batch.take(pa.array(rows)), self.now.filter(pa.array(found)))
            yield held, rows, found


@dataclass
class _Ledgers:
    """Makes the ledgers of sealed Datasets, and keeps the changes of every stage."""

    n_examples: int
    changes: list[StageChanges] = field(default_factory=list)

    def of_part(self, part: Part) -> list[Ledger]:
        """Return the ledgers of a part; the parts of one pass share the same StageChanges."""
        plain = part.ledgers()
        names = tuple(ledger.stage for ledger in plain)
        if part.number == 0:
            self.changes += [StageChanges(StageStats(name), self.n_examples) for name in names]
        last = self.changes[len(self.changes) - len(names) :]
        made: list[Ledger] = []
        for ledger, changes in zip(plain, last, strict=True):
            made.append(_ComparingLedger(ledger.stage, ledger.seed, changes=changes))
            made[-1].record = changes.stats
        return made


@dataclass(frozen=True)
class StepRehearsal:
    """The name of a step, and the changes of each stage that it ran."""

    step: str
    stages: list[StageChanges]


def rehearse(
    steps: Sequence[pipeline_file.Step], to: str | None = None, *, sample_bytes: int = 16 << 20, examples: int = 3
) -> tuple[list[StepRehearsal], int]:
    """Run the steps up to `to` on a sample, in a temporary folder; return their changes, and the bytes of text read.

    sample_bytes: text of the sample. examples: documents to keep per reason and per changed column.
    """
    tried = [step for step in steps if step.name not in UNTRIED]
    found = []
    with tempfile.TemporaryDirectory(prefix="dataprep-dry-run-") as folder:
        ledgers = _Ledgers(examples)
        with Trial(folder, sample_bytes, ledgers.of_part) as trial:
            for done in pipeline_file.execute(tried, files.join(folder, "out"), CountingRunner(), to):
                found.append(StepRehearsal(done.name, [c for c in ledgers.changes if c.stats.name != "Head"]))
                ledgers.changes.clear()
    return found, sum(one.sample for one in trial.inputs)
