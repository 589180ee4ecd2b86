"""Linear layers and embeddings whose weights are cast to the type of the input."""

# mypy: disable-error-code=no-any-return

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor, nn

from dataprep.train.parts import Matrix
from dataprep.train.shape import ModelConfig

STD = 0.02  # of the embedding, as in GPT-2


class Linear(nn.Linear):
    """A linear layer, (..., n_in) to (..., n_out), that computes in its input's type.

    Weights are initialised with standard deviation 1/sqrt(n_in), a bias with 0. For a layer whose output is added to
    the residual stream, `n_residual` is the number of such layers in the model; the deviation is divided by
    sqrt(n_residual), so that the variance of the stream does not grow with depth (GPT-2).

    Attributes:
        share: the share of the tokens that it computes.
    """

    role, roles = "matrix", {"bias": "scalar"}

    def __init__(self, n_in: int, n_out: int, n_residual: int = 0, *, bias: bool = False, share: float = 1.0) -> None:
        super().__init__(n_in, n_out, bias=bias)
        self.share = share
        nn.init.normal_(self.weight, std=(n_in * max(1, n_residual)) ** -0.5)
        if bias:
            nn.init.zeros_(self.bias)

    def forward(self, x: Tensor) -> Tensor:
        """Return the layer's output, (..., n_out), for an input (..., n_in)."""
        return F.linear(x, self.weight.to(x.dtype), None if self.bias is None else self.bias.to(x.dtype))


class Embedding(nn.Embedding):
    """A matrix with a vector per token id, padded for speed with unused rows to a multiple of 64."""

    role = "embedding"

    def __init__(self, vocab_size: int, width: int) -> None:
        super().__init__(-(-vocab_size // 64) * 64, width)
        nn.init.normal_(self.weight, std=STD)


class Layers(nn.Module):
    """A part of a block, whose linear layers have the names that its method `matrices` declares."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        for name, matrix in self.matrices(config).items():
            n = 2 * config.n_layers if matrix.is_residual else 0
            layer = Linear(matrix.n_in, matrix.n_out, n, bias=matrix.has_bias, share=matrix.share)
            self.add_module(name, layer)

    @classmethod
    def matrices(cls, config: ModelConfig) -> dict[str, Matrix]:
        """Return the linear layers of this part, for a layer of the shape `config`."""
        raise NotImplementedError
