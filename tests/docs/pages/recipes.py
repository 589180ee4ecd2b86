"""What the code of docs/recipes.md needs."""

from pathlib import Path

import pytest

import dataprep as dp
from docs.pages import documents

WORDS = {"pipelines/c4.py": str(Path(__file__).parents[3] / "pipelines" / "c4.py")}


def prepare(here):
    """Two runs of one input, of which the second drops short texts; a list of bad words."""
    pytest.importorskip("py3langid")
    (here / "lists").mkdir()
    (here / "lists" / "fr.txt").write_text("vilain\n")
    docs = documents("crawl.jsonl", ["one two", "This is the longest of the texts, and it is kept.", "three"])
    dp.Pipeline().run(docs, out="out/a")
    dp.Pipeline(dp.Gopher(min_words=3)).run(docs, out="out/b")


def check(here, names):
    """What B lacks, and why."""
    found = names["found"]
    assert found.lost.sources["crawl"].docs == 2
    assert found.lost.reasons[("Gopher", "too_few_words")] == 2
    assert not found.changed
    assert len(names["rules"]) == 2
