"""Forecasts for many cores: the task graph of real runs, and simulated cores against a plain loop."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace

import numpy as np
import pytest

import dataprep as dp
from dataprep.core.run.context import Context
from dataprep.core.run.trial import Trial
from dataprep.dedup.near.union import RANGE_DOCS
from dataprep.history import cluster
from dataprep.history.cluster import WAIT_SECONDS, Cluster, Wave, fit, forecast, graph, makespan, total
from dataprep.history.trials import Estimate
from dataprep.store import parquet, shuffle
from fixtures.counted import many_parts

STAGES = {"MinHash": lambda: dp.MinHash(bands=2, rows=2), "lines": lambda: dp.Exact(unit="line"),
          "windows": lambda: dp.SuffixArray(min_words=6, cut="line")}  # fmt: skip


def tried(stage, parts, folder, monkeypatch):
    """The passes of a run on so many parts, as a trial notes them, and the size of a part."""
    monkeypatch.setattr(shuffle, "FAN_IN", 3)
    monkeypatch.setattr(parquet, "FILE_GROUPS", 1)
    with many_parts(parts, docs=8, in_a_range=2) as (url, _):
        docs = dp.read(url)
        trial = Trial(str(folder), 1 << 30)
        dp.Pipeline(stage).run(docs, f"{folder}/out", Context(dp.tools.Serial(), trial))
        size = docs.n_bytes // parts
        yield_graph = graph(trial.passes, parts, 1.0, size * parts)
        larger = graph(trial.passes, 12, 12 / parts, size * 12)
    return trial, yield_graph, larger


@pytest.mark.parametrize("name", list(STAGES))
def test_the_graph_is_that_of_a_run(name, tmp_path, monkeypatch) -> None:
    """Of a run and of a larger one: the same passes, those that merge and write tables too, with as many tasks."""
    _, own, larger = tried(STAGES[name](), 5, tmp_path / "a", monkeypatch)
    trial, found, _ = tried(STAGES[name](), 12, tmp_path / "b", monkeypatch)
    real = [(re.sub("Write.*", "WriteTable", type(one.task).__name__), one.tasks) for one in trial.passes]
    assert [(wave.name, wave.tasks) for wave in found] == real
    assert any(wave.name.startswith("Merge") for wave in own)
    assert [wave.name for wave in larger] == [one for one, _ in real]
    assert [wave.tasks for wave in larger] == pytest.approx([n for _, n in real], abs=1)


@pytest.mark.parametrize(("tasks", "cores"), [(1, 4), (4, 4), (9, 4), (100, 7), (3, 100)])
def test_equal_tasks_take_whole_rounds(tasks, cores) -> None:
    """Without spread and losses, the time has a closed form."""
    took, work = makespan(tasks, 2.0, Cluster(cores, spread=0.0))
    assert took == pytest.approx(math.ceil(tasks / cores) * (2.0 + WAIT_SECONDS))
    assert work == pytest.approx(2.0 * tasks)


@pytest.mark.parametrize("seed", range(3))
def test_a_free_core_takes_the_next_task(seed) -> None:
    """As a plain loop over all cores has it."""
    took, work = makespan(200, 3.0, Cluster(7, spread=0.8), seed)
    factors = np.exp(np.random.default_rng(seed).normal(-0.32, 0.8, 200))
    free = [0.0] * 7
    for each in factors * 3.0:
        first = min(range(7), key=free.__getitem__)
        free[first] += each + WAIT_SECONDS
    assert took == pytest.approx(max(free))
    assert work == pytest.approx(float(sum(factors)) * 3.0)


def test_lost_work_is_done_again(monkeypatch) -> None:
    """On average as theory says: (exp(rt) - 1) / r for a task of t seconds that is lost r times per second."""
    rate = 2.0
    took, work = makespan(20_000, 900.0, Cluster(10, spread=0.0, preempted=rate))
    assert work / 20_000 == pytest.approx((math.exp(rate / 4) - 1) / (rate / 3600), rel=0.03)
    assert took > work / 10
    monkeypatch.setattr(cluster, "SIMULATED", 1_000)
    fewer = makespan(20_000, 900.0, Cluster(10, spread=0.0, preempted=rate))
    assert fewer == pytest.approx((took, work), rel=0.05)


def test_costs_per_task_and_file_are_found_exactly() -> None:
    """From two sizes; merges cost per file alone, and what cannot be told apart is a cost per task."""

    def run(parts):
        waves = [Wave("Seal", parts, 1, reads=True), Wave("MatchKeys", 4, parts), Wave("MergeKeys", 2, parts / 2)]
        return [(w, {"opens": w.tasks * (7 * (w.name[1] != "e" or w.name == "Seal") + 2 * w.files)}) for w in waves]

    costs = fit({10: run(10), 100: run(100)}, ["opens"])
    assert costs["Seal"]["opens"] == (9.0, 0.0)
    assert costs["MatchKeys"]["opens"] == pytest.approx((7, 2))
    assert costs["MergeKeys"]["opens"] == pytest.approx((0, 2))
    waves = [wave for wave, _ in run(1_000)]
    assert total(costs, waves, "opens") == pytest.approx(sum(counted["opens"] for _, counted in run(1_000)))


def test_a_forecast_grows_with_the_input_and_falls_with_the_cores(tmp_path, monkeypatch) -> None:
    """Ten times the text takes ten times the work; the price counts cores, also idle ones, and requests."""
    trial, _, _ = tried(STAGES["MinHash"](), 5, tmp_path, monkeypatch)
    monkeypatch.undo()
    passes = tuple(replace(one, seconds=1.0 if one.reads else 0.0) for one in trial.passes)
    found = Estimate(1, 1, 10**7, (), passes=passes, between=1e-9)
    found = replace(found, costs=(type("Cost", (), {"peak_bytes": 300})(),))  # type: ignore[arg-type]
    small, large = (forecast(found, n, Cluster(100, spread=0.0)) for n in (10**12, 10**13))
    assert large.core_seconds == pytest.approx(10 * small.core_seconds, rel=0.1)
    assert forecast(found, 10**12, Cluster(1_000, spread=0.0)).seconds < small.seconds
    assert forecast(found, 10**12, Cluster(100, spread=0.0, preempted=1.0)).core_seconds > small.core_seconds
    assert small.price(Cluster(100), 0.04, 0.0) == pytest.approx(small.seconds / 36 * 0.04)
    assert small.price(Cluster(100), 0.0, 5.0) == pytest.approx(small.requests * 5e-6)
    assert small.alone_bytes < large.alone_bytes == 8 * RANGE_DOCS, "one range of documents"


def test_plan_prints_a_forecast(dataprep, tmp_path) -> None:
    """With --cores; prices and sizes without it are an error, and all figures are in the JSON."""
    (tmp_path / "a.jsonl").write_text("".join(json.dumps({"text": f"text {n} " * 999}) + "\n" for n in range(150)))
    code, _, said = dataprep("plan", tmp_path / "a.jsonl", "--input-bytes", "1TB")
    assert (code, "add --cores" in said) == (1, True)
    given = ("plan", tmp_path / "a.jsonl", "--cores", "1000", "--input-bytes", "1TB", "--core-hour", "0.04")
    code, said, _ = dataprep(*given)
    assert code == 0
    for line in ("1.0 TB on 1,000 cores", "elapsed time", "requests of a store", "price", "extrapolation"):
        assert line in said
    code, said, _ = dataprep(*given, "--json")
    assert code == 0
    assert json.loads(said)["forecast"].keys() >= {"cores", "seconds", "core_seconds", "requests", "price"}
