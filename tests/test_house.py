"""The rules of the house: who may import whom, what is public, how long a file may be."""

from __future__ import annotations

import ast
import importlib
import inspect
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import dataprep as dp

SRC = Path(dp.__file__).parent
MODULES = sorted(p.relative_to(SRC).with_suffix("").as_posix().replace("/", ".") for p in SRC.rglob("*.py"))
FORBIDDEN = {"utils", "util", "base", "manager", "helpers", "common", "misc"}

# Each layer may import from those before it and from itself, nothing else.
LAYERS = [
    {"errors", "atomic", "compress", "files", "kernel", "text", "unicode", "whitespace", "sentences"},
    {"pii_rules", "pii_kernel"},
    {"batch", "key", "stats", "ledger", "progress"},
    {"stage", "score"},
    {"verdict"},
    {"part", "dataset", "origin", "run", "seal", "forgotten"},
    {"pipeline"},
]
# They may import anything.
FACES = {
    "__init__", "__main__", "recipe", "trail", "estimate", "messages", "finetune", "verification", "removal", "cli",
    "report",
}  # fmt: skip
CORE = set().union(*LAYERS)
TOPS = {"read", "filters", "dedup", "ngram", "tokens", "chat"}  # they know the core, and not each other
TRAINER_MAY = {"atomic", "errors", "tokens.shard", "train"}


def imports_of(name: str) -> set[str]:
    """The modules of this house that a module imports, as dotted names inside dataprep; type-only imports left out."""
    path = SRC / (name.replace(".", "/") + ".py")
    package = name.split(".")[:-1]
    found: set[str] = set()
    tree = ast.parse(path.read_text(encoding="utf-8"))
    typing_only = {
        inner for node in ast.walk(tree) if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for inner in ast.walk(node)
    }  # fmt: skip
    for node in ast.walk(tree):
        if node in typing_only:
            continue
        if isinstance(node, ast.Import):
            found |= {a.name.removeprefix("dataprep.") for a in node.names if a.name.startswith("dataprep.")}
        if isinstance(node, ast.ImportFrom):
            home = _home(node, package)
            if home is not None:
                inside = {f"{home}.{a.name}".strip(".") for a in node.names}
                found |= {m if m in MODULES or f"{m}.__init__" in MODULES else home for m in inside}
    return found - {"", "__version__"}


def _home(node: ast.ImportFrom, package: list[str]) -> str | None:
    if node.level:
        up = package[: len(package) - node.level + 1]
        return ".".join([*up, *([node.module] if node.module else [])])
    if node.module == "dataprep" or (node.module or "").startswith("dataprep."):
        return (node.module or "").removeprefix("dataprep").strip(".")
    return None


def test_every_module_has_its_place() -> None:
    """A new module is put into a layer of the core, a folder above it, or among the faces: here, and in docs/."""
    assert {m.split(".")[0] for m in MODULES} <= CORE | TOPS | FACES | {"train"}


@pytest.mark.parametrize("name", [m for m in MODULES if m.split(".")[0] in CORE])
def test_core_imports_point_one_way(name: str) -> None:
    """A core module imports only from its own layer and those below."""
    layer = next(i for i, names in enumerate(LAYERS) if name.split(".", maxsplit=1)[0] in names)
    allowed = set().union(*LAYERS[: layer + 1])
    strangers = {m for m in imports_of(name) if m.split(".")[0] not in allowed}
    assert not strangers, f"{name} imports {strangers}, which is not below it"


@pytest.mark.parametrize("name", [m for m in MODULES if m.split(".")[0] in TOPS])
def test_tops_know_only_the_core(name: str) -> None:
    """Readers, filters, dedup and tokens import the core and their own folder."""
    own = name.split(".", maxsplit=1)[0]
    strangers = {m for m in imports_of(name) if m.split(".")[0] not in CORE | {own}}
    assert not strangers, f"{name} imports {strangers}"


@pytest.mark.parametrize("name", [m for m in MODULES if m.split(".")[0] == "train"])
def test_trainer_needs_only_the_shard_reader(name: str) -> None:
    """The trainer imports the errors and the shard reader of this house, nothing else."""
    strangers = {m for m in imports_of(name) if not any(m == a or m.startswith(a + ".") for a in TRAINER_MAY)}
    assert not strangers, f"{name} imports {strangers}"


def test_only_files_knows_local_paths() -> None:
    """Core, readers and stages go through `files`: no open(), no os.path, no pathlib of their own."""
    local = {"tokens.shard", "kernel", "run"}  # memory maps, the kernel cache, and the limits of the machine
    for name in MODULES:
        if name in {"atomic", "files"} or name in local or name.split(".")[0] not in CORE | TOPS:
            continue
        tree = ast.parse((SRC / (name.replace(".", "/") + ".py")).read_text(encoding="utf-8"))
        opens = [n for n in ast.walk(tree) if isinstance(n, ast.Call) and ast.unparse(n.func) in {"open", "Path"}]
        assert not opens, f"{name} line {opens[0].lineno} opens a local path; use dataprep.store.files"


def test_public_names_load() -> None:
    """`__all__` is complete, and every name resolves to something with a docstring."""
    assert set(dir(dp)) == {*dp.__all__, "__version__"}
    for name in dp.__all__:
        thing = getattr(dp, name)
        assert inspect.getdoc(thing), f"dp.{name} has no docstring"


def test_public_names_of_the_contract() -> None:
    """The names that users and outside tests rely on are there, with the parameters they use."""
    wanted = {
        "read": ["format", "text", "columns"], "train_bpe": ["vocab_size", "sample", "seed", "run"],
        "encode": ["out", "val", "run"], "open_dataset": [], "Pipeline": [], "Serial": ["memory"], "Local": ["memory"],
        "Ray": ["memory"], "Filter": [], "Map": [], "C4": ["preset"], "Exact": ["keep"],
        "MinHash": ["threshold", "keep"], "Conversations": ["gap"], "Shards": [],
    }  # fmt: skip
    assert set(wanted) <= set(dp.__all__)
    for name, parameters in wanted.items():
        assert set(parameters) <= set(inspect.signature(getattr(dp, name)).parameters), name
    for method in ("table", "batches", "take", "count", "stats", "manifest", "write", "to_hf"):
        assert hasattr(dp.Dataset, method) or method in {f.name for f in dp.Dataset.__dataclass_fields__.values()}


def test_read_stays_a_function() -> None:
    """`dp.read` is the function although `dataprep.read` is also a folder, whatever was imported before."""
    importlib.import_module("dataprep.read")
    assert inspect.isfunction(dp.read)


def test_unknown_name_says_what_there_is() -> None:
    """A wrong attribute is an AttributeError that lists the public names."""
    with pytest.raises(AttributeError, match="MinHash"):
        _ = dp.Minhash


def test_files_are_short_and_well_named() -> None:
    """A file has 400 lines at most (the aim is 300; generated tables aside), a docstring, and no catch-all name."""
    for name in MODULES:
        lines = (SRC / (name.replace(".", "/") + ".py")).read_text(encoding="utf-8").splitlines()
        generated = any("generated" in line.lower() for line in lines[:6])
        kernels = any(line.startswith("@kernel") for line in lines)  # a kernel cannot call into another file cheaply
        assert generated or len(lines) <= (550 if kernels else 400), f"{name} has {len(lines)} lines; split it"
        assert not FORBIDDEN & set(name.split(".")), f"{name}: say what it does in its name"
        tree = ast.parse("\n".join(lines))
        assert ast.get_docstring(tree) or name.endswith("__init__"), f"{name} does not say what it owns"


def test_import_is_light() -> None:
    """`import dataprep` loads none of the heavy libraries, and the trainer's config no torch."""
    heavy = ("torch", "datasets", "numba", "pyarrow", "numpy", "ray", "tokenizers")
    code = f"import sys, dataprep.errors, dataprep.train.config; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_every_test_says_what_it_shows(root: Path) -> None:
    """Each test function carries one sentence."""
    for path in sorted((root / "tests").rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                assert ast.get_docstring(node), f"{path.name}: {node.name} has no docstring"


@pytest.mark.parametrize("compiler", [True, False])
def test_setup_without_a_compiler(root, tmp_path, compiler):
    """`make setup` leaves fasttext and kenlm out where no C++ compiler is found, and says so in one line; once."""
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(root / name, tmp_path)
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("sh", "touch", "test"):
        (tools / name).symlink_to(shutil.which(name))
    if compiler:
        (tools / "g++").symlink_to(shutil.which("true"))
    python = tmp_path / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text('#!/bin/sh\necho pip "$@"\n')
    python.chmod(0o755)

    def setup() -> str:
        made = subprocess.run(
            [shutil.which("make"), "setup"], cwd=tmp_path, env={"PATH": str(tools)}, stdout=subprocess.PIPE, text=True,
            check=True,
        )  # fmt: skip
        return made.stdout

    first = setup()
    assert f".[{'all' if compiler else 'wheels'},dev]" in first
    assert "-c constraints.txt" in first
    assert first.count("fasttext and kenlm are left out") == (0 if compiler else 1)
    assert "pip" not in setup(), "the second time there is nothing to do"


def test_version_is_said_once(root: Path) -> None:
    """pyproject.toml and the package state the same version, and the changelog has Unreleased."""
    assert f'version = "{dp.__version__}"' in (root / "pyproject.toml").read_text()
    assert "## [Unreleased]" in (root / "CHANGELOG.md").read_text()
