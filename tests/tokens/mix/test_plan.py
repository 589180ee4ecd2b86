"""Plans of mixtures, with sources that only have a name and a number of tokens; and what is said and stored of them."""

from __future__ import annotations

import json
import logging
import math
from types import SimpleNamespace

import numpy as np
import pytest

from dataprep.errors import PlanError
from dataprep.tokens.mix import mix as module
from dataprep.tokens.mix.mix import Mix, MixPlan, Share, _check_names, _fill
from dataprep.tokens.mix.write_mixture import _order


def sources(**tokens):
    """Sources of so many tokens; each has a recipe but `none`."""
    stated = {name: SimpleNamespace(recipe=None if name == "none" else f"recipe of {name}") for name in tokens}
    return [SimpleNamespace(name=n, tokens=k, shards=SimpleNamespace(manifest=stated[n])) for n, k in tokens.items()]


FILLED = [  # available, weights, total, epochs, expected
    ((100, 100), (1, 1), 100, 4, (50, 50)),
    ((100, 100), (3, 1), 100, 4, (75, 25)),
    ((10, 100), (1, 1), 100, 4, (40, 60)),
    ((10, 100), (1, 1), 80, 4, (40, 40)),
    ((10, 100), (1, 1), 440, 4, (40, 400)),
    ((10, 20, 70), (1, 1, 1), 90, 1, (10, 20, 60)),
    ((10, 20, 70), (1, 2, 3), 100, 1, (10, 20, 70)),
    ((7, 9), (1, 2), 1, 1, (0, 1)),
    ((3, 3), (1, 1), 2, 0.5, (1, 1)),
    ((9,), (5,), 12, 1.5, (12,)),
]


@pytest.mark.parametrize(("available", "weights", "total", "epochs", "expected"), FILLED, ids=str)
def test_sources_are_filled(available, weights, total, epochs, expected) -> None:
    """In proportion, those that run out first; the plan states what there is, what was asked for and what came out."""
    names = "abc"[: len(available)]
    asked = {name: w / sum(weights) for name, w in zip(names, weights, strict=True)}
    assert tuple(_fill(dict(zip(names, available, strict=True)), asked, total, epochs)[n] for n in names) == expected
    mix = Mix(dict(zip(names, weights, strict=True)), max_epochs=epochs)
    plan = mix._plan(sources(**dict(zip(names, available, strict=True))), total)
    stated = [(s.source, s.tokens, s.asked, s.got, s.share, s.epochs) for s in plan.shares]
    assert stated == [
        (n, k, asked[n], got, got / sum(expected), got / k)
        for n, k, got in zip(names, available, expected, strict=True)
    ]
    assert plan.tokens == sum(expected)
    assert plan.weights == {n: got / sum(expected) for n, got in zip(names, expected, strict=True)}


@pytest.mark.parametrize("total", [0, -1, 11])
def test_totals_that_cannot_be_met(total) -> None:
    """One token at least, and no more than the epochs give; half a document of an epoch is left."""
    with pytest.raises(PlanError) as e:
        _fill({"a": 3, "b": 4}, {"a": 0.5, "b": 0.5}, total, 1.5)
    says = (
        f"tokens={total} cannot be met: 1.5 epochs of every source are 10 tokens; lower tokens=, or raise max_epochs="
    )
    assert str(e.value) == says


@pytest.mark.parametrize("temperature", [1, 2, 0.5, 100])
def test_shares_by_temperature(temperature) -> None:
    """The power of the tokens, by the page; all tokens if no number is given."""
    plan = Mix(temperature=temperature, max_epochs=1000)._plan(sources(a=16, b=1, c=81), None)
    raw = [n ** (1 / temperature) for n in (16, 1, 81)]
    assert [s.asked for s in plan.shares] == pytest.approx([r / sum(raw) for r in raw])
    assert plan.tokens == pytest.approx(98, abs=2)
    for mix in (Mix(temperature=temperature), Mix({"a": 1, "b": 1})):
        with pytest.raises(PlanError, match="^the source 'b' has no training tokens; give it the weight 0$"):
            mix._plan(sources(a=1, b=0), None)


WRONG = [
    ({}, "Mix needs either weights, {source: share}, or temperature=; use one of them"),
    ({"weights": {}}, "no source has a positive weight; give at least one source a weight above 0 in weights="),
    *(({"weights": {"a": w}}, f"the weight of 'a' is {w!r}; it must be a positive number, or 0 to leave it out")
      for w in (-1, -0.5, math.inf, math.nan, "1", None)),
    *(({"temperature": t}, f"temperature={t!r} must be a positive number") for t in (0, -1, math.inf, math.nan)),
    *(({"temperature": 1, "max_epochs": t}, f"max_epochs={t!r} must be a positive number") for t in (0, -1, math.inf)),
]  # fmt: skip


@pytest.mark.parametrize(("given", "says"), WRONG, ids=str)
def test_values_that_are_no_shares(given, says) -> None:
    """Each is one sentence, before any source is opened."""
    with pytest.raises(PlanError) as e:
        Mix(**given)
    assert str(e.value) == says


def test_values_at_the_limits() -> None:
    """Any positive number; a weight of 0 beside another one."""
    assert Mix({"a": 5e-324, "b": 0}).max_epochs == Mix(temperature=5e-324).max_epochs == 4.0
    assert (Mix(temperature=1).seed, Mix(temperature=1, max_epochs=0.1).max_epochs) == (0, 0.1)
    says = "{}; the sources are a, b; weights= names {}"
    for names, what in (
        (["a"], "'b' has no weight; 0 leaves it out"), (["c", "b", "a"], "there is no source 'c'"),
        (["d", "c"], "'a' has no weight; 0 leaves it out"), (["d", "b", "c", "a"], "there is no source 'c'"),
    ):  # fmt: skip
        with pytest.raises(PlanError) as e:
            _check_names(["b", "a"], dict.fromkeys(names, 1))
        assert str(e.value) == says.format(what, ", ".join(sorted(names)))


def test_a_plan_is_a_table() -> None:
    """A row for each source; columns as wide as they must be."""
    rows = (Share("web", 1_234_567, 0.5, 2_000, 0.4, 1.5), Share("long-name", 9, 0.5, 3_000, 0.6, 0.25))
    assert str(MixPlan(rows)).split("\n") == [
        "source          there are   asked             got   share  epochs",
        "web             1,234,567  50.00%           2,000  40.00%    1.50",
        "long-name               9  50.00%           3,000  60.00%    0.25",
    ]
    assert str(MixPlan(rows[:1])).startswith("source       there are ")
    assert "\nred\ufffd[0m " in str(MixPlan((Share("red\x1b[0m", 9, 1, 9, 1, 1),)))  # as fields of documents may be


@pytest.fixture
def written(monkeypatch, tmp_path):
    """The arguments with which a mixture of 1,000 and 100 tokens is written; all planned tokens but one are."""
    calls = []
    made = sources(web=1_000, none=100, zero=50)

    def write(streams, got, out, seed, shard_tokens, runner, described, *, replace):
        stated = described({**got, "none": got["none"] - 1})
        calls.append(([s.name for s in streams], got, seed, shard_tokens, runner, replace, stated))
        (tmp_path / "out").mkdir(exist_ok=True)
        return SimpleNamespace(path=out, manifest=SimpleNamespace(mixture=stated))

    monkeypatch.setattr(module, "write_mixture", write)
    monkeypatch.setattr(module, "sources_of", lambda _: made)
    return calls


@pytest.mark.parametrize(
    ("tokens", "epochs", "says"),
    [(200, 4, []), (800, 4, ["none is repeated 4.0 times"]), (798, 4, []),
     (816, 4, ["none is repeated 4.0 times"]),
     (818, 4, ["none gets 48.9 % of the tokens, not the requested 50.0 %,", "none is"]),
     (900, 6, ["none is repeated 4.5 times"]), (204, 1, []), (206, 1, ["none gets 48.5 % of the tokens"])],
)  # fmt: skip
def test_what_is_written_is_said_and_stored(written, tmp_path, caplog, tokens, epochs, says) -> None:
    """Warnings begin at four epochs, and where over one in a hundred tokens is missing; the lock file is the plan."""
    caplog.set_level(logging.WARNING, "dataprep")
    mix = Mix({"web": 1, "none": 1, "zero": 0}, max_epochs=epochs, seed=7)
    mix.write({}, tmp_path / "out", tokens, None, shard_tokens=99, replace=True)
    assert [one.startswith(begin) for one, begin in zip(caplog.messages, says, strict=True)] == [True] * len(says)
    ((names, got, seed, shard_tokens, run, replace, stated),) = written
    assert (names, seed, shard_tokens, run, replace) == (["web", "none"], 7, 99, None, True)
    assert sum(got.values()) == tokens
    asked = {"weights": {"web": 1, "none": 1, "zero": 0}, "temperature": None, "max_epochs": epochs, "tokens": tokens}
    shares = [
        {
            "source": name,
            "tokens": n,
            "asked": 0.5,
            "got": k,
            "share": k / (tokens - 1),
            "epochs": k / n,
            "recipe": recipe,
        }
        for name, n, k, recipe in (("web", 1_000, got["web"], "recipe of web"), ("none", 100, got["none"] - 1, None))
    ]
    whole = {"kind": "mixture", "version": 1, "asked": asked | {"seed": 7}, "tokens": tokens - 1, "sources": shares}
    lock = json.loads((tmp_path / "out" / "mixture.lock.json").read_bytes())
    assert stated == whole == {name: value for name, value in lock.items() if name != "checksum"}


def test_the_lock_file_is_written_once(written, tmp_path) -> None:
    """It keeps its time if the plan is as it was; another plan is written."""
    lock = tmp_path / "out" / "mixture.lock.json"
    times = []
    for tokens in (200, 200, 201):
        Mix({"web": 1, "none": 1, "zero": 0}).write({}, str(tmp_path / "out"), tokens)
        times.append(lock.stat().st_mtime_ns)
    assert times[0] == times[1] != times[2]
    assert written[0][4:6] == (None, False)
    Mix(temperature=1).write({}, tmp_path / "out", 201, replace=True)
    assert json.loads(lock.read_bytes())["asked"]["weights"] is None
    assert [one.name for one in Mix(temperature=1)._chosen({})] == ["web", "none", "zero"]


def test_documents_of_one_place_stay_in_the_order_of_sources() -> None:
    """However many there are: another order would be other bytes on another machine."""
    n = 500
    lengths = [[3] * n, [3] * n]
    places = np.arange(n), np.arange(n) // 2 / n
    made = [SimpleNamespace(name=name, placed=lambda wanted, seed: places) for name in "ab"]
    for one, sizes in zip(made, lengths, strict=True):
        one.train = SimpleNamespace(shards=[{}], ends=lambda i, sizes=sizes: np.cumsum(sizes))
    documents, found = _order(made, {"a": 1, "b": 1}, 0)
    expected = [(s, 2 * k + j) for k in range(n // 2) for s in range(2) for j in range(2)]
    assert list(zip(documents["stream"].tolist(), documents["doc"].tolist(), strict=True)) == expected
    assert found.tolist() == [3] * 2 * n
