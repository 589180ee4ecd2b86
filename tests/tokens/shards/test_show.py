from __future__ import annotations

import pytest

import dataprep as dp
import laws
from dataprep.core.model.batch import show_id
from dataprep.tokens.shards.writer import Writer, save, write_manifest

TEXTS = ["The rain in the north", "", "雨は冷たい 🌧️", "La pluie du nord", *("the rain " * n for n in range(1, 20))]


@pytest.fixture(scope="module")
def home(tok, tmp_path_factory):
    """Shards beside the Dataset they were made of."""
    home = tmp_path_factory.mktemp("show")
    (home / "input").mkdir()
    docs = dp.Pipeline().run(laws.dataset_of(home / "input", TEXTS), out=str(home / "clean"))
    dp.encode(docs, tok, out=home / "shards", val=0.3, shard_tokens=150)
    return home


def test_provenance_is_that_of_the_dataset(home, tok):
    """Every document's id, source and place; found again by its id."""
    shards = dp.Shards.open(home / "shards")
    rows = {row["id"]: row for row in dp.open_dataset(str(home / "clean")).table().to_pylist()}
    for k in range(-1, len(shards)):
        at = shards.provenance(k)
        assert at.source == rows[at.id]["source"]
        assert tok.decode(shards.document(at.k)) == rows[at.id]["text"]
        assert shards.find(at.id) == [at.k]
        assert shards.split(at.split).n_tokens >= at.stop
    assert shards.find(1 << 60) == []
    with pytest.raises(IndexError):
        shards.provenance(len(shards))


def test_show_by_number_id_and_shard(home, dataprep):
    """Text, ids, source, id, side and place of one document; whom to ask further."""
    shards = dp.Shards.open(home / "shards")
    at = shards.provenance(1)
    for words in (["--doc", 1], ["--id", show_id(at.id)], ["--shard", at.shard, "--doc", at.row]):
        code, out, _ = dataprep("show", home / "shards", *words)
        assert code == 0
        assert f"id {show_id(at.id)}  {at.source}  {at.split}  {at.shard}[{at.start}:{at.stop}]" in out
        assert " ".join(map(str, shards.document(1)[:5])) in " ".join(out.split())
        assert f"dataprep why {home} {show_id(at.id)}" in out
    code, out, _ = dataprep("show", home / "shards", "--random", "--tokens", 1)
    assert code == 0


def test_half_a_character_is_shown_as_its_bytes(home, dataprep):
    """Tokens that are no whole character are hexadecimal; a long document is cut where asked, and that is said."""
    shards = dp.Shards.open(home / "shards")
    k = next(k for k in range(len(shards)) if len(shards.document(k)) > 3 and shards.provenance(k).id & 0xFF == 2)
    code, out, _ = dataprep("show", home / "shards", "--doc", k, "--tokens", 3)
    assert code == 0
    assert f"and {len(shards.document(k)) - 3} more tokens" in out


def test_masked_tokens_and_windows_of_one_id(tmp_path, dataprep):
    """Masked tokens are counted; an id that stands in several windows shows them all; no tokenizer is needed."""
    with Writer(tmp_path, "train", 0) as shard:
        shard.add([1, 9, 2, 3, 9], [2, 5], [77, 77], ["chat"] * 2, 3, [0, 1, 0, 0, 1])
    write_manifest(tmp_path, [shard.entry], vocab_size=10, eot=9)
    code, out, _ = dataprep("show", tmp_path, "--id", 77)
    assert code == 0
    assert "<1>" in out
    assert "<2><3>" in out
    assert "2 of 2 are not learned" in out


def test_what_is_not_there(home, tmp_path, dataprep):
    """A wrong number, id or shard, and an empty folder: one sentence each."""
    for words, sentence in (
        (["--doc", 99], "--doc 99 must be from -23 to 22"),
        (["--id", "9:9"], "no document 9:9"),
        (["--shard", "train-00042"], "--shard train-00042 must be one of train-00000"),
    ):
        code, _, err = dataprep("show", home / "shards", *words)
        assert (code, sentence in err) == (1, True), err
    save(tmp_path / "none", {"train": []}, vocab_size=9, eot=8)
    code, _, err = dataprep("show", tmp_path / "none")
    assert (code, "has no documents to show" in err) == (1, True)


def test_another_tokenizer_is_said_so(home, tok, tmp_path, dataprep):
    """Texts of the wrong vocabulary are worse than none."""
    docs = dp.open_dataset(str(home / "clean"))
    dp.encode(docs, tok, out=tmp_path / "s")
    type(tok).from_merges(tok.merges[:90]).save(tmp_path / "other")
    (tmp_path / "other" / "tokenizer.json").replace(tmp_path / "s" / "tokenizer.json")
    code, _, err = dataprep("show", tmp_path / "s")
    assert (code, "is not the tokenizer that encoded these shards" in err) == (1, True)
