"""State of a training run: its checkpoints and its result."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path

import torch

from dataprep.errors import DataprepError
from dataprep.store import beside
from dataprep.store.atomic import journal_of, journaled
from dataprep.tokens.shards.shard import Shards

from . import checkpoint
from .config import TrainConfig
from .data.layouts import Layout
from .data.sets import Loader, facts
from .distributed import ALONE, World
from .guard import ROLLBACKS, Guard
from .model.gpt import GPT
from .optim import take_moments
from .preference import Preference
from .scaling import Scaler
from .schedule import flat_until
from .spikes import Spikes
from .start import check_same_start
from .writer import CheckpointWriter

METRICS, TOKENIZER = "metrics.jsonl", "tokenizer.json"


@dataclass(frozen=True, kw_only=True)
class Result:
    """The result of a training run; losses are in nats per token.

    Attributes:
        steps: the number of steps done.
        loss: loss of the newest step.
        val_loss: the newest validation loss; None if there is no validation split.
        bits_per_byte: the newest validation loss in bits per byte of text; None also if the shards have no
            token_bytes.npy.
        n_params: the number of the model's parameters.
        tokens: the number of tokens trained on.
        epochs: passes over the training data.
        checkpoint: the path of the newest checkpoint.
        metrics: the path of metrics.jsonl.
        skipped: the number of skipped steps.
        spikes: the number of steps with a spike of the loss.
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
    """Rows trained on, per row of all sets; `describe` reports this for each set."""
    checkpoint: str
    metrics: str
    skipped: int = 0
    """Steps that changed no weight: their loss or gradient was not finite, or a spike with on_spike="skip"."""
    spikes: int = 0
    """Steps whose loss was far above those before them (see `spikes`)."""


@dataclass
class Run:
    """The state of a training run: all that the next step needs; a part of it is stored in checkpoints.

    Attributes:
        sets: token shards by name.
        out: the output folder.
        loader: reads training rows.
        val: validation rows by set.
        step: steps done so far.
        loss: the newest training loss, in nats per token.
        val_loss: the newest validation loss, in nats per token.
        bits_per_byte: the newest validation loss, in bits per byte of text.
        guard: counts of skipped steps.
        start: the hash of the weights that the run began with; "" for random ones.
        before: the hash of the data of these weights.
        writer: writes the checkpoints.
        world: the processes that train together.
        attention: the back end of attention.
        spikes: the losses of the last steps.
        pairs: the loss of preference tuning.
        scaler: the scale of the loss.
        replaces: the folder with the earlier run that this one replaces at its end.
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
    before: str = ""
    """Hash of all data that these weights were trained on (`checkpoint.root_of`)."""
    writer: CheckpointWriter = field(default_factory=CheckpointWriter)
    """Writes the checkpoints while training continues."""
    world: World = ALONE
    """The processes that train together."""
    replaces: Path | None = None
    """The folder with an earlier run, next to which this run is stored until it is finished."""
    spikes: Spikes = field(default_factory=lambda: Spikes.begin(math.inf, ALONE.device))
    """The losses of the last steps."""
    pairs: Preference | None = None
    """The loss of preference tuning; None: that of each token."""
    scaler: Scaler | None = None
    """The scale of the loss in float16; None for other types."""
    attention: str | None = None
    """The back end of attention (see `sdpa`); None if torch does not report it."""

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

        Only the first process writes the checkpoint. The other processes, which have the same state, count it; if
        moments are divided among processes, they send their parts to the first one.
        """
        self.guard.saved(self.step)
        moments = self.optimizer.state_dict()
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
            "optimizer": moments,
            "guard": asdict(self.guard),
            "spikes": self.spikes.state(),
            **({} if self.scaler is None else {"scaler": self.scaler.state()}),
            "start": self.start,
            "before": self.before,
            "root": checkpoint.root_of(self.sets, self.before),
        }
        path, besides = (checkpoint.path_of(self.out, step) for step in (self.step, self.flat_until))
        self.writer.write(path, content, self.config.keep_checkpoints, besides)

    @property
    def flat_until(self) -> int:
        """The step at which the schedule "wsd" begins to lower the learning rate; 0 for other schedules.

        The checkpoint of this step is kept, so that the run can be resumed with more steps.
        """
        return flat_until(self.config) if self.config.schedule == "wsd" else 0

    def restore_newest(self, choose: Callable[[], Sequence[Path]]) -> None:
        """Restore the newest checkpoint that is not damaged; no change if there are none.

        Args:
            choose: a function that returns the paths of the checkpoints, the earliest first. It is called in the first
                process only. All processes restore the checkpoint that the first process could read.
        """

        def restored() -> str | None:
            paths = choose()
            return str(checkpoint.newest(paths, self.restore)) if paths else None

        path = self.world.from_first(restored)
        if path is not None and not self.world.is_first:
            self.restore(Path(path))
        if path is not None and Path(path).parent != self.out:
            self.out, self.replaces = Path(path).parent, self.out

    def restore(self, path: Path) -> Path:
        """Set this run to the state in the checkpoint `path`: weights, optimiser, step and counts; return `path`.

        Raises StaleOutput if the checkpoint is of another run; the learning rates after the checkpoint's step may
        differ.
        """
        content = checkpoint.load(path)
        checkpoint.check_same(path, content, self.config, self.sets)
        check_same_start(path, content, self.start)
        examples = {"guard": asdict(Guard()), "spikes": self.spikes.state()}
        if self.scaler is not None and "scaler" in content:
            examples["scaler"] = self.scaler.state()
        state = checkpoint.take_state(path, content, examples)
        checkpoint.fill(self.model, content["model"], path)
        take_moments(self.optimizer, content["optimizer"], path)
        for name in ("step", "loss", "val_loss", "bits_per_byte", "start", "before"):
            setattr(self, name, content[name])
        self.guard = Guard(**state["guard"])
        self.spikes.restore(state["spikes"])
        if "scaler" in state and self.scaler is not None:
            self.scaler.restore(state["scaler"])
        return path

    def roll_back(self, failed: int) -> None:
        """Return to an earlier checkpoint, and skip the training data up to step `failed`.

        The run returns to the newest checkpoint. If it failed before, and has not passed the step of that failure
        since, it returns to the second-newest checkpoint. Raises DataprepError if there is no checkpoint, or if the run
        was rolled back `ROLLBACKS` times already.
        """
        guard = self.guard
        self.restore_newest(partial(self._to_roll_back_to, failed))
        self.guard = guard.rolled_back(failed, self.step)

    @property
    def may_roll_back(self) -> bool:
        """True if there is a checkpoint to return to, and the run has not returned `ROLLBACKS` times already."""

        def has_checkpoint() -> bool:
            self.writer.wait()
            return bool(checkpoint.found(self.out))

        return self.guard.rollbacks < ROLLBACKS and self.world.from_first(has_checkpoint)

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

    def end(self) -> Result:
        """Return the result; a finished run in OUT/_unfinished replaces the earlier run first."""
        if self.step >= self.steps and self.replaces is not None:
            new, out = ({path.name: path for path in _files(home)} for home in (self.out, self.replaces))
            ours = journaled(journal) if (journal := journal_of(str(self.replaces))) else set()
            beside.commit(self.replaces, new, [name for name, path in out.items() if os.path.abspath(path) in ours])
            self.out, self.replaces = self.replaces, None
        return self.result()

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
            metrics=str(self.out / METRICS),
            skipped=self.guard.skipped,
            spikes=self.guard.spikes,
        )


def _files(home: Path) -> list[Path]:
    """Return the files of a run in a folder."""
    return [*checkpoint.found(home), *(path for path in (home / METRICS, home / TOKENIZER) if path.exists())]
