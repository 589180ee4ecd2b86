"""Convert the weights of a model with experts to those of a Mixtral model in Hugging Face's files.

Mixtral is Llama with experts, whose weights are the router's probabilities divided by their sum over the chosen ones.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor

from dataprep.train import GPT, ModelConfig

from . import llama

NAMES = {"gate_proj": "w1", "up_proj": "w3", "down_proj": "w2"}


def name_of(block: int, layer: str, projection: str) -> str:
    """Return the name of a projection in Mixtral's files (see `llama.name_of`)."""
    _, _, rest = layer.partition(".experts.")
    if not rest:
        return llama.name_of(block, layer, projection)
    return f"model.layers.{block}.block_sparse_moe.experts.{rest.partition('.')[0]}.{NAMES[projection]}"


def weights(model: GPT) -> dict[str, Tensor]:
    """Return the weights of `model` as {name in Mixtral's files: view, float32}."""
    routers = {
        f"model.layers.{n}.block_sparse_moe.gate.weight": block.get_parameter("feed_forward.router.weight")
        for n, block in enumerate(model.blocks)
    }
    return llama.weights(model, name_of) | routers


def config_of(model: GPT) -> dict[str, Any]:
    """Return the content of config.json, without the ids that begin and end a text."""
    shape = model.config
    return llama.config_of(model) | {
        "architectures": ["MixtralForCausalLM"], "model_type": "mixtral", "num_local_experts": shape.experts,
        "num_experts_per_tok": shape.experts_used, "sliding_window": None, "router_aux_loss_coef": shape.balance,
    }  # fmt: skip


def fits(shape: ModelConfig) -> bool:
    """Return whether the settings fit each other: a single expert per token has no sum to divide by."""
    return bool(shape.experts and shape.experts_used > 1 and not shape.experts_shared)
