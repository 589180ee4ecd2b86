"""Preference tuning (DPO, Rafailov et al. 2023): raise the probability of chosen answers over that of rejected ones.

The loss of a pair is -log sigmoid(beta * (c - r)), where c and r are the log-probabilities of the chosen and the
rejected answer minus those of the *reference*, which is the model before this training. With LoRA, the reference is the
same model without its updates; otherwise it is a frozen copy.
"""

# ruff: noqa: N803, N806 - the shape letters are capitals
from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from . import lora
from .config import EMBEDDING, TrainConfig
from .data.pairs import AnswerPairs
from .data.sets import to_device
from .distributed import World
from .evaluate import evaluation
from .loss import token_nats
from .model.gpt import GPT
from .model.masks import Mask


@dataclass
class Preference:
    """The loss of preference tuning.

    Attributes:
        reference: the frozen copy, or None for the model itself without LoRA's updates.
        beta: strength of the constraint to the reference; a smaller value allows the model to deviate further.
        val: the pairs to validate on, if any.
    """

    beta: float
    reference: GPT | None
    val: AnswerPairs | None = None

    @classmethod
    def begin(cls, model: GPT, config: TrainConfig, val: AnswerPairs | None) -> Preference:
        """Return the loss with the reference `model`, in its state before training."""
        assert config.dpo is not None
        if has_own_reference(config):
            return cls(config.dpo, None, val)
        reference = copy.deepcopy(model).eval().requires_grad_(requires_grad=False)
        lora.hold_frozen(reference, model.compute_dtype)
        return cls(config.dpo, reference, val)

    def margins(self, model: GPT, ids_BT: Tensor, targets_BT: Tensor, mask: Mask | None) -> Tensor:
        """Return beta * (c - r) of each pair, float32 (B / 2); rows 2k and 2k + 1 are a chosen and a rejected answer.

        ids_BT, targets_BT and mask are as in `token_nats`. Only the targets in the answers count in the loss.
        """
        own_B = -token_nats(model, ids_BT, targets_BT, mask).sum(1)
        with torch.no_grad(), self._reference(model) as reference:
            before_B = -token_nats(reference, ids_BT, targets_BT, mask).sum(1)
        gained_B = own_B - before_B
        return self.beta * (gained_B[0::2] - gained_B[1::2])

    def losses(self, model: GPT, ids_BT: Tensor, targets_BT: Tensor, mask: Mask | None) -> Tensor:
        """Return the loss of each pair, float32 (B / 2); the arguments are those of `margins`."""
        return -F.logsigmoid(self.margins(model, ids_BT, targets_BT, mask))

    @contextlib.contextmanager
    def _reference(self, model: GPT) -> Iterator[GPT]:
        if self.reference is not None:
            yield self.reference
            return
        with lora.without(model):
            yield model

    @torch.no_grad()
    def measure(self, model: GPT, limit: int, batch: int, world: World) -> tuple[float, float] | None:
        """Return (mean loss, share of pairs with a positive margin of the chosen answer) of validation pairs.

        - limit: the maximum number of pairs to read.
        - batch: the number of pairs per pass.
        - world: the processes among which the passes are divided.

        Returns None if there are no validation pairs.
        """
        if self.val is None:
            return None
        numbers, sums = self.val.held_out(limit), torch.zeros(2, dtype=torch.float64, device=model.device)
        with evaluation(model):
            for i in range(world.rank * batch, len(numbers), world.ranks * batch):
                wanted = np.resize(numbers[i : i + batch], batch)  # of one shape, for torch.compile
                rows = self.val.rows(np.tile([0, 1], batch), np.repeat(wanted, 2))
                margins = self.margins(model, *to_device(rows, model.device))[: len(numbers) - i].double()
                sums += torch.stack([-F.logsigmoid(margins).sum(), (margins > 0).sum()])
        world.add_up([sums])
        loss, right = (sums / len(numbers)).tolist()
        return loss, right


def has_own_reference(config: TrainConfig) -> bool:
    """Return whether the model without LoRA's updates is the reference: LoRA is used, and trains no embedding."""
    return config.lora is not None and EMBEDDING not in config.lora_targets


def settings_for(config: TrainConfig, beta: float) -> TrainConfig:
    """Return the config of preference tuning with this beta: one row per answer, with loss on the answer only."""
    return replace(
        config, dpo=beta, layout="cut", mask_documents=False, objective="next", weights=None, masks=True
    )  # fmt: skip
