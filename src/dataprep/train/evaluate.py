"""Evaluation of a model: validation loss, and bits per byte, which is comparable across tokenizers."""


# ruff: noqa: N806 - the shape letters are capitals
from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from .data import to_device, val_rows
from .layouts import Layout
from .model import GPT
from .rows import IGNORE, Objective


@torch.no_grad()
def evaluate(
    model: GPT,
    layout: Layout,
    *,
    limit: int,
    batch: int,
    token_bytes: NDArray[Any] | None,
    objective: Objective | None = None,
) -> tuple[float, float | None]:
    """Return validation loss (nats per token) and bits per byte over the targets of at most `limit` rows.

    Bits per byte leaves out special tokens, which represent no bytes.
    """
    device = model.rope.device
    sizes = None if token_bytes is None else torch.from_numpy(token_bytes.astype(np.int64)).to(device)
    sums = torch.zeros(4, dtype=torch.float64, device=device)  # nats, targets, nats of text, bytes
    for rows in val_rows(layout, limit, batch, objective):
        x_BT, y_BT, mask = to_device(rows, device)
        nats_BT = model(x_BT, y_BT, mask).double()
        counted = y_BT != IGNORE
        n_bytes = torch.zeros_like(y_BT) if sizes is None else torch.where(counted, sizes[y_BT.clamp(min=0)], 0)
        text = nats_BT[n_bytes > 0].sum()
        sums += torch.stack([nats_BT.sum(), counted.sum().double(), text, n_bytes.sum().double()])
    nats, targets, text_nats, total_bytes = sums.tolist()
    return nats / targets if targets else math.nan, text_nats / math.log(2) / total_bytes if total_bytes else None
