"""Damaged files of an experiment: what `verify` finds in its runs, and the held-out set that is drawn again."""

from __future__ import annotations

import shutil

import pytest

import dataprep as dp
from dataprep.errors import StaleOutput
from dataprep.history.verify import verify
from dataprep.history.verify_runs import DATA_AGAIN, MODEL_AGAIN, RECORD_AGAIN


def half(text):
    """Drop half of the documents."""
    return "odd" if len(text) % 2 else None


def struck(path):
    """Change one byte in the middle of a file."""
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(bytes(data))


def test_damage_is_found_and_mended(tried, corpus, tmp_path) -> None:
    """`verify` names each damaged file and what to do; done so, the same call makes the same bytes and table."""
    out, whole = tmp_path / "out", tmp_path / "whole"
    first = tried()
    shutil.copytree(out, whole)
    [record, *_], [model, *_] = sorted(out.glob("runs/*-seed-0.json")), sorted(out.glob("runs/*-seed-1/*.pt"))
    [shard], [held] = out.glob("shards/all/*.bin"), out.glob("held-out/data/*.parquet")
    for path in (record, model, shard, held):
        struck(path)
    found = {at.removeprefix(f"{out}/"): of for at, of in verify(str(out)).items() if of}
    assert {at: {problem.do for problem in of} for at, of in found.items()} == {
        "runs": {RECORD_AGAIN, MODEL_AGAIN}, "shards/all": {DATA_AGAIN}, "held-out": {DATA_AGAIN},
    }  # fmt: skip
    assert [p.file for p in found["runs"]] == [record.name, f"{model.parent.name}/{model.name}"]
    record.unlink()
    shutil.rmtree(shard.parent)
    shutil.rmtree(model.parent)
    model.parent.with_suffix(".json").unlink()
    again = tried()
    assert again.measures == first.measures
    for path in (shard, held):
        assert path.read_bytes() == (whole / path.relative_to(out)).read_bytes()
    assert not any(verify(str(out)).values())
    shutil.rmtree(out / "held-out")
    with pytest.raises(StaleOutput, match="held-out is damaged, and corpus, from which it was drawn, must be given"):
        tried(docs=dp.Pipeline(dp.Filter(half)).run(corpus, out=str(tmp_path / "other")))
    assert not (out / "held-out").exists()


def test_more_checkpoints_than_a_run_writes(tried) -> None:
    """They are not averaged in silence from fewer: one sentence before any training."""
    for steps, n, most in ((4, 5, 4), (80, 21, 20), (30, 21, 20)):
        with pytest.raises(dp.DataprepError, match=f"checkpoints={n} must be at most {most}, the number that a run"):
            tried(checkpoints=n, settings=[f"steps={steps}"])
