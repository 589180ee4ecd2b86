"""Options and arguments that several commands share."""

from __future__ import annotations

from typing import Annotated

import typer

from dataprep.core.runner import Local, Ray, Runner, Serial

RunFolder = Annotated[str, typer.Argument(metavar="DIR", help="The folder of a run.")]
Workers = Annotated[int, typer.Option(min=1, help="Processes on this machine.")]
Memory = Annotated[str | None, typer.Option(help="Memory that all workers together may use, like 8GB.")]


def runner(workers: int, memory: str | None = None, *, ray: bool = False) -> Runner:
    """Return the Runner for the options --workers, --memory and --ray."""
    if ray:
        return Ray(memory=memory)
    return Local(workers, memory=memory) if workers > 1 else Serial(memory=memory)
