"""The command line: every command parses arguments, calls a function of the package, and prints the result.

A DataprepError is printed as one sentence on stderr, with exit code 1; wrong usage has exit code 2; `--debug` shows the
traceback.
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


def _print_version(wanted: bool) -> None:  # noqa: FBT001 - typer passes the flag by position
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
    """Return the options before the command; `main` reads --debug itself, since it needs it after a command failed."""


TOPICS = (
    runs, plan, look, diff, clusters, why, search, ngram, perplexity, models, tokenizer, tokens, forget, persona,
)  # fmt: skip
for _topic in TOPICS:
    for _command in _topic.COMMANDS:
        app.command()(_command)


def main() -> None:
    """Run the command in sys.argv; exit with 1 on a DataprepError, and with 130 on Ctrl-C."""
    try:
        app()
    except DataprepError as e:
        if "--debug" in sys.argv:
            raise
        print(f"dataprep: {' '.join(str(e).split())}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        print("dataprep: stopped; finished work is kept, and the same command resumes", file=sys.stderr)
        sys.exit(130)
