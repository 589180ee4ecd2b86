"""What the code of docs/forget.md needs."""

import dataprep as dp
from docs.pages import documents, reasons, texts

WORDS = {"DIR": "work", "FILE": "ids.txt"}


def prepare(here):
    """A Dataset of three documents, one of them to be forgotten."""
    clean = dp.Pipeline().run(documents("a.jsonl", ["The first text.", "Her letter.", "The last text."]), out="work")
    (here / "ids.txt").write_text(str(clean.take(2)[1]["id"]))


def check(here, names):
    """It is gone, also from a rerun elsewhere, and its reason is stated."""
    assert texts("work") == ["The first text.", "The last text."]
    assert reasons("work") == {"forgotten": 1}
    (here / "again").mkdir()
    (here / "again" / "forget.parquet").write_bytes((here / "work" / "forget.parquet").read_bytes())
    dp.Pipeline().run(dp.read("a.jsonl"), out="again")
    assert texts("again") == ["The first text.", "The last text."]
