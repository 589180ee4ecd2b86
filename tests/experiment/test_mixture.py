"""Mixtures: drawn weights, trainings on them that are never repeated, and proposed weights that are measured."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

import dataprep as dp
from dataprep.experiment import mixture
from dataprep.experiment.cost import epochs_of
from dataprep.experiment.mixture import UNIT, Sweep, choosing, drawn, mixed, most_useful, proposal, rounded, swept
from dataprep.experiment.regression import LOG_LINEAR, Regression
from dataprep.inference import train as training


class Source:
    """A source with a number of tokens."""

    def __init__(self, n):
        self.shards = self
        self.n_tokens, self.root = n, str(n)


SOURCES = {"web": Source(6_000), "نص": Source(3_000), "code": Source(1_000)}
MOST = np.array([9.0, 9.0, 9.0])


def test_mixtures_depend_on_their_number_only() -> None:
    """They are thousandths around the natural weights; more of them leaves the first as they are."""
    few, many = swept(SOURCES, 3, 1, MOST), swept(SOURCES, 40, 1, MOST)
    assert list(few.items()) == list(many.items())[:4]
    assert few["natural"].shares == {"web": 0.6, "نص": 0.3, "code": 0.1}
    weights = np.array([list(one.shares.values()) for one in many.values()])
    assert (np.rint(weights * UNIT).sum(1) == UNIT).all()
    assert weights.mean(0) == pytest.approx([0.6, 0.3, 0.1], abs=0.08)
    assert weights.std(0).min() > 0.05
    assert swept(SOURCES, 3, 2, MOST)["mix-01"].shares != few["mix-01"].shares
    assert len({one.root for one in many.values()}) == 41
    most = most_useful(SOURCES, 20_000)
    assert most == pytest.approx([1.2, 0.6, 0.2])
    assert max(one.shares["code"] for one in swept(SOURCES, 40, 1, most).values()) <= 0.201 < weights[:, 2].max()
    assert most_useful(SOURCES, 60_000) == pytest.approx([0.6, 0.3, 0.1]), "natural, if all are read too often"


@pytest.mark.parametrize("seed", range(20))
def test_rounded_weights(seed) -> None:
    """They add up to 1, and none is wrong by a thousandth or more."""
    weights = np.random.default_rng(seed).dirichlet(np.ones(5))
    assert np.rint(rounded(weights) * UNIT).sum() == UNIT
    assert np.abs(rounded(weights) - weights).max() < 1 / UNIT


def test_passes_are_counted_for_each_source(config) -> None:
    """The mixture that reads a source most counts; a source of weight 0 is not read."""
    points = [mixed("a", SOURCES, np.array([0.5, 0.5, 0.0])), mixed("b", SOURCES, np.array([0.2, 0.0, 0.8]))]
    read = 100 * config.batch * config.model.context
    found = epochs_of(config, 100, [one.reads for one in points])
    assert found == pytest.approx({"web": 0.5 * read / 6_000, "نص": 0.5 * read / 3_000, "code": 0.8 * read / 1_000})
    with pytest.raises(dp.DataprepError, match="the source 'code' has 1,000 tokens, too few for the 102,400 that a "):
        epochs_of(config, 1_000, [points[1].reads])
    with pytest.raises(dp.DataprepError, match="the version 'none' has 1 token, too few for a row of .*; add text, or"):
        epochs_of(config, 1, [{"none": (1, 1.0)}])


def swept_by_hand(predict, tried):
    """A sweep with these mixtures whose regression is `predict`."""
    points = {f"mix-{i}": mixed(f"mix-{i}", SOURCES, np.array(one)) for i, one in enumerate(tried)}
    points = {"natural": swept(SOURCES, 0, 0, MOST)["natural"], **points}
    found = Regression(LOG_LINEAR, predict, np.zeros(3), 0.9, 0.0, {})
    return Sweep(points, ["all"], np.zeros((3, 1)), np.ones(1), found, None, "")


def test_proposed_weights_lie_between_tried_ones() -> None:
    """The best of the candidates, but none that no regression saw, and none that reads a source too often."""
    done = swept_by_hand(lambda w: -w[:, 2], [[0.8, 0.1, 0.1], [0.4, 0.3, 0.3]])
    best = proposal(done, MOST, seed=0)
    assert 0.28 < best[2] <= 0.3
    assert proposal(done, np.array([9.0, 9.0, 0.2]), seed=0)[2] == pytest.approx(0.2, abs=0.01)
    inner = swept_by_hand(lambda w: ((w - [0.5, 0.3, 0.2]) ** 2).sum(1), [[0.8, 0.1, 0.1], [0.3, 0.4, 0.3]])
    assert proposal(inner, MOST, seed=0) == pytest.approx([0.5, 0.3, 0.2], abs=0.01)
    around = drawn(np.array([0.6, 0.3, 0.1]), np.random.default_rng(0), 5_000)
    assert around.mean(0) == pytest.approx([0.6, 0.3, 0.1], abs=0.01)


def test_one_half_of_the_held_out_groups_chooses_weights() -> None:
    """Documents of a group are in the same half, and neither half is too small."""
    units = np.repeat(np.arange(13), 3)
    chosen = choosing(units).reshape(13, 3)
    assert (chosen.all(1) == chosen.any(1)).all()
    assert chosen[:, 0].sum() == 6
    with pytest.raises(dp.DataprepError, match="has 11 groups of documents, and with mix= it must have 12, since one "):
        choosing(np.arange(11))


@pytest.fixture
def trained(monkeypatch):
    """Count the trainings by their weights and seeds."""
    calls, train = Counter(), training.train

    def counting(shards, **options):
        config = options["config"]
        calls[tuple(sorted(config.weights.items())), config.seed] += 1
        return train(shards, **options)

    monkeypatch.setattr(training, "train", counting)
    return calls


def test_a_sweep(tried, config, trained, corpus, tmp_path, monkeypatch, dataprep) -> None:
    """Weights are proposed and measured, or not; repeated calls and more mixtures repeat no training."""
    r2 = 0.8

    def more_news(weights, losses, shares):
        return Regression(LOG_LINEAR, lambda w: 3 - w[:, 1], losses @ shares, r2, 0.01, {LOG_LINEAR: r2})

    monkeypatch.setattr(mixture, "regression", more_news)
    given = {"docs": None, "versions": {"corpus": corpus}, "by": ["source"], "held_out": 0.3}
    found = tried(**given, mix=6)
    assert len(trained) == 7 + 2 * 2
    assert {seed for _, seed in trained} == {0, 1, 2}
    assert found.weights["news"] > found.mixture["sources"]["news"]["natural"]
    assert found.verdicts().keys() == {"proposed"}
    assert found.mixture["predicted"]["difference"] == pytest.approx(
        found.mixture["sources"]["news"]["natural"] - found.weights["news"]
    )
    trained.clear()
    assert tried(**given, mix=6) == found
    assert not trained
    wider = tried(**given, mix=7)
    assert {seed for (_, seed) in trained} <= {0, 1, 2}
    assert sum(seed == 0 for _, seed in trained) == 1, "the new mixture"
    assert [one["bits_per_byte"] for one in wider.mixture["points"][:7]] == [
        one["bits_per_byte"] for one in found.mixture["points"]
    ]
    point = found.mixture["points"][1]
    shards = {name: tmp_path / "out" / "shards" / name for name in ("darija", "news")}
    config_of = replace(config, weights=point["weights"])
    dp.train(shards, out=tmp_path / "own", config=config_of, quiet=True)
    held, of_held = dp.open_dataset(str(tmp_path / "out" / "held-out")), tmp_path / "out" / "shards" / "_held-out"
    own = dp.evaluate(tmp_path / "own", of_held, split="train", by="id", docs=held, device="cpu")
    chosen = choosing(np.arange(len(held)))
    each = [own.groups[str(i)] for i in held.table(["id"]).column("id").to_pylist()]
    some = [one for one, chooses in zip(each, chosen, strict=True) if chooses]
    nats, n_bytes = sum(one.text_nats for one in some), sum(one.n_bytes for one in some)
    assert point["bits_per_byte"] == pytest.approx(nats / np.log(2) / n_bytes)
    assert found.measures[0]["items"] == len(held) - len(some)
    assert found.measures[0]["bytes"] == sum(one.n_bytes for one in each) - n_bytes
    r2 = -0.1
    trained.clear()
    none = tried(**given, mix=7)
    assert not trained, "there is nothing to compare"
    assert none.weights is None
    assert none.mixture["points"] == wider.mixture["points"]
    assert "no weights are proposed: the regression cannot predict the loss" in str(none)
    saved = json.loads((tmp_path / "out" / "experiment.json").read_text())
    assert saved["mixture"] == none.mixture
    assert (tmp_path / "out" / "mixtures.svg").read_text().count("<title>mix-") == 7
    assert (tmp_path / "out" / "experiment.md").read_text().startswith("| mixture | darija | news |")
    _, _, err = dataprep("experiment", str(corpus.url), "--mix", "5", "--out", str(tmp_path / "out"))
    assert err.endswith("--mix 5 must be the number of mixtures to try, 6 or more for 2 sources\n")


BAD = {
    "too few mixtures": ({"mix": 5}, "mix=5 must be the number of mixtures to try, 6 or more for 2 sources"),
    "no sources": ({"by": ["topics"]}, r"by=\['topics'\] must begin with the column that names the sources"),
    "many sources": ({"by": ["topic"]}, "there must be 2 to 12 sources to mix, not more than 12"),
    "a corpus": ({"docs": "x"}, "with mix=, docs= must be left out"),
    "a baseline": ({"baseline": "news"}, "baseline='news' must be left out with mix="),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_one_sentence(tried, trained, corpus, name) -> None:
    """Each is a PlanError before any training."""
    more, message = BAD[name]
    with pytest.raises(dp.DataprepError, match=message):
        tried(**{"docs": None, "versions": {"corpus": corpus}, "mix": 8, "by": ["source"], **more})
    assert not trained
