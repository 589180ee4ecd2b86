"""The command line: every command parses arguments, calls a function of the package, and prints the result.

An error is printed as one sentence on stderr, with exit code 1, or 75 if trying again may help; wrong usage has exit
code 2; `--debug` shows the traceback. Ctrl-C and SIGTERM end with a sentence that states what is kept.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from dataprep import __version__
from dataprep.core.output.layout import Folder
from dataprep.errors import InUse, Transient, WorkerDied, counted, shown
from dataprep.store import files
from dataprep.store.stopping import CODES, clean_end, stopped_in
from dataprep.train.ranks import is_first_here

from . import (
    chat,
    clusters,
    diff,
    evaluate,
    look,
    models,
    people,
    runs,
    search,
    status,
    tokenizer,
    tokens,
    train,
    trial,
    why,
)
from .demo import demo
from .fit import fit_language
from .init import init
from .quiet import may_be_quiet
from .wording import check_paths, in_options, is_network, sentence_of, warn_in_options


class _PlainFlags:
    """Shows no type next to flags in the help of a command."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters, with the help option."""
        params: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for param in params:
            if getattr(param, "is_flag", False) and param.metavar is None:
                param.metavar = ""  # else typer prints <bool>
        return params


class _Command(_PlainFlags, TyperCommand):
    """One of the commands."""


class _Group(_PlainFlags, TyperGroup):
    """The command `dataprep` itself."""


app = typer.Typer(
    cls=_Group, no_args_is_help=True, pretty_exceptions_enable=False, rich_markup_mode="rich",
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


PANELS: dict[str, tuple[Callable[..., None], ...]] = {
    "Run": (demo, init, runs.run, trial.plan),
    "Look at a run": (
        status.status, look.inspect, look.report, why.why, clusters.clusters, diff.diff, search.search,
    ),
    "Tokens": (
        tokenizer.train_tokenizer, tokenizer.extend_tokenizer, tokenizer.tokenizer_stats, tokens.show, tokens.export,
        tokens.import_,
    ),
    "Models": (
        train.train, evaluate.evaluate, chat.chat, chat.generate, models.export_model, models.train_ngram,
        models.perplexity, models.train_langid, models.train_quality, fit_language,
    ),
    "Chats": (people.people, runs.persona),
    "Care": (tokens.verify, runs.prune, runs.forget),
}  # fmt: skip
PRINTS = {  # commands whose only result is what they print: they have no --quiet
    trial.plan, status.status, look.inspect, why.why, clusters.clusters, diff.diff, search.search,
    tokenizer.tokenizer_stats, tokens.show, evaluate.evaluate, chat.chat, chat.generate, models.perplexity,
}  # fmt: skip


def _stoppable(command: Callable[..., None]) -> Callable[..., None]:
    """Return the command with an exit code of Ctrl-C of its own: versions of typer differ in theirs."""

    @functools.wraps(command)
    def run(*args: Any, **options: Any) -> None:
        try:
            check_paths(options)
            with clean_end():
                command(*args, **options)
        except KeyboardInterrupt:
            sys.exit(CODES[0])

    return run


for _panel, _commands in PANELS.items():
    for _command in _commands:
        _run = _stoppable(_command)
        app.command(cls=_Command, rich_help_panel=_panel)(_run if _command in PRINTS else may_be_quiet(_run))


TRY_AGAIN = 75  # EX_TEMPFAIL


def main() -> None:
    """Run the command line; exit with 1 on an error (75: try again), 130 on Ctrl-C, 143 on SIGTERM."""
    try:
        warn_in_options(app, sys.argv)
        app(prog_name="dataprep")  # also of `python -m dataprep`, so that completion finds it
    except Exception as e:
        if "--debug" in sys.argv:
            raise
        _complain(in_options(" ".join(sentence_of(e).split()), app, sys.argv))
        again = isinstance(e, (InUse, Transient, WorkerDied)) or is_network(e)
        sys.exit(TRY_AGAIN if again else 1)
    except KeyboardInterrupt:  # while the options are declared, before the command begins
        _complain(_stopped())
        sys.exit(CODES[0])
    except SystemExit as e:
        if e.code in CODES:
            _complain(_stopped())
        raise


def _complain(sentence: str) -> None:
    """Print a sentence on stderr, in one of the processes that torchrun started on this machine."""
    if is_first_here():
        print(f"dataprep: {shown(sentence)}", file=sys.stderr)


def _stopped() -> str:
    """Return what Ctrl-C or SIGTERM left, and how to continue."""
    folder = next((one for one in stopped_in() if files.is_dir(one)), None)
    if folder is None:  # as of a dry run
        return "stopped; nothing was saved"
    n = len(Folder(folder).unfinished.receipts())
    parts = f" ({counted(n, 'part')})" if n else ""
    return f"stopped; finished work is kept in {folder}{parts}, and the same command resumes"
