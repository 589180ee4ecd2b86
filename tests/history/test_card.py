"""The data card of a run: its numbers are those of the run, and nothing of the corpus breaks its tables."""

from __future__ import annotations

from datetime import datetime, timezone

import pytest

import dataprep as dp
from dataprep.core.model.batch import parse_id
from dataprep.history import review
from dataprep.history.card import card
from dataprep.history.review import Judgement


def tables(text):
    """The rows of cells of each table, by the heading above it."""
    found, head = {}, ""
    for line in text.split("\n"):
        head = line.removeprefix("## ") if line.startswith("## ") else head
        if line.startswith("|"):
            found.setdefault(head, []).append([cell.strip(" `") for cell in line.strip("|").split(" | ")])
    return found


def test_a_card_has_stages_sources_settings_and_judgements(rich) -> None:
    """A row per stage and source; the drops of judged documents with their interval, without stale judgements."""
    now = datetime(2024, 5, 1, tzinfo=timezone.utc)
    content = review.contents(str(rich), [(parse_id("2:6"), "MinHash"), (parse_id("2:7"), "MinHash")])
    some = [Judgement(id_, stage, "near_duplicate", "right", "Ann", hash_, now)
            for (id_, stage), (hash_, *_) in content.items()]  # fmt: skip
    stale = some[0]._replace(id=parse_id("2:8"), verdict="wrong")
    assert len(some) == 2
    review.save(str(rich), [*some, stale])
    try:
        text = card(str(rich))
    finally:
        (rich.parent / f"{rich.name}.review.parquet").unlink()
    assert text.startswith('---\npretty_name: "a <b>run & more"\nsize_categories:\n- n<1K\n')
    assert "10 documents" in text
    rows = tables(text)
    assert [row[0] for row in rows["How it was made"][2:]] == ["read", "nasty", "spaced", "Exact", "MinHash", "Lines"]
    assert [row[:3] for row in rows["Sources"][2:] if row[0] == "wiped out"] == [["wiped out", "150", "0"]]
    assert {len(row) for row in rows["Sources"][2:]} == {5}
    low, _ = review.wilson(1, 2)
    assert rows["Review"][2:] == [["MinHash", "near_duplicate", "2", "100%", f"{low:.0%} to 100%"]]
    assert "threshold=0.7" in text
    assert "\x07" not in text
    assert "Review" not in card(str(rich))


def test_duplicates_without_a_survivor_are_a_known_problem(tmp_path) -> None:
    """The sentence names the stages as they are written."""
    (tmp_path / "in.jsonl").write_text('{"text": "one lamp"}\n{"text": "one lamp"}\n{"text": "two lamps"}\n')
    docs = dp.read(str(tmp_path / "in.jsonl"))
    out = dp.Pipeline(dp.Exact(), dp.Gopher()).run(docs, out=str(tmp_path / "out")).url
    assert "was dropped later (1 by Gopher: too_few_words)." in card(out)


@pytest.mark.parametrize(("n", "size"), [(0, "n<1K"), (999, "n<1K"), (1_001, "1K<n<10K"), (2_000_000, "1M<n<10M")])
def test_sizes_are_those_of_the_hub(n, size) -> None:
    """The categories that the hub lists."""
    from dataprep.history.card import _metadata

    assert f"- {size}\n" in _metadata("x", n)
