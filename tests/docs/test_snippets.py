"""What the pages show and no test runs is at least spelled right: commands, options, names, and arguments of calls."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import shlex

import pytest
import typer

import dataprep as dp
from dataprep import cli
from dataprep.cli.listed import loaded

ANY = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)


def blocks(root, *languages):
    """(page, block) of all fenced blocks of these languages."""
    for page in (root / "README.md", *sorted((root / "docs").glob("*.md"))):
        for part in page.read_text(encoding="utf-8").split("```")[1::2]:
            language, _, code = part.partition("\n")
            if language in languages:
                yield page.name, code


def commands(root):
    """(page, words) of all calls of `dataprep` in blocks, with lines joined that end in a backslash, and pipes cut."""
    for page, code in blocks(root, "", "bash", "sh", "console"):
        for line in code.replace("\\\n", " ").splitlines():
            for found in re.findall(r"(?:^|[|$;&] *)dataprep( [^|;]*)", line):
                yield page, shlex.split(found, comments=True)


def test_commands_and_options_exist(root):
    """Of every page; `--set` and the like take what the page shows after them."""
    made = typer.main.get_command(cli.app)
    general = {option for parameter in made.params for option in parameter.opts}
    n = 0
    for page, words in commands(root):
        while words and words[0] in general:
            words.pop(0)
        if not words or words[0].isupper():
            continue
        n += 1
        assert words[0] in made.commands, f"{page}: dataprep {' '.join(words)}"
        parameters = loaded(made.commands[words[0]]).params
        options = {option for one in parameters for option in (*one.opts, *one.secondary_opts)}
        given = {word.partition("=")[0] for word in words[1:] if re.match(r"--?[a-z]", word)}
        assert given <= {*options, "--help"}, f"{page}: dataprep {' '.join(words)}"
    assert n > 80


def _named(node, known):
    """The object that a name or a chain of attributes stands for, if its beginning was imported."""
    if isinstance(node, ast.Name):
        return known.get(node.id)
    if isinstance(node, ast.Attribute) and (of := _named(node.value, known)) is not None:
        assert hasattr(of, node.attr) or not inspect.ismodule(of), f"{of.__name__} has no {node.attr}"
        return getattr(of, node.attr, None)
    return None


def _imported(tree):
    """{name: object} of what a block imports from dataprep; `dp` is there without an import."""
    known = {"dp": dp}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "dataprep":
            module = importlib.import_module(node.module)
            for name in node.names:
                found = getattr(module, name.name, None) or importlib.import_module(f"{node.module}.{name.name}")
                known[name.asname or name.name] = found
    return known


def _takes(called, call):
    """Whether a call's arguments have names that the function takes."""
    try:
        parameters = inspect.signature(called).parameters
    except (TypeError, ValueError):
        return True
    if any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values()):
        return True
    return {keyword.arg for keyword in call.keywords if keyword.arg} <= parameters.keys()


def test_names_and_arguments_exist(root):
    """Every `dp.NAME`, every import from dataprep, and every argument by name of what they call."""
    pytest.importorskip("torch")
    n = 0
    for page, code in blocks(root, "python"):
        tree = ast.parse(code)
        known = _imported(tree)
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute):
                _named(node, known)
            elif isinstance(node, ast.Call) and (called := _named(node.func, known)) is not None:
                n += 1
                assert _takes(called, node), f"{page}: {ast.unparse(node)}"
    assert n > 100
