"""Report on a training run: one JSON line per step in metrics.jsonl, and lines or a progress bar on the terminal."""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any, Protocol

import torch

from dataprep.errors import CorruptShard, PlanError
from dataprep.store.atomic import full_disk_said, read_bytes, whole

from .curve import Curve

PEAK_FLOPS = {
    "B200": 2250e12, "H200 NVL": 835e12, "H200": 989e12, "H100 NVL": 835e12, "H100 PCIe": 756e12, "H100": 989e12,
    "A100": 312e12, "L40S": 362e12, "L40": 181e12, "L4": 121e12, "A10G": 70e12, "A10": 125e12, "RTX 4090": 165e12,
}  # fmt: skip
"""Dense bfloat16 operations per second from the data sheets; the first key whose words are all in the card's name."""


def peak_flops(device: torch.device) -> float | None:
    """Return the peak bfloat16 FLOP/s of a GPU by its data sheet; None for a device that is not in the table."""
    if device.type != "cuda":
        return None
    words = set(re.split(r"[\s-]+", torch.cuda.get_device_name(device)))
    return next((flops for card, flops in PEAK_FLOPS.items() if words.issuperset(card.split())), None)


class Watcher(Protocol):
    """An object that also receives the rows of metrics, such as a curve on the terminal or TensorBoard's files."""

    def restart(self, rows: list[dict[str, Any]]) -> None:
        """Discard all rows received before, and take `rows`, the rows of the run so far."""

    def add(self, rows: list[dict[str, Any]]) -> None:
        """Receive new rows."""

    def close(self) -> None:
        """Close files, if there are any."""


class Metrics:
    """The JSONL file of a training run's metrics, open for appending; rows of steps after `step` are removed first.

    Attributes:
        watchers: objects that receive the same rows.
    """

    def __init__(self, path: Path, step: int, watchers: Sequence[Watcher] = ()) -> None:
        self.path, self.watchers = path, watchers
        self._file: IO[bytes] = self._cut(step)

    def rewind(self, step: int) -> None:
        """Remove the rows of all steps after `step` from the metrics file."""
        self._file.close()
        self._file = self._cut(step)

    def _cut(self, step: int) -> IO[bytes]:
        kept: list[str] = []
        if str(self.path) != os.devnull and os.path.lexists(self.path):
            try:
                text = read_bytes(self.path).decode(errors="replace")
            except OSError as e:
                msg = f"{self.path} must be a file of metrics ({e.strerror}); remove it, and run again"
                raise PlanError(msg) from e
            kept = [line for line in text.splitlines() if _is_before(line, step)]
            with whole(self.path) as f:
                f.write("".join(f"{line}\n" for line in kept).encode())
        for watcher in self.watchers:
            watcher.restart([json.loads(line) for line in kept])
        with full_disk_said(self.path):
            return open(self.path, "ab")

    def add(self, rows: list[dict[str, Any]]) -> None:
        """Append rows to the metrics file, one JSON object per line, and flush them, so that a crash loses no row.

        A number that is not finite is written as null.
        """
        rows = [{k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in r.items()} for r in rows]
        with full_disk_said(self.path):
            self._file.write("".join(json.dumps(row) + "\n" for row in rows).encode())
            self._file.flush()
        for watcher in self.watchers:
            watcher.add(rows)

    def sync(self) -> None:
        """Wait until the rows so far are on the disk, so that a power cut after the next checkpoint loses no row."""
        with full_disk_said(self.path):
            os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close the metrics file and the watchers."""
        with contextlib.suppress(OSError):  # of rows that could not be written before
            self._file.close()
        for watcher in self.watchers:
            watcher.close()


def read(path: Path) -> list[dict[str, Any]]:
    """Return the rows of a metrics file, one dict per line. Raises CorruptShard if a line is damaged."""
    lines = path.read_text(errors="replace").splitlines()
    if damaged := [i for i, line in enumerate(lines, 1) if not _is_before(line, sys.maxsize)]:
        msg = f"{path}: line {damaged[0]:,} is damaged; remove the folder of the run, and run again"
        raise CorruptShard(msg)
    return [json.loads(line) for line in lines]


def _is_before(line: str, step: int) -> bool:
    try:
        return bool(json.loads(line)["step"] <= step)
    except (ValueError, KeyError, TypeError, RecursionError):
        return False  # the incomplete last line of a killed process, or damage


def can_print(text: str) -> bool:
    """Return whether the encoding of stdout has all characters of a text."""
    try:
        text.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        return False
    return True


class Progress:
    """Shows the progress of training on the terminal: a bar if rich is installed, otherwise a line at intervals.

    Attributes:
        curve: the loss curve, which is drawn above the bar at each update, and printed at the end; None: no curve.
    """

    def __init__(self, steps: int, done: int, *, quiet: bool = False, curve: Curve | None = None) -> None:
        self.steps, self.quiet, self._bar, self.curve = steps, quiet, None, curve
        self._every = max(1, steps // 10)
        self._next = done
        if not quiet and sys.stdout.isatty():
            with contextlib.suppress(ImportError):
                self._bar = _bar(steps, done)

    def update(self, step: int, loss: float, tokens_per_s: float, mfu: float | None) -> None:
        """Show the step, loss, tokens per second, and `mfu`, the share of the GPU's peak FLOP/s in use."""
        speed = f"{tokens_per_s:,.0f} tokens/s" + ("" if mfu is None else f", MFU {mfu:.1%}")
        if self._bar is not None:
            self._bar.drawing = self._drawn()
            self._bar.update(self._bar.task_ids[0], completed=step, note=f"loss {loss:.3f}  {speed}")
        elif step >= self._next or step == self.steps:
            self._next = step + self._every
            self.say(f"step {step:>6,}/{self.steps:,}  loss {loss:.3f}  {speed}")

    def say(self, line: str) -> None:
        """Print one line on the terminal, above the progress bar if there is one."""
        if self._bar is not None:
            self._bar.console.print(line, highlight=False, markup=False)
        elif not self.quiet:
            encoding = sys.stdout.encoding or "utf-8"
            shown = line if can_print(line) else line.encode(encoding, "replace").decode(encoding)
            print(shown, flush=True)  # noqa: T201 - without rich, too

    def close(self) -> None:
        """Stop the progress bar, if there is one, so that the terminal is as before; print the curve, if there is one.

        On a terminal the last drawing of the curve remains.
        """
        if self._bar is not None:
            self._bar.drawing = self._drawn()
            self._bar.stop()
        elif self.curve is not None:
            self.say(self._drawn())

    def _drawn(self) -> str:
        width = 80 if self._bar is None else int(self._bar.console.width) - 1
        return "" if self.curve is None else "\n".join(self.curve.lines(width))


def _bar(steps: int, done: int) -> Any:
    """Return a bar of rich, started, with text above it (`drawing`). Raises ImportError without rich."""
    from rich import progress
    from rich.text import Text

    class Bar(progress.Progress):
        drawing = ""

        def get_renderables(self) -> Iterator[Any]:
            if self.drawing:
                yield Text(self.drawing)
            yield from super().get_renderables()

    columns = (progress.BarColumn(), progress.MofNCompleteColumn(), progress.TimeRemainingColumn())
    bar = Bar("train", *columns, progress.TextColumn("{task.fields[note]}"))
    bar.add_task("train", total=steps, completed=done, note="")
    bar.start()
    return bar
