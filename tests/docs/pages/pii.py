"""What the code of docs/pii.md needs."""

import pytest

import dataprep as dp
from docs.pages import documents, reasons, texts


def prepare(here):
    """A text with an address, a broken one, and a list of contacts."""
    pytest.importorskip("ftfy")
    contacts = "".join(f"person{k}@mail{k}.org\n" for k in range(30))
    return {"docs": documents("a.jsonl", ["Please write to ada@mail.org.", "Le cafÃ© est fermÃ©.", contacts])}


def check(here, names):
    """What each stage did, and the kinds that are one's own."""
    assert texts("work/clean") == ["Please write to <email>.", "Le café est fermé."]
    assert sum(reasons("work/clean").values()) == 1
    own = documents("own.jsonl", ["badge EMP-123456", "SIM 8912345678901234567"])
    dp.Pipeline(names["stage"]).run(own, out="work/own")
    assert texts("work/own") == ["badge <badge>", "SIM 8912345678901234567"]
    lines = documents("bare.jsonl", ["964158642 or 1964158642.5"])
    dp.Pipeline(dp.PII(kinds=(names["bare"],))).run(lines, out="work/bare")
    assert texts("work/bare") == ["<bare> or 1964158642.5"]
