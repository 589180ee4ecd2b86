"""The documentation site: its navigation has every page, and the tutorial's commands exist."""

from __future__ import annotations

import importlib
import re
from html.parser import HTMLParser

import pytest
import typer

from dataprep import cli
from dataprep.cli.listed import loaded


def test_the_navigation_has_every_page(root):
    """Every page of docs/ is named once in mkdocs.yml, and every name there is a page."""
    named = re.findall(r": docs/([\w-]+\.md)$", (root / "mkdocs.yml").read_text(), re.MULTILINE)
    assert sorted(named) == sorted(page.name for page in (root / "docs").glob("*.md"))


def test_the_site_has_a_menu_of_versions(root, monkeypatch):
    """mkdocs.yml names mike, which the extra `docs` installs; 0.1.3 is shown as 0.1, and another form is an error."""
    assert re.search(r"^extra:\n  version:\n    provider: mike\b", (root / "mkdocs.yml").read_text(), re.MULTILINE)
    assert re.search(r'^docs = \[.*"mike\b', (root / "pyproject.toml").read_text(), re.MULTILINE)
    monkeypatch.syspath_prepend(root / "scripts")
    make_docs = importlib.import_module("make_docs")
    assert [make_docs.minor(version) for version in ("0.1.3", "1.20.0rc1")] == ["0.1", "1.20"]
    with pytest.raises(SystemExit, match="must begin with two numbers"):
        make_docs.minor("next")


def test_every_page_is_parsed_as_html(root):
    """The site passes pages without their fenced blocks to Python's parser, which cannot read `<![` even in code."""
    for page in (*root.glob("*.md"), *sorted((root / "docs").glob("*.md"))):
        prose = "".join(page.read_text("utf-8").split("```")[::2])
        HTMLParser().feed(prose)
        assert "<![" not in prose, page.name  # later versions of Python take it for a comment


def test_the_commands_of_the_tutorial_exist(root):
    """Every command and option of the tutorial is one of the command line."""
    text = (root / "docs" / "tutorial.md").read_text()
    made = {name: loaded(one) for name, one in typer.main.get_command(cli.app).commands.items()}
    lines = re.findall(r"^dataprep ([\w-]+)(.*)$", text, re.MULTILINE)
    assert len(lines) > 7
    for name, rest in lines:
        options = {option for parameter in made[name].params for option in parameter.opts}
        assert set(re.findall(r"(?<= )--[\w-]+", rest)) <= options, name


def test_every_measured_part_has_a_verdict(root):
    """docs/decisions.md names each library that bench_decisions measures."""
    page = (root / "docs" / "decisions.md").read_text()
    code = "".join((root / "benchmarks" / f"decisions_{name}.py").read_text() for name in ("data", "text"))
    libraries = re.findall(r'Engine\("(?!ours)[`(]?([\w-]+)', code)
    assert len(libraries) > 10
    assert not [name for name in libraries if name.lower() not in page.lower()]


def test_what_contributing_names_is_there(root):
    """Every path of CONTRIBUTING.md is a file of the checkout or of the package, and every Make target exists."""
    text = (root / "CONTRIBUTING.md").read_text("utf-8")
    paths = set(re.findall(r"(?<![\w./])((?:[\w.]+/)*\w+\.(?:py|pyi|md|toml|txt))\b", text)) - {"tests/twins/NAME.py"}
    missing = [one for one in paths if not (root / one).exists() and not (root / "src" / "dataprep" / one).exists()
               and not (root / "src" / "dataprep" / "core" / one).exists()]  # fmt: skip
    assert not missing
    assert len(paths) > 15
    targets = re.findall(r"^([a-z-]+):", (root / "Makefile").read_text(), re.MULTILINE)
    assert set(re.findall(r"`make ([a-z-]+)", text)) <= set(targets)
