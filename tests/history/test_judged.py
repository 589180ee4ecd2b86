"""Judgements as labelled texts, precisions and alarms: stale ones are left out and counted."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from pathlib import Path

import pytest

import dataprep as dp
from dataprep.history import review
from dataprep.history.judged import precisions, review_alarms, reviewed
from dataprep.history.review import Judgement
from dataprep.history.texts import pairs_of
from dataprep.history.why import follow

NOW = datetime(2024, 5, 1, 12, tzinfo=timezone.utc)
MAIL = "jane.roe@mail.example"


def judged(url, id_, verdict, stale=False):
    """A judgement on a dropped document, of its texts now or before a change."""
    drop = follow(url, id_).drops[0]
    content, _ = review.content_of_drop(pairs_of(url, [drop]), drop)
    return Judgement(id_, drop.stage, drop.reason, verdict, "Ann", "x" if stale else content, NOW)


@pytest.fixture
def run(tmp_path):
    """A run that dropped 40 short Arabic and English texts before mail addresses are replaced, and their ids."""
    words = ("القمح الحجر السوق", "mill stone market")
    texts = [f"{words[n % 2]} {n} {MAIL}" if n < 40 else f"{words[n % 2]} {n} " * 9 for n in range(50)]
    lines = "".join(json.dumps({"text": text}, ensure_ascii=False) + "\n" for text in texts)
    (tmp_path / "in.jsonl").write_text(lines, encoding="utf-8")
    stages = (dp.MC4(min_paragraphs=1, min_paragraph_chars=60), dp.PII())
    docs = dp.Pipeline(*stages).run(dp.read(str(tmp_path / "in.jsonl")), out=str(tmp_path / "run"))
    return docs, docs.drops().column("id").to_pylist()


def test_labelled_texts_are_those_that_were_judged(run, dataprep, tmp_path) -> None:
    """The last verdict counts; stale and unsure ones are counted; private data is replaced; a classifier learns."""
    docs, ids = run
    url = str(docs.url)
    assert len(ids) == 40
    assert len(reviewed(url).rows) == 0
    some = [judged(url, id_, "wrong" if n % 2 else "right") for n, id_ in enumerate(ids[:20])]
    some += [judged(url, ids[0], "wrong"), judged(url, ids[20], "unsure"), judged(url, ids[21], "right", stale=True)]
    review.save(url, some)
    found = reviewed(url + "/")
    assert (len(found.rows), found.stale, found.unsure) == (20, 1, 1)
    rows = {row["id"]: row for row in found.rows.to_pylist()}
    assert {id_: row["verdict"] for id_, row in rows.items()} == {
        id_: "wrong" if n % 2 or n == 0 else "right" for n, id_ in enumerate(ids[:20])
    }
    assert all("<email>" in row["text"] and MAIL not in row["text"] for row in rows.values())
    assert dp.read(found.rows).count == 20
    assert sorted(found.texts("right") + found.texts("wrong")) == sorted(row["text"] for row in rows.values())

    pytest.importorskip("fasttext")
    code, said, _ = dataprep("train-quality", "--review", url, "--out", tmp_path / "q.bin", "--epochs", 1, "--dim", 2)
    assert code == 0
    assert "20 judgements; 1 stale judgement and 1 unsure ones are left out" in " ".join(said.split())
    stated = json.loads((tmp_path / "q.bin.json").read_text())
    assert sorted(stated["labels"]) == ["high", "low"]


def test_a_bad_review_is_an_alarm(run, dataprep) -> None:
    """The precision of valid judgements; the alarm in `inspect` and in the report; none for a good review."""
    docs, ids = run
    url = str(docs.url)
    assert review_alarms(url, docs.stats) == []
    review.save(url, [judged(url, id_, "right") for id_ in ids[:30]])
    ((stage, reason, found, n, _),) = precisions(url, docs.stats)
    assert (stage, reason, found.share, found.n, n) == ("MC4", "few_paragraphs", 1.0, 30, 40)
    assert review_alarms(url, docs.stats) == []
    review.save(url, [judged(url, id_, "wrong" if n < 10 else "right", stale=n >= 30) for n, id_ in enumerate(ids)])
    (alarm,) = review_alarms(url, docs.stats)
    assert "30 judgements" in alarm
    assert "67%" in alarm
    assert alarm in " ".join(dataprep("inspect", url)[1].split())


def test_a_damaged_review_hides_no_figure(run, dataprep) -> None:
    """`inspect` and `card` show the rest and name the file; `verify` finds it."""
    url = str(run[0].url)
    Path(review.place_of(url)).write_bytes(b"PAR1 damaged")
    name = Path(review.place_of(url)).name
    for command in ("inspect", "card"):
        code, said, _ = dataprep(command, url)
        assert code == 0
        assert name in " ".join(said.split())
    code, said, _ = dataprep("verify", url)
    assert code == 1
    assert name in said
