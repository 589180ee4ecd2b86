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
    """Each of the page's stages drops what it says, its reader reads stanzas, and its runner runs them."""
    docs = documents("a.jsonl", [letter * n for letter, n in (("a", 100), ("b", 250), ("c", 400))])
    for name, stage, kept in (
        ("short", dp.Filter(names["too_short"]), "bc"),
        ("max", names["MaxChars"](max_chars=300), "ab"),
        ("toxic", names["stage"], "ab"),
        ("starts", names["OneOfEachStart"](), "abc"),
    ):
        dp.Pipeline(stage).run(docs, out=f"work/{name}", run=names["OneByOne"]())
        assert "".join(text[0] for text in texts(f"work/{name}")) == kept, name
    (here / "a.poem").write_text("one\n\ntwo\n\none", encoding="utf-8")
    one = dp.Pipeline(names["OneOfEachStart"]()).run(dp.read("a.poem"), out="work/poem")
    assert one.table()["text"].to_pylist() == ["one", "two"]
