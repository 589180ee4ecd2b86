"""What the code of docs/tutorial.md needs."""

import shutil

import pytest

import dataprep as dp

WORDS = {"steps=100": "steps=2"}
LEFT = {"mkdir texts": "the files are copied before the page runs"}
HEAD = {"dataprep init": 22, "dataprep run out/mine.py --out": 20, "dataprep inspect": 17, "dataprep clusters": 10}
QUIET = {
    "dataprep train": "the losses of a model differ between machines",
    "dataprep generate": "its words do so, too",
}


def prepare(here):
    """The files that the page copies; the model needs torch."""
    pytest.importorskip("torch")
    pytest.importorskip("py3langid")
    (here / "texts").mkdir()
    for pattern in ("*.jsonl*", "*.wet"):
        for path in (here / "sample_data").glob(pattern):
            shutil.copy(path, here / "texts")


def check(here, names):
    """The folders that the page names."""
    assert len(dp.open_dataset("out/mine/filter")) > 10
    assert dp.Shards.open("out/mine/encode").n_tokens > 1000
    assert (here / "out" / "mine" / "report.html").is_file()
