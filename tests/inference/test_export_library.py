"""Exported models whose tokenizer is of another library: `transformers` opens it, with the ids of the shards."""

import io
import json

import pytest
import tokenizers
from tokenizers import decoders, models, pre_tokenizers, processors, trainers

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors")

from dataprep.inference.chat_model import ChatModel  # noqa: E402
from dataprep.inference.export_model import export_model  # noqa: E402
from dataprep.inference.open_model import open_model  # noqa: E402
from dataprep.tokens.vocabulary.openers import tokenizer_of  # noqa: E402
from dataprep.train import GPT, ModelConfig, TrainConfig, checkpoint  # noqa: E402
from runs import PLAIN  # noqa: E402

TEXTS = ["The rain in Spain stays mainly in the plain.", "سلام لاباس عليك", "two  spaces\n</s> [SEP] <|end|>", "世界"]
UNKNOWN = "<unk>"
SHAPE = ModelConfig(n_layers=1, n_heads=2, d_model=32, context=24)


def wordpiece():
    """A vocabulary as BERT's, which puts [CLS] and [SEP] around a text and cuts it."""
    tok = tokenizers.Tokenizer(models.WordPiece(unk_token=UNKNOWN))
    tok.pre_tokenizer, tok.decoder = pre_tokenizers.BertPreTokenizer(), decoders.WordPiece()
    names = ["[PAD]", UNKNOWN, "[CLS]", "[SEP]"]
    tok.train_from_iterator(TEXTS, trainers.WordPieceTrainer(vocab_size=120, special_tokens=names))
    tok.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    tok.enable_truncation(4)
    return tok


def without_end():
    """A vocabulary that has no token to separate documents."""
    tok = tokenizers.Tokenizer(models.WordLevel({"rain": 0, "The": 1, UNKNOWN: 2}, UNKNOWN))
    tok.pre_tokenizer = pre_tokenizers.Whitespace()
    return tok


def sentencepiece(kind):
    """A model of SentencePiece."""
    library, out = pytest.importorskip("sentencepiece"), io.BytesIO()
    library.SentencePieceTrainer.train(
        sentence_iterator=iter(TEXTS), model_writer=out, vocab_size=300 if kind == "bpe" else 90, minloglevel=2,
        hard_vocab_limit=False, model_type=kind, byte_fallback=kind == "bpe",
    )  # fmt: skip
    return library.SentencePieceProcessor(model_proto=out.getvalue())


MAKE = {
    "wordpiece": wordpiece, "without_end": without_end, "unigram": lambda: sentencepiece("unigram"),
    "bpe": lambda: sentencepiece("bpe"),
}  # fmt: skip


def save(folder, tok, chat=None):
    """A run's folder with a new model."""
    torch.manual_seed(0)
    content = PLAIN | {
        "step": 5, "config": TrainConfig(model=SHAPE).to_dict(), "vocab_size": tok.vocab_size, "eot": tok.eot,
        "chat": chat, "stop": [tok.eot], "tokenizer": tok.hash, "model": GPT(SHAPE, tok.vocab_size).state_dict(),
    }  # fmt: skip
    folder.mkdir()
    checkpoint.save(checkpoint.path_of(folder, 5), content, keep=1)
    tok.save(folder / "tokenizer.json")
    return folder


@pytest.fixture(params=[*MAKE, *(f"{name} extended" for name in MAKE)])
def tok(request):
    """A vocabulary of each kind, as it is and with more special tokens."""
    name, _, more = request.param.partition(" ")
    made = tokenizer_of(MAKE[name]())
    return made.extended("chatml") if more else made


def test_an_exported_tokenizer_comes_back(tok, tmp_path):
    """With the hash that shards state; the config names the separator, and no other token becomes a new id."""
    run = save(tmp_path / "run", tok)
    export_model(run, tmp_path / "hf")
    export_model(run, tmp_path / "hf")  # in place of the earlier one
    _, saved = open_model(tmp_path / "hf")
    assert (saved["tokenizer"], saved["eot"], saved["stop"]) == (tok.hash, tok.eot, [tok.eot])
    config = json.loads((tmp_path / "hf" / "tokenizer_config.json").read_text())
    assert {tok.special[config[role]] for role in ("bos_token", "eos_token", "pad_token")} == {tok.eot}
    ours = ChatModel.load(tmp_path / "hf", device="cpu").tok
    assert [ours.encode(text) for text in TEXTS] == [tok.encode(text) for text in TEXTS]


def test_transformers_gives_the_same_ids(tok, tmp_path):
    """For text of any length, and for the separator; what stands around a text in tokenizer.json can be left out."""
    transformers = pytest.importorskip("transformers")
    export_model(save(tmp_path / "run", tok), tmp_path / "hf")
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path / "hf")
    assert len(theirs) == tok.vocab_size
    assert {name: theirs.convert_tokens_to_ids(name) for name in tok.special} == tok.special
    for text in TEXTS:
        made = theirs(text, add_special_tokens=False, split_special_tokens=True)["input_ids"]
        assert made == tok.encode(text), text
    assert theirs.eos_token_id == theirs.bos_token_id == tok.eot


def test_a_chat_template_begins_with_the_separator(tmp_path):
    """With that of the vocabulary; the template comes back without it."""
    tok = tokenizer_of(wordpiece()).extended("chatml")
    chat = {"template": "chatml", "template_ends": None, "speakers": {}}
    export_model(save(tmp_path / "run", tok, chat), tmp_path / "hf")
    text = json.loads((tmp_path / "hf" / "tokenizer_config.json").read_text())["chat_template"]
    assert text.startswith('{{ "[SEP]" }}{% for message')
    assert open_model(tmp_path / "hf")[1]["chat"]["template"] == text.removeprefix('{{ "[SEP]" }}')
