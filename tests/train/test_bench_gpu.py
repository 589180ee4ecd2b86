"""`make bench-gpu`: the same code on the CPU, with a tiny size."""

import importlib.util
import json
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")

from dataprep.errors import DataprepError  # noqa: E402


def run(root, *words):
    command = [sys.executable, root / "benchmarks" / "bench_gpu.py", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)


def test_the_table_of_a_tiny_model(root, tmp_path):
    """Every kind of rows has its figures, and masks have a cost."""
    words = ("--sizes", "tiny", "--steps", "6", "--batch", "2", "--tokens", "20000", "--json", tmp_path / "found.json")
    done = run(root, *words)
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "found.json").read_text())
    assert [(r["model"], r["rows"]) for r in found] == [("tiny", case) for case in ("stream", "masks", "no masks")]
    for row in found:
        assert row["tokens_per_s"] > 0
        assert 0 <= row["loader_wait"] < 1
        assert (row["batch"], row["micro_batch"]) == (2, 2)
        assert row["peak_memory"] > 1e7
    assert "CPU threads, not a card" in done.stdout
    assert done.stdout.count("| tiny |") == 3
    assert "Time that document masks cost: tiny " in done.stdout


def test_a_run_that_fails_is_a_row(root, monkeypatch, capsys):
    """Its error is in the table, and the other rows are measured."""
    spec = importlib.util.spec_from_file_location("bench_gpu", root / "benchmarks" / "bench_gpu.py")
    bench = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(bench)
    fine = {"batch": 8, "micro_batch": 4, "mfu": 0.4512, "loader_wait": 0.001, "peak_memory": 7e10, "attention": "flex"}

    def measure(size, case, *_):
        if case == "stream":
            msg = "out of memory"
            raise DataprepError(msg)
        return {"model": size, "rows": case, "tokens_per_s": {"masks": 900, "no masks": 1000}[case], **fine}

    monkeypatch.setattr(bench, "measure", measure)
    monkeypatch.setattr(sys, "argv", ["bench_gpu.py", "--sizes", "tiny", "--tokens", "1000"])
    bench.main()
    said = capsys.readouterr().out
    assert "| tiny | stream | out of memory |" in said
    assert "| tiny | masks | 4 of 8 | 900 | 45.1% | 0.10% | 70.0 GB | flex |" in said
    assert "Time that document masks cost: tiny +10.0%." in said


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a card")
def test_without_a_card_it_says_so(root):
    """The sizes of a card are not tried on a CPU, where they would take hours."""
    done = run(root)
    assert done.returncode == 1
    assert "torch sees no CUDA card; measure a small size on the CPU with --sizes tiny" in done.stderr
