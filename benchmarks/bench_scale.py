"""Do the counts and times of 10 and 100 parts predict those of 1,000 parts? Fits the costs that `dataprep plan` uses.

    python benchmarks/bench_scale.py [--only MinHash "Exact(line)"] [--file out/scale.json] [--write]

Runs deduplications with small parts on a file system in memory that counts (as `bench_opens.py` does), and notes for
each pass its tasks, what they open, request and read, and their CPU time. From 10 and 100 parts, `fit` of
`dataprep.history.cluster` finds a cost per task and one per file that a task reads; the task graph of 1,000 parts then
predicts that run, which is printed beside it, and the fitted costs are printed as `history/cluster.py` has them. With
--file, the measurements are stored, and those that are already there are not repeated. --forecasts FILE prints what
`MinHash` would take on clusters.
"""

from __future__ import annotations

import argparse
import pickle
import sys
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

PARTS = (10, 100, 1000)
COUNTS = ("opens", "requests", "read", "seconds")


@dataclass
class Watched:
    """A Runner that runs tasks one after another, and notes the counts of each pass; "driver" is all between passes."""

    workers: int = 1
    memory: Any = None
    passes: list[dict[str, Any]] = field(default_factory=list)
    before: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.before = now()

    def note(self, name: str, tasks: int, times: list[float]) -> None:
        """Note what was counted since the last call."""
        after = now()
        self.passes.append({"name": name, "tasks": tasks, "times": times[:200]})
        self.passes[-1].update({key: after[key] - self.before[key] for key in COUNTS})
        self.before = after

    def map(self, task: Any, items: Any, label: str = "") -> Any:  # noqa: ARG002 - as a Runner
        """Yield the result of each task."""
        from dataprep.core.run.passes import WriteTable
        from dataprep.core.run.trial import TriedPass

        self.note("driver", 1, [])
        found, times = [], []
        for item in items:
            began = time.process_time()
            found.append(task(item))
            times.append(time.process_time() - began)
        self.note("WriteTable" if isinstance(task, WriteTable) else type(task).__name__, len(items), times)
        reads = any(getattr(item, "n_bytes", 0) for item in items)
        self.passes[-1].update(task=task, reads=reads, last=items[-1], result=found[-1])
        self.passes[-1]["sums"] = TriedPass.sums(found)
        yield from found


def now() -> dict[str, float]:
    """Return everything that was counted so far."""
    from fixtures.counted import Counted

    counts = (sum(one.values()) for one in (Counted.opens, Counted.requests, Counted.read))
    return dict(zip(COUNTS, (*counts, time.process_time()), strict=True))


def measured(stage: Any, parts: int) -> list[dict[str, Any]]:
    """Return the passes of a run of `stage` on so many parts."""
    import dataprep as dp
    from fixtures.counted import many_parts

    with many_parts(parts) as (url, out):
        watched = Watched()
        dp.Pipeline(stage).run(dp.read(url), out, watched)
        watched.note("driver", 1, [])
    return watched.passes


def tried(passes: list[dict[str, Any]]) -> list[Any]:
    """Return recorded passes as those of a trial."""
    from dataprep.core.run.trial import TriedPass

    names = "task", "last", "result", "tasks", "reads", "seconds"
    chosen = (one for one in passes if one["name"] != "driver")
    return [TriedPass("", *(one[name] for name in names), 0, one["sums"]) for one in chosen]


def waves_of(passes: list[dict[str, Any]], before: int, after: int) -> list[Any]:
    """Return the task graph of `after` parts, by the passes of a run on `before` parts."""
    from dataprep.history.cluster import Wave, graph

    size = next(one["last"].n_bytes for one in passes if one.get("reads")) * after
    return [*graph(tried(passes), after, after / before, size), Wave("driver", 1, after)]


def recorded(passes: list[dict[str, Any]], parts: int) -> list[tuple[Any, dict[str, float]]]:
    """Return the passes of the task graph, each with what was counted in it."""
    waves = waves_of(passes, parts, parts)
    own = [one for one in passes if one["name"] != "driver"]
    alone = {key: sum(one[key] for one in passes if one["name"] == "driver") for key in COUNTS}
    for wave, one in zip(waves[:-1], own, strict=True):
        is_near = abs(wave.tasks - one["tasks"]) <= 1 + one["tasks"] // 10  # parts of unequal sizes share groups
        assert wave.name == one["name"], (wave.name, one["name"])
        assert is_near, (wave.name, wave.tasks, one["tasks"])
    real = [replace(wave, tasks=one["tasks"]) for wave, one in zip(waves[:-1], own, strict=True)]
    return list(zip([*real, waves[-1]], [*own, alone], strict=True))


def compare(stored: dict[str, Any], name: str, table: Any) -> dict[str, Any]:
    """Add rows with the prediction for 1,000 parts and the run to a table; return the fitted costs."""
    from dataprep.history.cluster import fit, total
    from fixtures.counted import many_parts

    few, some, many = PARTS
    with many_parts(few):
        runs = {parts: recorded(stored[f"{name} {parts}"], parts) for parts in (few, some)}
        waves = waves_of(stored[f"{name} {some}"], some, many)
    costs = fit(runs, COUNTS)
    real = stored[f"{name} {many}"]
    rows = {"tasks": (sum(wave.tasks for wave in waves) - 1, sum(p["tasks"] for p in real if p["name"] != "driver"))}
    rows |= {key: (total(costs, waves, key), sum(one[key] for one in real)) for key in COUNTS}
    for key, (expected, found) in rows.items():
        table.add_row(name, key, f"{expected:,.0f}", f"{found:,.0f}", f"{expected / found - 1:+.1%}")
    return costs


def spread(stored: dict[str, Any]) -> float:
    """Return the standard deviation of the logarithms of the CPU times of equal tasks, of passes over 100 parts."""
    import numpy as np

    runs = [run for key, run in stored.items() if key.endswith(f" {PARTS[1]}")]
    every = [np.log(one["times"]) for run in runs for one in run if one.get("reads")]
    return float(np.sqrt(np.mean([np.var(one) for one in every])))


def forecasts(text: str) -> None:
    """Print what MinHash would take on clusters, by a trial on a file of text, as a table in Markdown."""
    import dataprep as dp
    from dataprep.experiment.cost import duration
    from dataprep.history.cluster import Cluster, forecast
    from dataprep.history.trials import estimate
    from dataprep.pipeline_file import Step

    def dedup(out: str, runner: Any) -> Any:
        return dp.Pipeline(dp.MinHash()).run(dp.read(text), out=out, runner=runner)

    found = estimate([Step("dedup", dedup, ("out", "runner"))])
    for latency in (0.0, 0.02):
        for size, name in ((10**12, "1 TB"), (10**14, "100 TB"), (10**16, "10 PB")):
            for cores in (100, 1_000, 10_000):
                cluster = Cluster(cores, preempted=0.05, latency=latency)
                ahead = forecast(found, size, cluster)
                row = (name, f"{cores:,}", duration(ahead.seconds), duration(ahead.alone_seconds))
                row += (f"{ahead.core_seconds / 3600:,.0f}", f"{ahead.tasks:,.2g}", f"{ahead.opens:,.2g}")
                row += (f"{ahead.requests:,.2g}", f"{ahead.n_bytes / 1e12:,.0f}", f"{ahead.task_bytes / 1e9:,.1f}")
                row += (f"{ahead.alone_bytes / 1e9:,.1f}", f"{ahead.price(cluster, 0.04, 0.4):,.0f}")
                print("|", " | ".join(row), "|")
        print()


def main() -> None:
    """Measure what is not stored, and print predictions beside what was measured."""
    from rich.console import Console
    from rich.table import Table

    import dataprep as dp

    stages = {
        "MinHash": dp.MinHash(bands=4, rows=2), "Exact": dp.Exact(), "Exact(line)": dp.Exact(unit="line"),
        "SuffixArray": dp.SuffixArray(min_words=6),
    }  # fmt: skip
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="*", choices=list(stages), default=list(stages))
    parser.add_argument("--file", type=Path)
    parser.add_argument("--forecasts", metavar="TEXT", help="print the table of docs/cluster.md instead")
    given = parser.parse_args()
    if given.forecasts:
        return forecasts(given.forecasts)
    stored = pickle.loads(given.file.read_bytes()) if given.file and given.file.exists() else {}
    for parts in PARTS:
        for name in given.only:
            if f"{name} {parts}" not in stored:
                measured(stages[name], 3)  # loads the kernels
                stored[f"{name} {parts}"] = measured(stages[name], parts)
                if given.file:
                    given.file.write_bytes(pickle.dumps(stored))
    table = Table("stage", "1,000 parts", "predicted", "measured", "difference")
    costs: dict[str, Any] = {}
    for name in given.only:
        costs = compare(stored, name, table) | costs
    Console(width=110).print(table)
    print(f"SPREAD = {spread(stored):.2f}\nCOSTS = {{")
    for name, of in sorted(costs.items()):
        keys = ("opens", "requests", *(["seconds"] if name == "driver" else []))
        kept = {key: tuple(float(f"{x:.4g}") for x in of[key]) for key in keys}
        print(f"    {name!r}: {kept!r},")
    print("}")
    return None


if __name__ == "__main__":
    main()
