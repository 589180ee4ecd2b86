"""State of a training run: its start, its checkpoints and its result."""

from __future__ import annotations

import importlib.util
import math
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from dataprep.errors import PlanError
from dataprep.store.atomic import whole
from dataprep.tokens.shard_format import content_hash
from dataprep.tokens.shards.shard import Shards

from . import checkpoint
from .config import TrainConfig
from .data import Loader
from .layouts import Layout
from .model import GPT
from .optim import adamw
from .sets import Sets, open_sets, training_rows, validation_rows


@dataclass(frozen=True, kw_only=True)
class Result:
    """Result of a run. Losses are nats per token; None without a validation split or a bytes table."""

    steps: int
    """Steps done, of `config.steps`."""
    loss: float
    """Training loss of the last step."""
    val_loss: float | None
    bits_per_byte: float | None
    n_params: int
    tokens: int
    """Inputs of the rows trained on, repeats and padding included."""
    epochs: float
    """Rows trained on, per row of all sets; `describe` has each set's."""
    checkpoint: str
    metrics: str


@dataclass
class Run:
    """Running state: the content of a checkpoint, and all that the next step needs."""

    config: TrainConfig
    sets: dict[str, Shards]
    out: Path
    model: GPT
    optimizer: torch.optim.AdamW
    loader: Loader
    val: dict[str, Layout]
    step: int = 0
    loss: float = math.nan
    val_loss: float | None = None
    bits_per_byte: float | None = None

    @property
    def shards(self) -> Shards:
        """First set of shards; all share its vocabulary, separator and tokenizer."""
        return next(iter(self.sets.values()))

    @property
    def steps(self) -> int:
        """Number of steps of the whole run."""
        assert self.config.steps is not None, "begin() fixes the steps"
        return self.config.steps

    def save(self) -> Path:
        """Write the checkpoint of this step."""
        path = checkpoint.path_of(self.out, self.step)
        content = {
            "step": self.step,
            "loss": self.loss,
            "val_loss": self.val_loss,
            "bits_per_byte": self.bits_per_byte,
            "config": self.config.to_dict(),
            "vocab_size": self.shards.vocab_size,
            "eot": self.shards.eot,
            "data": checkpoint.data_key(self.sets),
            "tokenizer": checkpoint.tokenizer_key(self.sets),
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "rng": checkpoint.rng_state(),
        }
        checkpoint.save(path, content, self.config.keep)
        return path

    def restore(self, path: Path) -> None:
        """Load a checkpoint of the same run."""
        content = checkpoint.load(path)
        checkpoint.check_same(path, content, self.config, self.sets)
        self.model.load_state_dict(content["model"])
        self.optimizer.load_state_dict(content["optimizer"])
        checkpoint.set_rng_state(content["rng"])
        for name in ("step", "loss", "val_loss", "bits_per_byte"):
            setattr(self, name, content[name])

    def result(self) -> Result:
        """Return the result so far."""
        trained = self.step * self.config.batch
        return Result(
            steps=self.step,
            loss=self.loss,
            val_loss=self.val_loss,
            bits_per_byte=self.bits_per_byte,
            n_params=self.model.n_params,
            tokens=trained * self.config.model.context,
            epochs=trained / len(self.loader.rows_of),
            checkpoint=str(checkpoint.path_of(self.out, self.step)),
            metrics=str(self.out / "metrics.jsonl"),
        )


def begin(shards: Shards | str | Path | Sets, out: str | Path, config: TrainConfig, *, resume: bool = True) -> Run:
    """Build the model, its optimiser and the loaders; load the last checkpoint in `out`, if any."""
    sets = open_sets(shards)
    loader = training_rows(sets, config)
    if config.steps is None:
        config = replace(config, steps=-(-len(loader.rows_of) // config.batch))
    device = pick_device(config.device)
    torch.manual_seed(config.seed)
    model = GPT(config.model, next(iter(sets.values())).vocab_size).to(device)  # made on the CPU: equal everywhere
    model.compute_dtype = pick_dtype(config.dtype, device)
    if config.compile or (config.compile is None and device.type == "cuda" and _has("triton")):
        model.compile(dynamic=False)
    run = Run(config, sets, Path(out), model, adamw(model, config), loader, validation_rows(sets, config))
    _settle(run, resume=resume)
    return run


def _settle(run: Run, *, resume: bool) -> None:
    """Resume the run in the output folder or remove its files; write the tokenizer there."""
    run.out.mkdir(parents=True, exist_ok=True)
    checkpoints = checkpoint.found(run.out)
    if resume and checkpoints:
        run.restore(checkpoints[-1])
        return
    for path in [*checkpoints, run.out / "metrics.jsonl"]:
        path.unlink(missing_ok=True)
    tokenizer = run.shards.path / "tokenizer.json"
    if tokenizer.exists():
        data = tokenizer.read_bytes()
        if (run.shards.manifest.get("tokenizer") or {}).get("file_hash") not in (None, content_hash(data)):
            msg = f"{tokenizer} must be the tokenizer that encoded these shards; replace it (`dataprep verify`)"
            raise PlanError(msg)
        with whole(run.out / "tokenizer.json") as f:
            f.write(data)


def pick_device(name: str) -> torch.device:
    """Return the device to train on; auto is CUDA if there is a card."""
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    if name.startswith("cuda") and not torch.cuda.is_available():
        msg = f"device={name!r}: torch {torch.__version__} sees no CUDA card here; use device='cpu'"
        raise PlanError(msg)
    return torch.device(name)


def pick_dtype(name: str, device: torch.device) -> torch.dtype:
    """Return the type of activations; auto is bfloat16 on cards of compute capability 8 (Ampere, 2020) or later."""
    if name == "auto":
        fast = device.type == "cuda" and torch.cuda.get_device_capability(device) >= (8, 0)
        return torch.bfloat16 if fast else torch.float32
    return {"float32": torch.float32, "bfloat16": torch.bfloat16}[name]


def _has(module: str) -> bool:
    return importlib.util.find_spec(module) is not None


def describe(run: Run) -> str:
    """Return one line that describes the run."""
    device = run.model.rope.device
    where = torch.cuda.get_device_name(device) if device.type == "cuda" else f"{torch.get_num_threads()} CPU threads"
    epochs = run.loader.rows_of.epochs(run.steps * run.config.batch)
    each = ", ".join(f"{n:.2g} epochs" + (f" of {name}" if name else "") for name, n in epochs.items())
    return (
        f"{run.model.n_params / 1e6:.1f}M parameters on {where}, "
        f"{run.loader.rows_of.n_tokens:,} training tokens, {run.steps:,} steps = {each}"
        + (f", from step {run.step:,}" if run.step else "")
    )
