"""The fenced blocks of a page, what they print, and the results that the page shows below them."""

from __future__ import annotations

import ast
import contextlib
import difflib
import io
import itertools
import linecache
import pprint
import re
import shlex
import sys
import tokenize
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from dataprep import extend

REGENERATE = "make test-docs ARGS=--write-results"
FENCE = re.compile(r"^```(?P<language>\w*)\n(?P<text>.*?)^```\n?", re.MULTILINE | re.DOTALL)
RUN = {"python", "bash", "sql"}
COMMAND = re.compile(r"(?:echo (?P<typed>\".*?\") \| )?(?P<settings>(?:[A-Z_]+=\S+ )*)dataprep (?P<words>.*)")
LINES, WIDTH = 12, 112  # of a result; the rest is cut
VARIES = {  # what differs between machines and runs, in the results of every page
    r"\b\d+(?:\.\d+)? (?:s|min)\b": "... s",
    r"\b\d+(?:\.\d+)? [kM]?B/s\b": "... MB/s",
}


class Block(NamedTuple):
    """A block that is run: number on the page, language, text, line before it, end in the page, result below it."""

    number: int
    language: str
    text: str
    line: int
    end: int
    shown: str | None
    shown_end: int


def blocks(text: str) -> Iterator[Block]:
    """Yield the blocks of a page that are run; a block `text` that follows one directly is its result."""
    fences, number = list(FENCE.finditer(text)), 0
    for found, after in itertools.zip_longest(fences, fences[1:]):
        if found["language"] not in RUN:
            continue
        number += 1
        below = after and after["language"] == "text" and not text[found.end() : after.start()].strip()
        result = after if below else None
        yield Block(
            number, found["language"], found["text"], text[: found.start()].count("\n") + 1, found.end(),
            result["text"] if result else None, result.end() if result else found.end(),
        )  # fmt: skip


def written(text: str, results: dict[int, str]) -> str:
    """Return the page with these results, by the number of the block, and no others."""
    parts, at = [], 0
    for block in blocks(text):
        parts.append(text[at : block.end])
        if result := results.get(block.number):
            parts.append(f"\n```text\n{result}```\n")
        at = block.shown_end
    return "".join(parts) + text[at:]


def shortened(printed: str, here: Path, varies: dict[str, str], lines: int) -> str:
    """Return what is shown of a result: the first lines, without what differs between machines."""
    found = printed.replace(str(here) + "/", "").replace(str(here), ".")
    for pattern, name in (VARIES | varies).items():
        found = re.sub(pattern, name, found)
    kept = [line.rstrip() for line in found.strip("\n").splitlines()]
    cut = [line if len(line) <= WIDTH else line[: WIDTH - 4] + " ..." for line in kept[:lines]]
    return "".join(f"{line}\n" for line in [*cut, *(["..."] if len(kept) > lines else [])])


def compare(page: str, block: Block, result: str) -> None:
    """Fail if a page shows another result than this, with one sentence and the difference."""
    if result == (block.shown or ""):
        return
    lines = difflib.unified_diff((block.shown or "").splitlines(), result.splitlines(), "the page", "now", lineterm="")
    pytest.fail(
        f"{page}, line {block.line}: the result of this block is not the one below it; `{REGENERATE}` writes the "
        f"results of all pages again.\n" + "\n".join(lines),
        pytrace=False,
    )


def command_lines(text: str) -> Iterator[str]:
    """Yield the lines of a block, each with those that a backslash joins to it, without comments."""
    for line in text.replace("\\\n", " ").splitlines():
        if line.strip() and not line.startswith("#"):
            yield line


def call(line: str, given: dict, dataprep, monkeypatch) -> str:
    """Return what a command prints; words in `given` are replaced, a pipe after it and optional parts left out."""
    found = COMMAND.match(line)
    assert found, f"{line!r} is not run; name it in LEFT"
    words = shlex.split(re.sub(r" \[[^]]*\]", "", found["words"]).split(" | ")[0], comments=True)
    called = [given.get(word, word) for word in words]
    called = [word for one in called for word in ([one] if isinstance(one, str) else one)]
    with monkeypatch.context() as patch:
        patch.setenv("COLUMNS", str(WIDTH - 2))
        patch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO("".join(shlex.split(found["typed"] or "")).encode())))
        for name, _, value in (word.partition("=") for word in shlex.split(found["settings"])):
            patch.setenv(name, given.get(value, value))
        code, out, err = dataprep(*called)
    assert code == 0, f"{line}: {err}"
    return out


def query(text: str) -> str:
    """Return the table that DuckDB prints for a query."""
    import duckdb

    with contextlib.redirect_stdout(io.StringIO()) as out:
        duckdb.sql(text).show(max_width=WIDTH)
    return out.getvalue()


def run(block: Block, page: str, names: dict, instead: dict[str, str]) -> str:
    """Return what a block of Python prints, and the value of its last line, as a notebook shows it."""
    text = block.text
    for words, others in instead.items():
        text = text.replace(words, others)
    # Errors name the line of the page, functions have a source, and `annotations` of this file is not inherited.
    text, name = "\n" * block.line + text, f"{page}, block {block.number}"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    code = compile(with_checks(text), name, "exec", dont_inherit=True)
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(code, names)  # noqa: S102 - the page is ours
    return out.getvalue()


def with_checks(text: str) -> ast.Module:
    """Return the code, in which values with a literal beside them are compared, and the last line's is printed."""
    tree, literals = ast.parse(text), {}
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        with contextlib.suppress(ValueError, SyntaxError):
            if token.type == tokenize.COMMENT:
                ast.literal_eval(token.string.lstrip("# "))
                literals[token.start[0]] = ast.Constant(token.string.lstrip("# "))
    ends = {node.end_lineno: node for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for line in literals.keys() & ends.keys():
        value = ast.parse("_shown(lambda: 0, 0)", mode="eval").body
        value.args[0].body, value.args[1], ends[line].value = ends[line].value, literals[line], value
    if tree.body and isinstance(last := tree.body[-1], ast.Expr) and last.end_lineno not in literals:
        value = ast.parse("_last(0)", mode="eval").body
        value.args[0], last.value = last.value, value
    return ast.fix_missing_locations(tree)


def _shown(expression: Callable[[], object], literal: str) -> None:
    """Check a value, or what is printed if it is None, against the comment; `...` stands for anything."""
    with contextlib.redirect_stdout(io.StringIO()) as out:
        value = expression()
    sys.stdout.write(out.getvalue())
    found = out.getvalue().strip() if value is None else repr(value)
    pattern = re.escape(literal).replace(re.escape("..."), ".*")
    assert re.fullmatch(pattern, found), f"the comment says {literal}, and the result is {found}"


def _last(value: object) -> None:
    """Print the value of a last line, unless it is None or what the line itself says: a stage."""
    if value is not None and not isinstance(value, (extend.Stage, extend.Estimator)):
        listed = isinstance(value, (dict, list))
        sys.stdout.write(f"{pprint.pformat(value, width=WIDTH - 2, sort_dicts=False) if listed else value}\n")


CHECKS = {"_shown": _shown, "_last": _last}
