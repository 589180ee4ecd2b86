"""Run the steps of a pipeline file on a sample: `estimate` memory, disk and time, or `rehearse` drops and changes.

The steps run on a few megabytes spread over the parts of every input, in a temporary folder; nothing else is written.
`rehearse` compares each document before and after every stage. `estimate` first runs a smaller sample, which compiles
the kernels, so that compilation is not included in the time. Disk and time are multiplied by the ratio of the input's
text to the sample's text. Memory is the peak of the run on the sample; it is not multiplied, because every stage works
in batches and bounded partitions. Memory that one process reserves for the whole input, for example for a Bloom filter,
is multiplied and reported separately. A tokenizer learns from a bounded sample, so its disk and time are upper bounds.

This was measured on 200 MB of text (71 MB of JSONL.zst) with C4, Exact, MinHash, train_bpe and encode, and a sample of
16 MB. The estimated and the actual values were: text 206 and 200 MB, clean Dataset 214 and 207 MB, shards 93 and 85 MB,
peak memory 481 and 474 MB.
"""

from __future__ import annotations

import contextlib
import logging
import os
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dataprep import pipeline_file
from dataprep.core.model.batch import Batch, ids
from dataprep.core.model.ledger import Ledger
from dataprep.core.model.part import Part
from dataprep.core.model.stats import StageStats
from dataprep.core.run.context import Context
from dataprep.core.run.runner import Serial
from dataprep.core.run.trial import PlannedTraining, Reserved, Trial, Untrained
from dataprep.errors import DataprepError
from dataprep.store import files
from dataprep.store.ranks import mix
from dataprep.tokens.shards.shard import Shards

log = logging.getLogger("dataprep")
T = TypeVar("T")
R = TypeVar("R")

SAMPLE_BYTES = 16 << 20
WARM_BYTES = 1 << 20
MAX_VALUES = 1000  # different values that are counted per added column
TRAIN = "train"
UNTRIED = (TRAIN, "finetune", "report")  # steps of a pipeline file whose work does not grow with the text


@dataclass(frozen=True)
class StepCost:
    """The estimated cost of one step of a pipeline file, for the complete input.

    Attributes:
        n_passes: the number of passes over documents.
        disk_bytes: the size of the files that the step writes.
        seconds: duration.
        peak_bytes: peak of memory.
    """

    step: str
    n_passes: int
    disk_bytes: int
    seconds: float
    peak_bytes: int


@dataclass(frozen=True)
class Training:
    """A training of a pipeline file.

    Attributes:
        step: the name of its step.
        config: its settings, a TrainConfig.
        vocab_size: the ids of the tokenizer.
        n_tokens: the training tokens, for the complete input.
    """

    step: str
    config: Any
    vocab_size: int
    n_tokens: int


@dataclass(frozen=True)
class Estimate:
    """The estimated cost of a run, with one worker.

    Attributes:
        stored_bytes: the size of the input as stored.
        text_bytes: the size of the input's text.
        sample_bytes: the size of the text that was sampled.
        costs: one entry per step.
        reserved: memory that one process needs for the whole input, such as for a Bloom filter; the entries are not
            needed simultaneously.
        trainings: the trainings of the steps named train.
    """

    stored_bytes: int
    text_bytes: int
    sample_bytes: int
    costs: tuple[StepCost, ...]
    reserved: tuple[Reserved, ...] = ()
    trainings: tuple[Training, ...] = ()

    @property
    def peak_bytes(self) -> int:
        """Peak memory of one worker during the run, in bytes."""
        return max(cost.peak_bytes for cost in self.costs)


def estimate(steps: Sequence[pipeline_file.Step], sample_bytes: int = SAMPLE_BYTES) -> Estimate:
    """Run the steps of a pipeline file on a sample in a temporary folder; return the estimated cost of a whole run.

    Steps named train, finetune and report are left out; of a step named train, only the settings are determined.

    - sample_bytes: the size of the sample's text.
    """
    tried = [step for step in steps if step.name not in UNTRIED]
    trained = [step for step in steps if step.name == TRAIN]
    with tempfile.TemporaryDirectory(prefix="dataprep-plan-") as folder:
        _try(tried, [], files.join(folder, "warm"), min(WARM_BYTES, sample_bytes))
        return _try(tried, trained, files.join(folder, "sample"), sample_bytes)


def _try(
    steps: list[pipeline_file.Step], trained: Sequence[pipeline_file.Step], out: str, limit: int
) -> Estimate:  # fmt: skip
    trial = Trial(out, limit)
    taken: list[tuple[str, int, int, float, int]] = []
    results: dict[str, Any] = {"runner": Context(Serial(), trial)}
    with _PeakMemory() as peak:
        for done in pipeline_file.execute(steps, out, results["runner"]):
            results[done.name] = done.result
            size = sum(map(files.size, files.expand(out)))
            taken.append((done.name, len(trial.passes), size, done.seconds, peak.since()))
    stored, text, sample = (sum(getattr(one, n) for one in trial.inputs) for n in ("stored", "text", "sample"))
    scale = text / max(1, sample)
    costs = []
    before = (0, 0)
    for name, passes, disk, seconds, peak_bytes in taken:
        costs.append(StepCost(name, passes - before[0], int((disk - before[1]) * scale), seconds * scale, peak_bytes))
        before = (passes, disk)
    trainings = [found for step in trained if (found := _training(step, results, out, scale)) is not None]
    return Estimate(int(stored), int(text), int(sample), tuple(costs), tuple(trial.reserved), tuple(trainings))


def _training(step: pipeline_file.Step, results: dict[str, Any], out: str, scale: float) -> Training | None:
    """Return the training that a step would start, which is called with the results on the sample; None if none is."""
    given = {**results, "out": Untrained(files.join(out, step.name))}
    if not all(name in given for name in step.takes):
        return None
    try:
        step.fn(**{name: given[name] for name in step.takes})
    except PlannedTraining as e:
        named = e.data.values() if isinstance(e.data, Mapping) else [e.data]
        shards = [one if isinstance(one, Shards) else Shards.open(one) for one in named]
        n_tokens = sum(one.split("train").n_tokens for one in shards)
        return Training(step.name, e.config, shards[0].vocab_size, int(n_tokens * scale))
    except DataprepError as e:
        log.warning("the training of step %s cannot be planned: %s", step.name, e)
    return None


class _PeakMemory:
    """The largest resident memory of this process, measured a hundred times per second."""

    def __enter__(self) -> _PeakMemory:
        self.most, self.running = _resident(), True
        self.thread = threading.Thread(target=self._watch, daemon=True)
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.running = False
        self.thread.join()

    def since(self) -> int:
        """Return the peak since the last call."""
        most, self.most = max(self.most, _resident()), _resident()
        return most

    def _watch(self) -> None:
        while self.running:
            self.most = max(self.most, _resident())
            time.sleep(0.01)


def _resident() -> int:
    """Return the resident memory of this process in bytes; without /proc, the peak so far."""
    try:
        with open("/proc/self/statm") as f:
            return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


@dataclass(order=True)
class ColumnChange:
    """The value that one document has in a column before and after a stage; examples are sorted by `rank`.

    Attributes:
        rank: a hash of the id.
    """

    rank: int
    id: int
    before: str = field(compare=False)
    after: str = field(compare=False)


@dataclass
class StageChanges:
    """The changes that one stage made to the documents of one pass.

    Attributes:
        stats: the statistics of the stage: numbers of documents, drop reasons and examples of drops.
        n_examples: the largest number of examples per column.
        changed: the number of documents whose value changed, by column.
        examples: changed documents by column; those with the smallest hashes of their ids are chosen.
        added: the number of documents by value, for each added column.
    """

    stats: StageStats
    n_examples: int
    changed: Counter[str] = field(default_factory=Counter)
    examples: dict[str, list[ColumnChange]] = field(default_factory=dict)
    added: dict[str, Counter[str]] = field(default_factory=dict)

    def compare(self, before: Batch, after: Batch) -> None:
        """Add the changes between two batches of the same documents in the same order.

        Args:
            before: the documents as the stage received them.
            after: the documents as it returned them.
        """
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
    """A Ledger that also compares the documents that a stage yields with those that it received."""

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
            made.append(_ComparingLedger(ledger.stage, changes=changes))
            made[-1].record = changes.stats
        return made


@dataclass(frozen=True)
class StepRehearsal:
    """The result of one step of a pipeline file on a sample: its name, and the changes of each stage that it ran."""

    step: str
    stages: list[StageChanges]


@contextlib.contextmanager
def _named(name: str, folder: str) -> Iterator[None]:
    """Make warnings state `name` in place of the temporary folder `folder`, which the user does not know."""

    def rename(record: logging.LogRecord) -> bool:
        record.msg, record.args = record.getMessage().replace(folder, name), ()
        return True

    log.addFilter(rename)
    try:
        yield
    finally:
        log.removeFilter(rename)


def rehearse(
    steps: Sequence[pipeline_file.Step], to: str | None = None, *, sample_bytes: int = SAMPLE_BYTES, examples: int = 3
) -> tuple[list[StepRehearsal], int, int]:
    """Run the steps of a pipeline file on a sample, in a temporary folder; return the changes that they made.

    - to: the step to run, with the steps that it needs; None: all steps.
    - sample_bytes: the size of the sample's text.
    - examples: the number of example documents per reason and per changed column.

    Returns (a list with an entry per step, the number of bytes of text read, the estimated number of bytes of all text
    of the inputs). Steps named train, finetune and report are left out.
    """
    tried = [step for step in steps if step.name not in UNTRIED]
    found = []
    with tempfile.TemporaryDirectory(prefix="dataprep-dry-run-") as folder:
        ledgers = _Ledgers(examples)
        trial, out = Trial(folder, sample_bytes, ledgers.of_part), files.join(folder, "out")
        with _named("out", out):
            for done in pipeline_file.execute(tried, out, Context(Serial(), trial), to):
                found.append(StepRehearsal(done.name, [c for c in ledgers.changes if c.stats.name != "Head"]))
                ledgers.changes.clear()
    return found, sum(one.sample for one in trial.inputs), round(sum(one.text for one in trial.inputs))
