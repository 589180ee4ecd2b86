"""Experts: feed-forward layers; a router chooses a few of them for each token (Shazeer et al. 2017)."""

# ruff: noqa: N803, N806 - the shape letters are capitals
from __future__ import annotations

from dataclasses import replace

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from dataprep.train.parts import Matrix
from dataprep.train.shape import ModelConfig

from .feed_forward import FeedForward
from .linear import Linear


class Experts(nn.Module):
    """`experts` feed-forward layers, of which each token uses `experts_used`; all tokens use `experts_shared` more.

    The outputs are weighted by the router's probabilities, which are divided by their sum over the chosen experts
    (Mixtral), or by the probability of a single one (Switch). No token is dropped.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        self.router = Linear(config.d_model, config.experts)
        self.experts = nn.ModuleList(FeedForward(config) for _ in range(config.experts))
        self.shared = nn.ModuleList(FeedForward(config) for _ in range(config.experts_shared))
        for layer in self.experts.modules():
            if isinstance(layer, Linear):
                layer.share = config.experts_used / config.experts

    @classmethod
    def matrices(cls, config: ModelConfig) -> dict[str, Matrix]:
        """Return the linear layers, for a layer of the shape `config`."""
        each, share = FeedForward.matrices(config), config.experts_used / config.experts
        found = {"router": Matrix(config.d_model, {"gate": config.experts}, is_adaptable=False)}
        for i in range(config.experts):
            found |= {f"experts.{i}.{name}": replace(matrix, share=share) for name, matrix in each.items()}
        return found | {f"shared.{i}.{n}": m for i in range(config.experts_shared) for n, m in each.items()}

    def forward(self, x_BTD: Tensor) -> tuple[Tensor, Tensor | None]:
        """Return (output, (B, T, D), for an input (B, T, D); in training, the losses of the router, a scalar).

        The losses are `balance` times the number of experts times the sum over experts of (share of the tokens that use
        it) * (mean probability), which is 1 if all experts are used equally (Switch, Fedus et al. 2021); and `router_z`
        times the mean square of the logarithm of the sum of exponentials of a token's scores (ST-MoE, Zoph et al.
        2022).
        """
        x_ND, n = x_BTD.flatten(0, 1), self.config.experts
        logits_NE = F.linear(x_ND.float(), self.router.weight.float())
        share_NE = logits_NE.softmax(-1)
        weight_NK, chosen_NK = share_NE.topk(self.config.experts_used)
        if self.config.experts_used > 1:  # one weight would be 1, without a gradient for the router
            weight_NK = weight_NK / weight_NK.sum(-1, keepdim=True)
        out_ND = self._mixed(x_ND, chosen_NK, weight_NK.to(x_ND.dtype))
        for expert in self.shared:
            out_ND = out_ND + expert(x_ND)[0]
        if not self.training:
            return out_ND.view_as(x_BTD), None
        used_E = F.one_hot(chosen_NK, n).float().mean((0, 1))
        balance = n * (used_E * share_NE.mean(0)).sum()
        z = logits_NE.logsumexp(-1).square().mean()
        return out_ND.view_as(x_BTD), self.config.balance * balance + self.config.router_z * z

    @torch.compiler.disable  # the numbers of tokens change in each step
    def _mixed(self, x_ND: Tensor, chosen_NK: Tensor, weight_NK: Tensor) -> Tensor:
        out_ND = torch.zeros_like(x_ND)
        for i, expert in enumerate(self.experts):
            token, place = (chosen_NK == i).nonzero(as_tuple=True)
            out_ND = out_ND.index_add(0, token, expert(x_ND[token])[0] * weight_NK[token, place, None])
        return out_ND
