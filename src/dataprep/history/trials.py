"""Run the steps of a pipeline file on a sample: `estimate` memory, disk and time, or `rehearse` drops and changes.

The steps run on a few megabytes spread over the parts of every input, in a temporary folder; nothing else is written.
`rehearse` compares each document before and after every stage. `estimate` runs the steps three times: on the beginning
of one part, and on two samples of the same parts, the second of which has twice as much text. The first run gives the
time of first calls, and the others the time and disk space per part and per byte of text, of which those of the whole
input consist. Memory is the peak of the last run; it is not multiplied, because every stage works in batches and
bounded partitions. Memory that one process reserves for the whole input, for example for a Bloom filter, is multiplied
and reported separately. Time is that of the processor, multiplied by the ratio of elapsed time to processor time in the
last run. docs/cost.md compares estimates with runs.
"""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
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
from dataprep.core.run.trial import PlannedTraining, Reserved, Trial, TriedPass, Untrained
from dataprep.errors import DataprepError
from dataprep.store import files
from dataprep.store.ranks import mix
from dataprep.tokens.shards.shard import Shards

log = logging.getLogger("dataprep")
T = TypeVar("T")
R = TypeVar("R")

SAMPLE_BYTES = 16 << 20
COLD_BYTES = 1 << 20
MEMORY = "/dev/shm"  # noqa: S108 - the folder of a trial in it is private, as in every folder for temporary files
MEMORY_TIMES = 32  # a trial writes a few times its sample
LEAST_MORE, LEAST_GROWN = 0.2, 0.5  # of text, and of time between passes: less is the noise of a start
SHARED_PEAK = 1.6  # memory of Serial with two threads to that with one, at most: 1.35 for Exact, 1.6 for MinHash
MAX_VALUES = 1000  # different values that are counted per added column
TRAIN = "train"
UNTRIED = (TRAIN, "finetune", "report")  # steps of a pipeline file whose work does not grow with the text


@dataclass(frozen=True)
class StepCost:
    """The estimated cost of one step of a pipeline file, for the complete input.

    Attributes:
        n_passes: the number of passes over documents.
        disk_bytes: the size of the files that the step writes and keeps.
        most_bytes: the size of its files, including temporary ones, when it is largest.
        seconds: duration, without the start of the command.
        cpu_seconds: the time of the processor, likewise.
        peak_bytes: peak of memory.
    """

    step: str
    n_passes: int
    disk_bytes: int
    most_bytes: int
    seconds: float
    cpu_seconds: float
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
        passes: the passes of the trial on the sample.
        between: the CPU time between passes, in seconds per byte of text;
            0 if it does not clearly grow with the sample.
    """

    stored_bytes: int
    text_bytes: int
    sample_bytes: int
    costs: tuple[StepCost, ...]
    reserved: tuple[Reserved, ...] = ()
    trainings: tuple[Training, ...] = ()
    passes: tuple[TriedPass, ...] = ()
    between: float = 0.0

    @property
    def peak_bytes(self) -> int:
        """Peak memory of one worker during the run, in bytes."""
        return max(cost.peak_bytes for cost in self.costs)

    def needed_bytes(self, workers: int, allowed: int) -> int:
        """Return the memory in bytes that all workers need together, of which `allowed` bytes may be used."""
        if workers == 1 and Serial(memory=allowed).fitting() > 1:
            return round(self.peak_bytes * SHARED_PEAK)
        return self.peak_bytes * workers


def estimate(steps: Sequence[pipeline_file.Step], sample_bytes: int = SAMPLE_BYTES) -> Estimate:
    """Run the steps of a pipeline file on a sample in a temporary folder; return the estimated cost of a whole run.

    Steps named train, finetune and report are left out; of a step named train, only the settings are determined.

    - sample_bytes: the size of the sample's text.
    """
    tried = [step for step in steps if step.name not in UNTRIED]
    trained = [step for step in steps if step.name == TRAIN]
    with tempfile.TemporaryDirectory(prefix="dataprep-plan-") as folder:
        cold = Trial(files.join(folder, "cold"), min(COLD_BYTES, sample_bytes), most_parts=1)
        small = Trial(files.join(folder, "small"), sample_bytes // 2)
        with _renamed(None):  # the last run logs all warnings
            costs = [_tried(tried, trial)[0] for trial in (cold, small)]
            if small.share >= 1:  # the input is small: the next trial, of all of it, is to have more text than this one
                whole_text = sum(one.sample for one in small.inputs)
                small = Trial(files.join(folder, "half"), max(1, whole_text // 2))
                costs[1] = _tried(tried, small)[0]
        large = Trial(files.join(folder, "large"), max(sample_bytes, 2 * sum(one.sample for one in small.inputs)))
        with _renamed(large.out):
            last, results = _tried(tried, large)
        stored, text, sample = (sum(getattr(one, n) for one in large.inputs) for n in ("stored", "text", "sample"))
        scale = _Scale(cold, small, large)
        whole = tuple(map(scale.whole, *costs, last))
        alone = [
            sum(cost.cpu_seconds for cost in some) - sum(one.seconds for one in trial.passes)
            for some, trial in ((costs[1], small), (last, large))
        ]
        more = scale.texts[2] - scale.texts[1]
        grown = alone[1] - alone[0]
        is_measured = more > LEAST_MORE * sample and grown > LEAST_GROWN * max(0.0, alone[0])
        between = max(0.0, grown) / more if is_measured else 0.0
        found = (_training(step, results, large.out, text / max(1, sample)) for step in trained)
        trainings = tuple(one for one in found if one is not None)
    passes = _growing(small.passes, large.passes, scale.texts[2] / more) if more > 0 else tuple(large.passes)
    return Estimate(int(stored), int(text), int(sample), whole, tuple(large.reserved), trainings, passes, between)


def _tried(steps: list[pipeline_file.Step], trial: Trial) -> tuple[list[StepCost], dict[str, Any]]:
    """Run the steps in a trial; return the cost of each step for the sample, and the arguments for later steps."""
    costs: list[StepCost] = []
    results: dict[str, Any] = {"runner": Context(Serial(), trial)}
    with _PeakMemory() as peak:
        size, began, n_passes = 0, time.process_time(), 0
        for done in pipeline_file.execute(steps, trial.out, results["runner"]):
            results[done.name] = done.result
            taken = time.process_time() - began
            cpu, before, after = taken - trial.spent, size, trial.size()
            read = [one for one in trial.passes[n_passes:] if one.reads]
            seconds = done.seconds * cpu / taken if taken else done.seconds
            costs.append(
                StepCost(done.name, len(read), after - before, trial.most - before, seconds, cpu, peak.since())
            )
            n_passes, trial.most, trial.spent = len(trial.passes), 0, 0.0
            size, began = after, time.process_time()
    return costs, results


def _growing(small: list[TriedPass], large: list[TriedPass], factor: float) -> tuple[TriedPass, ...]:
    """Return the passes of a trial; of those with one task, only the time that grows with the text counts.

    - small: the passes on less of the same text.
    - factor: the text of the trial, divided by how much more it is.
    """
    if [type(one.task) for one in small] != [type(one.task) for one in large]:
        return tuple(large)
    pairs = zip(small, large, strict=True)
    more = ((b, min(b.seconds, factor * max(0.0, b.seconds - a.seconds))) for a, b in pairs)
    return tuple(replace(b, seconds=seconds) if b.tasks == 1 else b for b, seconds in more)


class _Scale:
    """Extrapolates from three runs: to a cost of the first call, one per part of the input, and one per byte of text.

    The runs `small` and `large` read more and less of the same parts.
    """

    def __init__(self, cold: Trial, small: Trial, large: Trial) -> None:
        def total(trial: Trial, name: str) -> float:
            return float(sum(getattr(one, name) for one in trial.inputs))

        self.texts = [total(trial, "sample") for trial in (cold, small, large)]
        self.read = [total(trial, "sample_parts") for trial in (cold, large)]
        self.text, self.parts = total(large, "text"), total(large, "parts")

    def of(self, cold: float, small: float, large: float) -> float:
        """Return a cost for the whole input, given the cost of each run."""
        first, few, some = self.texts
        per_byte = max(0.0, min(large, large - small) / (some - few)) if few < some else large / max(1.0, some)
        per_part = max(0.0, large - per_byte * some) / max(1.0, self.read[1])
        if some >= self.text:
            per_byte, per_part = large / max(1.0, some), 0.0
        start = cold - per_part * self.read[0] - per_byte * first
        return max(0.0, start) + per_part * self.parts + per_byte * self.text

    def whole(self, cold: StepCost, small: StepCost, large: StepCost) -> StepCost:
        """Return the cost of a step for the whole input, given its costs in each run."""
        cpu = self.of(cold.cpu_seconds, small.cpu_seconds, large.cpu_seconds)
        disk, most = (int(self.of(0, getattr(small, n), getattr(large, n))) for n in ("disk_bytes", "most_bytes"))
        seconds = cpu * large.seconds / large.cpu_seconds if large.cpu_seconds else large.seconds
        return replace(large, disk_bytes=disk, most_bytes=max(disk, most), seconds=seconds, cpu_seconds=cpu)


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
    records: list[tuple[StageChanges, StageStats]] = field(default_factory=list)  # a part's own, for its receipt

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
            self.records.append((changes, made[-1].record))
        return made

    def taken(self) -> list[StageChanges]:
        """Return the changes since the last call, with the sums of the statistics of their parts."""
        for changes, record in self.records:
            changes.stats += record
        found = self.changes
        self.changes, self.records = [], []
        return found


@dataclass(frozen=True)
class StepRehearsal:
    """The result of one step of a pipeline file on a sample: its name, and the changes of each stage that it ran."""

    step: str
    stages: list[StageChanges]


@contextlib.contextmanager
def _renamed(folder: str | None, name: str = "out") -> Iterator[None]:
    """Make warnings state `name` in place of the temporary folder `folder`, which the user does not know.

    - folder: None: nothing is logged.
    """

    def rename(record: logging.LogRecord) -> bool:
        if folder is not None:
            record.msg, record.args = record.getMessage().replace(folder, name), ()
        return folder is not None

    log.addFilter(rename)
    try:
        yield
    finally:
        log.removeFilter(rename)


def _in_memory(sample_bytes: int) -> str | None:
    """Return the memory file system of Linux, where files need not be synced to a disk; None if it has little space.

    A trial writes hundreds of small files, each of which a disk takes milliseconds to sync.
    """
    with contextlib.suppress(OSError):
        if "TMPDIR" not in os.environ and shutil.disk_usage(MEMORY).free > MEMORY_TIMES * sample_bytes:
            return MEMORY
    return None


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
    with tempfile.TemporaryDirectory(prefix="dataprep-dry-run-", dir=_in_memory(sample_bytes)) as folder:
        ledgers = _Ledgers(examples)
        trial, out = Trial(folder, sample_bytes, ledgers.of_part), files.join(folder, "out")
        with _renamed(out):
            found = [
                StepRehearsal(done.name, [one for one in ledgers.taken() if one.stats.name != "Head"])
                for done in pipeline_file.execute(tried, out, Context(Serial(), trial), to)
            ]
    return found, sum(one.sample for one in trial.inputs), round(sum(one.text for one in trial.inputs))
