"""Runs that begin with something: the weights of an earlier model, or an earlier part of the same schedule."""

import hashlib
import logging
import re
from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")

from dataprep.errors import PlanError, StaleOutput  # noqa: E402
from dataprep.train import ModelConfig, checkpoint, load_model, preset, starting_config, train  # noqa: E402
from dataprep.train.metrics import read  # noqa: E402
from dataprep.train.schedule import flat_until, lr_at, same_past  # noqa: E402
from dataprep.train.start import check_shape  # noqa: E402
from runs import SPEEDS  # noqa: E402


def state(out):
    """Weights and moments of the newest checkpoint."""
    content = checkpoint.load(checkpoint.found(out)[-1])
    moments = [v for s in content["optimizer"]["state"].values() for v in s.values()]
    return [*content["model"].values(), *moments]


def curve(out):
    """Metrics without speeds."""
    return [{k: v for k, v in row.items() if k not in SPEEDS} for row in read(out / "metrics.jsonl")]


@pytest.fixture(scope="module")
def base(shards, config, tmp_path_factory):
    """A trained model to begin with."""
    out = tmp_path_factory.mktemp("base")
    train(shards, out=out, config=config, quiet=True)
    return out


def test_a_run_begins_with_the_weights_of_another(make_shards, shards, config, base, tmp_path):
    """Other data and another schedule, from step 0, with the loss that the base has there; without it, from noise.

    Each checkpoint has one hash of all data that it was trained on, that of the base included.
    """
    other = make_shards(tmp_path / "other", seed=9)
    tuning = replace(config, lr=1e-4, schedule="constant", steps=4, layout="bestfit")
    for name, init in (("tuned", base), ("noise", None)):
        train(other, out=tmp_path / name, config=tuning, init_from=init, quiet=True)
    first = {name: curve(tmp_path / name)[0] for name in ("tuned", "noise")}
    assert first["tuned"]["step"] == 0
    assert first["tuned"]["val_loss"] < first["noise"]["val_loss"] - 0.2
    assert checkpoint.load(checkpoint.found(tmp_path / "tuned")[-1])["step"] == 4
    homes = (base, tmp_path / "noise", tmp_path / "tuned")
    roots = [checkpoint.load(checkpoint.found(home)[-1])["root"] for home in homes]
    assert roots[:2] == [shards.root, other.root]
    assert roots[2] == hashlib.sha256(f"{shards.root}\n{other.root}".encode()).hexdigest()
    still = train(other, out=tmp_path / "still", config=replace(tuning, lr=1e-12), init_from=base, quiet=True)
    assert still.steps == 4
    before, after = (load_model(p)[0].state_dict() for p in (base, tmp_path / "still"))
    assert all(torch.allclose(before[name], after[name], rtol=0, atol=1e-10) for name in before)


def test_a_tuned_run_resumes_bit_for_bit(make_shards, config, base, tmp_path):
    """Stopped and resumed, with the base or when it is no longer named; another base is refused."""
    other = make_shards(tmp_path / "other", seed=9)
    train(other, out=tmp_path / "whole", config=config, init_from=base, quiet=True)
    train(other, out=tmp_path / "parts", config=config, init_from=base, stop_at=6, quiet=True)
    train(other, out=tmp_path / "parts", config=config, init_from=base, stop_at=12, quiet=True)
    train(other, out=tmp_path / "parts", config=config, quiet=True)
    assert all(torch.equal(a, b) for a, b in zip(state(tmp_path / "whole"), state(tmp_path / "parts"), strict=True))
    assert curve(tmp_path / "whole") == curve(tmp_path / "parts")
    roots = [checkpoint.load(checkpoint.found(tmp_path / n)[-1])["root"] for n in ("whole", "parts")]
    assert roots[0] == roots[1] != other.root
    with pytest.raises(StaleOutput, match="started from other weights"):
        train(other, out=tmp_path / "parts", config=config, init_from=tmp_path / "whole", quiet=True)


def test_models_that_do_not_fit_are_refused(make_shards, config, base, tmp_path):
    """Another shape, vocabulary or tokenizer, or no model, is one sentence before a folder is made."""
    shards = make_shards(tmp_path / "s", tokenizer={"hash": "mine"})
    out = tmp_path / "run"
    with pytest.raises(PlanError, match=r"another shape \(model.n_layers was 2, is 3\)"):
        train(shards, out=out, config=config.override("model.n_layers=3"), init_from=base, quiet=True)
    for path, sentence in ((tmp_path / "none", "does not exist"), (tmp_path / "s", "must contain a checkpoint")):
        with pytest.raises(PlanError, match=sentence):
            train(shards, out=out, config=config, init_from=path, quiet=True)
    path = checkpoint.found(base)[-1]
    content = torch.load(path, weights_only=True)
    for change in ({"tokenizer": "other"}, {"vocab_size": 96}, {"eot": 3}):
        torch.save(content | change, tmp_path / "changed.pt")
        with pytest.raises((PlanError, RuntimeError), match=r"encode the texts with|size mismatch"):
            train(shards, out=out, config=config, init_from=tmp_path / "changed.pt", quiet=True)
    assert not out.exists()


def test_the_config_of_a_start(base, config, monkeypatch):
    """A preset takes the model's shape, None its settings for one pass, a config is as it is; no model is built."""
    monkeypatch.delattr("dataprep.train.checkpoint.GPT")
    assert starting_config(None) == preset("tiny")
    assert starting_config(config, base) is config
    assert starting_config("11m", base) == replace(preset("11m"), model=config.model)
    assert starting_config(None, base) == replace(config, steps=None, micro_batch=None, device="auto")
    with pytest.raises(PlanError, match="preset 'huge' must be one of"):
        starting_config("huge")


def test_a_longer_context_is_no_other_shape(shards, config, base, tmp_path):
    """No weight depends on it."""
    longer = replace(config.override("model.context=48"), steps=1)
    assert train(shards, out=tmp_path, config=longer, init_from=base, quiet=True).steps == 1


def test_settings_without_weights_may_change_for_some_layers():
    """Layers of other reaches and bases have the same weights; only what differs is named."""
    shape = ModelConfig(pattern=("window", "all"), reach=(4, 8), rope_base=(1e4, 1e6))
    check_shape("run", shape, replace(shape, reach=8, rope_base=1e4))
    with pytest.raises(PlanError, match=r"another shape \(model.pattern was \('window', 'all'\), is window\)"):
        check_shape("run", shape, replace(shape, pattern="window"))


def test_learned_positions_fix_the_context(shards, config, tmp_path):
    """There is a vector for each position, so another context is another shape."""
    config = replace(config.override("model.positions=learned"), steps=1)
    train(shards, out=tmp_path / "a", config=config, quiet=True)
    with pytest.raises(PlanError, match=r"another shape \(model.context was 24, is 48\)"):
        train(
            shards, out=tmp_path / "b", config=config.override("model.context=48"), init_from=tmp_path / "a", quiet=True
        )
    assert train(shards, out=tmp_path / "b", config=config, init_from=tmp_path / "a", quiet=True).steps == 1


WSD = {"schedule": "wsd", "decay": 0.25, "save_every": 7, "keep_checkpoints": 1, "warmup": 4}


def test_wsd_is_extended_without_starting_over(shards, config, tmp_path, caplog):
    """Of 20 steps the checkpoint at 15, before the decay, is kept; 32 steps continue there: the run of 32."""
    config = replace(config, **WSD)
    train(shards, out=tmp_path / "grown", config=config, quiet=True)
    assert [p.name for p in checkpoint.found(tmp_path / "grown")] == ["step-00000015.pt", "step-00000020.pt"]
    with caplog.at_level(logging.WARNING):
        longer = train(shards, out=tmp_path / "grown", config=replace(config, steps=32), quiet=True)
    [said] = caplog.messages
    assert re.fullmatch(r"the run continues from .*15\.pt, the checkpoint before the learning rate was lowered", said)
    train(shards, out=tmp_path / "whole", config=replace(config, steps=32), quiet=True)
    assert longer.steps == 32
    assert all(torch.equal(a, b) for a, b in zip(state(tmp_path / "whole"), state(tmp_path / "grown"), strict=True))
    assert curve(tmp_path / "whole") == curve(tmp_path / "grown")


def test_what_is_no_extension_is_refused(shards, config, tmp_path):
    """Other data, other rates in the past, or an end before the checkpoint; nothing is removed."""
    config = replace(config, **WSD)
    train(shards, out=tmp_path, config=config, quiet=True)
    for change in ({"lr": 0.02}, {"warmup": 5}, {"steps": 12}, {"steps": 32, "seed": 1}, {"schedule": "cosine"}):
        with pytest.raises(StaleOutput, match=f"{next(iter(change))} was"):
            train(shards, out=tmp_path, config=replace(config, **change), quiet=True)
    assert len(checkpoint.found(tmp_path)) == 2


def test_a_constant_schedule_continues_from_its_end(shards, config, tmp_path):
    """More steps at the same rate are the longer run; fewer are refused."""
    config = replace(config, schedule="constant", eval_every=40)
    train(shards, out=tmp_path / "a", config=config, quiet=True)
    train(shards, out=tmp_path / "a", config=replace(config, steps=26), quiet=True)
    train(shards, out=tmp_path / "b", config=replace(config, steps=26), quiet=True)
    assert all(torch.equal(a, b) for a, b in zip(state(tmp_path / "a"), state(tmp_path / "b"), strict=True))
    with pytest.raises(StaleOutput, match="steps was 26, is 9"):
        train(shards, out=tmp_path / "a", config=replace(config, steps=9), quiet=True)


def test_schedules_have_the_same_past_up_to_the_decay(config):
    """Exactly the steps before the rates differ."""
    short = replace(config, schedule="wsd", decay=0.25, steps=200)
    long = replace(short, steps=400)
    flat = flat_until(short)
    assert flat == 150
    assert same_past(flat, short, long)
    assert not same_past(flat + 2, short, long)
    assert lr_at(flat, short) == short.lr > lr_at(flat + 1, short)
