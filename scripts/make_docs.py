"""Build the documentation site: copy the pages, write notebooks and the reference as pages, and run mkdocs on all.

    make docs                      the site in out/site/html; a broken link or a page without navigation is an error
    make docs ARGS=--deploy        also commit the site, as the pages of this version, to the local branch gh-pages

`--deploy` calls mike, which keeps the pages of all versions on the branch: 0.1 for the releases 0.1.x, and `latest` for
the newest. Nothing is pushed. Each page then has a menu of versions; `mike serve` shows the site on this machine.

The pages keep their folders, so that their links hold. `reference/` has a page per folder of the package, whose
content mkdocstrings takes from the docstrings. The notebooks of `docs/notebooks` are shown with their stored outputs.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import re
import shutil
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import dataprep
from dataprep import chats, extend, tools

ROOT = Path(__file__).parent.parent
PAGES = ROOT / "out" / "site" / "pages"
COPIED = ("docs", "examples", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "benchmarks/RESULTS.md")


def copy_pages() -> None:
    """Copy README as the first page, and what pages link to."""
    shutil.rmtree(PAGES, ignore_errors=True)
    PAGES.mkdir(parents=True)
    shutil.copy(ROOT / "README.md", PAGES / "index.md")
    for name in COPIED:
        source, to = ROOT / name, PAGES / name
        to.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, to, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, to)


def write_notebooks() -> None:
    """Replace each copied notebook by a page with its texts, its code and its outputs; change links to them."""
    for notebook in sorted((PAGES / "docs" / "notebooks").glob("*.ipynb")):
        page = page_of(json.loads(notebook.read_text(encoding="utf-8")))
        notebook.with_suffix(".md").write_text(page, encoding="utf-8")
        notebook.unlink()
    for page in (PAGES / "docs").rglob("*.md"):
        page.write_text(page.read_text(encoding="utf-8").replace(".ipynb)", ".md)"), encoding="utf-8")


def page_of(notebook: dict[str, Any]) -> str:
    """Return a notebook, as its file has it, as Markdown."""
    parts = []
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
        else:
            parts += [f"```python\n{source}\n```", *map(shown, cell["outputs"])]
    return "\n\n".join(parts) + "\n"


def shown(output: dict[str, Any]) -> str:
    """Return an output of a cell: its HTML, which may have no empty line for Markdown, else its text."""
    data = output.get("data", {"text/plain": output.get("text", "")})
    if "text/html" in data:
        return f'<div class="output">{"".join(data["text/html"])}</div>'.replace("\n\n", "\n&#8203;\n")
    return "```text\n" + "".join(data["text/plain"]).rstrip("\n") + "\n```"


def write_reference() -> None:
    """Write a page per room of the package, one per public module, and a first page that lists all public names."""
    rooms: dict[str, dict[str, str]] = defaultdict(dict)
    for name, home in sorted(dataprep._HOMES.items()):  # noqa: SLF001 - the table of public names
        rooms[home.partition(".")[0]][name] = home
    folder = PAGES / "reference"
    folder.mkdir()
    index = "# Public names\n\n`import dataprep as dp` gives access to these names as `dp.NAME`:\n\n"
    for room, names in sorted(rooms.items()):
        _write_page(folder, room, names)
        index += f"- [{room}]({room}.md): " + ", ".join(f"`{name}`" for name in names) + "\n"
    index += "\nThree modules have more names:\n"
    uses = {"chats": "for messages", "tools": "for other runners and for finished results"}
    for module, use in uses.items():
        homes = dict(sorted({"chats": chats, "tools": tools}[module]._HOMES.items()))  # noqa: SLF001
        _write_page(folder, module, homes)
        index += f"\n- [dp.{module}]({module}.md), {use}: " + ", ".join(f"`{name}`" for name in homes)
    _write_page(folder, "extend", _of_extend())
    index += "\n- [dataprep.extend](extend.md), for your own readers, stages, estimators and runners\n"
    (folder / "index.md").write_text(index, encoding="utf-8")


def _write_page(folder: Path, title: str, homes: dict[str, str]) -> None:
    """Write a page with the entries of names; homes: {name: the module of dataprep that defines it}."""
    entries = "".join(f"::: dataprep.{home}.{name}\n\n" for name, home in homes.items())
    (folder / f"{title}.md").write_text(f"# {title}\n\n{entries}", encoding="utf-8")


def _of_extend() -> dict[str, str]:
    """Return {name: module} of the names that `dataprep.extend` has in addition to those of `dataprep`."""
    tree = ast.parse((ROOT / "src" / "dataprep" / "extend.py").read_text(encoding="utf-8"))
    homes = {a.name: n.module or "" for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) for a in n.names}
    return {name: homes[name] for name in extend.__all__ if name not in dataprep.__all__}


def minor(version: str) -> str:
    """Return the first two numbers of a version, by which the site names it: 0.1 for 0.1.3."""
    match = re.match(r"\d+\.\d+", version)
    if not match:
        sys.exit(f"version {version!r} of dataprep must begin with two numbers, such as 0.1")
    return match.group()


def main() -> None:
    """Build the site, and commit it if `--deploy` is given; exit with the status of the first program that fails."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--deploy", action="store_true", help="commit the site to the local branch gh-pages")
    deploy = parser.parse_args().deploy
    copy_pages()
    write_notebooks()
    write_reference()
    if deploy:  # mike builds the site with mkdocs, too; `strict` in mkdocs.yml applies to both
        _call("mike", "deploy", "--update-aliases", minor(dataprep.__version__), "latest")
        _call("mike", "set-default", "latest")  # the page that is shown for the address without a version
        print("committed to the branch gh-pages; push it to publish the site")
    else:
        _call("mkdocs", "build")
        print("out/site/html/index.html")


def _call(program: str, *words: str) -> None:
    """Call a program of this environment, which may call others; exit with its status if it fails."""
    programs = Path(sys.executable).parent
    path = os.pathsep.join([str(programs), os.environ.get("PATH", "")])
    command = [str(programs / program), *words]
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, "PATH": path}, check=False)  # noqa: S603
    if done.returncode:
        sys.exit(done.returncode)


if __name__ == "__main__":
    main()
