"""Cache for text generation: attention keys and values of the tokens processed so far, per layer and row."""

# ruff: noqa: N803 - the shape letters are capitals
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from . import masks


class KeyValues:
    """Attention keys `k` and values `v` of one layer for B rows, each (B, K key heads, context, C channels).

    Of row r, only the first `Cache.lengths[r]` of the `context` slots are in use.
    """

    def __init__(self, shape: Sequence[int], device: torch.device, dtype: torch.dtype) -> None:
        self.k, self.v = (torch.zeros(*shape, device=device, dtype=dtype) for _ in range(2))

    def add(self, k_BKTC: Tensor, v_BKTC: Tensor, slots: Slots) -> tuple[Tensor, Tensor]:
        """Store the keys and values of new tokens, (B, K, T, C) each, in `slots`; return (all keys, all values).

        Both results are (B, K, S, C): the first S = `slots.stop` tokens of each row in `slots.rows`.
        """
        for mine, new in ((self.k, k_BKTC), (self.v, v_BKTC)):
            mine[slots.rows[:, None], :, slots.position] = new.transpose(1, 2)
        if len(slots.rows) == len(self.k):  # views, not copies
            return self.k[:, :, : slots.stop], self.v[:, :, : slots.stop]
        return self.k[slots.rows, :, : slots.stop], self.v[slots.rows, :, : slots.stop]


@dataclass(frozen=True)
class Slots:
    """The slots of a cache for T new tokens in each of B rows, as `Cache.take` returns them.

    Attributes:
        layers: the cache of each layer.
        rows: int64 (B), the index of each row in the cache.
        position: int64 (B, T), the offset of each new token in its row.
        stop: the length S of the longest row, with the new tokens.
        allowed: bool (B, 1, T, S), whether a new token may attend to a token of its row; None if plain causal attention
            is right for all rows.
    """

    layers: list[KeyValues]
    rows: Tensor
    position: Tensor
    stop: int
    allowed: Tensor | None


class Cache:
    """Attention keys and values of all layers for `batch` rows.

    Attributes:
        lengths: the number of tokens stored in each row.
    """

    def __init__(self, layers: list[KeyValues], batch: int, device: torch.device) -> None:
        self.layers, self.device = layers, device
        self.lengths = [0] * batch

    def take(self, rows: Sequence[int], counts: Sequence[int], *, prefix: bool = False) -> Slots:
        """Reserve slots for the next counts[i] tokens (one or more) of each row rows[i], and return the slots.

        - rows: the indices of rows of the cache, ascending. In every row as many slots are reserved as the largest of
          `counts`; slots that a row does not need are overwritten before any token attends to them.
        - prefix: whether all new tokens of a row attend to each other.
        """
        held = torch.tensor([self.lengths[row] for row in rows])
        more = torch.tensor(list(counts))
        width = int(more.max())
        stop = int(held.max()) + width
        position = held[:, None] + torch.arange(width)
        even = len(set(held.tolist())) == len(set(more.tolist())) == 1
        plain = even and (width == 1 or (width == stop and not prefix))
        allowed = None if plain else masks.continued(position, held + more if prefix else held * 0, stop)
        for row, count in zip(rows, counts, strict=True):
            self.lengths[row] += count
        return Slots(
            self.layers, self._moved(torch.tensor(list(rows))), self._moved(position), stop,
            None if allowed is None else self._moved(allowed),
        )  # fmt: skip

    def _moved(self, tensor: Tensor) -> Tensor:
        """Return a tensor of the CPU on the device; from pinned memory, the copy to CUDA is asynchronous."""
        return (tensor.pin_memory() if self.device.type == "cuda" else tensor).to(self.device, non_blocking=True)

    def clear(self, row: int) -> None:
        """Set the length of a row to 0, so that its stored tokens are no longer used."""
        self.lengths[row] = 0
