"""What the code of docs/crawls.md needs."""

import dataprep as dp
from docs.pages import write


def prepare(here):
    """Nothing: the function is only defined on the page."""


def check(here, names):
    """The filter drops the pages of a charset that one of three sources names."""
    rows = [{"text": str(share), "charset_agreed": share} for share in (None, 0.33, 0.67)]
    docs = dp.read(write("a.jsonl", rows), columns=["charset_agreed"])
    clean = dp.Pipeline(names["stage"]).run(docs, out="work/clean")
    assert [row["text"] for row in clean.take(9)] == ["None", "0.67"]
