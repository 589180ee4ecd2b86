"""A run that starts over in the folder of another: the earlier one stays whole until the new one is finished."""

from dataclasses import replace

import pytest

from dataprep.errors import PlanError
from dataprep.history.status import status
from dataprep.store import beside
from dataprep.train import checkpoint, load_model, train
from dataprep.train.start import hash_of
from killed import bytes_of, kills


@pytest.fixture
def runs(make_shards, config, tmp_path):
    """Two configs, the shards, and the hash of the weights that each config learns in a new folder."""
    shards = make_shards(tmp_path / "shards")
    (shards.path / "tokenizer.json").write_text("{}")
    short = replace(config, steps=4, warmup=1, save_every=2, eval_every=4, log_every=2)
    configs = (short, replace(short, lr=0.02, steps=3))
    learnt = []
    for n, one in enumerate(configs):
        train(shards, out=tmp_path / f"run{n}", config=one, quiet=True)
        learnt.append(weights_of(tmp_path / f"run{n}"))
    assert learnt[0] != learnt[1]
    return shards, configs, learnt


def weights_of(out):
    """Return the hash of the weights of the newest checkpoint."""
    return hash_of(load_model(out)[0])


def test_a_killed_start_over_leaves_the_earlier_run_or_the_new_one(runs, tmp_path, monkeypatch):
    """Killed at each rename and deletion: the folder has one of the two whole, and the rerun ends as a fresh run."""
    shards, (_, new), learnt = runs
    out, seen = tmp_path / "out", set()
    fresh = {name: data for name, data in bytes_of(tmp_path / "run1").items() if name != "metrics.jsonl"}

    def again():
        return train(shards, out=out, config=new, resume=False, quiet=True)

    for _ in kills(monkeypatch, tmp_path / "run0", out, again):
        seen.add(learnt.index(weights_of(out)))
        again()
        assert bytes_of(out, "metrics.jsonl") == fresh
        assert weights_of(out) == learnt[1]
    assert seen == {0, 1}


def test_a_stopped_start_over_is_resumed_and_the_earlier_run_stays(runs, tmp_path):
    """It has its own checkpoints and metrics; the settings of the earlier run still return that one."""
    shards, (old, new), learnt = runs
    out = tmp_path / "run0"
    before = bytes_of(out)
    begun = train(shards, out=out, config=new, resume=False, stop_at=2, quiet=True)
    assert bytes_of(out).items() >= before.items()
    assert begun.checkpoint == str(out / "_unfinished" / "step-00000002.pt")
    assert weights_of(out) == learnt[0]
    whole, _ = status(str(out))
    assert (whole.state, whole.done, whole.of) == ("unfinished", 2, 3)
    assert train(shards, out=out, config=old, quiet=True).checkpoint == str(out / "step-00000004.pt")
    result = train(shards, out=out, config=new, quiet=True)
    assert (result.checkpoint, weights_of(out)) == (str(out / "step-00000003.pt"), learnt[1])
    assert sorted(bytes_of(out)) == sorted(bytes_of(tmp_path / "run1"))
    assert not (out / "_unfinished").exists()


def test_a_start_over_that_fails_leaves_the_earlier_run(runs, tmp_path, monkeypatch):
    """An error of a later step, after a checkpoint of the new run."""
    shards, (_, new), learnt = runs
    out = tmp_path / "run0"
    before = bytes_of(out)

    def fails(*given):
        raise ZeroDivisionError

    monkeypatch.setattr("dataprep.train.loop.validate", fails)
    with pytest.raises(ZeroDivisionError):
        train(shards, out=out, config=new, resume=False, quiet=True)
    assert bytes_of(out).items() >= before.items()
    assert weights_of(out) == learnt[0]


def test_a_commit_that_was_killed_shows_the_new_run(runs, tmp_path):
    """Between the list of the new files and the end of their moves, checkpoints of both runs are in the folder."""
    shards, (_, new), learnt = runs
    out = tmp_path / "run0"
    train(shards, out=out, config=new, resume=False, stop_at=2, quiet=True)
    (out / "_unfinished" / "ready.json").write_text(
        '{"files": ["step-00000002.pt"], "gone": ["step-00000004.pt", "step-00000003.pt", "metrics.jsonl"]}'
    )
    assert [path.name for path in checkpoint.found(out)] == ["step-00000002.pt"]
    assert weights_of(out) not in learnt
    beside.recover(out)
    assert [path.name for path in checkpoint.found(out)] == ["step-00000002.pt"]


def test_files_of_others_are_named_before_a_run_starts_over(runs, tmp_path):
    """Not after hours of training, when they would be in the way."""
    shards, (_, new), _ = runs
    out = tmp_path / "run0"
    (out / "step-00000099.pt").write_text("mine")
    with pytest.raises(PlanError, match="was not written by this run"):
        train(shards, out=out, config=new, resume=False, quiet=True)
    assert not (out / "_unfinished").exists()
