"""Progress bars for long work, on a terminal and in a notebook: items, rate and remaining time."""

from __future__ import annotations

import contextlib
import html
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from datetime import timedelta
from typing import Any, TypeVar

from rich.filesize import decimal

R = TypeVar("R")
Draw = Callable[[int, str], None]

SECONDS = 0.5  # between two drawings in a notebook
_lines: dict[int | None, Any] = {}  # the display of the bars of the cell that runs, by the cell's number
_without: ContextVar[bool] = ContextVar("without_bars", default=False)


@contextlib.contextmanager
def without_bars() -> Iterator[None]:
    """Show no progress bars in the `with` block."""
    token = _without.set(True)
    try:
        yield
    finally:
        _without.reset(token)


def track(results: Iterator[R], items: Sequence[Any], label: str) -> Iterator[R]:
    """Yield `results` unchanged; on a terminal or in a notebook, also show a progress bar with the label `label`.

    Progress is counted in bytes if the items have `n_bytes`, else in items.

    - items: the input of each result, in order.
    """
    if not label or not items or _without.get() or not (sys.stderr.isatty() or _in_notebook()):
        return results
    return _tracked(results, items, label)


def _tracked(results: Iterator[R], items: Sequence[Any], label: str) -> Iterator[R]:
    sizes = [int(getattr(item, "n_bytes", 0)) for item in items]
    in_bytes = sum(sizes) > 0
    sizes = sizes if in_bytes else [1] * len(items)
    with (_notebook_bar if _in_notebook() else _terminal_bar)(label, sum(sizes), in_bytes) as draw:
        began, done = time.monotonic(), 0
        for size, result in zip(sizes, results, strict=True):
            done += size
            draw(done, _pace(done, sum(sizes), time.monotonic() - began, in_bytes))
            yield result


@contextlib.contextmanager
def _terminal_bar(label: str, total: int, in_bytes: bool) -> Iterator[Draw]:  # noqa: FBT001 - the unit
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, MofNCompleteColumn, Progress, TextColumn

    amount = DownloadColumn() if in_bytes else MofNCompleteColumn()
    columns = (TextColumn("{task.description}"), BarColumn(), amount, TextColumn("{task.fields[pace]}"))
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        bar = progress.add_task(label, total=total, pace="")
        yield lambda done, pace: progress.update(bar, completed=done, pace=pace)


@contextlib.contextmanager
def _notebook_bar(label: str, total: int, in_bytes: bool) -> Iterator[Draw]:  # noqa: FBT001 - the unit
    """Show a bar in the output of the cell; it is removed at the end. rich needs ipywidgets for this."""
    show = _line_of_cell()
    show(html.escape(label))
    drawn = 0.0

    def draw(done: int, pace: str) -> None:
        nonlocal drawn
        if time.monotonic() - drawn >= SECONDS:
            amounts = f"{decimal(done)} of {decimal(total)}" if in_bytes else f"{done:,} of {total:,}"
            show(f'{html.escape(label)} <progress value="{done}" max="{total}"></progress> {amounts}, {pace}')
            drawn = time.monotonic()

    try:
        yield draw
    finally:
        show("")


def _line_of_cell() -> Callable[[str], None]:
    """Return a function that replaces the HTML line for bars in this cell's output, which all bars share."""
    display: Any = sys.modules["IPython"].display
    cell = getattr(_shell(), "execution_count", None)
    if cell is None or cell not in _lines:
        _lines.clear()
        _lines[cell] = display.display({"text/html": "", "text/plain": ""}, raw=True, display_id=True)
    handle = _lines[cell]
    return lambda line: handle.update({"text/html": line, "text/plain": ""}, raw=True)


def _shell() -> Any:
    ipython: Any = sys.modules.get("IPython")
    return ipython.get_ipython() if ipython is not None and hasattr(ipython, "get_ipython") else None


def _in_notebook() -> bool:
    """Return whether this process is the kernel of a notebook; IPython on a terminal is not."""
    shell = _shell()
    return shell is not None and type(shell).__name__ != "TerminalInteractiveShell"


def _pace(done: int, total: int, seconds: float, in_bytes: bool) -> str:  # noqa: FBT001 - two units of the rate
    """Return the rate and the time left; results come in bursts, so the rate is that of the whole run."""
    rate = done / max(seconds, 1e-3)
    left = timedelta(seconds=round((total - done) / max(rate, 1e-9)))
    return f"{decimal(int(rate))}/s, {left} left" if in_bytes else f"{rate:,.1f}/s, {left} left"
