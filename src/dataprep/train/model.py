"""Model: a decoder-only GPT of small parts (RoPE, RMSNorm before each part, SwiGLU, tied embeddings).

Shape letters at the end of a name: B batch, T tokens, S tokens attended to, D width of the model, H heads of
queries, K of keys and values, C width of a head, F hidden width of the feed-forward layer, V vocabulary.

Weights are float32; activations have `compute_dtype`, and each layer casts its own weight (no autocast).
"""


# mypy: disable-error-code=no-any-return
# ruff: noqa: N803, N806 - the shape letters are capitals
from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from . import masks
from .config import ModelConfig
from .masks import Mask
from .rows import IGNORE

_STD = 0.02  # of the embedding, as in GPT-2


class Linear(nn.Linear):
    """A layer without bias that computes in the type of its input; `n_residual` > 0 starts it smaller.

    Weights start with standard deviation 1/sqrt(inputs), divided by sqrt(n_residual) if the output is added to the
    residual stream, so that the stream's variance does not grow with depth (GPT-2).
    """

    def __init__(self, n_in: int, n_out: int, n_residual: int = 0) -> None:
        super().__init__(n_in, n_out, bias=False)
        nn.init.normal_(self.weight, std=(n_in * max(1, n_residual)) ** -0.5)

    def forward(self, x: Tensor) -> Tensor:
        """Map (..., n_in) to (..., n_out)."""
        return F.linear(x, self.weight.to(x.dtype))


class RMSNorm(nn.Module):
    """Division by the root of the mean square (Zhang and Sennrich 2019)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x_BTD: Tensor) -> Tensor:
        """Return the normalised input, of the same shape and type."""
        return F.rms_norm(x_BTD, self.weight.shape, self.weight.to(x_BTD.dtype), eps=1e-5)


def rope_table(context: int, d_head: int, base: float) -> Tensor:
    """Return cosines and sines of the rotary positions (Su et al. 2021): float32 (2, context, d_head / 2)."""
    frequency = base ** (-torch.arange(0, d_head, 2, dtype=torch.float64) / d_head)
    angle = torch.arange(context, dtype=torch.float64)[:, None] * frequency
    return torch.stack([angle.cos(), angle.sin()]).float()


def rotate(x_BHTC: Tensor, rope: Tensor) -> Tensor:
    """Rotate the pairs (c, c + C/2) of each head by the angle of their position, in float32.

    `rope` (2, T, C/2), or (2, B, 1, T, C/2) if each row has its own positions.
    """
    a, b = x_BHTC.float().chunk(2, dim=-1)
    cos, sin = rope
    return torch.cat([a * cos - b * sin, a * sin + b * cos], dim=-1).to(x_BHTC.dtype)


class Cache:
    """Keys and values of the `length` tokens that one generation has processed."""

    def __init__(self, config: ModelConfig, batch: int, device: torch.device, dtype: torch.dtype) -> None:
        shape = (2, config.n_layers, batch, config.kv_heads, config.context, config.d_head)
        self.kv = torch.zeros(shape, device=device, dtype=dtype)
        self.length, self.context = 0, config.context

    def add(self, layer: int, k_BKTC: Tensor, v_BKTC: Tensor) -> tuple[Tensor, Tensor]:
        """Store one layer's new keys and values; return all of them (B, K, S, C)."""
        stop = self.length + k_BKTC.shape[2]
        self.kv[0, layer, :, :, self.length : stop] = k_BKTC
        self.kv[1, layer, :, :, self.length : stop] = v_BKTC
        return self.kv[0, layer, :, :, :stop], self.kv[1, layer, :, :, :stop]


def attend(q_BHTC: Tensor, k_BKSC: Tensor, v_BKSC: Tensor) -> Tensor:
    """Return causal attention of the last T of S tokens, (B, H, T, C)."""
    t, s = q_BHTC.shape[2], k_BKSC.shape[2]
    grouped = q_BHTC.shape[1] != k_BKSC.shape[1]
    if t in (1, s):
        return F.scaled_dot_product_attention(q_BHTC, k_BKSC, v_BKSC, is_causal=t == s, enable_gqa=grouped)
    mask_TS = torch.ones(t, s, dtype=torch.bool, device=q_BHTC.device).tril(s - t)
    return F.scaled_dot_product_attention(q_BHTC, k_BKSC, v_BKSC, attn_mask=mask_TS, enable_gqa=grouped)


class Attention(nn.Module):
    """Multi-head attention; with fewer key and value heads, grouped-query attention (Ainslie et al. 2023)."""

    def __init__(self, config: ModelConfig, layer: int) -> None:
        super().__init__()
        self.layer, self.d_head = layer, config.d_head
        self.heads = [config.n_heads, config.kv_heads, config.kv_heads]
        self.qkv = Linear(config.d_model, sum(self.heads) * config.d_head)
        self.out = Linear(config.n_heads * config.d_head, config.d_model, n_residual=2 * config.n_layers)

    def forward(self, x_BTD: Tensor, rope: Tensor, cache: Cache | None = None, mask: Mask | None = None) -> Tensor:
        """Map (B, T, D) to (B, T, D)."""
        x_BTHC = self.qkv(x_BTD).unflatten(-1, (-1, self.d_head))
        q_BHTC, k_BKTC, v_BKTC = x_BTHC.transpose(1, 2).split(self.heads, dim=1)
        q_BHTC, k_BKTC = rotate(q_BHTC, rope), rotate(k_BKTC, rope)
        if cache is not None:
            k_BKTC, v_BKTC = cache.add(self.layer, k_BKTC, v_BKTC)
        seen = attend(q_BHTC, k_BKTC, v_BKTC) if mask is None else masks.attend(q_BHTC, k_BKTC, v_BKTC, mask)
        return self.out(seen.transpose(1, 2).flatten(2))


class SwiGLU(nn.Module):
    """Gated feed-forward layer (Shazeer 2020)."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.up = Linear(config.d_model, 2 * config.ff_width)
        self.down = Linear(config.ff_width, config.d_model, n_residual=2 * config.n_layers)

    def forward(self, x_BTD: Tensor) -> Tensor:
        """Map (B, T, D) to (B, T, D)."""
        gate_BTF, x_BTF = self.up(x_BTD).chunk(2, dim=-1)
        return self.down(F.silu(gate_BTF) * x_BTF)


class Block(nn.Module):
    """Attention, then feed-forward; each has a normalised input and is added to the stream."""

    def __init__(self, config: ModelConfig, layer: int) -> None:
        super().__init__()
        self.norm_1, self.attention = RMSNorm(config.d_model), Attention(config, layer)
        self.norm_2, self.feed_forward = RMSNorm(config.d_model), SwiGLU(config)

    def forward(self, x_BTD: Tensor, rope: Tensor, cache: Cache | None = None, mask: Mask | None = None) -> Tensor:
        """Map (B, T, D) to (B, T, D)."""
        x_BTD = x_BTD + self.attention(self.norm_1(x_BTD), rope, cache, mask)
        return x_BTD + self.feed_forward(self.norm_2(x_BTD))


class GPT(nn.Module):
    """Language model; one matrix embeds the tokens and scores them (tied, Press and Wolf 2017)."""

    rope: Tensor

    def __init__(self, config: ModelConfig, vocab_size: int) -> None:
        super().__init__()
        self.config, self.vocab_size = config, vocab_size
        self.compute_dtype = torch.float32
        # Rows up to a multiple of 64, for speed on matrix units. The extra ids have no logits.
        self.embedding = nn.Embedding(-(-vocab_size // 64) * 64, config.d_model)
        nn.init.normal_(self.embedding.weight, std=_STD)
        self.blocks = nn.ModuleList(Block(config, i) for i in range(config.n_layers))
        self.norm = RMSNorm(config.d_model)
        rope = rope_table(config.context, config.d_head, config.rope_base)
        self.register_buffer("rope", rope, persistent=False)

    def forward(self, ids_BT: Tensor, targets_BT: Tensor | None = None, mask: Mask | None = None) -> Tensor:
        """Return float32 logits (B, T, V); with targets, the loss of each in nats (B, T), 0 for targets IGNORE.

        Attention and positions follow the mask; without one, attention is causal.
        """
        logits_BTV = self.logits(self.hidden(ids_BT, mask=mask))
        if targets_BT is None:
            return logits_BTV
        logits_NV, targets_N = logits_BTV.flatten(0, 1), targets_BT.flatten()
        nats_N = F.cross_entropy(logits_NV, targets_N, ignore_index=IGNORE, reduction="none")
        return nats_N.view_as(targets_BT)

    def hidden(self, ids_BT: Tensor, cache: Cache | None = None, mask: Mask | None = None) -> Tensor:
        """Return the normalised stream after the last block (B, T, D); `ids_BT` follow the tokens in the cache."""
        first = cache.length if cache is not None else 0
        stop = first + ids_BT.shape[1]
        rope = self.rope[:, first:stop] if mask is None else self.rope[:, mask.position].unsqueeze(2)
        x_BTD = self.embedding(ids_BT).to(self.compute_dtype)
        for block in self.blocks:
            x_BTD = block(x_BTD, rope, cache, mask)
        if cache is not None:
            cache.length = stop
        return self.norm(x_BTD)

    def logits(self, x_BTD: Tensor) -> Tensor:
        """Return scores of the next token, float32 (B, T, V)."""
        logits_BTV = F.linear(x_BTD, self.embedding.weight.to(x_BTD.dtype)).float()
        return logits_BTV[..., : self.vocab_size]

    @property
    def n_params(self) -> int:
        """Number of parameters; the tied matrix counts once."""
        return sum(p.numel() for p in self.parameters())

    @property
    def flops_per_token(self) -> int:
        """Floating-point operations to train on one token: 6 per weight of a matrix, and attention.

        The usual count (PaLM, appendix B): attention is counted in full although half of it is masked.
        """
        matrices = sum(p.numel() for p in self.parameters() if p.dim() > 1)
        return 6 * matrices + 12 * self.config.n_layers * self.config.d_model * self.config.context
