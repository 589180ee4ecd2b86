"""The options, arguments and tables that several commands share."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.console import Console, ConsoleOptions, ConsoleRenderable, RenderHook, RenderResult
from rich.segment import Segment

from dataprep.core.run.queue_runner import Queue
from dataprep.core.run.ray_runner import Ray
from dataprep.core.run.runner import Local, Runner, Serial
from dataprep.errors import PlanError
from dataprep.unicode.valid import printable

RunFolder = Annotated[str, typer.Argument(metavar="DIR", help="The folder of a run.")]
PipelineFile = Annotated[
    str | None, typer.Option(metavar="FILE", help="The pipeline file of the run, if its stages call functions in it.")
]
Workers = Annotated[int, typer.Option(min=1, help="Number of worker processes on this machine.")]
Timeout = Annotated[float | None, typer.Option(help="Maximum time in seconds that a worker may take for a file.")]
Memory = Annotated[str | None, typer.Option(help="Memory that all workers together may use, such as 8GB.")]


class Screen(Console):
    """The console to which every command prints; it replaces control characters in documents, names and reasons."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.push_render_hook(_Clean())


class _Clean(RenderHook):
    def process_renderables(self, renderables: list[ConsoleRenderable]) -> list[ConsoleRenderable]:
        return [_Cleaned(one) for one in renderables]


class _Cleaned:
    """The output of another renderable with control characters replaced, except those of rich."""

    def __init__(self, inner: ConsoleRenderable) -> None:
        self.inner = inner

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for text, style, control in console.render(self.inner, options):
            yield Segment(text if control else printable(text), style, control)


def say(text: object) -> None:
    """Print a line to stdout; control characters, which a terminal would execute, are replaced."""
    print(printable(str(text)))


def one_line(text: str, limit: int | None = None) -> str:
    """Return a text as one line without control characters, cut to at most `limit` characters."""
    line = printable(text.replace("\n", " \u23ce "))
    return line if limit is None or len(line) <= limit else f"{line[: limit - 1]}\u2026"


def runner_of(
    workers: int, memory: str | None = None, *, ray: bool = False, queue: str | None = None,
    timeout: float | None = None,
) -> Runner:  # fmt: skip
    """Return the Runner that the options --workers, --memory, --ray, --queue and --timeout choose.

    - workers: the number of processes.
    - memory: text such as "8GB"; None if no limit is given.
    - queue: the folder of a queue.
    - timeout: the maximum number of seconds per file.

    Raises PlanError if more than one of the options determines where the tasks run.
    """
    if ray + (queue is not None) + (workers > 1) > 1:
        msg = "--workers, --ray and --queue each say where the tasks run; pass one of them"
        raise PlanError(msg)
    if queue is not None:
        return Queue(queue, memory=memory, timeout=timeout)
    if ray:
        return Ray(memory=memory, timeout=timeout)
    if workers > 1 or timeout is not None:
        return Local(workers, memory=memory, timeout=timeout)
    return Serial(memory=memory)


def numbers(option: str, given: str, like: str) -> tuple[float, ...]:
    """Return the numbers in `given`, the value of the option `option`, separated by commas.

    Raises PlanError if `given` has anything else; `like` describes valid values in the message.
    """
    try:
        return tuple(float(one) for one in given.split(",") if one.strip())
    except ValueError as e:
        msg = f"{option} {given!r} must be {like}"
        raise PlanError(msg) from e
