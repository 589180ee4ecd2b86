"""Cache for text generation: the data that attention keeps about the tokens processed so far, per layer and row.

Each layer has a store, which owns its tensors, the positions of the tokens in it, and the mask: generating a text token
by token yields the same scores as one pass over the whole text.
"""

# ruff: noqa: N803, N806 - the shape letters are capitals
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from dataprep.train.parts import CAUSAL, PATTERNS
from dataprep.train.shape import ModelConfig


class New(NamedTuple):
    """The new tokens of a pass, on the CPU: T tokens in each of B rows, of which the last ones may be padding.

    Attributes:
        held: int64 (B), the tokens of each row before.
        counts: int64 (B), the new tokens of each row without padding, from 1 to T.
        position: int64 (B, T), the offset of each new token in its row.
        prefix: whether all new tokens of a row attend to each other.
    """

    held: Tensor
    counts: Tensor
    position: Tensor
    prefix: bool

    @property
    def is_even(self) -> bool:
        """Whether all rows have the same numbers of tokens."""
        return len(set(self.held.tolist())) == len(set(self.counts.tolist())) == 1


class View(NamedTuple):
    """The part of a store, S tokens, that the new tokens of a pass see.

    Attributes:
        allowed: bool (B, 1, T, S), whether a new token may attend to a token; None if plain causal attention suffices.
        writes: int64 (3, N), the row, number and slot of each new token to store; None: there are slots for all.
        keys: int64 (B or 1, S), the position of each token of the store in its row; None: the layer needs no positions.
    """

    allowed: Tensor | None
    writes: Tensor | None = None
    keys: Tensor | None = None


class KeyValues:
    """Tensors of every token of B rows, such as keys and values, each (B, K heads, context, C channels).

    Of row r, only the first `Cache.lengths[r]` of the `context` slots are in use.
    """

    def __init__(
        self, config: ModelConfig, batch: int, sizes: Sequence[tuple[int, int]], device: torch.device,
        dtype: torch.dtype,
    ) -> None:  # fmt: skip
        """`sizes` has (K, C) of each tensor; `config` is the shape of the layer."""
        self.sees, self.n_slots, self.tells_keys = config.sees, self.slots_of(config), config.position.way == "scored"
        shapes = [(batch, heads, self.n_slots, width) for heads, width in sizes]
        self.kept = [torch.zeros(shape, device=device, dtype=dtype) for shape in shapes]

    @staticmethod
    def slots_of(config: ModelConfig) -> int:
        """Return the number of slots of a row."""
        return config.context

    def view(self, new: New) -> View:
        """Return the view of new tokens, on the CPU."""
        width, stop = new.position.shape[1], int(new.held.max()) + new.position.shape[1]
        if self.sees == CAUSAL and new.is_even and (width == 1 or (width == stop and not new.prefix)):
            return View(None, None, torch.arange(stop)[None] if self.tells_keys else None)
        key_1S = torch.arange(stop)[None]
        return View(_visible(self, new, key_1S), None, key_1S if self.tells_keys else None)

    def add(self, slots: Slots, view: View, *new_BKTC: Tensor) -> list[Tensor]:  # noqa: ARG002 - of other stores
        """Store new tensors, (B, K, T, C) each; return those of all tokens that the new ones may see, (B, K, S, C).

        Here these are the first S = `slots.stop` tokens of each row in `slots.rows`.
        """
        for mine, new in zip(self.kept, new_BKTC, strict=True):
            mine[slots.rows[:, None], :, slots.position] = new.transpose(1, 2)
        if len(slots.rows) == len(self.kept[0]):  # views, not copies
            return [mine[:, :, : slots.stop] for mine in self.kept]
        return [mine[slots.rows, :, : slots.stop] for mine in self.kept]


class Ring(KeyValues):
    """Tensors of the first and the last tokens of B rows, for a layer that attends only to these.

    The first `Sees.sinks` tokens are kept; a new token replaces the oldest of the others.
    """

    @staticmethod
    def slots_of(config: ModelConfig) -> int:
        """Return the number of slots of a row."""
        return config.sees.sinks + min(config.sees.reach, config.context)

    def view(self, new: New) -> View:
        """Return the view of new tokens, on the CPU: they see the slots, and after them each other."""
        sinks, newest_B1 = self.sees.sinks, new.held[:, None] - 1 - self.sees.sinks
        n = self.n_slots - sinks
        last_BS = newest_B1 - (newest_B1 - torch.arange(n)) % n  # the last with this slot, counted from the sinks on
        sink_BS = torch.arange(sinks).where(torch.arange(sinks) < new.held[:, None], -1)
        key_BS = torch.cat([sink_BS, (last_BS + sinks).where(last_BS >= 0, -1), new.position], dim=1)
        number, count_B1 = torch.arange(new.position.shape[1]), new.counts[:, None]
        stays_BT = (number < count_B1) & ((number >= count_B1 - n) | (new.position < sinks))
        row, token = stays_BT.nonzero(as_tuple=True)
        place = new.position[row, token]
        slot = place.where(place < sinks, sinks + (place - sinks) % n)
        return View(_visible(self, new, key_BS), torch.stack([row, token, slot]), key_BS if self.tells_keys else None)

    def add(self, slots: Slots, view: View, *new_BKTC: Tensor) -> list[Tensor]:
        """Store new tensors, (B, K, T, C) each; return those in the slots and the new ones, (B, K, S, C)."""
        assert view.writes is not None
        row, token, slot = view.writes
        found = [torch.cat([mine[slots.rows], new], dim=2) for mine, new in zip(self.kept, new_BKTC, strict=True)]
        for mine, new in zip(self.kept, new_BKTC, strict=True):
            mine[slots.rows[row], :, slot] = new[row, :, token]
        return found


def store_of(config: ModelConfig) -> type[KeyValues]:
    """Return the store of a layer of this shape that keeps keys and values."""
    return Ring if PATTERNS[config.pattern].is_band else KeyValues


def _visible(store: KeyValues, new: New, key_BS: Tensor) -> Tensor:
    """Return whether new tokens may attend to keys at positions, bool (B, 1, T, S); negative positions have no key."""
    q_BT1, key_B1S = new.position[:, :, None], key_BS[:, None]
    prefix_B11 = (new.held + new.counts if new.prefix else new.held * 0)[:, None, None]
    seen_BTS: Tensor = store.sees.visible(q_BT1, key_B1S, (q_BT1 < prefix_B11) & (key_B1S < prefix_B11))
    found_BTS = seen_BTS & (key_B1S >= 0)
    return found_BTS[:, None]


@dataclass(frozen=True)
class Slots:
    """The slots of a cache for T new tokens in each of B rows, as `Cache.take` returns them.

    Attributes:
        layers: the store of each layer, and what the new tokens see of it.
        rows: int64 (B), the index of each row in the cache.
        position: int64 (B, T), the offset of each new token in its row.
        stop: the length S of the longest row, with the new tokens.
    """

    layers: list[tuple[KeyValues, View]]
    rows: Tensor
    position: Tensor
    stop: int


class Cache:
    """The stores of all layers for the tokens of `batch` rows.

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
        held, more = torch.tensor([self.lengths[row] for row in rows]), torch.tensor(list(counts))
        position = held[:, None] + torch.arange(int(more.max()))
        new, views = New(held, more, position, prefix), dict[object, View]()
        for store in self.layers:  # layers of one kind share a view
            if (kind := (type(store), store.sees, store.tells_keys)) not in views:
                views[kind] = View._make(None if t is None else self._moved(t) for t in store.view(new))
        for row, count in zip(rows, counts, strict=True):
            self.lengths[row] += count
        return Slots(
            [(store, views[type(store), store.sees, store.tells_keys]) for store in self.layers],
            self._moved(torch.tensor(list(rows))), self._moved(position), int(held.max()) + position.shape[1],
        )  # fmt: skip

    def _moved(self, tensor: Tensor) -> Tensor:
        """Return a tensor of the CPU on the device; from pinned memory, the copy to CUDA is asynchronous."""
        return (tensor.pin_memory() if self.device.type == "cuda" else tensor).to(self.device, non_blocking=True)

    def clear(self, row: int) -> None:
        """Set the length of a row to 0, so that its stored tokens are no longer used."""
        self.lengths[row] = 0
