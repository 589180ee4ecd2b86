"""Errors and warnings in the words of the command line: one sentence each, with options instead of parameters."""

from __future__ import annotations

import errno
import logging
import re
import traceback
from pathlib import Path
from socket import gaierror
from typing import Any

import typer.main

import dataprep
from dataprep.errors import DataprepError, require

PARAMETER = re.compile(r"(?<![\w./?&-])([a-z]\w*)=(?=(\S?))")
PIPELINE_LINE = re.compile(r"\.py:\d+: ")  # such a sentence is about Python code
LIBRARY = re.compile(r"^<|site-packages|/lib(64)?/python[0-9.]*/")
PATHS = {
    "folder", "exports", "inputs", "docs", "shards", "path", "pipeline", "what", "a", "b", "texts", "text_files",
    "out", "to", "model", "compare", "adapter", "choices", "repair", "index", "init_from",
}  # fmt: skip
PACKAGE = str(Path(dataprep.__file__).parent)


def sentence_of(error: BaseException) -> str:
    """Return the sentence to print for an error: its message, or, for an unexpected error, where it was raised."""
    if isinstance(error, DataprepError):
        return str(error)
    if is_network(error):
        return f"{error}; check the URL and the network, and try again"
    if isinstance(error, OSError) and error.strerror:
        where = "" if error.filename is None else f"{error.filename}: "
        many = error.errno in (errno.EMFILE, errno.ENFILE)
        fix = "raise the limit (ulimit -n)" if many else "check the path, its permissions and the free space"
        return f"{where}{error.strerror}; {fix}"
    no_thread = str(error) == "can't start new thread"
    if isinstance(error, MemoryError) or no_thread:
        what = "memory, or the system allows no more threads" if no_thread else "memory"
        return f"there is not enough {what}; use fewer workers, or set --memory if the command has it"
    what = f"{type(error).__name__}: {error}"
    frames = [(f.f_code.co_filename, line) for f, line in traceback.walk_tb(error.__traceback__)]
    relevant = [at for at in frames if at[0].startswith(PACKAGE) or not LIBRARY.search(at[0])]
    if relevant and not relevant[-1][0].startswith(PACKAGE):
        return f"{relevant[-1][0]}:{relevant[-1][1]}: {what}; --debug shows the traceback"
    return f"{what}: this is an error in dataprep; run the command again with --debug, and report what it prints"


def is_network(error: BaseException) -> bool:
    """Return whether an error of the system or of aiohttp is about a connection."""
    return isinstance(error, (ConnectionError, TimeoutError, gaierror)) or type(error).__module__.startswith("aiohttp")


def warn_in_options(app: typer.Typer, argv: list[str]) -> None:
    """Make warnings of dataprep name the options of the command in `argv`, as errors do."""

    class InOptions(logging.Formatter):
        def format(self, record: logging.LogRecord) -> str:
            return in_options(super().format(record), app, argv)

    handler = logging.StreamHandler()
    handler.setFormatter(InOptions())
    logging.lastResort = handler  # prints warnings if the program has no other handler


def in_options(sentence: str, app: typer.Typer, argv: list[str]) -> str:
    """Return a sentence with `--vocab-size 3` where it has `vocab_size=3`, and `--replace` for `replace=True`.

    Only options of the command in `argv` are replaced. An option that follows in brackets, for readers of Python
    sentences, is not repeated. Sentences about a line of a pipeline file are not changed.
    """
    commands: Any = typer.main.get_group(app).commands
    command = next((commands[word] for word in argv[1:] if word in commands), None)
    if command is None or PIPELINE_LINE.search(sentence):
        return sentence
    command = command.load() if hasattr(command, "load") else command  # of the list, which has no options
    options = {p.name: next((o for o in p.opts if o[:2] == "--"), p.metavar or p.name.upper()) for p in command.params}

    def option(found: re.Match[str]) -> str:
        name = options.get(found[1])
        if not name:
            return found[0]
        return f"{name} " if found[2] and found[2] not in ",;.)" else name

    out = options.get("out")  # not of commands whose option has another name, such as `report --to`
    sentence = re.sub(r" as out\b", f" as {out}" if out else "", sentence)
    sentence = re.sub(r"(--[a-z-]+) True\b", r"\1", PARAMETER.sub(option, sentence))
    sentence = re.sub(r"(--[a-z-]+)(?: \S+)? \((\1(?: [^ )]+)?)\)", r"\2", sentence)  # "--init-from X (--init-from)"
    sentence = re.sub(r"\((--[a-z-]+), or \w+=\w+\)", r"(\1)", sentence)  # "(--start-over, or resume=False)"
    return re.sub(r"(?<![\w-])([a-z][a-z_-]*) \((--[a-z-]+)(?: [^ )]+)?\)", _one_name, sentence)


def _one_name(found: re.Match[str]) -> str:
    """Return only the option of "init_from (--init-from)"; other words before an option in brackets are kept."""
    return found[2] if found[2] == "--" + found[1].replace("_", "-") else found[0]


def check_paths(given: dict[str, Any]) -> None:
    """Raise PlanError if an argument or option that names a file or folder is blank.

    Args:
        given: values by parameter.
    """
    for name in sorted(PATHS & given.keys()):
        for value in given[name] if isinstance(given[name], list) else [given[name]]:
            is_path = not isinstance(value, str) or value.strip()
            require(is_path, f"{name}={value!r} must be the path of a file or folder")
