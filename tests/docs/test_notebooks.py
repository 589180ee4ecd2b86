"""The notebooks of docs/: they run, and show what they say; the site has a page for each."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys

import pytest

NAMES = ("chats", "crawl", "dedup")
RUN = """
import sys, nbformat
from nbclient import NotebookClient
notebook = nbformat.read(sys.argv[1], 4)
NotebookClient(notebook, timeout=300, resources={"metadata": {"path": sys.argv[2]}}).execute()
nbformat.write(notebook, sys.argv[3])
"""


def cells(path):
    """The cells of code."""
    return [cell for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == "code"]


def outputs(cell):
    """What a cell shows: HTML if there is some, else text; what is printed in pieces is one output."""
    found = []
    for output in cell["outputs"]:
        data = output.get("data", {"text/plain": output.get("text")})
        shown = "".join(data.get("text/html", data.get("text/plain")) or "")
        if output["output_type"] == "stream" and found and found[-1][0] == "stream":
            found[-1] = "stream", found[-1][1] + shown
        elif shown:
            found.append((output["output_type"], shown))
    return [shown for _, shown in found]


def test_notebooks_are_stored_as_they_ran(root):
    """All notebooks are here and in the navigation; their cells ran once, in order, and none failed."""
    folder = root / "docs" / "notebooks"
    assert sorted(path.stem for path in folder.glob("*.ipynb")) == sorted(NAMES)
    assert sorted(re.findall(r"docs/notebooks/(\w+)\.md", (root / "mkdocs.yml").read_text())) == sorted(NAMES)
    for name in NAMES:
        code = cells(folder / f"{name}.ipynb")
        assert [cell["execution_count"] for cell in code] == [*range(1, len(code) + 1)], name
        assert not [output for cell in code for output in cell["outputs"] if output["output_type"] == "error"], name
        assert sum(map(bool, map(outputs, code))) > 4, name


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_shows_what_is_stored(root, tmp_path, name):
    """A run on the samples has the stored outputs, but for marked cells, whose numbers depend on the machine."""
    for needed in ("nbclient", "ipykernel", "torch"):
        pytest.importorskip(needed, reason="needs the extra notebooks, which `make test-all` installs")
    place = tmp_path / "docs" / "notebooks"
    place.mkdir(parents=True)
    (tmp_path / "sample_data").symlink_to(root / "sample_data")
    stored, made = root / "docs" / "notebooks" / f"{name}.ipynb", tmp_path / "made.ipynb"
    env = os.environ | {"JUPYTER_PLATFORM_DIRS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", RUN, stored, place, made], env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3_000:]
    for before, after in zip(cells(stored), cells(made), strict=True):
        if "varies" in before["metadata"].get("tags", ()):
            assert len(outputs(after)) == len(outputs(before)), before["source"]
        else:
            assert outputs(after) == outputs(before), before["source"]


def test_the_page_of_a_notebook(root):
    """The site shows texts, code and outputs."""
    spec = importlib.util.spec_from_file_location("make_docs", root / "scripts" / "make_docs.py")
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    html = {"output_type": "display_data", "data": {"text/html": ["<pre>a\n", "\n", "b</pre>"]}}
    cell = {"cell_type": "code", "source": ["a = 1\n", "a"], "outputs": [{"text": ["1\n", "2\n"]}, html]}
    text = {"cell_type": "markdown", "source": ["# Title\n", "[next](other.html)"]}
    assert made.page_of({"cells": [text, cell]}) == (
        "# Title\n[next](other.html)\n\n```python\na = 1\na\n```\n\n```text\n1\n2\n```\n\n"
        '<div class="output"><pre>a\n&#8203;\nb</pre></div>\n'
    )
