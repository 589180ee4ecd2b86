"""What the code of docs/dedup-compare.md needs."""

import json
import sys

import pyarrow as pa

import dataprep as dp
from dataprep import pipeline_file
from docs.pages import write

LEFT = {
    "dataprep run pipelines/compare_dedup.py  ": "nine processes on 5 MB; tests/hard/test_combinations.py checks them"
}
PAGE = "the quick brown fox jumps over the lazy dog and runs home before the rain begins to fall"


def prepare(here, root, monkeypatch):
    """A corpus with a copy; two of the methods are run, in this process."""
    (here / "pipelines").symlink_to(root / "pipelines")
    write("crawl/a.jsonl", [PAGE, PAGE, "another page"])
    (here / "crawl/a.jsonl.zst").write_bytes(pa.compress((here / "crawl/a.jsonl").read_bytes(), "zstd", asbytes=True))
    monkeypatch.setenv("COMPARE_VOCABULARY", "300")
    load = pipeline_file.load

    def loaded(path):
        steps = load(path)
        module = sys.modules[steps[0].fn.__module__]
        module.METHODS, module._measure = ("none", "exact"), measured
        return steps

    def measured(name, docs, out):
        stages = [dp.Exact()] if name == "exact" else []
        dp.Pipeline(*stages).run(dp.open_dataset(docs), out=out)
        return {"seconds": 0.0, "cpu_seconds": 0.0, "peak_mb": 0.0}

    monkeypatch.setattr(pipeline_file, "load", loaded)


def check(here, names):
    """The tables are where the page says, and so is the result of each method."""
    rows = json.loads((here / "out/mine/compare/compare.json").read_text())["methods"]
    assert [(row["method"], row["documents"]) for row in rows] == [("none", 3), ("exact", 2)]
    assert "| exact |" in (here / "out/mine/compare/compare.md").read_text()
    assert len(dp.open_dataset("out/mine/compare/exact")) == 2
