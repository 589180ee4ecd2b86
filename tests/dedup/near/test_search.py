"""Exact and MinHash in a pipeline: laws, runners, crashes, and what they leave behind."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

import dataprep as dp
import laws
from dataprep.core.model.estimator import Estimator
from dataprep.core.run import merge
from dataprep.dedup.near import components, gather, search
from dataprep.read import parts as plan
from dataprep.store import shuffle


@pytest.fixture(autouse=True)
def _many_parts(monkeypatch):
    """Files are cut every 40 kB, so that a corpus of a test has several parts."""
    monkeypatch.setattr(plan, "PART_BYTES", 40_000)


def write_corpus(folder: Path, n: int = 400) -> list[str]:
    """Two JSONL files of texts, many of them copies and near-copies of earlier ones."""
    rng = random.Random(11)
    texts: list[str] = []
    for _ in range(n):
        if texts and rng.random() < 0.5:
            words = rng.choice(texts).split()
            if rng.random() < 0.6:
                words[rng.randrange(len(words))] = f"changed{rng.random()}"
        else:
            words = [f"w{rng.randrange(3000)}" for _ in range(80)]
        texts.append(" ".join(words))
    for name, rows in (("a", texts[: n // 2]), ("b", texts[n // 2 :])):
        folder.mkdir(exist_ok=True)
        (folder / f"{name}.jsonl").write_text("".join(json.dumps({"text": t}) + "\n" for t in rows))
    return [str(folder / "a.jsonl"), str(folder / "b.jsonl")]


def cut_fine(monkeypatch):
    """All documents, partitions and verdicts of a test do not fit into memory or one table of sections."""
    monkeypatch.setattr(components, "RANGE_DOCS", 70)
    monkeypatch.setattr(merge, "MAX_SECTIONS", 3)
    monkeypatch.setattr(merge, "MERGE_BYTES", 5_000)
    monkeypatch.setattr(search, "GROUP_BYTES", 1_000)
    monkeypatch.setattr(search, "MAX_GROUPS", 2)


PIPELINE = dp.Pipeline(dp.Exact(normalize="space"), dp.MinHash(threshold=0.8))


@pytest.mark.parametrize("stage", [dp.Exact(), dp.Exact(normalize="words", keep="longest"), dp.MinHash(preset="dclm")])
def test_they_are_estimators(stage) -> None:
    """Key, pickle and printed form are stable; parameters change the key."""
    laws.key_and_pickle_are_stable(stage)
    assert isinstance(stage, Estimator)
    assert laws.key(stage) != laws.key(type(stage)(keep="source:x"))


def test_returned_stages_keep_the_laws(tmp_path) -> None:
    """The stage that `fit` returns drops what the table says, whatever the batches, and its books balance."""
    rows = ["one two three four five six"] * 5 + ["seven eight nine ten eleven twelve", "unique"]
    docs = laws.dataset_of(tmp_path, rows, parts=1)
    batch = laws.batch_of(rows)
    for made, reason in ((dp.Exact(), "duplicate"), (dp.MinHash(), "near_duplicate")):
        stage = made.fit(docs, dp.tools.Serial(), str(tmp_path / made.name))
        laws.books_balance(stage, batch)
        laws.cuts_do_not_matter(stage, batch, [1, 3])
        left, drops, _ = laws.apply(stage, [batch])
        assert [r["text"] for r in left] == ["one two three four five six", *rows[5:]]
        assert {(d["stage"], d["reason"], d["duplicate_of"], d["similarity"]) for d in drops} == {
            (made.name, reason, 0, 1.0)
        }


def test_runners_agree_byte_for_byte(tmp_path, monkeypatch) -> None:
    """Serial and two processes seal the same bytes."""
    docs = dp.read(write_corpus(tmp_path / "in"))
    assert len(docs.parts) > 4
    monkeypatch.setattr(shuffle, "FAN_IN", 2)
    monkeypatch.setattr(gather, "PARTITION_BYTES", 20_000)
    one = PIPELINE.run(docs, out=str(tmp_path / "one"))
    PIPELINE.run(docs, out=str(tmp_path / "two"), runner=laws.TWO)
    laws.same_bytes(tmp_path / "one", tmp_path / "two")
    assert one.stats["Exact"].docs_dropped > 30
    assert one.stats["MinHash"].docs_dropped > 60


def test_an_interrupted_search_goes_on(tmp_path, monkeypatch) -> None:
    """Stopped in any pass, and gone on with, the result is that of an uninterrupted run, in ranges that are larger."""
    docs = dp.read(write_corpus(tmp_path / "in"))
    monkeypatch.setattr(shuffle, "FAN_IN", 2)
    monkeypatch.setattr(gather, "PARTITION_BYTES", 20_000)
    PIPELINE.run(docs, out=str(tmp_path / "whole"))
    cut_fine(monkeypatch)
    out = str(tmp_path / "torn")
    passes = "hash, merge keys, match, cluster, gather, merge candidates, divide candidates, verify, merge verdicts"
    for stopped in ("Exact: gather", *(f"MinHash: {name}" for name in (*passes.split(", "), "divide verdicts"))):
        with pytest.raises(KeyboardInterrupt):
            PIPELINE.run(docs, out=out, runner=laws.Stops(at=stopped))
    PIPELINE.run(docs, out=out)
    for name in ("data", "drops"):
        laws.same_bytes(tmp_path / "whole" / name, tmp_path / "torn" / name)


def test_finished_work_is_not_repeated(tmp_path, monkeypatch) -> None:
    """A second fit of the same recipe finds its verdicts; another threshold does not."""
    docs = dp.read(write_corpus(tmp_path / "in", 40))
    out = str(tmp_path / "fit")
    first = dp.MinHash().fit(docs, dp.tools.Serial(), out)
    again = "dataprep.dedup.near.search.DuplicateSearch._find"
    monkeypatch.setattr(again, lambda *_, **__: pytest.fail("searched again"))
    assert dp.MinHash().fit(docs, dp.tools.Serial(), out) == first
    with pytest.raises(pytest.fail.Exception):
        dp.MinHash(threshold=0.7).fit(docs, dp.tools.Serial(), out)


def test_nothing_in_is_nothing_out(tmp_path) -> None:
    """No documents, or no parts: an empty verdict table."""
    docs = laws.dataset_of(tmp_path, [], parts=1)
    for made in (dp.Exact(), dp.MinHash()):
        for number, given in enumerate((docs, laws.Dataset(()))):
            stage = made.fit(given, dp.tools.Serial(), str(tmp_path / f"{made.name}{number}"))
            assert laws.apply(stage, [laws.batch_of(["a"])])[0][0]["text"] == "a"
