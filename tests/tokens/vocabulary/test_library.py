"""Vocabularies of other libraries: their ids are those of the library, in shards too."""

from __future__ import annotations

import io
import json
import pickle

import numpy as np
import pyarrow as pa
import pytest
import tiktoken
import tokenizers
from tokenizers import decoders, models, normalizers, pre_tokenizers, trainers

import dataprep as dp
from dataprep.errors import PlanError, ReadError, StaleOutput
from dataprep.inference.text_stream import TextStream
from dataprep.tokens.shards.verify import verify_shards
from dataprep.tokens.vocabulary.library import LibraryTokenizer
from dataprep.tokens.vocabulary.openers import tokenizer_of
from dataprep.tokens.vocabulary.patterns import PATTERNS
from dataprep.tokens.vocabulary.tokenizer import Tokenizer

TEXTS = [
    "The rain in Spain stays mainly in the plain.", "سلام لاباس عليك، كيف داير؟", "the end </s> [SEP] is <|endoftext|>",
    "", "こんにちは世界 नमस्ते", "x = f(1)  # two  spaces\n\n\ttab", "fin\n",
]  # fmt: skip
UNKNOWN = "<unk>"
MANY = [text * n for text in TEXTS for n in (1, 2, 3)]


def unigram():
    """A Unigram vocabulary as SentencePiece has, with a normalizer and `</s>`."""
    tok = tokenizers.Tokenizer(models.Unigram())
    tok.normalizer, tok.pre_tokenizer = normalizers.NFKC(), pre_tokenizers.Metaspace()
    tok.decoder = decoders.Metaspace()
    names = ["</s>", UNKNOWN]
    tok.train_from_iterator(MANY, trainers.UnigramTrainer(vocab_size=150, special_tokens=names, unk_token=UNKNOWN))
    return tok


def wordpiece():
    """A WordPiece vocabulary as BERT has, which adds [CLS] and [SEP] to each text unless it is told not to."""
    tok = tokenizers.Tokenizer(models.WordPiece(unk_token=UNKNOWN))
    tok.pre_tokenizer, tok.decoder = pre_tokenizers.BertPreTokenizer(), decoders.WordPiece()
    tok.train_from_iterator(MANY, trainers.WordPieceTrainer(vocab_size=150, special_tokens=[UNKNOWN, "[CLS]", "[SEP]"]))
    ends = [("[CLS]", tok.token_to_id("[CLS]")), ("[SEP]", tok.token_to_id("[SEP]"))]
    tok.post_processor = tokenizers.processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=ends)
    tok.enable_truncation(4)
    return tok


def sentencepiece():
    """A model of SentencePiece."""
    library, out = pytest.importorskip("sentencepiece"), io.BytesIO()
    library.SentencePieceTrainer.train(
        sentence_iterator=iter(MANY), model_writer=out, vocab_size=150, hard_vocab_limit=False, minloglevel=2
    )
    return library.SentencePieceProcessor(model_proto=out.getvalue())


def expected(theirs, text):
    """The ids of a text by its library, with special tokens as text."""
    if not isinstance(theirs, tokenizers.Tokenizer):
        return theirs.encode(text)
    plain = tokenizers.Tokenizer.from_str(theirs.to_str())
    plain.no_truncation()
    plain.encode_special_tokens = True
    return plain.encode(text, add_special_tokens=False).ids


@pytest.mark.parametrize(("make", "end"), [(unigram, "</s>"), (wordpiece, "[SEP]"), (sentencepiece, "</s>")])
def test_shards_have_the_ids_of_the_library(make, end, tmp_path):
    """From an object, and from the folder that shards are in; every document ends with the vocabulary's own token."""
    theirs = make()
    docs = dp.read([{"text": text} for text in TEXTS], out=str(tmp_path / "rows"))
    shards = dp.encode(docs, theirs, tmp_path / "shards", val=0)
    tok = Tokenizer.load(tmp_path / "shards")
    assert (type(tok), tok.hash) == (LibraryTokenizer, tokenizer_of(theirs).hash)
    assert tok.eot == tok.special[end] == shards.eot
    wanted = [[*expected(theirs, text), tok.eot] for text in TEXTS]
    found = np.fromfile(tmp_path / "shards" / "train-00000.bin", np.uint16).tolist()
    assert found == [i for ids in wanted for i in ids]
    assert verify_shards(tmp_path / "shards") == []
    again = pickle.loads(pickle.dumps(tok))
    column = pa.array(TEXTS, pa.large_string())
    rows = np.array([True, False] * 4)[: len(TEXTS)]
    ids, ends = again.encode_column(column, np.uint16, rows)
    assert ids.tolist() == [i for one, keep in zip(wanted, rows, strict=True) if keep for i in one]
    assert ends.tolist() == np.cumsum([len(one) for one, keep in zip(wanted, rows, strict=True) if keep]).tolist()
    assert tok.encode_batch(TEXTS[:2]) == [one[:-1] for one in wanted[:2]]
    assert tok.decode(wanted[0]) == theirs.decode(wanted[0][:-1])
    stream = TextStream(tok)
    assert "".join(map(stream.add, wanted[0])).strip().startswith("The rain")


@pytest.mark.parametrize("make", [unigram, wordpiece, sentencepiece])
def test_more_special_tokens(make, tmp_path):
    """`extended` keeps all ids, and what it adds survives a save."""
    tok = tokenizer_of(make())
    more = tok.extended("chatml")
    more.save(tmp_path)
    again = Tokenizer.load(tmp_path)
    assert (again.special, again.hash) == (more.special, more.hash) != (tok.special, tok.hash)
    assert again.special["<|im_start|>"] == tok.vocab_size
    assert again.vocab_size == tok.vocab_size + 2
    assert all(again.encode(text) == tok.encode(text) for text in TEXTS)
    assert (tmp_path / "tokenizer.model").exists() == (make is sentencepiece)
    with pytest.raises(PlanError, match="cannot be renamed"):
        more.renamed({"<|im_start|>": "<|a|>"})


def test_a_model_file_is_opened(tmp_path):
    """The `.model` file of SentencePiece, and a file that is none."""
    theirs = sentencepiece()
    (tmp_path / "a.model").write_bytes(theirs.serialized_model_proto())
    assert Tokenizer.load(tmp_path / "a.model").encode(TEXTS[0]) == theirs.encode(TEXTS[0])
    (tmp_path / "b.model").write_bytes(b"no model")
    with pytest.raises(ReadError, match="not a SentencePiece model"):
        Tokenizer.load(tmp_path / "b.model")


def test_byte_level_bpe_is_encoded_by_kernels(monkeypatch, caplog):
    """Of `tokenizers` and `tiktoken`, since the ids are the same; their library if a text shows a difference."""
    ours = Tokenizer.from_merges([(b"t", b"h"), (b"th", b"e"), (b" ", b"the")], pattern=PATTERNS["gpt2"])
    assert type(tokenizer_of(ours.engine)) is Tokenizer
    assert tokenizer_of(ours.engine).hash == tokenizer_of(ours.tiktoken()).hash == ours.hash
    bare = tiktoken.Encoding("bare", pat_str=ours.pattern, mergeable_ranks=ours.vocab, special_tokens={})
    assert tokenizer_of(bare).eot == ours.eot
    monkeypatch.setattr(Tokenizer, "encode_batch", lambda self, texts: [[0]] * len(texts))
    assert type(tokenizer_of(ours.engine)) is LibraryTokenizer
    assert "encodes some texts differently" in caplog.text


def test_a_vocabulary_without_an_end_gets_one(tmp_path):
    """`<|endoftext|>` becomes a new id where no token of the vocabulary separates documents."""
    bare = tokenizers.Tokenizer(models.WordLevel({"rain": 0, "<unk>": 1}, "<unk>"))
    tok = tokenizer_of(bare)
    assert (tok.eot, tok.vocab_size, tok.special) == (2, 3, {"<|endoftext|>": 2})
    tok.save(tmp_path)
    assert json.loads((tmp_path / "tokenizer.json").read_text())["model"]["type"] == "WordLevel"
    assert Tokenizer.load(tmp_path).eot == 2
    with pytest.raises(PlanError, match="tokenizer=3 must be"):
        tokenizer_of(3)


@pytest.mark.parametrize("make", [unigram, sentencepiece])
def test_save_keeps_another_tokenizer(tmp_path, make):
    """The folder is named, and its files stay; the same vocabulary may be saved there again."""
    tok = tokenizer_of(make())
    for name in ["tokenizer.json", "tokenizer.model"] if make is sentencepiece else ["tokenizer.json"]:
        (tmp_path / name).write_text("mine")
        with pytest.raises(StaleOutput, match=f"{name} belongs to another tokenizer; choose another folder as out"):
            tok.save(tmp_path)
        assert [(one.name, one.read_text()) for one in tmp_path.iterdir()] == [(name, "mine")]
        (tmp_path / name).unlink()
    assert tok.save(tmp_path) == tok.save(tmp_path) == str(tmp_path / "tokenizer.json")
    assert Tokenizer.load(tmp_path).hash == tok.hash
