"""Suspicions: what a source lost, by hand-made statistics; and lines that many kept documents have."""

from __future__ import annotations

import json

import dataprep as dp
from dataprep.core.model.stats import Amount, StageStats
from dataprep.history import suspicions as S
from dataprep.history.review import Precision


def stage(name, reason, dropped, into):
    """The statistics of a stage that drops documents of 10 bytes for one reason."""
    lost = {source: Amount(n, 10 * n) for source, n in dropped.items()}
    return StageStats(name, into={source: Amount(n, 10 * n) for source, n in into.items()}, dropped={reason: lost})


def kinds(found):
    """Kind, source, documents and bytes of each suspicion."""
    return {(one.kind, one.source): (one.docs, one.bytes) for one in found}


def test_losses_of_sources_are_named_once() -> None:
    """One reason for more than half; several for nearly all; text of kept documents; small sources are left out."""
    read = {"one": 200, "many": 300, "text": 100, "half": 100, "small": 99, "moved": 100}
    a = stage("A", "short", {"one": 101, "many": 149, "half": 50, "small": 99}, read)
    b = stage("B", "copy", {"many": 149}, read)
    c = stage("C", "joined", {"moved": 100}, read)
    c.moved.add("joined")
    kept = {"one": 990, "many": 20, "text": 499, "half": 500, "small": 0, "moved": 1_000}
    left = {"one": 99, "many": 2, "text": 100, "half": 50, "small": 0, "moved": 0}
    sources = {name: (Amount(n, 10 * n), Amount(left[name], kept[name])) for name, n in read.items()}
    found = S.source_suspicions([a, b, c], sources)
    assert kinds(found) == {
        (S.TOOK_SOURCE, "one"): (101, 1_010), (S.NEARLY_ALL, "many"): (298, 2_980), (S.TEXT_LOST, "text"): (100, 501),
    }  # fmt: skip
    assert [one.source for one in S.ranked(found)] == ["many", "one", "text"]
    assert found[0].sentence == "A dropped 101 of 200 documents of 'one' as short"


def test_a_review_is_suspicious_only_if_it_is_certain() -> None:
    """The upper end of the interval decides; the amounts are the estimated share of wrong drops."""
    assert S.judged_wrong("A", "short", Precision(0.5, 0.2, 0.9, 6), 100, 1_000) == []
    (one,) = S.judged_wrong("A", "short", Precision(0.5, 0.4, 0.6, 60), 100, 1_000)
    assert (one.docs, one.bytes, one.stage, one.reason) == (50, 500, "A", "short")
    assert "50% (40% to 60%)" in one.sentence


FOOTER = "اشترك في النشرة البريدية | subscribe to the letter"


def test_lines_that_many_documents_have(tmp_path) -> None:
    """A footer in a tenth of the documents is named; in fewer, in a small source, or a short line, it is not."""
    texts = {
        "site": [f"page {i} about a lamp\n{FOOTER if i % 10 == 0 else ''}" for i in range(100)],
        "less": [f"page {i} about a rope\n{FOOTER if i % 12 == 0 else ''}" for i in range(100)],
        "few": [f"page {i} about a boat\n{FOOTER}" for i in range(49)],
        "short": [f"page {i} about a well\nnineteen characters" for i in range(60)],
    }
    for name, some in texts.items():
        rows = (json.dumps({"text": text}, ensure_ascii=False) + "\n" for text in some)
        (tmp_path / f"{name}.jsonl").write_text("".join(rows), encoding="utf-8")
    docs = dp.read({name: f"{tmp_path}/{name}.jsonl" for name in texts})
    out = dp.Pipeline().run(docs, out=str(tmp_path / "out")).url
    sources = {name: (Amount(10 * len(some)), Amount(10 * len(some), 1)) for name, some in texts.items()}
    (one,) = S.lines_left(out, sources)
    assert (one.kind, one.source, one.text) == (S.LINES_LEFT, "site", FOOTER)
    assert (one.docs, one.bytes) == (100, 100 * len(FOOTER.encode()))
    assert one.sentence.startswith("10 of 100 sampled documents of 'site' that were kept have the line ")
