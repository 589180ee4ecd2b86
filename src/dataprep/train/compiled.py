"""Compiled functions of a training run: every call runs compiled, with the same results as the model.

torch compiles a function again for each shape of its inputs. After 8 shapes, it runs the function uncompiled, with only
a warning; but a search for the micro-batch, or a few models trained in one process, need more shapes. Inside
`every_shape`, torch compiles up to `SHAPES` shapes, counted from the beginning of the run, and one more raises an
error.
"""

# ruff: noqa: N803, N806 - the shape letters are capitals
from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor

from dataprep.errors import DataprepError

from .config import TrainConfig
from .device import HAS_TRITON
from .model.block import call_block
from .model.gpt import GPT
from .model.masks import Mask

SHAPES = 64
"""Shapes of its inputs for which a function is compiled in one run."""
TOLERANCE = {torch.float32: 1e-3, torch.bfloat16: 0.2, torch.float16: 0.2}
"""Maximum relative difference of a token's vector: rounding causes a tenth of it, and wrong values about 1."""


def has_kernels(device: torch.device) -> bool:
    """Return whether functions are compiled to kernels on the device by default: on CUDA with Triton."""
    return device.type == "cuda" and HAS_TRITON


def is_wanted(config: TrainConfig, device: torch.device) -> bool:
    """Return whether the model of a run is compiled: `config.compile`, or by default if the device has kernels."""
    return has_kernels(device) if config.compile is None else config.compile


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function compiled, once for each shape of its inputs."""
    return torch.compile(function, dynamic=False)


def stream_of(model: GPT, *, by_block: bool) -> Callable[..., tuple[Tensor, Tensor | None]]:
    """Return the model's method `stream` compiled: as a whole, or block by block with one function for all blocks.

    - by_block: Several processes need it, because a compiled function returns all of its gradients at its end: with one
      function per block, gradients of the last blocks are sent to the other processes while those of the first blocks
      are computed. With masks it is also faster to compile, because on CUDA each FlexAttention of a graph is compiled
      separately. All blocks share one graph; if the embedding is frozen, the first block has its own graph, since its
      input needs no gradient.
    """
    if not by_block:
        return compiled(model.stream)
    call = compiled(call_block)

    def stream(ids_BT: Tensor, mask: Mask | None = None) -> tuple[Tensor, Tensor | None]:
        return model.outputs(ids_BT, mask, call=call)

    return stream


@contextlib.contextmanager
def every_shape(config: TrainConfig, device: torch.device) -> Iterator[None]:
    """Discard all functions compiled before, and raise an error if a call in the `with` block would run uncompiled.

    Raises DataprepError if a function meets more than `SHAPES` shapes. If nothing is compiled, there is no change.
    """
    if not (is_wanted(config, device) or has_kernels(device)):
        yield
        return
    from torch._dynamo import config as limits
    from torch._dynamo.exc import FailOnRecompileLimitHit

    torch.compiler.reset()
    with limits.patch(
        recompile_limit=SHAPES, accumulated_recompile_limit=32 * SHAPES, fail_on_recompile_limit_hit=True
    ):  # fmt: skip
        try:
            yield
        except FailOnRecompileLimitHit as e:
            msg = (
                f"torch.compile encountered more than {SHAPES} shapes of one function, and would run it uncompiled: "
                "set compile=False (--set compile=False), which trains every step uncompiled"
            )
            raise DataprepError(msg) from e


def check(model: GPT, ids_BT: Tensor, mask: Mask | None) -> float:
    """Compare one compiled forward pass with one of the model itself; return the largest difference of a token.

    The difference is the length of the difference of a token's vectors, relative to the vector's length. The compiled
    pass stores what the backward pass needs, as in training, so the function is not compiled twice.

    - ids_BT, mask: inputs of a micro-batch.

    Raises DataprepError if the difference is above `TOLERANCE`, or not a number.
    """
    found_BTD = model.stream(ids_BT, mask)[0].detach().float()
    with torch.no_grad():
        expected_BTD = model.hidden(ids_BT, mask).float()
    apart = (found_BTD - expected_BTD).norm(dim=-1) / expected_BTD.norm(dim=-1).clamp(min=1e-6)
    worst, allowed = float(apart.max()), TOLERANCE[model.compute_dtype]
    if not worst <= allowed:
        msg = (
            f"torch {torch.__version__} compiles this model to code with different results on {ids_BT.device} "
            f"(relative difference {worst:.2g}, at most {allowed:g} is rounding): "
            "set compile=False (--set compile=False), or use another version of torch"
        )
        raise DataprepError(msg)
    return worst
