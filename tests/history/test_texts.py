"""Documents of a run read together are those that are read one by one, and each file is read once."""

from __future__ import annotations

import json

import pytest

import dataprep as dp
import laws
from dataprep.core.inputs import look_up
from dataprep.extend import PIIKind
from dataprep.history import clusters, texts, why

WORDS = ["der", "rote", "fuchs", "springt", "über", "zaun", "وقف", "الرجل", "في", "السوق", "犬", "a", "quick", "dog"]


def small(text):
    """Write small letters."""
    return text.lower()


def lines(n):
    """Texts of some words, many of them with a copy in which one word is another."""
    rows = []
    for i in range(n):
        words = [WORDS[(i * k + k) % len(WORDS)] for k in range(1, 60)] + [f"n{i}"]
        rows += [" ".join(words), " ".join([*words[:30], "other", *words[31:]])][: 1 + i % 2]
    return rows


def counting(function, calls):
    """The function, which also notes each call."""
    return lambda *given: calls.append(given) or function(*given)


def test_pairs_read_together_are_those_read_alone(tmp_path, monkeypatch):
    """From the input, and from a saved step; the input is opened once for all."""
    for number in range(3):
        rows = "".join(json.dumps({"text": t}) + "\n" for t in lines(30 + number))
        (tmp_path / f"{number}.jsonl").write_text(rows)
    for name, stages in (("first", [dp.MinHash()]), ("later", [dp.Map(small), dp.Exact(), dp.MinHash()])):
        out = str(tmp_path / name)
        dp.Pipeline(*stages).run(dp.read(str(tmp_path / "*.jsonl")), out, runner=laws.TWO)
        drops = clusters.least_similar(out, 40)
        assert len(drops) == 40
        alone = [(why.dropped_document(out, drop), why.survivor(out, drop)) for drop in drops]
        calls = []
        monkeypatch.setattr(look_up, "documents", counting(look_up.documents, calls))
        together = texts.pairs_of(out, drops)
        assert [(together.dropped(drop), together.survivor(drop)) for drop in drops] == alone
        assert all(row is not None for pair in alone for row in pair)
        assert len(calls) <= 1
        monkeypatch.undo()


@pytest.mark.parametrize("first", [dp.URLDedup(keep="first"), dp.Exact(), dp.MinHash(threshold=0.5)], ids=str)
@pytest.mark.parametrize("again", [True, False], ids=["remade", "not remade"])
def test_pairs_show_nothing_that_a_later_stage_masks(tmp_path, first, again):
    """Pairs are of the text before PII; the report replaces what PII does, and is empty if PII cannot be made again."""
    text = "Write to zz1secret@privatmail.org about the river. " * 3
    rows = [{"text": text + end, "url": "https://ex.com/a"} for end in ("one", "two", "one")]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    pii = dp.PII() if again else dp.PII(kinds=("email", PIIKind("ticket", r"T-\d{5}")))
    out = str(tmp_path / "out")
    dp.Pipeline(first, pii).run(dp.read(str(tmp_path / "in.jsonl"), columns=["url"]), out=out)
    drops = clusters.least_similar(out, 5, None) or [c.examples[0] for c in clusters.find_clusters(out).largest(5)]
    assert drops
    found = texts.pairs_of(out, drops)
    shown = [found.dropped(drop)["text"] for drop in drops]
    assert all(("river" in one) is again and "zz1secret" not in one for one in shown), shown
