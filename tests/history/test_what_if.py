"""A run without a stage, or with another parameter, on a sample: equal to a full run if all documents are read."""

from __future__ import annotations

import json
import random
from dataclasses import replace

import numpy as np
import pytest

import dataprep as dp
from dataprep.core.model.batch import show_id
from dataprep.errors import PlanError, ReadError
from dataprep.forget.forget import forget
from dataprep.history import stage_input
from dataprep.history.what_if import sentences, what_if

MARKS = {"latin": ".", "arabic": "؟", "han": "。"}
WORDS = {
    "latin": "mill river stone grain house",
    "arabic": "الكتاب البيت المدينة الناس يوم",
    "han": "天地 玄黃 宇宙 洪荒 日月",
}


def texts(script: str, n: int) -> list[str]:
    """Texts with lines that C4 cuts or keeps, with copies, and of different lengths."""
    draw, words = random.Random(script), WORDS[script].split()
    found = []
    for _ in range(n):
        lines = [
            " ".join(draw.choices(words, k=draw.randint(2, 12))) + draw.choice(("", MARKS[script]))
            for _ in range(draw.randint(1, 8))
        ]
        found += ["\n".join(lines)] * draw.choice((1, 1, 1, 2))
    return found


def corpus(place, script: str, n: int) -> dp.Dataset:
    """The texts as a Dataset of two sources."""
    made = texts(script, n)
    for part in (0, 1):
        rows = "".join(json.dumps({"text": text}, ensure_ascii=False) + "\n" for text in made[part::2])
        (place / f"in{part}.jsonl").write_text(rows, encoding="utf-8")
    return dp.read([str(place / f"in{part}.jsonl") for part in (0, 1)])


def c4(**given):
    return dp.C4(**{"preset": "tfds", "min_sentences": 2, "terminal_punctuation": tuple(MARKS.values()),
                    "sentence_terminals": tuple(MARKS.values()), **given})  # fmt: skip


GOPHER = dp.Gopher(min_words=15, min_stop_words=None, max_dup_lines=None, max_dup_line_chars=None, min_alphabetic=None,
                   **{f"max_dup_{n}gram": None for n in range(5, 11)}, **{f"max_top_{n}gram": None for n in (2, 3, 4)},
                   max_mean_word_chars=None, min_mean_word_chars=None, max_dup_paragraphs=None,
                   max_dup_paragraph_chars=None)  # fmt: skip


def kept(docs, *stages, out) -> dict[int, int]:
    """The documents that stages keep, and the bytes of each."""
    made = dp.Pipeline(*stages).run(docs, str(out))
    return {row["id"]: len(row["text"].encode()) for row in made.table(["id", "text"]).to_pylist()}


@pytest.mark.parametrize("script", ["arabic", "han"])
def test_with_all_documents_it_equals_a_full_run(tmp_path, script) -> None:
    """Without C4, which cuts what Gopher then counts; with another parameter; behind the drops of an Exact."""
    docs = corpus(tmp_path, script, 80)
    first = (dp.Exact(), c4(), GOPHER)
    run = dp.Pipeline(*first, dp.MinHash()).run(docs, str(tmp_path / "run"))
    before = kept(docs, *first, out=tmp_path / "before")
    for n, (stage, change, other) in enumerate([
        ("C4", None, (dp.Exact(), GOPHER)),
        ("C4", {"min_words": 5}, (dp.Exact(), c4(min_words=5), GOPHER)),
        ("Gopher", {"min_words": 30}, (dp.Exact(), c4(), replace(GOPHER, min_words=30))),
    ]):  # fmt: skip
        found = what_if(run.url, stage, change, sample=None)
        after = kept(docs, *other, out=tmp_path / str(n))
        assert found.back == (len(after.keys() - before.keys()),) * 3
        assert found.new == (len(before.keys() - after.keys()),) * 3
        assert found.text is not None
        assert found.text.value == pytest.approx(sum(after.values()) / sum(before.values()), abs=0)
        assert found.later == ("MinHash",)
        assert set(found.examples[0]) <= after.keys() - before.keys()
        assert found.sample == found.documents == sum(total for total, _, _ in found.by_source.values())
        changed = [sum(row[k] for row in found.by_source.values()) for k in (1, 2)]
        assert changed == [found.back.value, found.new.value]
    rule = what_if(run.url, "C4", sample=None)
    assert rule.back.value < sum(row["stage"] == "C4" for row in run.drops().to_pylist())  # not a subtraction


def test_after_forget_the_stages_are_the_same(tmp_path) -> None:
    """Forgotten documents are not counted, and each pass of the run still has its own stages."""
    docs = corpus(tmp_path, "arabic", 80)
    first = (dp.Exact(), c4(), GOPHER)
    run = dp.Pipeline(*first, dp.MinHash()).run(docs, str(tmp_path / "run"))
    stages, before = [one.label for one in stage_input.run_stages(run.url)], what_if(run.url, "C4", sample=None)
    gone = run.table(["id"])["id"].to_pylist()[:3]
    forget(run.url, [show_id(one) for one in gone])
    found = what_if(run.url, "C4", sample=None)
    assert [one.label for one in stage_input.run_stages(run.url)] == stages
    assert (found.documents, found.back, found.later) == (before.documents - 3, before.back, ("MinHash",))


def test_intervals_of_samples_hold(tmp_path, monkeypatch) -> None:
    """Of 20 samples, the intervals of documents and of text contain the full numbers at least 17 times each."""
    docs = corpus(tmp_path, "latin", 400)
    run = dp.Pipeline(c4()).run(docs, str(tmp_path / "run"))
    full = what_if(run.url, "C4", {"min_words": 7}, sample=None)
    hits = np.zeros(2, int)
    for seed in range(20):
        monkeypatch.setattr(stage_input, "SEED", seed)
        one = what_if(run.url, "C4", {"min_words": 7}, sample=150)
        assert 100 < one.sample < 200
        assert one.text is not None
        hits += [one.new.low <= full.new.value <= one.new.high, one.text.low <= full.text.value <= one.text.high]
    assert min(hits) >= 17


def test_what_a_sample_cannot_answer_is_one_sentence(tmp_path, dataprep) -> None:
    """Deduplication, joined messages, functions, lacking columns, wrong parameters; and what the command prints."""
    docs = corpus(tmp_path, "latin", 30)
    stages = (dp.Filter(long), dp.Exact(), c4())
    pipeline = dp.Pipeline(*stages)
    run = pipeline.run(docs, str(tmp_path / "run"))
    with pytest.raises(PlanError, match="Exact reads all documents before it decides"):
        what_if(run.url, "Exact")
    with pytest.raises(PlanError, match="long cannot be run again"):
        what_if(run.url, "long")
    assert what_if(run.url, "long", pipeline=pipeline, sample=None).back.value == 0
    (tmp_path / "pipe.py").write_text("def long(text):\n    return len(text) > 0\n")
    first = dp.Pipeline(dp.Filter(long), c4()).run(docs, str(tmp_path / "first"))
    assert dataprep("what-if", first.url, "C4")[0] == 1
    assert dataprep("what-if", first.url, "C4", "--pipeline", tmp_path / "pipe.py")[0] == 0
    with pytest.raises(PlanError, match="must be the name of one stage"):
        what_if(run.url, "Gopher")
    with pytest.raises(PlanError, match="must be a parameter of C4"):
        what_if(run.url, "C4", {"min_sentence": 2})
    with pytest.raises(PlanError, match="must be a number of documents above 0"):
        what_if(run.url, "C4", sample=0)
    code, said, _ = dataprep("what-if", run.url, "C4", "--set", "min_words=12", "--sample", 0)
    assert code == 0
    found = what_if(run.url, "C4", {"min_words": 12}, sample=None)
    assert all(line in said for line in sentences(found))
    assert f"{found.new.value:,.0f} documents are newly dropped" in said
    assert dataprep("what-if", run.url, "C4", "--set", "min_words")[0] == 1


def test_hidden_input_is_not_read_nor_messages_joined(tmp_path) -> None:
    """Behind Pseudonyms, no sample is computed; nor before a stage that joins messages."""
    lines = [f"[01.02.2024 10:{i:02}] <Ott Kessler> I said to you, number {i // 4}" for i in range(12)]
    (tmp_path / "chat.txt").write_text("\n".join(lines), encoding="utf-8")
    docs = dp.read(str(tmp_path / "chat.txt"), format="chat", line="[{time:%d.%m.%Y %H:%M}] <{author}> {text}")
    stages = (dp.MC4(min_paragraphs=1), dp.chats.Pseudonyms(key=b"0123456789abcdef"))
    run = dp.Pipeline(*stages).run(docs, str(tmp_path / "run"))
    with pytest.raises(ReadError, match="a stage hides them"):
        what_if(run.url, "MC4", sample=None)
    joined = dp.Pipeline(dp.MC4(min_paragraphs=1), dp.chats.Conversations()).run(docs, str(tmp_path / "joined"))
    with pytest.raises(PlanError, match="Conversations joins documents"):
        what_if(joined.url, "MC4")


def long(text: str) -> bool:
    """Keep texts that are not empty."""
    return len(text) > 0
