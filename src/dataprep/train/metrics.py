"""Reports of a run: one JSON line per step in metrics.jsonl, and a line or a progress bar on the terminal."""

from __future__ import annotations

import contextlib
import json
import sys
from pathlib import Path
from typing import IO, Any

import torch

from dataprep.store.atomic import whole

PEAK_FLOPS = {
    "B200": 2250e12, "H200": 989e12, "H100 PCIe": 756e12, "H100": 989e12, "A100": 312e12,
    "L40S": 362e12, "L4": 121e12, "A10": 125e12, "RTX 4090": 165e12,
}  # fmt: skip
"""Dense bfloat16 operations per second from the data sheets; the first key that the device's name contains."""


def peak_flops(device: torch.device) -> float | None:
    """Return the data sheet's figure for a CUDA card; None for devices that are not in the table."""
    if device.type != "cuda":
        return None
    name = torch.cuda.get_device_name(device)
    return next((flops for part, flops in PEAK_FLOPS.items() if part in name), None)


class Metrics:
    """JSONL file of a run's metrics; when the run resumes, rows after its checkpoint are removed."""

    def __init__(self, path: Path, step: int) -> None:
        self.path = path
        if path.exists():
            kept = [line for line in path.read_text().splitlines() if _is_before(line, step)]
            with whole(path) as f:
                f.write("".join(f"{line}\n" for line in kept).encode())
        self._file: IO[str] = path.open("a")

    def add(self, rows: list[dict[str, Any]]) -> None:
        """Append rows and flush them, so that a killed process loses none."""
        self._file.write("".join(json.dumps(row) + "\n" for row in rows))
        self._file.flush()

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def read(path: Path) -> list[dict[str, Any]]:
    """Return the rows of a metrics file."""
    return [json.loads(line) for line in path.read_text().splitlines()]


def _is_before(line: str, step: int) -> bool:
    try:
        return bool(json.loads(line)["step"] <= step)
    except (ValueError, KeyError, TypeError):
        return False  # the incomplete last line of a killed process


class Progress:
    """Progress on the terminal: a bar if rich is installed, else a plain line from time to time."""

    def __init__(self, steps: int, done: int, *, quiet: bool = False) -> None:
        self.steps, self.quiet, self._bar = steps, quiet, None
        self._every = max(1, steps // 10)
        self._next = done
        if not quiet and sys.stdout.isatty():
            with contextlib.suppress(ImportError):
                self._bar = _Bar(steps, done)

    def update(self, step: int, loss: float, tokens_per_s: float, mfu: float | None) -> None:
        """Show the step, loss and speed."""
        speed = f"{tokens_per_s:,.0f} tokens/s" + ("" if mfu is None else f", MFU {mfu:.1%}")
        if self._bar is not None:
            self._bar.update(step, f"loss {loss:.3f}  {speed}")
        elif step >= self._next or step == self.steps:
            self._next = step + self._every
            self.say(f"step {step:>6,}/{self.steps:,}  loss {loss:.3f}  {speed}")

    def say(self, line: str) -> None:
        """Print one line, above the bar if there is one."""
        if self._bar is not None:
            self._bar.say(line)
        elif not self.quiet:
            print(line, flush=True)  # noqa: T201 - the trainer talks without rich, too

    def close(self) -> None:
        """Restore the terminal."""
        if self._bar is not None:
            self._bar.close()


class _Bar:
    def __init__(self, steps: int, done: int) -> None:
        from rich import progress

        columns = (
            "train",
            progress.BarColumn(),
            progress.MofNCompleteColumn(),
            progress.TimeRemainingColumn(),
        )
        self._live = progress.Progress(*columns, progress.TextColumn("{task.fields[note]}"))
        self._task = self._live.add_task("train", total=steps, completed=done, note="")
        self._live.start()

    def update(self, step: int, note: str) -> None:
        self._live.update(self._task, completed=step, note=note)

    def say(self, line: str) -> None:
        self._live.console.print(line, highlight=False, markup=False)

    def close(self) -> None:
        self._live.stop()
