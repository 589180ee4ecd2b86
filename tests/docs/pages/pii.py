"""What the code of docs/pii.md needs."""

import pytest

import dataprep as dp
from docs.pages import documents, texts


def prepare(here):
    """The library that repairs texts."""
    pytest.importorskip("ftfy")


def check(here, names):
    """The kinds that are one's own."""
    own = documents("own.jsonl", ["badge EMP-123456", "SIM 8912345678901234567"])
    dp.Pipeline(names["stage"]).run(own, out="work/own")
    assert texts("work/own") == ["badge <badge>", "SIM 8912345678901234567"]
    lines = documents("bare.jsonl", ["964158642 or 1964158642.5"])
    dp.Pipeline(dp.PII(kinds=(names["bare"],))).run(lines, out="work/bare")
    assert texts("work/bare") == ["<bare> or 1964158642.5"]
