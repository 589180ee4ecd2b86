"""The cost of a training before it starts: its operations, its memory, and the GPUs that it fits."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from dataprep.train import ModelConfig, TrainConfig
from dataprep.train.model.gpt import GPT
from dataprep.train.plan import MEMORY, saved_bytes, training_cost
from dataprep.train.presets import PRESETS

SHAPE = ModelConfig(n_layers=2, n_heads=2, d_model=64, context=32)


def on_meta(shape):
    """A model without memory."""
    with torch.device("meta"):
        return GPT(shape, 300)


def by_hand(shape):
    """The bytes that a plain layer keeps, from the formulas of its operations, as floats per token."""
    d, ff = shape.d_model, shape.ff_width
    attention = 3 * d + 3 * d + d  # queries, keys and values, before and after rotation, and the output
    return 4 * shape.context * shape.n_layers * (4 * d + attention + 4 * ff + d)


@pytest.mark.parametrize("more", [{}, {"n_layers": 4}, {"context": 64}, {"d_model": 128}])
def test_memory_is_near_that_of_a_real_pass(more) -> None:
    """What torch keeps on the CPU, and what the operations need by hand; a row is counted without any memory."""
    shape = replace(SHAPE, **more)
    counted = saved_bytes(on_meta(shape))
    assert saved_bytes(GPT(shape, 300)) == pytest.approx(counted, rel=0.25)
    assert by_hand(shape) == pytest.approx(counted, rel=0.4)


def test_recomputing_keeps_the_inputs_of_blocks() -> None:
    """And the tensors of one block at a time."""
    shape = replace(SHAPE, n_layers=6)
    found = saved_bytes(on_meta(shape), recompute=True)
    assert found == saved_bytes(on_meta(replace(shape, n_layers=1))) + 6 * 4 * 32 * 64
    assert found < saved_bytes(on_meta(shape)) / 2


def test_operations_are_those_of_the_model() -> None:
    """6 per weight and token and those of attention, times the tokens of all steps; one pass without `steps`."""
    config = TrainConfig(model=SHAPE, steps=30, batch=4)
    cost = training_cost(config, 300, 10_000)
    model = GPT(SHAPE, 300)
    assert cost.parameters == sum(p.numel() for p in model.parameters())
    assert cost.flops == pytest.approx(model.flops_per_token * 30 * 4 * 32, rel=0.02)  # of padding rows
    assert (cost.steps, cost.tokens, cost.epochs) == (30, 3840, 0.384)
    assert training_cost(replace(config, steps=None), 300, 10_000).steps == 79, "10,000 tokens are 313 rows"


def test_cards() -> None:
    """More memory holds more rows, less than the card has; the time falls with the MFU; recomputing saves memory."""
    config = replace(PRESETS["gemma3-small"], micro_batch="auto", steps=10)
    cost = training_cost(config, 50_257, 10**9)
    found = {on.card: on for on in cost.on_each(0.4)}
    rows = [found[card].rows for card in sorted(MEMORY, key=MEMORY.get)]
    assert rows == sorted(rows)
    assert all(on.n_bytes < MEMORY[card] and config.batch % on.rows == 0 for card, on in found.items())
    assert cost.on("H100", 0.2).seconds == pytest.approx(2 * found["H100"].seconds)
    assert training_cost(replace(config, recompute=True), 50_257, 10**9).on("L4", 0.4).rows >= found["L4"].rows
    assert replace(cost, state_bytes=10**12).on("B200", 0.4).rows is None
