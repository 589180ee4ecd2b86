"""Convert the shape and weights of a model to those of a Llama model in Hugging Face's files, and back.

Both models perform the same computation: RMSNorm before each layer, rotary positions of the halves of a head, SwiGLU,
no biases. They differ in names; in dataprep, some projections are also rows of one matrix
(`dataprep.train.lora.projections`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
from torch import Tensor

from dataprep.errors import PlanError, ReadError
from dataprep.train import GPT, ModelConfig
from dataprep.train.lora import projections

OF_VOCABULARY = ("model.embed_tokens.weight", "lm_head.weight")
HOMES = {"attention": "self_attn", "feed_forward": "mlp"}
LONGEST = 2048
"""Context of an imported model, if its own is not shorter; no weight depends on it."""


def name_of(block: int, layer: str, projection: str) -> str:
    """Return the name of a projection (matrix) in Llama's files, such as "model.layers.0.self_attn.q_proj".

    Args:
        block: the number of the block.
        layer: the name of the layer in dataprep's GPT, such as "attention.qkv".
        projection: such as "q_proj".
    """
    return f"model.layers.{block}.{HOMES[layer.partition('.')[0]]}.{projection}"


def weights(model: GPT, name: Callable[[int, str, str], str] = name_of) -> dict[str, Tensor]:
    """Return the weights of `model` as {name in Llama's files: view, float32}, without unused rows of the vocabulary.

    The model must have no LoRA layers; `load_model` returns such a model. Routers of experts are left out.

    - name: the function that names projections.
    """
    return dict(_weights(model, name))


def _weights(model: GPT, name_of: Callable[[int, str, str], str]) -> Iterator[tuple[str, Tensor]]:
    yield "model.embed_tokens.weight", model.embedding.weight[: model.vocab_size]
    yield "model.norm.weight", model.norm.get_parameter("weight")
    if model.head is not None:
        yield "lm_head.weight", model.head.weight[: model.vocab_size]
    for n, block in enumerate(model.blocks):
        yield f"model.layers.{n}.input_layernorm.weight", block.get_parameter("norm_1.weight")
        yield f"model.layers.{n}.post_attention_layernorm.weight", block.get_parameter("norm_2.weight")
        for layer, rows in projections(model.config.layer(n)).items():
            for projection, where in rows.items():
                yield f"{name_of(n, layer, projection)}.weight", block.get_parameter(f"{layer}.weight")[where]
                if (bias := getattr(block.get_submodule(layer), "bias", None)) is not None:
                    yield f"{name_of(n, layer, projection)}.bias", bias[where]
        if model.config.qk_norm:
            for name in ("q_norm", "k_norm"):
                yield f"model.layers.{n}.self_attn.{name}.weight", block.get_parameter(f"attention.{name}.weight")


@torch.no_grad()
def fill(model: GPT, tensors: Mapping[str, Tensor], where: str) -> None:
    """Copy tensors with Llama's names to the weights of `model`; rows that fill up the vocabulary become 0.

    The vocabulary of the tensors may be larger.

    - where: description of the tensors, for messages.

    Raises ReadError if a tensor is missing, has another shape, or is not one of Llama's.
    """
    wanted = weights(model)
    # A tied model may have its head too: the same matrix as the embedding. Old files have tables of positions.
    others = {n for n in tensors if n not in wanted and not n.endswith("rotary_emb.inv_freq")} - {"lm_head.weight"}
    missing = wanted.keys() - tensors.keys()
    for matrix in (model.embedding, model.head):
        if matrix is not None:
            matrix.weight[model.vocab_size :] = 0
    for problem, names in (("lacks", missing), ("has besides Llama's", others)):
        if names:
            more = f" and {len(names) - 1} more" if len(names) > 1 else ""
            msg = f"{problem} {min(names)}{more}; the file must have the weights that its config.json describes"
            raise ReadError(msg, where)
    for name, weight in wanted.items():
        given = tensors[name][: len(weight)] if name in OF_VOCABULARY else tensors[name]
        if given.shape != weight.shape:
            msg = f"has {name} of shape {tuple(given.shape)}, but config.json requires {tuple(weight.shape)}"
            raise ReadError(msg, where)
        weight.copy_(given)


def config_of(model: GPT) -> dict[str, Any]:
    """Return the content of config.json, without the ids that begin and end a text."""
    shape, rotation = model.config, _rotation(model.config.layer(0))
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "vocab_size": model.vocab_size,
        "hidden_size": shape.d_model,
        "intermediate_size": shape.ff_width,
        "num_hidden_layers": shape.n_layers,
        "num_attention_heads": shape.n_heads,
        "num_key_value_heads": shape.kv_heads,
        "head_dim": shape.d_head,
        "hidden_act": "silu",
        "max_position_embeddings": shape.context,
        "rms_norm_eps": shape.norm_eps,
        "rope_theta": rotation["rope_theta"],  # of transformers 4; 5 has the next line
        "rope_parameters": rotation,
        "attention_bias": False,
        "mlp_bias": False,
        "tie_word_embeddings": shape.tied,
        "dtype": "float32",
    }


def _rotation(shape: ModelConfig) -> dict[str, Any]:
    """Return the settings of rotary positions, with their scaling; for "ntk", the base is changed."""
    base, factor, width = shape.rope_base, shape.rope_factor, shape.d_head
    scaled: dict[str, dict[str, Any]] = {
        "none": {"rope_type": "default"},
        "linear": {"rope_type": "linear", "factor": factor},
        "ntk": {"rope_type": "default", "rope_theta": base * factor ** (width / max(width - 2, 1))},
        "yarn": {
            "rope_type": "yarn", "factor": factor,
            "original_max_position_embeddings": shape.rope_context or round(shape.context / factor),
        },
    }  # fmt: skip
    return {"rope_theta": base} | scaled[shape.rope_scaling]


def shape_of(config: Mapping[str, Any], where: str) -> tuple[ModelConfig, int]:
    """Return (shape, vocabulary size) of the model that a config.json describes.

    - where: the folder of config.json, for messages.

    Raises PlanError, with all differences, if dataprep's GPT cannot have that shape; ReadError if a value is missing or
    of another type.
    """
    try:
        return _shape_of(config, where), int(config["vocab_size"])
    except (KeyError, TypeError, ValueError, ZeroDivisionError) as e:
        msg = f"config.json lacks a value or has a wrong one ({e!r}); it must be that of a Llama model"
        raise ReadError(msg, where) from e


def _shape_of(config: Mapping[str, Any], where: str) -> ModelConfig:
    kind = config.get("model_type")
    if kind != "llama":
        msg = f"{where} contains a model of type {kind!r}; pass a model of type 'llama'"
        raise PlanError(msg)
    rope = config.get("rope_parameters") or config.get("rope_scaling") or {}
    heads, width = config["num_attention_heads"], config["hidden_size"]
    wanted: dict[str, tuple[Any, Any]] = {
        "hidden_act": (config.get("hidden_act", "silu"), "silu"),
        "rope_type": (rope.get("rope_type", rope.get("type", "default")), "default"),
        "attention_bias": (config.get("attention_bias", False), False),
        "mlp_bias": (config.get("mlp_bias", False), False),
    }
    unlike = [f"{name}={found!r} instead of {ours!r}" for name, (found, ours) in wanted.items() if found != ours]
    if unlike:
        msg = f"{where} contains a model that cannot be trained here: it has {', '.join(unlike)}; choose another model"
        raise PlanError(msg)
    return ModelConfig(
        n_layers=config["num_hidden_layers"], n_heads=heads, d_model=width, d_ff=config["intermediate_size"],
        head_width=None if config.get("head_dim") in (None, width / heads) else config["head_dim"],
        n_kv_heads=config.get("num_key_value_heads") or heads, tied=config.get("tie_word_embeddings", False),
        context=min(config.get("max_position_embeddings", LONGEST), LONGEST),
        rope_base=float(rope.get("rope_theta", config.get("rope_theta", 10_000.0))),
        norm_eps=config.get("rms_norm_eps", 1e-6),
    )  # fmt: skip
