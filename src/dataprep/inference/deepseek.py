"""Convert the weights of a model with latent attention to those of a DeepSeek-V2 model in Hugging Face's files.

DeepSeek rotates neighbouring channels instead of the halves of a head, so the rows of rotated channels are reordered.
Its shared experts are one feed-forward layer. The weight of an expert is the router's probability itself, which is ours
if a token uses one expert.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from dataprep.train import GPT, ModelConfig
from dataprep.train.model.latent import LatentAttention

from . import llama

EPS = 1e-6
"""The number that DeepSeek's norm of latent vectors always adds."""


def name_of(block: int, layer: str, projection: str) -> str:
    """Return the name of a projection in DeepSeek's files (see `llama.name_of`)."""
    home, *inside, _ = layer.split(".")
    return f"model.layers.{block}.{'.'.join([llama.HOMES[home], *inside, projection])}"


def weights(model: GPT) -> dict[str, Tensor]:
    """Return the weights of `model` as {name in DeepSeek's files: tensor, float32}."""
    found, shape = llama.weights(model, name_of), model.config
    for n, block in enumerate(model.blocks):
        home = f"model.layers.{n}"
        found[f"{home}.self_attn.kv_a_layernorm.weight"] = block.get_parameter("attention.norm.weight")
        for name, width in (("q_proj", shape.d_head), ("kv_a_proj_with_mqa", shape.latent or 0)):
            at = f"{home}.self_attn.{name}.weight"
            found[at] = _as_neighbours(found[at], width, LatentAttention.rotated(shape))
        if shape.experts:
            found[f"{home}.mlp.gate.weight"] = block.get_parameter("feed_forward.router.weight")
            for name, dim in (("gate_proj", 0), ("up_proj", 0), ("down_proj", 1)):
                every = [found.pop(f"{home}.mlp.shared.{i}.{name}.weight") for i in range(shape.experts_shared)]
                found[f"{home}.mlp.shared_experts.{name}.weight"] = torch.cat(every, dim=dim)
    return found


def _as_neighbours(weight: Tensor, plain: int, rotated: int) -> Tensor:
    """Return a weight whose outputs are `plain` channels and `rotated` ones, repeated, with the latter reordered."""
    place = torch.arange(plain + rotated)
    place[plain:] = plain + torch.arange(rotated).view(2, -1).T.flatten()
    return weight.view(-1, plain + rotated, weight.shape[1])[:, place].flatten(0, 1)


def config_of(model: GPT) -> dict[str, Any]:
    """Return the content of config.json, without the ids that begin and end a text."""
    shape, plain = model.config, llama.config_of(model)
    rotated = LatentAttention.rotated(shape)
    return plain | {
        "architectures": ["DeepseekV2ForCausalLM"], "model_type": "deepseek_v2", "head_dim": rotated,
        "q_lora_rank": None, "kv_lora_rank": shape.latent, "qk_nope_head_dim": shape.d_head,
        "qk_rope_head_dim": rotated, "v_head_dim": shape.d_head, "moe_intermediate_size": shape.ff_width,
        "first_k_dense_replace": 0 if shape.experts else shape.n_layers, "n_routed_experts": shape.experts or 1,
        "n_shared_experts": shape.experts_shared or 1, "num_experts_per_tok": 1, "topk_method": "greedy",
        "norm_topk_prob": False, "routed_scaling_factor": 1.0, "n_group": 1, "topk_group": 1,
        "aux_loss_alpha": shape.balance,
    }  # fmt: skip


def fits(shape: ModelConfig) -> bool:
    """Return whether the settings fit: one expert per token, with shared ones, or none; and an even `latent`.

    `transformers` reads rotated channels in pairs, which must begin at an even place after the latent vector.
    """
    if (shape.latent or 0) % 2:
        return False
    return not shape.experts or bool(shape.experts_used == 1 and shape.experts_shared)
