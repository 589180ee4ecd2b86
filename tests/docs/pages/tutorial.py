"""What the code of docs/tutorial.md needs."""

import shutil
from pathlib import Path

import pytest

import dataprep as dp

SAMPLES = Path(__file__).parents[3] / "sample_data"
WORDS = {"sample_data": "texts", "steps=100": "steps=2"}


def prepare(here):
    """A part of the sample data; the model needs torch."""
    pytest.importorskip("torch")
    (here / "texts").mkdir()
    for name in ("articles.jsonl", "essay.txt"):
        shutil.copy(SAMPLES / name, here / "texts" / name)


def check(here, names):
    """The folders that the page names."""
    assert len(dp.open_dataset("out/mine/filter")) > 10
    assert dp.Shards.open("out/mine/encode").n_tokens > 1000
    assert (here / "out" / "mine" / "report.html").is_file()
