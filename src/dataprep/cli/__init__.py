"""The command line: every command parses arguments, calls a function of the package, and prints the result.

A DataprepError is printed as one sentence on stderr, with exit code 1, or 75 if trying again may help; wrong usage has
exit code 2; `--debug` shows the traceback.
"""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from dataprep import __version__
from dataprep.errors import DataprepError, InUse, Transient, WorkerDied, shown

from . import chat, clusters, diff, look, models, runs, search, tokenizer, tokens, trial, why

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
    """Declare the options that precede a command; `main` reads --debug from sys.argv, after a command has failed."""


COMMANDS = (
    runs.run, runs.train, runs.clean, trial.plan, look.inspect, look.report, diff.diff, clusters.clusters, why.why,
    search.search, models.train_ngram, models.perplexity, models.train_langid, models.train_quality,
    models.export_model, tokenizer.train_tokenizer, tokenizer.extend_tokenizer, tokenizer.tokenizer,
    tokens.verify, tokens.show, tokens.export, tokens.import_,
    runs.forget, runs.persona, chat.chat, chat.sample,
)  # fmt: skip
for _command in COMMANDS:
    app.command()(_command)


TRY_AGAIN = 75  # EX_TEMPFAIL


def main() -> None:
    """Run the command line; exit with 1 on a DataprepError, 75 if trying again may help, 130 on Ctrl-C."""
    try:
        app()
    except DataprepError as e:
        if "--debug" in sys.argv:
            raise
        print(f"dataprep: {shown(' '.join(str(e).split()))}", file=sys.stderr)
        sys.exit(TRY_AGAIN if isinstance(e, (InUse, Transient, WorkerDied)) else 1)
    except KeyboardInterrupt:
        print("dataprep: stopped; finished work is kept, and the same command resumes", file=sys.stderr)
        sys.exit(130)
