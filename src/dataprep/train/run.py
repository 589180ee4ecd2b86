"""State of a training run: its start, its checkpoints and its result."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path

import torch

from dataprep.errors import DataprepError, PlanError
from dataprep.store.atomic import JOURNAL, begin_journal, is_attempt, journal_of, journaled, note, whole
from dataprep.tokens.shard_format import content_hash
from dataprep.tokens.shards.shard import Shards

from . import checkpoint, lora
from .config import TrainConfig
from .data.layouts import Layout, PackedLayout
from .data.sets import Loader, Sets, facts, open_sets, training_rows, validation_rows
from .device import HAS_TRITON, pick_device, pick_dtype
from .guard import ROLLBACKS, Guard
from .micro_batch import find_micro_batch
from .model.gpt import GPT
from .model.rules import Rule
from .optim import adamw
from .schedule import flat_until, lr_at
from .start import Loaded, check_same_start, take_weights
from .world import ALONE, World
from .writer import CheckpointWriter


@dataclass(frozen=True, kw_only=True)
class Result:
    """The result of a training run; losses are in nats per token.

    steps: number of steps done. loss: loss of the newest step. val_loss: the newest validation loss; None if there is
    no validation split. bits_per_byte: the newest validation loss in bits per byte of text; None also if the shards
    have no token_bytes.npy. n_params: number of the model's parameters. tokens: number of tokens trained on. epochs:
    passes over the training data. checkpoint: path of the newest checkpoint. metrics: path of metrics.jsonl. skipped:
    number of skipped steps.
    """

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
    skipped: int = 0
    """Steps whose loss or gradient was not finite; they changed no weight."""


@dataclass
class Run:
    """The state of a training run: all that the next step needs; a part of it is stored in checkpoints.

    sets: token shards by name. out: the output folder. loader: reads training rows. val: validation rows by set. step:
    steps done so far. loss, val_loss, bits_per_byte: the newest values. guard: counts of skipped steps. start: hash of
    the weights that the run began with; "" for random ones. writer: writes the checkpoints.
    world: the processes that train together.
    """

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
    guard: Guard = field(default_factory=Guard)
    start: str = ""
    """Hash of the weights that the run began with; "" for random ones."""
    writer: CheckpointWriter = field(default_factory=CheckpointWriter)
    """Writes the checkpoints while training continues."""
    world: World = ALONE
    """The processes that train together."""

    @property
    def shards(self) -> Shards:
        """The first set of shards; all sets have the same vocabulary, separator and tokenizer."""
        return next(iter(self.sets.values()))

    @property
    def steps(self) -> int:
        """The number of steps of the whole training run, from its config."""
        assert self.config.steps is not None, "begin() fixes the steps"
        return self.config.steps

    def save(self) -> None:
        """Begin to write the checkpoint of the current step; older ones are deleted when it is complete.

        Only the first process writes it; the others, which have the same state, only count it.
        """
        self.guard.saved(self.step)
        if not self.world.is_first:
            return
        content = {
            "step": self.step,
            "loss": self.loss,
            "val_loss": self.val_loss,
            "bits_per_byte": self.bits_per_byte,
            "config": self.config.to_dict(),
            "vocab_size": self.shards.vocab_size,
            "eot": self.shards.eot,
            **facts(self.sets),
            "data": checkpoint.data_key(self.sets),
            "tokenizer": checkpoint.tokenizer_key(self.sets),
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "guard": asdict(self.guard),
            "start": self.start,
        }
        path, besides = (checkpoint.path_of(self.out, step) for step in (self.step, self.flat_until))
        self.writer.write(path, content, self.config.keep, besides)

    @property
    def flat_until(self) -> int:
        """The step at which the schedule "wsd" begins to lower the learning rate; 0 for other schedules.

        The checkpoint of this step is kept, so that the run can be resumed with more steps.
        """
        return flat_until(self.config) if self.config.schedule == "wsd" else 0

    def restore_newest(self, choose: Callable[[], Sequence[Path]]) -> None:
        """Restore the newest checkpoint that is not damaged; no change if there are none.

        choose: function that returns the paths of the checkpoints, the earliest first. It is called in the first
        process only; all processes restore the checkpoint that the first one could read.
        """

        def restored() -> str | None:
            paths = choose()
            return str(checkpoint.newest(paths, self.restore)) if paths else None

        path = self.world.from_first(restored)
        if path is not None and not self.world.is_first:
            self.restore(Path(path))

    def restore(self, path: Path) -> Path:
        """Set this run to the state in the checkpoint `path`: weights, optimiser, step and counts; return `path`.

        Raises StaleOutput if the checkpoint is of another run; the learning rates after the checkpoint's step may
        differ.
        """
        content = checkpoint.load(path)
        checkpoint.check_same(path, content, self.config, self.sets)
        check_same_start(path, content, self.start)
        self.model.load_state_dict(content["model"])
        self.optimizer.load_state_dict(content["optimizer"])
        for name in ("step", "loss", "val_loss", "bits_per_byte"):
            setattr(self, name, content[name])
        self.guard = Guard(**content.get("guard", {}))
        self.start = content.get("start", "")
        return path

    def roll_back(self, failed: int) -> None:
        """Go back to an earlier checkpoint, and skip the training data up to step `failed`.

        The run goes back to the newest checkpoint. If it failed before and has not passed the step of that failure
        since, it goes back to the checkpoint before the newest. Raises DataprepError if there is no checkpoint, or if
        the run went back `ROLLBACKS` times already.
        """
        guard = self.guard
        self.restore_newest(partial(self._to_roll_back_to, failed))
        self.guard = guard.rolled_back(failed, self.step)

    def _to_roll_back_to(self, failed: int) -> Sequence[Path]:
        self.writer.wait()
        saved, guard = checkpoint.found(self.out), self.guard
        if not saved or guard.rollbacks >= ROLLBACKS:
            where = f"; the last checkpoint is {saved[-1]}" if saved else ""
            msg = (
                f"step {failed:,}: training has diverged: {guard.skipped} steps had a loss or gradient that is not a "
                f"finite number, after {guard.rollbacks} rollbacks; lower lr (now {self.config.lr:g}) or lengthen "
                f"warmup (now {self.config.warmup}){where}"
            )
            raise DataprepError(msg)
        return saved[: len(saved) - guard.rollbacks] or saved[:1]

    def result(self) -> Result:
        """Return the result of the training run as of the current step."""
        trained = self.step * self.config.batch
        return Result(
            steps=self.step,
            loss=self.loss,
            val_loss=self.val_loss,
            bits_per_byte=self.bits_per_byte,
            n_params=self.model.n_params,
            tokens=trained * self.config.model.context,
            epochs=(self.step + self.guard.ahead) * self.config.batch / len(self.loader.rows_of),
            checkpoint=str(checkpoint.path_of(self.out, self.step)),
            metrics=str(self.out / "metrics.jsonl"),
            skipped=self.guard.skipped,
        )


def begin(
    shards: Shards | str | Path | Sets, out: str | Path, config: TrainConfig, *, resume: bool = True,
    init_from: str | Path | Loaded | None = None, world: World | None = None,
) -> Run:  # fmt: skip
    """Return a Run that is ready to train: build the model, its optimiser and the loaders.

    With `resume`, the newest checkpoint in `out` is loaded if there is one; otherwise the files of an earlier run in
    `out` are deleted. A new run begins with the weights of the checkpoint `init_from`, or with random ones. `world`
    holds the processes that train together; None means that this process trains alone.
    """
    world = world or World(pick_device(config.device))
    if config.lora and init_from is None and not (resume and checkpoint.found(Path(out))):
        msg = f"lora={config.lora} changes a trained model: name one with init_from= (--from), or leave lora out"
        raise PlanError(msg)
    lora.check(config)
    sets = open_sets(shards)
    loader = training_rows(sets, config)
    loader.samples(0, world.rank, world.ranks)  # raises if the batch cannot be divided
    if config.steps is None:
        config = replace(config, steps=-(-len(loader.rows_of) // config.batch))
    torch.manual_seed(config.seed)
    model = GPT(config.model, next(iter(sets.values())).vocab_size)  # made on the CPU: equal everywhere
    start = "" if init_from is None else take_weights(model, init_from, sets, config)
    if config.lora:
        lora.add(model, config)
    model = model.to(world.device)
    model.rule = Rule.of(config, next(iter(sets.values())).eot)
    model.compute_dtype, model.recompute = pick_dtype(config.dtype, world.device), config.recompute
    if config.micro_batch == "auto":
        share = replace(config, batch=config.batch // world.ranks)
        config = replace(config, micro_batch=-world.most(-find_micro_batch(model, loader, share)))
    if config.compile or (config.compile is None and world.device.type == "cuda" and HAS_TRITON):
        model.stream = torch.compile(model.stream, dynamic=False)  # type: ignore[method-assign]
    optimizer, val = adamw(model, config), validation_rows(sets, config)
    run = Run(config, sets, Path(out), model, optimizer, loader, val, start=start, world=world)
    run.restore_newest(partial(_settle, run, resume=resume))
    world.copy_first([*model.parameters()])
    return run


def _settle(run: Run, *, resume: bool) -> list[Path]:
    """Return the checkpoints to resume from; if there are none, remove the run's files and write the tokenizer."""
    try:
        run.out.mkdir(parents=True, exist_ok=True)
    except OSError as e:
        msg = f"out={str(run.out)!r} must be a folder that can be written to ({e.strerror})"
        raise PlanError(msg) from e
    for path in run.out.glob(".step-*.tmp"):  # what a process was writing when it was killed
        if is_attempt(path.name):
            path.unlink()
    checkpoints = checkpoint.found(run.out)
    if resume and checkpoints:
        return checkpoints
    _remove(run.out, [path for path in [*checkpoints, run.out / "metrics.jsonl"] if path.exists()])
    tokenizer = run.shards.path / "tokenizer.json"
    if tokenizer.exists():
        data = tokenizer.read_bytes()
        if (run.shards.manifest.get("tokenizer") or {}).get("file_hash") not in (None, content_hash(data)):
            msg = (
                f"{tokenizer} is not the tokenizer that encoded these shards; put that one back (`dataprep verify` "
                "checks all files)"
            )
            raise PlanError(msg)
        with whole(run.out / "tokenizer.json") as f:
            f.write(data)
    return []


def _remove(out: Path, paths: list[Path]) -> None:
    """Delete the files of an earlier run that dataprep created, by the journal (list of created files) of its folder.

    The files of a version without journals count as created by it. Raises PlanError if one is somebody else's.
    """
    journal = journal_of(str(out))
    if journal is None:
        begin_journal(str(out), [path.name for path in paths])
        journal = str(out / JOURNAL)
    ours = journaled(journal)
    foreign = next((path for path in paths if os.path.abspath(path) not in ours), None)
    if foreign is not None:
        msg = f"{foreign} was not written by this run, so it is not removed; move it, or choose another output folder"
        raise PlanError(msg)
    for path in paths:
        path.unlink()
    note(str(out / "metrics.jsonl"))


def describe(run: Run) -> str:
    """Return a line that describes a run on the terminal: parameters, device, training tokens, steps and epochs."""
    device = run.model.device
    where = torch.cuda.get_device_name(device) if device.type == "cuda" else f"{torch.get_num_threads()} CPU threads"
    where += f" in each of {run.world.ranks} processes" if run.world.ranks > 1 else ""
    n_trained = sum(p.numel() for p in run.model.parameters() if p.requires_grad)
    trained = f" ({n_trained:,} trained)" if n_trained < run.model.n_params else ""
    epochs = run.loader.rows_of.epochs(run.steps * run.config.batch)
    each = ", ".join(f"{n:.2g} epochs" + (f" of {name}" if name else "") for name, n in epochs.items())
    return (
        f"{run.model.n_params / 1e6:.1f}M parameters{trained} on {where}, "
        f"{run.loader.rows_of.n_tokens:,} training tokens, {run.steps:,} steps = {each}"
        + (f", {run.config.rows:,} rows at once" if run.config.rows < run.config.batch else "")
        + (f", from step {run.step:,}" if run.step else "")
    )


def doubts(run: Run) -> list[str]:
    """Return warnings, as texts, about settings with which the run hardly trains, and about documents that are cut."""
    config, n_rows, found = run.config, len(run.loader.rows_of), []
    if config.warmup >= run.steps:
        found.append(
            f"warning: warmup={config.warmup:,} is not below steps={run.steps:,}, so the learning rate rises during "
            f"the whole run, to {lr_at(run.steps - 1, config):.3g} of lr={config.lr:g}; lower warmup"
        )
    if config.batch > n_rows:
        found.append(
            f"warning: batch={config.batch:,} is above the {n_rows:,} rows of the training data, so a step reads some "
            f"of them more than once; set batch={n_rows:,} or less"
        )
    return found + cut_windows(run)


def cut_windows(run: Run) -> list[str]:
    """Return a warning, as text, for each set of shards with loss masks that has documents longer than the context."""
    rows_of, found = run.loader.rows_of, []
    for name, layout in zip(rows_of.names, rows_of.layouts, strict=True):
        if not isinstance(layout, PackedLayout) or layout.masks is None:
            continue
        long, longest = layout.longer_than_context()
        if long:
            found.append(
                f"warning: {long:,} of {len(layout.shards):,} documents{f' of {name!r}' if name else ''} are longer "
                f"than model.context={layout.context} and are cut; set model.context={longest} to keep them complete"
            )
    return found
