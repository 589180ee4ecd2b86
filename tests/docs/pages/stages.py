"""What the code of docs/stages.md needs."""

import sys
import types

import dataprep as dp
from docs.pages import documents, texts


def patch(monkeypatch):
    """A stand-in for the library and the model to be downloaded: long texts are toxic."""

    def classify(texts, **_):
        return [{"label": "toxic" if len(text) > 300 else "neutral", "score": 1.0} for text in texts]

    library = types.ModuleType("transformers")
    library.pipeline = lambda task, name, device: classify
    monkeypatch.setitem(sys.modules, "transformers", library)


def check(here, names):
    """Each of the page's three stages drops what it says."""
    docs = documents("a.jsonl", [letter * n for letter, n in (("a", 100), ("b", 250), ("c", 400))])
    for name, stage, kept in (
        ("short", dp.Filter(names["too_short"]), "bc"),
        ("max", names["MaxChars"](max_chars=300), "ab"),
        ("toxic", names["stage"], "ab"),
    ):
        dp.Pipeline(stage).run(docs, out=f"work/{name}")
        assert "".join(text[0] for text in texts(f"work/{name}")) == kept, name
