"""What the code of docs/tokenizer.md needs."""

import json

import pytest

import dataprep as dp

TALK = [f"salam, labas? I say the number {k}, and the weather of day {k * 7}. " * 3 for k in range(60)]
VARIES = {r"(?<=117 documents, )[\d,]+": "..."}  # the libraries learn in an order of their own
HEAD = {"print(tok.report": 13, "dataprep tokenizer": 8}


def prepare(here):
    """Vocabularies of three other kinds."""
    for library in ("tokenizers", "sentencepiece"):
        pytest.importorskip(library)
    import sentencepiece
    import tokenizers

    for folder in ("gpt2", "bert", "llama"):
        (here / folder).mkdir()
    byte_level = tokenizers.ByteLevelBPETokenizer()
    byte_level.train_from_iterator(TALK, vocab_size=280, special_tokens=["<|endoftext|>"], show_progress=False)
    parts = json.loads(byte_level.to_str())["model"]
    (here / "gpt2" / "encoder.json").write_text(json.dumps(parts["vocab"]))
    pairs = [pair if isinstance(pair, str) else " ".join(pair) for pair in parts["merges"]]
    (here / "gpt2" / "vocab.bpe").write_text("\n".join(["#version: 0.2", *pairs, ""]))

    pieces = tokenizers.Tokenizer(tokenizers.models.WordPiece(unk_token="[UNK]"))  # noqa: S106 - a token of a vocabulary
    pieces.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    pieces.decoder = tokenizers.decoders.WordPiece()
    trainer = tokenizers.trainers.WordPieceTrainer(
        vocab_size=100, special_tokens=["[UNK]", "[SEP]"], show_progress=False
    )
    pieces.train_from_iterator(TALK, trainer)
    pieces.save("bert/tokenizer.json")
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(TALK), model_prefix="llama/tokenizer", vocab_size=60, hard_vocab_limit=False,
        minloglevel=2,
    )  # fmt: skip


def check(here, names):
    """The second tokenizer is of this kind, and both vocabularies of other libraries made shards."""
    assert dp.Tokenizer.load("work/weighted/tokenizer.json").decode(names["ids"])
    assert len(dp.Shards.open("work/sp").document(0)) > 10
