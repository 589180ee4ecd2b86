"""`make bench-gpu`: the same code on the CPU, with a tiny size."""

import importlib.util
import json
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")

from dataprep.errors import DataprepError  # noqa: E402


def test_the_table_of_a_tiny_model(root, tmp_path):
    """Every kind of run has its figures, in a table and as JSON; masks and checkpoints have a cost."""
    words = ("--sizes", "tiny", "--steps", "4", "--batch", "2", "--tokens", "9000", "--out", tmp_path / "found")
    command = [sys.executable, root / "benchmarks" / "bench_gpu.py", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr
    written = json.loads((tmp_path / "found" / "bench-gpu.json").read_text())
    found = {row["rows"]: row for row in written["rows"]}
    assert list(found) == ["stream", "masks", "no masks", "saving", "lora", "qlora"]
    for row in found.values():
        assert row["tokens_per_s"] > 0
        assert 0 <= row["loader_wait"] < 1
        assert (row["batch"], row["micro_batch"]) == (2, 2)
        assert row["peak_memory"] > 1e7
    assert found["qlora"]["checkpoint_bytes"] < found["lora"]["checkpoint_bytes"]
    assert written["two_processes"] == "gloo on the CPU works"
    assert (tmp_path / "found" / "bench-gpu.md").read_text() == done.stdout
    assert "CPU threads, not a card" in done.stdout
    assert done.stdout.count("| tiny |") == 6
    assert "Time that document masks cost: tiny " in done.stdout
    assert "Time in which training stops for the copy of a checkpoint: tiny 0." in done.stdout
    assert "Checkpoints of QLoRA: tiny " in done.stdout


@pytest.fixture
def bench(root):
    """The benchmark, imported."""
    spec = importlib.util.spec_from_file_location("bench_gpu", root / "benchmarks" / "bench_gpu.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_run_that_fails_is_a_row(bench, monkeypatch, capsys):
    """Its error is in the table, and the other rows are measured."""
    fine = {"batch": 8, "micro_batch": 4, "mfu": 0.4512, "loader_wait": 0.001, "peak_memory": 7e10, "attention": "flex"}
    fine |= {"checkpoint_bytes": 10**6, "copy_seconds": [0.5, 0.01]}

    def measure(size, case, *_):
        if case == "stream":
            msg = "out of memory"
            raise DataprepError(msg)
        return {"model": size, "rows": case, "tokens_per_s": {"masks": 900, "no masks": 1000}.get(case, 500), **fine}

    monkeypatch.setattr(bench, "measure", measure)
    monkeypatch.setattr(bench, "two_processes", lambda **_: "NCCL on one card is refused: Duplicate GPU")
    monkeypatch.setattr(sys, "argv", ["bench_gpu.py", "--sizes", "tiny", "--tokens", "1000"])
    bench.main()
    said = capsys.readouterr().out
    assert "| tiny | stream | out of memory |" in said
    assert "| tiny | masks | 4 of 8 | 900 | 45.1% | 0.10% | 70.0 GB | flex |" in said
    assert "Time that document masks cost: tiny +10.0%." in said
    assert "stops for the copy of a checkpoint: tiny 0.500 s the first time, then 0.010 s." in said
    assert "Two processes: NCCL on one card is refused: Duplicate GPU." in said
    monkeypatch.setattr(sys, "argv", ["bench_gpu.py", "--sizes", "tiny", "--tokens", "1000", "--limit", "0"])
    bench.main()
    assert capsys.readouterr().out.count("not begun after 0 s (--limit)") == 6


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a card")
def test_without_a_card_it_says_so(bench, monkeypatch):
    """The sizes of a card are not tried on a CPU, where they would take hours."""
    monkeypatch.setattr(sys, "argv", ["bench_gpu.py"])
    with pytest.raises(SystemExit, match="torch sees no CUDA card; measure a small size on the CPU with --sizes tiny"):
        bench.main()
