"""The training loop: steps, their metrics, validation, checkpoints, and signals."""

from __future__ import annotations

import logging
import math
import os
import signal
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from dataprep.store import lease
from dataprep.store.stopping import Stopped, clean_end
from dataprep.tokens.shards.shard import Shards

from . import checkpoint, lora
from .begin import begin
from .compiled import check, every_shape, is_wanted
from .config import TrainConfig
from .curve import BRAILLE, Curve
from .data.sets import Sets, to_device
from .description import describe, doubts
from .device import memory_named
from .distributed import World, joined
from .evaluate import LossSum, evaluate, evaluation
from .metrics import Metrics, Progress, Watcher, can_print
from .model import sdpa
from .optim import step_once
from .preference import Preference
from .run import METRICS, Result, Run
from .schedule import lr_at
from .shape import check_path, plain, positive
from .start import Loaded, settled, starting_config
from .tensorboard import TensorBoard
from .window import MetricsWindow

log = logging.getLogger(__name__)


def train(
    shards: Shards | str | Path | Sets,
    *,
    out: str | Path,
    config: TrainConfig | str | None = None,
    init_from: str | Path | Loaded | None = None,
    lora: int | None = None,
    dpo: float | None = None,
    resume: bool = True,
    stop_at: int | None = None,
    quiet: bool = False,
    plot: bool = False,
    tensorboard: bool = False,
) -> Result:
    """Train a GPT on token shards, and write checkpoints, metrics.jsonl and the tokenizer to `out`; return the Result.

    Args:
        shards: a folder of token shards, or several as {"web": folder, "chat": folder}, with their shares in
            config.weights.
        out: the folder of the run.
        config: a TrainConfig, or the name of a preset. None: "tiny", or with `init_from` the config of that model.
        init_from: a checkpoint, the folder of a run, or a result of `load_model`, from whose weights training starts
            (fine-tuning); the data and the schedule may differ. The shards must be encoded with the tokenizer of that
            model, and the config must have the shape of that model.
        lora: the rank for LoRA, instead of the config's value: the model's own weights are frozen, and only low-rank
            updates of them are trained.
        dpo: the beta of preference tuning (DPO) on pairs of answers; `shards` are then {"chosen": folder, "rejected":
            folder}, as `encode_preferences` writes them.
        resume: whether to resume a run in `out`; False starts over.
        stop_at: the total number of steps after which the run saves a checkpoint and returns.
        quiet: whether to print no progress.
        plot: whether to draw the loss curve on the terminal.
        tensorboard: whether to also write the metrics to `out`/tensorboard, which needs the extra `tensorboard`.

    A run that was stopped or killed resumes from its last checkpoint that is not damaged; on the CPU, the result is
    equal bit for bit. A finished run returns its result at once. If the config now has more steps, a run with the
    schedule "wsd" continues from the checkpoint before its learning rate was lowered, and a run with a constant
    learning rate from its last checkpoint. A step whose loss or gradient is not finite is skipped (see `guard`).

    With `resume=False`, a new run in a folder with checkpoints is made in OUT/_unfinished and replaces the old run when
    it is finished, so an error or a stop before that leaves the earlier run unchanged. Ctrl-C and SIGTERM save a
    checkpoint after the current step and then end the program as usual.

    If torchrun started several processes, they share the rows of each batch, and the first process writes and prints. A
    run may be resumed with another number of processes; with the same number, the result is equal bit for bit on the
    CPU.

    Raises PlanError if the config is invalid, if there are too few tokens for one row, or if the sets cannot be mixed;
    StaleOutput if `out` contains a run with other tokens or another config; CorruptShard for a damaged shard or
    checkpoint; InUse if another process trains into `out`.

    >>> train("work/shards", out="work/model", config="tiny").bits_per_byte
    """
    stop_at = plain(stop_at)
    positive("stop_at", stop_at, optional=True)
    check_path("out", out)
    config = settled(starting_config(config, init_from), lora, dpo)
    with joined(config.device) as world, _alone_in(str(out), world), memory_named(config, world.ranks):
        world.check_same({**config.flat(), "stop_at": stop_at, "resume": resume})
        watchers: list[Watcher] = [TensorBoard(Path(out) / "tensorboard")] if tensorboard and world.is_first else []
        with sdpa.chosen(config, world.device) as attention, every_shape(config, world.device):
            run = begin(shards, out, config, resume=resume, init_from=init_from, world=world)
            run.attention = attention
            return _train(run, stop_at, watchers, quiet=quiet or not world.is_first, plot=plot)


def _alone_in(out: str, world: World) -> AbstractContextManager[object]:
    """Hold the lease of the output folder (first process only); SIGTERM ends the block like Ctrl-C."""
    return lease.held(out) if world.is_first else clean_end(out)


def _train(run: Run, stop_at: int | None, watchers: list[Watcher], *, quiet: bool, plot: bool) -> Result:
    last, world = min(run.steps, stop_at or run.steps), run.world
    if world.from_first(lambda: run.step >= last and checkpoint.path_of(run.out, run.step).exists()):
        return world.from_first(run.end)
    curve = Curve(plain=not can_print(BRAILLE)) if plot and not quiet else None
    progress = Progress(run.steps, run.step, quiet=quiet, curve=curve)
    for line in [describe(run), *doubts(run)]:
        progress.say(line)
    path = run.out / METRICS if world.is_first else Path(os.devnull)
    metrics = Metrics(path, run.step, [*watchers, *([] if curve is None else [curve])])
    with closing(metrics), closing(progress), closing(run.writer), asked_to_stop() as asked:
        _check_compiled(run)
        if run.step == 0:
            validate(run, metrics, progress)
        _steps(run, last, metrics, progress, asked)
        run.writer.wait()
        result = world.from_first(run.end)  # when the last checkpoint is complete
    asked.leave()
    return result


def _check_compiled(run: Run) -> None:
    """Raise DataprepError if the compiled model, if there is one, computes other values than the model."""
    if is_wanted(run.config, run.model.device):
        world = run.world
        rows = run.loader.rows(run.step + run.guard.ahead, world.rank, world.ranks).part(0, run.config.rows)
        ids_BT, _, mask = to_device(rows, run.model.device)  # noqa: N806 - the shape letters are capitals
        with evaluation(run.model) if run.config.has_dropout else nullcontext():
            check(run.model, ids_BT, mask)


def _steps(run: Run, last: int, metrics: Metrics, progress: Progress, asked: Asked) -> None:
    """Train to step `last` or until a signal; the last step has a checkpoint."""
    window = MetricsWindow(run)
    while not _stretch(run, last, window, metrics, progress, asked):
        failed, guard = run.step, run.guard
        run.roll_back(failed)
        metrics.rewind(run.step)
        metrics.add([{"step": run.step, "rolled_back_from": failed, "skipped": guard.skipped}])
        progress.say(f"step {failed:>6,}  rolled back to step {run.step:,}; the data in between is skipped")
        window.restart()


def _stretch(
    run: Run, last: int, window: MetricsWindow, metrics: Metrics, progress: Progress, asked: Asked
) -> bool:  # fmt: skip
    """Train until the end or a signal; return False at a step after which the run must be rolled back."""
    ahead, world = run.guard.ahead, run.world
    for rows in window.timed(run.loader.steps(run.step + ahead, last + ahead, world.rank, world.ranks)):
        lr = lr_at(run.step, run.config)
        if run.config.has_dropout:
            lora.seed_dropout(run.config.seed, run.step, world.rank)
        limit = run.spikes.limit()[0] if run.config.on_spike == "skip" else None
        notes = asked.notes(world)
        found = step_once(run.model, run.optimizer, rows, lr, run.config, world, limit, notes, run.pairs, run.scaler)
        asked.learn(notes)
        window.add(run.spikes.add(found), lr)
        run.step += 1
        run.writer.check()
        done = asked.signal is not None if world.ranks == 1 else asked.of_all is not None
        done = done or run.step == last
        save = done or run.step % run.config.save_every == 0 or run.step == run.flat_until
        check = run.step % run.config.eval_every == 0 or run.step == run.steps
        if save or check or run.step % run.config.log_every == 0:
            window.flush(metrics, progress)
        if run.guard.must_roll_back:
            return False
        if check:
            validate(run, metrics, progress)
        if save and (done or not run.guard.streak):
            if world.is_first:
                metrics.sync()
            run.save()
        if save or check:
            window.restart()
        if done:
            break
    asked.anywhere(world)
    return True


def validate(run: Run, metrics: Metrics, progress: Progress) -> None:
    """Measure the validation loss; store it in `run`, add a row to `metrics`, and show it on `progress`.

    If several processes train together, they divide the rows among them, and all processes get the result. If there are
    several sets, the row also has the loss of each set, and the stored loss is their mean, weighted like the sets.
    """
    if run.pairs is not None:
        _validate_pairs(run, run.pairs, metrics, progress)
    if not run.val:
        return
    batch = min(run.config.rows, run.config.batch // run.world.ranks)
    limit, objective = run.config.eval_rows, run.loader.objective
    sizes = None if run.config.labels else run.shards.token_bytes
    measure = partial(evaluate, limit=limit, batch=batch, token_bytes=sizes, objective=objective, world=run.world)
    found = {name: measure(run.model, layout) for name, layout in run.val.items()}
    _warn_of(found, run.step)
    weights = run.loader.rows_of.weights
    losses = {name: score.loss if score.n_targets else None for name, score in found.items()}
    run.val_loss = _mean(losses, weights)
    run.bits_per_byte = _mean({name: score.bits_per_byte for name, score in found.items()}, weights)
    row = {"step": run.step, "val_loss": run.val_loss, "bits_per_byte": run.bits_per_byte}
    metrics.add([row | {f"val_loss/{name}": loss for name, loss in losses.items() if name}])
    if run.val_loss is None:
        return
    bits = "" if run.bits_per_byte is None else f", {run.bits_per_byte:.3f} bits per byte"
    progress.say(f"step {run.step:>6,}  validation loss {run.val_loss:.3f}{bits}")


def _warn_of(found: Mapping[str, LossSum], step: int) -> None:
    """Log a warning for each set of validation rows whose loss is not a finite number, or that has no target."""
    for name, score in found.items():
        of = f" of {name!r}" if name else ""
        if not score.n_targets:
            log.warning("the validation rows%s have no token to learn, so there is no validation loss", of)
        elif not math.isfinite(score.nats):
            log.warning("step %s: the validation loss%s is not a finite number; lower lr", f"{step:,}", of)


def _validate_pairs(run: Run, pairs: Preference, metrics: Metrics, progress: Progress) -> None:
    per_pass = max(1, min(run.config.rows, run.config.batch // run.world.ranks) // 2)
    found = pairs.measure(run.model, run.config.eval_rows, per_pass, run.world)
    if found is not None:
        run.val_loss, accuracy = found
        metrics.add([{"step": run.step, "val_loss": run.val_loss, "val_accuracy": accuracy}])
        progress.say(f"step {run.step:>6,}  validation loss {run.val_loss:.3f}, {accuracy:.1%} of pairs as preferred")


def _mean(values: Mapping[str, float | None], weights: Mapping[str, float]) -> float | None:
    known = {name: value for name, value in values.items() if value is not None}
    total = sum(weights[name] for name in known)
    return sum(weights[name] * value for name, value in known.items()) / total if known else None


SIGNALS = (signal.SIGINT, signal.SIGTERM)


@dataclass
class Asked:
    """A request to end training.

    Attributes:
        signal: the number of the signal that this process received; None: no signal yet.
        of_all: the number of the signal that any process received before the step began.
    """

    signal: int | None = None
    of_all: int | None = None

    def notes(self, world: World) -> Tensor | None:
        """Return the signals of this process as numbers that a step sums over all processes, for `learn`.

        Returns None for a single process. Also returns None on CUDA, where this process does not wait for a step's
        sums; there, gloo sums the signals at once.
        """
        received = [self.signal == number for number in SIGNALS]
        if world.ranks > 1 and world.device.type == "cpu":
            return torch.tensor(received, dtype=torch.float32)
        self._learn(world.exchanged(*received))
        return None

    def learn(self, notes: Tensor | None) -> None:
        """Record a signal that any process received, from the summed `notes`; None was recorded before."""
        if notes is not None:
            self._learn(notes.tolist())

    def _learn(self, counts: Sequence[float]) -> None:
        self.of_all = next((n for n, count in zip(SIGNALS, counts, strict=True) if count), None)

    def anywhere(self, world: World) -> bool:
        """Return whether any process received a signal; if so, record it in all of them, so that all stop together."""
        number = world.most(self.signal or 0)
        if number:
            self.signal = number
        return number > 0

    def leave(self) -> None:
        """Raise KeyboardInterrupt if SIGINT was received, Stopped for another signal; without one, do nothing."""
        if self.signal == signal.SIGINT:
            raise KeyboardInterrupt
        if self.signal is not None:
            raise Stopped(128 + self.signal)


@contextmanager
def asked_to_stop() -> Iterator[Asked]:
    """Yield an `Asked` that records the first SIGINT or SIGTERM in the `with` block; a second one has its usual effect.

    Outside the main thread no signal is recorded.
    """
    asked = Asked()
    before: dict[int, Any] = {}

    def note(number: int, _frame: object) -> None:
        asked.signal = number
        for n, handler in before.items():
            signal.signal(n, handler)

    if threading.current_thread() is threading.main_thread():
        before = {n: signal.getsignal(n) for n in SIGNALS}
        for n in before:
            signal.signal(n, note)
    try:
        yield asked
    finally:
        for n, handler in before.items():
            signal.signal(n, handler)
