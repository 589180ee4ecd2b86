"""docs/verdicts.md: its tables name the columns there are, and its queries run and mean what they say."""

from __future__ import annotations

import json
import re

import duckdb
import pytest

import dataprep as dp
from dataprep.core.model.batch import parse_id
from dataprep.core.model.tables import CUTS, DROPS, SPANS, VERDICTS
from dataprep.history import clusters
from dataprep.history.cuts import most_repeated_cuts

LINE = "Sign up for our letter, and never miss a page again."
PAGE = "the quick brown fox jumps over the lazy dog and runs home before the rain begins to fall on {} tonight"


def own(word):
    """A page of its own words, with the line that all have."""
    return " ".join(f"{word}{i}" for i in range(20)) + f"\n{LINE}\n" + word


@pytest.fixture(scope="module")
def page(root):
    """The page about verdict tables."""
    return (root / "docs" / "verdicts.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def answers(page, tmp_path_factory):
    """The rows of its queries, in order, over the run that it describes."""
    place = tmp_path_factory.mktemp("verdicts")
    texts = {
        "a": [PAGE.format("hills"), PAGE.format("hills"), PAGE.format("hilltops"), own("Vögel")],
        "b": [PAGE.format("hills"), own("Blätter"), own("Äste"), "only here"],
    }
    for source, rows in texts.items():
        lines = [json.dumps({"text": text}) for text in rows]
        (place / f"{source}.jsonl").write_text("\n".join(lines))
    docs = dp.Pipeline().run(dp.read([str(place / f"{s}.jsonl") for s in texts]), out=str(place / "run" / "ingest"))
    stages = (dp.Exact(), dp.MinHash(threshold=0.7), dp.Exact(unit="line"))
    dp.Pipeline(*stages).run(docs, out=str(place / "run" / "clean"))
    queries = [query.replace("'run/", f"'{place}/run/") for query in re.findall(r"```sql\n(.*?)```", page, re.DOTALL)]
    return str(place / "run"), [duckdb.sql(query).fetchall() for query in queries]


def test_columns_are_those_documented(page):
    """Every column of the four tables is on the page, by name and in order."""
    rows = re.findall(r"^\| (`.*?) \| (\w+)", page, re.MULTILINE)
    named = [(name, kind) for names, kind in rows for name in re.findall(r"`(\w+)`", names)]
    fields = [*DROPS, *CUTS]
    assert named == [(f.name, {"float": "float32", "double": "float64"}.get(str(f.type), str(f.type))) for f in fields]
    for schema in (VERDICTS, SPANS):
        assert f"(`{', '.join(schema.names)}`)" in " ".join(page.split())


def test_removal_rate_by_source_and_reason(answers):
    """Counts and percents of each source."""
    assert answers[1][0] == [
        ("a", "Exact(document)", "duplicate", 1, 25.0),
        ("a", "MinHash", "near_duplicate", 1, 25.0),
        ("b", "Exact(document)", "duplicate", 1, 25.0),
    ]


def test_largest_clusters_are_those_of_the_command(answers):
    """DuckDB's recursion and `dataprep clusters` find the same clusters."""
    url, (_, rows, *_) = answers
    assert [(parse_id(name), removed) for name, removed, _ in rows] == [
        (c.duplicate_of, c.removed) for c in clusters.find_clusters(url).largest(10)
    ]
    assert rows[0][2].startswith("the quick brown fox")


def test_least_similar_removals(answers):
    """Both texts of the least similar removal."""
    url, (_, _, rows, _) = answers
    drop = clusters.least_similar(url, 1)[0]
    assert rows[0][0] == pytest.approx(drop.similarity)
    assert rows[0][3] == PAGE.format("hilltops")[:30]
    assert [row[1:3] for row in rows] == [("MinHash", "a")]


def test_most_repeated_cuts(answers):
    """The line that was cut twice, with its text, as `dataprep clusters --cuts` has it."""
    url, (*_, rows) = answers
    repeat = most_repeated_cuts(url, 1)[0]
    assert rows[0][:2] == (repeat.stage, repeat.times)
    assert rows[0][2] == repeat.times * (repeat.n_bytes + len("\n")), "the cuts have the line break, too"
    assert rows[0][3] == repeat.text
    assert LINE in repeat.text
