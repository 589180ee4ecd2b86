"""What the code of docs/crawls.md needs."""

import pytest

import dataprep as dp
from docs.pages import write

HEAD = {"docs = dp.read": 22}


def prepare(here):
    """The libraries that read archives."""
    pytest.importorskip("resiliparse")


def check(here, names):
    """The filter drops the pages of a charset that one of three sources names."""
    rows = [{"text": str(share), "charset_agreed": share} for share in (None, 0.33, 0.67)]
    docs = dp.read(write("a.jsonl", rows), columns=["charset_agreed"])
    clean = dp.Pipeline(names["stage"]).run(docs, out="work/clean")
    assert [row["text"] for row in clean.take(9)] == ["None", "0.67"]
