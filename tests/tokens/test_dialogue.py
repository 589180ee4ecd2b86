"""Dialogues: what people wrote is never template, and only what the person said is learned."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dataprep as dp
import laws
from dataprep.errors import PlanError, ReadError
from dataprep.tokens.dialogue import ChatTokenCounter, check_template, encode_dialogues
from dataprep.tokens.shards.verify import verify_shards
from dataprep.tokens.templates import ANY, Template, specials_of, template_of
from dataprep.tokens.vocabulary.loaded import keep_loaded
from dataprep.tokens.vocabulary.merges import learn_merges
from dataprep.tokens.vocabulary.patterns import PATTERNS
from dataprep.tokens.vocabulary.tokenizer import Tokenizer

INST = (
    "{{ bos_token }}{% for m in messages %}{% if m.role == 'user' %}{{ '[INST] ' + m.content + ' [/INST]' }}"
    "{% else %}{{ ' ' + m.content + eos_token }}{% endif %}{% endfor %}"
)
STRICT = "{% if messages[0].role != 'user' %}{{ raise_exception('a user begins') }}{% endif %}" + INST
TEXT = ["salam, are you there? always, put on the other coat. wach labas? it is cold \n\n user assistant name"] * 3


@pytest.fixture(scope="module")
def chat_tok() -> Tokenizer:
    """60 merges, and the special tokens of both built-in templates."""
    return Tokenizer.from_merges(learn_merges([TEXT], 60, PATTERNS["words"]), special=["course", "chatml"])


def turn(role, content, name=None, weight=1):
    return {"role": role, "name": name, "content": content, "weight": weight}


DIALOGUE = [
    turn("user", "are you there?", "Ilse", 0), turn("assistant", "always", "Tomas"),
    turn("user", "it is cold", "Ilse", 0), turn("assistant", "put on the other coat", "Tomas"),
]  # fmt: skip


def encoded(tok, source, *dialogues):
    """(ids, mask) of each dialogue."""
    made = encode_dialogues(tok, Template(source), pa.array(dialogues), np.uint16)
    ends = made.ends.tolist()
    return [(made.tokens[a:b].tolist(), made.mask[a:b].tolist()) for a, b in zip([0, *ends], ends, strict=False)]


def learned(tok, ids, mask):
    """What is learned, runs of it."""
    runs, open_ = [], False
    for i, m in zip(ids, mask, strict=True):
        if m and not open_:
            runs.append([])
        open_ = bool(m)
        if m:
            runs[-1].append(i)
    return [tok.tiktoken().decode(run) for run in runs]


@pytest.mark.parametrize(
    ("source", "text", "wanted"),
    [
        (
            "course",
            (
                "<|startoftext|>Ilse<|separator|>are you there?<|endoftext|>"
                "<|startoftext|>Tomas<|separator|>always<|endoftext|>"
                "<|startoftext|>Ilse<|separator|>it is cold<|endoftext|>"
                "<|startoftext|>Tomas<|separator|>put on the other coat<|endoftext|>"
            ),
            ["always<|endoftext|>", "put on the other coat<|endoftext|>"],
        ),
        (
            "chatml",
            (
                "<|im_start|>user\nare you there?<|im_end|>\n<|im_start|>assistant\nalways<|im_end|>\n"
                "<|im_start|>user\nit is cold<|im_end|>\n<|im_start|>assistant\nput on the other coat<|im_end|>\n"
                "<|endoftext|>"
            ),
            ["always<|im_end|>", "put on the other coat<|im_end|>"],
        ),
        (
            INST,
            (
                "[INST] are you there? [/INST] always<|endoftext|>[INST] it is cold [/INST] put on the other coat"
                "<|endoftext|>"
            ),
            [" always<|endoftext|>", " put on the other coat<|endoftext|>"],
        ),
    ],
)
def test_templates(chat_tok, source, text, wanted):
    """The ids are those of the rendered text with its special tokens; the mask covers the answers and their ends."""
    ((ids, mask),) = encoded(chat_tok, source, DIALOGUE)
    assert ids == chat_tok.tiktoken().encode(text, allowed_special="all")
    assert learned(chat_tok, ids, mask) == wanted


def test_dialogues_side_by_side(chat_tok):
    """Dialogues of one call are those of a call each; one without a word is its separator."""
    empty = "{% for m in messages %}{{ m.content }}{% endfor %}"
    for source in ("course", "chatml", INST, empty):
        several = [DIALOGUE, [turn("user", "", "I")], DIALOGUE[:2], DIALOGUE]
        assert encoded(chat_tok, source, *several) == [encoded(chat_tok, source, one)[0] for one in several]
    assert encoded(chat_tok, empty, DIALOGUE[:1], [turn("user", "", "I")])[1] == ([chat_tok.eot], [0])


def test_context_is_not_learned(chat_tok):
    """Weight 0 leaves an answer out of the loss; a weight that is not there means 1."""
    first = [DIALOGUE[0], {**DIALOGUE[1], "weight": 0}, DIALOGUE[2], {**DIALOGUE[3], "weight": None}]
    ((ids, mask),) = encoded(chat_tok, "chatml", first)
    assert learned(chat_tok, ids, mask) == ["put on the other coat<|im_end|>"]


def test_what_people_write_is_text(chat_tok):
    """A message or a name that spells special tokens, marks or Jinja stays what it is: letters."""
    hostile = "<|im_end|> <|endoftext|>{{ 7 * 7 }} \ue0000\ue001 {% raw %}"
    dialogue = [turn("user", hostile, "<|separator|>", 0), turn("assistant", hostile, "T")]
    for source in ("course", "chatml", INST):
        ((ids, mask),) = encoded(chat_tok, source, dialogue)
        assert chat_tok.decode(ids).count(hostile) == 2
        assert chat_tok.special["<|endoftext|>"] not in ids[:-1] or source in ("course", INST)
        assert learned(chat_tok, ids, mask)[0].strip().startswith(hostile)
    ((ids, _),) = encoded(chat_tok, "course", dialogue)
    assert [ids.count(chat_tok.special[t]) for t in ("<|separator|>", "<|endoftext|>", "<|im_end|>")] == [2, 2, 0]


CONTENT = st.text(st.sampled_from("ab \n<|>_im.endé"), max_size=20).map(str.strip)
DIALOGUES = st.lists(st.tuples(CONTENT, CONTENT), min_size=1, max_size=4)


@given(DIALOGUES, st.sampled_from(["course", "chatml", INST]))
def test_learned_text_is_what_was_said(chat_tok, said, source):
    """Whatever is said, the learned text is the answers and their ends (with the space a template joins to one)."""
    end = "<|im_end|>" if source == "chatml" else "<|endoftext|>"
    dialogue = [t for q, a in said for t in (turn("user", q, "I", 0), turn("assistant", a, "T"))]
    ((ids, mask),) = encoded(chat_tok, source, dialogue)
    found = [part.removesuffix(end).strip() for part in learned(chat_tok, ids, mask)]
    assert found == [a for _, a in said]
    whole = learned(chat_tok, ids, [1] * len(ids))[0]
    assert all(content in whole for pair in said for content in pair)


@given(DIALOGUES, st.integers(24, 80), st.sampled_from(["course", "chatml", INST]))
def test_windows_fit_their_block(chat_tok, said, block, source):
    """Windows cut by token counts of turns have at most `max_length` tokens once the template has written them."""
    size = ChatTokenCounter(
        tokenizer=keep_loaded("memory", chat_tok), hash=chat_tok.hash, template=Template(source), max_length=block
    )
    lines = [t for q, a in said for t in ({"author": "I", "text": q}, {"author": "T", "text": a})]
    rows = [{**line, "chat": "c", "kind": "text", "time": None} for line in lines]
    for i, row in enumerate(rows):
        row["time"] = np.datetime64("2024-05-01T10:00:00", "s") + np.timedelta64(i, "s")
    out, *_ = laws.apply(dp.chats.Turns(person="T", token_counter=size), [laws.batch_of(rows)])
    for ids, _ in encoded(chat_tok, source, *[row["messages"] for row in out]) if out else []:
        assert len(ids) <= block


def test_encode_writes_masks(chat_tok, tmp_path):
    """A Dataset of dialogues becomes shards with masks, split by conversation, the same bytes whoever works."""
    rows = [
        {
            "text": "t",
            "messages": [turn("user", f"{i} there?"), turn("assistant", f"always {i}")],
            "conversation": i // 3,
        }
        for i in range(90)
    ]
    place = tmp_path / "dialogues.jsonl"
    place.write_text("".join(json.dumps(row) + "\n" for row in rows))
    kind = pa.list_(pa.struct([("role", pa.string()), ("content", pa.string()), ("weight", pa.int8())]))

    def parsed(meta):
        row = json.loads(meta)
        return {"messages": row["messages"], "conversation": row["conversation"]}

    lift = dp.Map(parsed, adds={"messages": kind, "conversation": pa.int64()})
    docs = dp.Pipeline(lift).run(dp.read(str(place)), out=str(tmp_path / "docs"))
    options = {"template": "chatml", "split": dp.Split(val=0.2, group="conversation"), "shard_tokens": 400}
    shards = dp.encode(docs, chat_tok, out=tmp_path / "one", **options)
    dp.encode(docs, chat_tok, out=tmp_path / "two", runner=laws.TWO, **options)
    laws.same_bytes(tmp_path / "one", tmp_path / "two")
    assert verify_shards(shards.path) == []
    assert len(shards) == 90
    assert shards.manifest.template == "chatml"
    told = [
        text
        for tokens, mask in zip(shards.memmaps(), shards.masks(), strict=True)
        for text in learned(chat_tok, tokens.tolist(), mask.tolist())
    ]
    assert sorted(told) == sorted(f"always {i}<|im_end|>" for i in range(90))
    val = shards.split("val")
    held = {int(chat_tok.decode(val.document(k)).split("always ")[1].split("<")[0]) // 3 for k in range(len(val))}
    assert 0 < len(held) < 30
    assert len(val) == 3 * len(held)


def test_templates_from_files(tmp_path):
    """A `.jinja` file and a `tokenizer_config.json` are read; a file without a template is refused."""
    (tmp_path / "t.jinja").write_text(INST)
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"chat_template": INST}))
    assert template_of(tmp_path / "t.jinja") == template_of(tmp_path / "tokenizer_config.json") == template_of(INST)
    (tmp_path / "none.json").write_text("{}")
    with pytest.raises(ReadError, match="has no chat_template"):
        template_of(tmp_path / "none.json")
    with pytest.raises(PlanError, match="must be course, chatml"):
        template_of("llama")
    (tmp_path / "list.json").write_text("[]")
    with pytest.raises(ReadError, match="has no chat_template"):
        template_of(tmp_path / "list.json")
    (tmp_path / "cut.json").write_text("{")
    (tmp_path / "latin.jinja").write_bytes(b"\xe9")
    for name in ("cut.json", "latin.jinja"):
        with pytest.raises(PlanError, match="must be a file of UTF-8 text with Jinja, or"):
            template_of(tmp_path / name)


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        (
            "{% for m in messages %}<start_of_turn>{{ m.role }}\n{{ m.content | trim }}<end_of_turn>\n{% endfor %}",
            ["<end_of_turn>", "<start_of_turn>"],
        ),
        (
            "{% for m in messages %}<|start_header_id|>{{m.role}}<|end_header_id|>{{m.content}}<|eot_id|>{% endfor %}",
            ["<|end_header_id|>", "<|eot_id|>", "<|start_header_id|>"],
        ),
        ("{% for m in messages %}<\uff5cUser\uff5c>{{ m.content }}{% endfor %}", ["<\uff5cUser\uff5c>"]),
        (INST, ["<|endoftext|>", "[/INST]", "[INST]"]),
    ],
)
def test_special_tokens_of_templates(source, wanted):
    """A vocabulary that is trained for a template gets its marks, in any spelling, so that each turn has an end."""
    assert specials_of(Template(source), known=(), pattern=ANY) == wanted


def test_a_config_names_how_a_text_begins_and_ends(tmp_path):
    """A pretrained model sees its first token before every dialogue, and its own end: those that its config names."""
    tok = Tokenizer.from_merges([], special=["<|begin|>", "<|eot_id|>"])
    config = {"chat_template": INST, "bos_token": {"content": "<|begin|>"}, "eos_token": "<|eot_id|>"}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    template = template_of(tmp_path / "tokenizer_config.json")
    made = encode_dialogues(tok, template, pa.array([DIALOGUE[:2]]), np.uint16)
    wanted = "<|begin|>[INST] are you there? [/INST] always<|eot_id|><|endoftext|>"
    assert made.tokens.tolist() == tok.tiktoken().encode(wanted, allowed_special="all")
    assert learned(tok, made.tokens.tolist(), made.mask.tolist()) == ["always<|eot_id|>"]


def test_what_does_not_work_is_one_sentence(chat_tok, tok, tmp_path):
    """A template that refuses the roles or loses contents, a tokenizer without its tokens, documents without turns."""
    with pytest.raises(PlanError, match="rejects turns of assistant: a user begins"):
        encoded(chat_tok, STRICT, DIALOGUE[1:2])
    with pytest.raises(PlanError, match="does not write each of 4 turns once"):
        encoded(chat_tok, "{{ messages[0].content }}", DIALOGUE)
    with pytest.raises(PlanError, match="rejects turns of"):
        encoded(chat_tok, "{{ messages[0].content.__class__.__mro__ }}{{ ''.join(7) }}", DIALOGUE)
    with pytest.raises(PlanError, match=r"has no <\|im_end\|>, <\|im_start\|>, .* special='chatml'"):
        check_template(tok, Template("chatml"))
    with pytest.raises(PlanError, match="the column 'messages', which the documents do not have"):
        dp.encode(laws.dataset_of(tmp_path, ["text"]), chat_tok, out=tmp_path / "s", template="chatml")


def test_messages_of_a_jsonl_file(chat_tok, tmp_path):
    """Readers give lists as JSON: the ids and masks are those of the same messages; what people spell is counted."""
    said = [[turn("user", f"{i}: <|im_end|>?"), turn("assistant", "<|im_start|>\u00e9")] for i in range(4)]
    place = tmp_path / "chat.jsonl"
    place.write_text("".join(json.dumps({"text": "<|im_end|>", "messages": row}) + "\n" for row in said))
    docs = dp.read(str(place), columns=["messages"])
    shards = dp.encode(docs, chat_tok, out=tmp_path / "s", template="chatml", val=0)
    kept = [(shards.document(k).tolist(), shards.masks()[0][slice(*ends)].tolist()) for k, ends in spans(shards)]
    assert kept == [(ids[:-1], mask[:-1]) for ids, mask in encoded(chat_tok, "chatml", *said)]
    assert shards.manifest.special_in_text == {"<|im_end|>": 4, "<|im_start|>": 4}


def spans(shards):
    """Number and tokens of each document of one shard, without its separator."""
    stops = (np.asarray(shards.ends(0)).astype(int) - 1).tolist()
    return [(k, (stops[k - 1] + 1 if k else 0, stop)) for k, stop in enumerate(stops)]


@pytest.mark.parametrize(
    "row", ["no JSON", '{"role": "user"}', '["hi"]', '[{"role": "user", "content": null}]', None, "7"]
)
def test_messages_that_are_none(chat_tok, row):
    """What is no list of roles and contents is said, with the beginning of what it is."""
    with pytest.raises(PlanError, match="encodes lists of messages with a role and a content, both texts; found"):
        encode_dialogues(chat_tok, template_of("chatml"), pa.array([row], pa.string()), np.uint16)
