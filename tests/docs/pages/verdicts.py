"""What the code of docs/verdicts.md needs; its queries are run by test_verdicts.py."""

import dataprep as dp
from docs.pages import documents, reasons, texts

LINE = "Sign up for our letter, and never miss a page again."


def prepare(here):
    """Pages with a line that all have, one of them twice; and an earlier run of them."""
    pages = [" ".join(f"{word}{k}" for k in range(20)) + f"\n{LINE}\n{word} ends" for word in ("one", "two", "three")]
    docs = documents("corpus/a.jsonl", [*pages, pages[0]])
    return {"clean": dp.Pipeline(dp.Exact(), dp.Exact(unit="line")).run(docs, out="earlier")}


def check(here, names):
    """The removed texts are those of the tables, and the pipeline gives the same."""
    assert [row["text"] for row in dp.read("dropped.jsonl.zst")] == texts("earlier")[:1]
    assert [row["text"].strip() for row in dp.read("lines.parquet")] == [LINE, LINE]
    assert reasons("run/clean") == {"duplicate": 1}
