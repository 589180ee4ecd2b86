"""The public names: how many there are, where they are, and that type checkers read the same names."""

from __future__ import annotations

import ast
import inspect
import pickle
import re
import subprocess
import sys
from pathlib import Path

import pytest

import dataprep as dp
from dataprep import extend

MOST = 43  # names of the top level; a new one replaces another, or is a name of `chats`, `tools` or `extend`


def test_the_top_level_is_small() -> None:
    """It has MOST names at most; those on messages, on finished results and for authors are in their modules only."""
    assert len(dp.__all__) <= MOST, "the list only shrinks"
    assert dp.__all__ == sorted(set(dp.__all__))
    assert {"chats", "extend", "tools"} <= {*dp.__all__}
    assert not {*dp.__all__} & {*dp.chats.__all__, *dp.tools.__all__} - {"read"}, "no alias: a name has one place"
    assert not {*dp.chats.__all__} & {*dp.tools.__all__}
    authors = {"Batch", "Estimator", "PIIKind", "Reader", "Resource", "Runner", "Stage", "Stats", "register"}
    assert authors <= {*extend.__all__} - {*dp.__all__}
    assert dp.chats.read is not dp.read


@pytest.mark.parametrize(("name", "home"), [("Local", "tools"), ("Conversations", "chats"), ("Estimator", "extend")])
def test_a_name_of_another_module_is_found(name, home) -> None:
    """The error says where it is."""
    with pytest.raises(AttributeError, match=rf"has no attribute '{name}'; use dp\.{home}\.{name}$"):
        getattr(dp, name)


def test_the_stub_is_the_table() -> None:
    """`__init__.pyi` imports each public name from its home; without `__getattr__`, checkers find a wrong name."""
    tree = ast.parse(Path(dp.__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    stated = _imported(tree.body, "__version__")
    assert {name: home for name, home in stated.items() if home} == dp._HOMES
    assert {name for name, home in stated.items() if not home} == set(dp._MODULES)
    assert set(stated) == set(dp.__all__)


@pytest.mark.parametrize("module", [dp.chats, dp.tools])
def test_checkers_read_the_names_of_a_module(module) -> None:
    """The imports for type checkers in chats.py and tools.py are those of their tables."""
    tree = ast.parse(Path(module.__file__).read_text(encoding="utf-8"))
    [block] = [node for node in tree.body if isinstance(node, ast.If)]
    assert ast.unparse(block.test) == "TYPE_CHECKING"
    assert _imported(block.body) == module._HOMES
    assert sorted(module._HOMES) == module.__all__ == dir(module)


def _imported(nodes, *variables):
    """Return {name: module} of imports `from .module import name as name`, and nothing else but these variables."""
    found = {}
    for node in nodes:
        if isinstance(node, ast.ImportFrom):
            assert node.level == 1
            found |= {alias.asname: node.module for alias in node.names if alias.name == alias.asname}
        else:
            assert isinstance(node, ast.AnnAssign), ast.unparse(node)
            assert node.target.id in variables
    return found


def test_extend_has_what_its_page_lists(root) -> None:
    """`__all__` is all that is imported, the table of docs/stages.md has these names, and they are those of `dp`."""
    tree = ast.parse(Path(extend.__file__).read_text(encoding="utf-8"))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    imported = {alias.name for node in imports if node.level == 1 and node.module for alias in node.names}
    assert set(extend.__all__) == imported == set(dir(extend))
    _, _, section = (root / "docs" / "stages.md").read_text(encoding="utf-8").partition("\n## dataprep.extend\n")
    rows = re.findall(r"^\|.*\|(.*)\|$", section, re.MULTILINE)
    table = [name for row in rows for name in re.findall(r"`(\w+)`", row)]
    assert sorted(table) == sorted(extend.__all__)
    for module in (dp, dp.tools):
        assert all(getattr(module, name) is getattr(extend, name) for name in {*extend.__all__} & {*module.__all__})


def test_functions_with_the_name_of_a_package() -> None:
    """`dp.read` stays the function when its package is imported, and dotted paths lead to the modules."""
    from dataprep.read.json import reader
    from dataprep.train import config

    assert {name for name in dp._HOMES if (Path(dp.__file__).parent / name).is_dir()} == set(dp._PACKAGES)
    assert (reader, config) == (sys.modules["dataprep.read.json.reader"], sys.modules["dataprep.train.config"])
    for name in dp._PACKAGES:
        function, package = getattr(dp, name), sys.modules[f"dataprep.{name}"]
        assert inspect.isfunction(function)
        assert function.__name__ == name
        assert function.__doc__ != package.__doc__
        assert pickle.loads(pickle.dumps(function)) is function


@pytest.mark.parametrize(("module", "heavy"), [("chats", "pyarrow"), ("tools", "pyarrow"), ("extend", "numba")])
def test_public_modules_load_little(module, heavy) -> None:
    """`dp.chats` and `dp.tools` import no library before a name is used, and `dataprep.extend` no compiler."""
    code = f"import dataprep as dp, sys; assert dp.{module}.__all__; print({heavy!r} in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_pages_and_examples_import_nothing_internal(root) -> None:
    """No page, notebook or example names a module of `dataprep.core` or `dataprep.store` in its code."""
    pages = [*(root / "docs").rglob("*.md"), *(root / "docs").rglob("*.ipynb"), *(root / "examples").glob("*.py")]
    for page in (root / "README.md", *pages):
        found = re.findall(r"(?:from|import) +dataprep\.(?:core|store)\b.*", page.read_text(encoding="utf-8"))
        assert not found, f"{page.name}: {found}"


PUBLIC = re.compile(r"(?<![\w./-])dp\.(?:(chats|tools)\.)?(\w+)")


def test_pages_name_what_there_is(root) -> None:
    """Each dp.NAME, dp.chats.NAME and dp.tools.NAME on a page, in an example, a pipeline or a message is public."""
    wrong = {}
    pages = [
        root / "README.md",
        root / "CHANGELOG.md",
        *(root / "docs").rglob("*.md"),
        *(root / "docs").rglob("*.ipynb"),
    ]
    code = [path for folder in ("examples", "pipelines", "src", "benchmarks") for path in (root / folder).rglob("*.py")]
    for page in (*pages, *code):
        names = set(PUBLIC.findall(page.read_text(encoding="utf-8")))
        left = {name for inner, name in names if name not in (getattr(dp, inner) if inner else dp).__all__}
        if left := left - {"NAME", "__version__", "__path__", "__file__", "__all__"}:
            wrong[page.name] = sorted(left)
    assert not wrong
