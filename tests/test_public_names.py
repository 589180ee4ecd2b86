"""The stub that type checkers read states the names that `dataprep` has, and no others."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import dataprep as dp
from dataprep import extend


def test_the_stub_is_the_table() -> None:
    """`__init__.pyi` imports each public name from its home; without `__getattr__`, checkers find a wrong name."""
    tree = ast.parse(Path(dp.__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    stated = {}
    for node in tree.body:
        if isinstance(node, ast.ImportFrom):
            assert node.level == 1
            stated |= {alias.asname: node.module for alias in node.names if alias.name == alias.asname}
        else:
            assert isinstance(node, ast.AnnAssign), ast.unparse(node)
            assert node.target.id == "__version__"
    assert stated == dp._HOMES


def test_extend_has_what_its_page_lists(root) -> None:
    """`__all__` is all that is imported, the table of docs/stages.md has these names, and they are those of `dp`."""
    tree = ast.parse(Path(extend.__file__).read_text(encoding="utf-8"))
    imported = {alias.name for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert set(extend.__all__) == imported - {"annotations"}
    _, _, section = (root / "docs" / "stages.md").read_text(encoding="utf-8").partition("\n## dataprep.extend\n")
    rows = re.findall(r"^\|.*\|(.*)\|$", section, re.MULTILINE)
    table = [name for row in rows for name in re.findall(r"`(\w+)`", row)]
    assert sorted(table) == sorted(extend.__all__)
    assert all(getattr(dp, name) is getattr(extend, name) for name in {*extend.__all__} & {*dp.__all__})


def test_pages_and_examples_import_nothing_internal(root) -> None:
    """No page, notebook or example names a module of `dataprep.core` or `dataprep.store` in its code."""
    pages = [*(root / "docs").rglob("*.md"), *(root / "docs").rglob("*.ipynb"), *(root / "examples").glob("*.py")]
    for page in (root / "README.md", *pages):
        found = re.findall(r"(?:from|import) +dataprep\.(?:core|store)\b.*", page.read_text(encoding="utf-8"))
        assert not found, f"{page.name}: {found}"
