"""GPT: a decoder-only model with the parts that a `ModelConfig` names, by default those of Llama.

The names of shapes are explained in `__init__.py`.
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

from dataprep.train.parts import CAUSAL, Sees
from dataprep.train.roles import roles
from dataprep.train.shape import ModelConfig

from . import masks
from .attention import Sight
from .block import Block, call_block
from .cache import Cache, Slots
from .linear import STD, Embedding, Linear
from .masks import Mask
from .nf4 import NF4
from .norms import Norm
from .positions import positions_of
from .rules import Rule


class GPT(nn.Module):
    """The language model, a decoder-only GPT; if `config.tied`, one matrix both embeds tokens and scores the next one.

    With `n_labels` it is a classifier: its head scores that many labels instead of tokens.

    Source of tied weights: Press and Wolf 2017.
    """

    rotations: Any
    positions: Any

    def __init__(self, config: ModelConfig, vocab_size: int, n_labels: int = 0) -> None:
        super().__init__()
        self.config, self.vocab_size, self.n_labels = config, vocab_size, n_labels
        self.compute_dtype = torch.float32
        self.rule = Rule()  # of the run that trains it; generation follows it
        self.recompute = False  # whether blocks are computed again for the gradient, instead of being stored
        self.embedding = Embedding(vocab_size, config.d_model)
        layers = dict[ModelConfig, ModelConfig]()  # equal layers share one config
        every = [layers.setdefault(layer, layer) for layer in map(config.layer, range(config.n_layers))]
        self.blocks = nn.ModuleList(map(Block, every))
        self.norm = nn.Identity() if every[-1].place.of_sum else Norm(config)
        self.embedding_norm = Norm(config) if config.embedding_norm else None
        self.positions = positions_of(every[0], "added")
        n_rows = n_labels or self.embedding.num_embeddings
        self.head = None if config.tied and not n_labels else Linear(config.d_model, n_rows)
        if self.head is not None:
            nn.init.normal_(self.head.weight, std=STD)
        self.rules = list(dict.fromkeys(map(_rule, every)))
        turned = {name: layer for layer in layers if (name := _rotation(layer))}
        self.rotations = nn.ModuleList(positions_of(layer, "rotated") for layer in turned.values())
        names = [*turned, ""]
        self.kinds = [(self.rules.index(_rule(layer)), names.index(_rotation(layer))) for layer in every]

    def forward(self, ids_BT: Tensor, mask: Mask | None = None) -> Tensor:
        """Return the scores (logits) of the next token id at each position, float32 (B rows, T tokens, V ids).

        For the loss use `loss.token_nats`, which needs fewer logits at once.

        - mask: the inputs to which each input attends, and their positions; None: causal attention.
        """
        return self.logits(self.hidden(ids_BT, mask))

    def hidden(
        self, ids_BT: Tensor, mask: Mask | None = None, slots: Slots | None = None,
        call: Callable[..., tuple[Tensor, Tensor | None]] | None = None,
    ) -> Tensor:  # fmt: skip
        """Return the normalised residual stream after the last block, (B rows, T tokens, D channels).

        - mask: as in `forward`.
        - slots: slots of a cache, in which these tokens are stored; they attend to the tokens stored before too.
          Without both, attention is causal.
        - call: `call_block`, or a compiled version of it.
        """
        return self.outputs(ids_BT, mask, slots, call)[0]

    def outputs(
        self, ids_BT: Tensor, mask: Mask | None = None, slots: Slots | None = None,
        call: Callable[..., tuple[Tensor, Tensor | None]] | None = None,
    ) -> tuple[Tensor, Tensor | None]:  # fmt: skip
        """Return (the result of `hidden`, the sum of the blocks' further losses, None if there are none).

        A loss of a block, such as one that balances experts, is a mean over the tokens of this pass, a scalar.
        """
        call, how = call or call_block, slots if mask is None else mask
        position_BT, t = None if how is None else how.position, ids_BT.shape[1]
        x_BTD = self.embedding(ids_BT)
        if self.positions is not None:
            x_BTD = x_BTD + self.positions.at(position_BT, t)
        x_BTD, extra = x_BTD.to(self.compute_dtype), None
        x_BTD = x_BTD if self.embedding_norm is None else self.embedding_norm(x_BTD)
        if self.config.dropout and self.training:
            x_BTD = F.dropout(x_BTD, self.config.dropout)
        ropes = [*(rotation.at(position_BT, t) for rotation in self.rotations), None]
        allowed = [] if slots is not None else [self._mask(*rule, ids_BT, mask) for rule in self.rules]
        for i, (block, (rule, rotation)) in enumerate(zip(self.blocks, self.kinds, strict=True)):
            cached = None if slots is None else (slots.layers[i][0], slots, slots.layers[i][1])
            seen = allowed[rule] if cached is None else cached[2].allowed
            places = None if cached is None or cached[2].keys is None else (cached[1].position, cached[2].keys)
            sight = Sight(seen, ropes[rotation], position_BT, cached, places)
            if self.recompute and slots is None and torch.is_grad_enabled():
                x_BTD, more = checkpoint(call, block, x_BTD, sight, use_reentrant=False)
            else:
                x_BTD, more = call(block, x_BTD, sight)
            extra = more if extra is None else extra if more is None else extra + more
        return self.norm(x_BTD), extra

    def _mask(self, sees: Sees, is_scored: bool, ids_BT: Tensor, mask: Mask | None) -> Any:  # noqa: FBT001
        """Return the mask for layers with a rule; in rows without a mask, layers without a rule need none."""
        if mask is None and sees == CAUSAL and not is_scored:
            return None
        return masks.of_layer(sees, mask, ids_BT, dense=self.training and self.config.attention_dropout > 0)

    def stream(self, ids_BT: Tensor, mask: Mask | None = None) -> tuple[Tensor, Tensor | None]:
        """Return `outputs(ids_BT, mask)`; a training run may replace this method by a compiled version."""
        return self.outputs(ids_BT, mask)

    def cache(self, batch: int) -> Cache:
        """Return an empty cache of attention keys and values, for the generation of `batch` texts."""
        layers = [block.attention.cache(batch, self.device, self.compute_dtype) for block in self._blocks()]
        return Cache(layers, batch, self.device)

    def logits(self, x_BTD: Tensor) -> Tensor:
        """Return the scores of the next id, or of the labels, at each position, float32 (B, T, V).

        Args:
            x_BTD: output of `hidden`.
        """
        logits_BTV = F.linear(x_BTD, self.head_weight.to(x_BTD.dtype)).float()
        return capped(logits_BTV[..., : self.n_scores], self.config.softcap)

    @property
    def head_weight(self) -> Tensor:
        """The matrix that computes the logits: (V, D) with V padded to a multiple of 64, or (labels, D)."""
        return self.embedding.weight if self.head is None else self.head.weight

    @property
    def n_scores(self) -> int:
        """The number of scores at each position: that of the labels of a classifier, else of the ids."""
        return self.n_labels or self.vocab_size

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
        role_of, products = roles(self), 4.0 * self._n_packed
        for name, p in self.named_parameters():
            if role_of[name] == "matrix" or p is self.head_weight:
                share = getattr(self.get_submodule(name.rpartition(".")[0]), "share", 1)
                products += (6 if p.requires_grad else 4) * p.numel() * share
        return round(products) + sum(block.attention.flops(block.config) for block in self._blocks())


def capped(logits: Tensor, softcap: float | None) -> Tensor:
    """Return scores between -softcap and softcap: softcap * tanh(score / softcap); None leaves them unchanged."""
    return logits if softcap is None else softcap * torch.tanh(logits / softcap)


def _rule(layer: ModelConfig) -> tuple[Sees, bool]:
    """Return the rule of a layer's mask, and whether its scores have a bias, for which a mask is always made."""
    return layer.sees, layer.position.way == "scored"


def _rotation(layer: ModelConfig) -> str:
    """Return the name of a layer's rotation of queries and keys, "" without one; layers of one name share it."""
    position = layer.position
    values = [str(getattr(layer, name)) for name in (*position.by, "attention", "rotated_width")]
    return " ".join([layer.positions, *values]) if position.way == "rotated" else ""
