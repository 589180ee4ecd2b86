"""The model: a decoder-only GPT with RoPE, RMSNorm before each layer, SwiGLU, and tied embeddings (or not).

Instead of these, a `ModelConfig` may choose learned positions, LayerNorm and GELU.

Shape letters at the end of a name: B batch, T tokens, S tokens attended to, D width of the model, H heads of
queries, K of keys and values, C width of a head, F hidden width of the feed-forward layer, V vocabulary.

Weights are float32; activations have `compute_dtype`, and each layer casts its own weight (no autocast).
"""


# mypy: disable-error-code=no-any-return
# ruff: noqa: N803, N806 - the shape letters are capitals
from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from . import masks
from .cache import Cache, KeyValues, Slots
from .config import ModelConfig
from .masks import Mask
from .roles import roles
from .rules import Rule

_STD = 0.02  # of the embedding, as in GPT-2


class Linear(nn.Linear):
    """A linear layer without bias, (..., n_in) to (..., n_out), that computes in its input's type.

    Weights start with standard deviation 1/sqrt(n_in). For a layer whose output is added to the residual stream,
    `n_residual` is the number of such layers in the model; the deviation is divided by sqrt(n_residual), so that the
    variance of the stream does not grow with depth (GPT-2).
    """

    role = "matrix"

    def __init__(self, n_in: int, n_out: int, n_residual: int = 0) -> None:
        super().__init__(n_in, n_out, bias=False)
        nn.init.normal_(self.weight, std=(n_in * max(1, n_residual)) ** -0.5)

    def forward(self, x: Tensor) -> Tensor:
        """Return the layer's output, (..., n_out), for an input (..., n_in)."""
        return F.linear(x, self.weight.to(x.dtype))


class Embedding(nn.Embedding):
    """A matrix with a vector per token id; for speed, unused rows fill it up to a multiple of 64."""

    role = "embedding"

    def __init__(self, vocab_size: int, width: int) -> None:
        super().__init__(-(-vocab_size // 64) * 64, width)
        nn.init.normal_(self.weight, std=_STD)


class RMSNorm(nn.Module):
    """A layer that divides by the root of the mean square, and multiplies each channel by a learned factor.

    Source: Zhang and Sennrich 2019.
    """

    role = "norm"

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.ones(config.d_model)), config.norm_eps

    def forward(self, x_BTD: Tensor) -> Tensor:
        """Return the normalised input, of the same shape (B rows, T tokens, D channels) and type."""
        return F.rms_norm(x_BTD, self.weight.shape, self.weight.to(x_BTD.dtype), eps=self.eps)


class LayerNorm(nn.Module):
    """A layer that subtracts the mean, divides by the standard deviation, and multiplies each channel by a factor.

    Source: Ba, Kiros and Hinton 2016; without their bias.
    """

    role = "norm"

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.ones(config.d_model)), config.norm_eps

    def forward(self, x_BTD: Tensor) -> Tensor:
        """Return the normalised input, of the same shape (B rows, T tokens, D channels) and type."""
        return F.layer_norm(x_BTD, self.weight.shape, self.weight.to(x_BTD.dtype), eps=self.eps)


def norm_of(config: ModelConfig) -> RMSNorm | LayerNorm:
    """Return a new layer of the norm that `config` names."""
    return LayerNorm(config) if config.norm == "layer" else RMSNorm(config)


class Positions(nn.Embedding):
    """A matrix with a learned vector per position, which is added to the token's vector."""

    role = "embedding"

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config.context, config.d_model)
        nn.init.normal_(self.weight, std=_STD)


def rope_table(context: int, d_head: int, base: float) -> Tensor:
    """Return the cosines and sines of rotary positions (Su et al. 2021), float32 (2, context, d_head / 2)."""
    frequency = base ** (-torch.arange(0, d_head, 2, dtype=torch.float64) / d_head)
    angle = torch.arange(context, dtype=torch.float64)[:, None] * frequency
    return torch.stack([angle.cos(), angle.sin()]).float()


def rotate(x_BHTC: Tensor, rope: Tensor) -> Tensor:
    """Return queries or keys with the pairs (c, c + C/2) of each head rotated by the angle of the token's position.

    rope: cosines and sines (`rope_table`), (2, T, C/2), or (2, B, 1, T, C/2) if each row has its own positions.
    Computed in float32; the result has the input's shape and type.
    """
    a, b = x_BHTC.float().chunk(2, dim=-1)
    cos, sin = rope
    return torch.cat([a * cos - b * sin, a * sin + b * cos], dim=-1).to(x_BHTC.dtype)


class Attention(nn.Module):
    """Multi-head attention; with fewer key and value heads, grouped-query attention (Ainslie et al. 2023)."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.d_head, self.context = config.d_head, config.context
        self.heads = [config.n_heads, config.kv_heads, config.kv_heads]
        self.qkv = Linear(config.d_model, sum(self.heads) * config.d_head)
        self.out = Linear(config.n_heads * config.d_head, config.d_model, n_residual=2 * config.n_layers)

    def cache(self, batch: int, device: torch.device, dtype: torch.dtype) -> KeyValues:
        """Return an empty cache of this layer's keys and values for `batch` rows."""
        return KeyValues((batch, self.heads[1], self.context, self.d_head), device, dtype)

    def forward(
        self, x_BTD: Tensor, rope: Tensor | None, allowed: Any, cache: tuple[KeyValues, Slots] | None
    ) -> Tensor:  # fmt: skip
        """Return the attention layer's output, (B, T, D), for an input (B rows, T tokens, D channels).

        rope: rotary positions (see `rotate`); None: none. allowed: attention mask (see `masks.attend`). cache: this
        layer's cache and the slots of the new tokens, which then attend to the tokens in the cache too; None: there is
        no cache.
        """
        x_BTHC = self.qkv(x_BTD).unflatten(-1, (-1, self.d_head))
        q_BHTC, k_BKTC, v_BKTC = x_BTHC.transpose(1, 2).split(self.heads, dim=1)
        if rope is not None:
            q_BHTC, k_BKTC = rotate(q_BHTC, rope), rotate(k_BKTC, rope)
        if cache is not None:
            own, slots = cache
            k_BKTC, v_BKTC = own.add(k_BKTC, v_BKTC, slots)
        seen = masks.attend(q_BHTC, k_BKTC, v_BKTC, allowed)
        return self.out(seen.transpose(1, 2).flatten(2))


class SwiGLU(nn.Module):
    """The feed-forward layer: a gated layer with the activation SwiGLU (Shazeer 2020)."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.up = Linear(config.d_model, 2 * config.ff_width)
        self.down = Linear(config.ff_width, config.d_model, n_residual=2 * config.n_layers)

    def forward(self, x_BTD: Tensor) -> Tensor:
        """Return the feed-forward layer's output, (B, T, D), for an input (B, T, D)."""
        gate_BTF, x_BTF = self.up(x_BTD).chunk(2, dim=-1)
        return self.down(F.silu(gate_BTF) * x_BTF)


class GELU(nn.Module):
    """The feed-forward layer of GPT-2: two matrices with the activation GELU between them (Hendrycks 2016)."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.up = Linear(config.d_model, config.ff_width)
        self.down = Linear(config.ff_width, config.d_model, n_residual=2 * config.n_layers)

    def forward(self, x_BTD: Tensor) -> Tensor:
        """Return the feed-forward layer's output, (B, T, D), for an input (B, T, D)."""
        return self.down(F.gelu(self.up(x_BTD)))


class Block(nn.Module):
    """One block of the GPT: attention, then feed-forward.

    Each layer reads the residual stream, normalised, and its output is added to the stream.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.norm_1, self.attention = norm_of(config), Attention(config)
        self.norm_2 = norm_of(config)
        self.feed_forward = GELU(config) if config.feed_forward == "gelu" else SwiGLU(config)

    def forward(
        self, x_BTD: Tensor, rope: Tensor | None, allowed: Any, cache: tuple[KeyValues, Slots] | None
    ) -> Tensor:  # fmt: skip
        """Return the residual stream after this block, (B, T, D); the arguments are those of `Attention.forward`."""
        x_BTD = x_BTD + self.attention(self.norm_1(x_BTD), rope, allowed, cache)
        return x_BTD + self.feed_forward(self.norm_2(x_BTD))


class GPT(nn.Module):
    """The language model, a decoder-only GPT; if `config.tied`, one matrix both embeds tokens and scores the next one.

    Source of tied weights: Press and Wolf 2017.
    """

    rope: Tensor

    def __init__(self, config: ModelConfig, vocab_size: int) -> None:
        super().__init__()
        self.config, self.vocab_size = config, vocab_size
        self.compute_dtype = torch.float32
        self.rule = Rule()  # of the run that trains it; generation follows it
        self.recompute = False  # whether blocks are computed again for the gradient, instead of being stored
        self.embedding = Embedding(vocab_size, config.d_model)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.n_layers))
        self.norm = norm_of(config)
        self.positions = Positions(config) if config.positions == "learned" else None
        self.head = None if config.tied else Linear(config.d_model, self.embedding.num_embeddings)
        if self.head is not None:
            nn.init.normal_(self.head.weight, std=_STD)
        rope = rope_table(config.context, config.d_head, config.rope_base)
        self.register_buffer("rope", rope, persistent=False)

    def forward(self, ids_BT: Tensor, mask: Mask | None = None) -> Tensor:
        """Return the scores (logits) of the next token id at each position, float32 (B rows, T tokens, V ids).

        mask: which inputs attend to which, and their positions; None: causal attention. For the loss use
        `loss.token_nats`, which needs fewer logits at once.
        """
        return self.logits(self.hidden(ids_BT, mask))

    def hidden(self, ids_BT: Tensor, mask: Mask | None = None, slots: Slots | None = None) -> Tensor:
        """Return the normalised residual stream after the last block, (B rows, T tokens, D channels).

        mask: as in `forward`. slots: slots of a cache, in which these tokens are stored; they attend to the tokens
        stored before too. Without both, attention is causal.
        """
        how = slots if mask is None else mask
        allowed = None if how is None else how.allowed
        x_BTD, rope = self.embedding(ids_BT), None
        if self.positions is not None:
            x_BTD = x_BTD + (self.positions.weight[: ids_BT.shape[1]] if how is None else self.positions(how.position))
        else:
            rope = self.rope[:, : ids_BT.shape[1]] if how is None else self.rope[:, how.position].unsqueeze(2)
        x_BTD = x_BTD.to(self.compute_dtype)
        for i, block in enumerate(self.blocks):
            if self.recompute and slots is None and torch.is_grad_enabled():
                x_BTD = checkpoint(block, x_BTD, rope, allowed, None, use_reentrant=False)
            else:
                x_BTD = block(x_BTD, rope, allowed, None if slots is None else (slots.layers[i], slots))
        return self.norm(x_BTD)

    def stream(self, ids_BT: Tensor, mask: Mask | None = None) -> Tensor:
        """Return `hidden(ids_BT, mask)`; a training run may replace this method by a compiled version."""
        return self.hidden(ids_BT, mask)

    def cache(self, batch: int) -> Cache:
        """Return an empty cache of attention keys and values, for the generation of `batch` texts."""
        layers = [block.attention.cache(batch, self.device, self.compute_dtype) for block in self._blocks()]
        return Cache(layers, batch, self.device)

    def logits(self, x_BTD: Tensor) -> Tensor:
        """Return the scores of the next id at each position, float32 (B, T, V); x_BTD: output of `hidden`."""
        logits_BTV = F.linear(x_BTD, self.head_weight.to(x_BTD.dtype)).float()
        return logits_BTV[..., : self.vocab_size]

    @property
    def head_weight(self) -> Tensor:
        """The matrix that scores the next id, (V, D) with V padded to a multiple of 64."""
        return self.embedding.weight if self.head is None else self.head.weight

    @property
    def device(self) -> torch.device:
        """The device (CPU or GPU) on which the model's weights are."""
        return self.embedding.weight.device

    def _blocks(self) -> list[Block]:
        return [block for block in self.blocks if isinstance(block, Block)]

    @property
    def n_params(self) -> int:
        """The number of the model's parameters; the matrix that embeds and scores tokens is counted once."""
        return sum(p.numel() for p in self.parameters())

    @property
    def flops_per_token(self) -> int:
        """The floating-point operations to train on one token: 6 per weight of a matrix, and those of attention.

        This is the usual count (PaLM, appendix B): attention is counted in full, although half of it is masked. A
        frozen weight counts 4 operations, since no gradient is computed for it.
        """
        role_of = roles(self)
        multiplied = {"matrix", "embedding"} if self.config.tied else {"matrix"}
        matrices = [p for n, p in self.named_parameters() if role_of[n] in multiplied and not n.startswith("positions")]
        products = sum((6 if p.requires_grad else 4) * p.numel() for p in matrices)
        return products + 12 * self.config.n_layers * self.config.d_model * self.config.context
