"""A base and a tuned model: what each learns, that finished work is not repeated, and their comparison."""

from __future__ import annotations

import contextlib
import importlib
import json
import logging
import re
from pathlib import Path

import pyarrow as pa
import pytest

pytest.importorskip("torch")

import dataprep as dp
from dataprep.errors import PlanError
from dataprep.inference.chat_model import ChatModel
from dataprep.inference.compare import PersonaReport, compare, copied_spans, last_answers
from dataprep.inference.export_model import export_model
from dataprep.inference.tune import Tuning, tune
from dataprep.train import Sampling, TrainConfig, checkpoint, train

SMALL = ("model.n_layers=1", "model.d_model=32", "model.n_heads=2", "lr=1e-2", "device=cpu")


@pytest.fixture(scope="module")
def shards(trained, dialogues, tmp_path_factory):
    """Dialogues with a mask, and their texts."""
    tok = dp.Tokenizer.load(trained["chatml"])
    out = tmp_path_factory.mktemp("tune")
    return (
        dp.encode(dialogues, tok, out / "answers", val=0.1, template="chatml"),
        dp.encode(dialogues, tok, out / "transcripts", val=0.1),
    )


@pytest.fixture(scope="module")
def tuned(shards, tmp_path_factory):
    """Both models after a few steps."""
    out = tmp_path_factory.mktemp("tuned") / "out"
    return tune(*shards, out, Tuning(settings=(*SMALL, "steps=12")), quiet=True)


def content(folder):
    return checkpoint.load(checkpoint.found(folder)[-1])


def test_the_base_learns_all_and_the_model_the_answers(shards, tuned, tmp_path):
    """The base counts every token of both sets; the model begins with it and counts answers, with replay by share."""
    base, model = content(Path(tuned.base)), content(Path(tuned.model))
    assert (base["config"]["masks"], base["config"]["weights"], base["start"]) == (False, None, "")
    assert (model["config"]["masks"], model["config"]["weights"]) == (True, {"answers": 0.75, "transcripts": 0.25})
    assert model["start"]
    assert base["stop"] == model["stop"] == sorted([shards[0].eot, shards[0].manifest.special["<|im_end|>"]])
    assert ChatModel.load(tuned.base).template is not None
    alone = tune(*shards, tmp_path, Tuning(replay=0, settings=(*SMALL, "steps=1")), quiet=True)
    assert content(Path(alone.model))["config"]["weights"] is None


def test_again_is_nothing_and_other_settings_are_trained(shards, tuned, caplog):
    """The same call writes no file; with other settings both are trained again, which is said."""
    out = Path(tuned.base).parent
    before = {p: p.stat().st_mtime_ns for p in out.rglob("*") if p.is_file()}
    again = tune(*shards, out, Tuning(settings=(*SMALL, "steps=12")), quiet=True)
    assert again == tuned
    assert before == {p: p.stat().st_mtime_ns for p in out.rglob("*") if p.is_file()}
    with caplog.at_level(logging.WARNING, "dataprep"):
        other = tune(*shards, out, Tuning(settings=(*SMALL, "steps=11", "seed=5")), quiet=True)
    assert caplog.text.count("it is trained again") == 2
    assert other.comparison != tuned.comparison
    tune(*shards, out, Tuning(settings=(*SMALL, "steps=12")), quiet=True)


def test_steps_follow_the_data(shards):
    """Without settings, a small set is read a few times, and the learning rate of the tuning is lower."""
    from dataprep.inference import tune as module

    how = Tuning()
    base = module.base_config(*shards, how)
    n = sum(s.split("train").n_tokens for s in shards)
    assert (base.steps - 1) * base.batch * base.model.context < 8 * n <= base.steps * base.batch * base.model.context
    model = module.tuned_config(shards[0], how, base)
    assert model.lr == pytest.approx(base.lr / 10)
    assert model.steps < base.steps
    assert model.model == base.model
    assert base.model.context % 16 == 0
    with pytest.raises(PlanError, match=r"replay=1\.5 must be a share"):
        Tuning(replay=1.5)


def test_the_comparison(shards, tuned):
    """Both losses are those of the held-out answers alone; the report has them, style and copies, and reads back."""
    found = tuned.comparison
    assert found.split == "val"
    assert set(found.loss) == {"base", "tuned"}
    assert found == PersonaReport.from_dict(json.loads(Path(tuned.model, "report.json").read_text()))
    loss = content_loss(shards[0], tuned.model)
    assert found.loss["tuned"] == pytest.approx(loss, rel=1e-4)
    text = str(tuned)
    assert text.splitlines()[0].split() == ["person", "base", "tuned"]
    assert f"{found.loss['base']:.3f}  {found.loss['tuned']:.3f}" in text
    assert text.endswith(f"dataprep chat {tuned.model}")
    n = len(shards[0].split("val"))
    assert (found.n_scored, found.n_conversations) == (2 * n, n)
    for name, measured in (("loss", found.loss), ("bits_per_byte", found.bits_per_byte)):
        assert found.differences[name][0] == pytest.approx(measured["tuned"] - measured["base"])
    assert "loss: tuned - base = " in text
    assert f"on {2 * n} answers in {n} conversations" in text


def test_windows_of_a_conversation_are_one(shards, dialogues, tuned, tmp_path):
    """With the Dataset of the shards, the interval is over its conversations; five are too few, and it is said."""
    docs = dp.Pipeline(dp.Map(lambda id: {"conversation": id % 5}, adds={"conversation": pa.uint64()}))  # noqa: A006
    found = compare(tuned.base, tuned.model, shards[0], docs.run(dialogues, out=tmp_path / "docs"))
    assert (found.n_scored, found.loss) == (tuned.comparison.n_scored, tuned.comparison.loss)
    assert found.n_conversations <= 5
    assert "held-out conversations are too few to show a difference" in str(found)
    assert "better" not in str(found)


def content_loss(shards, folder):
    """The mean loss over held-out answers, one document at a time, by a full pass."""
    import torch

    voice, held, total, n = ChatModel.load(folder, device="cpu"), shards.split("val"), 0.0, 0
    mask, ends = held.masks()[0], held.ends(0).tolist()
    for k, (start, stop) in enumerate(zip([0, *ends], ends, strict=False)):
        ids = [held.eot, *held.document(k).tolist(), held.eot]
        with torch.no_grad():
            nats = voice.model(torch.tensor([ids[:-1]])).log_softmax(-1)[0]
        for i, learned in enumerate(mask[start:stop]):
            if learned:
                total, n = total - float(nats[i, ids[i + 1]]), n + 1
    return total / n


def test_last_answers(shards, trained):
    """The question is everything before the last answer, and the answer its text."""
    voice = ChatModel.load(trained["chatml"])
    asked, real = last_answers(shards[0].split("val"), voice.tok, 50)
    assert len(asked) == len(real) == len(shards[0].split("val"))
    for ids, text in zip(asked, real, strict=True):
        assert voice.tok.tiktoken().decode(ids).endswith("<|im_start|>assistant\n")
        assert "".join(voice.stream(ids, Sampling(temperature=0), turn=True)) == text


def test_copied_spans():
    """Eight words in succession count, longer runs are one span, and the number is of texts, not of places."""
    known = ["one two three four five six seven eight nine ten", "x one two three four five six seven eight", "a b c"]
    written = ["so one two three four five six seven eight nine !", "one two three four five six seven", "a b c"]
    assert copied_spans(written, iter(known)) == [{"one two three four five six seven eight nine": 2}, {}, {}]


def test_nothing_held_out(trained, dialogues, tmp_path):
    """Without held-out dialogues the comparison says so."""
    tok = dp.Tokenizer.load(trained["chatml"])
    whole = dp.encode(dialogues, tok, tmp_path / "whole", val=0.0, template="chatml")
    found = compare(trained["chatml"], trained["chatml"], whole)
    assert "no conversation is held out" in str(found)


def test_a_base_without_the_template_learns_its_marks(dialogues, tmp_path):
    """A plain model's vocabulary grows by the two marks of ChatML, from its run's folder or from its export."""
    plain = dp.Tokenizer.of_bytes()
    shards = dp.encode(dialogues, plain, tmp_path / "plain", val=0.1)
    config = TrainConfig().override(*SMALL, "steps=1", "model.context=64")
    train(shards, out=tmp_path / "base", config=config, quiet=True)
    tok = plain.extended("chatml")
    answers = dp.encode(dialogues, tok, tmp_path / "answers", val=0.1, template="chatml")
    told = dp.encode(dialogues, tok, tmp_path / "told", val=0.1)
    bases = [tmp_path / "base"]
    with contextlib.suppress(ImportError):
        importlib.import_module("safetensors")
        bases.append(tmp_path / "hf")
        export_model(*bases)
    for base in bases:
        how = Tuning(init_from=str(base), settings=("steps=1", "device=cpu"))
        made = tune(answers, told, tmp_path / f"from-{base.name}", how, quiet=True)
        assert content(Path(made.model))["vocab_size"] == tok.vocab_size == plain.vocab_size + 2


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"settings": ("lr=x",)}, "lr='x' must be a number"),
        ({"settings": ("objective=span",)}, "objective='span' needs running text"),
        ({"settings": ("lora=4",)}, "lora=4 needs a trained model: name it with "),
        ({"settings": ("device=abacus",)}, "device='abacus' must be"),
        ({"preset": "huge"}, "preset 'huge' must be one of"),
        ({"init_from": "nowhere"}, "nowhere does not exist"),
    ],
)
def test_settings_are_checked_before_any_work(given, sentence, tmp_path, dataprep):
    """The exports, which do not exist, are not looked for."""
    with pytest.raises(PlanError, match=sentence):
        Tuning(**given).check()
    named = [
        ("--set", *value) if name == "settings" else (f"--{name.replace('_', '-')}", value)
        for name, value in given.items()
    ]
    code, _, err = dataprep(
        "persona", tmp_path / "none.txt", "--person", "Ada", "--out", tmp_path / "out", "--train", *named[0]
    )
    assert code == 1
    assert re.search(sentence, err), err


def test_several_processes_are_refused(tmp_path, dataprep, monkeypatch):
    """Under torchrun each process would prepare the chats: one sentence, from one of them, before any work."""
    for name, value in {"WORLD_SIZE": 2, "RANK": 0, "LOCAL_RANK": 0, "MASTER_ADDR": "here", "MASTER_PORT": 1}.items():
        monkeypatch.setenv(name, str(value))
    code, _, err = dataprep("persona", tmp_path / "none.txt", "--person", "Ada", "--out", tmp_path / "out", "--train")
    assert code == 1
    assert "must run in one process, and torchrun started 2; start it without torchrun, or run" in " ".join(err.split())
    assert not list(tmp_path.iterdir())
