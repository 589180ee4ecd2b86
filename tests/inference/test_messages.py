"""Fine-tuning from JSON Lines of messages: the shards, the lines that are left out, and the command."""

from __future__ import annotations

import gzip
import json
import logging
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

pytest.importorskip("torch")

import dataprep as dp
from dataprep.errors import PlanError, StaleOutput
from dataprep.inference.chat_model import ChatModel
from dataprep.inference.messages import MessageLines, encode_messages
from dataprep.tokens.dialogue import encode_dialogues
from dataprep.tokens.templates import template_of
from dataprep.train import checkpoint

STRICT = (
    "{% if messages[0].role != 'user' %}{{ raise_exception('a user begins') }}{% endif %}"
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
)
SMALL = ("--set", "steps=2", "--set", "device=cpu", "--set", "batch=2", "--set", "lr=1e-3")


def line(*texts, **more):
    """A line with a conversation; the roles user and assistant alternate."""
    turns = [{"role": ("user", "assistant")[i % 2], "content": text} for i, text in enumerate(texts)]
    turns[-1] |= more
    return json.dumps({"messages": turns}, ensure_ascii=False)


def written(place, *lines):
    place.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(place)


@pytest.fixture
def chats(tmp_path):
    return written(tmp_path / "chats.jsonl", *(line(f"{i}?", f"نعم {i}", "and?", "no <|im_end|>") for i in range(30)))


def content(folder):
    return checkpoint.load(checkpoint.found(folder)[-1])


def data(folder):
    """The bytes of the ids, document ends and masks of token shards."""
    return {p.name: p.read_bytes() for p in Path(folder).iterdir() if p.suffix in (".bin", ".idx", ".msk")}


def test_the_shards_are_those_of_encode(trained, chats, tmp_path, caplog):
    """The ids and masks are those of `encode_dialogues` and of `dp.encode`; only answers are learned."""
    tok = dp.Tokenizer.load(trained["chatml"])
    with caplog.at_level(logging.WARNING, "dataprep"):
        shards = encode_messages(chats, trained["chatml"], tmp_path / "data", val=0.0)
    assert "30 special tokens that are written in messages are encoded as text" in caplog.text
    rows = [json.loads(one)["messages"] for one in Path(chats).read_text().splitlines()]
    wanted = encode_dialogues(tok, template_of("chatml"), pa.array(rows), np.uint16)
    assert np.concatenate(shards.memmaps()).tolist() == wanted.tokens.tolist()
    assert np.concatenate(shards.masks()).tolist() == wanted.mask.tolist()
    learned = tok.decode(wanted.tokens[wanted.mask == 1]).split("<|im_end|>")
    assert learned[:2] == ["نعم 0", "no "]  # the mark that was typed is text, and decodes alike
    with_text = [json.dumps({"text": "", "messages": row}) for row in rows]
    docs = dp.read(written(tmp_path / "texts.jsonl", *with_text), columns=["messages"])
    dp.encode(docs, tok, tmp_path / "other", template="chatml", val=0.0)
    assert data(shards.path) == data(tmp_path / "other")
    assert data(encode_messages(chats, trained["chatml"], tmp_path / "held").path).keys() > data(shards.path).keys()


BAD = {
    "not_json": ["{", "[" * 100_000, '{"messages": [{"role": "assistant", "content": "x"}]', "abc"],
    "no_messages": [
        "[]", "7", '{"text": "x"}', '{"messages": []}', '{"messages": [7]}', '{"messages": {"role": "user"}}',
        '{"messages": [{"role": "assistant", "content": null}]}', '{"messages": [{"content": "x"}]}',
        '{"messages": [{"role": "assistant", "content": [{"type": "text", "text": "x"}]}]}',
        '{"messages": [{"role": "assistant", "content": "\\ud83d"}]}', line("a", "b", name=3), line("a", "b", weight=2),
        line("a", "b", weight="1"), line("a", "b", weight=[]),
    ],
    "no_answer": [line("a"), line("a", " "), line("a", "b", weight=0), line("a", "b", role="gpt")],
    "template_rejects": ['{"messages": [{"role": "assistant", "content": "x"}]}'],
}  # fmt: skip


def test_lines_that_are_left_out(trained, tmp_path, caplog):
    """Each has a row with its reason in the drop table, and one sentence counts them; the others are learned."""
    bad = [one for lines in BAD.values() for one in lines]
    good = [line("a", "b"), line("a", "b", name="Ada", weight=1), line("a", "b", weight=None)]
    place = written(tmp_path / "chats.jsonl", *bad, *good)
    with caplog.at_level(logging.WARNING, "dataprep"):
        shards = encode_messages(place, trained["chatml"], tmp_path / "data", template=STRICT, val=0.0)
    assert len(shards) == len(good)
    n = {reason: len(lines) for reason, lines in BAD.items()}
    assert f"{len(bad)} of {len(bad) + len(good)} lines are left out" in caplog.text
    assert all(f"{reason} {number}" in caplog.text for reason, number in n.items())
    table = dp.read(str(tmp_path / "data/messages")).drops().to_pydict()["reason"]
    assert {reason: table.count(reason) for reason in n} == n


def test_bytes_that_are_no_text(trained, tmp_path, caplog):
    """A line that is not UTF-8 is dropped by the reader, and counted in the same sentence; files may be compressed."""
    place = tmp_path / "chats.jsonl.gz"
    good = [line("a", "b").encode()] * 40
    place.write_bytes(gzip.compress(b"\n".join([*good, b'{"messages": "\xff"}', b""])))
    with caplog.at_level(logging.WARNING, "dataprep"):
        assert len(encode_messages(place, trained["chatml"], tmp_path / "data", val=0.0)) == 40
    assert "1 of 41 lines are left out (invalid_utf8 1)" in caplog.text


def test_nothing_to_learn(trained, tmp_path):
    """No line with an answer is an error that states the reasons and the form of a line."""
    place = written(tmp_path / "chats.jsonl", line("a"), "x")
    with pytest.raises(PlanError, match=r'no conversation to learn from \(no.* 1, no.* 1\); a line must be \{"mess'):
        encode_messages(place, trained["chatml"], tmp_path / "data")
    assert not (tmp_path / "data").exists()
    with pytest.raises(PlanError, match="trained without a chat template: name the one .*--template chatml"):
        encode_messages(place, trained[None], tmp_path / "data")
    with pytest.raises(PlanError, match=r"template='none' must be course, chatml"):
        encode_messages(place, trained["chatml"], tmp_path / "data", template="none")
    right = written(tmp_path / "right.jsonl", *[line("a", "b")] * 3)
    assert len(encode_messages(right, trained["chatml"], tmp_path / "data", val=0.0)) == 3


@pytest.mark.parametrize(
    ("settings", "more", "sentence"),
    [
        ([], {"dpo": -1}, "dpo=-1 must be a number from 0.0001 to 100"),
        (["batch=3"], {"dpo": 0.1}, "dpo reads pairs: batch=3 and micro_batch=None must be even"),
        ([], {"lora": 10**6}, "lora=1000000 must be at most"),
        (["lora_base=nf4"], {}, "lora_base='nf4' holds the frozen weights of LoRA"),
        (["device=cuda:99"], {}, "device='cuda:99': torch"),
    ],
    ids=str,
)
def test_settings_are_checked_before_messages_are_encoded(trained, tmp_path, settings, more, sentence):
    """A wrong one leaves nothing behind, and the file is not read."""
    place = written(tmp_path / "chats.jsonl", line("a", "b"))
    with pytest.raises(PlanError, match=sentence):
        dp.train(place, out=tmp_path / "out", init_from=trained["chatml"], settings=settings, **more)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("lora", [(), ("--lora", 2)], ids=["full", "lora"])
def test_command(trained, chats, tmp_path, dataprep, lora):
    """Rows are packed whole conversations; the same command does nothing again, and with more steps it continues."""
    out = tmp_path / "tuned"
    words = (
        "train",
        chats,
        "--init-from",
        trained["chatml"],
        "--out",
        out,
        *lora,
        *SMALL,
        "--set",
        "schedule=constant",
    )
    code, _, err = dataprep(*words)
    assert code == 0, err
    saved = content(out)
    config = saved["config"]
    assert (config["layout"], config["masks"], config["mask_documents"]) == ("bestfit", True, None)
    assert (config["lora"], bool(saved["start"])) == (2 if lora else None, True)
    assert saved["chat"]["template"] == "chatml"
    before = {p: p.stat().st_mtime_ns for p in out.rglob("*") if p.is_file() and p.name != ".lease"}
    assert dataprep(*words)[0] == 0
    assert before == {p: p.stat().st_mtime_ns for p in before}
    assert dataprep(*words, "--set", "steps=3", "--set", "layout=bestfit")[0] == 0
    assert content(out)["step"] == 3
    assert ChatModel.load(out).template is not None
    written(Path(chats), *(line(f"another {i}?", "one") for i in range(30)))
    code, _, err = dataprep(*words)
    assert (code, err.count("\n")) == (1, 1)
    assert "data/shards, or their masks, differ); choose another output folder, or start over (--start-over)" in err
    code, _, err = dataprep(*words, "--start-over", "--val", 0)
    assert code == 0, err


def test_messages_and_replay(trained, chats, dialogues, tmp_path, dataprep):
    """Messages are one set among others; several files are one set; padded rows if they are asked for."""
    tok = dp.Tokenizer.load(trained["chatml"])
    dp.encode(dialogues, tok, tmp_path / "plain", val=0.1)
    more = written(tmp_path / "more.jsonl", *(line(f"{i}", "x") for i in range(9)))
    named = (f"chat={chats}", f"chat={more}", f"web={tmp_path / 'plain'}")
    words = ("train", *named, "--init-from", trained["chatml"], "--out", tmp_path / "out", "--val", 0, *SMALL)
    code, _, err = dataprep(*words, "--set", "weights={'chat': 0.75, 'web': 0.25}", "--set", "layout=padded")
    assert code == 0, err
    saved = content(tmp_path / "out")
    assert saved["config"]["layout"] == "padded"
    assert {name: found["documents"] for name, found in saved["trained_on"].items()} == {"chat": 39, "web": 52}


def test_a_base_without_marks(chats, tmp_path, dataprep, caplog):
    """The marks of the template are added to the vocabulary, which is said; LoRA alone could not learn them."""
    from dataprep.train import TrainConfig, train

    dp.encode(dp.read(chats, format="lines"), dp.Tokenizer.of_bytes(), tmp_path / "shards", val=0.0)
    small = TrainConfig().override("model.n_layers=1", "model.d_model=16", "model.n_heads=2", "model.context=64")
    train(tmp_path / "shards", out=tmp_path / "base", config=small.override("steps=1", "device=cpu"), quiet=True)
    words = (
        "train",
        chats,
        "--init-from",
        tmp_path / "base",
        "--out",
        tmp_path / "out",
        "--template",
        "chatml",
        *SMALL,
    )
    with caplog.at_level(logging.WARNING, "dataprep"):
        code, _, err = dataprep(*words, "--lora", 2)
    assert code == 1
    assert "lora would not learn the new tokens; set lora_targets=" in err
    assert "are added after its last id: <|im_end|>, <|im_start|>" in caplog.text
    assert dataprep(*words)[0] == 0
    assert ChatModel.load(tmp_path / "out").template is not None


def test_data_of_a_run_that_never_began_is_replaced(trained, chats, tmp_path):
    """A file that is too small is no reason to refuse the right one; once there is a checkpoint, another file is."""
    few, out = written(tmp_path / "few.jsonl", line("1?", "one")), tmp_path / "out"
    options = {"out": out, "init_from": trained["chatml"], "settings": SMALL[1::2], "quiet": True}
    with pytest.raises(PlanError, match="tokens and one row needs"):
        dp.train(few, **options)
    assert dp.train(chats, **options).steps == 2
    with pytest.raises(StaleOutput, match="has shards of other messages or settings"):
        dp.train(few, **options)


def test_wrong_arguments(trained, chats, tmp_path, dataprep, monkeypatch):
    """One sentence each, before any work."""
    model, shards = trained["chatml"], tmp_path / "shards"
    shards.mkdir()
    for words, said in (
        ((chats,), "has messages, which are for a trained model: name it with "),
        ((tmp_path / "none.jsonl", "--init-from", model), "none.jsonl"),
        ((chats, "--init-from", model, "--set", "lr=x"), "lr='x' must be a number"),
        ((chats, "--init-from", model, "--val", 2), "--val 2.0 must be a share"),
        ((shards, "--template", "chatml"), "--template 'chatml' applies only to files of messages"),
        ((chats, f"web={shards}", "--init-from", model), "must have different names"),
    ):
        code, _, err = dataprep("train", *words, "--out", tmp_path / "out")
        assert (code, err.count("\n")) == (1, 1), err
        assert said in err
        assert not (tmp_path / "out").exists()
    for name in ("WORLD_SIZE=2", "RANK=0", "LOCAL_RANK=0", "MASTER_ADDR=x", "MASTER_PORT=1"):
        monkeypatch.setenv(*name.split("="))
    code, _, err = dataprep("train", chats, "--init-from", model, "--out", tmp_path / "out")
    assert (code, "torchrun needs token shards, not messages" in err) == (1, True)
    monkeypatch.delenv("WORLD_SIZE")
    assert MessageLines(template=template_of("chatml")).only_drops
    with pytest.raises(StaleOutput):
        encode_messages(chats, model, tmp_path / "d", val=0.0)
        encode_messages(chats, model, tmp_path / "d", val=0.5)
