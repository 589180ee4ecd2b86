"""AdamW whose moments are divided among the processes that train together (ZeRO stage 1, Rajbhandari et al. 2020).

Every process has all weights and, after the backward pass, all gradients. It holds the moments of its own part of each
parameter, updates that part, and receives the others' parts of the weights. AdamW updates each element independently,
so the weights equal those of the undivided optimiser bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from .distributed import World

LINE = 64
"""Parts are multiples of this many elements, so that kernels compute the same values as in the whole tensor."""
MOMENTS = ("exp_avg", "exp_avg_sq")


@dataclass
class Portion:
    """A process's part of a parameter.

    Attributes:
        own: a flat view of the part, which is the parameter for AdamW.
        size: elements of a part; the last one may have fewer. A parameter of few elements is one part, which each
            process has (`is_divided` is False).
    """

    parameter: nn.Parameter
    own: nn.Parameter
    size: int
    world: World

    @classmethod
    def of(cls, parameter: nn.Parameter, world: World) -> Portion:
        """Return this process's part of a parameter, which must be contiguous."""
        n, ranks = parameter.numel(), world.ranks
        size = -(-n // (ranks * LINE)) * LINE if n >= LINE * ranks * ranks else n  # no part is empty
        share = cls(parameter, parameter, size, world)
        share.own = nn.Parameter(share.part(parameter.data))
        return share

    @property
    def is_divided(self) -> bool:
        """Whether each process has a different part."""
        return self.size < self.parameter.numel()

    def part(self, whole: Tensor) -> Tensor:
        """Return this process's part, flat, of a tensor of the parameter's shape; if that is contiguous, as a view."""
        flat = whole.reshape(-1)
        return flat[self.world.rank * self.size :][: self.size] if self.is_divided else flat

    def begin_gather(self, own: Tensor, whole: Tensor) -> Callable[[], None]:
        """Begin to fill `whole`, of the parameter's shape, with all processes' parts `own`.

        Returns a function that waits for it.
        """
        flat, n = whole.view(-1), self.parameter.numel()
        if self.size * self.world.ranks == n:
            work = self.world.begin_gather(flat, own)
            return lambda: self.world.wait([work])
        filled = own.new_zeros(self.size)  # the last part has fewer elements
        filled[: len(own)] = own
        gathered = own.new_empty(self.size * self.world.ranks)
        work = self.world.begin_gather(gathered, filled)

        def finish() -> None:
            self.world.wait([work])
            flat.copy_(gathered[:n])

        return finish


class ShardedAdamW(torch.optim.AdamW):
    """AdamW for groups of parameters, in which this process of `world` holds only its part of the moments.

    `state_dict` and `load_state_dict` use whole moments, as in AdamW, so they do not depend on the number of processes.
    """

    def __init__(self, groups: list[dict[str, Any]], world: World, **how: Any) -> None:
        self.world, self.shares = world, [Portion.of(p, world) for group in groups for p in group["params"]]
        own = (share.own for share in self.shares)
        super().__init__([{**group, "params": [next(own) for _ in group["params"]]} for group in groups], **how)

    def step(self, closure: Any = None) -> Any:
        """Update this process's part of the weights; `gather_weights` must follow."""
        for share in self.shares:
            grad = share.parameter.grad
            share.own.grad = None if grad is None else share.part(grad)
        return super().step(closure)

    def zero_grad(self, set_to_none: bool = True) -> None:  # noqa: FBT001, FBT002 - torch's own signature
        """Remove the gradients, also those of the parameters of which this process has a part."""
        super().zero_grad(set_to_none)
        for share in self.shares:
            share.parameter.grad = None

    @torch.no_grad()
    def gather_weights(self) -> None:
        """Receive the other processes' parts of the weights."""
        shares = [share for share in self.shares if share.is_divided]
        for finish in [share.begin_gather(share.own.data, share.parameter.data) for share in shares]:
            finish()

    @torch.no_grad()
    def state_dict(self) -> dict[str, Any]:
        """Return the state of AdamW with whole moments; all processes must call it.

        In the first process the moments are in the CPU's memory; the others' results have none.
        """
        saved = super().state_dict()
        state: dict[int, dict[str, Any]] = {}
        for i, share in enumerate(self.shares):
            if i in saved["state"]:
                entry = saved["state"][i]
                state[i] = {name: self._whole(share, value) if name in MOMENTS else value
                            for name, value in entry.items()}  # fmt: skip
        return {**saved, "state": state}

    def _whole(self, share: Portion, own: Tensor) -> Tensor | None:
        whole = own.view_as(share.parameter) if not share.is_divided else torch.empty_like(share.parameter)
        if share.is_divided:
            share.begin_gather(own, whole)()
        return whole.cpu() if self.world.is_first else None

    @torch.no_grad()
    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take this process's part of the moments of a `state_dict`, of this class or of AdamW."""
        state = {
            i: {name: self.shares[i].part(value).clone() if name in MOMENTS else value for name, value in entry.items()}
            for i, entry in state_dict["state"].items()
        }
        super().load_state_dict({**state_dict, "state": state})
