"""Forecast a run on many machines: how long it takes, what it opens, requests and moves, and what it costs.

A trial (`trials.py`) shows the passes of a pipeline and their CPU time on a sample. `graph` applies the rules by which
the planner divides the work, to an input of any size: parts, ranges of keys, partitions, and the passes that merge
shuffle files. `forecast` runs this graph on simulated cores: a pass begins when the one before it is complete; each
core takes the next task when it is free; the times of tasks vary, and cores are lost and replaced.

Tasks of passes that `graph` does not know are assumed to be as large as those of the sample. COSTS, and the spread of
the times, were fitted at 10 and 100 parts by benchmarks/bench_scale.py, which compares the predictions for 1,000 parts
with a run. A forecast for a larger input is an extrapolation.

Slow reference for the tests: a plain loop in tests/history/test_cluster.py
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from rich.filesize import decimal

from dataprep.core.model import tables
from dataprep.core.run import merge
from dataprep.core.run.merge import MergeSections, merged
from dataprep.core.run.trial import TriedPass
from dataprep.dedup.embeddings import decide
from dataprep.dedup.membership.keys import SEEN_ROWS
from dataprep.dedup.near import key_sources
from dataprep.dedup.near.gather import MergeGathered, n_partitions
from dataprep.dedup.near.search import GROUP_BYTES
from dataprep.dedup.near.union import RANGE_DOCS
from dataprep.dedup.near.verify import VERDICT, MergeVerdicts
from dataprep.dedup.semantic import MAX_GROUPS
from dataprep.dedup.spans import search
from dataprep.dedup.spans.passes import MergeHashed, MergeMatched
from dataprep.dedup.substrings import passes as windows
from dataprep.dedup.substrings.records import BUCKETS
from dataprep.dedup.substrings.search import MergeRepeats
from dataprep.errors import PlanError
from dataprep.read.parts import part_size
from dataprep.store import parquet, shuffle
from dataprep.store.shuffle import ShuffleFiles

from .trials import Estimate

MERGES: dict[str, type[MergeSections]] = {
    "HashDocuments": key_sources.MergeGroups, "GatherCandidates": MergeGathered, "VerifyPartition": MergeVerdicts,
    "HashUnits": MergeHashed, "MatchUnits": MergeMatched, "HashWindows": windows.MergeHashes,
    "CountHashes": windows.MergeCounted, "GatherRecords": windows.MergeTexts, "CompareRecords": MergeRepeats,
    "AssignClusters": decide.MergeAssigned, "DecideClusters": decide.MergeDecided,
}  # fmt: skip
SPLITS = {"GatherCandidates", "HashUnits", "MatchUnits", "CompareRecords"}  # are divided, if there are many sections
SECTIONS = {"HashDocuments": 1 << 16, "HashWindows": BUCKETS}
READERS = {"CutRepeats", "GatherRecords"}  # passes over parts whose tasks read the files of the pass before
TABLES = {  # passes after which a table is written, and the names of the counts of its rows
    "VerifyPartition": ["dropped"], "DecideClusters": ["dropped"], "CutRepeats": ["rows"], "SortRepeats": ["rows"],
    "ShrinkRepeats": ["rows"], "LookUp": ["dropped", "spans"],
}  # fmt: skip
LEAST_SAMPLE = 1_000_000
MOST_LOSSES = 5.0  # expected losses in the time of a task, up to which each is simulated
SIMULATED = 20_000  # tasks of a pass, at least; those before them keep all cores busy
LOST_SECONDS = 60.0  # until a lost worker's task is taken over
WAIT_SECONDS = 0.1  # until a free worker finds a task
READ_BYTES = 8 << 20  # of a request for a part of a large file
MERGE_SECONDS = 2.5e-9  # per byte that is merged
JOIN_SECONDS = 3.4e-8  # per document of which duplicates are joined, if the sample is too small to show it
ROW_SECONDS = 2e-7  # per row of a table of decisions that is written
KEY_BYTES = 36  # of memory per key that is matched
SPREAD = 0.16  # of the logarithms of the times of equal tasks
WAITS = 250, 2.0  # requests of the controlling process that wait for each other, and further ones per part, on S3
AT_ONCE = {"FindComponents": 13.0}  # requests of a task that wait together, as measured at 100 parts; of others, 1
Cost = tuple[float, float]  # of a task, and further ones for each file that it reads
COSTS: dict[str, dict[str, Cost]] = {
    "CompareRecords": {"opens": (0.0, 1.0), "requests": (3.0, 4.0)},
    "CountHashes": {"opens": (0.0, 1.0), "requests": (3.0, 4.0)},
    "CutRepeats": {"opens": (1.0, 1.0), "requests": (5.245, 3.455)},
    "FindComponents": {"opens": (0.6154, 2.385), "requests": (5.154, 6.846)},
    "GatherCandidates": {"opens": (7.0, 0.0), "requests": (25.0, 0.0)},
    "GatherRecords": {"opens": (1.0, 1.0), "requests": (5.207, 3.896)},
    "HashDocuments": {"opens": (1.0, 0.0), "requests": (9.0, 0.0)},
    "HashUnits": {"opens": (1.0, 0.0), "requests": (5.0, 0.0)},
    "HashWindows": {"opens": (1.0, 0.0), "requests": (5.0, 0.0)},
    "MatchKeys": {"opens": (0.0, 1.0), "requests": (0.0, 5.5)},
    "MatchUnits": {"opens": (1.0, 2.0), "requests": (7.0, 7.0)},
    "MergeHashed": {"opens": (0.0, 1.0), "requests": (0.0, 4.06)},
    "MergeKeys": {"opens": (0.0, 2.0), "requests": (0.0, 7.06)},
    "Seal": {"opens": (2.0, 0.0), "requests": (9.86, 0.0)},
    "SortRepeats": {"opens": (0.0, 1.0), "requests": (3.015, 3.985)},
    "VerifyPartition": {"opens": (0.0, 2.0), "requests": (4.136, 5.886)},
    "driver": {"opens": (9.0, 5.1), "requests": (174.6, 27.04), "seconds": (0.0156, 0.002307)},
}


@dataclass(frozen=True)
class Wave:
    """A pass of the forecast.

    Attributes:
        name: the class of its tasks.
        tasks: their number.
        files: the shuffle files that each of them reads; for a pass over parts that reads none, the number of parts.
        reads: whether the tasks read parts of documents.
        of: the pass of the trial; None for merges and tables.
        rows: the rows of the table that the tasks write.
    """

    name: str
    tasks: int
    files: float
    reads: bool = False
    of: TriedPass | None = None
    rows: int = 0


class _Sizes(NamedTuple):
    """The bytes of candidates, the records and the text of windows, and the vectors, of a whole input, or 0."""

    candidates: int
    records: int
    windowed: int
    vectors: int


@dataclass
class _Metered:
    """A Runner that executes nothing, and notes the number of tasks of each merge and the files that each reads."""

    workers: int = 1
    memory: None = None
    found: list[tuple[int, float]] = field(default_factory=list)

    def map(self, task: Any, items: Sequence[Any], label: str = "") -> Iterator[Any]:  # noqa: ARG002 - as a Runner
        self.found.append((len(items), task.found.groups / task.merged.groups))
        return iter(())


def graph(passes: Sequence[TriedPass], parts: int, times: float, n_bytes: int) -> list[Wave]:
    """Return the passes over an input of `parts` parts and `n_bytes`, which is `times` as large as that of `passes`."""
    known = [one for one in passes if not type(one.task).__name__.startswith("Merge")]
    known = [one for one in known if not type(one.task).__name__.startswith("Write")]
    found = {type(one.task).__name__: one.counts for one in known}
    of_windows = ("HashWindows", "records"), ("HashWindows", "bytes")
    wanted = ("FindComponents", "cost"), *of_windows, ("EmbedDocuments", "vectors")
    sizes = _Sizes(*(round(found.get(name, {}).get(count, 0) * times) for name, count in wanted))
    candidates = round(found.get("FindComponents", {}).get("candidates", 0) * times)
    tasks = [_tasks(one, parts, times, n_bytes, sizes) for one in known]
    waves: list[Wave] = []
    groups = 1.0
    for n, (one, count) in enumerate(zip(known, tasks, strict=True)):
        name = type(one.task).__name__
        is_shared = one.reads and name not in READERS
        before = waves[-1].tasks if waves else 0
        files = parts if is_shared else before + parts if name == "FindComponents" else groups
        waves.append(Wave(name, count, files, one.reads, one))
        if name in MERGES:
            after = SECTIONS.get(name, parts if n + 1 == len(tasks) else tasks[n + 1])
            groups = _merge(name, count, after, waves)
        if name in TABLES:
            rows = round(sum(one.counts.get(count, 0) for count in TABLES[name]) * times)
            sections = {
                "VerifyPartition": candidates * VERDICT.itemsize // GROUP_BYTES,
                "DecideClusters": min(parts, MAX_GROUPS), "LookUp": -(-rows // SEEN_ROWS),
            }.get(name, count)  # fmt: skip
            n_files = min(sections, -(-rows // (tables.VERDICT_ROWS * parquet.FILE_GROUPS)))
            each = sections / max(1, n_files) * (groups if name in MERGES else 1)
            waves += [Wave("WriteTable", n_files, each, rows=rows)] if n_files > 1 else []
    return waves


def _merge(name: str, files: int, sections: int, waves: list[Wave]) -> int:
    """Add the passes that merge the shuffle files of a pass to `waves`; return the number of groups that remain."""
    if name == "HashDocuments":
        if files <= shuffle.FAN_IN:
            return files
        groups = -(-files // shuffle.FAN_IN)
        waves.append(Wave("MergeKeys", groups, files / groups))
        files = groups
    counted = _Metered()
    slices = shuffle.FAN_IN if name == "HashDocuments" else 1
    if name == "GatherRecords":
        slices = -(-sections // merge.MAX_SECTIONS)
    written = min(sections, merge.MAX_SECTIONS) if name in SPLITS else sections
    found = merged(counted, ShuffleFiles("", files, written), MERGES[name], "out", "", "", slices=slices)
    waves += [Wave(MERGES[name].__name__, n, each) for n, each in counted.found]
    if written < sections:
        waves.append(Wave("MergeAndSplit", written, found.groups))
        return 1
    return found.groups


def _tasks(one: TriedPass, parts: int, times: float, n_bytes: int, sizes: _Sizes) -> int:
    """Return the number of tasks of a pass for `times` as much text; `sizes` are those of the whole text."""
    name = type(one.task).__name__
    if one.reads:
        return parts
    found = one.tasks if one.tasks == 1 else max(one.tasks, round(one.tasks * times))
    if name == "MatchKeys":
        n_docs = round(one.task.source.n_docs * times)
        found = len(key_sources.key_ranges(n_docs, one.last.bands[1], key_sources.n_buckets(n_docs)))
    elif name == "VerifyPartition":
        found = n_partitions(sizes.candidates)
    elif name == "MatchUnits":
        found = search.n_partitions(n_bytes)
    elif name == "CountHashes":
        found = -(-BUCKETS // windows.buckets_per_task(sizes.records))
    elif name == "CompareRecords":
        found = 1 + int(one.task.n_bytes * times) // windows.PARTITION_BYTES + one.tasks - one.task.n_shared
    elif name == "SortRepeats":
        each = max(1, sizes.windowed // parts)
        found = parts * -(-each // windows.GROUP_BYTES)
        if each <= windows.GROUP_BYTES:
            found = -(-parts // (windows.GROUP_BYTES // each))
    elif name == "DecideClusters":
        found = decide.n_partitions(sizes.vectors, one.task.dim)
    return found


def fit(recorded: Mapping[int, Sequence[tuple[Wave, Mapping[str, float]]]], counts: Sequence[str]) -> dict[str, Any]:
    """Return {name of a task: {count: (cost per task, further cost per file that it reads)}}.

    - recorded: for each of two numbers of parts, the passes with what each of them counted.
    """
    found: dict[str, Any] = {}
    points: dict[str, dict[str, list[tuple[float, float]]]] = {}
    for parts in sorted(recorded):
        names = {wave.name for wave, _ in recorded[parts]}
        for name in names:
            own = [(wave, counted) for wave, counted in recorded[parts] if wave.name == name]
            tasks = sum(wave.tasks for wave, _ in own)
            files = sum(wave.tasks * wave.files for wave, _ in own) / tasks
            for count in counts:
                each = sum(counted[count] for _, counted in own) / tasks
                grows = count == "read" or not own[0][0].reads or name in READERS
                points.setdefault(name, {}).setdefault(count, []).append((files if grows else 1.0, each))
    for name, of_counts in points.items():
        for count, some in of_counts.items():
            found.setdefault(name, {})[count] = _line(some, through_0=name.startswith("Merge"))
    return found


def _line(points: Sequence[tuple[float, float]], *, through_0: bool) -> Cost:
    """Return the cost per task and per file, neither of which is negative; one of them is 0 if they are unknown."""
    files, cost = points[-1]
    slope = (cost - points[0][1]) / (files - points[0][0]) if files != points[0][0] else 0.0
    if through_0 or cost < slope * files:
        return 0.0, cost / files
    return (cost - slope * files, slope) if slope > 0 else (cost, 0.0)


def total(costs: Mapping[str, Mapping[str, Cost]], waves: Sequence[Wave], count: str) -> float:
    """Return what all tasks of `waves` open, request, read or take.

    Passes without fitted costs count as others of their kind: those that merge files or write tables as MergeHashed.
    """
    found = 0.0
    for wave in waves:
        alike = "MergeHashed" if wave.of is None else "Seal"
        alone, per_file = costs.get(wave.name, costs.get(alike, {})).get(count, (0.0, 0.0))
        found += wave.tasks * (alone + per_file * wave.files)
    return found


@dataclass(frozen=True)
class Cluster:
    """The machines of a forecast.

    Attributes:
        cores: the number of cores; each runs one task at a time.
        spread: the standard deviation of the logarithms of the times of equal tasks.
        preempted: how often a core is lost per hour; its task is started again on another core.
        latency: the seconds that a request takes, about 0.02 for object stores; one after another, but for AT_ONCE.
    """

    cores: int
    spread: float = SPREAD
    preempted: float = 0.0
    latency: float = 0.0


def makespan(tasks: int, seconds: float, cluster: Cluster, seed: int = 0) -> tuple[float, float]:
    """Return (the time of a pass, the time of its cores that work, including work that was lost), in seconds.

    A core that is free takes the next task. Of many tasks, only the last are simulated; those before them keep all
    cores busy.

    - seconds: the mean time of a task.
    """
    rng = np.random.default_rng(seed)
    simulated = min(tasks, max(SIMULATED, 4 * cluster.cores))
    factors = np.exp(rng.normal(-(cluster.spread**2) / 2, cluster.spread, simulated))
    free = [0.0] * min(cluster.cores, simulated)
    work = 0.0
    for each in (factors * seconds).tolist():
        at = heapq.heappop(free)
        losses = cluster.preempted * each / 3600
        if losses > MOST_LOSSES:  # the mean, of so many attempts that they are not simulated
            lost = min(each * math.expm1(min(losses, 700.0)) / losses, 1e300) - each
            at, work = at + lost, work + lost
        while 0 < losses <= MOST_LOSSES and (lost := rng.exponential(each / losses)) < each:
            at, work = at + lost + LOST_SECONDS, work + lost
        heapq.heappush(free, at + each + WAIT_SECONDS)
        work += each
    before = (tasks - simulated) / simulated if simulated else 0.0
    return max(free, default=0.0) + before * sum(free) / cluster.cores, work * (1 + before)


@dataclass(frozen=True)
class Forecast:
    """What a run takes.

    Attributes:
        seconds: the elapsed time.
        core_seconds: the time of all cores that work.
        tasks, opens, requests: their numbers.
        n_bytes: bytes that are read and written.
        task_bytes: the memory of the largest task.
        alone_bytes: the memory of the process that joins duplicates.
        alone_seconds: the time in which a single process works.
    """

    seconds: float
    core_seconds: float
    tasks: int
    opens: float
    requests: float
    n_bytes: float
    task_bytes: float
    alone_bytes: float
    alone_seconds: float

    def price(self, cluster: Cluster, core_hour: float, million_requests: float) -> float:
        """Return the price of all cores for the elapsed time, and of the requests."""
        return cluster.cores * self.seconds / 3600 * core_hour + self.requests / 1e6 * million_requests


def _is(one: TriedPass, name: str) -> bool:
    return type(one.task).__name__ == name


def forecast(found: Estimate, n_bytes: int, cluster: Cluster) -> Forecast:
    """Return what a pipeline takes on an input of `n_bytes` of text.

    Raises PlanError if the trial read less than LEAST_SAMPLE, of which most of the time is the start.
    """
    if found.sample_bytes < LEAST_SAMPLE:
        has = decimal(found.sample_bytes)
        msg = f"a forecast needs a sample of {decimal(LEAST_SAMPLE)} of text; the sample has {has}"
        raise PlanError(msg)
    times, parts = n_bytes / found.sample_bytes, max(1, -(-n_bytes // part_size(n_bytes)))
    waves = graph(found.passes, parts, times, n_bytes)
    driver = [Wave("driver", 1, parts)]
    by_tasks = ROW_SECONDS * sum(wave.rows for wave in waves)  # in the sample, between the passes
    alone = max(0.0, found.between * n_bytes - by_tasks) + total(COSTS, driver, "seconds")
    alone += cluster.latency * (WAITS[0] + WAITS[1] * parts)
    elapsed = work = alone
    moved, memory, joins, shuffled = 0.0, float(found.peak_bytes), 0.0, 0.0
    keys = sum(16 * one.task.source.n_docs * one.last.bands[1] for one in found.passes if _is(one, "MatchKeys"))
    gathered = sum(one.written for one in found.passes if _is(one, "GatherCandidates"))
    for n, wave in enumerate(waves):
        if wave.of is None:
            seconds = ROW_SECONDS * wave.rows if wave.rows else MERGE_SECONDS * shuffled
            moved += 0 if wave.rows else 2 * shuffled
        else:
            seconds, shuffled = wave.of.seconds * times, wave.of.written * times
            if wave.name == "FindComponents":
                seconds = max(seconds, JOIN_SECONDS * wave.of.task.n_docs * times)
            if wave.name == "HashDocuments":  # beside the keys, a trial stores shingles, of which there is a limit
                shuffled = keys * times
            moved += 2 * shuffled + (n_bytes if wave.reads else 0)
        waits = cluster.latency * total(COSTS, [wave], "requests") / wave.tasks / AT_ONCE.get(wave.name, 1.0)
        took, worked = makespan(wave.tasks, seconds / wave.tasks + waits, cluster, n)
        elapsed, work = elapsed + took, work + worked
        if wave.name == "MatchKeys" and wave.of is not None:
            n_docs = wave.of.task.source.n_docs * times
            memory = max(memory, KEY_BYTES * n_docs * wave.of.last.bands[1] / wave.tasks)
            joins = min(n_docs, RANGE_DOCS) * (8 if n_docs < 1 << 32 else 16)
        if wave.tasks == 1:
            alone += took
        if wave.name == "VerifyPartition":
            memory = max(memory, found.peak_bytes + 2 * gathered * times / wave.tasks)
    requests = total(COSTS, [*waves, *driver], "requests") + moved / READ_BYTES
    opens = total(COSTS, [*waves, *driver], "opens")
    n_tasks = sum(wave.tasks for wave in waves)
    return Forecast(elapsed, work, n_tasks, opens, requests, moved, memory, joins, alone)
