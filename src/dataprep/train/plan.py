"""The cost of a training before it starts: operations, memory, the GPUs that it fits, and the time on each of them.

Nothing is allocated: the tensors that the backward pass needs are counted on torch's device "meta", whose tensors have
shapes but no values.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch

from .config import TrainConfig
from .loss import SHARE
from .metrics import PEAK_FLOPS
from .micro_batch import SPARE, divisors
from .model.gpt import GPT
from .size import FLOAT, flops_of

MEMORY = {
    "RTX 4090": 24e9, "L4": 24e9, "A10G": 24e9, "L40S": 48e9, "A100": 80e9, "H100": 80e9, "H200": 141e9, "B200": 180e9,
}  # fmt: skip
"""Bytes of memory of GPUs of `PEAK_FLOPS`; the larger model if there are two."""
STATE = 16  # bytes per weight: the weight, its gradient, and two moments of AdamW, in float32
COPY = 2  # bytes per weight of its bfloat16 copy in a step
SCORES = 3 * FLOAT  # bytes per score of a token: the score, its softmax and its gradient


class OnCard(NamedTuple):
    """A training on one GPU.

    Attributes:
        card: the name of the GPU.
        rows: the number of rows at once with which it fits; None: not even one row fits.
        n_bytes: the memory that it needs with these rows; with one row if it does not fit.
        seconds: its duration.
    """

    card: str
    rows: int | None
    n_bytes: float
    seconds: float


@dataclass(frozen=True)
class TrainingCost:
    """The work of a training.

    Attributes:
        parameters: the number of weights.
        steps: the number of optimiser steps.
        tokens: the tokens that all steps read.
        epochs: passes over the training tokens.
        flops: floating-point operations.
        state_bytes: memory of weights, gradients and the optimiser.
        row_bytes: memory per row of `model.context` tokens, in bfloat16.
        score_bytes: memory for the scores of the vocabulary per row; of all rows, at most SCORES / (FLOAT * SHARE) of
            the card's memory is used at once (see `loss`).
        batch: rows per step.
        rows: rows at once that the config asks for; None: as many as fit.
    """

    parameters: int
    steps: int
    tokens: int
    epochs: float
    flops: float
    state_bytes: int
    row_bytes: float
    score_bytes: int
    batch: int
    rows: int | None

    def on_each(self, mfu: float) -> list[OnCard]:
        """Return the training on each GPU of `MEMORY`, at the share `mfu` of its peak operations per second."""
        return [self.on(card, mfu) for card in MEMORY]

    def on(self, card: str, mfu: float) -> OnCard:
        """Return the training on one GPU of `MEMORY`."""
        sizes, most = [self.rows] if self.rows else divisors(self.batch), MEMORY[card] * SCORES / (FLOAT * SHARE)
        needs = {n: self.state_bytes + n * self.row_bytes + min(n * self.score_bytes, most) for n in sizes}
        fitting = [n for n in sizes if needs[n] <= MEMORY[card] * (1 - SPARE)]
        used = needs[(fitting or sizes[:1])[-1]]
        return OnCard(card, fitting[-1] if fitting else None, used, self.flops / (PEAK_FLOPS[card] * mfu))


def training_cost(config: TrainConfig, vocab_size: int, n_tokens: int) -> TrainingCost:
    """Return the cost of a training.

    Args:
        config: its settings.
        vocab_size: the ids of the tokenizer.
        n_tokens: the number of training tokens.
    """
    per_step = config.batch * config.model.context
    one_pass = max(1, math.ceil((n_tokens - 1) / config.model.context))  # rows of the usual layout
    steps = config.steps or math.ceil(one_pass / config.batch)
    with torch.device("meta"):
        model = GPT(config.model, vocab_size, config.n_labels)
    n = sum(p.numel() for p in model.parameters())
    flops = float(flops_of(config.model, vocab_size) * steps * per_step)
    rows = None if config.micro_batch == "auto" else config.rows
    kept = saved_bytes(model, recompute=config.recompute) / 2  # in bfloat16
    return TrainingCost(
        n, steps, steps * per_step, steps * per_step / max(1, n_tokens), flops, n * (STATE + COPY), kept,
        SCORES * config.model.context * vocab_size, config.batch, rows,
    )  # fmt: skip


def saved_bytes(model: GPT, *, recompute: bool = False) -> int:
    """Return the bytes of the tensors that the backward pass of one row needs, without weights and scores.

    - recompute: whether only the inputs of blocks are kept, and those of one block are computed again.
    """
    own, kept = [p.untyped_storage() for p in model.parameters()], dict[int, torch.UntypedStorage]()

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        kept[id(storage)] = storage  # held, so that no other storage has its id
        return tensor

    shape = model.config
    if recompute and shape.n_layers > 1:
        one = _of(replace(shape, n_layers=1), model)
        return saved_bytes(one) + 4 * shape.n_layers * shape.context * shape.d_model
    ids = torch.zeros((1, shape.context), dtype=torch.int64, device=model.device)
    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        model.train().stream(ids, None)
    return sum(storage.nbytes() for number, storage in kept.items() if number not in map(id, own))


def _of(shape: object, model: GPT) -> GPT:
    with torch.device(model.device):
        return GPT(shape, model.vocab_size)  # type: ignore[arg-type]
