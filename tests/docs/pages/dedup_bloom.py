"""What the code of docs/dedup-bloom.md needs."""

import pytest

import dataprep as dp
from docs.pages import write

PARAGRAPH = "a whole paragraph, without its line break"


def prepare(here):
    """Two documents with one paragraph in common."""
    pytest.importorskip("pybloom_live")
    return {"docs": dp.read(write("a.jsonl", [f"One.\n{PARAGRAPH}", f"Two.\n{PARAGRAPH}"]))}


def check(here, names):
    """The second copy is cut, and the filter that was opened has the paragraph."""
    assert [row["text"] for row in dp.open_dataset("work/clean").take(9)] == [f"One.\n{PARAGRAPH}", "Two."]
    assert PARAGRAPH in names["f"]
    assert "another paragraph" not in names["f"]
