"""Shingles that MinHash stores while it hashes: the same result without a second read of the candidates' texts."""

from __future__ import annotations

import json
import random

import numpy as np
import pytest

import dataprep as dp
import laws
import twins.minhash
from dataprep.core.model import batch as B
from dataprep.core.model.part import Part
from dataprep.dedup.minhash import MinHash
from dataprep.dedup.near import gather, stored_shingles
from dataprep.read import parts as plan
from dataprep.store import files
from dataprep.store.spill import spill_to

KEEPS = ("first", "longest", "newest:day", "source:b")


@pytest.fixture
def docs(tmp_path, monkeypatch):
    """Two files, of several parts with batches of a few documents; many texts are copies or near-copies of others."""
    monkeypatch.setattr(plan, "PART_BYTES", 20_000)
    monkeypatch.setattr("dataprep.read.json.reader.BLOCK", 4_000)
    rng, rows = random.Random(5), []
    for n in range(160):
        words = [rng.choice(("the", "дом", "王", "ein", "a1")) + str(rng.randrange(900)) for _ in range(60)]
        if rows and rng.random() < 0.6:
            words = rng.choice(rows)["text"].split()
            words[rng.randrange(len(words))] = f"new{n}"
        rows.append({"text": " ".join(words), "day": f"2024-01-{1 + n % 28:02d}" if n % 9 else "never"})
    for name, some in (("a", rows[:80]), ("b", [*rows[80:], {"text": "", "day": None}])):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in some), "utf-8")
    return dp.read([str(tmp_path / "a.jsonl"), str(tmp_path / "b.jsonl")], columns=["day"])


@pytest.fixture
def picked(monkeypatch):
    """The columns of each batch that is read a second time."""
    found = []
    plain = Part.pick

    def pick(part, ids, columns):
        for batch in plain(part, ids, columns):
            found.append((tuple(columns), batch.num_rows))
            yield batch

    monkeypatch.setattr(Part, "pick", pick)
    return found


@pytest.mark.parametrize("keep", KEEPS)
@pytest.mark.parametrize("columns", [None, ("text", "day")])
def test_stored_shingles_change_nothing(docs, tmp_path, monkeypatch, picked, keep, columns):
    """None, some or all of the shingles are stored: equal files, and the texts of the others are read again."""
    monkeypatch.setattr(gather, "SEGMENT_BYTES", 9_000)  # files of several segments
    read = []
    for name, n_bytes in (("none", 0), ("some", 60_000), ("all", 1 << 30)):
        monkeypatch.setattr(stored_shingles, "STORED_BYTES", n_bytes)
        picked.clear()
        stage = MinHash(keep=keep, columns=columns, threshold=0.7)
        assert stage.fit(docs, dp.tools.Serial(), str(tmp_path / name)).facts["dropped"] > 30
        assert not files.exists(str(tmp_path / name / stored_shingles.SHINGLES))
        compared = set(columns or ("text",))
        read.append(sum(n for names, n in picked if compared <= set(names)))
    laws.same_bytes(tmp_path / "none", tmp_path / "some")
    laws.same_bytes(tmp_path / "none", tmp_path / "all")
    if columns or keep != "longest":  # else the texts are read for their lengths
        assert read[0] > read[1] > read[2] == 0
    ranked = {"first": (), "longest": ("id", "text"), "newest:day": ("id", "day"), "source:b": ("id", "source")}[keep]
    if columns is None and keep != "longest":
        assert {names for names, _ in picked} == ({ranked} if ranked else set())


def test_a_damaged_file_is_not_used(docs, tmp_path, picked):
    """A file that a crash emptied, or whose receipt is lost: its documents are read again, with the same result."""
    whole = MinHash().fit(docs, dp.tools.Serial(), str(tmp_path / "whole"))
    out = tmp_path / "torn"
    with pytest.raises(KeyboardInterrupt):
        MinHash().fit(docs, laws.Stops(at="MinHash: match"), str(out))
    stored = sorted(path for path in (out / stored_shingles.SHINGLES).iterdir() if path.suffix != ".json")
    assert len(stored) == len(docs.parts) > 3
    stored[0].write_bytes(bytes(stored[0].stat().st_size))
    stored[1].write_bytes(b"")
    stored[2].with_name(stored[2].name + ".json").unlink()
    again = MinHash().fit(docs, dp.tools.Serial(), str(out))
    assert again.facts == whole.facts
    laws.same_bytes(tmp_path / "whole", out)
    assert 0 < sum(n for _, n in picked) < whole.facts["candidates"]


def test_a_share_is_never_exceeded(docs, tmp_path, monkeypatch):
    """The files of all parts together have at most the bytes that may be stored, and their offsets."""
    monkeypatch.setattr(stored_shingles, "STORED_BYTES", 50_000)
    with pytest.raises(KeyboardInterrupt):
        MinHash().fit(docs, laws.Stops(at="MinHash: match"), str(tmp_path))
    stored = [path for path in (tmp_path / stored_shingles.SHINGLES).iterdir() if path.suffix != ".json"]
    found = [stored_shingles.StoredShingles.found(str(path)) for path in stored]
    assert sum(one.n_docs for one in found) > 0
    assert 5_000 < sum(path.stat().st_size for path in stored) < 50_000 + len(stored) * 1_000


def test_the_stored_shingles_are_those_of_the_texts(tmp_path):
    """Of a few rows in the middle of two batches, as `contents` computes them from the text."""
    sketch = MinHash(min_shingles=3).sketch
    texts = ["one two three four five six seven " * 3, "a", "", "eins zwei drei vier fünf sechs sieben acht"] * 2
    batches = [B.make(range(n, n + 4), texts[n : n + 4], "x") for n in (0, 4)]
    url = str(tmp_path / "stored")
    with spill_to(url, 3) as spill:
        writer = stored_shingles.ShingleWriter(sketch, spill, 1 << 20)
        keys = [writer.keys(batch)[1] for batch in batches]
    found = list(stored_shingles.StoredShingles(url, 8).of(np.array([0, 3, 4, 5, 7]), sketch))
    for rows, batch, (own, stored), of_all in zip(([0, 3], [0, 1, 3]), batches, found, keys, strict=True):
        assert own.tolist() == rows
        assert [a.tolist() for a in stored] == [a.tolist() for a in sketch.contents(batch)]
        assert stored[2].tolist() == of_all.tolist()


@pytest.mark.parametrize("n_keys", [1, 3])
def test_payloads_are_keys_and_contents(n_keys):
    """Of some rows of a batch: their keys, then their contents; of no rows, nothing."""
    starts, contents = np.array([0, 2, 2, 5]), np.arange(5, dtype=np.uint64)
    keys = np.arange(100, 100 + 3 * n_keys, dtype=np.uint64).reshape(n_keys, 3)
    for own in ([], [1], [0, 2], [0, 1, 2]):
        offsets, words = gather.payloads(np.array(own, np.int64), starts, contents, keys)
        every = [contents[starts[d] : starts[d + 1]].tolist() for d in range(3)]
        wanted = twins.minhash.payloads(own, every, keys.tolist())
        assert offsets.tolist() == np.append(0, np.cumsum([len(one) for one in wanted])).astype(int).tolist()
        assert words.tolist() == [word for one in wanted for word in one]
