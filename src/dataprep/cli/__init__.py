"""The command line: `dataprep run, plan, inspect, why, report, search, train, clean`.

Every command is a thin face of something that Python can call as well. A DataprepError becomes one sentence on stderr
and exit code 1; wrong usage is exit code 2; `--debug` shows the traceback.
"""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from dataprep import __version__
from dataprep.errors import DataprepError

from . import (
    clusters,
    diff,
    forget,
    look,
    models,
    ngram,
    perplexity,
    persona,
    plan,
    runs,
    search,
    tokenizer,
    tokens,
    why,
)

app = typer.Typer(
    no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, rich_markup_mode="rich",
    help="Raw text to a trained language model: read, filter, deduplicate, tokenize, train.",
)  # fmt: skip


def _print_version(wanted: bool) -> None:  # noqa: FBT001 - typer hands the flag over by position
    if wanted:
        print(f"dataprep {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks.")] = False,
) -> None:
    """Options of every command; `main` looks for --debug itself, since it must know after a command failed."""


TOPICS = (
    runs, plan, look, diff, clusters, why, search, ngram, perplexity, models, tokenizer, tokens, forget, persona,
)  # fmt: skip
for _topic in TOPICS:
    for _command in _topic.COMMANDS:
        app.command()(_command)


def main() -> None:
    """The entry point."""
    try:
        app()
    except DataprepError as e:
        if "--debug" in sys.argv:
            raise
        print(f"dataprep: {' '.join(str(e).split())}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        print("dataprep: stopped; what is finished is kept, run again to go on", file=sys.stderr)
        sys.exit(130)
