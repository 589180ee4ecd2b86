"""StaleOutput names what changed: the stages, a field, or an input file."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

import dataprep as dp
from dataprep.core.inputs.origin import origin_of
from dataprep.core.output.changes import UNKNOWN, UNLISTED, first_difference
from dataprep.core.output.layout import Folder
from dataprep.core.output.state import DATASET, Recipe
from dataprep.errors import StaleOutput


def test_it_says_which_stage_field_or_file_changed(tmp_path):
    """The first difference is named, and the advice is kept."""
    texts = tmp_path / "a.jsonl"
    texts.write_text('{"text": "one text of some words"}\n')

    def run(*stages):
        return dp.Pipeline(*stages).run(dp.read(str(tmp_path / "*.jsonl")), out=str(tmp_path / "out"))

    def says(*stages):
        with pytest.raises(StaleOutput, match=r"; choose another folder as out, or replace=True$") as e:
            run(*stages)
        return str(e.value)

    run(dp.Exact(), dp.MinHash(threshold=0.8))
    assert "MinHash has threshold=0.8 there, and threshold=0.7 now" in says(dp.Exact(), dp.MinHash(threshold=0.7))
    assert "its stages were Exact -> MinHash and are now Exact" in says(dp.Exact())
    assert "and are now none (a copy)" in says()
    same = (dp.Exact(), dp.MinHash(threshold=0.8))
    (tmp_path / "b.jsonl").write_text('{"text": "another text"}\n')
    assert f"the input file {tmp_path}/b.jsonl is new" in says(*same)
    (tmp_path / "c.jsonl").write_text('{"text": "a third text"}\n')
    assert f"the input file {tmp_path}/b.jsonl (and 1 more) is new" in says(*same)
    for name in "bc":
        (tmp_path / f"{name}.jsonl").unlink()
    texts.write_text('{"text": "other words in the same file"}\n')
    assert "its stages were Exact -> MinHash and are now Exact" in says(dp.Exact())


def test_token_shards_say_it_too(tmp_path, tok):
    """A setting, another tokenizer, the maker or an input file; a manifest without settings still says its dtype."""
    texts, out = tmp_path / "a.jsonl", tmp_path / "shards"
    texts.write_text('{"text": "one text of some words"}\n' * 3)

    def says(make, **settings):
        with pytest.raises(StaleOutput, match=r" \((.+)\); choose another folder as out, or replace=True$") as e:
            make(out=str(out), **settings)
        return str(e.value)

    def encode(tokenizer=tok, **settings):
        return dp.encode(dp.read(str(texts)), tokenizer, **settings)

    made = encode(out=str(out), val=0.5)
    assert "(encode has val=0.5 there, and val=0.25 now)" in says(encode, val=0.25)
    assert "encode has dtype='uint16' there, and dtype='uint32' now" in says(encode, val=0.5, dtype="uint32")
    other = tok.extended(["<|new|>"])
    assert f"tokenizer='{tok.hash[:8]}' there, and tokenizer='{other.hash[:8]}' now" in says(encode, tokenizer=other)
    dp.encode(dp.read(str(texts)), tok, out=str(tmp_path / "b"), val=0.5)

    def mix(out):
        return dp.Mix({"a": 1.0}).write({"a": str(tmp_path / "b")}, out)

    assert "its stages were encode and are now mix" in says(mix)
    (tmp_path / "c.jsonl").write_text('{"text": "other words"}\n')
    texts = tmp_path / "c.jsonl"
    assert f"(the input file {texts} is new)" in says(encode, val=0.5)
    (out / "manifest.json").write_text(json.dumps(replace(made.manifest, settings={}).record()))
    assert "(encode has dtype='uint16' there, and dtype='uint32' now)" in says(encode, val=0.25, dtype="uint32")
    assert f"(the input file {texts} is new)" in says(encode, val=0.25)


def test_files_that_are_gone_or_changed_are_named(tmp_path):
    """What is gone first, and a stage before any file; an input that is not known changes nothing."""
    for name in "abc":
        (tmp_path / f"{name}.jsonl").write_text('{"text": "a"}\n')
    out, fresh = str(tmp_path / "out"), str(tmp_path / "none")
    dp.Pipeline().run(dp.read(str(tmp_path / "*.jsonl")), out)

    def says(docs, *stages, folder=out):
        now = None if docs is None else origin_of(docs)
        return first_difference(Folder(folder), recipe(), recipe(*stages), now)

    left = dp.read(str(tmp_path / "a.jsonl"))
    assert says(left) == f"the input file {tmp_path}/b.jsonl (and 1 more) is no longer in the input"
    (tmp_path / "a.jsonl").write_text('{"text": "b"}\n')
    everything = dp.read(str(tmp_path / "*.jsonl"))
    assert says(everything) == f"the input file {tmp_path}/a.jsonl has different content"
    assert says(left, stage("A")) == "its stages were none (a copy) and are now A"
    assert (says(None), says(left, folder=fresh)) == (UNKNOWN, UNLISTED)


def stage(label, kind="A", version=1, **fields):
    """A stage as a recipe states it."""
    return {"label": label, "class": kind, "version": version, "fields": fields}


def recipe(*stages):
    """A recipe of these stages."""
    return Recipe(kind=DATASET, key="", stages=list(stages))


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [([], [stage("A")], "its stages were none (a copy) and are now A"),
     ([stage("A"), stage("B")], [stage("B"), stage("A")], "its stages were A -> B and are now B -> A"),
     ([stage("A", n=1, m=1)], [stage("A", n=2, m=2)], "A has n=1 there, and n=2 now"),
     ([stage("A"), stage("B", n=1)], [stage("A"), stage("B")], "B has n=1 there, and n=None now"),
     ([stage("A", n=1)], [stage("A", n=1, m=2)], "A has m=None there, and m=2 now"),
     ([stage("A", version=1)], [stage("A", version=2)], "the class or version of A has changed"),
     ([stage("A", kind="A")], [stage("A", kind="B")], "the class or version of A has changed"),
     ([stage("A", n=1)], [stage("A", n=1)], UNLISTED),
     ([stage("A", n=stage("B", m=1))], [stage("A", n=stage("B", m=2))], "A has n=A(m=1) there, and n=A(m=2) now"),
     ([stage("A", n="x" * 58)], [stage("A", n="y" * 59)], f"A has n='{'x' * 58}' there, and n='{'y' * 58}\u2026 now")],
)  # fmt: skip
def test_the_first_difference_of_two_recipes(tmp_path, old, new, says):
    """Stages, then fields in their order, then the class; long values are shortened; no stages are a copy."""
    assert first_difference(Folder(str(tmp_path)), recipe(*old), recipe(*new), None) == says
