"""Talking to a model: its template, its history, and what reaches the reader."""

from __future__ import annotations

import dataclasses
import json
import random
import shutil

import numpy as np
import pytest

pytest.importorskip("torch")

from dataprep.errors import PlanError, StaleOutput
from dataprep.inference import chat_model as voice_module
from dataprep.inference.chat_model import ChatModel
from dataprep.inference.conversation import Conversation
from dataprep.inference.text_stream import TextStream
from dataprep.tokens.dialogue import encode_prompt
from dataprep.tokens.templates import Template
from dataprep.tokens.vocabulary.tokenizer import Tokenizer
from dataprep.train import Sampling
from fixtures.voices import EXCHANGES
from twins.fitting import fitting

GREEDY = Sampling(temperature=0)


@pytest.fixture(scope="module", params=["chatml", "course"])
def talk(request, trained):
    """A conversation with a model of each template."""
    return Conversation(ChatModel.load(trained[request.param]), GREEDY, 40)


def test_it_answers_as_it_learned(talk):
    """Each learned question gets its answer, first and after any other, without a mark of the template."""
    for first, answer in EXCHANGES.items():
        talk.reset()
        assert "".join(talk.say(first)) == answer
        assert "".join(talk.say("good night")) == "sleep well"
    assert [m["role"] for m in talk.history] == ["user", "assistant"] * 2


def test_the_prompt_is_the_beginning_of_what_was_learned(trained, dialogues):
    """The ids before an answer are those before it in the shards, names included."""
    from dataprep.tokens.shards.shard import Shards

    for name in ("chatml", "course"):
        voice = ChatModel.load(trained[name])
        shards = Shards.open(trained[name].parent / f"{name}-shards")
        rows = dialogues.table(["messages"])["messages"].to_pylist()
        documents = [shards.document(k).tolist() for k in range(len(shards))]
        for messages in rows[:7]:
            said = [{"role": m["role"], "content": m["content"]} for m in messages]
            ids = voice.prompt(said[:3])
            assert ids[0] == voice.tok.eot
            assert any(d[: len(ids) - 1] == ids[1:] for d in documents)


def test_the_history_is_cut_by_whole_turns(talk):
    """A long conversation keeps to the context: the oldest exchanges are left out of the prompt, the newest is not."""
    long = Conversation(talk.model, GREEDY, 12)
    for _ in range(12):
        assert "".join(long.say("shall we walk?")) == "after the rain"
    assert len(long.history) == 24
    long.history.append({"role": "user", "content": "good night"})
    ids = long._fitting()
    text = talk.model.tok.tiktoken().decode(ids)
    assert len(ids) <= 64 - 12
    kept = text.count("shall we walk?")
    assert 1 <= kept < 12
    assert text.count("after the rain") == kept
    short = Conversation(talk.model, GREEDY, 12, history=long.history[-2 * kept - 1 :])
    assert short._fitting() == ids


def test_the_cut_history_is_that_of_the_twin(talk):
    """Of any history, with and without a system's turn, exactly the turns remain that the plain search leaves."""
    rng = random.Random(5)
    for _ in range(60):
        turns = [
            {"role": ("user", "assistant")[i % 2], "content": "ab " * rng.randrange(rng.choice([2, 12]))}
            for i in range(2 * rng.randrange(40) + 1)
        ]
        long = Conversation(talk.model, GREEDY, 12, rng.choice(["", "be brief"]), turns[rng.randrange(2) :] or turns)
        expected = fitting(long, 64 - 12)
        assert expected is None or long._fitting() == expected


def test_the_time_of_a_cut_does_not_grow_with_the_history(talk, monkeypatch):
    """Of 2,001 turns only few more than those that fit are encoded."""
    encoded = []
    prompt = ChatModel.prompt
    monkeypatch.setattr(ChatModel, "prompt", lambda self, turns: encoded.append(len(turns)) or prompt(self, turns))
    turns = [{"role": ("user", "assistant")[i % 2], "content": "x"} for i in range(2001)]
    assert len(Conversation(talk.model, GREEDY, 12, history=turns)._fitting()) <= 64 - 12
    assert sum(encoded) < 400


def test_halves_of_surrogate_pairs_in_any_text(talk):
    """The system's text and earlier turns of a new Talk are checked as a new turn is."""
    history = [{"role": "user", "content": "\ud83d a"}, {"role": "assistant", "content": "\udc00"}]
    broken = Conversation(talk.model, GREEDY, 12, "be \ud83d", history)
    "".join(broken.say("good \ud83d"))
    assert (broken.system, [m["content"] for m in broken.history[:3]]) == ("be ?", ["? a", "?", "good ?"])


def test_a_long_turn_loses_its_beginning(talk):
    """A turn that is longer than the context is cut in front and answered; a long system text is an error."""
    talk.reset()
    assert "".join(talk.say("the door " * 400 + "good night"))
    talk.history.pop()
    ids = talk._fitting()
    assert 20 < len(ids) <= 32
    assert "door good night" in talk.model.tok.tiktoken().decode(ids)
    talk.reset("be brief " * 200)
    with pytest.raises(PlanError, match="system prompt is too long .* context is 64 tokens"):
        talk.say("good night")
    assert talk.history == []
    talk.reset("")


def test_again_and_reset(talk):
    """Another answer takes the place of the last; each draws with a seed of its own; a reset forgets all."""
    warm = Conversation(talk.model, Sampling(temperature=3.0), 30)
    first = "".join(warm.say("is it cold?"))
    others = {"".join(warm.again()) for _ in range(4)}
    assert len(others | {first}) > 2
    assert [m["role"] for m in warm.history] == ["user", "assistant"]
    same = Conversation(talk.model, Sampling(temperature=3.0), 30)
    assert "".join(same.say("is it cold?")) == first
    warm.reset()
    with pytest.raises(PlanError, match="send a message first"):
        warm.again()


def test_a_stopped_answer_is_kept_so_far(talk):
    """Closing the stream keeps what was said; a turn that got no answer is replaced by the next."""
    talk.reset()
    answer = talk.say("is it cold?")
    first = next(answer)
    answer.close()
    assert talk.history == [{"role": "user", "content": "is it cold?"}, {"role": "assistant", "content": first.strip()}]
    talk.reset()
    talk.say("is it cold?").close()
    assert "".join(talk.say("good night")) == "sleep well"
    assert talk.history[0]["content"] == "good night"


def test_marks_in_a_turn_are_text(talk):
    """Special tokens that the user types are encoded as ordinary text, and half a character does no harm."""
    talk.reset()
    "".join(talk.say("<|im_end|><|endoftext|> \ud83d"))
    ids = talk.model.prompt(talk.history[:1])
    marks = set(talk.model.tok.special.values())
    plain = talk.model.prompt([{"role": "user", "content": "x"}])
    assert [i for i in ids if i in marks] == [i for i in plain if i in marks]


def test_no_half_character_and_no_control_character(tok, monkeypatch):
    """Whatever ids come, pieces are whole characters; special tokens are silent, control characters are replaced."""
    text = "né 北 🌧️ \x1b[31m\x07\r\x00 نعم\n"
    ids = [tok.vocab[bytes([b])] for b in text.encode()]
    stream = TextStream(tok)
    pieces = [stream.add(i) for i in [*ids, tok.eot]] + [stream.end()]
    assert "".join(pieces) == text.replace("\x1b", "\ufffd").replace("\x07", "\ufffd").replace("\r", "\ufffd").replace(
        "\x00", "\ufffd"
    )
    assert all(len(p) <= 2 for p in pieces)
    half = TextStream(tok)
    assert [half.add(i) for i in ids[-8:-7]] + [half.end()]
    rng = np.random.default_rng(0)
    noise = TextStream(tok)
    said = "".join([noise.add(int(i)) for i in rng.integers(0, tok.vocab_size, 3000)]) + noise.end()
    assert not {c for c in said if ord(c) < 32} - {"\n", "\t"}
    said.encode()


def test_a_turn_ends_at_any_special_token(trained, monkeypatch):
    """A model that begins another turn instead of ending its own is stopped there."""
    voice = ChatModel.load(trained["chatml"])
    start = voice.tok.special["<|im_start|>"]
    ids = [*voice.tok.encode("yes"), start, *voice.tok.encode("user")]

    def scripted(model, prompt, how, *, max_tokens, stop):
        for token in ids:
            if token in stop:
                return
            yield token

    monkeypatch.setattr(voice_module, "generate", scripted)
    assert "".join(voice.stream([1], GREEDY, turn=True)) == "yes"
    assert "".join(voice.stream([1], GREEDY)) == "yesuser"


def test_a_jinja_template_of_another_model(tok):
    """The prompt ends where the answer begins, for a template that writes its end of turn as text or as bos and eos."""
    source = "{{ bos_token }}{% for m in messages %}<r>{{ m.role }}: {{ m.content }}{{ eos_token }}{% endfor %}"
    template = Template(source, bos="<|pad|>", eos="<|endoftext|>")
    ids = encode_prompt(tok, template, [{"role": "user", "content": "hi"}])
    assert tok.tiktoken().decode(ids) == "<|pad|><r>user: hi<|endoftext|><r>assistant: "


def test_the_card(trained):
    """Parameters, data, steps and loss; a model without a template takes no turns, and one may be named."""
    voice = ChatModel.load(trained["chatml"])
    card = "\n".join(voice.card)
    assert f"{voice.model.n_params:,} parameters: 1 layers, 48 wide, context 64 tokens, vocabulary" in card
    assert "trained 150 steps on" in card
    (found,) = voice.saved["trained_on"].values()
    assert f"documents, shards {found['shards'][:16]}" in card
    assert "validation loss 0." in card
    tuned = dataclasses.replace(voice, saved={**voice.saved, "root": "0123456789abcdef0123"})
    assert "; all its data 0123456789abcdef" in tuned.card[1]
    assert "all its data" not in card
    with pytest.raises(PlanError, match="without a chat template"):
        Conversation(ChatModel.load(trained[None]))
    Conversation(ChatModel.load(trained[None], template="chatml"))


def test_a_folder_that_is_not_whole(trained, tmp_path):
    """No tokenizer, and another model's, are one sentence."""
    shutil.copytree(trained["chatml"], tmp_path / "model")
    place = tmp_path / "model" / "tokenizer.json"
    content = json.loads(place.read_text())
    place.unlink()
    with pytest.raises(PlanError, match=r"tokenizer.json does not exist; copy"):
        ChatModel.load(tmp_path / "model")
    content["model"]["merges"] = content["model"]["merges"][:-1]
    Tokenizer.of_bytes(["chatml"]).save(str(place))
    with pytest.raises(StaleOutput, match="is not the tokenizer of"):
        ChatModel.load(tmp_path / "model")
    with pytest.raises(PlanError, match="must be 1 or more"):
        Conversation(ChatModel.load(trained["chatml"]), max_tokens=0)
