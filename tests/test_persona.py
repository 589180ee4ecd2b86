"""persona: from exports to a fine-tuning set, complete, safe, and split by conversation."""

from __future__ import annotations

import collections
import datetime as dt
import json
import math
import random
import re

import numpy as np
import pyarrow.parquet as pq
import pytest

import dataprep as dp
import laws
from dataprep.core.output.audit import audit
from dataprep.errors import Leak, PlanError, StaleOutput
from dataprep.forget.forget import forget
from dataprep.inference.jsonl import write_jsonl
from dataprep.messages.names.known import KnownPeople
from dataprep.persona import persona
from dataprep.store import beside
from dataprep.tokens.shards.audited import SCANS
from dataprep.tokens.shards.verify import verify_shards
from killed import bytes_of, kills

NAMES = ("Ilse Varga", "Tomas Orr", "Noor Telle")
WORDS = tuple("ferry captain bridge chapter cider walnut cake reading door page morning circle tea rain".split())  # noqa: SIM905


@pytest.fixture(scope="module")
def export(tmp_path_factory):
    """Write a group chat of 150 conversations in which Tomas answers most questions; two are equal."""
    rng, lines, now = random.Random(7), [], dt.datetime(2024, 3, 1, 9)
    for number in range(150):
        now += dt.timedelta(hours=5)
        rng = random.Random(3 if number in (20, 90) else number)
        for turn in range(rng.randrange(2, 9)):
            who = NAMES[1] if turn % 2 else rng.choice((NAMES[0], NAMES[2]))
            for _ in range(rng.randrange(1, 3)):
                now += dt.timedelta(minutes=1)
                said = " ".join(rng.choices(WORDS, k=rng.randrange(3, 12)))
                said += rng.choice(("", ", Tomas", " @Noor", " call 0612345678", "\nand more"))
                lines.append(f"{now:%d/%m/%Y, %H:%M} - {who}: {said}")
        if number % 50 == 0:  # only personal data: nothing is left of the message, and the statistics show examples
            lines += [f"{now:%d/%m/%Y, %H:%M} - {NAMES[0]}: {said}" for said in ("0612345678", "ilse@example.org")]
    place = tmp_path_factory.mktemp("chats") / "WhatsApp Chat with Reading circle.txt"
    place.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(place)


@pytest.fixture(scope="module")
def made(export, tmp_path_factory):
    """Return the persona of Tomas, and its folder."""
    out = tmp_path_factory.mktemp("persona") / "out"
    options = {"vocab_size": 700, "max_length": 128, "val": 0.2, "test": 0.1, "key_file": None, "transcripts": True}
    return persona(export, "Tomas Orr", out, **options), out


def lines_of(place):
    with open(place, encoding="utf-8") as f:
        return [json.loads(line)["messages"] for line in f]


def test_windows_are_what_trainers_read(made):
    """JSONL and shards have the same windows in each split; each ends with an answer and fits the block."""
    result, out = made
    tok = dp.Tokenizer.load(out / "tokenizer")
    assert set(result.jsonl) == {"train", "val", "test"}
    for side, place in result.jsonl.items():
        rows, shards = lines_of(place), result.shards.split(side)
        assert len(rows) == len(shards) > 5
        for k, row in enumerate(rows):
            assert row[-1]["role"] == "assistant"
            assert row[0]["role"] == "user"
            text = tok.decode(shards.document(k))
            assert all(message["content"] in text for message in row)
            assert len(shards.document(k)) < 128
    assert verify_shards(result.shards.path) == []


def test_only_the_person_is_learned(made):
    """Masked-in text is Tomas's answers, each once over all windows; questions and context are not in it."""
    result, out = made
    tok = dp.Tokenizer.load(out / "tokenizer")
    tokens = np.concatenate(result.shards.memmaps())
    mask = np.concatenate(result.shards.masks())
    learned = tok.decode(tokens[mask == 1]).split("<|im_end|>")[:-1]
    rows = [row for place in result.jsonl.values() for row in lines_of(place)]
    wanted = [m["content"] for row in rows for m in row if m["role"] == "assistant" and m.get("weight") != 0]
    assert sorted(learned) == sorted(wanted)
    assert str(result).startswith(f"{len(wanted)} answers in")
    assert any(m.get("weight") == 0 for row in rows for m in row)


def test_a_conversation_is_in_one_split(made):
    """No conversation has windows in two splits, and no held-out window is in training."""
    result, _ = made
    table = result.windows.table()
    sides: dict[int, set[int]] = {}
    for number, side in zip(table["conversation"].to_pylist(), table["side"].to_pylist(), strict=True):
        sides.setdefault(number, set()).add(side)
    assert all(len(found) == 1 for found in sides.values())


def test_habits_are_learned_and_forwards_are_not(tmp_path):
    """Five exchanges in most conversations are in training that often; a long message sent twice is there once."""
    said = {"coming?": "on my way", "tea?": "always", "ok?": "yes", "where?": "at home", "night": "sleep well"}
    article = " ".join(f"{word} {i}" for i in range(20) for word in WORDS[:6])
    lines, now = [], dt.datetime(2024, 3, 1, 9)
    for number in range(200):
        now += dt.timedelta(hours=5)
        habit = list(said.items())[number % 5] if number % 4 else (f"news {number}", f"no, {number * 7}")
        lines += [f"{now:%d/%m/%Y, %H:%M} - {who}: {text}" for who, text in zip(NAMES, habit, strict=False)]
        if number in (50, 51, 52):
            lines.append(f"{now:%d/%m/%Y, %H:%M} - {NAMES[1]}: {article}")
    place = tmp_path / "WhatsApp Chat with Ilse Varga.txt"
    place.write_text("\n".join(lines) + "\n", encoding="utf-8")
    result = persona(
        str(place), NAMES[1], tmp_path / "out", vocab_size=600, val=0.2, max_length=1024, template="chatml"
    )
    rows = {side: lines_of(path) for side, path in result.jsonl.items()}
    answers = [m["content"] for found in rows.values() for row in found for m in row if m["role"] == "assistant"]
    assert [sum(answer.startswith(one) for answer in answers) for one in said.values()] == [30] * 5
    assert sum("bridge 7" in answer for answer in answers) == 1
    train = [[m["content"] for m in row] for row in rows["train"]]
    repeated = sum([m["content"] for m in row] in train for row in rows["val"])
    assert (result.held_out, result.repeated) == (len(rows["val"]), repeated)
    assert repeated > 5
    assert f"{repeated} of {len(rows['val'])} held-out windows have the words of a training window" in str(result)


def test_repeated_exchanges_are_capped(tmp_path, dataprep):
    """With --cap-repeats an exchange that is in training n times is learned sqrt(n) times; held-out ones all stay."""
    rng, said = random.Random(4), []
    habits = {f"{word}?": f"{word} as always" for word in WORDS[:6]}
    for number in range(240):
        habit = rng.choice([*habits.items()]) if number % 4 else (f"news {number}", f"no, {number * 7}")
        said += zip(NAMES, habit, strict=False)
    place = write_chat(tmp_path, said, gap=dt.timedelta(minutes=20))  # several exchanges per window
    given = (place, "--person", NAMES[1], "--vocab-size", 400, "--max-length", 128, "--val", 0.2)
    seen = {}
    for name, more in (("all", ()), ("capped", ("--cap-repeats",))):
        code, _, err = dataprep("persona", *given, "--out", tmp_path / name, *more)
        assert code == 0, err
        for side in ("train", "val"):
            rows = lines_of(tmp_path / name / f"{side}.jsonl")
            pairs = [(row[k - 1]["content"], m["content"]) for row in rows for k, m in enumerate(row)
                     if m["role"] == "assistant" and m.get("weight") != 0]  # fmt: skip
            seen[name, side] = collections.Counter(pairs)
    assert {pair: math.ceil(n**0.5) for pair, n in seen["all", "train"].items()} == seen["capped", "train"]
    assert seen["all", "val"] == seen["capped", "val"]
    assert max(seen["all", "train"].values()) > 16
    words = {name: collections.Counter() for name in ("all", "capped")}
    for name, fates in words.items():
        for _, _, fate, n in json.loads((tmp_path / name / "learned.json").read_text())["words"]:
            fates[fate] += n
    learned = sum(n * len(re.findall(r"\w+", answer)) for (_, answer), n in seen["capped", "train"].items())
    assert words["capped"]["learned"] == learned
    assert words["capped"]["said often"] == words["all"]["learned"] - learned > 0
    assert words["capped"].total() == words["all"].total()


def test_every_word_of_the_person_is_accounted_for(tmp_path):
    """Learned words are those of the training answers; the rest has reasons, by platform and language."""
    start = dt.datetime(2024, 3, 1, 9)
    article = " ".join(f"{word} {i}" for i in range(30) for word in WORDS[:6])
    mine = [f"the ferry is late again @Ilse, gate {n} https://example.org/{n}" for n in range(40)]
    mine[7] = mine[8] = article  # a forward: the copy is dropped, and what is kept does not fit
    lines = []
    for number, text in enumerate(mine):
        now = start + dt.timedelta(hours=5 * number)
        lines += [f"{now:%d/%m/%Y, %H:%M} - {NAMES[0]}: where?", f"{now:%d/%m/%Y, %H:%M} - {NAMES[1]}: {text}"]
    now += dt.timedelta(hours=9)
    lines.append(f"{now:%d/%m/%Y, %H:%M} - {NAMES[1]}: https://example.org/only")
    place = tmp_path / "chats"
    place.mkdir()
    for name in ("WhatsApp Chat with Ilse Varga.txt", "WhatsApp Chat with Ilse Varga (1).txt"):  # the same, twice
        (place / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    rows = [
        {"id": 2 * n + k, "type": "message", "date": f"2024-05-{n + 1:02}T10:00:0{k}", "from": who, "text": text}
        for n in range(20)
        for k, (who, text) in enumerate([(NAMES[2], "وين راك؟"), (NAMES[1], f"راني فالدار دابا {'شوية ' * n}")])
    ]
    chat = {"name": NAMES[2], "type": "personal_chat", "id": 1, "messages": rows}
    (place / "result.json").write_text(json.dumps(chat))
    result = persona(str(place), NAMES[1], tmp_path / "out", vocab_size=600, val=0.2, max_length=128)
    found = result.words
    answers = [
        m["content"] for row in lines_of(result.jsonl["train"]) for m in row
        if m["role"] == "assistant" and m.get("weight") != 0
    ]  # fmt: skip
    assert found.learned == sum(len(re.findall(r"\w+", answer)) for answer in answers)
    wrote = [*mine, *(row["text"] for row in rows if row["from"] == NAMES[1])]
    assert found.total == sum(len(re.findall(r"\w+", text.partition(" https")[0])) for text in wrote)
    fates = collections.Counter()
    for (_, _, fate), n in found.counts.items():
        fates[fate] += n
    assert fates["copy of a long message"] == 360
    assert fates["removed from texts"] == len(mine) - 2
    assert 200 < fates["longer than max_length"] < 360
    assert fates["held out"] > 20
    assert {(platform, language) for platform, language, _ in found.counts} >= {("whatsapp", "en"), ("telegram", "ary")}
    assert "of the person's" in str(result)
    assert "telegram ary: " in str(result)
    again = persona(str(place), NAMES[1], tmp_path / "out", vocab_size=600, val=0.2, max_length=128)
    assert again.words == found


def test_no_name_is_left(made, export):
    """No byte of any file holds a name, a part of one or a phone number, compressed columns included."""
    _, out = made
    for place in sorted(p for p in out.rglob("*") if p.is_file()):
        text = place.read_bytes()
        if place.suffix == ".parquet":
            text = repr(pq.read_table(place).to_pylist()).encode()
        for name in ("Ilse", "Varga", "Tomas", "Orr", "Noor", "Telle", "0612345678", "@example", "Reading circle"):
            assert name.encode() not in text, f"{name} in {place.relative_to(out)}"


def test_the_audit_reads_every_kind_of_file(made):
    """A word of the messages is found in Parquet, JSONL and token shards; the list of the audit is outside."""
    _, out = made
    assert "tomas" not in (out.parent / "out.audit.json").read_text()
    for ending in (".parquet", ".jsonl", ".bin"):
        skip = [p.name for p in out.iterdir() if not any(q.name.endswith(ending) for q in [p, *p.rglob("*")])]
        skip += [str(p.relative_to(out)) for p in out.rglob("*.*") if p.is_file() and not p.name.endswith(ending)]
        with pytest.raises(Leak, match=rf"left in [^ ]*\{ending}, .*'walnut'"):
            audit(str(out), KnownPeople(("Walnut",)), dp.tools.Serial(), skip=skip, scans=SCANS)


@pytest.mark.parametrize("template", ["chatml", "course"])
def test_openings_are_learned(tmp_path, template):
    """What the person writes first, or alone, answers an empty user turn, in JSONL and in the loss mask."""
    lines, now = [], dt.datetime(2024, 3, 1, 9)
    for number in range(60):
        now += dt.timedelta(hours=5)
        people = ((NAMES[1], NAMES[0], NAMES[1]), (NAMES[0], NAMES[1]), (NAMES[1],))[number % 3]
        lines += [f"{now:%d/%m/%Y, %H:%M} - {who}: tea {number} {turn}" for turn, who in enumerate(people)]
    place = tmp_path / "WhatsApp Chat with Ilse Varga.txt"
    place.write_text("\n".join(lines) + "\n", encoding="utf-8")
    result = persona(str(place), NAMES[1], tmp_path / "out", vocab_size=500, template=template, val=0.1)
    rows = [row for path in result.jsonl.values() for row in lines_of(path)]
    assert all(row[0]["role"] == "user" for row in rows)
    assert sum(row[0]["content"] == "" for row in rows) == 40
    wanted = sorted(m["content"] for row in rows for m in row if m["role"] == "assistant")
    assert len(wanted) == result.answers == 80
    tok = dp.Tokenizer.load(tmp_path / "out" / "tokenizer")
    tokens, mask = (np.concatenate(one) for one in (result.shards.memmaps(), result.shards.masks()))
    end = "<|im_end|>" if template == "chatml" else "<|endoftext|>"
    assert sorted(tok.decode(tokens[mask == 1]).split(end)[:-1]) == wanted


def test_again_is_nothing_and_workers_do_not_matter(export, tmp_path):
    """With a key the bytes are the same whoever works, and a second call makes nothing anew."""
    key = tmp_path / "people.key"
    key.write_text("a key that nobody can guess")
    options = {"vocab_size": 500, "max_length": 96, "template": "course", "key_file": str(key)}
    persona(export, "Tomas Orr", tmp_path / "one", **options)
    persona(export, "Tomas Orr", tmp_path / "two", runner=laws.TWO, **options)
    laws.same_bytes(tmp_path / "one", tmp_path / "two")
    before = {p: p.stat().st_mtime_ns for p in (tmp_path / "one").rglob("*") if p.is_file()}
    persona(export, "Tomas Orr", tmp_path / "one", **options)
    assert before == {p: p.stat().st_mtime_ns for p in (tmp_path / "one").rglob("*") if p.is_file()}


def test_a_side_that_is_gone_leaves_no_file(export, tmp_path):
    """With another split the JSONL of a side that nothing is on any more goes."""
    first = persona(export, "Tomas Orr", tmp_path / "out", vocab_size=500, val=0.3)
    again = persona(export, "Tomas Orr", tmp_path / "out", vocab_size=500, val=0.0)
    assert (set(first.jsonl), set(again.jsonl)) == ({"train", "val"}, {"train"})
    assert not (tmp_path / "out" / "val.jsonl").exists()


def test_what_is_hidden_later_is_in_no_file(export, tmp_path):
    """The results before, which have the name in their texts, are not kept for those who read them."""
    out = tmp_path / "out"
    options = {"vocab_size": 600, "max_length": 128, "transcripts": True}
    assert any("walnut" in str(row) for row in persona(export, "Tomas Orr", out, **options).windows)
    again = persona(export, "Tomas Orr", out, names=["walnut"], **options)
    assert not [path for path in out.rglob("*") if path.name in ("_replaced", "_unfinished")]
    assert not any("walnut" in str(row) for row in again.windows)


def test_a_killed_jsonl_is_the_old_one_or_the_new_one(export, tmp_path, monkeypatch):
    """The files of the splits and their receipt are replaced together."""
    windows = [persona(export, "Tomas Orr", tmp_path / str(val), vocab_size=500, val=val).windows for val in (0.3, 0.0)]
    for name, docs in zip(("old", "new"), windows, strict=True):
        write_jsonl(docs, str(tmp_path / name))
    old, new = (bytes_of(tmp_path / name) for name in ("old", "new"))
    out, seen = tmp_path / "out", set()
    for _ in kills(monkeypatch, tmp_path / "old", out, lambda: write_jsonl(windows[1], str(out))):
        beside.recover(out)
        found = {name: data for name, data in bytes_of(out).items() if not name.startswith("_unfinished")}
        seen.add([old, new].index(found))
        write_jsonl(windows[1], str(out))
        assert bytes_of(out) == new
    assert seen == {0, 1}


@pytest.mark.parametrize("name", ["train.jsonl", "test.jsonl"])
def test_a_jsonl_of_others_is_kept(tmp_path, name):
    """Neither written over, nor deleted because nothing is on its side."""
    lines = [f"01/03/2024, 1{n}:00 - {who}: {n} words of a talk" for n in range(9) for who in NAMES[:2]]
    (tmp_path / "chat.txt").write_text("\n".join(lines) + "\n")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / name).write_text("mine")
    with pytest.raises(StaleOutput, match=f"holds {name}, which dataprep did not write; choose another folder as out"):
        persona(str(tmp_path / "chat.txt"), NAMES[1], tmp_path / "out", format="whatsapp", vocab_size=300)
    assert (tmp_path / "out" / name).read_text() == "mine"


def test_who_did_not_agree_is_not_in_it(export, tmp_path):
    """Messages of people on the list go, and what they asked is not answered."""
    (tmp_path / "refused.txt").write_text("Noor Telle\n")
    result = persona(export, "Tomas Orr", tmp_path / "out", vocab_size=500, refused=str(tmp_path / "refused.txt"))
    messages = dp.open_dataset(str(tmp_path / "out" / "messages"))
    assert len(set(messages.table()["author"].to_pylist())) == 2
    assert result.windows.count


def test_what_does_not_work_is_one_sentence(export, tmp_path):
    """Nobody of that name, no chat at all, nothing answered."""
    with pytest.raises(PlanError, match=r"person='Tom' must be the name of an author; the authors are \w+ \w+ \(\d"):
        persona(export, "Tom", tmp_path / "out")
    (tmp_path / "refused.txt").write_text("tomas orr\n")
    with pytest.raises(PlanError, match="'Tomas Orr' is on the list of people who refused consent"):
        persona(export, "Tomas Orr", tmp_path / "out", refused=str(tmp_path / "refused.txt"))
    (tmp_path / "page.txt").write_text("This is a page of text, and no chat.\n")
    with pytest.raises(PlanError, match="these files have no authors"):
        persona(str(tmp_path / "page.txt"), "Tom", tmp_path / "out")
    lone = tmp_path / "WhatsApp Chat with Ann.txt"
    lone.write_text("03/05/2024, 09:12 - Ann: <Media omitted>\n03/05/2024, 09:13 - Teo: anybody?\n")
    with pytest.raises(PlanError, match="'Ann' has no text left"):
        persona(str(lone), "Ann", tmp_path / "out")


def test_command(export, tmp_path, dataprep):
    """`dataprep persona` does it in one command, and says what came out."""
    given = (export, "--person", "Tomas Orr", "--out", tmp_path / "out", "--vocab-size", 500)
    _, done, _ = dataprep("persona", *given)
    assert "answers in" in done
    assert "0612345678" not in (tmp_path / "out" / "train.jsonl").read_text()
    dataprep("persona", *given, "--keep-pii")
    assert "0612345678" in (tmp_path / "out" / "train.jsonl").read_text()


def test_transcripts_have_the_same_split(made):
    """All conversations are in the transcripts; those held out in the windows are held out there, and only those."""
    result, out = made
    assert result.transcripts is not None
    docs = dp.open_dataset(str(out / "transcripts")).table(["id", "text"]).to_pylist()
    assert len(docs) == len(result.transcripts) == 150
    windows = result.windows.table(["conversation", "side"]).to_pylist()
    held = {row["conversation"]: row["side"] for row in windows}
    assert len(held) > 100
    tok = dp.Tokenizer.load(out / "tokenizer")
    for number, side in enumerate(("train", "val", "test")):
        split = result.transcripts.split(side)
        there = {split.provenance(k).id for k in range(len(split))}
        assert {i for i in held if i in there} == {i for i, found in held.items() if found == number}
        texts = {tok.decode(split.document(k)) for k in range(len(split))}
        assert texts == {d["text"] for d in docs if d["id"] in there}


def test_from_exports_to_a_model_to_talk_to(export, tmp_path, dataprep):
    """`--train` makes two models and a report, and says how to talk; the second time nothing is done; --init-from."""
    pytest.importorskip("torch")
    out = tmp_path / "out"
    given = (export, "--person", "Tomas Orr", "--out", out, "--vocab-size", 500, "--val", 0.1, "--max-length", 96)
    small = ("--train", "--set", "model.n_layers=1", "--set", "model.d_model=32", "--set", "steps=3")
    code, said, err = dataprep("persona", *given, *small)
    assert code == 0, err
    assert "loss on held-out answers" in said
    assert f"to talk to it: dataprep chat {out}/model" in said
    assert dataprep("chat", out / "model", "--say", "coming?", "--max-tokens", 5)[0] == 0
    before = {p: p.stat().st_mtime_ns for p in out.rglob("*.pt")}
    assert dataprep("persona", *given, *small)[0] == 0
    assert before == {p: p.stat().st_mtime_ns for p in out.rglob("*.pt")}
    assert len(before) == 2
    again = (export, "--person", "Tomas Orr", "--out", tmp_path / "more", "--val", 0.1, "--train", "--set", "steps=2")
    code, said, err = dataprep("persona", *again, "--init-from", out / "base")
    assert code == 0, err
    from dataprep.inference.chat_model import ChatModel

    assert "32 wide, context 96 tokens" in ChatModel.load(tmp_path / "more" / "model").card[0]
    code, _, err = dataprep("persona", *given, "--preset", "tiny")
    assert (code, "--preset applies only to training; add --train" in err) == (1, True)
    code, _, err = dataprep("persona", *given, "--train", "--replay", 1)
    assert (code, "--replay 1.0 must be a share" in err) == (1, True)


def test_forgotten_is_also_not_context(export, tmp_path):
    """A message that was asked away is in no window, and not in one that repeats it as context."""
    out = tmp_path / "out"
    persona(export, "Tomas Orr", out, vocab_size=500, max_length=160)
    messages = dp.open_dataset(str(out / "messages")).table(["id", "text"]).to_pylist()
    texts = dp.open_dataset(str(out / "windows")).table(["text"])["text"].to_pylist()
    once = (m for m in messages if sum(m["text"] in other["text"] for other in messages) == 1)
    wanted = next(m for m in once if sum(m["text"] in t for t in texts) > 1)
    forget(str(out), [wanted["id"]])
    tok, shards = dp.Tokenizer.load(out / "shards"), dp.Shards.open(out / "shards")
    left = dp.open_dataset(str(out / "windows")).table(["text"])["text"].to_pylist()
    assert 0 < len(left) < len(texts)
    assert not any(wanted["text"] in t for t in left)
    assert not any(wanted["text"] in tok.decode(shards.document(k)) for k in range(len(shards)))
    assert len(shards) == len(left)


def test_dry_run_shows_and_writes_nothing(export, tmp_path, dataprep):
    """`--dry-run` tells what each stage would drop and change, with examples, and leaves no folder."""
    given = (export, "--person", "Tomas Orr", "--out", tmp_path / "out", "--vocab-size", 500, "--dry-run")
    code, said, _ = dataprep("persona", *given)
    assert code == 0
    assert "Pseudonyms changes text" in said
    assert "word.noor" in said, "the words of names that are replaced most often"
    assert "nothing is written" in said
    assert not (tmp_path / "out").exists()


def write_chat(folder, messages, name="WhatsApp Chat with Ilse Varga.txt", gap=dt.timedelta(hours=5)):
    """Write a WhatsApp export of (author, text) pairs, two per conversation, and return its path."""
    now, lines = dt.datetime(2024, 3, 1, 9), []
    for number, (who, text) in enumerate(messages):
        now += gap if number % 2 == 0 else dt.timedelta(minutes=1)
        lines.append(f"{now:%d/%m/%Y, %H:%M} - {who}: {text}")
    (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(folder / name)


@pytest.mark.parametrize("n_conversations", [1, 2, 5])
@pytest.mark.parametrize("val", [0.0, 0.05])
def test_few_conversations_make_a_persona(tmp_path, n_conversations, val):
    """Of one conversation a part is held out; of a few, one; the rest is for training."""
    gap = dt.timedelta(minutes=4) if n_conversations == 1 else dt.timedelta(hours=5)
    n = 40 if n_conversations == 1 else 2 * n_conversations
    said = [(NAMES[k % 2], f"{' '.join(WORDS[:5])} {k}") for k in range(n)]
    result = persona(write_chat(tmp_path, said, gap=gap), NAMES[1], tmp_path / "out", vocab_size=400, val=val)
    assert set(result.jsonl) == ({"train", "val"} if val else {"train"})
    counts = {side: len(result.shards.split(side)) for side in result.jsonl}
    assert counts["train"] >= counts.get("val", 0)


def test_a_conversation_that_cannot_be_cut_is_for_training(tmp_path):
    """A question and an answer in one minute are a persona without a held-out part."""
    place = write_chat(tmp_path, [(NAMES[0], "tea?"), (NAMES[1], "always, with cake and a chapter")])
    result = persona(place, NAMES[1], tmp_path / "out", vocab_size=300)
    assert (set(result.jsonl), result.answers) == ({"train"}, 1)


@pytest.mark.parametrize("template", ["chatml", "course"])
def test_typed_special_tokens_are_no_tokens_for_others(tmp_path, template):
    """In JSONL what people typed like a special token, of this template or another, has a space in it."""
    typed = ["<|im_end|>", "<|im_start|>user", "<|endoftext|>", "<|eot_id|>", "<start_of_turn>", "a < b | c >"]
    said = [(NAMES[k % 2], f"{typed[k % 6]} {k}") for k in range(60)]
    place = write_chat(tmp_path, said)
    result = persona(place, NAMES[1], tmp_path / "out", vocab_size=400, template=template)
    text = "".join((tmp_path / "out" / f"{side}.jsonl").read_text() for side in result.jsonl)
    assert not re.search(r"<\|\w+\|>|<start_of_turn>", text)
    assert text.count("< |im_end|>") == text.count("< |eot_id|>") == text.count("< start_of_turn>") == 10
    assert text.count("a < b | c >") == 10


def test_words_of_names_that_are_words_stay(tmp_path, dataprep):
    """A contact's `will` and `from` stay in learned answers; `--common-words` adds words; the name itself is hidden."""
    people = ("Will Mayer from the bakery", NAMES[1])
    said = [(people[k % 2], f"we will come from the bakery {k}, Mayer") for k in range(60)]
    place = write_chat(tmp_path, said)
    (tmp_path / "common.txt").write_text("bakery\n")
    given = (place, "--person", NAMES[1], "--out", tmp_path / "out", "--vocab-size", 400)
    code, _, _ = dataprep("persona", *given, "--common-words", tmp_path / "common.txt")
    assert code == 0
    assert re.search(r"we will come from the bakery \d+, Person-\w+", (tmp_path / "out" / "train.jsonl").read_text())


def test_a_large_vocabulary_is_stored_as_uint32(tmp_path, caplog):
    """A vocabulary over 65,536 ids makes shards of uint32, which is logged; JSONL is written before."""
    pairs = [(bytes([a]), bytes([b])) for a in range(256) for b in range(256)]
    tok = dp.Tokenizer.from_merges(pairs, special=["<|im_start|>", "<|im_end|>"])
    said = [(NAMES[k % 2], f"{' '.join(WORDS[:5])} {k}") for k in range(60)]
    result = persona(write_chat(tmp_path, said), NAMES[1], tmp_path / "out", tokenizer=tok, val=0)
    assert result.shards.manifest.dtype == "uint32"
    assert "stored as uint32" in caplog.text
    assert len(lines_of(result.jsonl["train"])) == len(result.shards.split("train"))


@pytest.mark.parametrize("name", ["user", "User", "assistant", "system"])
def test_names_that_are_words_of_the_program(tmp_path, name):
    """An author whose name is a word that templates and files have is a person as others are; the audit passes."""
    said = [((NAMES[1], name)[k % 2 == 0], f"{' '.join(WORDS[:5])} {k}, {name}") for k in range(40)]
    result = persona(write_chat(tmp_path, said), NAMES[1], tmp_path / "out", vocab_size=400)
    assert result.answers == 20


def test_a_given_tokenizer_gets_the_marks_of_the_template(export, tmp_path, caplog):
    """Its ids stay, so that a model of it can be trained on the shards; the marks follow."""
    tok = dp.Tokenizer.from_merges([(b"t", b"h"), (b"th", b"e")])
    made = persona(export, "Tomas Orr", tmp_path / "out", tokenizer=tok, max_length=256, template="chatml")
    found = dp.Tokenizer.load(tmp_path / "out" / "tokenizer")
    assert found.hash == tok.extended("chatml").hash
    assert (found.vocab, found.merges, found.eot) == (tok.vocab, tok.merges, tok.eot)
    assert made.shards.vocab_size == tok.vocab_size + 2
    assert "which are added after its last id: <|im_end|>, <|im_start|>" in caplog.text


def one_talk(folder, n, pauses):
    """Write a talk of n questions and answers; pauses: minutes before each message, from a function of its number."""
    now, lines = dt.datetime(2024, 3, 1, 9), []
    for k in range(2 * n):
        now += dt.timedelta(minutes=pauses(k))
        who, what = (("Ann Lee", "question"), ("Mae Holt", "answer"))[k % 2]
        lines.append(f"{now:%d/%m/%Y, %H:%M} - {who}: {what} {k // 2}{'?' * (1 - k % 2)}")
    (folder / "WhatsApp Chat with Ann Lee.txt").write_text("\n".join(lines) + "\n")
    return str(folder / "WhatsApp Chat with Ann Lee.txt")


@pytest.mark.parametrize("pauses", ["equal", "random", "slow answers"])
def test_a_single_talk_keeps_its_questions(tmp_path, pauses):
    """A talk is cut only before a question: each answer follows its own, and about the share is held out."""
    rng = random.Random(2)
    minutes = {"equal": lambda k: 1, "random": lambda k: rng.randrange(21), "slow answers": lambda k: 1 + 30 * (k % 2)}
    place = one_talk(tmp_path, 40, minutes[pauses])
    result = persona(place, "Mae Holt", tmp_path / "out", vocab_size=300, transcripts=True)
    rows = {side: lines_of(path) for side, path in result.jsonl.items()}
    learned = dict.fromkeys(rows, 0)
    for side, found in rows.items():
        for row in found:
            for question, answer in zip(row[::2], row[1::2], strict=True):
                assert question["content"] == f"question {answer['content'].split()[1]}?"
                learned[side] += answer.get("weight", 1)
    assert sum(learned.values()) == 40
    assert 1 <= learned["val"] <= 4
    assert len(rows["val"]) == 1
    assert len(result.transcripts.split("val")) == 1


def test_a_talk_that_is_cut_is_not_cut_again(tmp_path):
    """A second run writes nothing; with another share, the cut is another one."""
    place, out = one_talk(tmp_path, 40, lambda k: 1), tmp_path / "out"
    options = {"vocab_size": 300, "key_file": str(tmp_path / "people.key")}
    (tmp_path / "people.key").write_text("a key that nobody can guess")
    held = len(persona(place, "Mae Holt", out, **options).shards.split("val").document(0))
    before = {p: p.stat().st_mtime_ns for p in out.rglob("*") if p.is_file() and "_replaced" not in p.parts}
    persona(place, "Mae Holt", out, **options)
    assert before == {p: p.stat().st_mtime_ns for p in out.rglob("*") if p.is_file()}
    other = persona(place, "Mae Holt", out, val=0.3, **options)
    assert len(other.shards.split("val").document(0)) > 3 * held


def test_the_owner_of_the_phone(tmp_path, dataprep):
    """--me names the person of a backup that says Me, and whom to imitate; without a name the authors are listed."""
    texts = [("1" if k % 2 else "2", f"message {k} of the day") for k in range(80)]
    lines = (
        f'<sms address="+33612345678" date="{1709370000000 + k * 60_000}" type="{kind}" body="{body}" '
        'contact_name="Ann Lee"/>'
        for k, (kind, body) in enumerate(texts)
    )
    place = tmp_path / "sms.xml"
    place.write_text(f'<?xml version="1.0"?>\n<smses count="80">{"".join(lines)}</smses>\n')
    code, _, err = dataprep("persona", place, "--out", tmp_path / "none")
    assert (code, err.count("\n")) == (1, 1)
    assert "name the person to imitate with --person; the authors are " in err
    assert "Me (40)" in err
    assert not (tmp_path / "none").exists()
    code, done, err = dataprep("persona", place, "--me", "Mae Holt", "--out", tmp_path / "out", "--vocab-size", 300)
    assert code == 0, err
    assert "answers in" in done
    rows = lines_of(tmp_path / "out/train.jsonl")
    assert all(int(m["content"].split()[1]) % 2 == 0 for row in rows for m in row if m["role"] == "assistant")


def test_chats_of_very_different_size_are_held_out_by_size(tmp_path):
    """Of one long chat and a short one, or of two long ones, about a twentieth is held out."""
    for name, sizes in (("one", (300, 6)), ("two", (200, 200)), ("many", (300, *[6] * 8))):
        (tmp_path / name).mkdir()
        for i, n in enumerate(sizes):
            said = [(("Ann Lee", "Mae Holt")[k % 2], f"message {k} of {i}") for k in range(n)]
            write_chat(tmp_path / name, said, f"WhatsApp Chat with {i}.txt", gap=dt.timedelta(minutes=5))
        result = persona(str(tmp_path / name), "Mae Holt", tmp_path / f"{name}-out", vocab_size=300)
        rows = {side: lines_of(path) for side, path in result.jsonl.items()}
        learned = {
            side: sum(m.get("weight", 1) for row in found for m in row if m["role"] == "assistant")
            for side, found in rows.items()
        }
        assert sum(learned.values()) == sum(sizes) // 2
        assert 0.025 <= learned["val"] / sum(learned.values()) <= 0.1
