"""No writer puts its files among those of another result, and the sentence says what is there."""

from __future__ import annotations

import json
import re
import shutil

import pytest

import dataprep as dp
from dataprep.core.output import kinds
from dataprep.core.output.kinds import EXPORT, NOUNS, PERSONA, PRESET, TOKENIZER
from dataprep.core.output.state import DATASET, INDEX, TOKENS
from dataprep.errors import StaleOutput
from dataprep.store import receipts


def docs_in(place):
    """Return the documents that every result is made of."""
    at = place / "in.jsonl"
    lines = [json.dumps({"text": f"Document {i} walks by the river and finds {i * 7} stones."}) for i in range(60)]
    at.write_text("\n".join(lines))
    return dp.read(str(at))


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Each kind of result in a folder of its own, and functions that write one of each kind into a folder."""
    place = tmp_path_factory.mktemp("made")
    docs = docs_in(place)
    clean = dp.Pipeline().run(docs, str(place / DATASET))
    tok = dp.train_bpe(clean, 270, out=str(place / TOKENIZER), min_bytes=1)
    other = dp.train_bpe(clean, 280, min_bytes=1)
    shards = dp.encode(clean, other, str(place / TOKENS), val=0.05)
    dp.SuffixIndex.build(clean, str(place / INDEX))
    dp.export(shards, "llmc", str(place / EXPORT))
    receipts.write(str(place / PERSONA / "cuts.json"), "key", {"files": [], "cuts": []})
    (place / PRESET).mkdir()
    (place / PRESET / "preset.json").write_text("{}")
    writers = {
        DATASET: lambda out: dp.Pipeline(dp.Exact()).run(docs, out, replace=True),
        TOKENS: lambda out: dp.encode(clean, tok if out.endswith(TOKENS) else other, out, val=0.05, replace=True),
        INDEX: lambda out: dp.SuffixIndex.build(clean, out, replace=True),
        TOKENIZER: lambda out: dp.train_bpe(clean, 275, out=out, min_bytes=1),
        EXPORT: lambda out: dp.export(shards, "nanogpt", out),
        PERSONA: lambda out: dp.chats.persona(str(place / "in.jsonl"), "Tomas Orr", out),
    }
    return place, writers


def bytes_in(place):
    """Return the content of every file in a folder."""
    return {str(at.relative_to(place)): at.read_bytes() for at in place.rglob("*") if at.is_file()}


@pytest.mark.parametrize("there", [DATASET, TOKENS, INDEX, TOKENIZER, EXPORT, PERSONA, PRESET])
def test_another_result_is_refused_and_stays(made, tmp_path, there) -> None:
    """In one sentence, which says what the folder holds; nothing in it has changed, and it is as whole as before."""
    place, writers = made
    out = tmp_path / there
    shutil.copytree(place / there, out)
    before = bytes_in(out)
    assert kinds.held(str(out)) == [there]
    for kind, write in writers.items():
        if kind != there and {kind, there} != {EXPORT, TOKENIZER}:
            with pytest.raises(StaleOutput, match=f"^{re.escape(str(out))} holds {NOUNS[there]}; give another folder"):
                write(str(out))
            assert bytes_in(out) == before, kind


def test_the_same_tokenizer_may_be_beside(made, tmp_path) -> None:
    """Shards go where their tokenizer was saved, and it may be saved again beside them; another one may not."""
    place, _ = made
    clean, out = dp.open_dataset(str(place / DATASET)), str(tmp_path / "x")
    tok = dp.train_bpe(clean, 270, out=out, min_bytes=1)
    shards = dp.encode(clean, tok, out, val=0.05)
    tok.save(out)
    assert sorted(kinds.held(out)) == sorted([TOKENS, TOKENIZER])
    assert dp.verify(out) == {out: []}
    with pytest.raises(StaleOutput, match="x holds token shards; give another folder as out"):
        dp.train_bpe(clean, 280, out=out, min_bytes=1)
    with pytest.raises(StaleOutput, match="x holds a tokenizer; give another folder as out"):
        dp.encode(clean, dp.train_bpe(clean, 280, min_bytes=1), out, val=0.05, replace=True)
    with pytest.raises(StaleOutput, match="x holds a tokenizer; give another folder as out"):
        dp.import_tokens(str(place / EXPORT), str(place / TOKENS), out, replace=True)
    assert dp.verify(out) == {out: []}
    assert (dp.Tokenizer.load(out).hash, dp.Shards.open(out).root) == (tok.hash, shards.root)


def test_the_plan_of_a_mixture_goes_with_it(made, tmp_path) -> None:
    """Shards that replace a mixture are none."""
    place, _ = made
    clean, source, out = dp.open_dataset(str(place / DATASET)), str(place / TOKENS), tmp_path / "x"
    dp.Mix(temperature=2).write({"web": source}, str(out))
    assert (out / "mixture.lock.json").exists()
    dp.encode(clean, dp.Shards.open(source).tokenizer_file, str(out), val=0.05, replace=True)
    assert not (out / "mixture.lock.json").exists()


def test_a_folder_in_the_way_is_called_what_it_is(made, tmp_path) -> None:
    """A file of another call is not called somebody else's."""
    writers = made[1]
    dp.Pipeline().run(docs_in(tmp_path), str(tmp_path / "run" / "clean"))
    with pytest.raises(StaleOutput, match="run holds clean, which is of another result; give another folder as out"):
        writers[DATASET](str(tmp_path / "run"))
