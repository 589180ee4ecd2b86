"""No writer puts its files among those of another result, and the sentence says what is there."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace

import pytest

import dataprep as dp
from dataprep.core.output import kinds
from dataprep.core.output.kinds import ADAPTER, BESIDE, EXPORT, MODEL, NOUNS, PERSONA, PRESET, TOKENIZER, TRAINED
from dataprep.core.output.state import DATASET, INDEX, TOKENS
from dataprep.errors import PlanError, StaleOutput
from dataprep.fit.language import fit_language
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
    dp.tools.SuffixIndex.build(clean, str(place / INDEX))
    dp.tools.export(shards, "llmc", str(place / EXPORT))
    receipts.write(str(place / PERSONA / "cuts.json"), "key", {"files": [], "cuts": []})
    (place / PRESET).mkdir()
    (place / PRESET / "preset.json").write_text("{}")
    writers = models_in(place, shards) | {
        DATASET: lambda out: dp.Pipeline(dp.Exact()).run(docs, out, replace=True),
        TOKENS: lambda out: dp.encode(clean, tok if out.endswith(TOKENS) else other, out, val=0.05, replace=True),
        INDEX: lambda out: dp.tools.SuffixIndex.build(clean, out, replace=True),
        TOKENIZER: lambda out: dp.train_bpe(clean, 275, out=out, min_bytes=1),
        EXPORT: lambda out: dp.tools.export(shards, "nanogpt", out),
        PERSONA: lambda out: dp.chats.persona(str(place / "in.jsonl"), "Tomas Orr", out),
        PRESET: lambda out: fit_language("mine", clean, clean, out=out, vocab_size=200, order=3),
        "imported": lambda out: dp.tools.import_tokens(str(place / EXPORT), str(place / TOKENS), out, replace=True),
        "mixture": lambda out: dp.Mix(temperature=2).write({"web": shards}, out, replace=True),
        "saved": other.save,
    }
    return place, writers


def models_in(place, shards):
    """Train a model with an adapter, and export both; return functions that write one of each kind into a folder."""
    pytest.importorskip("torch")
    pytest.importorskip("safetensors")
    from dataprep.inference.adapter import export_adapter
    from dataprep.inference.export_model import export_model
    from dataprep.train import ModelConfig, TrainConfig, train

    shape = ModelConfig(n_layers=1, n_heads=2, d_model=16, context=16)
    config = TrainConfig(model=shape, layout="contiguous", steps=1, batch=2, warmup=1, device="cpu")
    train(shards, out=place / TRAINED, config=config, quiet=True)
    train(shards, out=place / "tuned", config=replace(config, lora=2), init_from=place / TRAINED, quiet=True)
    writers = {
        TRAINED: lambda out: train(shards, out=out, config=config, quiet=True, resume=False),
        MODEL: lambda out: export_model(place / TRAINED, out),
        ADAPTER: lambda out: export_adapter(place / "tuned", out),
    }
    for kind in (MODEL, ADAPTER):
        writers[kind](str(place / kind))
    return writers


def bytes_in(place):
    """Return the content of every file in a folder."""
    return {str(at.relative_to(place)): at.read_bytes() for at in place.rglob("*") if at.is_file()}


MAKES = {"imported": TOKENS, "mixture": TOKENS, "saved": TOKENIZER}  # of writers that are not named after their kind


@pytest.mark.parametrize("there", NOUNS)
def test_another_result_is_refused_and_stays(made, tmp_path, there) -> None:
    """In one sentence, which says what the folder holds; nothing in it has changed, and it is as whole as before."""
    place, writers = made
    out = tmp_path / there
    shutil.copytree(place / there, out)
    before = bytes_in(out)
    assert kinds.held(str(out)) == [there]
    for name, write in writers.items():
        kind = MAKES.get(name, name)
        if kind == there or there in BESIDE.get(kind, ()):
            continue
        with pytest.raises(StaleOutput, match=f"^{re.escape(str(out))} holds {NOUNS[there]}; choose another folder"):
            write(str(out))
        assert bytes_in(out) == before, name
    assert writers.keys() >= NOUNS.keys()


@pytest.mark.parametrize("name", ["model.safetensors", "model-00001-of-00002.safetensors", "adapter_model.safetensors"])
def test_a_model_of_somebody_else_is_theirs(made, tmp_path, name) -> None:
    """It is not dataprep's, so nobody writes over it, beside it, or deletes it."""
    _, writers = made
    (tmp_path / name).write_bytes(b"weights")
    (tmp_path / "config.json").write_bytes(b"{}")
    for write in writers.values():
        with pytest.raises((StaleOutput, PlanError), match="holds (a Hug|an adapter)|must be a new or empty folder"):
            write(str(tmp_path))
        assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {name: b"weights", "config.json": b"{}"}


def test_a_run_without_a_checkpoint_and_a_commit_under_way_count(made, tmp_path) -> None:
    """A model whose training has begun, and one whose files are being moved to their places."""
    place, writers = made
    shutil.copytree(place / TRAINED, tmp_path / "begun")
    for path in (tmp_path / "begun").glob("step-*.pt"):
        path.unlink()
    assert kinds.held(str(tmp_path / "begun")) == [TRAINED]
    (tmp_path / "begun" / ".dataprep-journal").unlink()
    assert kinds.held(str(tmp_path / "begun")) == []  # somebody else may have metrics, too
    (tmp_path / "moved" / "_unfinished").mkdir(parents=True)
    for path in (place / MODEL).glob("[!.]*"):
        shutil.copy(path, tmp_path / "moved" / "_unfinished")
    names = [path.name for path in (tmp_path / "moved" / "_unfinished").iterdir()]
    (tmp_path / "moved" / "_unfinished" / "ready.json").write_text(json.dumps({"files": names, "gone": []}))
    assert kinds.held(str(tmp_path / "moved")) == [MODEL]
    with pytest.raises(StaleOutput, match="moved holds a Hugging Face model; choose another folder as out"):
        writers[DATASET](str(tmp_path / "moved"))


def test_damaged_records_name_no_kind(tmp_path) -> None:
    """Nor do those of other programs."""
    for name in ("manifest.json", "recipe.json", "receipt.json", "cuts.json"):
        for data in (b"", b"[]", b"{", b'{"kind": "dataset"}', b'{"files": [{"name": "tokenizer.json"}], "cuts": []}'):
            (tmp_path / name).write_bytes(data)
            assert kinds.held(str(tmp_path)) == []
    assert kinds.held(str(tmp_path / "none")) == kinds.held(str(tmp_path / "cuts.json")) == []


def test_remote_folders_have_kinds(made) -> None:
    """As local ones."""
    clean = dp.Pipeline().run(dp.open_dataset(str(made[0] / DATASET)), "memory://kinds/clean")
    dp.Tokenizer.of_bytes().save("memory://kinds/tok")
    for name, kind in (("clean", [DATASET]), ("tok", [TOKENIZER]), ("none", [])):
        assert kinds.held(f"memory://kinds/{name}") == kind
    with pytest.raises(StaleOutput, match="memory://kinds/tok holds a tokenizer; choose another folder"):
        dp.Pipeline().run(clean, "memory://kinds/tok", replace=True)


def test_the_same_tokenizer_may_be_beside(made, tmp_path) -> None:
    """Shards go where their tokenizer was saved, and it may be saved again beside them; another one may not."""
    place, _ = made
    clean, out = dp.open_dataset(str(place / DATASET)), str(tmp_path / "x")
    tok = dp.train_bpe(clean, 270, out=out, min_bytes=1)
    shards = dp.encode(clean, tok, out, val=0.05)
    tok.save(out)
    assert sorted(kinds.held(out)) == sorted([TOKENS, TOKENIZER])
    assert dp.tools.verify(out) == {out: []}
    with pytest.raises(StaleOutput, match="x holds token shards; choose another folder as out"):
        dp.train_bpe(clean, 280, out=out, min_bytes=1)
    with pytest.raises(StaleOutput, match="x holds a tokenizer; choose another folder as out"):
        dp.encode(clean, dp.train_bpe(clean, 280, min_bytes=1), out, val=0.05, replace=True)
    with pytest.raises(StaleOutput, match="x holds a tokenizer; choose another folder as out"):
        dp.tools.import_tokens(str(place / EXPORT), str(place / TOKENS), out, replace=True)
    assert dp.tools.verify(out) == {out: []}
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
    with pytest.raises(StaleOutput, match="run holds clean, which belongs to another result; choose another folder"):
        writers[DATASET](str(tmp_path / "run"))
