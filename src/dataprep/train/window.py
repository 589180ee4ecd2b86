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


class MetricsWindow:
    """Collects the metrics (loss, gradient norm, learning rate, speed) of the training steps since the last report.

    Losses remain on the device until `flush`, so that the GPU need not wait.
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

    def add(self, loss_and_norm: torch.Tensor, lr: float) -> None:
        """Collect one step; loss_and_norm: its loss and gradient norm, float32 (2) on the device; lr: learning rate."""
        self.pending.append(loss_and_norm)
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
        for step, ((loss, norm), lr) in enumerate(zip(values, self.lrs, strict=True), first):
            fine = self.run.guard.count(loss, norm)
            if fine:
                self.run.loss = loss
            else:
                progress.say(f"step {step:>6,}  skipped: loss {loss}, gradient norm {norm}")
            found = {"loss": loss, "grad_norm": norm} if fine else {"skipped": True}
            rows.append({"step": step, **found, "lr": lr, **how})
            if self.run.guard.must_roll_back:
                self.run.step = step
                break
        metrics.add(rows)
        progress.update(self.run.step, self.run.loss, speed, mfu)
        self.restart()
