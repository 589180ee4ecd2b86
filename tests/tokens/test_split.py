"""Split: shares, groups, and which documents are held out of few."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dataprep as dp
import laws
from dataprep.core.model import batch as B
from dataprep.core.model.batch import doc_id
from dataprep.errors import PlanError
from dataprep.tokens.split import Split, _near, check_share, sample_rank, side_of, split_of


def is_val(ids, val, seed=0):
    """Whether each document validates."""
    return side_of(ids, val, seed=seed) == 1


IDS = np.concatenate([np.arange(50_000) * 1_871 + doc_id(f, 0) for f in (0, 1, 77, 4_000)]).astype(np.uint64)


@pytest.mark.parametrize("val", [0.0, 0.005, 0.1, 0.5, 1.0])
def test_share_is_the_share_asked_for(val):
    """200,000 ids as readers make them: the rate lies within five standard deviations of `val`."""
    rate = is_val(IDS, val).mean()
    assert abs(rate - val) <= 5 * np.sqrt(val * (1 - val) / len(IDS))


def test_sample_and_split_are_independent():
    """Of the sampled documents the same share is held out as of all; no purpose looks at another's hashes."""
    in_sample = sample_rank(IDS, 0) < np.uint64(0.05 * 2**64)
    for seed in (0, 1):
        rate, n = is_val(IDS[in_sample], 0.1, seed).mean(), in_sample.sum()
        assert abs(rate - 0.1) < 5 * np.sqrt(0.09 / n)
    both = (is_val(IDS, 0.1, 0) & is_val(IDS, 0.1, 1)).mean()  # another seed is another split
    assert abs(both - 0.01) < 5 * np.sqrt(0.01 / len(IDS))


@given(st.lists(st.integers(0, 2**64 - 1), min_size=1), st.floats(0, 1), st.floats(0, 1), st.integers(-3, 2**70))
def test_side_depends_on_the_id_alone(ids, small, large, seed):
    """Alone or among others an id has the same side, and a smaller share lies inside a larger one."""
    small, large = sorted([small, large])
    array = np.array(ids, np.uint64)
    inner, outer = is_val(array, small, seed), is_val(array, large, seed)
    assert [bool(is_val(array[i : i + 1], small, seed)[0]) for i in range(len(ids))] == inner.tolist()
    assert not (inner & ~outer).any()


def test_sides_are_the_same_everywhere():
    """Known answers: the split of a corpus may not move with a version of anything."""
    assert np.flatnonzero(is_val(np.arange(1_000, dtype=np.uint64), 0.005, 0)).tolist() == KNOWN


@given(st.lists(st.integers(0, 2**64 - 1), min_size=1), st.floats(0, 0.5), st.floats(0, 0.5), st.floats(0, 0.5))
def test_a_test_side_moves_no_validation(ids, val, test, more):
    """Validation is the same whatever the test share is, and a larger test share only adds to the smaller one."""
    array = np.array(ids, np.uint64)
    test, more = sorted([test, more])
    sides, larger = side_of(array, val, test), side_of(array, val, more)
    assert ((sides == 1) == is_val(array, val)).all()
    assert ((sides == 1) == (larger == 1)).all()
    assert not ((sides == 2) & (larger != 2)).any()


def test_three_sides_have_their_shares():
    """200,000 ids: each side's rate lies within five standard deviations of its share, and they may not pass 1."""
    rates = np.bincount(side_of(IDS, 0.1, 0.05), minlength=3) / len(IDS)
    assert np.abs(rates - [0.85, 0.1, 0.05]).max() < 5 * np.sqrt(0.15 / len(IDS))
    assert (side_of(IDS, 0.5, 0.5) != 0).all()
    with pytest.raises(PlanError, match=r"val=0.6 and test=0.5 must sum to at most 1"):
        Split(val=0.6, test=0.5)


def grouped(names, **options):
    """The sides of documents with these values in the column `host`."""
    batch = B.make(IDS[: len(names)], ["text"] * len(names), "web", columns={"host": pa.array(names)})
    return Split(group="host", **options).sides(batch)


def test_groups_stay_together():
    """2,000 hosts of 10 documents: each on one side, about as many as asked for; other groups do not matter."""
    names = [f"host-{i % 2_000}" for i in range(20_000)]
    sides = grouped(names, val=0.1, test=0.1)
    assert all(len(set(sides[i::2_000])) == 1 for i in range(2_000))
    assert abs((sides == 1).mean() - 0.1) < 5 * np.sqrt(0.09 / 2_000)
    assert grouped(names[7:8], val=0.1, test=0.1)[0] == sides[7]
    as_numbers, as_words = grouped([1, 2, 3] * 50, val=0.5), grouped(["1", "2", "3"] * 50, val=0.5)
    assert as_numbers.tolist() == as_words.tolist()


def test_a_document_without_a_group_is_alone():
    """Documents with null in the group's column are split by their own ids."""
    none = pa.array([None] * 5_000, pa.string())
    batch = B.make(IDS[:5_000], ["text"] * 5_000, "web", columns={"host": none})
    assert Split(val=0.2, group="host").sides(batch).tolist() == side_of(IDS[:5_000], 0.2).tolist()


def test_duplicates_across_sides_lose_the_training_copy(tmp_path):
    """300 texts twice: beside a copy that is held out none trains, and every held-out text stays on its side."""
    texts = [f"text number {i} says what no other text says, in words of its own" for i in range(300)]
    docs = laws.dataset_of(tmp_path, texts * 2, parts=3)
    split = Split(val=0.2, test=0.2)
    table = dp.Pipeline(split).run(docs, out=str(tmp_path / "sides")).table()
    rows = list(zip(table["text"].to_pylist(), table["side"].to_pylist(), strict=True))
    held = dict(sorted(rows, key=lambda row: row[1]))
    for dedup in (dp.Exact(keep="best:side"), dp.MinHash(keep="best:side")):
        clean = dp.Pipeline(split, dedup).run(docs, out=str(tmp_path / dedup.name)).table()
        assert dict(zip(clean["text"].to_pylist(), clean["side"].to_pylist(), strict=True)) == held
    assert sum(side < held[text] for text, side in rows) > 100


def signed(texts):
    """A document's words as signs, 512 of them: what stands in for an embedding."""
    return np.array(
        [sum(np.random.default_rng(list(w.encode())).choice([-1.0, 1], 512) for w in t.split()) for t in texts]
    )


@pytest.mark.parametrize(
    "dedup", [dp.MinHash(threshold=0.8, keep="best:side"), dp.SemDeDup(epsilon=0.1, embed=signed, keep="best:side")]
)
def test_near_duplicates_do_not_leak(tmp_path, dedup):
    """400 texts, each again with one word of 60 changed (J >= 0.8), by groups: none trains beside a held-out copy."""
    rng = np.random.default_rng(5)
    texts = [[f"w{w}" for w in rng.integers(0, 900, 60)] for _ in range(400)]
    near = [[*t[:k], "other", *t[k + 1 :]] for t, k in zip(texts, rng.integers(0, 60, 400).tolist(), strict=True)]
    rows = [{"text": " ".join(t), "host": f"h{rng.integers(0, 300)}"} for t in texts + near]
    split = Split(val=0.2, test=0.2, group="host")
    docs = laws.dataset_of(tmp_path, rows, parts=3, strings=("host",))
    table = dp.Pipeline(split).run(docs, out=str(tmp_path / "sides")).table()
    sides = dict(zip(table["text"].to_pylist(), table["side"].to_pylist(), strict=True))
    pairs = [(rows[i]["text"], rows[i + 400]["text"]) for i in range(400)]
    apart = [pair for pair in pairs if sides[pair[0]] != sides[pair[1]]]
    kept = set(dp.Pipeline(split, dedup).run(docs, out=str(tmp_path / "out")).table()["text"].to_pylist())
    assert len(apart) > 200
    assert [[sides[t] for t in pair if t in kept] for pair in apart] == [[max(map(sides.get, pair))] for pair in apart]


def test_a_group_must_be_a_column_of_names(tmp_path):
    """A column that is not there, or holds lists, is one sentence before any work."""
    docs = laws.dataset_of(tmp_path, ["text"])
    with pytest.raises(PlanError, match="group='host' must be a column of the documents: id, text"):
        dp.encode(docs, dp.Tokenizer.from_merges([]), out=tmp_path / "s", split=Split(group="host"))
    with pytest.raises(PlanError, match="the column that group= names has the type list"):
        grouped([["a"], ["b"]])


KNOWN = [107, 306, 590, 949]
SAMPLED, SAMPLED_5 = [440, 168, 554, 840], [548, 789, 64, 327]
TESTED, GROUPED = [1, 256, 546, 690, 763, 833, 916], [1, 15, 37, 38, 41]


def test_share_outside_zero_and_one_is_refused():
    """val=5 (per cent?) is a sentence, not a corpus without a training side; so is a folder in the place of a share."""
    for wrong in (5, "work/tok", None, True, float("nan")):
        with pytest.raises(PlanError, match=f"val={wrong!r} must be a share"):
            check_share("val", wrong)
    for right in (0, 1, 0.5, np.float32(0.5), np.int64(1)):
        check_share("val", right)


def test_samples_and_test_sides_are_the_same_everywhere():
    """Known answers for the other purposes, and for groups: none may move with a version of anything."""
    ids = np.arange(1_000, dtype=np.uint64)
    assert np.argsort(sample_rank(ids))[:4].tolist() == SAMPLED
    assert np.argsort(sample_rank(ids, 5))[:4].tolist() == SAMPLED_5
    assert np.flatnonzero(side_of(ids, 0.0, 0.005) == 2).tolist() == TESTED
    assert np.flatnonzero(grouped([f"h{i}" for i in range(60)], val=0.05, test=0.05)).tolist() == GROUPED


@pytest.mark.parametrize(("one", "other", "holds"), [
    ({"val": 0.1}, {"val": 0.05}, True),
    ({"val": 0.1}, {"val": 0.1}, True),
    ({"val": 0.05}, {"val": 0.1}, False),
    ({"val": 0.1}, {"val": 0.05, "test": 0.05}, False),
    ({"val": 0.1, "test": 0.05}, {"val": 0.05, "test": 0.05}, True),
    ({"val": 0.1, "test": 0.04}, {"val": 0.05, "test": 0.05}, False),
    ({"val": 0.1, "seed": 1}, {"val": 0.05}, False),
    ({"val": 0.0, "seed": 1}, {"val": 0.0}, True),
    ({"val": 0.1, "group": "source"}, {"val": 0.05}, False),
    ({"val": 0.1, "group": "source"}, {"val": 0.05, "group": "source"}, True),
])  # fmt: skip
def test_a_larger_split_holds_out_what_a_smaller_one_does(one, other, holds):
    """The answer agrees with the documents of both, of which each source has a thousand."""
    one, other = Split(**one), Split(**other)
    batch = B.make(IDS, ["text"] * len(IDS), np.repeat([f"s{i}" for i in range(200)], 1_000).tolist())
    inside = not ((other.sides(batch) != 0) & (one.sides(batch) == 0)).any()
    assert one.holds_out(other) is holds is bool(inside)


def test_the_stage_counts_each_side(tmp_path):
    """The column is a small number, and the statistics have the documents of each side."""
    docs = laws.dataset_of(tmp_path, [f"text {i}" for i in range(400)], parts=3)
    sealed = dp.Pipeline(Split(val=0.2, test=0.1)).run(docs, out=str(tmp_path / "out"))
    sides = sealed.table(["side"]).column(0)
    assert sides.type == pa.uint8()
    found = np.bincount(sides.to_pylist(), minlength=3)
    assert {f"side.{name}": int(n) for name, n in zip(("train", "val", "test"), found, strict=True)} == {
        name: n for name, n in sealed.stats.stages[-1].counts.items() if name.startswith("side.")
    }
    assert (Split().needs, Split(group="source").needs, Split(group="host").needs) == ((), (), ("host",))
    assert (Split().columns, Split(group="host").columns) == (("id",), ("id", "host"))


def sides_of(docs, split):
    return [side for batch in docs.batches() for side in split.sides(batch).tolist()]


def sized(tmp_path, sizes):
    """Return documents, and the function that returns the sizes of those of a batch."""
    docs = laws.dataset_of(tmp_path, [f"{i} {'x' * n}" for i, n in enumerate(sizes)], parts=2)
    return docs, lambda batch: np.array([text.count("x") for text in batch["text"].to_pylist()])


def shares_of(docs, split, size):
    sides, sizes = np.array(sides_of(docs, split)), np.concatenate([size(batch) for batch in docs.batches()])
    return [sizes[sides == side].sum() / sizes.sum() for side in range(3)]


@pytest.mark.parametrize(
    ("sizes", "near"),
    [([300, *[6] * 8], True), ([10] * 20, True), ([10] * 250, True), ([500, *[10] * 250], True), ([300, 6], False),
     ([200, 200], False), ([5, 5, 5], False)],
)  # fmt: skip
def test_shares_are_of_the_sizes(tmp_path, sizes, near):
    """About the share is held out, by size, with any seed; if none is near, the nearest that leaves half."""
    docs, size = sized(tmp_path, sizes)
    for seed in (0, 100, 7_000):
        chosen, is_near = split_of(docs, Split(val=0.05, seed=seed), size)
        train, val, _ = shares_of(docs, chosen, size)
        assert is_near is near
        assert train >= 0.5
        assert val > 0
        assert not near or 0.025 <= val <= 0.1
        assert (chosen.val, chosen.test, chosen.group) == (0.05, 0.0, None)
        assert split_of(docs, Split(val=0.05, seed=seed), size)[0] == chosen
    assert shares_of(docs, split_of(docs, Split(val=0.05), size)[0], size)[1] == pytest.approx(
        {(300, 6): 6 / 306, (200, 200): 0.5, (5, 5, 5): 1 / 3}.get(tuple(sizes), 0.05), abs=0.02
    )


def test_both_shares_are_near(tmp_path):
    """Validation and test get about their own shares."""
    docs, size = sized(tmp_path, [100, *range(1, 60)])
    chosen, near = split_of(docs, Split(val=0.1, test=0.2), size)
    _, val, test = shares_of(docs, chosen, size)
    assert near
    assert 0.05 <= val <= 0.2
    assert 0.1 <= test <= 0.4


def test_a_split_of_one_is_for_training(tmp_path, monkeypatch):
    """One document is for training; without a share nothing changes; one group is held out as a whole or not at all."""
    one, size = sized(tmp_path / "one", [4])
    assert split_of(one, Split(val=0.9, test=0.05), size) == (Split(val=0.0, test=0.0), False)
    assert split_of(one, Split(val=0.0), size) == (Split(val=0.0), True)
    same = laws.dataset_of(tmp_path / "same", [{"text": f"x{i}", "host": "a"} for i in range(9)], strings=("host",))
    alone = Split(val=0.1, group="host")
    assert split_of(same, alone, size) == (alone, False)
    monkeypatch.setattr("dataprep.tokens.split.SEEDS", 2)
    with np.errstate(all="raise"):  # texts without letters
        assert split_of(same, alone, lambda batch: np.zeros(batch.num_rows, np.int64)) == (alone, False)


def test_the_first_seed_that_is_near_is_taken(tmp_path):
    """A better one that comes later does not count; a share may be off by a quarter."""
    docs, size = sized(tmp_path, [1] * 400)
    names = docs.table(["id"])["id"].to_numpy()
    for first in (0, 7):
        sides = [side_of(names, 0.1, 0.1, seed) for seed in range(first, first + 40)]
        near = [np.abs(np.bincount(one, minlength=3)[1:] / 400 - 0.1).max() <= 0.025 for one in sides]
        found, is_near = split_of(docs, Split(val=0.1, test=0.1, seed=first), size)
        assert (found.seed, is_near) == (first + near.index(True), True)


def test_only_what_is_held_out_must_be_near():
    """The share that is left for training follows from it."""
    near = [(0.25, 0.25), (0.1875, 0.3125), (0.3125, 0.1875)]
    far = [(0.18, 0.25), (0.25, 0.18), (0.32, 0.25), (0.25, 0.32)]
    wanted = np.array([0.5, 0.25, 0.25])
    assert [_near(np.array([0.0, *one]), wanted, 0.75, 1.25) for one in (*near, *far)] == [True] * 3 + [False] * 4
