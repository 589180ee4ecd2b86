from __future__ import annotations

import filecmp
import itertools
import json
import logging
import os
from dataclasses import dataclass, replace

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dataprep as dp
import laws
from dataprep.core.model.dataset import Dataset
from dataprep.errors import PlanError, StaleOutput
from dataprep.store import files
from dataprep.tokens import split
from dataprep.tokens.shards.verify import verify_shards
from dataprep.tokens.vocabulary.special import EOT

RNG = np.random.default_rng(1)
WORDS = ["the", "rain", "north", "أمطار", "बारिश", "雨", "🌧️", "2048", "\n", "  "]
ROWS = [" ".join(RNG.choice(WORDS, RNG.integers(0, 40))) for _ in range(300)] + ["", f"a {EOT} b", EOT]


def same_files(a, b):
    """Two folders hold the same names and bytes."""
    assert sorted(os.listdir(a)) == sorted(os.listdir(b))
    _, different, errors = filecmp.cmpfiles(a, b, os.listdir(a), shallow=False)
    assert not different
    assert not errors


@dataclass(frozen=True)
class Dies:
    """A Runner that is killed before item number `at` of all it is given."""

    at: int
    workers = 1
    memory = None

    def map(self, task, items, label=""):
        """Serial, until it dies."""
        for i, item in enumerate(items):
            if i + (100 if label == "join" else 0) == self.at:
                msg = "killed"
                raise KeyboardInterrupt(msg)
            yield task(item)


@dataclass
class Counts:
    """A Runner that looks at what tasks had to be done."""

    done: int = 0
    workers = 1
    memory = None

    def map(self, task, items, label=""):
        """Serial, counting."""
        for item in items:
            self.done += 1
            yield task(item)


@given(st.lists(st.one_of(st.text(st.characters(exclude_categories=["Cs"])), st.sampled_from(ROWS)), min_size=1))
def test_a_batch_is_its_texts_one_by_one(tok, texts):
    """Encoding a batch in one call gives every text's own ids and a separator, also where a text spells it."""
    tokens, ends = tok.encode_column(laws.batch_of(texts).column("text"), np.uint16)
    assert tokens.dtype == np.uint16
    assert tokens.tolist() == [i for text in texts for i in (*tok.encode(text), tok.eot)]
    assert np.diff(ends, prepend=np.uint64(0)).tolist() == [len(tok.encode(text)) + 1 for text in texts]


def test_every_document_comes_back(tok, tmp_path):
    """Train side, then val side, each in id order; ids, sources and bytes are those of the Dataset."""
    docs = laws.dataset_of(tmp_path, ROWS, parts=3)
    shards = dp.encode(docs, tok, out=tmp_path / "s", val=0.1, shard_tokens=2_000)
    table = docs.table()
    ids = np.asarray(table["id"])
    order = np.argsort(split.side_of(ids, 0.1, seed=0), kind="stable")
    texts = [table["text"][int(i)].as_py() for i in order]
    assert len(shards) == docs.count == len(ROWS)
    assert [shards.document(k).tolist() for k in range(len(shards))] == [tok.encode(t) for t in texts]
    assert [tok.decode(shards.document(k)) for k in range(len(shards))] == texts
    assert shards.n_tokens == sum(len(tok.encode(t)) + 1 for t in texts)
    assert shards.n_bytes == sum(len(t.encode()) for t in texts)
    assert len(shards.memmaps()) > 3
    assert max(len(m) for m in shards.memmaps()) <= 2_000
    tables = [pq.read_table(tmp_path / "s" / f"{s.name}.docs.parquet") for s in shards.shards]
    named = [row for docs_of_shard in tables for row in docs_of_shard.to_pylist()]
    assert [row["id"] for row in named] == ids[order].tolist()
    assert [row["source"] for row in named] == [table["source"][int(i)].as_py() for i in order]
    assert verify_shards(shards.path) == []


def test_folder_describes_itself(tok, tmp_path):
    """The manifest names tokenizer, special ids and split; tokenizer.json lies beside, and nothing is left over."""
    shards = dp.encode(laws.dataset_of(tmp_path, ROWS), tok, out=tmp_path / "s", val=0.1, split_seed=4)
    m = shards.manifest
    assert (m.vocab_size, m.eot, m.special) == (tok.vocab_size, tok.eot, tok.special)
    assert (m.tokenizer.file, m.tokenizer.hash) == ("tokenizer.json", tok.hash)
    assert m.split == {"val": 0.1, "test": 0.0, "group": None, "seed": 4}
    assert dp.Tokenizer.load(tmp_path / "s").hash == tok.hash
    assert shards.token_bytes.tolist() == tok.token_bytes.tolist()
    names = {f"{s}-00000.{kind}" for s in ("train", "val") for kind in ("bin", "idx", "docs.parquet")}
    names |= {"manifest.json", "recipe.json", "origin.json"}
    names |= {"token_bytes.npy", "tokenizer.json", "tokenizer_config.json"}
    assert {name for name in os.listdir(tmp_path / "s") if not name.startswith(".")} == names


def test_three_sides(tok, tmp_path):
    """A test side holds its documents and leaves validation as it was; together the sides are the Dataset."""
    docs = laws.dataset_of(tmp_path, ROWS, parts=2)
    plain = dp.encode(docs, tok, out=tmp_path / "two", val=0.1)
    shards = dp.encode(docs, tok, out=tmp_path / "three", split=split.Split(val=0.1, test=0.2))
    ids = np.asarray(docs.table()["id"])
    counts = np.bincount(split.side_of(ids, 0.1, 0.2), minlength=3)
    assert [len(shards.split(side)) for side in split.SIDES] == counts.tolist()
    assert [s for s in shards.shards if s.split == "val"] == [s for s in plain.shards if s.split == "val"]
    assert shards.manifest.split == {"val": 0.1, "test": 0.2, "group": None, "seed": 0}
    assert verify_shards(shards.path) == []


def test_special_tokens_in_texts_are_text_and_counted(tok, tmp_path):
    """A document that spells a special token comes back as it was, and the manifest says how often that happens."""
    rows = ["one <|endoftext|> two <|endoftext|>", "plain", "a <|pad|> b", "<| nothing"]
    shards = dp.encode(laws.dataset_of(tmp_path, rows), tok, out=tmp_path / "s", val=0.0)
    assert shards.manifest.special_in_text == {"<|endoftext|>": 2, "<|pad|>": 1}
    assert [tok.decode(shards.document(k)) for k in range(4)] == rows
    assert sum((m == tok.eot).sum() for m in shards.memmaps()) == 4


def test_same_bytes_whoever_works(tok, tmp_path):
    """Two processes, other parts' batches: the files are the same, byte for byte."""
    docs = laws.dataset_of(tmp_path, ROWS, parts=4, rows_per_batch=4)
    dp.encode(docs, tok, out=tmp_path / "serial", val=0.1, shard_tokens=5_000)
    dp.encode(docs, tok, out=tmp_path / "local", val=0.1, shard_tokens=5_000, runner=laws.TWO)
    same_files(tmp_path / "serial", tmp_path / "local")


def test_shards_do_not_depend_on_the_parts(tok, tmp_path):
    """One part or seven: the same documents make the same tokens, cut at the same places."""
    whole = laws.dataset_of(tmp_path, ROWS, parts=1).parts[0]
    made = []
    for edges in ([0, 303], [0, 40, 41, 170, 303]):
        pieces = [replace(whole.slices[0], start=a, stop=b) for a, b in itertools.pairwise(edges)]
        docs = Dataset(tuple(replace(whole, slices=(piece,)) for piece in pieces))
        made.append(dp.encode(docs, tok, out=tmp_path / str(len(edges)), val=0.1, shard_tokens=3_000))
    assert len(made[0].shards) > 3
    assert made[0].shards == made[1].shards


@pytest.mark.parametrize("at", [0, 2, 100, 101])
def test_killed_and_resumed_is_uninterrupted(tok, tmp_path, at):
    """Killed in either pass: what is there is not called shards, and the resumed run gives the same bytes."""
    docs = laws.dataset_of(tmp_path, ROWS, parts=3)
    wanted = {"val": 0.1, "shard_tokens": 6_000}
    dp.encode(docs, tok, out=tmp_path / "whole", **wanted)
    with pytest.raises(KeyboardInterrupt):
        dp.encode(docs, tok, out=tmp_path / "s", runner=Dies(at), **wanted)
    with pytest.raises(PlanError):
        dp.Shards.open(tmp_path / "s")
    dp.encode(docs, tok, out=tmp_path / "s", **wanted)
    same_files(tmp_path / "whole", tmp_path / "s")


def test_what_is_made_is_not_made_again(tok, tmp_path):
    """The same recipe finds its shards; a shard that was cut short is made anew."""
    docs = laws.dataset_of(tmp_path, ROWS)
    dp.encode(docs, tok, out=tmp_path / "s")
    left = tmp_path / "s" / "_unfinished" / "pieces-00000000" / "left"  # killed before pieces were removed
    files.write_bytes(str(left), b"")
    files.write_bytes(f"{tmp_path}/s/_unfinished/recipe.json", (tmp_path / "s" / "recipe.json").read_bytes())
    runner = Counts()
    dp.encode(docs, tok, out=tmp_path / "s", runner=runner)
    assert runner.done == 0
    assert not left.parent.parent.exists()
    (tmp_path / "s" / "train-00000.bin").write_bytes(b"\0\0")
    assert verify_shards(dp.encode(docs, tok, out=tmp_path / "s", runner=runner).path) == []
    assert runner.done > 0


def test_another_recipe_is_stale(tok, tmp_path):
    """Other parameters in the same folder are refused; `replace` leaves nothing of the old ones."""
    docs = laws.dataset_of(tmp_path, ROWS)
    dp.encode(docs, tok, out=tmp_path / "s", val=0.1, shard_tokens=1_000)
    with pytest.raises(StaleOutput, match="a different recipe"):
        dp.encode(docs, tok, out=tmp_path / "s", val=0.2)
    assert verify_shards(dp.encode(docs, tok, out=tmp_path / "s", val=0.2, replace=True).path) == []
    assert not (tmp_path / "s" / "train-00001.bin").exists()


def test_input_of_other_content(tok, tmp_path, caplog):
    """The same file with other content is encoded again, with a warning; with other settings, `replace` is needed."""
    texts, out = tmp_path / "a.jsonl", tmp_path / "s"

    def encode(n, out, **settings):
        texts.write_text("".join(json.dumps({"text": f"text number {i}"}) + "\n" for i in range(n)))
        clean = dp.Pipeline().run(dp.read(str(texts)), out=str(tmp_path / "clean"))
        return dp.encode(clean, tok, out=out, **{"val": 0.3, "shard_tokens": 200, **settings})

    encode(60, out)
    with pytest.raises(StaleOutput, match=r"encode has val=0\.3 there, and val=0\.2 now"):
        encode(70, out, val=0.2)
    assert len(encode(80, out)) == 80
    again = "1 of 1 input file changed since the last run: clean; encoding all documents again"
    assert [message for message in caplog.messages if "encoding" in message] == [again]
    encode(80, tmp_path / "fresh")
    laws.same_shards(out, tmp_path / "fresh")


def test_a_dataset_is_not_written_over(tok, tmp_path):
    """`out` that holds a sealed Dataset is refused, even with replace=True."""
    docs = laws.dataset_of(tmp_path, ROWS[:9])
    dp.Pipeline().run(docs, out=str(tmp_path / "d"))
    with pytest.raises(StaleOutput, match="holds a Dataset; choose another folder as out"):
        dp.encode(docs, tok, out=tmp_path / "d", replace=True)


def test_tokenizer_by_its_path(tok, tmp_path):
    """A tokenizer.json will do."""
    tok.save(tmp_path / "t")
    docs = laws.dataset_of(tmp_path, ROWS[:9])
    assert dp.encode(docs, tmp_path / "t", out=tmp_path / "s").manifest.tokenizer.hash == tok.hash


def test_large_vocabulary_needs_uint32(tmp_path):
    """Over 65,536 ids: a sentence, or shards of four bytes a token by name."""
    pairs = itertools.product([bytes([b]) for b in range(256)], repeat=2)
    large = dp.Tokenizer.from_merges(list(itertools.islice(pairs, 65_300)))
    docs = laws.dataset_of(tmp_path, ["rain"])
    with pytest.raises(PlanError, match="a vocabulary of 65,557 does not fit"):
        dp.encode(docs, large, out=tmp_path / "s")
    shards = dp.encode(docs, large, out=tmp_path / "s", dtype="uint32", val=0.0)
    assert shards.document(0).tolist() == large.encode("rain")
    assert shards.document(0).dtype == np.uint32


def test_empty_validation_side_is_said(tok, tmp_path, caplog):
    """Three documents at val=0.005: no validation loss, and a warning that says so."""
    with caplog.at_level(logging.WARNING, "dataprep"):
        shards = dp.encode(laws.dataset_of(tmp_path, ROWS[:3]), tok, out=tmp_path / "s")
    assert len(shards.split("val")) == 0
    assert "none of 3 documents is in the validation split" in caplog.text


def test_leak_between_training_and_encoding_is_said(tmp_path, caplog):
    """A tokenizer may leave out more than the shards hold out, not less, and by the same seed; else it is said."""
    docs = laws.dataset_of(tmp_path, ROWS)
    tok = dp.train_bpe(docs, vocab_size=280)
    with caplog.at_level(logging.WARNING, "dataprep"):
        dp.encode(docs, tok, out=tmp_path / "same")
        dp.encode(docs, tok, out=tmp_path / "more", val=0.05)
        assert not caplog.text
        dp.encode(docs, tok, out=tmp_path / "moved", split_seed=1)
        assert "seed=1" in caplog.text
        caplog.clear()
        dp.encode(docs, tok, out=tmp_path / "other", val=0.1)
    assert "the tokenizer was trained on documents of this validation split (trained with val=0.05" in caplog.text


def test_nothing_to_encode(tok, tmp_path, caplog):
    """An empty Dataset makes an empty folder of shards, and says so."""
    with caplog.at_level(logging.WARNING, "dataprep"):
        shards = dp.encode(Dataset(()), tok, out=tmp_path / "s")
    assert (len(shards), shards.n_tokens) == (0, 0)
    assert "no documents to encode" in caplog.text


def test_what_emptied_the_input(tok, tmp_path, caplog):
    """After a step that kept nothing, encoding and training name the step."""
    done = dp.Pipeline(dp.Gopher()).run(dp.read([{"text": "two words"}], out=str(tmp_path)), out=str(tmp_path / "in"))
    says = "Gopher kept 0 of 1 document, 1 for too_few_words"
    with caplog.at_level(logging.WARNING, "dataprep"):
        dp.encode(done, tok, out=tmp_path / "s")
    assert f"no documents to encode; {says}" in caplog.text
    with pytest.raises(PlanError, match=f"no text to learn a vocabulary from; {says}"):
        dp.train_bpe(done)
