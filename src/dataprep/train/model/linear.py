"""Linear layers and embeddings whose weights are cast to the type of the input."""

# mypy: disable-error-code=no-any-return

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor, nn

STD = 0.02  # of the embedding, as in GPT-2


class Linear(nn.Linear):
    """A linear layer without bias, (..., n_in) to (..., n_out), that computes in its input's type.

    Weights start with standard deviation 1/sqrt(n_in). For a layer whose output is added to the residual stream,
    `n_residual` is the number of such layers in the model; the deviation is divided by sqrt(n_residual), so that the
    variance of the stream does not grow with depth (GPT-2).
    """

    role = "matrix"

    def __init__(self, n_in: int, n_out: int, n_residual: int = 0) -> None:
        super().__init__(n_in, n_out, bias=False)
        nn.init.normal_(self.weight, std=(n_in * max(1, n_residual)) ** -0.5)

    def forward(self, x: Tensor) -> Tensor:
        """Return the layer's output, (..., n_out), for an input (..., n_in)."""
        return F.linear(x, self.weight.to(x.dtype))


class Embedding(nn.Embedding):
    """A matrix with a vector per token id; for speed, unused rows fill it up to a multiple of 64."""

    role = "embedding"

    def __init__(self, vocab_size: int, width: int) -> None:
        super().__init__(-(-vocab_size // 64) * 64, width)
        nn.init.normal_(self.weight, std=STD)
