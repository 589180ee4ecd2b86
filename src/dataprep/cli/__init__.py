"""The command line: every command parses arguments, calls a function of the package, and prints the result.

An error is printed as one sentence on stderr, with exit code 1, or 75 if trying again may help; wrong usage has exit
code 2; `--debug` shows the traceback. After Ctrl-C and SIGTERM, a sentence states which finished work is kept.
"""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from dataprep import __version__
from dataprep.errors import InUse, Replaced, Transient, WorkerDied, counted, shown
from dataprep.store.stopping import CODES, stopped_in, undisturbed
from dataprep.train.ranks import is_first_here

from .listed import CommandList
from .wording import in_options, is_network, sentence_of, warn_in_options

app = typer.Typer(
    cls=CommandList, no_args_is_help=True, pretty_exceptions_enable=False, rich_markup_mode="rich",
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
        again = isinstance(e, (InUse, Replaced, Transient, WorkerDied)) or is_network(e)
        sys.exit(TRY_AGAIN if again else 1)
    except KeyboardInterrupt:  # while the options are declared, before the command begins
        _say_stopped()
        sys.exit(CODES[0])
    except SystemExit as e:
        if e.code in CODES:
            _say_stopped()
        raise


def _complain(sentence: str) -> None:
    """Print a sentence on stderr, in one of the processes that torchrun started on this machine."""
    if is_first_here():
        print(f"dataprep: {shown(sentence)}", file=sys.stderr)


def _say_stopped() -> None:
    with undisturbed():
        _complain(_stopped())


def _stopped() -> str:
    """Return a sentence about the work that is kept after Ctrl-C or SIGTERM, and how to continue."""
    from dataprep.core.output.layout import Folder
    from dataprep.store import files

    folder = next((one for one in stopped_in() if files.is_dir(one)), None)
    if folder is None:  # as of a dry run
        return "stopped; nothing was saved"
    n = Folder(folder).unfinished.n_done
    parts = f" ({counted(n, 'part')})" if n else ""
    return f"stopped; finished work is kept in {folder}{parts}, and the same command resumes"
