"""Errors in the words of the command line: one sentence each, with options where Python has parameters."""

from __future__ import annotations

import re
import traceback
from pathlib import Path
from typing import Any

import typer.main

import dataprep
from dataprep.errors import DataprepError

PARAMETER = re.compile(r"(?<![\w./-])([a-z]\w*)=(?=[\w'\"\[({.-])")
PIPELINE_LINE = re.compile(r"\.py:\d+: ")  # such a sentence is about Python code
LIBRARY = re.compile(r"^<|site-packages|/lib(64)?/python[0-9.]*/")
PACKAGE = str(Path(dataprep.__file__).parent)


def sentence_of(error: BaseException) -> str:
    """Return what to print for an error: its message, or for one that is not raised on purpose, where it was raised."""
    if isinstance(error, DataprepError):
        return str(error)
    if isinstance(error, OSError) and error.strerror:
        where = "" if error.filename is None else f"{error.filename}: "
        return f"{where}{error.strerror}; check the path, its permissions and the free space"
    if isinstance(error, MemoryError):
        return "there is not enough memory; use fewer workers, or set --memory if the command has it"
    what = f"{type(error).__name__}: {error}"
    frames = [(f.f_code.co_filename, line) for f, line in traceback.walk_tb(error.__traceback__)]
    relevant = [at for at in frames if at[0].startswith(PACKAGE) or not LIBRARY.search(at[0])]
    if relevant and not relevant[-1][0].startswith(PACKAGE):
        return f"{relevant[-1][0]}:{relevant[-1][1]}: {what}; --debug shows the traceback"
    return f"{what}: this is an error in dataprep; run the command again with --debug, and report what it prints"


def in_options(sentence: str, app: typer.Typer, argv: list[str]) -> str:
    """Return a sentence with `--vocab-size 3` where it has `vocab_size=3`, and `--replace` for `replace=True`.

    Only options of the command in `argv` are replaced. Sentences about a line of a pipeline file are not changed.
    """
    commands: Any = typer.main.get_group(app).commands
    command = next((commands[word] for word in argv[1:] if word in commands), None)
    if command is None or PIPELINE_LINE.search(sentence):
        return sentence
    options = {p.name: next((o for o in p.opts if o.startswith("--")), "") for p in command.params}

    def option(found: re.Match[str]) -> str:
        name = options.get(found[1])
        return f"{name} " if name else found[0]

    sentence = re.sub(r"\bas out\b", "as --out", sentence) if options.get("out") else sentence
    return PARAMETER.sub(option, sentence).replace("--replace True", "--replace")
