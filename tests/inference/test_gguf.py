"""Models as GGUF files: read back with the package of llama.cpp, and computed as llama.cpp does, in NumPy."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors")
gguf = pytest.importorskip("gguf")

from dataprep.errors import PlanError  # noqa: E402
from dataprep.inference.export_model import export_model  # noqa: E402
from dataprep.inference.open_model import open_model  # noqa: E402
from dataprep.tokens.vocabulary.formats import to_chars  # noqa: E402
from dataprep.tokens.vocabulary.patterns import ALSO, PATTERNS, regex_of  # noqa: E402
from dataprep.tokens.vocabulary.tokenizer import Tokenizer  # noqa: E402
from dataprep.train import GPT, ModelConfig, TrainConfig, checkpoint  # noqa: E402
from runs import PLAIN  # noqa: E402

MERGES = [(b"t", b"h"), (b"th", b"e"), (b" ", b"the"), ("ش".encode()[:1], "ش".encode()[1:])]
CHAT = {"template": "chatml", "template_ends": None, "speakers": {"user": None, "assistant": None}}
SHAPES = {
    "tied": ModelConfig(n_layers=2, n_heads=4, n_kv_heads=2, d_model=32, context=24, rope_base=50_000.0),
    "untied": ModelConfig(n_layers=1, n_heads=2, d_model=32, context=24, d_ff=48, tied=False, norm_eps=1e-6),
}


def save(folder, shape, pattern=PATTERNS["gpt2"]):
    """A run's folder with a random model and a tokenizer with this pattern."""
    tok = Tokenizer.from_merges(MERGES, special="chatml", pattern=pattern)
    torch.manual_seed(0)
    model = GPT(shape, tok.vocab_size)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    content = PLAIN | {
        "step": 5, "config": TrainConfig(model=shape).to_dict(), "vocab_size": tok.vocab_size, "eot": tok.eot,
        "chat": CHAT, "stop": sorted([tok.eot, tok.special["<|im_end|>"]]), "tokenizer": tok.hash,
        "model": model.state_dict(),
    }  # fmt: skip
    folder.mkdir(parents=True)
    checkpoint.save(checkpoint.path_of(folder, 5), content, keep=1)
    tok.save(folder / "tokenizer.json")
    return folder, tok


def scores(file, ids):
    """The scores that llama.cpp computes for ids, float64[len(ids), vocabulary], from the file alone.

    Its rotary positions turn channels 2k and 2k + 1 of a head (`LLAMA_ROPE_TYPE_NORM`).
    """
    reader = gguf.GGUFReader(file)
    w = {one.name.removesuffix(".weight"): np.asarray(one.data, np.float64) for one in reader.tensors}
    fact = {name.partition(".")[2]: field.contents() for name, field in reader.fields.items()}
    n_heads, n_kv, d_head = fact["attention.head_count"], fact["attention.head_count_kv"], fact["rope.dimension_count"]
    angles = np.arange(len(ids))[:, None] * fact["rope.freq_base"] ** (-np.arange(0, d_head, 2) / d_head)

    def norm(x, weight):
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + fact["attention.layer_norm_rms_epsilon"]) * weight

    def turned(x):
        even, odd = x[..., ::2], x[..., 1::2]
        cos, sin = np.cos(angles)[:, None], np.sin(angles)[:, None]
        return np.stack([even * cos - odd * sin, even * sin + odd * cos], -1).reshape(x.shape)

    x = w["token_embd"][ids]
    for n in range(fact["block_count"]):
        one = {name.partition(f"blk.{n}.")[2]: value for name, value in w.items() if name.startswith(f"blk.{n}.")}
        h = norm(x, one["attn_norm"])
        q, k, v = ((h @ one[f"attn_{name}"].T).reshape(len(ids), -1, d_head) for name in "qkv")
        q, k, v = turned(q), turned(k).repeat(n_heads // n_kv, 1), v.repeat(n_heads // n_kv, 1)
        found = np.einsum("thc,shc->hts", q, k) / np.sqrt(d_head)
        found = np.where(np.tri(len(ids), dtype=bool), found, -np.inf)
        weights = np.exp(found - found.max(-1, keepdims=True))
        weights /= weights.sum(-1, keepdims=True)
        x = x + np.einsum("hts,shc->thc", weights, v).reshape(len(ids), -1) @ one["attn_output"].T
        h = norm(x, one["ffn_norm"])
        gate = h @ one["ffn_gate"].T
        x = x + (gate / (1 + np.exp(-gate)) * (h @ one["ffn_up"].T)) @ one["ffn_down"].T
    return norm(x, w["output_norm"]) @ w.get("output", w["token_embd"]).T


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())
@torch.no_grad()
def test_the_file_gives_the_same_scores(shape, tmp_path) -> None:
    """Computed from the file as llama.cpp does, they are those of the model."""
    run, tok = save(tmp_path / "run", shape)
    export_model(run, tmp_path / "out", gguf=True)
    ids = np.random.default_rng(0).integers(tok.vocab_size, size=20)
    expected = open_model(run)[0](torch.from_numpy(ids)[None])[0]
    assert expected.std() > 0.3
    found = torch.from_numpy(scores(tmp_path / "out" / "model.gguf", ids)).float()
    torch.testing.assert_close(found, expected[:, : tok.vocab_size], atol=1e-3, rtol=1e-3)


@pytest.mark.parametrize(
    ("pattern", "rule"),
    [(PATTERNS["gpt2"], "gpt-2"), (PATTERNS["gpt4"], "dbrx"), (ALSO["llama3"], "dbrx"),
     (regex_of("llama3", "single"), "qwen2")],
)  # fmt: skip
def test_the_file_has_the_tokenizer(pattern, rule, tmp_path) -> None:
    """Tokens, merges, kinds, the ids of ends, and the chat template; an export without GGUF removes the file."""
    run, tok = save(tmp_path / "run", SHAPES["untied"], pattern)
    export_model(run, tmp_path / "out", gguf=True)
    found = {name: field.contents() for name, field in gguf.GGUFReader(tmp_path / "out" / "model.gguf").fields.items()}
    assert (found["tokenizer.ggml.model"], found["tokenizer.ggml.pre"]) == ("gpt2", rule)
    tokens = found["tokenizer.ggml.tokens"]
    assert len(tokens) == tok.vocab_size
    assert [tokens[i] for i in tok.vocab.values()] == [to_chars(token) for token in tok.vocab]
    assert {tokens[i]: i for i in tok.special.values()} == tok.special
    assert found["tokenizer.ggml.merges"] == ["t h", "th e", "Ġ the", "Ø ´"]
    kinds = found["tokenizer.ggml.token_type"]
    assert {i for i, kind in enumerate(kinds) if kind == gguf.TokenType.CONTROL} == set(tok.special.values())
    ends = [found[f"tokenizer.ggml.{name}_token_id"] for name in ("bos", "eos", "eot")]
    assert ends == [tok.eot, tok.eot, tok.special["<|im_end|>"]]
    assert found["tokenizer.ggml.add_bos_token"] is True
    assert "<|im_start|>" in found["tokenizer.chat_template"]
    export_model(run, tmp_path / "out")
    assert not (tmp_path / "out" / "model.gguf").exists()


@pytest.mark.parametrize("pattern", [PATTERNS["words"], ALSO["o200k"], r"\p{L}+|[^\p{L}]"])
def test_other_rules_are_one_sentence(pattern, tmp_path) -> None:
    """llama.cpp would cut words otherwise, and the model would see ids that it does not know; nothing is written."""
    run, _ = save(tmp_path / "run", SHAPES["untied"], pattern)
    with pytest.raises(PlanError, match='whose pattern llama.cpp does not know .*pattern="gpt2", "gpt4" or "llama3"'):
        export_model(run, tmp_path / "out", gguf=True)
    assert not (tmp_path / "out").exists()


def test_a_model_without_tokenizer(tmp_path) -> None:
    """A GGUF file must have one."""
    run, _ = save(tmp_path / "run", SHAPES["untied"])
    (run / "tokenizer.json").unlink()
    with pytest.raises(PlanError, match="has no tokenizer, which a GGUF file must have"):
        export_model(run, tmp_path / "out", gguf=True)
