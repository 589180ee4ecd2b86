"""`dataprep run --dry-run`: what every stage would drop and change, and that nothing is written."""

from __future__ import annotations

import logging
from types import SimpleNamespace

import pyarrow as pa
import pytest

import dataprep as dp
from dataprep.cli.trial import excerpts
from dataprep.core.model import batch as B
from dataprep.core.model.stats import StageStats
from dataprep.core.run.trial import Sampled, Trial
from dataprep.history import trials
from dataprep.history.trials import StageChanges, StepCost, _Scale, estimate, rehearse
from dataprep.pipeline_file import Step, load

FILE = """
import dataprep as dp
import pyarrow as pa

def short(text):
    return "too_short" if len(text) < 9 else None

def shout(text):
    return text.upper() if "quiet" in text else text

def size(text):
    return {{"parity": "even" if len(text) % 2 == 0 else "odd"}}

def ingest(out, runner):
    return dp.Pipeline(dp.Filter(short), dp.Map(shout)).run(dp.read("{docs}", format="lines"), out=out, runner=runner)

def clean(ingest, out, runner):
    stages = dp.Exact(), dp.Map(size, adds={{"parity": pa.string()}}), dp.PII()
    return dp.Pipeline(*stages).run(ingest, out=out, runner=runner)

def report(clean, out):
    raise AssertionError("left out")
"""


@pytest.fixture
def pipeline(tmp_path):
    """Forty lines and a pipeline file of two steps and a report."""
    lines = [f"line number {i} is quiet" if i % 4 else "short" for i in range(30)]
    lines += ["the same line again"] * 9 + ["write to someone@example.org"]
    (tmp_path / "docs.txt").write_text("\n".join(lines) + "\n")
    (tmp_path / "pipe.py").write_text(FILE.format(docs=tmp_path / "docs.txt"))
    return tmp_path / "pipe.py"


def test_a_dry_run_shows_and_writes_nothing(dataprep, pipeline, tmp_path, monkeypatch):
    """Every rule with its count and examples before and after; no folder appears."""
    monkeypatch.chdir(tmp_path)
    before = sorted(p.name for p in tmp_path.iterdir())
    code, said, _ = dataprep("run", pipeline, "--dry-run", "--examples", "1")
    assert code == 0
    for line in ("- too_short", "~ text changed", "+ parity", ". pii.email", "nothing is written"):
        assert line in said
    assert "22" in said.split("~ text changed")[1].splitlines()[0]
    assert "is quiet" in said
    assert "IS QUIET" in said
    assert "someone@example.org" in said
    assert "<email>" in said
    assert "even" in said
    assert sorted(p.name for p in tmp_path.iterdir() if p.name != "__pycache__") == before


def test_to_stops_a_dry_run(pipeline):
    """Only the steps up to `to` are tried; without examples none are kept."""
    found, tried, _ = rehearse(load(str(pipeline)), "ingest", examples=0)
    assert [one.step for one in found] == ["ingest"]
    by_name = {changes.stats.name: changes for changes in found[0].stages}
    assert by_name["short"].stats.reasons == {"too_short": 8}
    assert by_name["shout"].changed == {"text": 22}
    assert by_name["shout"].examples == {"text": []}
    assert tried > 500


def test_each_part_states_its_own_figures(tmp_path, caplog):
    """A dry run sums the parts once, as a real run does, so its warnings state the same numbers."""
    rows = [f'{{"text": "line {i} {"words " * 250}", "of": "{"a" if i < 60 else "b"}"}}\n' for i in range(120)]
    (tmp_path / "a.jsonl").write_text("".join(rows + rows[:60]))
    seen = []

    def clean(out, runner):
        docs = dp.read(str(tmp_path / "a.jsonl"), source="field:of", part_size="64KiB")
        assert len(docs.parts) > 2
        one = dp.Filter(lambda text: "one" if text.startswith("line 0 ") else None)
        docs = dp.Pipeline(one).run(docs, out=out, runner=runner)
        seen.append([{name: amount.docs for name, amount in stage.into.items()} for stage in docs.stats])
        return docs

    found, *_ = rehearse([Step("clean", clean, ("out", "runner"))])
    assert all(into == {"a": 120, "b": 60} for into in seen[0])
    assert [(one.stats.docs_in, one.stats.docs_out) for one in found[0].stages] == [(180, 180), (180, 178)]
    assert not caplog.records


def test_changes_between_batches_of_rows():
    """Nulls, numbers and dictionaries are compared as values; a new column is counted."""
    old = B.make([1, 2, 3], ["a", "b", "c"], "s", columns={"n": pa.array([1, None, None])})
    new = B.with_column(
        B.make([1, 2, 3], ["a", "B", "c"], "t", columns={"n": pa.array([1, None, 5])}), "k", pa.array(list("xxy"))
    )
    changes = StageChanges(StageStats("s"), 2)
    changes.compare(old, new)
    assert changes.changed == {"text": 1, "source": 3, "n": 1}
    assert [(c.id, c.before, c.after) for c in changes.examples["text"]] == [(2, "b", "B")]
    assert [(c.id, c.before, c.after) for c in changes.examples["n"]] == [(3, "None", "5")]
    assert len(changes.examples["source"]) == 2
    assert changes.added == {"k": {"x": 2, "y": 1}}


def test_excerpts_begin_a_little_before_the_difference():
    """Long texts are shown from thirty characters before what differs."""
    assert excerpts("a" * 50 + "b", "a" * 50 + "c") == ("\u2026" + "a" * 30 + "b", "\u2026" + "a" * 30 + "c")
    assert excerpts("same", "same and more") == ("same", "same and more")


def test_warnings_name_no_temporary_folder(tmp_path, caplog) -> None:
    """A step in a dry run is in a folder that is removed, so a warning states the path that a run would have."""
    pipeline = tmp_path / "steps.py"
    pipeline.write_text(
        "import logging\n\ndef first(out, runner):\n"
        "    logging.getLogger('dataprep').warning('%s and %s are odd', out, type(runner).__name__)\n"
    )
    before = list(logging.getLogger("dataprep").filters)
    rehearse(load(str(pipeline)))
    assert "out/first and Context are odd" in caplog.messages
    assert logging.getLogger("dataprep").filters == before


def test_estimates_consist_of_a_start_and_of_costs_per_part_and_byte() -> None:
    """From three runs whose costs are exactly of this form, the cost of the whole input follows exactly."""

    def cost(start: float, parts: int, text: int) -> float:
        return start + 3 * parts + text / 10

    trials = [Trial("out", 1, inputs=[Sampled(1, 9_000.0, text, 40, n)]) for n, text in ((1, 10), (4, 100), (4, 200))]
    runs = [cost(7, 1, 10), cost(0, 4, 100), cost(0, 4, 200)]
    scale = _Scale(*trials)
    assert scale.of(*runs) == pytest.approx(cost(7, 40, 9_000))
    assert scale.of(0, *runs[1:]) == pytest.approx(cost(0, 40, 9_000))  # of disk, the first run says nothing
    steps = [StepCost("a", 1, int(run), int(2 * run), run / 2, run, 5) for run in runs]
    whole = scale.whole(*steps)
    assert (whole.cpu_seconds, whole.seconds) == pytest.approx((cost(7, 40, 9_000), cost(7, 40, 9_000) / 2))
    assert whole.most_bytes == pytest.approx(2 * cost(0, 40, 9_000), abs=9)
    every = [Trial("out", 1, inputs=[Sampled(1, 200.0, 200, 4, 4)]) for _ in range(3)]
    assert _Scale(*every).of(9.0, 5.0, 5.0) == 9.0  # all was read: the first run is the whole


def test_an_estimate_has_the_passes_and_the_files_of_the_run(tmp_path, monkeypatch) -> None:
    """The beginning of an input is read again, as the input of a run is, and not saved; temporary files count."""
    import dataprep as dp
    from dataprep.read import parts

    monkeypatch.setattr(parts, "SMALL_PART_BYTES", 70_000)
    monkeypatch.setattr("dataprep.read.text.BLOCK", 4_000)
    rows = (" ".join(f"w{(n // 2 * 97 + i * i) % 5003}" for i in range(60)) for n in range(600))
    (tmp_path / "docs.txt").write_text("\n".join(rows) + "\n")
    (tmp_path / "steps.py").write_text(
        f"import dataprep as dp\n\ndef dedup(out, runner):\n    docs = dp.read({str(tmp_path / 'docs.txt')!r}, "
        "format='lines')\n    return dp.Pipeline(dp.MinHash()).run(docs, out=out, runner=runner)\n"
    )
    found = estimate(load(str(tmp_path / "steps.py")), 20_000).costs[0]
    dp.Pipeline(dp.MinHash()).run(dp.read(str(tmp_path / "docs.txt"), format="lines"), str(tmp_path / "out"))
    kept = sum(file.stat().st_size for file in (tmp_path / "out").rglob("*") if file.is_file())
    assert found.n_passes == 3  # hash, gather, write
    assert found.disk_bytes == pytest.approx(kept, rel=0.25)
    shingles = 8 * 56 * 600
    assert shingles < found.most_bytes - found.disk_bytes < 4 * shingles


def test_a_sample_stores_its_share_of_the_shingles() -> None:
    """So that what is stored, multiplied as the input is, never exceeds the limit of a run."""
    from dataprep.core.model.part import Part
    from dataprep.core.model.reader import Slice
    from dataprep.dedup.minhash import MinHash
    from dataprep.dedup.near.keys import PartToHash
    from dataprep.dedup.near.stored_shingles import STORED_BYTES, with_shares

    parts = (Part((Slice("a.txt", 0, 0, None, "a", n_bytes=n),), None) for n in (3, 1))  # type: ignore[arg-type]
    items = [PartToHash(part, "") for part in parts]
    sketch = MinHash().sketch
    for share in (1, 1 / 64):
        stored = [item.stored for item in with_shares(items, 0, sketch, share)]
        assert stored == [share * STORED_BYTES * 3 / 4, share * STORED_BYTES / 4]


def test_the_trials_of_a_small_input_read_half_of_it_and_all(tmp_path, monkeypatch) -> None:
    """Otherwise the time between passes, of which most is a start, would count as one that grows with the text."""
    from dataprep.history import trials

    tried, sizes = trials._tried, []

    def noted(steps, trial):
        done = tried(steps, trial)
        sizes.append(sum(one.sample for one in trial.inputs))
        return done

    monkeypatch.setattr(trials, "_tried", noted)
    monkeypatch.setattr("dataprep.read.parts.SMALL_PART_BYTES", 10_000)
    (tmp_path / "docs.jsonl").write_text('{"text": "some words"}\n' * 10_000)
    (tmp_path / "steps.py").write_text(
        f"import dataprep as dp\n\ndef copy(out, runner):\n    docs = dp.read({str(tmp_path / 'docs.jsonl')!r})\n"
        "    return dp.Pipeline().run(docs, out=out, runner=runner)\n"
    )
    assert estimate(load(str(tmp_path / "steps.py"))).sample_bytes == sizes[-1] == 100_000
    assert sizes[-2] < 0.8 * sizes[-1]


@pytest.mark.parametrize(("free", "named", "in_memory"), [(40, False, True), (20, False, False), (40, True, False)])
def test_a_trial_is_in_memory_if_it_fits(free, named, in_memory, tmp_path, monkeypatch):
    """The folder for temporary files is used if memory is short, or if the user names one; nothing is left in it."""
    memory = tmp_path / "memory"
    memory.mkdir()
    monkeypatch.setattr(trials, "MEMORY", str(memory))
    monkeypatch.setattr(trials.shutil, "disk_usage", lambda _: SimpleNamespace(free=1 << free))
    monkeypatch.setenv("TMPDIR", str(tmp_path)) if named else monkeypatch.delenv("TMPDIR", raising=False)
    monkeypatch.setattr(trials.tempfile, "tempdir", str(tmp_path))
    seen = []
    rehearse([Step("clean", lambda out, runner: seen.append(out), ("out", "runner"))])
    assert seen[0].startswith(str(memory if in_memory else tmp_path / "dataprep-"))
    assert list(tmp_path.rglob("dataprep*")) == []
