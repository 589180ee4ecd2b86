"""Convert the weights of a model to those of a Gemma 3 model (its text part) in Hugging Face's files.

Gemma 3 multiplies the vectors of tokens by the root of their width, so that they are stored divided by it, apart from
the matrix of the scores. The gains of its norms are stored minus 1. Local layers and global ones have each their own
base of rotary positions.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor

from dataprep.train import GPT, ModelConfig

from . import llama

NORMS = {
    "norm_1": "input_layernorm", "norm_1_after": "post_attention_layernorm", "norm_2": "pre_feedforward_layernorm",
    "norm_2_after": "post_feedforward_layernorm",
}  # fmt: skip


def weights(model: GPT) -> dict[str, Tensor]:
    """Return the weights of `model` as {name in Gemma's files: tensor, float32}."""
    found = llama.weights(model)
    embedding = found["model.embed_tokens.weight"]
    found.setdefault("lm_head.weight", embedding)
    found["model.embed_tokens.weight"] = embedding / model.config.d_model**0.5
    for n, block in enumerate(model.blocks):
        found |= {
            f"model.layers.{n}.{its}.weight": block.get_parameter(f"{ours}.weight") for ours, its in NORMS.items()
        }
    return {name: weight - 1 if "norm" in name else weight for name, weight in found.items()}


def config_of(model: GPT) -> dict[str, Any]:
    """Return the content of config.json, without the ids that begin and end a text."""
    shape, plain = model.config, llama.config_of(model)
    layers = [shape.layer(i) for i in range(shape.n_layers)]
    bases = {kind_of(layer): layer.rope_base for layer in layers}
    base = bases.get("full_attention", shape.layer(0).rope_base)
    local = bases.get("sliding_attention", base)
    both = {"full_attention": base, "sliding_attention": local}
    return plain | {
        "architectures": ["Gemma3ForCausalLM"], "model_type": "gemma3_text", "hidden_activation": "gelu",
        "query_pre_attn_scalar": shape.d_head, "final_logit_softcapping": shape.softcap,
        "sliding_window": max((layer.sees.reach for layer in layers if layer.sees.reach), default=shape.context),
        "layer_types": [kind_of(layer) for layer in layers], "tie_word_embeddings": False,
        "rope_theta": base, "rope_local_base_freq": local,  # of transformers 4; 5 has the next line
        "rope_parameters": {kind: {"rope_type": "default", "rope_theta": one} for kind, one in both.items()},
    }  # fmt: skip


def kind_of(layer: ModelConfig) -> str:
    """Return Gemma's name of the kind of a layer."""
    return "sliding_attention" if layer.sees.reach else "full_attention"


def fits(shape: ModelConfig) -> bool:
    """Return whether layers of a kind have one base and one reach; Gemma also wants heads that divide the width."""
    layers = [layer for layer, _ in shape.kinds()]
    per_kind = {(kind_of(layer), layer.rope_base, layer.sees.reach) for layer in layers}
    return len(per_kind) == len({kind_of(layer) for layer in layers}) and shape.d_model % shape.n_heads == 0
