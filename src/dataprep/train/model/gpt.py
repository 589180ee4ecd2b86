"""GPT: a decoder-only model with RoPE, RMSNorm before each layer, SwiGLU, and tied embeddings (or not).

Instead of these, a `ModelConfig` may choose learned positions, LayerNorm and GELU. The names of shapes are explained in
`__init__.py`.
"""

# mypy: disable-error-code=no-any-return
# ruff: noqa: N803, N806 - the shape letters are capitals
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from dataprep.train.roles import roles
from dataprep.train.shape import ModelConfig

from .attention import Attention
from .cache import Cache, KeyValues, Slots
from .feed_forward import GELU, SwiGLU
from .linear import STD, Embedding, Linear
from .masks import Mask
from .nf4 import NF4
from .norms import norm_of
from .positions import Positions, rope_table
from .rules import Rule


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


def call_block(block: nn.Module, *args: Any) -> Tensor:
    """Return the output of a block for these arguments."""
    return block(*args)


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
            nn.init.normal_(self.head.weight, std=STD)
        rope = rope_table(config.context, config.d_head, config.rope_base)
        self.register_buffer("rope", rope, persistent=False)

    def forward(self, ids_BT: Tensor, mask: Mask | None = None) -> Tensor:
        """Return the scores (logits) of the next token id at each position, float32 (B rows, T tokens, V ids).

        For the loss use `loss.token_nats`, which needs fewer logits at once.

        - mask: the inputs to which each input attends, and their positions; None: causal attention.
        """
        return self.logits(self.hidden(ids_BT, mask))

    def hidden(
        self, ids_BT: Tensor, mask: Mask | None = None, slots: Slots | None = None,
        call: Callable[..., Tensor] | None = None,
    ) -> Tensor:  # fmt: skip
        """Return the normalised residual stream after the last block, (B rows, T tokens, D channels).

        - mask: as in `forward`.
        - slots: slots of a cache, in which these tokens are stored; they attend to the tokens stored before too.
          Without both, attention is causal.
        - call: `call_block`, or a compiled version of it.
        """
        call = call or call_block
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
                x_BTD = checkpoint(call, block, x_BTD, rope, allowed, None, use_reentrant=False)
            else:
                x_BTD = call(block, x_BTD, rope, allowed, None if slots is None else (slots.layers[i], slots))
        return self.norm(x_BTD)

    def stream(self, ids_BT: Tensor, mask: Mask | None = None) -> Tensor:
        """Return `hidden(ids_BT, mask)`; a training run may replace this method by a compiled version."""
        return self.hidden(ids_BT, mask)

    def cache(self, batch: int) -> Cache:
        """Return an empty cache of attention keys and values, for the generation of `batch` texts."""
        layers = [block.attention.cache(batch, self.device, self.compute_dtype) for block in self._blocks()]
        return Cache(layers, batch, self.device)

    def logits(self, x_BTD: Tensor) -> Tensor:
        """Return the scores of the next id at each position, float32 (B, T, V).

        Args:
            x_BTD: output of `hidden`.
        """
        logits_BTV = F.linear(x_BTD, self.head_weight.to(x_BTD.dtype)).float()
        return logits_BTV[..., : self.vocab_size]

    @property
    def head_weight(self) -> Tensor:
        """The matrix that computes the logits of the next token, (V, D) with V padded to a multiple of 64."""
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
        return sum(p.numel() for p in self.parameters()) + self._n_packed

    @property
    def _n_packed(self) -> int:
        """The number of frozen weights that are stored in NF4, which are not parameters."""
        return sum(m.numel for m in self.modules() if isinstance(m, NF4))

    @property
    def flops_per_token(self) -> int:
        """The floating-point operations per token of training: 6 per matrix weight, plus those of attention.

        This is the usual count (PaLM, appendix B): attention is counted in full, although half of it is masked. A
        frozen weight counts 4 operations, since no gradient is computed for it.
        """
        role_of = roles(self)
        multiplied = {"matrix", "embedding"} if self.config.tied else {"matrix"}
        matrices = [p for n, p in self.named_parameters() if role_of[n] in multiplied and not n.startswith("positions")]
        products = sum((6 if p.requires_grad else 4) * p.numel() for p in matrices)
        products += 4 * self._n_packed
        return products + 12 * self.config.n_layers * self.config.d_model * self.config.context
