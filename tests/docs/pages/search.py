"""What the code of docs/search.md needs."""

import pytest

import dataprep as dp
from docs.pages import documents, write

QUESTION = "The capital is which town?"


def prepare(here):
    """A corpus with a phrase three times, a page, and questions."""
    pytest.importorskip("pydivsufsort")
    corpus = ["We sell hats. all rights reserved", "all rights reserved, all rights reserved", "The capital is Paris."]
    (here / "page.txt").write_text(QUESTION)
    write("questions.jsonl", [QUESTION])
    clean = dp.Pipeline().run(documents("a.jsonl", corpus), out="work/clean")
    return {"clean": clean, "question": QUESTION, "questions": [QUESTION]}


def check(here, names):
    """The counts, and the passage that a question shares."""
    index = names["index"]
    assert index.longest(QUESTION).text == "The capital is "
    assert index.contamination([QUESTION]).num_rows == 1
