"""NF4: frozen matrices in 4 bits per weight, decoded for each product (QLoRA, Dettmers et al. 2023).

A block of 64 weights is divided by its largest absolute value, and each weight is replaced by the nearest of 16 values,
the quantiles of a normal distribution. Each byte contains two of these 4-bit codes, and a block's divisor is a
bfloat16, so a weight takes 4.25 bits (0.53 bytes). Only torch is needed, no other package.
"""

# mypy: disable-error-code=no-any-return
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from dataprep.train.device import HAS_TRITON

BLOCK = 64
"""Weights that have a divisor in common."""
VALUES = (
    -1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635, -0.18477343022823334,
    -0.09105003625154495, 0.0, 0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224,
    0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1.0,
)  # fmt: skip
"""The code book of NormalFloat 4 (appendix E of the paper)."""


def encode(weight: Tensor) -> tuple[Tensor, Tensor]:
    """Return (codes, divisors) of a matrix: uint8, two codes per byte, and bfloat16, one per `BLOCK` weights.

    The matrix is read row after row; its end is filled up with zeros to a whole block.
    """
    flat = weight.detach().float().flatten()
    blocks = F.pad(flat, (0, -len(flat) % BLOCK)).view(-1, BLOCK)
    divisors = blocks.abs().amax(1).clamp(min=1e-30).bfloat16()
    values = torch.tensor(VALUES, device=weight.device)
    codes = torch.bucketize(blocks / divisors[:, None].float(), (values[1:] + values[:-1]) / 2).to(torch.uint8)
    pairs = codes.view(-1, 2)
    return (pairs[:, 0] << 4) | pairs[:, 1], divisors


def decode(
    codes: Tensor, divisors: Tensor, values: Tensor, rows: int, columns: int, dtype: torch.dtype
) -> Tensor:  # fmt: skip
    """Return the matrix, (rows, columns) of the type `dtype`, whose codes and divisors are given.

    - values: `VALUES`.
    """
    both = torch.stack([codes >> 4, codes & 15], 1).int()
    blocks = values[both].view(-1, BLOCK) * divisors[:, None].float()
    return blocks.flatten()[: rows * columns].view(rows, columns).to(dtype)


class NF4(nn.Module):
    """A frozen matrix (rows, columns) in NF4; `numel` is the number of its weights."""

    codes: Tensor
    divisors: Tensor
    values: Tensor

    def __init__(self, weight: Tensor) -> None:
        super().__init__()
        self.rows, self.columns = weight.shape
        codes, divisors = encode(weight)
        self.register_buffer("codes", codes)
        self.register_buffer("divisors", divisors)
        self.register_buffer("values", torch.tensor(VALUES, device=weight.device), persistent=False)

    @property
    def numel(self) -> int:
        """The number of weights."""
        return self.rows * self.columns

    def decoded(self, dtype: torch.dtype = torch.float32) -> Tensor:
        """Return the matrix, (rows, columns)."""
        return decode(self.codes, self.divisors, self.values, self.rows, self.columns, dtype)

    def forward(self, x: Tensor) -> Tensor:
        """Return the product of the matrix with an input: (..., rows) for (..., columns), in the input's type.

        The backward pass decodes the matrix again: no decoded matrix is kept.
        """
        return _product(x, self.codes, self.divisors, self.values, self.rows, self.columns)


@functools.cache
def _compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    return torch.compile(function, dynamic=False)


def _decode(x: Tensor, codes: Tensor, divisors: Tensor, values: Tensor, rows: int, columns: int) -> Tensor:
    """Return the matrix in the type of x; on CUDA with Triton by one kernel."""
    function = _compiled(decode) if x.device.type == "cuda" and HAS_TRITON else decode
    return function(codes, divisors, values, rows, columns, x.dtype)


@torch.library.custom_op("dataprep::nf4_product", mutates_args=())
def _product(x: Tensor, codes: Tensor, divisors: Tensor, values: Tensor, rows: int, columns: int) -> Tensor:
    """Return x times the transposed matrix. For torch.compile it is one operation that stores nothing."""
    return F.linear(x, _decode(x, codes, divisors, values, rows, columns))


@_product.register_fake
def _(x: Tensor, codes: Tensor, divisors: Tensor, values: Tensor, rows: int, columns: int) -> Tensor:  # noqa: ARG001
    return x.new_empty(*x.shape[:-1], rows)


@torch.library.custom_op("dataprep::nf4_product_back", mutates_args=())
def _product_back(grad: Tensor, codes: Tensor, divisors: Tensor, values: Tensor, rows: int, columns: int) -> Tensor:
    """Return the gradient with respect to x, for the gradient of the product."""
    return grad @ _decode(grad, codes, divisors, values, rows, columns)


@_product_back.register_fake
def _(grad: Tensor, codes: Tensor, divisors: Tensor, values: Tensor, rows: int, columns: int) -> Tensor:  # noqa: ARG001
    return grad.new_empty(*grad.shape[:-1], columns)


def _keep(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:  # noqa: ARG001 - torch's own signature
    _, *tensors, ctx.rows, ctx.columns = inputs
    ctx.save_for_backward(*tensors)


def _backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None, None, None, None]:
    return _product_back(grad, *ctx.saved_tensors, ctx.rows, ctx.columns), None, None, None, None, None


_product.register_autograd(_backward, setup_context=_keep)
