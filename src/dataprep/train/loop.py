"""The training loop: steps, their metrics, validation, checkpoints, and signals."""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Generator, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from dataprep.errors import DataprepError
from dataprep.tokens.shards.shard import Shards

from . import checkpoint
from .config import TrainConfig, preset
from .evaluate import evaluate
from .layouts import Layout
from .metrics import Metrics, Progress, peak_flops
from .optim import lr_at, step_once
from .rows import Rows
from .run import Result, Run, begin, describe
from .sets import Sets


def train(
    shards: Shards | str | Path | Sets,
    *,
    out: str | Path,
    config: TrainConfig | str = "tiny",
    resume: bool = True,
    stop_at: int | None = None,
    quiet: bool = False,
) -> Result:
    """Train a GPT on token shards and leave checkpoints, metrics.jsonl and the tokenizer in `out`.

    Several sets of shards come as a mapping, {"web": folder, "chat": folder}, with their shares in config.weights.

    A run that was stopped or killed resumes from its last checkpoint; on the CPU, bit for bit. A finished run returns
    its result at once. `resume=False` removes the files of the run in `out` and starts over. Ctrl-C and SIGTERM save a
    checkpoint after the current step and then end the program as usual. `stop_at` ends this call, with a checkpoint,
    after that many steps of the run.

    Raises PlanError if the config is invalid, there are too few tokens for one row or the sets cannot be mixed;
    StaleOutput if `out` holds a run of other tokens or another config; CorruptShard for a damaged shard or checkpoint.

    >>> train("work/shards", out="work/model", config="tiny").bits_per_byte
    """
    run = begin(shards, out, preset(config) if isinstance(config, str) else config, resume=resume)
    last = min(run.steps, stop_at or run.steps)
    if run.step >= last and checkpoint.path_of(run.out, run.step).exists():
        return run.result()
    progress = Progress(run.steps, run.step, quiet=quiet)
    progress.say(describe(run))
    metrics = Metrics(run.out / "metrics.jsonl", run.step)
    with closing(metrics), closing(progress), asked_to_stop() as asked:
        if run.step == 0:
            validate(run, metrics, progress)
        _steps(run, last, metrics, progress, asked)
    asked.leave()
    return run.result()


def _steps(run: Run, last: int, metrics: Metrics, progress: Progress, asked: Asked) -> None:
    """Train to step `last` or until a signal; the last step has a checkpoint."""
    window = MetricsWindow(run)
    for rows in window.timed(run.loader.steps(run.step, last)):
        lr = lr_at(run.step, run.config)
        window.add(step_once(run.model, run.optimizer, rows, lr, run.config), lr)
        run.step += 1
        done = run.step == last or asked.signal is not None
        save = done or run.step % run.config.save_every == 0
        check = run.step % run.config.eval_every == 0 or run.step == run.steps
        if save or check or run.step % run.config.log_every == 0:
            window.flush(metrics, progress)
        if check:
            validate(run, metrics, progress)
        if save:
            run.save()
        if save or check:
            window.restart()
        if done:
            return


class MetricsWindow:
    """Steps since the last report; losses stay on the device until `flush`, so that a GPU need not wait."""

    def __init__(self, run: Run) -> None:
        self.run, self.peak = run, peak_flops(run.model.rope.device)
        self.per_step = run.config.batch * run.config.model.context
        self.restart()

    def restart(self) -> None:
        """Restart the clock after work that is not training."""
        self.pending: list[torch.Tensor] = []
        self.lrs: list[float] = []
        self.began, self.waited = time.perf_counter(), 0.0

    def timed(self, rows: Generator[Rows, None, None]) -> Iterator[Rows]:
        """Yield the same rows; add the time spent waiting for them."""
        with closing(rows):
            while True:
                start = time.perf_counter()
                row = next(rows, None)
                if row is None:
                    return
                self.waited += time.perf_counter() - start
                yield row

    def add(self, loss_and_norm: torch.Tensor, lr: float) -> None:
        """Add a step."""
        self.pending.append(loss_and_norm)
        self.lrs.append(lr)

    def flush(self, metrics: Metrics, progress: Progress) -> None:
        """Write the metrics of these steps. Raises DataprepError if training has diverged."""
        values = torch.stack(self.pending).tolist()  # waits for the device
        seconds = time.perf_counter() - self.began
        speed = self.per_step * len(values) / seconds
        mfu = None if self.peak is None else speed * self.run.model.flops_per_token / self.peak
        first = self.run.step - len(values) + 1
        rows = [
            {
                "step": first + i, "loss": loss, "grad_norm": norm, "lr": lr, "tokens_per_s": round(speed),
                "mfu": mfu, "loader_wait": round(self.waited / seconds, 4),
            }
            for i, ((loss, norm), lr) in enumerate(zip(values, self.lrs, strict=True))
        ]  # fmt: skip
        metrics.add(rows)
        for row in rows:
            _check_finite(self.run, row)
        self.run.loss = values[-1][0]
        progress.update(self.run.step, self.run.loss, speed, mfu)
        self.restart()


def _check_finite(run: Run, row: dict[str, Any]) -> None:
    if math.isfinite(row["loss"]) and math.isfinite(row["grad_norm"]):
        return
    saved = checkpoint.found(run.out)
    where = f"; the last checkpoint is {saved[-1]}" if saved else ""
    msg = (
        f"step {row['step']:,}: loss {row['loss']}, gradient norm {row['grad_norm']}: training has diverged; "
        f"lower lr (now {run.config.lr:g}) or lengthen warmup (now {run.config.warmup}){where}"
    )
    raise DataprepError(msg)


def validate(run: Run, metrics: Metrics, progress: Progress) -> None:
    """Measure and record the validation loss; with several sets, that of each, and their mean by weight."""
    if not run.val:
        return
    found = {name: _measured(run, layout) for name, layout in run.val.items()}
    weights = run.loader.rows_of.weights
    run.val_loss = _mean({name: loss for name, (loss, _) in found.items()}, weights)
    run.bits_per_byte = _mean({name: bits for name, (_, bits) in found.items()}, weights)
    row = {"step": run.step, "val_loss": run.val_loss, "bits_per_byte": run.bits_per_byte}
    metrics.add([row | {f"val_loss/{name}": loss for name, (loss, _) in found.items() if name}])
    bits = "" if run.bits_per_byte is None else f", {run.bits_per_byte:.3f} bits per byte"
    progress.say(f"step {run.step:>6,}  validation loss {run.val_loss:.3f}{bits}")


def _measured(run: Run, layout: Layout) -> tuple[float, float | None]:
    return evaluate(
        run.model,
        layout,
        limit=run.config.eval_blocks,
        batch=run.config.rows,
        token_bytes=run.shards.token_bytes,
        objective=run.loader.objective,
    )


def _mean(values: Mapping[str, float | None], weights: Mapping[str, float]) -> float | None:
    known = {name: value for name, value in values.items() if value is not None}
    total = sum(weights[name] for name in known)
    return sum(weights[name] * value for name, value in known.items()) / total if known else None


@dataclass
class Asked:
    """Request to stop, made by a signal."""

    signal: int | None = None

    def leave(self) -> None:
        """End the program the way the signal would have."""
        if self.signal == signal.SIGINT:
            raise KeyboardInterrupt
        if self.signal is not None:
            raise SystemExit(128 + self.signal)


@contextmanager
def asked_to_stop() -> Iterator[Asked]:
    """Record the first SIGINT or SIGTERM; a second one acts at once. Works in the main thread only."""
    asked = Asked()
    before: dict[int, Any] = {}

    def note(number: int, _frame: object) -> None:
        asked.signal = number
        for n, handler in before.items():
            signal.signal(n, handler)

    if threading.current_thread() is threading.main_thread():
        before = {n: signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM)}
        for n in before:
            signal.signal(n, note)
    try:
        yield asked
    finally:
        for n, handler in before.items():
            signal.signal(n, handler)
