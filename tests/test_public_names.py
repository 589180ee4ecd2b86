"""The stub that type checkers read states the names that `dataprep` has, and no others."""

from __future__ import annotations

import ast
from pathlib import Path

import dataprep as dp


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
