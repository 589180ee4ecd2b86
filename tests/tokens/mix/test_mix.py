"""Mixtures: the shares asked for come out, evenly spread, and what cannot be had is said."""

from __future__ import annotations

import json
import logging
import os

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dataprep as dp
import laws
from dataprep.errors import CorruptShard, PlanError, StaleOutput
from dataprep.store import files
from dataprep.tokens.mix.mix import Mix, _fill
from dataprep.tokens.shards.shard import Shards
from dataprep.tokens.shards.verify import verify_shards
from dataprep.tokens.shards.writer import save

WORDS = ["rain", "north", "winter", "south", "long", "colder"]


def folder(place, n, seed=0, **more):
    """`n` documents of 5 to 40 tokens; the first token says which one it is."""
    rng = np.random.default_rng(seed)
    docs = [[i % 90, *rng.integers(0, 90, rng.integers(5, 40))] for i in range(n)]
    return save(place, {"train": docs, "val": docs[:3]}, vocab_size=100, eot=99, shard_tokens=700, **more)


@pytest.fixture
def two(tmp_path):
    """A large and a small source."""
    return {"web": folder(tmp_path / "web", 400), "chat": folder(tmp_path / "chat", 60, seed=1)}


def by_source(shards):
    """(source, document's tokens) in the order of the training shards."""
    rows = []
    for i, entry in enumerate(shards.shards):
        table = pq.read_table(shards.path / f"{entry.name}.docs.parquet")
        stops = table["stop"].to_pylist()
        for source, start, stop in zip(table["source"].to_pylist(), table["start"].to_pylist(), stops, strict=True):
            rows.append((source.partition("/")[0], shards.memmaps()[i][start : stop + 1].tolist()))
    return rows


def test_shares_come_out_at_every_stretch(two, tmp_path):
    """Asked for 70 and 30 %: the whole and each tenth of it have these shares, within a document or two."""
    shards = Mix({"web": 0.7, "chat": 0.3}, max_epochs=10).write(
        two, tmp_path / "out", tokens=8_000, shard_tokens=1_000
    )
    rows = by_source(shards.split("train"))
    total = sum(len(doc) for _, doc in rows)
    assert abs(total - 8_000) <= 2 * 20
    ends = np.cumsum([len(doc) for _, doc in rows])
    chat = np.cumsum([len(doc) if source == "chat" else 0 for source, doc in rows])
    assert np.abs(chat - 0.3 * ends).max() < 80
    assert len(shards.split("train").shards) >= 8
    assert verify_shards(shards.path) == []


def test_documents_come_whole_and_as_often_as_planned(two, tmp_path):
    """2.6 epochs of a source: each document two or three times, a whole epoch before any comes again."""
    small = two["chat"].split("train")
    wanted = int(2.6 * small.n_tokens)
    mix = Mix({"web": two["web"].split("train").n_tokens, "chat": wanted}, max_epochs=4)
    shards = mix.write(two, tmp_path / "out", tokens=two["web"].split("train").n_tokens + wanted)
    rows = [doc for source, doc in by_source(shards.split("train")) if source == "chat"]
    known = [[*small.document(k).tolist(), 99] for k in range(len(small))]
    assert rows[: len(known)] == known
    assert rows[len(known) : 2 * len(known)] == known
    last = rows[2 * len(known) :]
    assert last == [doc for doc in known if doc in last]
    assert abs(sum(map(len, last)) - 0.6 * small.n_tokens) <= 20  # half of the longest document
    web = [doc for source, doc in by_source(shards.split("train")) if source == "web"]
    assert web == [[*two["web"].document(k).tolist(), 99] for k in range(400)]


def test_lock_says_what_was_asked_and_what_came_out(two, tmp_path, caplog):
    """The lockfile has both; a source that would pass four epochs is capped, the other takes the rest: it is said."""
    with caplog.at_level(logging.WARNING, "dataprep"):
        shards = Mix({"web": 0.5, "chat": 0.5}).write(two, tmp_path / "out", tokens=12_000)
    lock = files.read_json(str(tmp_path / "out" / "mixture.lock.json"))
    assert lock == shards.manifest.mixture
    assert lock["asked"] == {
        "weights": {"web": 0.5, "chat": 0.5}, "temperature": None, "max_epochs": 4.0, "tokens": 12_000, "seed": 0,
    }  # fmt: skip
    web, chat = lock["sources"]
    assert (chat["source"], chat["asked"], chat["epochs"]) == ("chat", 0.5, 4.0)
    assert chat["got"] == 4 * two["chat"].split("train").n_tokens
    assert 12_000 - 40 < web["got"] + chat["got"] == lock["tokens"] <= 12_000
    assert "chat is repeated 4.0 times" in caplog.text


def test_a_source_of_other_content(two, tmp_path, caplog):
    """Of the same folders and shares, the mixture is written again, and a warning names the source."""
    mix, out = Mix({"web": 3, "chat": 1}), tmp_path / "out"
    mix.write(two, out)
    folder(tmp_path / "chat", 50, seed=2)
    with pytest.raises(StaleOutput, match="a different recipe"):
        Mix({"web": 2, "chat": 1}).write(two, out)
    os.rename(tmp_path / "chat", tmp_path / "moved")
    with pytest.raises(StaleOutput, match="a different recipe"):
        mix.write({**two, "chat": str(tmp_path / "moved")}, out)
    os.rename(tmp_path / "moved", tmp_path / "chat")
    mix.write(two, out)
    assert caplog.messages == ["1 of 2 input files changed since the last run: chat; writing the mixture again"]
    mix.write(two, tmp_path / "fresh")
    laws.same_shards(out, tmp_path / "fresh")


def test_same_bytes_whoever_works_and_again(two, tmp_path):
    """Two processes give the files of one; a second call opens what is there; other weights are refused, or replace."""
    mix = Mix({"web": 3, "chat": 1})
    mix.write(two, tmp_path / "one", tokens=9_000, shard_tokens=2_000)
    mix.write(two, tmp_path / "two", tokens=9_000, shard_tokens=2_000, runner=laws.TWO)
    laws.same_bytes(tmp_path / "one", tmp_path / "two")
    before = {n: os.stat(tmp_path / "one" / n).st_mtime_ns for n in os.listdir(tmp_path / "one")}
    mix.write(two, tmp_path / "one", tokens=9_000, shard_tokens=2_000)
    assert before == {n: os.stat(tmp_path / "one" / n).st_mtime_ns for n in before}
    with pytest.raises(StaleOutput, match="a different recipe"):
        Mix({"web": 1, "chat": 1}).write(two, tmp_path / "one", tokens=9_000)
    again = Mix({"web": 1, "chat": 1}).write(two, tmp_path / "one", tokens=9_000, replace=True)
    assert again.n_tokens != Shards.open(tmp_path / "two").n_tokens


def test_killed_and_resumed_is_uninterrupted(two, tmp_path):
    """Stopped after the first shard, begun again: the bytes of a run that was not stopped."""
    mix = Mix(temperature=2)
    mix.write(two, tmp_path / "whole", tokens=9_000, shard_tokens=2_000)
    with pytest.raises(KeyboardInterrupt):
        mix.write(two, tmp_path / "cut", tokens=9_000, shard_tokens=2_000, runner=laws.Stops(at="mix"))
    mix.write(two, tmp_path / "cut", tokens=9_000, shard_tokens=2_000)
    laws.same_bytes(tmp_path / "whole", tmp_path / "cut")


def test_one_folder_with_several_sources(tok, tmp_path):
    """The sources of an encoded Dataset are mixed by their own names; held-out sides are taken once, as they are."""
    rng = np.random.default_rng(0)
    parts = {"web": 300, "books": 40}
    for name, n in parts.items():
        texts = [" ".join(rng.choice(WORDS, rng.integers(5, 60))) for _ in range(n)]
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps({"text": t}) + "\n" for t in texts))
    docs = dp.read({name: str(tmp_path / f"{name}.jsonl") for name in parts})
    whole = dp.encode(docs, tok, out=tmp_path / "shards", split=dp.Split(val=0.1, test=0.1))
    shards = Mix({"web": 1, "books": 1}, max_epochs=6).write(tmp_path / "shards", tmp_path / "out", tokens=6_000)
    tokens = {name: sum(len(d) for s, d in by_source(shards.split("train")) if s == name) for name in parts}
    assert all(abs(n - 3_000) < 70 for n in tokens.values())
    for side in ("val", "test"):
        assert by_source(shards.split(side)) == by_source(whole.split(side))
    assert dp.Tokenizer.load(tmp_path / "out").hash == tok.hash
    assert shards.n_bytes > 0


def test_masks_are_mixed_with_their_tokens(tmp_path):
    """A source without masks is learned whole beside one that has them."""
    docs = {"train": [[1, 2, 3], [4, 5]] * 30}
    sets = {
        "chat": save(tmp_path / "a", docs, vocab_size=100, eot=99, masks={"train": [[0, 1, 1, 1], [0, 0, 1]] * 30}),
        "web": save(tmp_path / "b", docs, vocab_size=100, eot=99),
    }
    shards = Mix({"chat": 1, "web": 1}).write(sets, tmp_path / "out").split("train")
    for tokens, mask in zip(shards.memmaps(), shards.masks(), strict=True):
        table = pq.read_table(tmp_path / "out" / "train-00000.docs.parquet").to_pylist()
        for row in table:
            doc, learned = (a[row["start"] : row["stop"] + 1].tolist() for a in (tokens, mask))
            whole = row["source"].startswith("web")
            assert learned == ([1] * len(doc) if whole else {1: [0, 1, 1, 1], 4: [0, 0, 1]}[doc[0]])


@given(
    st.dictionaries(st.sampled_from("abcde"), st.tuples(st.integers(1, 10**9), st.floats(0.01, 100)), min_size=1),
    st.floats(0.01, 1),
    st.floats(0.5, 8),
)
def test_a_share_is_met_unless_the_source_runs_out(sources, part, max_epochs):
    """All tokens are placed, and sources below their caps share what is left in the proportion asked for."""
    available = {name: n for name, (n, _) in sources.items()}
    weight = sum(w for _, w in sources.values())
    asked = {name: w / weight for name, (_, w) in sources.items()}
    room = {name: int(n * max_epochs) for name, n in available.items()}
    total = int(part * sum(room.values()))
    if total < 1:
        return
    got = _fill(available, asked, total, max_epochs)
    assert abs(sum(got.values()) - total) <= len(got)
    assert all(got[name] <= room[name] for name in got)
    free = [name for name in got if got[name] < room[name] - len(got)]
    if len(free) > 1:
        rates = np.array([(got[n] + 0.5) / asked[n] for n in free])
        slack = np.array([len(got) / asked[n] for n in free])
        assert (np.abs(rates - rates.mean()) <= slack + slack.max() + 1e-6 * rates.mean()).all()


def test_temperature_makes_shares_more_even(two):
    """At 1 the shares are those of the text, at a high temperature nearly equal."""
    plain, warm = (Mix(temperature=t, max_epochs=100).plan(two, tokens=10_000) for t in (1, 1_000))
    sizes = [two[name].split("train").n_tokens for name in two]
    assert [s.share for s in plain.shares] == pytest.approx(np.array(sizes) / sum(sizes), abs=1e-3)
    assert [s.share for s in warm.shares] == pytest.approx([0.5, 0.5], abs=2e-3)
    assert "web" in str(plain)
    assert plain.tokens == 10_000


def test_a_source_of_weight_zero_is_left_out(two, tmp_path):
    """It has no row in the plan, and no document in any split."""
    mixed = Mix({"web": 1, "chat": 0}).write(two, tmp_path / "out", tokens=5_000)
    alone = Mix({"web": 1}).write({"web": two["web"]}, tmp_path / "alone", tokens=5_000)
    assert [s.source for s in Mix({"web": 1, "chat": 0}).plan(two).shares] == ["web"]
    for split in ("train", "val"):
        assert by_source(mixed.split(split)) == by_source(alone.split(split)) != []


@pytest.mark.parametrize(
    ("mix", "tokens", "sentence"),
    [
        (lambda: Mix({"web": 1}), None, "'chat' has no weight"),
        (lambda: Mix({"web": 1, "chat": 1, "book": 1}), None, "there is no source 'book'"),
        (lambda: Mix({"web": 1, "chat": -1}), None, "the weight of 'chat' is -1"),
        (lambda: Mix({"web": 0, "chat": 0.0}), None, "no source has a positive weight"),
        (Mix, None, "needs either weights"),
        (lambda: Mix({"web": 1}, temperature=1), None, "either weights, .* or temperature="),
        (lambda: Mix(temperature=0), None, "temperature=0 must be a positive number"),
        (lambda: Mix({"web": 1, "chat": 1}), 10**9, "cannot be met: 4 epochs of every source are"),
    ],
)
def test_what_cannot_be_met_is_one_sentence(two, mix, tokens, sentence):
    """Names, weights and totals that do not work out are refused before any work."""
    with pytest.raises(PlanError, match=sentence):
        mix().plan(two, tokens)


def test_other_vocabularies_do_not_mix(two, tmp_path):
    """Ids of two tokenizers in one set would be noise; a folder into itself would eat its source."""
    other = save(tmp_path / "o", {"train": [[1, 2]]}, vocab_size=50, eot=49)
    with pytest.raises(PlanError, match="different tokenizers"):
        Mix(temperature=1).plan({**two, "other": other})
    wide = folder(tmp_path / "wide", 9, dtype="uint32")
    with pytest.raises(PlanError, match="web has ids of uint16 and wide of uint32"):
        Mix(temperature=1).plan({**two, "wide": wide})
    with pytest.raises(PlanError, match="is one of the sources"):
        Mix(temperature=1).write(two, two["web"].path)


def test_shares_that_do_not_come_out_are_said(two, tmp_path, caplog):
    """A source that runs out has less than was asked of it: the rest comes from the others, with a warning."""
    mix = Mix({"web": 1, "chat": 3}, max_epochs=2)
    mix.write(two, tmp_path / "out")
    n = Shards.open(two["chat"].path, "train").n_tokens
    assert f"chat gets {200 * n / mix.plan(two).tokens:.1f} % of the tokens, not the requested 75.0 %" in caplog.text
    assert sum(mix.plan(two).weights.values()) == pytest.approx(1)
    caplog.clear()
    Mix({"web": 3, "chat": 1}).write(two, tmp_path / "met", tokens=4_000)
    assert "asked for" not in caplog.text


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("train-00000.docs.parquet", "as the table that was written: "),
        ("train-00000.idx", "document ends do not increase"),
        ("train-00000.bin", "has the id .*, outside the vocabulary of 100"),
    ],
)
def test_damaged_sources_are_one_sentence(two, tmp_path, name, sentence):
    """A file of a source turned into other bytes of the same length is not mixed in."""
    place = two["chat"].path / name
    place.write_bytes(b"\xff" * place.stat().st_size)
    with pytest.raises(CorruptShard, match=sentence):
        Mix(temperature=1).write({"chat": two["chat"].path, "web": two["web"].path}, tmp_path / "out")
    assert not (tmp_path / "out" / "manifest.json").exists()


def test_another_tokenizer_beside_a_source(tok, tmp_path):
    """It would lie beside the mixture, too, and decode nothing of it."""
    (tmp_path / "a.jsonl").write_text(json.dumps({"text": "rain in the north"}) + "\n")
    dp.encode(dp.read(str(tmp_path / "a.jsonl")), tok, out=tmp_path / "s", val=0)
    other = type(tok).from_merges(tok.merges[:90])
    with pytest.raises(StaleOutput, match="holds token shards"):
        other.save(tmp_path / "s")
    (tmp_path / "s" / "tokenizer.json").write_bytes(other.file)
    with pytest.raises(CorruptShard, match="is not the tokenizer that encoded these shards: its hash is .*, not"):
        Mix(temperature=1).write(tmp_path / "s", tmp_path / "out")
    with pytest.raises(CorruptShard, match="is not the tokenizer"):
        dp.tools.export(tmp_path / "s", "nanogpt", tmp_path / "e")


def test_another_lock_file_is_kept(two, tmp_path):
    """A `mixture.lock.json` of somebody else is named before anything is written; a plan is written again."""
    lock = tmp_path / "out" / "mixture.lock.json"
    lock.parent.mkdir()
    lock.write_text('{"mine": 1}')
    with pytest.raises(StaleOutput, match="mixture.lock.json exists and is not the plan of a mixture"):
        Mix({"web": 1, "chat": 1}).write(two, tmp_path / "out", tokens=500)
    assert ([p.name for p in lock.parent.iterdir()], lock.read_text()) == ([lock.name], '{"mine": 1}')
    lock.unlink()
    for tokens in (500, 600):
        Mix({"web": 1, "chat": 1}).write(two, tmp_path / "out", tokens=tokens, replace=True)
    assert json.loads(lock.read_text())["asked"]["tokens"] == 600
