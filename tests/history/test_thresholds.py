"""Another threshold of a MinHash, from its stored candidates: equal to a full run, document by document."""

from __future__ import annotations

import json
import random

import numpy as np
import pytest

import dataprep as dp
from dataprep.errors import PlanError
from dataprep.history.thresholds import at_thresholds, minhash_of

THRESHOLDS = (0.55, 0.65, 0.75, 0.85, 0.95)
ALPHABETS = {"latin": "abcdefghijklmnop", "arabic": "ابتثجحخدذرزسشصضطظ", "han": "天地玄黃宇宙洪荒日月盈昃"}


def families(alphabet: str, seed: int, n: int = 30) -> list[str]:
    """Texts that resemble each other less and less: each is the one before with some words changed."""
    draw = random.Random(seed)
    words = ["".join(draw.choices(alphabet, k=draw.randint(2, 6))) for _ in range(400)]
    texts = []
    for _ in range(n):
        text = draw.choices(words, k=draw.randint(25, 60))
        for _ in range(draw.randint(1, 6)):
            texts.append(" ".join(text))
            for _ in range(draw.randint(0, 3)):
                text[draw.randrange(len(text))] = draw.choice(words)
    draw.shuffle(texts)
    return texts


def read(place, name: str, texts: list[str]) -> dp.Dataset:
    """Texts as a Dataset of two sources."""
    for part in (0, 1):
        rows = "".join(json.dumps({"text": text}, ensure_ascii=False) + "\n" for text in texts[part::2])
        (place / f"{name}{part}.jsonl").write_text(rows, encoding="utf-8")
    return dp.read([str(place / f"{name}{part}.jsonl") for part in (0, 1)])


SETTINGS = {
    "latin": {"bands": 60, "rows": 4, "ngram": 2},
    "arabic": {"bands": 60, "rows": 4, "shingle": "char", "ngram": 4, "keep": "longest"},
    "han": {"bands": 120, "rows": 1, "measure": "containment", "shingle": "char", "ngram": 3},
    "none": {"bands": 60, "rows": 4, "ngram": 2, "keep": "none"},
    "against": {"bands": 60, "rows": 4, "ngram": 2, "against": "old"},
}


@pytest.mark.parametrize("name", SETTINGS)
def test_equal_to_a_full_run_at_five_thresholds(tmp_path, name) -> None:
    """Documents that come back, that are newly dropped, their number by source, and the pairs at the border."""
    given, alphabet = dict(SETTINGS[name]), ALPHABETS.get(name, ALPHABETS["latin"])
    texts = families(alphabet, len(name))
    if given.get("against"):
        older = dp.Pipeline().run(read(tmp_path, "old", texts[::3]), str(tmp_path / "older"))
        given["against"], texts = str(older.url), [text for i, text in enumerate(texts) if i % 3]
    docs = read(tmp_path, "in", texts)
    run = dp.Pipeline(dp.MinHash(threshold=0.8, **given)).run(docs, str(tmp_path / "run"))
    dropped = set(run.drops().column("id").to_pylist())
    runner = dp.tools.Local(2) if name == "latin" else dp.tools.Serial()
    found = at_thresholds(minhash_of(str(run.url)), THRESHOLDS, runner, 999)
    for threshold, other in zip(THRESHOLDS, found, strict=True):
        full = dp.Pipeline(dp.MinHash(threshold=threshold, **given)).run(docs, str(tmp_path / f"at{threshold}"))
        wanted = {row["id"]: row for row in full.drops().to_pylist()}
        assert other.dropped == len(wanted)
        assert other.back.tolist() == sorted(dropped - wanted.keys())
        assert other.new.tolist() == sorted(wanted.keys() - dropped)
        for drop in other.examples[1]:
            assert drop.duplicate_of == wanted[drop.id]["duplicate_of"]
            assert drop.similarity == wanted[drop.id]["similarity"]
        sources = {id_: "in0" if id_ < 1 << 40 else "in1" for id_ in (*other.back.tolist(), *other.new.tolist())}
        counts = {
            name: tuple(sum(sources[id_] == name for id_ in ids.tolist()) for ids in (other.back, other.new))
            for name in ("in0", "in1")
        }
        assert other.by_source == {s: n for s, n in counts.items() if any(n)}
    assert len(found[-1].back) > len(found[-2].back) > 0
    assert len(found[0].new) > 0


def test_a_filter_on_stored_similarities_would_be_wrong(tmp_path) -> None:
    """The run names the first kept match; at a higher threshold another document is kept, and drops the third."""
    words = [f"w{i}" for i in range(60)]
    first, second, third = words[:], words[:], words[:]
    second[5:8] = "x5", "x6", "x7"
    third[5:8], third[20] = second[5:8], "y20"
    docs = read(tmp_path, "in", [" ".join(text) for text in (first, second, third)])
    run = dp.Pipeline(dp.MinHash(threshold=0.7, bands=80, rows=3, ngram=2)).run(docs, str(tmp_path / "run"))
    similarity = {row["id"]: row["similarity"] for row in run.drops().to_pylist()}
    assert len(similarity) == 2
    (other,) = at_thresholds(minhash_of(str(run.url)), [0.92], dp.tools.Serial())
    naive = [id_ for id_, s in similarity.items() if s >= 0.92]
    assert (len(naive), other.dropped) == (0, 1)


def test_what_cannot_be_replayed_is_one_sentence(tmp_path, dataprep) -> None:
    """No MinHash, an unknown one, wrong thresholds, candidates that were pruned; and the command prints the figures."""
    docs = read(tmp_path, "in", families(ALPHABETS["latin"], 1))
    exact = dp.Pipeline(dp.Exact()).run(docs, str(tmp_path / "exact"))
    with pytest.raises(PlanError, match="which has none"):
        minhash_of(str(exact.url))
    run = dp.Pipeline(dp.MinHash(threshold=0.8)).run(docs, str(tmp_path / "run"))
    code, said, _ = dataprep("threshold", run.url, "0.9,0.99", "--examples", 1)
    assert code == 0
    assert "came back at 0.99" in said
    found = json.loads(dataprep("threshold", run.url, "0.9,0.99", "--json")[1])
    assert [*found, *found["thresholds"][0], *found["thresholds"][1]["sources"][0]] == [
        "schema", "folder", "run", "thresholds", "threshold", "recall", "dropped", "back", "new", "sources",
        "source", "back", "new",
    ]  # fmt: skip
    assert found["run"] == {"stage": "MinHash", "threshold": 0.8, "dropped": len(run.drops())}
    step = minhash_of(str(run.url), "MinHash")
    for row, other in zip(found["thresholds"], at_thresholds(step, [0.9, 0.99], dp.tools.Serial()), strict=True):
        assert (row["dropped"], row["back"], row["new"]) == (other.dropped, len(other.back), len(other.new))
        assert np.isclose(row["recall"], other.recall)
    with pytest.raises(PlanError, match="threshold=1.5 must be a number above 0"):
        at_thresholds(step, [1.5], dp.tools.Serial())
    assert dataprep("threshold", run.url, "high")[0] == 1
    assert dataprep("prune", run.url)[0] == 0
    with pytest.raises(PlanError, match="are no longer stored"):
        at_thresholds(minhash_of(str(run.url)), [0.9], dp.tools.Serial())
