from __future__ import annotations

import pickle

import numpy as np
import pyarrow as pa
import pytest
import tokenizers
from hypothesis import given
from hypothesis import strategies as st

import dataprep as dp
import laws
from dataprep.errors import PlanError
from dataprep.tokens.vocabulary.characters import Characters, train_characters
from dataprep.tokens.vocabulary.tokenizer import Tokenizer
from twins.characters import character_ids

ROWS = ["the rain in the north", "", "雨 é\n\t🌧️", "أمطار <|endoftext|>"]


@pytest.fixture(scope="module")
def tok() -> Characters:
    """The characters of ROWS."""
    return Characters.of("".join(ROWS), ["<|pad|>"])


@given(texts=st.lists(st.text(st.sampled_from("theraz 雨é\n🌧xq"), max_size=20), max_size=6), step=st.integers(1, 3))
def test_ids_are_characters(tok, texts, step):
    """A column's ids are those of each text, a character an id, the separator after each, whichever rows are chosen."""
    rows = np.arange(len(texts)) % step == 0
    chosen = [text for text, row in zip(texts, rows, strict=True) if row]
    slow = [character_ids(text, tok.vocab, tok.special["<|unk|>"]) for text in chosen]
    assert tok.encode_batch(chosen) == slow
    ids, ends = tok.encode_column(pa.array(["x", *texts], pa.large_string()).slice(1), "uint16", rows)
    assert ids.tolist() == [i for found in slow for i in (*found, tok.eot)]
    assert ends.tolist() == np.cumsum([len(found) + 1 for found in slow]).tolist()
    assert tok.decode(ids[ids != tok.eot]) == "".join(
        c if c.encode() in tok.vocab else "\ufffd" for c in "".join(chosen)
    )
    assert all(
        tok.engine.encode(text, add_special_tokens=False).ids == found for text, found in zip(chosen, slow, strict=True)
    )


def test_alphabet_of_a_corpus(tmp_path):
    """All documents' characters by code point, the rare ones left out when asked; the same from two processes."""
    docs = laws.dataset_of(tmp_path, ROWS, parts=3)
    tok = train_characters(docs, special="chatml", runner=laws.TWO)
    chars = sorted(set("".join(ROWS)))
    assert [t.decode() for t in tok.vocab] == chars
    assert list(tok.special) == ["<|endoftext|>", "<|unk|>", "<|im_start|>", "<|im_end|>"]
    assert list(tok.special.values()) == list(range(len(chars), len(chars) + 4))
    assert tok.hash == train_characters(docs, special="chatml").hash
    often = train_characters(docs, min_count=4)
    assert {t.decode() for t in often.vocab} == {c for c in chars if "".join(ROWS).count(c) >= 4}


def test_saved_and_pickled_is_the_same(tok, tmp_path):
    """tokenizer.json gives it back, here and in `tokenizers`, where decoding gives the text."""
    place = tok.save(tmp_path)
    for other in (Tokenizer.load(tmp_path), pickle.loads(pickle.dumps(tok))):
        assert isinstance(other, Characters)
        assert (other.hash, other.encode(ROWS[2])) == (tok.hash, tok.encode(ROWS[2]))
    theirs = tokenizers.Tokenizer.from_file(place)
    assert theirs.decode(theirs.encode(ROWS[2]).ids) == ROWS[2]
    assert tok.token_bytes[tok.encode("雨")].tolist() == [3]


def test_shards_of_characters_and_of_bytes(tok, tmp_path):
    """Both go through dp.encode like any Tokenizer, and their shards give the texts back."""
    docs = laws.dataset_of(tmp_path, ROWS)
    for name, one in (("chars", tok), ("bytes", Tokenizer.of_bytes())):
        shards = dp.encode(docs, one, out=tmp_path / name, val=0.0)
        again = Tokenizer.load(tmp_path / name)
        tokens = np.fromfile(tmp_path / name / "train-00000.bin", np.uint16)
        texts = [again.decode(part) for part in np.split(tokens, np.flatnonzero(tokens == one.eot))]
        assert [t.removeprefix("<|endoftext|>") for t in texts] == [*ROWS, ""]
        assert shards.n_tokens == len(tokens)


def test_bytes_are_their_own_ids():
    """The plain byte tokenizer: ids are the bytes, and it has the tiktoken form."""
    tok = Tokenizer.of_bytes("course")
    assert tok.encode("é\n") == [*"é\n".encode()]
    assert (tok.vocab_size, tok.eot) == (261, 256)
    assert tok.tiktoken().encode("é\n") == tok.encode("é\n")


def test_what_characters_cannot_be(tok, tmp_path):
    """No tiktoken form, no special token that is a character, no other word-level vocabulary, no empty corpus."""
    with pytest.raises(PlanError, match="tiktoken needs an id for every byte"):
        tok.save(tmp_path / "x.tiktoken")
    with pytest.raises(PlanError, match="'a' both as a character and as special"):
        Characters({b"a": 0}, {"<|endoftext|>": 1, "<|unk|>": 2, "a": 3})
    with pytest.raises(PlanError, match="no character occurs min_count=9 times"):
        train_characters(laws.dataset_of(tmp_path, ["abc"]), min_count=9)
    with pytest.raises(PlanError, match=r"lacks <\|unk\|>"):
        Characters({b"a": 0}, {"<|endoftext|>": 1})
    words = tokenizers.Tokenizer(tokenizers.models.WordLevel({"rain": 0, "<|unk|>": 1}, "<|unk|>"))
    words.save(str(tmp_path / "tokenizer.json"))
    assert type(Tokenizer.load(tmp_path)).__name__ == "LibraryTokenizer"  # words, not characters


def test_shakespeare_has_65(shared, tmp_path):
    """Tinyshakespeare's 65 characters, as nanoGPT's character model has them, and two special tokens."""
    text = (shared / "text" / "tinyshakespeare" / "input.txt").read_text(encoding="utf-8")
    tok = train_characters(laws.dataset_of(tmp_path, [text], parts=1))
    assert (len(tok.vocab), tok.vocab_size) == (65, 67)
    assert tok.encode("\n a") == [0, 1, 39]
