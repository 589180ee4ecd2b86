"""The section of the report about experiments: their table, their charts, and what is left out."""

from __future__ import annotations

import json
import re

import pytest

from dataprep.history.experiments import curves_of, found_experiments
from dataprep.history.run_summary import RunSummary
from dataprep.report.experiments import COLUMNS, experiments, pictures, rows_of

NAMES = {"raw": None, "a<b": "better", "نص": "worse", "same": "not shown", "twin": "not shown"}
CONFIG = {"batch": 2, "model": {"context": 8}}


def made():
    """The content of an experiment.json with one version per verdict; two have the same documents."""
    versions = {name: {"documents": 90 - 10 * min(i, 3), "tokens": 900 - 100 * min(i, 3), "epochs": 0.5 + i,
                       "runs": [f"runs/{i}-seed-0", f"runs/{i}-seed-1"]} for i, name in enumerate(NAMES)}  # fmt: skip
    found = {
        name: {"bits_per_byte": 3.0 + 0.1 * min(i, 3), "difference": 0.1 * i,
               "interval": [0.1 * i - 0.2, 0.1 * i + 0.2], "by_seed_difference": [0.1 * i, 0.1 * i],
               "verdict": verdict, "seeds_needed": 7 if i == 3 else None}
        for i, (name, verdict) in enumerate(NAMES.items())
    }  # fmt: skip
    about = {"config": CONFIG, "seeds": 2, "tokens": 1600, "held_out_documents": 40}
    return {"baseline": "raw", "versions": versions, "measures": [{"name": "all", "versions": found}], "about": about}


@pytest.fixture
def place(tmp_path):
    """A run's folder with an experiment, whose runs have 100 steps; one seed's metrics were deleted."""
    home = tmp_path / "quality"
    for i in range(5):
        for seed in (0, 1):
            run = home / "runs" / f"{i}-seed-{seed}"
            run.mkdir(parents=True)
            rows = [{"step": n, "loss": 5 - n / 100 + seed} for n in range(1, 101)]
            (run / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (home / "runs" / "0-seed-1" / "metrics.jsonl").unlink()
    (home / "experiment.json").write_text(json.dumps(made()))
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "experiment.json").write_text('{"mine": 1}')
    (tmp_path / "damaged").mkdir()
    (tmp_path / "damaged" / "experiment.json").write_text("{")
    return tmp_path


def test_rows_state_sizes_and_verdicts() -> None:
    """Documents and tokens with the share that is less than the baseline's, and what would show a difference."""
    rows = {row[0]: row for row in rows_of(made())}
    assert {len(row) for row in rows.values()} == {len(COLUMNS)}
    assert rows["raw"] == ["raw", "90", "0.0%", "900", "0.0%", "0.5", "3.0000", "", "", "baseline"]
    assert rows["a<b"][2:5] == ["11.1%", "800", "11.1%"]
    assert [rows[name][-1] for name in ("a<b", "نص")] == ["better", "worse"]
    assert rows["same"][-1] == "not shown; 7 seeds would show it"
    content = made()
    content["measures"][0]["versions"]["same"] |= {"difference": 0.0, "interval": [0.0, 0.0]}
    rows = {row[0]: row for row in rows_of(content)}
    assert rows["same"][-1] == "not shown; the models are the same"
    assert rows["twin"][-1] == "not shown; more held-out text would show it"


def test_curves_are_means_of_the_metrics(place) -> None:
    """At most 40 points, at the tokens read; a run without metrics has none."""
    [found] = found_experiments(str(place))
    assert found.name == "quality"
    assert [len(of) for of in found.curves.values()] == [1, 2, 2, 2, 2]
    [curve] = found.curves["raw"]
    assert len(curve) == 34
    assert curve[0] == (3 * 16, pytest.approx(5 - 0.02))
    assert curve[-1] == (100 * 16, pytest.approx(4))
    assert curves_of(str(place / "quality"), made()) == found.curves


def test_the_section_has_the_words_and_colours_of_the_verdicts(place) -> None:
    """All is escaped; better is the colour of kept, worse that of dropped; versions alike share a dot."""
    summary = RunSummary("run", {}, [], {}, [], experiments=found_experiments(str(place)))
    page = experiments(summary)
    assert "a&lt;b" in page
    assert "a<b" not in page
    assert page.count("<tr") == 6
    for name, style in (("a&lt;b", "kept"), ("نص", "dropped"), ("same", "none"), ("raw", "base")):
        assert re.search(rf'class="line of-seed {style}" points="[^"]+"><title>{name}, seed 1 of', page)
    assert page.count("of-seed") == 9
    assert "same, twin" in page
    assert "quality/experiment.md" in page
    assert experiments(RunSummary("run", {}, [], {}, [])) == ""


def test_without_metrics_there_are_no_curves() -> None:
    """The other two pictures are drawn."""
    assert set(pictures(made(), {"raw": []})) == {"differences.svg", "sizes.svg"}
