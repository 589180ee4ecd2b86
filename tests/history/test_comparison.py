"""What two results of one input differ in, against sets of their rows; and how the command says it."""

from __future__ import annotations

import json
import os
import shutil
from collections import Counter
from dataclasses import dataclass

import numpy as np
import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st

import dataprep as dp
from dataprep.cli import diff as command
from dataprep.core.model import batch as B
from dataprep.core.model.batch import show_id
from dataprep.errors import CorruptShard, PlanError
from dataprep.history import comparison
from dataprep.history.drop_reasons import UNKNOWN
from dataprep.tokens.vocabulary.tokenizer import Tokenizer

NAMES = ("articles.jsonl", "letters.jsonl.gz", "news.jsonl.zst")


def shorter(limit):
    """Drops what is shorter, and says by which rule."""

    def rule(text):
        return f"under_{limit}" if len(text) < limit else None

    return dp.Filter(rule, version=str(limit))


def shout(text):
    """Another text for some documents."""
    return text.upper() if len(text) > 1_500 else text


@pytest.fixture(scope="module")
def inputs(samples, tmp_path_factory):
    """The sample records, sealed."""
    docs = dp.read([str(samples / name) for name in NAMES])
    return dp.Pipeline().run(docs, out=str(tmp_path_factory.mktemp("inputs") / "ingest"))


@pytest.fixture(scope="module")
def pair(inputs, tmp_path_factory):
    """Two runs over them: long texts once each; and all texts of another filter in two steps, some rewritten."""
    place = tmp_path_factory.mktemp("pair")
    one = dp.Pipeline(shorter(1_000), dp.Exact()).run(inputs, out=str(place / "a" / "clean"))
    two = dp.Pipeline(shorter(800)).run(inputs, out=str(place / "b" / "filter"))
    last = dp.Pipeline(dp.MinHash(threshold=0.8), dp.Map(shout, version="1")).run(two, out=str(place / "b" / "clean"))
    return one, last


def rows(docs):
    """Source and text by id."""
    return {row["id"]: (row["source"], row["text"]) for row in docs.table(["id", "source", "text"]).to_pylist()}


def sums(found):
    """Documents and bytes by source, counted plainly."""
    return {
        source: (len(texts), sum(len(text.encode()) for text in texts))
        for source in {source for source, _ in found}
        if (texts := [text for other, text in found if other == source])
    }


def check_sums(sources, expected):
    """The same numbers."""
    assert {name: (s.docs, s.bytes) for name, s in sources.items()} == sums(expected)


def drop_reasons(docs, also=()):
    """Stage and reason by id, of drop tables."""
    found = [row for one in (docs, *also) for row in one.drops().to_pylist()]
    return {row["id"]: (row["stage"], row["reason"]) for row in found}


def test_lost_and_gained_are_the_differences_of_sets(pair):
    """Documents and bytes, by source, that only one side has, and those that both have, are what Python sets say."""
    one, two = pair
    found, a, b = comparison.compare(str(one.url), str(two.url)), *map(rows, pair)
    assert a.keys() - b.keys()
    assert b.keys() - a.keys()
    check_sums(found.lost.sources, [a[i] for i in a.keys() - b.keys()])
    check_sums(found.gained.sources, [b[i] for i in b.keys() - a.keys()])
    check_sums(found.both, [b[i] for i in b.keys() & a.keys()])
    changed = [i for i in a.keys() & b.keys() if a[i][1] != b[i][1]]
    assert sum(s.docs for s in found.changed.values()) == len(changed) > 0
    assert sum(s.bytes for s in found.changed.values()) == sum(
        len(b[i][1].encode()) - len(a[i][1].encode()) for i in changed
    )
    assert found.warnings == []


def test_reasons_are_those_of_the_other_side(pair):
    """What was lost went by a stage of B, the filter step before the last included; what was gained, by one of A."""
    one, two = pair
    found, a, b = comparison.compare(str(one.url), str(two.url), examples=2), *map(rows, pair)
    step = dp.open_dataset(str(two.url).replace("clean", "filter"))
    by_b, by_a = drop_reasons(two, [step]), drop_reasons(one)
    assert found.lost.reasons == Counter(by_b[i] for i in a.keys() - b.keys())
    assert found.gained.reasons == Counter(by_a[i] for i in b.keys() - a.keys())
    assert {reason for _, reason in found.gained.reasons} == {"under_1000"}
    assert {stage for stage, _ in found.lost.reasons} == {"MinHash"}
    for side, mine, why in ((found.lost, a, by_b), (found.gained, b, by_a)):
        for reason, examples in side.examples.items():
            assert len(examples) == min(2, side.reasons[reason])
            for _, id_, line in examples:
                assert why[id_] == reason
                assert mine[id_][1].strip().startswith(line)


def test_turned_round_it_is_the_other_way_round(pair):
    """From B to A what was lost is gained."""
    urls = [str(docs.url) for docs in pair]
    there, back = comparison.compare(*urls), comparison.compare(*reversed(urls))
    assert (there.lost, there.gained) == (back.gained, back.lost)


def test_one_and_the_same_differs_in_nothing(pair):
    """A Dataset against itself."""
    url = str(pair[0].url)
    found = comparison.compare(url, url)
    assert not found.lost.sources
    assert not found.gained.sources
    assert not found.changed
    assert sum(s.docs for s in found.both.values()) == pair[0].count


def test_tokens_of_what_was_lost(pair, tmp_path):
    """Where both runs have shards, lost and gained tokens are what encoding those documents gives."""
    tok = dp.train_bpe(pair[0], vocab_size=400, val=0.1)
    urls = []
    for name, docs in zip("ab", pair, strict=True):
        home = tmp_path / os.fsdecode(name.encode() + b"\xff")  # no UTF-8
        shutil.copytree(str(docs.url), home / "clean")
        urls.append(str(home / "clean"))
        if name == "b":
            assert not comparison.compare(*([urls[0], str(pair[1].url)])).has_tokens
        dp.encode(dp.open_dataset(urls[-1]), tok, out=str(home / "encode"), val=0.1)
    found, a, b = comparison.compare(*urls), *map(rows, pair)
    assert found.has_tokens
    for side, gone in (
        (found.lost, [a[i] for i in a.keys() - b.keys()]),
        (found.gained, [b[i] for i in b.keys() - a.keys()]),
    ):
        for source, s in side.sources.items():
            assert s.tokens == sum(len(tok.encode(text)) + 1 for other, text in gone if other == source)


@dataclass(frozen=True)
class EveryThird:
    """Keeps a third of the documents, by the length of their texts."""

    number: int

    def __call__(self, text):
        return len(text) % 3 == self.number


def test_each_dataset_has_its_own_tokens(tmp_path):
    """Of two Datasets of one size in one folder, each has the tokens of the shards that were made from it."""
    texts = [chr(0x61 + i) * (3 + i) for i in range(18)]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps({"text": one}) + "\n" for one in texts))
    place, tok = tmp_path / "run", Tokenizer.of_bytes()
    for number, name in enumerate("ab"):
        docs = dp.Pipeline(dp.Filter(EveryThird(number))).run(
            dp.read(str(tmp_path / "in.jsonl")), out=str(place / name)
        )
        dp.encode(docs, tok, out=str(place / f"tokens-of-{name}"), val=0.2)
        assert comparison.compare(str(place / "a"), str(place / name)).has_tokens
        if name == "a":
            two = dp.Pipeline(dp.Filter(EveryThird(2))).run(dp.read(str(tmp_path / "in.jsonl")), out=str(place / "c"))
            assert two.count == docs.count
            assert not comparison.compare(str(place / "a"), str(place / "c")).has_tokens
    place = place.rename(tmp_path / "moved")
    found = comparison.compare(str(place / "a"), str(place / "b"))
    assert found.has_tokens
    for number, side in enumerate((found.lost, found.gained)):
        assert sum(one.tokens for one in side.sources.values()) == sum(
            len(text) + 1 for text in texts if len(text) % 3 == number
        )


def test_a_moved_run_still_knows_its_steps(inputs, tmp_path):
    """After a run's folder was moved, reasons are found in the steps beside the last one."""
    two = dp.Pipeline(shorter(900)).run(inputs, out=str(tmp_path / "run" / "filter"))
    dp.Pipeline(dp.Exact()).run(two, out=str(tmp_path / "run" / "clean"))
    (tmp_path / "run").rename(tmp_path / "moved")
    found = comparison.compare(str(inputs.url), str(tmp_path / "moved"))
    assert {reason for _, reason in found.lost.reasons} == {"under_900", "duplicate"}


def test_other_inputs_are_refused_or_named(samples, inputs, tmp_path):
    """An id with two sources is refused in one sentence; other content under the same names is warned of."""
    other = dp.Pipeline().run(dp.read([str(samples / name) for name in reversed(NAMES)]), out=str(tmp_path / "other"))
    with pytest.raises(PlanError, match="were made from different input"):
        comparison.compare(str(inputs.url), str(other.url))
    for name in NAMES:
        shutil.copy(samples / name, tmp_path / name)
    with (tmp_path / "articles.jsonl").open("a") as f:
        f.write('{"text": "One more."}\n')
    more = dp.Pipeline().run(dp.read([str(tmp_path / name) for name in NAMES]), out=str(tmp_path / "more"))
    found = comparison.compare(str(inputs.url), str(more.url))
    assert len(found.warnings) == 1
    assert "file 0 was articles.jsonl in A and articles.jsonl in B, which differ" in found.warnings[0]
    assert found.gained.reasons == {UNKNOWN: 1}


def test_a_damaged_drop_table_is_named(inputs, tmp_path):
    """A drop table that is gone is said, not taken for one without rows."""
    docs = dp.Pipeline(shorter(900)).run(inputs, out=str(tmp_path / "clean"))
    table = next((tmp_path / "clean" / "drops").iterdir())
    table.unlink()
    with pytest.raises(CorruptShard, match="is missing"):
        comparison.compare(str(inputs.url), str(docs.url))


def cut_up(numbers, n):
    """Batches of n rows of ascending ids."""
    ids = sorted(numbers)
    return [B.make(ids[i : i + n], ["x"] * len(ids[i : i + n]), "s") for i in range(0, len(ids), n)]


@given(st.sets(st.integers(0, 60)), st.sets(st.integers(0, 60)), st.integers(1, 9), st.integers(1, 9))
def test_streams_are_cut_at_the_same_ids(one, two, n, m):
    """However both are cut into batches, each id comes once, and one that both have in both halves of a pair."""
    pairs = [(B.ids(a), B.ids(b)) for a, b in comparison.aligned(cut_up(one, n), cut_up(two, m))]
    assert [int(i) for a, _ in pairs for i in a] == sorted(one)
    assert [int(i) for _, b in pairs for i in b] == sorted(two)
    assert {int(i) for a, b in pairs for i in np.intersect1d(a, b)} == one & two
    assert all(len(a) <= n and len(b) <= m for a, b in pairs)


def test_ids_out_of_order_are_refused():
    """A stream that goes back is not compared."""
    with pytest.raises(PlanError, match="ids are not in ascending order"):
        list(comparison.aligned([B.make([3], ["x"], "s"), B.make([2], ["x"], "s")], []))


@pytest.fixture
def diff(monkeypatch, capsys):
    """The command as a person has it, its errors as `cli.main` gets them: what it prints."""
    monkeypatch.setenv("COLUMNS", "160")
    app = typer.Typer()
    app.command()(command.diff)

    def call(*words):
        app(list(map(str, words)), standalone_mode=False)
        return capsys.readouterr().out

    return call


def test_the_command_shows_sources_reasons_and_examples(pair, diff, monkeypatch):
    """`diff A B` has a row a source, the reasons with their numbers, and ids that can be typed into `why`."""
    one, two = pair
    found = comparison.compare(str(one.url), str(two.url), 1)
    said = diff(one.url, str(two.url).removesuffix("/clean"), "-n", 1)
    for word in ("articles", "letters", "news", "all", "lost: in A, not in B", "gained: in B, not in A"):
        assert word in said, word
    monkeypatch.setenv("COLUMNS", "60")
    assert "articles" in diff(one.url, two.url), "a name stays whole"
    for side in (found.lost, found.gained):
        for (stage, reason), n in side.reasons.items():
            assert f"{n:>9,} {stage}: {reason}" in said
        for ((_, id_, _),) in side.examples.values():
            assert show_id(id_) in said


def test_the_command_refuses_what_is_no_dataset(tmp_path, pair, diff):
    """A folder without one is named in a sentence."""
    with pytest.raises(PlanError, match="contains no sealed Dataset"):
        diff(tmp_path, pair[0].url)
