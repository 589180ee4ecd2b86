"""Sum gradients over all processes, a bucket of parameters at a time, while the backward pass is still running."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from .distributed import World

LARGE = 1 << 20
"""Elements (4 MiB in float32) of a bucket. A parameter that has as many is a bucket of its own, summed in place."""


class GradientSums:
    """The sums of one step's gradients over all processes.

    A bucket is summed as soon as the gradients of all its parameters are ready, in the same order in all processes: the
    last parameters come first, as in the backward pass. With one process, nothing is done.

    Attributes:
        dtype: the type in which gradients are exchanged; bfloat16 halves the bytes that are sent, and rounds.
    """

    def __init__(self, parameters: Iterable[nn.Parameter], world: World, dtype: torch.dtype = torch.float32) -> None:
        self.world, self.dtype = world, dtype
        self.buckets = buckets([p for p in parameters if p.requires_grad]) if world.ranks > 1 else []
        self._bucket_of = {p: i for i, bucket in enumerate(self.buckets) for p in bucket}
        self._missing = [len(bucket) for bucket in self.buckets]
        self._begun: list[tuple[Any, Tensor, list[Tensor]]] = []

    @contextlib.contextmanager
    def begun_early(self) -> Iterator[None]:
        """Begin the sums in the `with` block, which holds the backward pass of the step's last micro-batch."""
        hooks = [
            p.register_post_accumulate_grad_hook(self._is_ready)  # type: ignore[no-untyped-call]
            for p in self._bucket_of
        ]
        try:
            yield
        finally:
            for hook in hooks:
                hook.remove()

    def finish(self, numbers: Tensor) -> None:
        """Replace the gradients, and the float32 tensor `numbers`, by their sums over all processes.

        The numbers are sent with the last bucket if that bucket is small and has their type, so that a small model
        needs a single exchange.
        """
        if self.world.ranks == 1:
            return
        joined = [numbers] if self.dtype == torch.float32 else []
        while len(self._begun) < len(self.buckets):
            self._begin(joined if len(self._begun) == len(self.buckets) - 1 and self._last_is_small else [])
        if not (joined and self._last_is_small):
            self._begun.append((self.world.begin_sum(numbers), numbers, []))
        self.world.wait([work for work, _, _ in self._begun])
        for _, flat, parts in self._begun:
            if parts:
                for part, value in zip(parts, torch.split(flat, [part.numel() for part in parts]), strict=True):
                    part.copy_(value.view_as(part))
        self._begun = []

    @property
    def _last_is_small(self) -> bool:
        return bool(self.buckets) and sum(p.numel() for p in self.buckets[-1]) < LARGE

    def _is_ready(self, parameter: Tensor) -> None:
        """Count a parameter whose gradient is complete; begin the sums that can begin, all but the last one."""
        self._missing[self._bucket_of[parameter]] -= 1  # type: ignore[index]
        while len(self._begun) < len(self.buckets) - 1 and self._missing[len(self._begun)] == 0:
            self._begin([])

    def _begin(self, joined: list[Tensor]) -> None:
        """Begin the next bucket's sum, with the tensors `joined`."""
        parts = [*(p.grad for p in self.buckets[len(self._begun)] if p.grad is not None), *joined]
        if len(parts) == 1 and parts[0].dtype == self.dtype and parts[0].is_contiguous():
            self._begun.append((self.world.begin_sum(parts[0]), parts[0], []))
            return
        flat = torch.cat([part.flatten().to(self.dtype) for part in parts]) if parts else torch.zeros(1)
        self._begun.append((self.world.begin_sum(flat), flat, parts))


def buckets(parameters: Sequence[nn.Parameter]) -> list[list[nn.Parameter]]:
    """Return the parameters in buckets of about `LARGE` elements, the last parameters first.

    The remaining small parameters form the last bucket.
    """
    found: list[list[nn.Parameter]] = []
    small: list[nn.Parameter] = []
    for p in reversed(parameters):
        if p.numel() >= LARGE:
            found.append([p])
            continue
        small.append(p)
        if sum(q.numel() for q in small) >= LARGE:
            found.append(small)
            small = []
    return [*found, small] if small else found
