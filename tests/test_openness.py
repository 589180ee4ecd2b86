"""The six words are open: what a user writes in one file outside the package works everywhere."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import cloudpickle
import pytest

import dataprep as dp
import laws
from dataprep import extend


class OnlyMap:
    """A runner with the three members that the protocol names, which keeps what it was asked to do."""

    workers = 2
    memory = None

    def __init__(self) -> None:
        self.labels: list[str] = []

    def map(self, task: Callable[[Any], Any], items: Sequence[Any], label: str = "") -> Iterator[Any]:
        """Yield results after a round trip of task, item and result through cloudpickle, as other processes need."""
        self.labels.append(label)
        for item in items:
            sent_task, sent_item = cloudpickle.loads(cloudpickle.dumps((task, item)))
            yield cloudpickle.loads(cloudpickle.dumps(sent_task(sent_item)))


@pytest.fixture(scope="module")
def docs(samples):
    """The sample articles and news."""
    return dp.read([str(samples / "articles.jsonl"), str(samples / "news.jsonl.zst")])


def test_a_runner_with_only_map_works_everywhere(docs, tmp_path):
    """Pipelines, tokenizers, shards, checks and removal run on it, and give the bytes of Serial."""

    def everything(runner, out):
        stages = dp.C4(), dp.Exact(), dp.MinHash(), dp.SuffixArray(min_words=20), dp.Bloom(), dp.Exact(unit="line")
        clean = dp.Pipeline(*stages).run(docs, str(out / "clean"), runner)
        tok = dp.train_bpe(clean, vocab_size=300, runner=runner)
        shards = dp.encode(clean, tok, str(out / "shards"), val=0.2, runner=runner)
        problems = dp.tools.verify(str(out), runner)
        assert not any(problems.values())
        dp.tools.forget(str(out), [str(int(clean.table(["id"])["id"][0].as_py()))], runner=runner)
        return clean, shards

    mine = OnlyMap()
    clean, shards = everything(mine, tmp_path / "mine")
    plain, plain_shards = everything(dp.tools.Serial(), tmp_path / "serial")
    assert len(mine.labels) > 20
    laws.same_bytes(clean.url, plain.url)
    assert shards.manifest.shards == plain_shards.manifest.shards


def load(root, name):
    """Import a file of examples/ as a module that workers get by value."""
    spec = importlib.util.spec_from_file_location(f"example_{name}", root / "examples" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    cloudpickle.register_pickle_by_value(module)
    return module


@pytest.mark.parametrize("name", ["filter", "estimator", "runner"])
def test_examples_run(root, samples, name, capsys):
    """Every example is under 60 lines and runs as it is."""
    assert len((root / "examples" / f"{name}.py").read_text().splitlines()) < 60
    load(root, name).main(str(samples / "news.jsonl.zst"))
    assert "documents" in capsys.readouterr().out


def test_a_filter_of_ones_own_keeps_the_laws(root):
    """Batch cuts do not matter, statistics add up, key and pickle are stable."""
    stage = load(root, "filter").MaxChars(max_chars=3)
    batch = extend.make(range(9), ["a", "four", "", "three", "xyz", "über", "日本語", "日本語だ", "b"], "x")
    laws.cuts_do_not_matter(stage, batch, [2, 3])
    laws.books_balance(stage, batch)


def test_an_estimator_has_its_defaults():
    """A class with `fit` alone is an Estimator: name, needs, promises, key and warm come with it."""

    class First(extend.Estimator):
        def fit(self, docs, runner, out):
            raise NotImplementedError

    first = First()
    assert (first.name, first.needs, first.only_drops, first.hides) == ("First", (), False, False)
    assert first.warm() is None
