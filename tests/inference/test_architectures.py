"""Models are exported as the published architecture that has their parts; the others are refused, with their names."""

import json

import pytest

torch = pytest.importorskip("torch")

from safetensors.torch import load_file  # noqa: E402

from dataprep.errors import PlanError  # noqa: E402
from dataprep.inference.architectures import architecture_of  # noqa: E402
from dataprep.inference.export_model import export_model  # noqa: E402
from dataprep.tokens.vocabulary.tokenizer import Tokenizer  # noqa: E402
from dataprep.train import GPT, ModelConfig, TrainConfig, checkpoint  # noqa: E402
from runs import PLAIN  # noqa: E402

TOK = Tokenizer.of_bytes(special="chatml")
GPT2 = {"positions": "learned", "norm": "layer", "feed_forward": "gelu"}
GEMMA = {"placement": "both", "qk_norm": True, "feed_forward": "geglu"}
DEEPSEEK = {"attention": "latent", "latent": 8, "norm_eps": 1e-6}
MODELS = {
    "nanogpt": (GPT2, "gpt2"),
    "gpt2": ({**GPT2, "biases": "all", "tied": False}, "gpt2"),
    "llama with biases": ({"biases": "all", "n_kv_heads": 2}, "llama"),
    "yarn": ({"rope_scaling": "yarn", "rope_factor": 4.0, "rope_base": 100.0}, "llama"),
    "yarn of one token": ({"rope_scaling": "yarn", "rope_factor": 4.0, "rope_base": 9.0, "rope_context": 1}, "llama"),
    "linear": ({"rope_scaling": "linear", "rope_factor": 4.0}, "llama"),
    "ntk": ({"rope_scaling": "ntk", "rope_factor": 4.0, "head_width": 12}, "llama"),
    "qwen2": ({"biases": "qkv", "n_kv_heads": 2}, "qwen2"),
    "llama with settings of experts": ({"experts_used": 1, "balance": 0.0}, "llama"),
    "mistral": ({"pattern": "window", "reach": 5}, "mistral"),
    "qwen3": ({"qk_norm": True, "head_width": 12, "n_kv_heads": 1}, "qwen3"),
    "gemma3": (
        {**GEMMA, "n_layers": 3, "pattern": ("window", "window", "all"), "reach": 5, "rope_base": (1e4, 1e4, 1e6)},
        "gemma3_text",
    ),
    "gemma3, global and not tied": ({**GEMMA, "tied": False, "softcap": 30.0, "n_kv_heads": 2}, "gemma3_text"),
    "mixtral": ({"experts": 4, "d_ff": 16, "n_kv_heads": 2, "head_width": 12}, "mixtral"),
    "deepseek": ({**DEEPSEEK, "rotated_width": 6}, "deepseek_v2"),
    "deepseek with experts": (
        {**DEEPSEEK, "experts": 4, "experts_used": 1, "experts_shared": 2, "d_ff": 16, "tied": False},
        "deepseek_v2",
    ),
    "qwen3 with windows": ({"qk_norm": True, "pattern": ("window", "all"), "reach": 5}, "qwen3"),
}


def shape(**more):
    """A small shape."""
    return ModelConfig(**{"n_layers": 2, "n_heads": 4, "d_model": 32, "context": 24, **more})


@pytest.fixture(params=MODELS.values(), ids=MODELS.keys())
def run(request, tmp_path):
    """(The folder of a run with a random model, that model, the type that it is to have)."""
    torch.manual_seed(0)
    config = TrainConfig(model=shape(**request.param[0]))
    model = GPT(config.model, TOK.vocab_size).eval()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    content = PLAIN | {
        "step": 5, "config": config.to_dict(), "vocab_size": TOK.vocab_size, "eot": TOK.eot, "stop": [TOK.eot],
        "tokenizer": TOK.hash, "model": model.state_dict(),
    }  # fmt: skip
    (tmp_path / "run").mkdir()
    checkpoint.save(checkpoint.path_of(tmp_path / "run", 5), content, keep=1)
    TOK.save(tmp_path / "run" / "tokenizer.json")
    return tmp_path / "run", model, request.param[1]


@torch.no_grad()
def test_transformers_has_the_same_scores(run, tmp_path):
    """To 1e-5 of the largest score, from the folder alone; no weight is missing or left over."""
    transformers = pytest.importorskip("transformers")
    folder, ours, _ = run
    export_model(folder, tmp_path / "hf")
    theirs, found = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "hf", output_loading_info=True)
    assert not any(found[name] for name in ("missing_keys", "unexpected_keys", "mismatched_keys"))
    x = torch.randint(TOK.vocab_size, (2, 20), generator=torch.Generator().manual_seed(1))
    expected = ours(x)
    assert expected.std() > 0.3
    torch.testing.assert_close(theirs(x).logits, expected, atol=1e-5 * float(expected.abs().max()), rtol=1e-5)


def test_the_files_have_every_weight_once(run, tmp_path):
    """The type, and as many numbers as the model has, besides GPT-2's biases, which are 0 if the model has none."""
    folder, ours, kind = run
    export_model(folder, tmp_path / "hf")
    assert json.loads((tmp_path / "hf" / "config.json").read_text())["model_type"] == kind
    tensors = load_file(tmp_path / "hf" / "model.safetensors")
    zeros = sum(t.numel() for name, t in tensors.items() if name.endswith("bias") and not t.any())
    padding = sum(len(m.weight) - TOK.vocab_size for m in (ours.embedding, ours.head) if m is not None) * 32
    twice = TOK.vocab_size * 32 if kind == "gemma3_text" and ours.head is None else 0  # with and without Gemma's factor
    assert sum(t.numel() for t in tensors.values()) - zeros - twice == ours.n_params - padding
    assert (zeros > 0) == (kind == "gpt2" and ours.config.biases == "none")


@pytest.mark.parametrize(
    ("more", "named"),
    [
        ({"positions": "alibi"}, "positions='alibi', which llama"),
        ({"attention": "latent", "latent": 8}, "norm_eps=1e-05, which deepseek_v2"),
        ({**DEEPSEEK, "latent": 7}, "attention='latent', latent=7, which llama"),
        ({**DEEPSEEK, "positions": "none"}, "positions='none', which deepseek_v2"),
        ({"pattern": ("window", "all"), "reach": 4}, r"pattern=\('window', 'all'\), which mistral"),
        ({"pattern": "window", "reach": 4, "sinks": 1}, "sinks=1, which mistral"),
        ({"qk_norm": True, "pattern": ("chunk", "all"), "reach": 4}, r"pattern=\('chunk', 'all'\), which qwen3"),
        ({"experts": 4, "experts_used": 1}, "experts=4, which llama"),
        ({"experts": 4, "experts_shared": 1}, "experts=4, which llama"),
        ({**DEEPSEEK, "experts": 4, "experts_shared": 1}, "experts=4, which llama"),
        ({"softcap": 30.0}, "softcap=30.0, which llama"),
        ({"rope_base": (1e4, 1e6)}, r"rope_base=\(10000.0, 1000000.0\), which llama"),
        ({**GEMMA, "rope_base": (1e4, 1e6)}, "placement='both'.* which qwen3"),
        ({**GEMMA, "n_heads": 3, "head_width": 8}, "placement='both'.* which qwen3"),
        ({**GPT2, "n_kv_heads": 2}, "n_kv_heads=2, which gpt2"),
    ],
)
def test_what_no_architecture_has_is_refused(more, named):
    """With the settings that the nearest type has not, and the types that there are."""
    said = (
        f"^run has .*({named}) does not have; .* another type .llama, qwen2, mistral, qwen3, gpt2, gemma3_text, mixtral"
    )
    with pytest.raises(PlanError, match=said):
        architecture_of(shape(**more), "run")
