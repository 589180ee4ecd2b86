"""Cooldowns: each run starts from one earlier run before its decay, and only lowers the learning rate."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

import dataprep as dp
from dataprep.errors import StaleOutput
from dataprep.tokens.vocabulary.tokenizer import Tokenizer
from dataprep.train import load_model


@pytest.fixture
def earlier(corpus, tmp_path, config):
    """A finished run of ten steps, of which the last four lower the learning rate."""
    shards = dp.encode(corpus, Tokenizer.of_bytes(), tmp_path / "shards", val=0)
    config = replace(config, schedule="wsd", decay=0.4, steps=10)
    dp.train(shards, out=tmp_path / "earlier", config=config, quiet=True)
    return tmp_path / "earlier"


def test_each_run_starts_before_the_decay(tried, earlier, tmp_path) -> None:
    """The start is the checkpoint of step 6; the learning rate falls from the first step after the warm-up."""
    found = tried(cooldown=earlier, tokenizer=None, settings=["steps=8", "model.d_model=32"])
    assert found.about["start"] == str(earlier / "step-00000006.pt")
    before, _ = load_model(earlier / "step-00000006.pt")
    for version in ("all", "short"):
        for name in found.versions[version]["runs"]:
            place = tmp_path / "out" / name
            rates = [json.loads(line)["lr"] for line in (place / "metrics.jsonl").read_text().splitlines()]
            assert rates[0] == max(rates)
            assert rates == sorted(rates, reverse=True)
            model, saved = load_model(place)
            assert saved["config"]["model"]["d_model"] == 16, "the shape is that of the run"
            moved = (model.embedding.weight - before.embedding.weight).abs().max()
            assert 0 < moved < 0.2, "a few steps from where the run was"
    assert "each run starts from" in str(found)


def test_runs_that_cannot_be_continued(tried, earlier, corpus, tmp_path, config) -> None:
    """A run with another schedule, without its checkpoint before the decay, or with another tokenizer."""
    dp.train(tmp_path / "shards", out=tmp_path / "cosine", config=replace(config, schedule="cosine"), quiet=True)
    with pytest.raises(dp.DataprepError, match="has the schedule 'cosine', not wsd, whose"):
        tried(cooldown=tmp_path / "cosine", tokenizer=None)
    with pytest.raises(StaleOutput, match="tokenizer= is another than that of .*earlier, the run to start from"):
        tried(cooldown=earlier, tokenizer=dp.train_bpe(corpus, vocab_size=300))
    (earlier / "step-00000006.pt").unlink()
    with pytest.raises(dp.DataprepError, match="has no step-00000006.pt, its checkpoint before the decay"):
        tried(cooldown=earlier, tokenizer=None)
