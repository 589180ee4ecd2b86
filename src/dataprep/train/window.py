"""`MetricsWindow`: collects the metrics of the steps between two reports."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator
from contextlib import closing
from typing import Any

import torch

from .data.rows import Rows
from .device import peak_memory
from .metrics import Metrics, Progress, peak_flops
from .run import Run
from .scaling import OVERFLOW
from .spikes import warn_of_rise


class MetricsWindow:
    """Collects the metrics (loss, gradient norm, learning rate, speed) of the training steps since the last report.

    Losses remain on the device until `flush`, so that the GPU does not have to wait.
    """

    def __init__(self, run: Run) -> None:
        self.run, self.peak = run, peak_flops(run.model.device)
        self.per_step = run.config.batch * run.config.model.context
        self.restart()

    def restart(self) -> None:
        """Forget the collected steps and restart the clock, for example after a validation, which is not training."""
        self.pending: list[torch.Tensor] = []
        self.lrs: list[float] = []
        self.began, self.waited = time.perf_counter(), 0.0

    def timed(self, rows: Generator[Rows, None, None]) -> Iterator[Rows]:
        """Yield the rows unchanged, and add the seconds spent waiting for them to `waited`."""
        with closing(rows):
            while True:
                start = time.perf_counter()
                row = next(rows, None)
                if row is None:
                    return
                self.waited += time.perf_counter() - start
                yield row

    def add(self, found: torch.Tensor, lr: float) -> None:
        """Collect one step.

        Args:
            found: float32 (4) on the device, as `Spikes.add` returns it.
            lr: the learning rate of the step.
        """
        self.pending.append(found)
        self.lrs.append(lr)

    def flush(self, metrics: Metrics, progress: Progress) -> None:
        """Write one row per collected step to `metrics`, show the newest step on `progress`, and restart.

        If the training run must return to a checkpoint after one of these steps, that step is the last one written, and
        becomes the current step of the training run.
        """
        values = torch.stack(self.pending).tolist()  # waits for the device
        seconds = time.perf_counter() - self.began
        speed = self.per_step * len(values) / seconds
        mfu = None if self.peak is None else speed * self.run.model.flops_per_token / (self.peak * self.run.world.ranks)
        how: dict[str, Any] = {"tokens_per_s": round(speed), "mfu": mfu, "loader_wait": round(self.waited / seconds, 4)}
        how |= {"peak_memory": peak_memory(self.run.model.device), "attention": self.run.attention}
        first = self.run.step - len(values) + 1
        rows: list[dict[str, Any]] = []
        for step, ((loss, norm, is_spike, median), lr) in enumerate(zip(values, self.lrs, strict=True), first):
            fine = self.run.guard.count(loss, norm)
            if fine or norm == OVERFLOW:
                self.run.loss = loss
            else:
                progress.say(f"step {step:>6,}  skipped: loss {loss}, gradient norm {norm}")
            found: dict[str, Any] = {"loss": loss, "grad_norm": norm} if fine else {"skipped": True}
            if norm == OVERFLOW:
                found |= {"loss": loss, "overflow": True}
            if is_spike and fine:
                found |= self._spike(step, loss, median, progress)
            lowest = self.run.spikes.lowest
            if self.run.spikes.rises(median):
                found["risen_from"] = lowest
                if self.run.world.is_first:
                    warn_of_rise(step, median, lowest, self.run.config)
            rows.append({"step": step, **found, "lr": lr, **how})
            if self.run.guard.must_roll_back:
                self.run.step = step
                break
        metrics.add(rows)
        progress.update(self.run.step, self.run.loss, speed, mfu)
        self.restart()

    def _spike(self, step: int, loss: float, median: float, progress: Progress) -> dict[str, Any]:
        """Count a spike, report it, and roll the run back if so configured; return the entry for the metrics."""
        guard, how = self.run.guard, self.run.config.on_spike
        guard.spikes += 1
        skipped = how == "skip"
        guard.skipped += skipped
        guard.spiked = how == "rollback" and self.run.may_roll_back
        done = "; its update is skipped" if skipped else ""
        progress.say(f"step {step:>6,}  spike: loss {loss:.3f}, and {median:.3f} in the steps before{done}")
        return {"spike": True, "skipped": True} if skipped else {"spike": True}
