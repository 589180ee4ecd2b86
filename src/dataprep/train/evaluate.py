"""Evaluate a model on the rows of a layout: loss, perplexity and bits per byte, of all documents or of groups of them.

The rows are those of validation: each token of a split is predicted once, with the context that it has in training.
"""

# ruff: noqa: N806 - the shape letters are capitals
from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from .data.layouts import Layout
from .data.rows import IGNORE, Objective
from .data.sets import to_device, val_rows
from .distributed import ALONE, World
from .loss import token_nats
from .model.gpt import GPT


@dataclass(frozen=True)
class LossSum:
    """The loss of a model on some tokens; sums over different tokens can be added with +.

    Attributes:
        n_targets: the number of predicted tokens.
        nats: the sum of their losses.
        text_nats: the sum of the losses without special tokens.
        n_bytes: the bytes of text of the predicted tokens; 0 if they are unknown.
    """

    n_targets: int
    nats: float
    text_nats: float
    n_bytes: int

    def __add__(self, other: LossSum) -> LossSum:
        return LossSum(
            self.n_targets + other.n_targets, self.nats + other.nats,
            self.text_nats + other.text_nats, self.n_bytes + other.n_bytes,
        )  # fmt: skip

    @property
    def loss(self) -> float:
        """The mean loss in nats per predicted token; NaN if there are none."""
        return self.nats / self.n_targets if self.n_targets else math.nan

    @property
    def perplexity(self) -> float:
        """The exponential of `loss`: the number of equally probable tokens with the same uncertainty."""
        return math.exp(self.loss) if self.loss < 700 else math.inf if self.n_targets else math.nan

    @property
    def bits_per_byte(self) -> float | None:
        """The loss in bits per byte of text, which is comparable across tokenizers; special tokens are left out.

        None if the bytes per token are unknown.
        """
        return self.text_nats / math.log(2) / self.n_bytes if self.n_bytes else None


def evaluate(
    model: GPT, layout: Layout, *, limit: int, batch: int, token_bytes: NDArray[Any] | None,
    objective: Objective | None = None, world: World = ALONE,
) -> LossSum:  # fmt: skip
    """Return the summed losses of a model over the targets of at most `limit` rows.

    - batch: the rows per pass.
    - token_bytes: the bytes of text of each id, 0 for special tokens; None: unknown.
    - objective: function that changes the rows read; None: no change.
    - world: the processes among which the batches are divided; each returns the sums over all batches.
    """
    [found] = evaluate_groups(model, layout, None, limit=limit, batch=batch, token_bytes=token_bytes,
                              objective=objective, world=world)  # fmt: skip
    return found


@contextlib.contextmanager
def evaluation(model: GPT) -> Iterator[None]:
    """Put the model into evaluation mode, without dropout, inside the `with` block."""
    was_training = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(was_training)


@torch.no_grad()
def evaluate_groups(
    model: GPT, layout: Layout, groups: NDArray[Any] | None, *, limit: int | None = None, batch: int,
    token_bytes: NDArray[Any] | None, objective: Objective | None = None, world: World = ALONE,
) -> list[LossSum]:  # fmt: skip
    """Return the summed losses of a model on each group of documents.

    - groups: the number of each document's group, from 0, int[documents of the split]; None: all are group 0. A
      separator belongs to the document before it.
    - limit: the largest number of rows to read; None: all. The other parameters are those of `evaluate`; an `objective`
      must not move the tokens of a row.
    """
    device = model.device
    sizes = None if token_bytes is None else torch.from_numpy(token_bytes.astype(np.int64)).to(device)
    n_groups = 1 if groups is None else int(groups.max(initial=-1)) + 1
    sums = torch.zeros(n_groups, 4, dtype=torch.float64, device=device)  # targets, nats, nats of text, bytes
    with evaluation(model):
        batches = val_rows(layout, len(layout) if limit is None else limit, batch, objective)
        for numbers, rows in itertools.islice(batches, world.rank, None, world.ranks):
            x_BT, y_BT, mask = to_device(rows, device)
            nats_BT = token_nats(model, x_BT, y_BT, mask).double()
            counted = y_BT != IGNORE
            n_bytes = torch.zeros_like(y_BT) if sizes is None else torch.where(counted, sizes[y_BT.clamp(min=0)], 0)
            each = [counted.double(), nats_BT, nats_BT.where(n_bytes > 0, 0), n_bytes.double()]
            facts = torch.stack(each, -1).flatten(0, 1)
            if groups is None:
                sums += facts.sum(0)
            else:
                document_BT = layout.documents(numbers)
                if rows.targets is not None:  # those of the inputs themselves, not of the next ones
                    document_BT = np.concatenate([document_BT[:, :1], document_BT[:, :-1]], axis=1)
                group_BT = groups[document_BT].astype(np.int64)
                sums.index_add_(0, torch.from_numpy(group_BT).flatten().to(device), facts)
    world.add_up([sums])
    return [LossSum(int(n), nats, text, int(size)) for n, nats, text, size in sums.tolist()]
