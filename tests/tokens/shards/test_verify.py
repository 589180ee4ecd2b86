from __future__ import annotations

import json
import shutil

import numpy as np
import pytest

import dataprep as dp
import laws
from dataprep.errors import PlanError
from dataprep.history.verify import verify
from dataprep.store.checksum import stamped
from dataprep.tokens.shards.verify import verify_shards
from dataprep.tokens.shards.writer import save

RNG = np.random.default_rng(1)
WORDS = ["the", "rain", "north", "أمطار", "बारिश", "雨", "🌧️", "2048", "\n", "  "]
ROWS = [" ".join(RNG.choice(WORDS, RNG.integers(0, 40))) for _ in range(300)]
FILES = ("train-00000.bin", "train-00000.idx", "train-00000.docs.parquet", "val-00000.bin", "token_bytes.npy")


@pytest.fixture(scope="module")
def made(tok, tmp_path_factory):
    """A run's folder: a sealed Dataset and its token shards."""
    home = tmp_path_factory.mktemp("run")
    (home / "input").mkdir()
    docs = dp.Pipeline(dp.Filter(short)).run(laws.dataset_of(home / "input", ROWS), out=str(home / "clean"))
    dp.encode(docs, tok, out=home / "shards", val=0.2, shard_tokens=2_000)
    return home


@pytest.fixture
def run(made, tmp_path):
    """A copy that may be damaged."""
    shutil.copytree(made, tmp_path / "run")
    return tmp_path / "run"


def short(text: str) -> str | None:
    """A filter that drops something."""
    return "short" if len(text) < 3 else None


def flip(path, at):
    """One byte turned over."""
    data = bytearray(path.read_bytes())
    data[at] ^= 0x55
    path.write_bytes(data)


def test_what_is_whole_has_no_problems(run):
    """The Dataset and its shards, found in the run's folder; two workers say the same."""
    assert verify(str(run)) == {str(run / "clean"): [], str(run / "shards"): []}
    assert verify_shards(run / "shards", laws.TWO) == []
    with pytest.raises(PlanError, match="has no finished Dataset, token shards or index"):
        verify(str(run / "input"))


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("at", [0.1, 0.5, -1])
def test_one_flipped_byte_is_found_in_every_file(run, name, at):
    """At the beginning, in the middle and at the end, and only that file is blamed for its bytes."""
    place = run / "shards" / name
    flip(place, int(place.stat().st_size * at) if at > 0 else -1)
    found = verify_shards(run / "shards")
    assert {p.file for p in found} == {name}


@pytest.mark.parametrize("name", [*FILES, "tokenizer.json"])
def test_a_truncated_or_missing_file_is_found(run, name):
    """Cut short, then gone: named, with what to do."""
    place = run / "shards" / name
    place.write_bytes(place.read_bytes()[:-3])
    assert verify_shards(run / "shards")[0].file == name
    place.unlink()
    (problem, *others) = [p for p in verify_shards(run / "shards") if p.file == name]
    assert "is missing" in problem.found
    assert problem.do
    assert not others


def test_all_problems_at_once(run, tok, dataprep):
    """A stray shard, two damaged files and another tokenizer: one table, exit code 1, each with what to do."""
    shards = run / "shards"
    flip(shards / "train-00000.bin", 10)
    flip(shards / "train-00001.idx", 3)
    shutil.copy(shards / "train-00000.bin", shards / "train-00077.bin")
    type(tok).from_merges(tok.merges[:100]).save(run / "other")
    shutil.move(run / "other" / "tokenizer.json", shards / "tokenizer.json")
    shutil.rmtree(run / "other")
    code, out, _ = dataprep("verify", run)
    assert code == 1
    for name in ("train-00000.bin", "train-00001.idx", "train-00077.bin", "tokenizer.json"):
        assert name in out
    assert "is not the tokenizer that encoded" in " ".join(out.split())
    assert "remove it" in out
    assert "good" in out  # the Dataset
    shutil.rmtree(shards)
    code, out, _ = dataprep("verify", run)
    assert (code, "what to do" in out) == (0, False)


def test_lies_of_the_manifest(run):
    """Numbers that are not what the files hold: tokens, bytes, vocabulary, separator."""
    place = run / "shards" / "manifest.json"
    manifest = {name: value for name, value in json.loads(place.read_text()).items() if name != "checksum"}

    def told(**changes):
        place.write_bytes(stamped(json.dumps(manifest | changes).encode()))
        return " | ".join(p.found for p in verify_shards(run / "shards"))

    first = manifest["shards"][0]
    assert "the manifest states" in told(shards=[first | {"tokens": first["tokens"] - 1}, *manifest["shards"][1:]])
    assert "bytes of text" in told(shards=[first | {"bytes": first["bytes"] + 1}, *manifest["shards"][1:]])
    assert f"it states {manifest['tokens'] + 5:,} tokens" in told(tokens=manifest["tokens"] + 5)
    assert "do not end with the separator 7" in told(eot=7)
    assert "ids are outside the vocabulary of 300" in told(vocab_size=300)


def test_masks_are_zero_or_one(tmp_path):
    """A mask's bytes are hashed, and looked at."""
    save(tmp_path, {"train": [[1, 2], [3]]}, vocab_size=9, eot=8, masks={"train": [[0, 1, 1], [0, 0]]})
    assert verify_shards(tmp_path) == []
    (tmp_path / "train-00000.msk").write_bytes(b"\0\1\2\0\0")
    assert [p.found for p in verify_shards(tmp_path)] == [
        "its content has changed since it was written",
        "1 of its values are neither 0 nor 1",
    ]


@pytest.mark.parametrize("kind", ["data", "drops"])
def test_a_damaged_dataset_is_found(run, kind):
    """A flipped byte, then a truncated file, in a shard and in a drop table."""
    place = next((run / "clean" / kind).iterdir())
    flip(place, place.stat().st_size // 2)
    (problem,) = verify(str(run / "clean"))[str(run / "clean")]
    assert problem.file == f"{kind}/{place.name}"
    assert "has changed since it was written" in problem.found
    place.write_bytes(place.read_bytes()[:-5])
    (problem,) = verify(str(run / "clean"))[str(run / "clean")]
    assert "were written" in problem.found


def test_empty_corpus(tok, tmp_path):
    """No documents: encoded with a warning, verified without a problem."""
    docs = laws.dataset_of(tmp_path, ["x"]).then(dp.Filter(nothing))
    shards = dp.encode(docs, tok, out=tmp_path / "s")
    assert (len(shards), verify_shards(tmp_path / "s")) == (0, [])


def nothing(text: str) -> str:
    """A filter that keeps nothing."""
    return "all"


def test_a_document_longer_than_a_shard(tok, tmp_path):
    """It stands alone in a shard of its own, and nothing of it is lost."""
    rows = ["rain " * 5, "the north " * 3_000, "rain"]
    shards = dp.encode(laws.dataset_of(tmp_path, rows), tok, out=tmp_path / "s", val=0, shard_tokens=500)
    assert [s.documents for s in shards.shards] == [1, 1, 1]
    assert shards.shards[1].tokens > 500
    assert tok.decode(shards.document(1)) == rows[1]
    assert np.array_equal(shards.ends(1), [shards.shards[1].tokens])
    assert verify_shards(tmp_path / "s") == []
