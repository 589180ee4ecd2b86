"""Every command, query and piece of Python of README and pages runs, in order, in a folder with `sample_data`.

What a block prints is below it on the page, in a block `text`, and must be the same in every run. A block of Python
also prints the value of its last line, as in a notebook. `make test-docs ARGS=--write-results` writes
the results again.
An expression with a literal as its comment, such as `n + 1  # 3`, must have this value, or print it.

What a page's code needs in addition is in `pages/PAGE.py`, with a dash as an underscore. A module may have:

    patch(monkeypatch) replaces what a page may not change or read
    prepare(here, ...) writes the files that the page names below the current folder; returns names for its Python; its
                       other parameters are fixtures
    WORDS              {word of a command: what stands for it, or a list}, such as {"DIR": "work/clean"}
    INSTEAD            {text of the page's Python: what stands for it}, such as smaller sizes
    LEFT               {beginning of a line of a command: why it is not run}
    QUIET              {beginning of a line: why the result of its block is not shown}
    HEAD               {beginning of a line: how many lines of the result of its block are shown}
    VARIES             {pattern: what is shown instead}, for what differs between machines
    check(here, names) asserts what the page says of the results, after the last block
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import shutil
from pathlib import Path

import pytest

import dataprep as dp
from docs.blocks import (
    CHECKS,
    LINES,
    Block,
    blocks,
    call,
    command_lines,
    compare,
    query,
    run,
    shortened,
    written,
)
from opened import open_all

pytest.register_assert_rewrite("docs.pages")
ROOT = Path(__file__).parents[2]
PAGES = {path.stem: path for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))}


def named(page: str) -> str:
    """The module of a page."""
    return page.lower().replace("-", "_")


OPENED = {"tutorial": 4, "dedup": 1, "chats": 1}  # pages whose results other programs open
WITH_BLOCKS = [page for page, path in PAGES.items() if next(blocks(path.read_text("utf-8")), None)]


def starting(block: Block, given: dict):
    """The entry of a table of a page's module whose key begins a line of a block."""
    lines = block.text.splitlines()
    return next((key for key in given if any(line.startswith(key) for line in lines)), None)


@pytest.mark.parametrize("page", WITH_BLOCKS)
def test_what_a_page_shows(page, dataprep, tmp_path, monkeypatch, request) -> None:
    """Each block runs, or is left out for a reason, and its result is the one on the page."""
    about = importlib.import_module(f"docs.pages.{named(page)}")
    left, quiet, head, words, instead, varies = (
        getattr(about, name, {}) for name in ("LEFT", "QUIET", "HEAD", "WORDS", "INSTEAD", "VARIES")
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DATAPREP_CACHE", str(tmp_path / "cache"))
    not_data = shutil.ignore_patterns("*.py", "__pycache__")
    shutil.copytree(ROOT / "sample_data", tmp_path / "sample_data", ignore=not_data)
    getattr(about, "patch", lambda _: None)(monkeypatch)
    prepare = getattr(about, "prepare", lambda _: {})
    fixtures = [request.getfixturevalue(name) for name in list(inspect.signature(prepare).parameters)[1:]]
    names = {"dp": dp, "__name__": page, **CHECKS, **(prepare(tmp_path, *fixtures) or {})}
    text = PAGES[page].read_text("utf-8")
    results, unused = {}, {*left, *quiet, *head}
    for block in blocks(text):
        if block.language == "python":
            printed = run(block, PAGES[page].name, names, instead)
        elif block.language == "sql":
            printed = query(block.text)
        else:
            lines = list(command_lines(block.text))
            skipped = {line: start for line in lines for start in left if line.startswith(start)}
            unused -= {*skipped.values()}
            printed = "".join(call(line, words, dataprep, monkeypatch) for line in lines if line not in skipped)
        unused -= {silent := starting(block, quiet), wanted := starting(block, head)}
        if silent is None:
            results[block.number] = shortened(printed, tmp_path, varies, head.get(wanted, LINES))
    if request.config.getoption("--write-results", default=False):
        PAGES[page].write_text(written(text, results), "utf-8")
    else:
        for block in blocks(text):
            compare(PAGES[page].name, block, results.get(block.number, ""))
    absent = [one for one in (*words, *instead) if one not in text]
    assert not absent, f"{page}.md does not have {absent}"
    assert not unused, f"the module of {page}.md names lines that the page does not have: {unused}"
    getattr(about, "check", lambda *_: None)(tmp_path, names)
    if page in OPENED:
        assert open_all(tmp_path) >= OPENED[page]


def _block(text: str) -> Block:
    """The only block of a page."""
    (block,) = blocks(text)
    return block


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
        run(_block(f"```python\n{code}\n```\n"), "page.md", {**CHECKS}, {})


def test_a_result_is_written_below_its_block_and_compared(tmp_path) -> None:
    """Results are added, replaced and removed; a page with another result fails with the command that writes it."""
    code, command = "```python\nprint(1)\n2\n```\n", "```bash\ndataprep x\n```\n"
    page = f"A.\n{code}\n```text\nold\n```\nB.\n{command}C.\n"
    first, second = blocks(page)
    assert (first.shown, second.shown) == ("old\n", None)
    result = shortened(run(first, "page.md", {**CHECKS}, {}), tmp_path, {}, 12)
    assert result == "1\n2\n"
    new = written(page, {1: result, 2: "ran\n"})
    assert new == f"A.\n{code}\n```text\n1\n2\n```\nB.\n{command}\n```text\nran\n```\nC.\n"
    assert written(new, {1: result, 2: "ran\n"}) == new
    assert written(new, {}) == f"A.\n{code}B.\n{command}C.\n"
    with pytest.raises(pytest.fail.Exception, match=r"line 2: the result .* `make test-docs ARGS=--write-results`"):
        compare("page.md", first, result)
    compare("page.md", next(blocks(new)), result)


def test_what_varies_is_not_shown(tmp_path) -> None:
    """Times, rates and the folder of a test are replaced; long results and lines are cut."""
    printed = f"wrote {tmp_path}/out/a in 1.25 s, 30 MB/s, 7 of x\n" + "y" * 200 + "\nz\n"
    assert shortened(printed, tmp_path, {r"7 of": "N of"}, 2) == (
        "wrote out/a in ... s, ... MB/s, N of x\n" + "y" * 108 + " ...\n...\n"
    )


def test_every_module_is_of_a_page() -> None:
    """A page that was renamed or has no blocks any more takes its module with it."""
    modules = {path.stem for path in (Path(__file__).parent / "pages").glob("*.py")} - {"__init__"}
    assert modules == {named(page) for page in WITH_BLOCKS}
