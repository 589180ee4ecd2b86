"""The size of a model that a file states, checked before memory for the model is allocated."""

from __future__ import annotations

import os

from dataprep.errors import CorruptShard, PlanError

from .model.block import matrices, parts_of
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
    """Return the number of weights in the matrices of a model of `shape`, without norms, biases and unused rows."""
    blocks = sum(n * sum(m.n_weights for m in matrices(layer).values()) for layer, n in shape.kinds())
    places = {layer.position.way: layer.position.n_weights(layer) for layer, _ in shape.kinds()}
    blocks += sum(n * layer.position.n_weights(layer) for layer, n in shape.kinds() if layer.position.way == "scored")
    return blocks + places.get("added", 0) + shape.d_model * vocab_size * (1 if shape.tied else 2)


def flops_of(shape: ModelConfig, vocab_size: int) -> int:
    """Return the operations per token of training a model of `shape`, as `GPT.flops_per_token` counts them.

    Padding rows of the vocabulary are not counted; `vocab_size` is the number of the other rows.
    """
    products = 6 * shape.d_model * vocab_size
    for layer, n in shape.kinds():
        used = sum(m.n_weights * m.share for m in matrices(layer).values())
        products += n * (round(6 * used) + parts_of(layer)["attention"].flops(layer))
    return products


def memory_of(shape: ModelConfig) -> int:
    """Return the bytes of a model's position table (while it is computed) and of the keys and values of one row."""
    table = max(3 * DOUBLE * layer.d_head // 2 if layer.position.way == "rotated" else 0 for layer, _ in shape.kinds())
    return shape.context * table + FLOAT * cached(shape)


def cached(shape: ModelConfig) -> int:
    """Return the numbers that the cache of one row of `shape.context` tokens keeps: keys, values and such.

    >>> 2 * cached(ModelConfig(n_layers=12, n_heads=12, d_model=768, context=1024)) / 2**20  # MiB in bfloat16
    36.0
    """
    return sum(n * parts_of(layer)["attention"].kept(layer) for layer, n in shape.kinds())
