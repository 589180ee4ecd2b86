"""The size of a model that a file states, checked before memory for the model is allocated."""

from __future__ import annotations

import os

from dataprep.errors import CorruptShard, PlanError

from .shape import ModelConfig

FLOAT, DOUBLE = 4, 8  # bytes of a number


def check_size(shape: ModelConfig, vocab_size: int, stored: int, where: object) -> None:
    """Raise CorruptShard if a model of `shape` has more than twice as many weights as are `stored`.

    Raises PlanError if a conversation of `shape.context` tokens needs more memory than this machine has.

    - vocab_size: the rows of the embedding.
    - where: names the file in messages.
    """
    weights = weights_of(shape, vocab_size)
    if weights > 2 * stored:  # if it is nearer, the error is that of the first matrix that differs
        msg = f"{where} states {weights:,} weights or more, but has {stored:,}; copy it again, or train again"
        raise CorruptShard(msg)
    needed, there = memory_of(shape), os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if needed > there:
        msg = f"{where} states context={shape.context:,}, which takes {needed / 1e9:,.0f} GB of memory, and there "
        msg += f"are {there / 1e9:,.0f} GB; restore the original file, or train with a lower model.context"
        raise PlanError(msg)


def weights_of(shape: ModelConfig, vocab_size: int) -> int:
    """Return the number of weights in the matrices of a model of `shape`; norms and unused rows are left out."""
    width, keys = shape.d_model, shape.kv_heads * shape.d_head
    block = 2 * width * (width + keys) + (2 if shape.feed_forward == "gelu" else 3) * width * shape.ff_width
    places = shape.context if shape.positions == "learned" else 0
    return shape.n_layers * block + width * (vocab_size * (1 if shape.tied else 2) + places)


def memory_of(shape: ModelConfig) -> int:
    """Return the bytes of a model's table of positions, while it is made, and of the keys and values of one row."""
    table = 0 if shape.positions == "learned" else 3 * DOUBLE * shape.d_head // 2
    return shape.context * (table + 2 * FLOAT * shape.n_layers * shape.kv_heads * shape.d_head)
