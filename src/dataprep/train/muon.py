"""Muon (Jordan et al. 2024) for the matrices of blocks, and AdamW for all other weights, as one optimiser.

Muon replaces the update of a matrix, which is the mean of its last gradients, by the nearest orthogonal matrix, up to
the rounding of five Newton-Schulz iterations in bfloat16. The learning rate of a matrix with n rows and m columns is
multiplied by 0.2 * sqrt(max(n, m)): its update then has the root mean square of AdamW's updates, so that learning rate
and weight decay of AdamW can be kept (Liu et al. 2025, "Muon is Scalable for LLM Training"). torch computes both.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import nn

from dataprep.errors import PlanError

from .model.block import matrices
from .model.gpt import GPT

MOMENTUM = 0.95
"""The decay rate of Muon's mean of gradients, as in its authors' code."""


class Hidden(NamedTuple):
    """A projection of a block, which is one matrix for Muon: queries, keys and values are separate ones.

    Attributes:
        weight: the weight of its layer, which may have several projections.
        rows: the rows of the projection.
        own: a view of these rows, which is the parameter for Muon.
    """

    weight: nn.Parameter
    rows: slice
    own: nn.Parameter


def hidden_of(model: GPT) -> list[Hidden]:
    """Return the projections of all blocks that compute vectors; routers, which score experts, are left out."""
    found = []
    for n, block in enumerate(model.blocks):
        for path, matrix in matrices(model.config.layer(n)).items():
            if matrix.is_adaptable:
                weight = block.get_submodule(path).weight
                assert isinstance(weight, nn.Parameter)
                found += [Hidden(weight, rows, nn.Parameter(weight.data[rows])) for rows in matrix.slices.values()]
    return found


class MuonAndAdamW(torch.optim.AdamW):
    """AdamW for `groups` of parameters, and Muon for `hidden`; both have the learning rate of the groups.

    `state_dict` has the moments of both, those of `hidden` last; a step with `found_inf` changes nothing.
    """

    def __init__(self, groups: list[dict[str, Any]], hidden: list[Hidden], weight_decay: float, **how: Any) -> None:
        super().__init__(groups, **how)
        if not hasattr(torch.optim, "Muon"):
            msg = f"optimizer='muon' needs torch 2.9 or newer, not {torch.__version__}; install it, or set adamw"
            raise PlanError(msg)
        self.hidden, self.n_others = hidden, sum(len(group["params"]) for group in groups)
        self.muon = torch.optim.Muon(
            [h.own for h in hidden], lr=how["lr"], weight_decay=weight_decay, momentum=MOMENTUM,
            adjust_lr_fn="match_rms_adamw",
        )  # fmt: skip
        for h in hidden:  # a checkpoint has moments even if no step was taken yet
            self.muon.state[h.own]["momentum_buffer"] = torch.zeros_like(h.own)

    def step(self, closure: Any = None) -> Any:
        """Update all weights. Whether a step counts is read from the device, since Muon cannot decide it there."""
        if not getattr(self, "found_inf", False):
            for h in self.hidden:
                h.own.grad = None if h.weight.grad is None else h.weight.grad[h.rows]
            self.muon.param_groups[0]["lr"] = self.param_groups[0]["lr"]
            self.muon.step()  # type: ignore[no-untyped-call]
        return super().step(closure)

    def zero_grad(self, set_to_none: bool = True) -> None:  # noqa: FBT001, FBT002 - torch's own signature
        """Remove the gradients of all weights."""
        super().zero_grad(set_to_none)
        for h in self.hidden:
            h.weight.grad = h.own.grad = None

    def state_dict(self) -> dict[str, Any]:
        """Return the moments of all weights, and the groups of AdamW."""
        saved, more = super().state_dict(), self.muon.state_dict()["state"]
        return {**saved, "state": saved["state"] | {self.n_others + i: moments for i, moments in more.items()}}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take the moments of a `state_dict`."""
        state, groups = state_dict["state"], self.muon.state_dict()["param_groups"]
        super().load_state_dict({**state_dict, "state": {i: m for i, m in state.items() if i < self.n_others}})
        mine = {i - self.n_others: moments for i, moments in state.items() if i >= self.n_others}
        self.muon.load_state_dict({"state": mine, "param_groups": groups})
