"""The option --quiet of all commands except those that only print their result."""

from __future__ import annotations

import contextlib
import functools
import inspect
import os
from collections.abc import Callable
from typing import Annotated, Any

import typer

from dataprep.store.progress import without_bars

Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print only warnings and errors.")]


def may_be_quiet(command: Callable[..., None]) -> Callable[..., None]:
    """Return the command with the further option --quiet, which leaves out its lines on stdout and progress bars."""

    @functools.wraps(command)
    def run(*args: Any, quiet: bool = False, **options: Any) -> None:
        if not quiet:
            command(*args, **options)
            return
        with without_bars(), open(os.devnull, "w", encoding="utf-8") as nowhere, contextlib.redirect_stdout(nowhere):
            command(*args, **options)

    own = inspect.signature(command, eval_str=True)
    option = inspect.Parameter("quiet", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Quiet)
    run.__signature__ = own.replace(parameters=[*own.parameters.values(), option])  # type: ignore[attr-defined]
    run.__annotations__ = {name: one.annotation for name, one in run.__signature__.parameters.items()}  # type: ignore[attr-defined]
    return run
