"""Ways of deduplication in one Pipeline, in any order: every drop and cut can be followed, and the books balance."""

from __future__ import annotations

import itertools
import json
import random
import sys
from pathlib import Path

import numpy as np
import pytest

import dataprep as dp
import laws
from dataprep import pipeline_file
from dataprep.core.run.runner import Serial

WORDS = [
    first + last
    for first in ("stone", "river", "lamp", "quiet", "harb")
    for last in ("er", "al", "ing", "oth", "ia", "ó")
]
EXACT, MINHASH, SUFFIX = dp.Exact(), dp.MinHash(threshold=0.7), dp.SuffixArray(min_words=12)
BLOOM, LINES, PAGES = dp.Bloom(unit="paragraph"), dp.Exact(unit="line"), dp.URLDedup()


def no_footer(text):
    """Rewrites texts, so that what is pending is saved before the next estimator."""
    return text.replace("Read more", "").strip()


def many_words(text):
    """Drops a few, whatever else happens."""
    return len(text) > 60


ORDERS = [
    (EXACT, MINHASH, SUFFIX),
    (SUFFIX, MINHASH, EXACT),
    (BLOOM, SUFFIX, MINHASH),
    (SUFFIX, BLOOM, EXACT, MINHASH),
    (MINHASH, BLOOM, SUFFIX),
    (PAGES, EXACT, MINHASH, SUFFIX, BLOOM),
    (LINES, SUFFIX, PAGES, BLOOM),
    (dp.Map(no_footer), EXACT, SUFFIX, dp.Filter(many_words), MINHASH),
    (SUFFIX, dp.Map(no_footer), MINHASH, BLOOM),
]


def corpus():
    """Pages with copies, near copies, shared paragraphs, shared runs of words, and several captures."""
    rng = random.Random(11)

    def sentence(n=14):
        return " ".join(rng.choices(WORDS, k=n)).capitalize() + "."

    shared = [sentence(30) for _ in range(4)]
    rows = []
    for i in range(160):
        text = "\n".join(sentence() for _ in range(rng.randint(1, 6)))
        kind = rng.random()
        if rows and kind < 0.15:
            text = rng.choice(rows)["text"]
        elif rows and kind < 0.3:
            words = rng.choice(rows)["text"].split(" ")
            words[rng.randrange(len(words))] = "changed"
            text = " ".join(words)
        elif kind < 0.5:
            text = f"{text}\n{rng.choice(shared)}\nRead more"
        elif kind < 0.6:
            text = f"In short {rng.choice(shared)[:-1]} and so on 😀"
        url = f"https://www.example.org/{rng.randrange(120)}?utm_source={i}"
        rows.append({"text": text, "url": url, "date": f"20{rng.randrange(10, 25)}-01-01"})
    return [*rows, {"text": "", "url": "", "date": None}]


@pytest.fixture(scope="module")
def docs(tmp_path_factory):
    """The corpus in three parts."""
    return laws.dataset_of(
        tmp_path_factory.mktemp("corpus"), corpus(), parts=3, rows_per_batch=40, strings=("url", "date")
    )


def without(text, cuts):
    """A text without spans of its bytes."""
    data, at, left = text.encode(), 0, []
    for cut in sorted(cuts, key=lambda c: c["start"]):
        assert 0 <= cut["start"] < cut["end"] <= len(data), "spans are inside the text"
        left.append(data[at : cut["start"]])
        at = max(at, cut["end"])
    return b"".join([*left, data[at:]]).decode()


def replay(texts, stages, clean):
    """What is left, by the tables alone: stage by stage, texts are cut and documents dropped as the tables say."""
    drops, cuts = clean.drops().to_pylist(), clean.cuts().to_pylist()
    everyone, gone = set(texts), set()
    for stage in stages:
        own = {d["id"]: d for d in drops if d["stage"] == stage.name}
        spans = {
            i: list(c) for i, c in itertools.groupby((c for c in cuts if c["stage"] == stage.name), lambda c: c["id"])
        }
        assert set(own) | set(spans) <= set(texts), "only what is there can be dropped or cut"
        for drop in own.values():
            assert drop["duplicate_of"] is None or drop["duplicate_of"] in set(texts) - set(own), (
                "the survivor survived this stage"
            )
        for cut in itertools.chain.from_iterable(spans.values()):
            assert cut["duplicate_of"] is None or cut["duplicate_of"] in everyone - gone
        if isinstance(stage, dp.Map):
            texts = {i: stage.fn(text) for i, text in texts.items()}
        texts = {i: without(text, spans.get(i, [])) for i, text in texts.items() if i not in own}
        gone |= set(own)
    assert sum(1 for d in drops if d["stage"] != "read") == len(gone), "nobody is dropped twice"
    return texts


@pytest.mark.parametrize("stages", ORDERS, ids=lambda stages: " ".join(s.name for s in stages))
def test_any_order(docs, stages, tmp_path):
    """Drops and cuts, applied one stage after another to the input, give the sealed texts; the books say the same."""
    clean = dp.Pipeline(*stages).run(docs, out=str(tmp_path / "out"))
    texts = {row["id"]: row["text"] for row in docs.take(1000)}
    kept = {row["id"]: row["text"] for row in clean.take(1000)}
    assert replay(texts, stages, clean) == kept
    books = list(clean.stats)[-len(stages) :]
    assert [book.name for book in books] == [stage.name for stage in stages]
    n_docs, n_bytes = len(texts), sum(len(t.encode()) for t in texts.values())
    for book in books:
        came, left = book.total(book.into), book.total(book.out)
        assert (came.docs, came.bytes) == (n_docs, n_bytes)
        dropped = sum(book.total(sources).bytes for sources in book.dropped.values())
        assert came.bytes + book.added == left.bytes + dropped + book.cut
        n_docs, n_bytes = left.docs, left.bytes
    assert (n_docs, n_bytes) == (len(kept), sum(len(t.encode()) for t in kept.values()))
    done = {book.name for book in books if book.docs_dropped or book.cut}
    assert done >= {s.name for s in stages[:2] if not isinstance(s, dp.Map)}, "the corpus gives each something to do"


def test_exact_before_minhash_changes_nothing(docs, tmp_path):
    """A copy is also a near-duplicate: with the same copy kept, the same documents are left."""
    both = dp.Pipeline(EXACT, MINHASH).run(docs, out=str(tmp_path / "both"))
    one = dp.Pipeline(MINHASH).run(docs, out=str(tmp_path / "one"))
    assert both.table(["id"]) == one.table(["id"])


def test_runners_agree_on_all_of_them(docs, tmp_path):
    """Two workers write the bytes that one writes, through five estimators."""
    stages = (PAGES, EXACT, MINHASH, SUFFIX, BLOOM)
    for name, runner in (("serial", Serial()), ("local", laws.TWO)):
        dp.Pipeline(*stages).run(docs, str(tmp_path / name), runner)
    laws.same_bytes(tmp_path / "serial", tmp_path / "local")


@pytest.fixture(scope="module")
def compared(root, tmp_path_factory):
    """`pipelines/compare_dedup.py` on the corpus; one method in a process of its own, the others in this one."""
    patch = pytest.MonkeyPatch()
    place = tmp_path_factory.mktemp("compare")
    (place / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in corpus()))
    patch.setenv("COMPARE_INPUT", str(place / "in.jsonl"))
    patch.setenv("COMPARE_VOCABULARY", "400")
    steps = pipeline_file.load(str(root / "pipelines" / "compare_dedup.py"))
    module = sys.modules[steps[0].fn.__module__]
    real = module._measure

    def measure(name, docs, out):
        if name == "exact+sa":
            return real(name, docs, out)
        dp.Pipeline(*module.stages(name)).run(dp.open_dataset(docs), out=out)
        return {"seconds": 0.0, "cpu_seconds": 0.0, "peak_mb": 0.0}

    patch.setattr(module, "_measure", measure)
    done = {d.name: d.result for d in pipeline_file.execute(steps, str(place / "out"), Serial())}
    patch.setattr(module, "_measure", None)  # running again measures nothing again
    list(pipeline_file.execute(steps, str(place / "out"), Serial()))
    yield module, done, place / "out" / "compare"
    patch.undo()


def test_compare_has_a_row_a_method(compared):
    """Documents, bytes and tokens are those of the sealed results, and a method measured apart has time and memory."""
    module, done, out = compared
    rows = json.loads((out / "compare.json").read_text())["methods"]
    assert [row["method"] for row in rows] == list(module.METHODS)
    for row in rows:
        left = dp.open_dataset(str(out / row["method"])).table(["text"]).column("text").to_pylist()
        assert row["documents"] == len(left)
        assert row["bytes"] == sum(len(text.encode()) for text in left)
        assert row["tokens"] == sum(len(done["tokenizer"].encode(text)) + 1 for text in left)
    assert rows[0]["documents"] == done["ingest"].count
    assert len({row["bytes"] for row in rows}) >= 6
    apart = next(row for row in rows if row["method"] == "exact+sa")
    assert apart["seconds"] > 0
    assert apart["peak_mb"] > 50
    said = (out / "compare.md").read_text()
    assert f"| exact+sa | {apart['documents']:,} |" in said
    assert str(out / "compare.md") in done["compare"]


def test_compare_shares_what_the_texts_show(compared):
    """The bytes that two methods share are those of masks made by hand, and a mask leaves exactly the sealed text."""
    module, done, out = compared
    masks = []
    texts = {row["id"]: row["text"].encode() for row in done["ingest"].take(1000)}
    for name in module.METHODS[1:]:
        clean = dp.open_dataset(str(out / name))
        kept = {row["id"]: row["text"].encode() for row in clean.take(1000)}
        removed = {i: np.full(len(text), i not in kept) for i, text in texts.items()}
        for cut in clean.cuts().to_pylist():
            removed[cut["id"]][cut["start"] : cut["end"]] = True
        assert {i: bytes(np.frombuffer(texts[i], np.uint8)[~removed[i]]) for i in kept} == kept
        masks.append(np.concatenate([removed[i] for i in sorted(texts)]))
    shared = json.loads((out / "compare.json").read_text())["shared_bytes"]
    assert shared == [[int((a & b).sum()) for b in masks] for a in masks]
    assert min(shared[i][i] for i in range(len(masks))) > 0


def test_compare_takes_the_demo_by_default(root, tmp_path, monkeypatch):
    """Without an input it asks the demo for its corpus."""
    monkeypatch.delenv("COMPARE_INPUT", raising=False)
    steps = pipeline_file.load(str(root / "pipelines" / "compare_dedup.py"))
    demo = pipeline_file.load(str(root / "pipelines" / "demo.py"))
    module = sys.modules[steps[0].fn.__module__]
    monkeypatch.setattr(sys.modules[demo[0].fn.__module__], "_docstrings", lambda: [("a", "A docstring.")])
    monkeypatch.setattr(module.pipeline_file, "load", lambda path: demo if Path(path).name == "demo.py" else None)
    made = steps[0].fn(str(tmp_path / "ingest"), Serial())
    assert {"licences", "packages", "topics"} < set(made.table(["source"])["source"].to_pylist())
