"""Every command and every piece of Python of the pages runs, in order, in a folder of its own.

An expression of their Python with a literal as its comment, such as `n + 1  # 3`, must have this value, or print it.

What a page's code needs (input files, names, values for words such as DIR) is in `pages/PAGE.py`, with a dash as an
underscore. Blocks are numbered from 1 on each page. A module may have:

    patch(monkeypatch) replaces what a page may not change or read
    prepare(here, ...) writes the files that the page names below the current folder; returns names for its Python; its
                       other parameters are fixtures
    WORDS              {word of a command: what stands for it, or a list}, such as {"DIR": "work/clean"}
    INSTEAD            {text of the page's Python: what stands for it}, such as smaller sizes
    LEFT               {block, or the beginning of a line: why it is not run}
    NOT_OUTPUT         {block without a language: what it is}; all others are what the commands before them print
    check(here, names) asserts what the page says of the results, after the last block
"""

from __future__ import annotations

import ast
import contextlib
import importlib
import inspect
import io
import linecache
import re
import shlex
import sys
import tokenize
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

import dataprep as dp
from opened import open_all

pytest.register_assert_rewrite("docs.pages")
PAGES = Path(__file__).parents[2] / "docs"
COMMAND = re.compile(r"(?:\$ )?(?:echo (?P<typed>\".*?\") \| )?(?P<settings>(?:[A-Z_]+=\S+ )*)dataprep (?P<words>.*)")
KINDS = {"python", "bash", "sh", "console", ""}


class Block(NamedTuple):
    """A fenced block: its number on the page, its language, its text, and the line of the page that it begins after."""

    number: int
    language: str
    text: str
    line: int


def blocks(page: Path) -> Iterator[Block]:
    """The fenced blocks of a page, of the languages that are run or compared."""
    parts, line, number = page.read_text("utf-8").split("```"), 0, 0
    for i, part in enumerate(parts):
        language, _, text = part.partition("\n")
        if i % 2 and language in KINDS:
            number += 1
            yield Block(number, language, text, line + 1)
        line += part.count("\n")


def named(page: str) -> str:
    """The module of a page."""
    return page.replace("-", "_")


OPENED = ("tutorial", "dedup", "chats")  # pages whose results other programs open
WITH_BLOCKS = [page.stem for page in sorted(PAGES.glob("*.md")) if next(blocks(page), None)]


@pytest.mark.parametrize("page", WITH_BLOCKS)
def test_what_a_page_shows(page, dataprep, tmp_path, monkeypatch, request) -> None:
    """Each block runs or is left out for a reason; a block without a language is what was printed before it."""
    about = importlib.import_module(f"docs.pages.{named(page)}")
    monkeypatch.chdir(tmp_path)
    getattr(about, "patch", lambda _: None)(monkeypatch)
    prepare = getattr(about, "prepare", lambda _: {})
    fixtures = [request.getfixturevalue(name) for name in list(inspect.signature(prepare).parameters)[1:]]
    names = {"dp": dp, "_shown": _shown, "__name__": page, **(prepare(tmp_path, *fixtures) or {})}
    left, words = getattr(about, "LEFT", {}), getattr(about, "WORDS", {})
    unused = {*left, *(not_output := getattr(about, "NOT_OUTPUT", {}))}
    printed = ""
    for block in blocks(PAGES / f"{page}.md"):
        unused.discard(block.number)
        if block.number in left or block.number in not_output:
            continue
        lines = list(_lines(block.text))
        if block.language == "python":
            printed = _run(block, page, names, getattr(about, "INSTEAD", {}))
        elif block.language or any(COMMAND.match(line) for line in lines):
            skipped = {line: start for line in lines for start in left if line.startswith(str(start))}
            unused -= {*skipped.values()}
            printed = "".join(_call(line, words, dataprep, monkeypatch) for line in lines if line not in skipped)
        else:
            _compare(block, printed, page)
    text = (PAGES / f"{page}.md").read_text("utf-8")
    absent = [words for kind in ("WORDS", "INSTEAD") for words in getattr(about, kind, {}) if words not in text]
    assert not absent, f"{page}.md does not have {absent}"
    assert not unused, "LEFT and NOT_OUTPUT name blocks and lines that the page has"
    getattr(about, "check", lambda *_: None)(tmp_path, names)
    if page in OPENED:
        assert open_all(tmp_path) > 3


def _lines(text: str) -> Iterator[str]:
    """The lines of a block, each with those that a backslash joins to it, without comments."""
    for line in text.replace("\\\n", " ").splitlines():
        if line.strip() and not line.startswith("#"):
            yield line


def _call(line: str, given: dict, dataprep, monkeypatch) -> str:
    """What a command prints, without its prompt, the pipe after it and optional parts in brackets."""
    found = COMMAND.match(line)
    assert found, f"{line!r} is not run; name it in LEFT"
    words = shlex.split(re.sub(r" \[[^]]*\]", "", found["words"]).split(" | ")[0], comments=True)
    called = [given.get(word, word) for word in words]
    called = [word for one in called for word in ([one] if isinstance(one, str) else one)]
    with monkeypatch.context() as patch:
        patch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO("".join(shlex.split(found["typed"] or "")).encode())))
        for name, _, value in (word.partition("=") for word in shlex.split(found["settings"])):
            patch.setenv(name, given.get(value, value))
        code, out, err = dataprep(*called)
    assert code == 0, f"{line}: {err}"
    return out


def _run(block: Block, page: str, names: dict, instead: dict[str, str]) -> str:
    text = block.text
    for words, others in instead.items():
        text = text.replace(words, others)
    # Errors name the line of the page, functions have a source, and `annotations` of this file is not inherited.
    text, name = "\n" * block.line + text, f"{page}.md, block {block.number}"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    code = compile(_compared(text), name, "exec", dont_inherit=True)
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(code, names)  # noqa: S102 - the page is ours
    return out.getvalue()


def _compared(text: str) -> ast.Module:
    """The code, in which an expression that ends beside a literal is passed to `_shown` with it."""
    tree, literals = ast.parse(text), {}
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        with contextlib.suppress(ValueError, SyntaxError):
            if token.type == tokenize.COMMENT:
                ast.literal_eval(token.string.lstrip("# "))
                literals[token.start[0]] = ast.Constant(token.string.lstrip("# "))
    last = {node.end_lineno: node for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for line in literals.keys() & last.keys():
        value = ast.parse("_shown(lambda: 0, 0)", mode="eval").body
        value.args[0].body, value.args[1], last[line].value = last[line].value, literals[line], value
    return ast.fix_missing_locations(tree)


def _shown(expression: Callable[[], object], literal: str) -> None:
    """Check a value, or what is printed if it is None, against the comment; `...` stands for anything."""
    with contextlib.redirect_stdout(io.StringIO()) as out:
        value = expression()
    sys.stdout.write(out.getvalue())
    found = out.getvalue().strip() if value is None else repr(value)
    pattern = re.escape(literal).replace(re.escape("..."), ".*")
    assert re.fullmatch(pattern, found), f"the comment says {literal}, and the result is {found}"


def _compare(block: Block, printed: str, page: str) -> None:
    """Every line is printed, in this order; `...` stands for anything, and a run of blanks for one."""
    lines = [re.sub(r"\s+", " ", line).strip() for line in block.text.splitlines()]
    pattern = ".*?".join(re.escape(line).replace(re.escape("..."), ".*?") for line in lines if line)
    found = re.search(pattern, re.sub(r"[^\S\n]+", " ", printed), re.DOTALL)
    assert found, f"block {block.number} of {page}.md is not what was printed:\n{printed}"


@pytest.mark.parametrize(
    ("code", "holds"),
    [
        ("1 + 2  # 3", True),
        ("1 + 2  # 4", False),
        ("1 + 2  # as many as there are", True),
        ("x = 1 + 2  # 4", True),
        ("2; sum(\n    [1, 2],\n)  # 4", False),
        ("sorted('cba')  # ['a', ..., 'c']", True),
        ("for i in range(2):\n    print(i + 1)  # 1", False),
        ("len('# 2')", True),
    ],
)
def test_results_in_comments_are_compared(code, holds) -> None:
    """A literal beside an expression must be its value; prose and comments of assignments are not compared."""
    with contextlib.nullcontext() if holds else pytest.raises(AssertionError, match="the comment says"):
        _run(Block(1, "python", code, 0), "page", {"_shown": _shown}, {})


def test_every_module_is_of_a_page() -> None:
    """A page that was renamed or has no blocks any more takes its module with it."""
    modules = {path.stem for path in (Path(__file__).parent / "pages").glob("*.py")} - {"__init__"}
    assert modules == {named(page) for page in WITH_BLOCKS}
