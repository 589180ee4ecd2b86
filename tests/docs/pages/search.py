"""What the code of docs/search.md needs."""

import pytest

from docs.pages import write


def prepare(here):
    """A file of questions."""
    pytest.importorskip("pydivsufsort")
    write("questions.jsonl", ["Who sat on the northern quay with a pot of tea?", "What is a zebra?"])


def check(here, names):
    """The passage is one of the corpus."""
    assert names["index"].count(names["index"].longest(names["question"]).text) > 0
