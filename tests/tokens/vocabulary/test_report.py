from __future__ import annotations

import json

import numpy as np
import pytest

import dataprep as dp
import laws
from dataprep.core.model.dataset import Dataset
from dataprep.errors import PlanError
from dataprep.tokens.vocabulary.characters import Characters
from dataprep.tokens.vocabulary.measure import kinds, visible
from dataprep.tokens.vocabulary.tokenizer import Tokenizer

TEXTS = {"en": ["the rain in the north", "nobody minds the rain"], "ar": ["كانت الأمطار في الشمال", "لا أحد هناك"]}


@pytest.fixture
def docs(tmp_path):
    """Four hundred documents in two languages and two sources."""
    rng = np.random.default_rng(0)
    rows = [
        {"text": TEXTS[x][rng.integers(2)] + f" {i}", "language": x} for i, x in enumerate(["en", "en", "ar"] * 133)
    ]
    return laws.dataset_of(tmp_path, rows, rows_per_batch=40, strings=("language",))


def test_figures_are_those_of_the_texts(tok, docs):
    """Rows by source and language add up what each text alone gives, with both vocabularies."""
    other = Tokenizer.of_bytes()
    found = tok.report(docs, val=0.0, compare=other)
    table = docs.table().to_pylist()
    for row in found.rows:
        texts = [r["text"] for r in table if (r["source"], r["language"]) == (row.source, row.language)]
        ids = [i for text in texts for i in tok.encode(text)]
        assert (row.documents, row.tokens) == (len(texts), len(ids))
        assert row.n_bytes == row.compared == sum(len(text.encode()) for text in texts)
        assert row.characters == sum(map(len, texts))
        assert row.fallback == sum(
            len(t) == 1 and t[0] > 127 for t in map(tok.tiktoken().decode_single_token_bytes, ids)
        )
    assert [row.n_bytes for row in found.rows] == sorted((row.n_bytes for row in found.rows), reverse=True)
    assert {(row.source, row.language) for row in found.rows} == {(s, x) for s in ("one", "two") for x in TEXTS}
    assert found.total.tokens == sum(row.tokens for row in found.rows) == found.counts.sum()
    assert found.total.compared_bytes_per_token == 1.0
    assert "all documents" in found.measured_on


def test_held_out_texts_are_measured(docs):
    """What training held out, no more: a report is no praise of what was learned by heart."""
    tok = dp.train_bpe(docs, vocab_size=300, val=0.2)
    found = tok.report(docs)
    assert 40 < found.total.documents < 130
    assert "holds out (val=0.2, test=0.0)" in str(found)


def test_rare_tokens(tok, docs):
    """Counted on the text; neither special tokens nor single bytes are among them."""
    found = tok.report(docs, val=0.0, rare=5)
    ids = [i for text in docs.table()["text"].to_pylist() for i in tok.encode(text)]
    counts = np.bincount(ids, minlength=tok.vocab_size)
    merged = [i for t, i in tok.vocab.items() if len(t) > 1]
    assert sorted(n for _, n in found.rare_tokens()) == sorted(counts[i] for i in merged if counts[i] < 5)
    assert len(found.rare_tokens(1)) == sum(counts[i] == 0 for i in merged) > 100
    assert [n for _, n in found.rare_tokens()] == sorted(n for _, n in found.rare_tokens())


def test_what_the_sample_costs(docs):
    """Vocabularies of the same size from other samples, on the same text; all of the corpus is no worse than little."""
    tok = dp.train_bpe(docs, vocab_size=330, min_bytes=1, sample=0.02)
    found = tok.report(docs, shares=(1, 0.02))
    assert [one.share for one in found.samples] == [0.02, 1]
    assert found.samples[0].n_bytes < found.samples[1].n_bytes / 9
    assert found.samples[0].bytes_per_token == pytest.approx(found.total.bytes_per_token)
    assert found.samples[1].bytes_per_token > found.samples[0].bytes_per_token
    assert "what the sample costs" in str(found)


def test_written_and_printed(tok, docs, tmp_path):
    """JSON with the ratios; tables that say what is left out."""
    found = tok.report(docs)
    found.save(tmp_path / "report.json")
    read = json.loads((tmp_path / "report.json").read_text())
    assert read["total"]["bytes_per_token"] == pytest.approx(found.total.bytes_per_token)
    assert read["pattern"] == "words"
    assert read["rare"]["never"] == len(found.rare_tokens(1))
    assert len(read["rows"]) == 4
    assert "to compare, pass compare=" in str(found)


def test_tokens_by_kind():
    """Letters by script, digits, white space, signs and halves of characters; runs are shown short."""
    merges = [(b" ", b" "), (b"\xd8", b"\xa7"), (b"1", b"2"), (b"-", b"-"), (b"\xe9", b"\x9b")]
    found = kinds(Tokenizer.from_merges(merges))
    assert (found["Latin"], found["digits"], found["Arabic"]) == (52, 11, 1)
    assert found["parts of characters"] == 129
    assert sum(found.values()) == 261
    assert [visible(t) for t in (b" " * 16, b"\n\n", b"\xe9\x9b", b"--")] == ["  × 16", r"\n\n", r"\xe9\x9b", "--"]


def test_characters_have_unknowns(docs):
    """Characters that the vocabulary lacks are counted; samples of it make no sense."""
    tok = Characters.of("the rain")
    found = tok.report(docs, val=0.0)
    assert found.total.tokens == found.total.characters
    assert 0 < found.total.unknown < found.total.tokens
    assert "unknown" in str(found)
    with pytest.raises(PlanError, match="shares= compares BPE vocabularies"):
        tok.report(docs, shares=(1,))


def test_no_text_to_measure_on(tok):
    """An empty Dataset: one sentence."""
    with pytest.raises(PlanError, match="no text to measure"):
        tok.report(Dataset(()))


def test_command_line(tmp_path, dataprep):
    """train-tokenizer and tokenizer, on files; a weight that is no number is said so."""
    text, where = tmp_path / "a.jsonl", tmp_path / "tok"
    text.write_text("".join(json.dumps({"text": f"the rain in the north {i % 7}"}) + "\n" for i in range(300)))
    train = ("train-tokenizer", text, "--out", where)
    code, said, _ = dataprep(*train, "--vocab-size", 300, "--special", "chatml", "--reserve", 1)
    assert (code, "<Tokenizer: 2" in said) == (0, True)
    assert list(Tokenizer.load(where).special) == ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|reserved_0|>"]
    report = ("--compare", where, "--json", tmp_path / "r.json", "--shares", "0.5,1")
    code, said, _ = dataprep("tokenizer-stats", where, text, *report)
    assert (code, "bytes/tok" in said, "what the sample costs" in said) == (0, True, True)
    assert json.loads((tmp_path / "r.json").read_text())["compared"] == "tok"
    code, _, said = dataprep(*train, "--weights", "a=x")
    assert (code, "--weights 'a=x' must be a number per source" in said) == (1, True)
    code, said, _ = dataprep("train-tokenizer", text, "--out", tmp_path / "c", "--characters")
    assert (code, "<Characters: " in said) == (0, True)


def test_beside_gpt2(tok, docs, shared):
    """GPT-2's folder is known by its files, and told by its name."""
    found = tok.report(docs, compare=shared / "tokens" / "gpt2-bpe")
    assert found.compared == "GPT-2"
    assert found.total.compared > 0
