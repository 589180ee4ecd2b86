from __future__ import annotations

import itertools
import logging
import re
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dataprep as dp
import laws
import twins.bpe
from dataprep.core.model.dataset import Dataset
from dataprep.errors import PlanError
from dataprep.tokens import split
from dataprep.tokens.vocabulary import merges as kernels
from dataprep.tokens.vocabulary.cutting import machine_of
from dataprep.tokens.vocabulary.merges import learn_by_tokenizers, learn_merges
from dataprep.tokens.vocabulary.patterns import PATTERNS
from dataprep.tokens.vocabulary.word_counts import WordCounts, count_words
from killed import bytes_of, kills

WORDS = ["rain", "north", "winter", "أمطار", "بارش", "雨", "2048", "...", "café"]
RNG = np.random.default_rng(0)
ROWS = [" ".join(RNG.choice(WORDS, 12)) for _ in range(600)]


def test_same_tokenizer_from_any_workers(tmp_path):
    """Serial, two processes, other parts and other batch cuts: the same vocabulary."""
    docs = laws.dataset_of(tmp_path, ROWS, parts=4, rows_per_batch=50)
    wanted = {"vocab_size": 300, "sample": 0.5, "min_bytes": 1, "seed": 3}
    first = dp.train_bpe(docs, runner=dp.tools.Serial(), **wanted)
    assert first.vocab_size == 300
    assert dp.train_bpe(docs, runner=laws.TWO, **wanted).hash == first.hash
    other_cuts = laws.dataset_of(tmp_path, ROWS, parts=4, rows_per_batch=7)
    assert dp.train_bpe(other_cuts, **wanted).hash == first.hash
    assert dp.train_bpe(docs, **{**wanted, "seed": 4}).hash != first.hash


def test_validation_side_is_never_looked_at(tmp_path):
    """Each document has words of its own: no token of a held-out document's word is learned."""
    docs = laws.dataset_of(tmp_path, [f"qx{chr(0x4E00 + i)}" * 4 for i in range(400)], parts=2)
    table = docs.table()
    held = split.side_of(np.asarray(table["id"]), 0.2) == 1
    assert 40 < held.sum() < 120
    tok = dp.train_bpe(docs, vocab_size=3_000, sample=1.0, val=0.2)
    learned = {token.decode("utf-8", "ignore") for token in tok.vocab if len(token) > 1}
    own = [text[2] for text in table["text"].to_pylist()]
    assert {c for c, h in zip(own, held, strict=True) if not h} <= set("".join(learned))
    assert not {c for c, h in zip(own, held, strict=True) if h} & set("".join(learned))


PIECES = st.sampled_from(
    ["the", " rain", "  ", "\n", "\r\n", "12345", "...", "'s", "أمطار", "बारिश", "雨", "🌧️", "aaaa"]
)


@settings(max_examples=60)
@given(
    st.sampled_from(sorted(PATTERNS)),
    st.lists(st.lists(PIECES, max_size=30).map("".join), max_size=8),
    st.integers(0, 40),
    st.integers(0, 3),
)
def test_kernels_learn_what_tokenizers_learns(pattern, texts, n_merges, min_count):
    """The same merges in the same order, for every pattern that has a machine."""
    regex = PATTERNS[pattern]
    assert learn_merges([texts], n_merges, regex, min_count) == learn_by_tokenizers([texts], n_merges, regex, min_count)


def test_kernels_learn_what_tokenizers_learns_from_much(monkeypatch):
    """Two thousand merges over words of a random letter mill, until no pair is left, with room that must grow."""
    monkeypatch.setattr(kernels, "PAIRS", 1 << 10)
    rng = np.random.default_rng(5)
    letters = np.array(list("abcdeé雨"))
    texts = [" ".join("".join(rng.choice(letters, rng.integers(1, 12))) for _ in range(200)) for _ in range(40)]
    ours = learn_merges([texts[:7], texts[7:]], 4_000, PATTERNS["words"])
    assert 1_500 < len(ours) < 4_000
    assert ours == learn_by_tokenizers([texts], 4_000, PATTERNS["words"])


def test_other_patterns_are_learned_by_tokenizers():
    """A pattern without a machine is learned all the same."""
    assert machine_of(r"\S+|\s+") is None
    assert learn_merges([["rain rain"]], 2, r"\S+|\s+") == [(b"a", b"i"), (b"r", b"ai")]


@given(st.lists(PIECES, max_size=200), st.integers(1, 9))
def test_words_are_counted(pieces, size):
    """Every distinct word with its count, however the texts come and wherever tables must grow."""
    texts = ["".join(pieces[i : i + size]) for i in range(0, len(pieces), size)]
    words = count_words([texts[:2], [], texts[2:]], machine_of(PATTERNS["words"]))
    assert counted(words) == Counter(word.encode() for text in texts for word in twins.bpe.bpe_words(text))


def test_many_distinct_words_are_counted():
    """A hundred thousand words, each twice but one."""
    text = " ".join(f"w{i:x}q" for i in range(100_000))
    words = count_words([[text], [text]], machine_of(PATTERNS["gpt2"]))
    found = counted(words)
    assert sum(found.values()) == sum(Counter(re.findall(r" ?[a-z]+| ?[0-9]+", text)).values()) * 2


def test_long_words_are_counted():
    """Words about as long as an entry of the table holds, some with equal beginnings or ends, and a very long one."""
    texts = ["x" * n + end for n in range(40) for end in ("", "a", "b")] + ["y" * 70_000, "y" * 70_000, "y" * 69_999]
    words = count_words([texts, texts[::2]], machine_of(PATTERNS["words"]))
    assert counted(words) == Counter(text.encode() for text in [*texts, *texts[::2]] if text)


def counted(words: WordCounts) -> Counter:
    """The table as a Counter."""
    data, ends = words.bytes.tobytes(), words.ends.tolist()
    pieces = [data[a:b] for a, b in itertools.pairwise([0, *ends])]
    assert len(set(pieces)) == len(ends)
    return Counter(dict(zip(pieces, words.counts.tolist(), strict=True)))


def test_small_corpus_is_used_whole(tmp_path):
    """sample=0.001 of 600 documents would be none; below min_bytes the sample grows, up to everything."""
    docs = laws.dataset_of(tmp_path, ROWS)
    all_of_it = dp.train_bpe(docs, vocab_size=300, sample=1.0)
    assert dp.train_bpe(docs, vocab_size=300, sample=0.001).hash == all_of_it.hash
    assert dp.train_bpe(docs, vocab_size=300, sample=0.0).hash == all_of_it.hash


def test_too_little_text_is_said(tmp_path, caplog):
    """Fewer merges than asked for: a smaller vocabulary, and a warning that says by how much."""
    with caplog.at_level(logging.WARNING, "dataprep"):
        tok = dp.train_bpe(laws.dataset_of(tmp_path, ["ab ab ab"]), vocab_size=1_000, sample=1.0, val=0.0)
    assert tok.vocab_size == 256 + len(tok.merges) + 1
    assert f"the text has {len(tok.merges)} merges, not 743" in caplog.text
    assert "sample=" not in caplog.text, "all text was taken"


def test_what_was_learned_is_not_learned_again(tmp_path):
    """With `out` the same call opens what it left there; another call learns anew."""
    docs = laws.dataset_of(tmp_path, ROWS)
    first = dp.train_bpe(docs, vocab_size=280, out=tmp_path / "t")
    written = (tmp_path / "t" / "tokenizer.json").stat().st_mtime_ns
    again = dp.train_bpe(docs, vocab_size=280, out=tmp_path / "t")
    assert (again.hash, again.trained_on) == (first.hash, {"val": 0.05, "test": 0.0, "group": None, "seed": 0})
    assert (tmp_path / "t" / "tokenizer.json").stat().st_mtime_ns == written
    assert dp.train_bpe(docs, vocab_size=281, out=tmp_path / "t").vocab_size == 281


def test_special_tokens_are_counted_in(tmp_path):
    """vocab_size holds everything; special tokens have the last ids, the separator first among them."""
    tok = dp.train_bpe(laws.dataset_of(tmp_path, ROWS), vocab_size=290, sample=1.0, special=["<|user|>", "<|bot|>"])
    assert tok.vocab_size == 290
    assert tok.special == {"<|endoftext|>": 287, "<|user|>": 288, "<|bot|>": 289}


def test_pattern_is_chosen_by_name_or_written_out(tmp_path):
    """A preset's name or a regular expression; it travels in tokenizer.json."""
    docs = laws.dataset_of(tmp_path, ROWS)
    assert dp.train_bpe(docs, vocab_size=280, pattern="gpt2").pattern.startswith("'(?:[sdmt]")
    whole = dp.train_bpe(docs, vocab_size=280, pattern=r"[^ ]+| ")
    whole.save(tmp_path)
    assert dp.Tokenizer.load(tmp_path).pattern == r"[^ ]+| "


@pytest.mark.parametrize(
    ("wanted", "sentence"),
    [
        ({"vocab_size": 65_537}, "a vocabulary of 65,537 does not fit into uint16 shards"),
        ({"vocab_size": 256}, "vocab_size=256 must be at least 257: 256 bytes and 1 special tokens"),
        ({"sample": 5}, "sample=5 must be a share"),
        ({"val": -0.1}, "val=-0.1 must be a share"),
        ({"val": 1.0}, "training split has no text"),
    ],
)
def test_bad_wishes_are_refused(tmp_path, wanted, sentence):
    """One sentence before or instead of work."""
    with pytest.raises(PlanError, match=sentence):
        dp.train_bpe(laws.dataset_of(tmp_path, ROWS[:20]), **wanted)


def test_no_documents_at_all():
    """An empty Dataset has nothing to learn from."""
    with pytest.raises(PlanError, match="no text to learn a vocabulary from"):
        dp.train_bpe(Dataset(()))


def test_a_killed_training_leaves_the_old_tokenizer_or_the_new_one(tmp_path, monkeypatch):
    """Killed at each rename and deletion: one of both opens, whole, and the rerun ends as in a new folder."""
    docs = laws.dataset_of(tmp_path, ROWS, parts=2)
    old = dp.train_bpe(docs, 300, out=tmp_path / "old")
    new = dp.train_bpe(docs, 280, out=tmp_path / "new", special="chatml")
    out, seen = tmp_path / "out", set()

    def again():
        return dp.train_bpe(docs, 280, out=out, special="chatml")

    for _ in kills(monkeypatch, tmp_path / "old", out, again):
        seen.add([old.hash, new.hash].index(dp.Tokenizer.load(out).hash))
        assert dp.tools.verify(str(out))[str(out)] == []
        assert again().hash == new.hash
        assert bytes_of(out) == bytes_of(tmp_path / "new")
    assert seen == {0, 1}


def test_a_training_that_fails_leaves_the_old_tokenizer(tmp_path):
    """Text without pairs to merge, or no text at all, is an error before a file changes."""
    old = dp.train_bpe(laws.dataset_of(tmp_path, ROWS), 300, out=tmp_path / "out")
    before = bytes_of(tmp_path / "out")
    with pytest.raises(PlanError, match="no text"):
        dp.train_bpe(laws.dataset_of(tmp_path, [""] * 9), 300, out=tmp_path / "out")
    assert bytes_of(tmp_path / "out") == before
    assert dp.Tokenizer.load(tmp_path / "out").hash == old.hash


def test_a_killed_save_for_tiktoken_leaves_ranks_and_pattern_that_agree(tmp_path, monkeypatch):
    """Both files are the old ones or the new ones."""
    old, new = dp.Tokenizer.of_bytes(), dp.Tokenizer.from_merges([(b"a", b"b")], "chatml", PATTERNS["gpt2"])
    old.save(tmp_path / "old" / "v.tiktoken")
    place, seen = tmp_path / "out" / "v.tiktoken", set()
    for _ in kills(monkeypatch, tmp_path / "old", tmp_path / "out", lambda: new.save(place)):
        seen.add([old.hash, new.hash].index(dp.Tokenizer.load(place).hash))
        new.save(place)
        assert dp.Tokenizer.load(place).hash == new.hash
        assert sorted(bytes_of(tmp_path / "out")) == ["v.tiktoken", "v.tiktoken.json"]
    assert seen == {0, 1}
