"""LoRA: low-rank updates of matrices, trained while the matrices themselves are frozen (Hu et al. 2021).

The update of a projection (matrix) is scale * b @ a, with a (rank, n_in), b (n_out, rank) and scale = alpha / rank.
Projections have the same names as in Hugging Face's Llama, such as q_proj. Here, one layer may compute several
projections at once, and has an update for each.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from dataprep.errors import PlanError

from .config import EMBEDDING, TrainConfig
from .model.block import matrices
from .model.gpt import GPT
from .model.linear import Linear
from .model.nf4 import NF4
from .shape import ModelConfig


def projections(config: ModelConfig) -> dict[str, dict[str, slice]]:
    """Return the projections (matrices) of a block as {layer name: {projection name: its rows of the layer's weight}}.

    - config: the shape of the block (`ModelConfig.layer`).

    >>> projections(ModelConfig(d_model=64, n_heads=4))["attention.qkv"]["k_proj"]
    slice(64, 128, None)
    """
    return {path: matrix.slices for path, matrix in matrices(config).items() if matrix.is_adaptable}


class LowRank(nn.Module):
    """A trained low-rank update of one projection (matrix): `b` @ `a`, which is 0 at the start, since `b` is 0."""

    role = "matrix"

    def __init__(self, n_in: int, n_out: int, rank: int) -> None:
        super().__init__()
        self.a, self.b = nn.Parameter(torch.empty(rank, n_in)), nn.Parameter(torch.zeros(n_out, rank))
        nn.init.kaiming_uniform_(self.a, a=5**0.5)  # as in PEFT

    def forward(self, x: Tensor) -> Tensor:
        """Return the product of the update, not scaled, with an input: (..., n_out) for (..., n_in)."""
        return F.linear(F.linear(x, self.a.to(x.dtype)), self.b.to(x.dtype))


class Adapted(nn.Module):
    """A linear layer with a frozen weight, and a trained `LowRank` update for each projection in `lora_targets`.

    Attributes:
        packed: the weight in NF4 if `lora_base` is "nf4"; `weight` is None then.
    """

    role, roles = "matrix", {"bias": "scalar"}
    weight: nn.Parameter
    bias: nn.Parameter | None

    def __init__(self, layer: Linear, rows: dict[str, slice], config: TrainConfig) -> None:
        super().__init__()
        assert config.lora is not None
        assert isinstance(layer.weight, nn.Parameter)
        rank = config.lora
        self.rows, self.scale, self.dropout, self.is_off = rows, config.lora_scale, config.lora_dropout, False
        is_packed = config.lora_base == "nf4"
        self.register_parameter("weight", None if is_packed else layer.weight)
        self.packed = NF4(layer.weight) if is_packed else None
        self.bias, self.share = layer.bias, layer.share
        sizes = {name: where.stop - where.start for name, where in rows.items() if name in config.lora_targets}
        self.changes = nn.ModuleDict({name: LowRank(layer.in_features, n, rank) for name, n in sizes.items()})

    def forward(self, x: Tensor) -> Tensor:
        """Return the layer's output, (..., n_out), for an input (..., n_in); in training mode, with dropout."""
        y = self.packed(x) if self.packed is not None else F.linear(x, self.weight.to(x.dtype))
        y = y if self.bias is None else y + self.bias.to(x.dtype)
        if self.is_off or not self.changes:
            return y
        if self.dropout and self.training:
            x = F.dropout(x, self.dropout)
        parts = [
            self.changes[name](x) if name in self.changes else x.new_zeros(*x.shape[:-1], where.stop - where.start)
            for name, where in self.rows.items()
        ]
        return y + self.scale * torch.cat(parts, dim=-1)

    @torch.no_grad()
    def merged(self) -> Linear:
        """Return an ordinary layer with the same output; its weight is the frozen weight plus the updates."""
        weight = self.weight.to(torch.float32, copy=True) if self.packed is None else self.packed.decoded()
        layer = Linear(*weight.shape[::-1], bias=self.bias is not None, share=self.share)
        layer.weight = nn.Parameter(weight)
        if self.bias is not None:
            layer.bias = self.bias
        for name, change in self.changes.items():
            assert isinstance(change, LowRank)
            layer.weight[self.rows[name]] += self.scale * change.b @ change.a
        return layer


def seed_dropout(seed: int, step: int, rank: int) -> None:
    """Seed torch's random generators for the dropout of one step; each process (rank) draws its own random numbers.

    Therefore, a checkpoint does not have to store the state of the generators.
    """
    digest = hashlib.blake2b(f"dropout {seed} {step} {rank}".encode(), digest_size=8).digest()
    torch.manual_seed(int.from_bytes(digest, "big"))


def check(config: TrainConfig) -> None:
    """Raise PlanError if no matrix of the model is in `lora_targets`, or if the rank exceeds the rank of each of these.

    Also raises PlanError for `lora_base` without a rank.
    """
    shape, targets = config.model, set(config.lora_targets)
    if config.lora_base == "nf4" and not config.lora:
        msg = "lora_base='nf4' holds the frozen weights of LoRA: set lora=RANK (--lora RANK) too, or leave it out"
        raise PlanError(msg)
    if not config.lora or targets == {EMBEDDING}:
        return
    sizes = {
        name: min(matrix.n_in, n_rows) for layer, _ in shape.kinds()
        for matrix in matrices(layer).values() if matrix.is_adaptable for name, n_rows in matrix.rows.items()
    }  # fmt: skip
    found = [sizes[name] for name in sizes if name in targets]
    if not found and EMBEDDING not in targets:
        msg = f"lora_targets={','.join(config.lora_targets)} must name a matrix that this model has: {', '.join(sizes)}"
        raise PlanError(msg)
    if found and config.lora > max(found):
        msg = (
            f"lora={config.lora} must be at most {max(found)}, the largest rank that these matrices can have; use a "
            "small rank, such as 8 or 16"
        )
        raise PlanError(msg)


def add(model: GPT, config: TrainConfig) -> None:
    """Freeze all weights of `model`, and add untrained LoRA updates of rank `config.lora`; its output is as before.

    The head of a classifier is trained as a whole. If `config.lora_base` is "nf4", all matrices of the blocks are
    rounded to NF4, which changes the output.
    """
    model.requires_grad_(False)
    for matrix in (model.embedding, model.head):
        if matrix is not None:
            is_new = matrix is model.head and model.n_labels > 0
            matrix.requires_grad_(is_new or EMBEDDING in config.lora_targets)
    for n, block in enumerate(model.blocks):
        for path, rows in projections(model.config.layer(n)).items():
            if config.lora_base == "nf4" or rows.keys() & set(config.lora_targets):
                home, _, name = path.rpartition(".")
                layer = block.get_submodule(path)
                assert isinstance(layer, Linear)
                setattr(block.get_submodule(home), name, Adapted(layer, rows, config).to(layer.weight.device))


@contextlib.contextmanager
def without(model: GPT) -> Iterator[None]:
    """Leave out the updates of `model` inside the `with` block, so that it computes like the original model."""
    adapted = [layer for layer in model.modules() if isinstance(layer, Adapted)]
    for layer in adapted:
        layer.is_off = True
    try:
        yield
    finally:
        for layer in adapted:
            layer.is_off = False


def hold_frozen(model: GPT, dtype: torch.dtype) -> None:
    """Convert the frozen weights of `model` to `dtype`, the type in which it computes.

    In bfloat16 a weight takes 2 bytes: it is neither held in float32 nor converted and stored again in each step. The
    values computed are the same, since every layer converts its weight to this type.
    """
    for weight in model.parameters():
        if not weight.requires_grad:
            weight.data = weight.data.to(dtype)


def merge(model: GPT) -> None:
    """Add the LoRA updates of `model` to its weights; it then has ordinary layers, all of them trainable again."""
    for path, layer in [(p, m) for p, m in model.named_modules() if isinstance(m, Adapted)]:
        home, _, name = path.rpartition(".")
        setattr(model.get_submodule(home), name, layer.merged())
    model.requires_grad_(True)


def changes(model: GPT) -> Iterator[tuple[int, str, str, LowRank]]:
    """Yield (block number, layer name, projection name, LowRank) for each LoRA update of `model`."""
    for n, block in enumerate(model.blocks):
        for path in projections(model.config.layer(n)):
            layer = block.get_submodule(path)
            if isinstance(layer, Adapted):
                for name, change in layer.changes.items():
                    assert isinstance(change, LowRank)
                    yield n, path, name, change
