"""Progress bars on everything long: items, rate and time left, on a terminal only."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)

R = TypeVar("R")


def track(results: Iterator[R], items: Sequence[Any], label: str) -> Iterator[R]:
    """The same results; on a terminal, a bar by stored bytes where items know theirs, else by items."""
    if not label or not items or not sys.stderr.isatty():
        return results
    return _tracked(results, items, label)


def _tracked(results: Iterator[R], items: Sequence[Any], label: str) -> Iterator[R]:
    sizes = [int(getattr(item, "n_bytes", 0)) for item in items]
    in_bytes = sum(sizes) > 0
    amount = (DownloadColumn(), TransferSpeedColumn()) if in_bytes else (MofNCompleteColumn(),)
    columns = (TextColumn("{task.description}"), BarColumn(), *amount, TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        bar = progress.add_task(label, total=sum(sizes) if in_bytes else len(items))
        for size, result in zip(sizes, results, strict=True):
            progress.advance(bar, size if in_bytes else 1)
            yield result
