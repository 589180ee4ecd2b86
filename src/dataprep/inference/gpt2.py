"""Convert the shape and weights of a model to those of a GPT-2 model in Hugging Face's files.

GPT-2 has learned positions, LayerNorm, GELU and biases; for a model without biases, zeros are written. Matrices are
stored transposed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn

from dataprep.train import GPT

LAYERS = {
    "norm_1": "ln_1", "attention.qkv": "attn.c_attn", "attention.out": "attn.c_proj", "norm_2": "ln_2",
    "feed_forward.up": "mlp.c_fc", "feed_forward.down": "mlp.c_proj",
}  # fmt: skip


def weights(model: GPT) -> dict[str, Tensor]:
    """Return the weights of `model` as {name in GPT-2's files: tensor, float32}, without unused rows of the vocabulary.

    The model must have no LoRA layers; `load_model` returns such a model.
    """
    return dict(_weights(model))


def _weights(model: GPT) -> Iterator[tuple[str, Tensor]]:
    yield "transformer.wte.weight", model.embedding.weight[: model.vocab_size]
    yield "transformer.wpe.weight", model.positions.weight
    yield from _layer("transformer.ln_f", model.norm)
    if model.head is not None:
        yield "lm_head.weight", model.head.weight[: model.vocab_size]
    for n, block in enumerate(model.blocks):
        for ours, theirs in LAYERS.items():
            yield from _layer(f"transformer.h.{n}.{theirs}", block.get_submodule(ours))


def _layer(name: str, layer: nn.Module) -> Iterator[tuple[str, Tensor]]:
    weight, bias = layer.get_parameter("weight"), getattr(layer, "bias", None)
    yield f"{name}.weight", weight.T if weight.ndim == 2 else weight
    yield f"{name}.bias", torch.zeros(len(weight)) if bias is None else bias


def config_of(model: GPT) -> dict[str, Any]:
    """Return the content of config.json, without the ids that begin and end a text."""
    shape = model.config
    return {
        "architectures": ["GPT2LMHeadModel"],
        "model_type": "gpt2",
        "vocab_size": model.vocab_size,
        "n_positions": shape.context,
        "n_embd": shape.d_model,
        "n_layer": shape.n_layers,
        "n_head": shape.n_heads,
        "n_inner": shape.ff_width,
        "activation_function": "gelu",
        "layer_norm_epsilon": shape.norm_eps,
        "resid_pdrop": shape.dropout,
        "embd_pdrop": shape.dropout,
        "attn_pdrop": shape.attention_dropout,
        "tie_word_embeddings": shape.tied,
        "dtype": "float32",
    }
