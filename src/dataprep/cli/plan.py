"""The command `plan`, which estimates memory, disk and time of a run."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.console import Console
from rich.filesize import decimal
from rich.table import Table

from dataprep.core import pipeline_file
from dataprep.core.runner import WORKER_BYTES, machine_memory, parse_bytes
from dataprep.errors import PlanError

from .options import Memory, Workers


def plan(
    what: Annotated[list[str], typer.Argument(metavar="PIPELINE|INPUT...", help="A pipeline file, or input files.")],
    workers: Workers = 1,
    memory: Memory = None,
    sample_mb: Annotated[int, typer.Option(min=1, help="Megabytes of text in the sample.")] = 16,
) -> None:
    """Estimate peak memory, disk, passes and time of a run, by running it on a sample."""
    from dataprep.history.estimate import estimate

    console = Console()
    steps = pipeline_file.load(what[0]) if what[0].endswith(".py") else [_reading(what)]
    with console.status("running a sample"):
        found = estimate(steps, sample_mb << 20)
    stored, text, sample = map(decimal, (found.stored_bytes, found.text_bytes, found.sample_bytes))
    console.print(f"{stored} stored, about {text} of text; the sample has {sample}", highlight=False)
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("step")
    for title in ("passes", "disk MB", "minutes", "peak MB"):
        table.add_column(title, justify="right")
    for cost in found.costs:
        table.add_row(cost.step, f"{cost.n_passes}", f"{cost.disk_bytes / 1e6:,.1f}",
                      f"{cost.seconds / 60 / workers:,.1f}", f"{cost.peak_bytes / 1e6:,.0f}")  # fmt: skip
    console.print(table)
    allowed = machine_memory() if memory is None else parse_bytes(memory)
    _print_memory(console, "all workers together", found.peak_bytes * workers, allowed, "use fewer workers")
    for held in found.reserved:
        needed = held.n_bytes + WORKER_BYTES
        _print_memory(console, f"{held.what}, in addition to one worker", needed, allowed, held.instead)


def _print_memory(console: Console, holder: str, needed: int, allowed: int, instead: str) -> None:
    """Print the memory that is needed and that is allowed; `instead` is the advice if it does not fit."""
    fits = "fits" if needed <= allowed else "[bold red]does not fit[/]"
    line = f"{holder}: about {decimal(needed)} of memory, {fits} into {decimal(allowed)}"
    console.print(line if needed <= allowed else f"{line}; {instead}", highlight=False)


def _reading(inputs: list[str]) -> pipeline_file.Step:
    """Return a step that reads input files and seals them."""
    if any(name.endswith(".py") for name in inputs):
        msg = "plan takes either one pipeline file or input files"
        raise PlanError(msg)

    def read(out: str, run: Any) -> Any:
        import dataprep as dp

        return dp.Pipeline().run(dp.read(inputs), out=out, run=run)

    return pipeline_file.Step("read", read, ("out", "run"))


COMMANDS = (plan,)
