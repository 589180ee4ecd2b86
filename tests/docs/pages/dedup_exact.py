"""What the code of docs/dedup-exact.md needs."""

import json

import dataprep as dp


def prepare(here):
    """Two documents, one of them twice."""
    texts = ["One paragraph.\n\nAnother.", "A third text.", "A third text."]
    (here / "a.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    return {"docs": dp.read("a.jsonl")}


def check(here, names):
    """The copy is dropped."""
    assert len(dp.open_dataset("work/clean")) == 2
