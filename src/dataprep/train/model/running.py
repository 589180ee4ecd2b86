"""Linear attention (Katharopoulos et al. 2020): a running sum over all keys instead of a score for each.

A key k adds f(k) v to a matrix, and a query q reads f(q) times the matrix, with f(x) = elu(x) + 1. The time per token
and the memory of a cache do not depend on the length of the text.
"""

# ruff: noqa: N803, N806 - the shape letters are capitals
from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from dataprep.train.shape import ModelConfig

from .attention import Attention, Sight
from .cache import KeyValues, New, View

CHUNK = 64
"""Tokens whose scores are computed at once; those of earlier tokens come from the running sum."""


class State(KeyValues):
    """The running sums of B rows: a matrix (C, C) and a vector (C) per head, side by side as (B, H, C, C + 1)."""

    @staticmethod
    def slots_of(config: ModelConfig) -> int:
        """Return the number of rows of a head's sums."""
        return config.d_head

    def view(self, new: New) -> View:
        """Return the numbers of tokens before, and of new ones, of each row."""
        return View(None, torch.stack([new.held, new.counts]))


class RunningAttention(Attention):
    """Linear attention; documents of a row are separate."""

    @classmethod
    def flops(cls, config: ModelConfig) -> int:
        """Return the operations per token of a training step, besides the matrices."""
        c, sizes = config.d_head, [min(CHUNK, config.context - i) for i in range(0, config.context, CHUNK)]
        within = sum(2 * n * n * (2 * c + 1) for n in sizes)
        between = 2 * c * (c + 1) * (sum(sizes[1:]) + sum(sizes[:-1]))
        return round(3 * config.n_heads * (within + between) / config.context)

    @classmethod
    def kept(cls, config: ModelConfig) -> int:
        """Return how many numbers a cache keeps for one row."""
        return config.n_heads * config.d_head * (config.d_head + 1)

    def cache(self, batch: int, device: torch.device, dtype: torch.dtype) -> KeyValues:  # noqa: ARG002 - sums are exact
        """Return the sums of `batch` rows, 0 and in float32."""
        return State(self.config, batch, [(self.config.n_heads, self.config.d_head + 1)], device, torch.float32)

    def forward(self, x_BTD: Tensor, sight: Sight) -> Tensor:
        """Return the attention layer's output, (B, T, D), for an input (B rows, T tokens, D channels)."""
        q_BHTC, k_BKTC, v_BKTC = self.queries_keys_values(x_BTD)
        k_BHTC, v_BHTC = (x.repeat_interleave(q_BHTC.shape[1] // x.shape[1], 1) for x in (k_BKTC, v_BKTC))
        q_BHTC, k_BHTC, t = F.elu(q_BHTC.float()) + 1, F.elu(k_BHTC.float()) + 1, x_BTD.shape[1]
        v_BHTC = F.pad(v_BHTC.float(), (0, 1), value=1.0)  # the last channel sums the weights
        place_T = torch.arange(t, device=x_BTD.device)
        if sight.cached is None:
            first_BT = (place_T * 0 if sight.position is None else place_T - sight.position).expand(len(x_BTD), t)
            out_BHTC, _ = running(q_BHTC, k_BHTC, v_BHTC, first_BT, None)
        else:
            (store, slots, view), first_BT = sight.cached, torch.full_like(sight.cached[1].position, -1)
            assert view.writes is not None
            held_B, counts_B = view.writes[:, :, None, None, None]
            before = store.kept[0][slots.rows] * (held_B > 0)
            k_BHTC = k_BHTC * (place_T[:, None] < counts_B)
            out_BHTC, after = running(q_BHTC, k_BHTC, v_BHTC, first_BT, before)
            assert after is not None
            store.kept[0][slots.rows] = after
        out_BTD: Tensor = self.out(out_BHTC.to(x_BTD.dtype).transpose(1, 2).flatten(2))
        return out_BTD


def running(
    q_BHTC: Tensor, k_BHTC: Tensor, v_BHTC: Tensor, first_BT: Tensor, sums: Tensor | None
) -> tuple[Tensor, Tensor | None]:
    """Return (the output of linear attention, (B, H, T, C); the sums after the last token if there were sums before).

    - q, k: positive; v: with a last channel of ones.
    - first_BT: the place of the first token of each token's document; negative: before these tokens.
    - sums: the sums of the tokens before; None: there are none.
    """
    found, t, has_sums = [], q_BHTC.shape[2], sums is not None
    for i in range(0, t, CHUNK):
        q, k, v = (x_BHTC[:, :, i : i + CHUNK] for x_BHTC in (q_BHTC, k_BHTC, v_BHTC))
        first_BN = first_BT[:, i : i + CHUNK]
        same_BNN = (first_BN[:, :, None] == first_BN[:, None, :]).tril()
        out = ((q @ k.transpose(2, 3)) * same_BNN[:, None]) @ v
        if sums is not None:
            out = out + (q @ sums) * (first_BN < i)[:, None, :, None]
        found.append(out[..., :-1] / out[..., -1:])
        if i + CHUNK < t or has_sums:
            last_B1 = first_BN[:, -1:]
            new = (k * (first_BN == last_B1)[:, None, :, None]).transpose(2, 3) @ v
            sums = new if sums is None else new + sums * (last_B1 < i)[:, :, None, None]
    return torch.cat(found, dim=2), sums
