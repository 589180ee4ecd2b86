"""Classify texts with a trained classifier, and compare its predictions with the labels of a split."""

# ruff: noqa: N806 - the shape letters are capitals
from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from .data.layouts import Layout
from .data.rows import IGNORE
from .data.sets import to_device, val_rows
from .evaluate import LossSum, evaluation
from .model.gpt import GPT


@torch.no_grad()
def probabilities(model: GPT, texts: Sequence[Sequence[int]], *, batch: int = 32) -> Tensor:
    """Return the probability of each label for each text, float32 (texts, labels), on the CPU.

    - texts: token ids, each beginning with the separator; ids beyond the model's context are not read.
    - batch: the number of texts per pass.
    """
    found = [torch.zeros(0, model.n_labels)]
    with evaluation(model):
        for i in range(0, len(texts), batch):
            part = [torch.tensor(ids[: model.config.context]) for ids in texts[i : i + batch]]
            ids_BT = torch.nn.utils.rnn.pad_sequence(part, batch_first=True).to(model.device)
            last_B = torch.tensor([len(ids) - 1 for ids in part], device=model.device)
            x_BD = model.hidden(ids_BT)[torch.arange(len(part), device=model.device), last_B]  # padding comes after it
            found.append(model.logits(x_BD).softmax(-1).cpu())
    return torch.cat(found)


@torch.no_grad()
def evaluate_labels(model: GPT, layout: Layout, *, batch: int) -> tuple[list[LossSum], NDArray[np.int64]]:
    """Return (the loss of the documents of each label, in nats; a confusion matrix) over all rows of a labelled layout.

    The matrix has the number of documents by label (rows) and predicted label (columns), int64 (labels, labels).

    - batch: the rows per pass.
    """
    n, device = model.n_labels, model.device
    confusion, nats = torch.zeros(n * n, dtype=torch.int64), torch.zeros(n, dtype=torch.float64)
    with evaluation(model):
        for _, rows in val_rows(layout, len(layout), batch):
            x_BT, y_BT, mask = to_device(rows, device)
            counts_BT = y_BT != IGNORE
            label_N, scores_NL = y_BT[counts_BT].cpu(), model.logits(model.hidden(x_BT, mask)[counts_BT]).cpu()
            nats.index_add_(0, label_N, F.cross_entropy(scores_NL, label_N, reduction="none").double())
            confusion += torch.bincount(label_N * n + scores_NL.argmax(-1), minlength=n * n)
    table = confusion.view(n, n).numpy()
    return [LossSum(int(table[i].sum()), float(nats[i]), 0.0, 0) for i in range(n)], table
