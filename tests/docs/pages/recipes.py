"""What the code of docs/recipes.md needs."""

from pathlib import Path

import pytest

import dataprep as dp

HEAD = {"dataprep run pipelines/c4.py": 18}
WORDS = {"pipelines/c4.py": str(Path(__file__).parents[3] / "pipelines" / "c4.py")}


def prepare(here):
    """Two runs of one input, of which the second drops short texts; a list of bad words."""
    pytest.importorskip("py3langid")
    (here / "lists").mkdir()
    (here / "lists" / "fr.txt").write_text("vilain\n")
    docs = dp.read("sample_data/*.jsonl*")
    dp.Pipeline(dp.Exact()).run(docs, out="out/a")
    dp.Pipeline(dp.Exact(), dp.Gopher(min_words=70)).run(docs, out="out/b")


def check(here, names):
    """What B lacks, and why."""
    found = names["found"]
    assert found.lost.reasons[("Gopher", "too_few_words")] > 0
    assert not found.changed
    assert len(names["rules"]) == 2
