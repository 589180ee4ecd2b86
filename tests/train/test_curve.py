"""The loss curve on the terminal, and the files for TensorBoard."""

import io
import re
import sys
from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")

from dataprep.errors import PlanError  # noqa: E402
from dataprep.train import metrics, train  # noqa: E402
from dataprep.train import tensorboard as module  # noqa: E402
from dataprep.train.__main__ import main  # noqa: E402
from dataprep.train.curve import Curve  # noqa: E402
from dataprep.train.metrics import Metrics, Progress, read  # noqa: E402


def falling(n, at=2.0):
    """Rows of metrics whose loss falls on a straight line, from 3 to `at`."""
    return [{"step": s, "loss": 3 - (3 - at) * s / n} for s in range(1, n + 1)]


@pytest.mark.parametrize("width", [34, 60, 101])
@pytest.mark.parametrize("n", [2, 7, 5000])
def test_a_line_falls(width, n):
    """A straight line is one from the top left to the bottom right; its ends are the numbers at the left."""
    curve = Curve()
    curve.restart(falling(n))
    lines = curve.lines(width, 10)
    assert len(lines) == 12
    assert max(map(len, lines)) == len(lines[-1]) == width
    assert float(lines[0].split("|")[0]) == pytest.approx(3 - 1 / n, abs=1 / n + 0.03)
    assert float(lines[9].split("|")[0]) == pytest.approx(2, abs=1 / n + 0.03)
    rows = [line.partition("|")[2] for line in lines[:10]]
    dots = sorted((x, y) for y, row in enumerate(rows) for x, c in enumerate(row) if c > "\u2800")
    assert [y for _, y in dots] == sorted(y for _, y in dots)
    assert lines[-1].split()[:2] == ["step", "0"]
    assert lines[-1].endswith(f"{n:,}")
    if n == 5000:
        assert {y for _, y in dots} == set(range(10))
        assert {x for x, _ in dots} == set(range(width - 10))


def test_validation_has_circles():
    """One for each validation, at its step; rows without a loss draw nothing."""
    curve = Curve()
    assert curve.lines() == []
    curve.add([{"step": 0, "val_loss": 3.0}, {"step": 4, "skipped": True}, {"step": 5, "loss": None}])
    assert curve.lines() == []
    curve.add([{"step": 10, "val_loss": 2.0, "val_loss/web": 9.0}, {"step": 10, "loss": float("nan")}])
    lines = curve.lines(50, 5)
    assert lines[0].endswith("|o")
    assert lines[4] == f"{'2.000':>8} |{'o':>40}"
    assert "o validation" in lines[-1]
    curve.restart([{"step": 1, "loss": 1.0}])
    assert curve.lines() == []


def test_equal_losses():
    """A flat line is in the middle."""
    curve = Curve()
    curve.restart([{"step": s, "loss": 1.5} for s in (1, 2)])
    assert sum(c > "\u2800" for line in curve.lines(40, 9)[4] for c in line) == 2


def test_a_run_prints_its_curve(shards, config, tmp_path, capsys):
    """At the end, where nobody watches; a resumed run with the steps before it; without the option, none."""
    train(shards, out=tmp_path, config=config, stop_at=9)
    assert "|" not in capsys.readouterr().out
    train(shards, out=tmp_path, config=config, plot=True)
    lines = [line for line in capsys.readouterr().out.splitlines() if "|" in line]
    drawn = Curve()
    drawn.restart(read(tmp_path / "metrics.jsonl"))
    assert lines == drawn.lines(80)[:12]
    assert len(drawn.train) == 20
    train(shards, out=tmp_path / "quiet", config=config, plot=True, quiet=True, stop_at=2)
    assert capsys.readouterr().out == ""


def test_on_a_terminal_it_is_drawn_again(monkeypatch):
    """With each update, above the bar; the last drawing remains."""
    pytest.importorskip("rich")
    from rich import console, progress

    seen = io.StringIO()
    monkeypatch.setattr(progress, "get_console", lambda: console.Console(file=seen, force_terminal=True, width=60))
    monkeypatch.setattr(metrics.sys, "stdout", SimpleNamespace(isatty=lambda: True))
    curve = Curve()
    shown = Progress(10, 0, curve=curve)
    curve.add(falling(5))
    shown.update(5, 2.0, 100.0, None)
    assert shown._bar.drawing == "\n".join(curve.lines(59))
    curve.add(falling(10, 1.0)[5:])
    shown.update(10, 1.0, 100.0, None)
    shown.close()
    assert shown._bar.drawing == "\n".join(curve.lines(59))
    assert all(line in seen.getvalue() for line in curve.lines(59)[:3])


class FakeWriter:
    """What SummaryWriter has of use here; lists what it gets."""

    def __init__(self, log_dir, purge_step):
        self.events = [("open", log_dir, purge_step)]
        FakeWriter.made.append(self)

    def add_scalar(self, name, value, step):
        """Note a number."""
        self.events.append((name, value, step))

    def flush(self):
        """Note nothing."""

    def close(self):
        """Note the end."""
        self.events.append("closed")


def test_tensorboard_gets_every_number(shards, config, tmp_path, monkeypatch):
    """Those of metrics.jsonl, by name and step; a resumed run replaces what was written after its checkpoint."""
    FakeWriter.made = []
    monkeypatch.setattr(module, "need", lambda *_args, **_options: SimpleNamespace(SummaryWriter=FakeWriter))
    train(shards, out=tmp_path, config=config, stop_at=9, quiet=True, tensorboard=True)
    train(shards, out=tmp_path, config=config, quiet=True, tensorboard=True)
    train(shards, out=tmp_path, config=config, quiet=True, tensorboard=True)  # finished: nothing is written
    first, second = FakeWriter.made
    assert [made.events[0] for made in (first, second)] == [
        ("open", str(tmp_path / "tensorboard"), 0), ("open", str(tmp_path / "tensorboard"), 10),
    ]  # fmt: skip
    expected = [
        (name, value, row["step"])
        for row in read(tmp_path / "metrics.jsonl")
        for name, value in row.items() if name not in ("step", "attention") and value is not None
    ]  # fmt: skip
    assert [*first.events[1:-1], *second.events[1:-1]] == expected
    assert first.events[-1] == second.events[-1] == "closed"


def test_a_rollback_opens_another_file(tmp_path, monkeypatch):
    """What watchers got of the steps after the checkpoint is taken back."""
    FakeWriter.made = []
    monkeypatch.setattr(module, "need", lambda *_args, **_options: SimpleNamespace(SummaryWriter=FakeWriter))
    curve, board = Curve(), module.TensorBoard(tmp_path / "tb")
    log = Metrics(tmp_path / "metrics.jsonl", 0, [curve, board])
    log.add([{"step": s, "loss": 1.0 * s} for s in (1, 2, 3)])
    log.rewind(1)
    log.add([{"step": 2, "loss": 5.0}])
    log.close()
    assert curve.train == [(1, 1.0), (2, 5.0)]
    assert [made.events[0][2] for made in FakeWriter.made] == [0, 2]


def test_without_the_package(shards, config, tmp_path, monkeypatch, capsys):
    """The extra is named before any work."""
    monkeypatch.setitem(sys.modules, "tensorboard", None)
    with pytest.raises(PlanError, match=r"package 'tensorboard', .* pip install 'dataprep-lm\[tensorboard\]'"):
        train(shards, out=tmp_path / "run", config=config, quiet=True, tensorboard=True)
    monkeypatch.setattr(sys, "argv", ["", str(shards.path), "--out", str(tmp_path / "run"), "--tensorboard"])
    assert main() == 1
    assert "dataprep-lm[tensorboard]" in capsys.readouterr().err
    assert not (tmp_path / "run" / "metrics.jsonl").exists()


def test_tensorboard_reads_it(shards, config, tmp_path):
    """Its own reader has the losses, those of a resumed run once."""
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    train(shards, out=tmp_path, config=config, stop_at=9, quiet=True, tensorboard=True)
    train(shards, out=tmp_path, config=config, quiet=True, tensorboard=True)
    found = EventAccumulator(str(tmp_path / "tensorboard"))
    found.Reload()
    losses = [(e.step, e.value) for e in found.Scalars("loss")]
    assert losses == [(r["step"], pytest.approx(r["loss"])) for r in read(tmp_path / "metrics.jsonl") if "loss" in r]
    assert len(found.Scalars("val_loss")) == 3


def test_a_stdout_without_braille_gets_ascii(shards, config, tmp_path, monkeypatch):
    """The training ends, and its curve has asterisks; a name that the encoding lacks is replaced."""
    out = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", out)
    train({"caf\u00e9": shards}, out=tmp_path, config=config.override("steps=4", "log_every=1"), plot=True)
    out.flush()
    said = out.buffer.getvalue().decode("ascii")
    assert "epochs of caf?" in said
    assert re.search(r"\|.*\*", said)
