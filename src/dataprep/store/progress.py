"""Progress bars for long work, on a terminal only: items, rate and remaining time."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Any, TypeVar

from rich.console import Console
from rich.filesize import decimal
from rich.progress import BarColumn, DownloadColumn, MofNCompleteColumn, Progress, TextColumn

R = TypeVar("R")


def track(results: Iterator[R], items: Sequence[Any], label: str) -> Iterator[R]:
    """Yield `results` unchanged; on a terminal, also show a progress bar with the label `label`.

    items: the input of each result, in order. Progress is counted in bytes if the items have `n_bytes`, else in items.
    """
    if not label or not items or not sys.stderr.isatty():
        return results
    return _tracked(results, items, label)


def _tracked(results: Iterator[R], items: Sequence[Any], label: str) -> Iterator[R]:
    sizes = [int(getattr(item, "n_bytes", 0)) for item in items]
    in_bytes = sum(sizes) > 0
    sizes = sizes if in_bytes else [1] * len(items)
    amount = DownloadColumn() if in_bytes else MofNCompleteColumn()
    columns = (TextColumn("{task.description}"), BarColumn(), amount, TextColumn("{task.fields[pace]}"))
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        bar = progress.add_task(label, total=sum(sizes), pace="")
        began, done = time.monotonic(), 0
        for size, result in zip(sizes, results, strict=True):
            done += size
            progress.update(bar, completed=done, pace=_pace(done, sum(sizes), time.monotonic() - began, in_bytes))
            yield result


def _pace(done: int, total: int, seconds: float, in_bytes: bool) -> str:  # noqa: FBT001 - two units of the rate
    """Return the rate so far and the time left; results come in bursts, so the rate is that of the whole run."""
    rate = done / max(seconds, 1e-3)
    left = timedelta(seconds=round((total - done) / max(rate, 1e-9)))
    return f"{decimal(int(rate))}/s, {left} left" if in_bytes else f"{rate:,.1f}/s, {left} left"
