"""Suspicions: what a source lost, by hand-made statistics; and lines that many kept documents have."""

from __future__ import annotations

import json

import dataprep as dp
from dataprep.core.model.stats import Amount, StageStats
from dataprep.history import boilerplate as B
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
    (one,) = S.left_in_texts(out, sources)
    assert (one.kind, one.source, one.text) == (S.LINES_LEFT, "site", FOOTER)
    assert (one.docs, one.bytes) == (100, 100 * len(FOOTER.encode()))
    assert one.sentence.startswith("10 of 100 sampled documents of 'site' that were kept have the line ")


def test_templates_in_what_was_kept() -> None:
    """Weather reports in three scripts, of which names and numbers differ; essays and short texts are no templates."""
    words = [f"{a}{b}" for a in ("ka", "lo", "mi", "ne", "ru") for b in ("da", "fe", "go", "hu", "tis", "vo")]
    own = ["".join(words[(i * k) % 29] + str(i) + " " for k in range(3, 6)) for i in range(60)]
    texts = {
        "weather": [f"The weather in {a}will be mild tomorrow with light winds from the west and {i} degrees at noon, "
                    "so please take a warm coat with you" for i, a in enumerate(own)],
        "طقس": [f"سيكون الطقس في {a} معتدلا غدا مع رياح خفيفة من الغرب وستبلغ الحرارة عند الظهر {i} درجة لذلك خذ معطفا"
                for i, a in enumerate(own)],
        "天气": [f"明天{i}城天气晴朗，气温适中，西风微弱，中午最高气温为{i}度，请大家注意增减衣物" for i in range(60)],
        "essays": [" ".join(words[(i * i + k * k * (i + 3)) % 30] for k in range(60)) for i in range(60)],
        "rare": [" ".join(words[(i * 7 + k * k * (i + 5)) % 30] for k in range(40)) if i % 12 else
                 f"one template of which there are only five in all the pages of this source number {i} and no more"
                 for i in range(55)],
        "short": ["the same eight words in all of them"] * 60,
    }  # fmt: skip
    found = B.templates_left(texts)
    assert [one.source for one in found] == ["weather", "طقس", "天气"]
    assert all(one.n >= 55 and one.of == 60 for one in found)
    assert found[0].phrase == "will be mild tomorrow with light winds from the west and"
    assert all(one.phrase in text for one in found for text in texts[one.source][:1])
    assert all(0.5 < one.share < 1 for one in found)


def test_families_of_near_duplicates() -> None:
    """A twentieth of a source in large clusters is named, with all their documents; less, or a small source, is not."""
    sources = {name: (Amount(n), Amount()) for name, n in {"a": 1_000, "b": 1_001, "c": 99}.items()}
    families = [("a", 1, 50, 7), ("b", 1, 50, 7), ("c", 1, 99, 7), ("gone", 1, 50, 7)]
    (one,) = S.template_families(families, sources)
    assert (one.kind, one.source, one.docs, one.bytes) == (S.TEMPLATES, "a", 50, 7)
    assert "in 1 cluster of" in one.sentence
