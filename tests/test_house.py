"""The rules of the house: who may import whom, what is public, and how long files and kernels may be."""

from __future__ import annotations

import ast
import importlib.util
import inspect
import re
import shutil
import subprocess
import sys
from collections import defaultdict
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import dataprep as dp

SRC = Path(dp.__file__).parent
# A room imports from the tiers before its own; rooms of one tier do not import each other.
TIERS = [
    {"errors", "lazy"}, {"store", "unicode"}, {"shown"}, {"core"}, {"pii", "read", "resource", "pipeline_file"},
    {"filters", "dedup", "search", "messages", "ngram", "tokens"}, {"history", "train", "fit"},
    {"forget", "inference"}, {"persona"},
    {"report"}, {"explore", "experiment"}, {"cli"}, {"__init__", "__main__", "chats", "extend", "tools"},
]  # fmt: skip
TIER_OF = {room: n for n, rooms in enumerate(TIERS) for room in rooms}
TRAINER_MAY = (
    "core.output.kinds", "core.output.records", "core.output.state", "errors", "store.atomic", "store.beside",
    "store.hashes", "store.lease", "store.newer", "store.ranges", "store.stopping", "store.splitmix",
    "tokens.shard_format", "tokens.shards.shard", "train",
)  # fmt: skip
LOCAL_PATHS = {
    "store.atomic", "store.beside", "store.failure", "store.files", "store.lease", "store.newer", "tokens.shards.shard",
    "unicode.machine_code", "unicode.private_folder", "core.run.runner",
}  # fmt: skip
STATE = "core.model.process"  # the only module whose functions may change what the module has
CONTEXT_VARS = {"store.compress", "store.progress"}  # windows of zstd, and --quiet; the list only shrinks
CHANGES = {
    "add", "append", "appendleft", "clear", "discard", "extend", "insert", "pop", "popitem", "remove", "setdefault",
    "update",
}  # fmt: skip
FORBIDDEN = {"utils", "util", "base", "manager", "helpers", "common", "misc"}
KERNEL_LINES, KERNEL_ARGUMENTS = 60, 8
# What breaks a rule today, as "rule name": the list only shrinks, and this goes with its last line.
LONG_KERNELS = {  # one loop each: inlined helpers made `by_table` 11 % (bytes) and 18 % (words) slower
    "dedup.substrings.pairs.by_pairs",
    "dedup.substrings.window_table.by_table",
}


@dataclass
class Module:
    """One parsed source file."""

    name: str
    lines: list[str]
    tree: ast.Module
    nodes: list[ast.AST] = field(default_factory=list)

    @property
    def room(self) -> str:
        """The folder, or the loose file, that it is in."""
        return self.name.split(".", maxsplit=1)[0]

    def kernels(self):
        """Every function with the decorator `@kernel`."""
        for node in self.nodes:
            if isinstance(node, ast.FunctionDef):
                decorators = [d.func if isinstance(d, ast.Call) else d for d in node.decorator_list]
                if any(ast.unparse(d) == "kernel" for d in decorators):
                    yield node


@pytest.fixture(scope="module")
def house():
    """Every module, parsed once: {dotted name inside dataprep: Module}."""
    found = {}
    for path in sorted(SRC.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        name = path.relative_to(SRC).with_suffix("").as_posix().replace("/", ".")
        tree = ast.parse(text)
        found[name] = Module(name, text.splitlines(), tree, list(ast.walk(tree)))
    return found


@pytest.fixture(scope="module")
def imports(house):
    """{module: the modules it imports}, those inside functions and for types included."""
    return {name: set(_imports_of(module, house)) - {name} for name, module in house.items()}


def _imports_of(module, house):
    package = module.name.split(".")[:-1]
    for node in module.nodes:
        if isinstance(node, ast.Import):
            yield from (_module(a.name.removeprefix("dataprep."), house) for a in node.names if a.name != "dataprep"
                        and a.name.startswith("dataprep."))  # fmt: skip
        elif isinstance(node, ast.ImportFrom):
            home = (node.module or "").split(".")
            if node.level:
                home = [*package[: len(package) - node.level + 1], *([node.module] if node.module else [])]
            elif home[0] == "dataprep":
                home = home[1:]
            else:
                continue
            inside = ".".join(home)
            for a in node.names:
                yield _module(f"{inside}.{a.name}".strip("."), house) or _module(inside, house) or "__init__"


def _module(name: str, house) -> str | None:
    return name if name in house else f"{name}.__init__" if f"{name}.__init__" in house else None


def test_imports_point_down(house, imports) -> None:
    """No module imports from a tier above it, or from another room of its tier; types and functions included."""
    assert {m.room for m in house.values()} == set(TIER_OF), "a new room is put into a tier, here and in docs/"
    up = {
        (name, other) for name, others in imports.items() for other in others
        if other != "__init__" and house[name].room != house[other].room
        and TIER_OF[house[other].room] >= TIER_OF[house[name].room]
    }  # fmt: skip
    assert not sorted(up), "imports from above, or from another room of its tier"
    trainer = {
        (name, other) for name, others in imports.items() if house[name].room == "train" for other in others
        if not any(other == may or other.startswith(may + ".") for may in (*TRAINER_MAY, "__init__"))
    }  # fmt: skip
    assert not trainer, f"the trainer needs only {TRAINER_MAY}: {trainer}"


def test_no_import_goes_in_a_circle(imports) -> None:
    """Modules can be put into an order in which each imports only those before it."""
    graph = {name: set(others) - {"__init__"} for name, others in imports.items() if name != "__init__"}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as e:
        pytest.fail(" -> ".join(e.args[1]))


def test_no_concern_travels_through_a_module(house) -> None:
    """There is no ContextVar; functions in `core/` and `store/hashes` change no object of a module but of `STATE`."""
    found = {name for name, module in house.items() if any("contextvars" in line for line in module.lines)}
    assert found == CONTEXT_VARS
    left = {name: set(_changed(house[name])) for name in house if name == "store.hashes" or house[name].room == "core"}
    assert left.pop(STATE) == {"_reading", "_timeout", "_kept", "_thread"}
    assert not {name: sorted(names) for name, names in left.items() if names}


def _changed(module):
    """Yield the name of each object of the module that a function of it changes, or makes anew."""
    targets = [
        target for node in module.tree.body if isinstance(node, (ast.Assign, ast.AnnAssign))
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
    ]  # fmt: skip
    own = {target.id for target in targets if isinstance(target, ast.Name)}
    functions = (node for node in module.nodes if isinstance(node, (ast.FunctionDef, ast.Lambda)))
    for function in functions:
        if isinstance(function, ast.FunctionDef):
            assert not {"cache", "lru_cache"} & {ast.unparse(d).split("(")[0].split(".")[-1]
                                                 for d in function.decorator_list}, function.name  # fmt: skip
        for node in ast.walk(function):
            if isinstance(node, ast.Global):
                yield from node.names
            changed = None
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in CHANGES:
                changed = node.func.value
            elif isinstance(node, (ast.Subscript, ast.Attribute)) and isinstance(node.ctx, (ast.Store, ast.Del)):
                changed = node.value
            if isinstance(changed, ast.Name) and changed.id in own:
                yield changed.id


@pytest.mark.parametrize(
    ("code", "names"),
    [("A = {}\ndef f(): A[1] = 2", ["A"]), ("A: list[int] = []\ndef f(): A.append(1)", ["A"]),
     ("A = 1\ndef f():\n    global A\n    A = 2", ["A"]), ("A = {1: 2}\ndef f(): del A[1]", ["A"]),
     ("A = set()\nf = lambda: A.add(1)", ["A"]), ("A = C()\ndef f(): A.b = 1", ["A"]),
     ("A = {}\nA[1] = 2\ndef f(): return A[1]", []), ("def f():\n    a = []\n    a.append(1)", [])],
)  # fmt: skip
def test_changed_objects_of_a_module_are_found(code, names) -> None:
    """Each way to change one in a function, but not the module's own lines."""
    tree = ast.parse(code)
    assert list(_changed(Module("m", code.splitlines(), tree, list(ast.walk(tree))))) == names


DEPTH = {"core": 1, "core.model": 8, "core.run": 7, "core.output": 6, "core.inputs": 2}


def test_core_is_shallow(house, imports) -> None:
    """The longest chain of imports inside each folder of core, and what a run imports to plan, execute and commit."""
    for folder, most in DEPTH.items():
        inside = {name for name in house if name.rpartition(".")[0] == folder}
        graph = {name: imports[name] & inside for name in inside}
        depth: dict[str, int] = {}
        for name in TopologicalSorter(graph).static_order():
            depth[name] = 1 + max((depth[other] for other in graph[name]), default=0)
        assert max(depth.values()) <= most, f"{folder}: {max(depth, key=depth.get)} is too far from the ground"
    assert len(imports["core.pipeline"]) <= 11, "a promise is a hook or a layer, never another line in the run"
    assert len(imports["core.run.execute"]) <= 11


TOUCHES = {  # what a run knows of an output folder, by module of core/run
    "account": {"audit", "commit", "layout", "state"}, "execute": {"commit"}, "passes": {"owned"},
    "kept": {"commit", "layout", "state"}, "materialize": {"commit", "forget_list", "layout", "staging", "state"},
    "plan": {"commit", "forget_list", "layout", "state"},
    "quarantine": {"state"}, "seal": {"commit", "layout", "staging"},
}  # fmt: skip


def test_a_run_touches_its_folder_in_few_places(house, imports) -> None:
    """Runners, workers, contexts and trials know nothing of output folders; core/output knows no Runner but by type."""
    for name in (name for name in house if name.startswith("core.run.")):
        used = {other.rpartition(".")[2] for other in imports[name] if other.startswith("core.output.")}
        assert used <= TOUCHES.get(name.rpartition(".")[2], set()), name
    up = {name for name in house if name.startswith("core.output.") and any("core.run" in o for o in imports[name])}
    assert up == {"core.output.audit"}


RAW = re.compile(r"\b(manifest|recipe|origin)(\[[\"']|\.get\()")


STATE_CALL = re.compile(r"\bfiles\.(read_json|read_state|write_state)\(")
STATE_ELSEWHERE = {  # JSON that is no state of an output folder, or that is only checked; the list only shrinks
    "dedup.embeddings.stored", "filters.classifiers.models", "filters.classifiers.train", "filters.preset_folder",
    "fit.folder", "history.run_summary", "history.verify", "store.hashes", "store.receipts", "tokens.mix.mix",
    "tokens.shards.export", "tokens.vocabulary.formats",
}  # fmt: skip


def test_state_is_typed(house) -> None:
    """No room reads a manifest, recipe or origin as a dict; `core/output` gives records."""
    raw = {
        f"{name}:{number}: {line.strip()}" for name, module in house.items()
        for number, line in enumerate(module.lines, 1) if RAW.search(line) and not name.startswith("core.output.")
    }  # fmt: skip
    assert not raw, "\n".join(sorted(raw))
    read = {name for name, module in house.items() if any(STATE_CALL.search(line) for line in module.lines)}
    assert {name for name in read if not name.startswith("core.output.")} <= STATE_ELSEWHERE


def test_files_are_short_and_say_what_they_own(house) -> None:
    """A file has 550 lines at most (generated tables aside), a docstring, no catch-all name, and no local paths."""
    for name, module in house.items():
        n = len(module.lines)
        assert n <= 550 or "Generated by" in "\n".join(module.lines[:6]), f"{name} has {n} lines; split it"
        assert not FORBIDDEN & set(name.split(".")), f"{name}: say what it does in its name"
        assert ast.get_docstring(module.tree) or name.endswith("__init__"), f"{name} does not say what it owns"
        if name not in LOCAL_PATHS and TIER_OF[module.room] < TIER_OF["history"]:
            calls = [x for x in module.nodes if isinstance(x, ast.Call) and ast.unparse(x.func) in {"open", "Path"}]
            assert not calls, f"{name} line {calls[0].lineno} opens a local path; use dataprep.store.files"


def test_kernels_can_be_read(house, root) -> None:
    """A kernel has at most 60 lines besides its docstring and 8 arguments; its module names the twin that judges it."""
    long, no_twin = set(), set()
    for name, module in house.items():
        for node in module.kernels():
            a = node.args
            arguments = len(a.args) + len(a.posonlyargs) + len(a.kwonlyargs)
            first = node.body[0]
            described = first.end_lineno - first.lineno + 1 if ast.get_docstring(node) is not None else 0
            if node.end_lineno - node.lineno + 1 - described > KERNEL_LINES or arguments > KERNEL_ARGUMENTS:
                long.add(f"{name}.{node.name}")
        if any(module.kernels()):
            twins = re.findall(r"tests/twins/\w+\.py", ast.get_docstring(module.tree) or "")
            if not twins or not all((root / twin).exists() for twin in twins):
                no_twin.add(name)
    assert not long - LONG_KERNELS, f"kernels over {KERNEL_LINES} lines or {KERNEL_ARGUMENTS} arguments"
    assert not no_twin, "modules with kernels whose docstring names no tests/twins/NAME.py that exists"


def test_nobody_asks_for_the_name_of_a_part(house) -> None:
    """No code compares a part of a model with a name: it asks the part. `refusals` alone may, since it names pairs."""
    from dataprep.train.shape import PARTS

    found = set()
    for name, module in house.items():
        for node in module.nodes if name != "train.refusals" else ():
            if isinstance(node, ast.Compare):
                every = [node.left, *node.comparators]
                asked = {x.attr for x in every if isinstance(x, ast.Attribute) and x.attr in PARTS}
                texts = {x.value for x in ast.walk(node) if isinstance(x, ast.Constant)}
                found |= {f"{name} line {node.lineno}" for part in asked if texts & set(PARTS[part])}
    assert not found, "asks for a name; let the part declare what is wanted (train/parts.py)"


def test_a_name_is_one_class(house) -> None:
    """No two classes of one name in two rooms."""
    homes = defaultdict(set)
    for name, module in house.items():
        for node in module.tree.body:
            if isinstance(node, ast.ClassDef):
                homes[node.name].add(name.rpartition(".")[0])
    assert not [n for n, where in homes.items() if len(where) > 1]


def test_public_names_load() -> None:
    """`__all__` is complete, each name has a docstring, those of the contract their parameters; typos are told."""
    assert set(dir(dp)) == {*dp.__all__, "__version__"}
    for module in (dp, dp.chats, dp.tools):
        for name in module.__all__:
            assert inspect.getdoc(getattr(module, name)), f"{module.__name__}.{name} has no docstring"
    wanted = {
        "read": ["format", "text", "columns"],
        "train_bpe": ["vocab_size", "sample", "seed", "runner"],
        "encode": ["out", "val", "runner"],
        "open_dataset": [],
        "Pipeline": [],
        "Filter": [],
        "Map": [],
        "C4": ["preset"],
        "Exact": ["keep"],
        "MinHash": ["threshold", "keep"],
        "Shards": [],
    }
    assert set(wanted) <= set(dp.__all__)
    assert "gap" in inspect.signature(dp.chats.Conversations).parameters
    for runner in (dp.tools.Serial, dp.tools.Local, dp.tools.Ray):
        assert "memory" in inspect.signature(runner).parameters
    for name, parameters in wanted.items():
        assert set(parameters) <= set(inspect.signature(getattr(dp, name)).parameters), name
    for method in ("table", "batches", "take", "count", "stats", "manifest", "write", "to_hf"):
        assert hasattr(dp.Dataset, method) or method in {f.name for f in dp.Dataset.__dataclass_fields__.values()}
    importlib.import_module("dataprep.read")
    assert inspect.isfunction(dp.read), "`dp.read` is the function although `dataprep.read` is also a folder"
    for module, wrong, right in ((dp, "Minhash", "MinHash"), (dp.chats, "Turn", "Turns"), (dp.extend, "Part1", "Part")):
        with pytest.raises(AttributeError, match=f"no attribute '{wrong}'; it has .*{right}"):
            getattr(module, wrong)


@pytest.mark.parametrize("folder", ["benchmarks", "pipelines"])
def test_names_imported_elsewhere_exist(root: Path, folder: str) -> None:
    """Benchmarks and pipelines, which few tests run, import only names that the package has."""
    pytest.importorskip("torch")
    for path in sorted((root / folder).glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "dataprep":
                made = importlib.import_module(node.module)
                for name in (alias.name for alias in node.names):
                    found = hasattr(made, name) or importlib.util.find_spec(f"{node.module}.{name}")
                    assert found, f"{path.name} imports {name} from {node.module}"


def test_import_is_light() -> None:
    """`import dataprep` loads none of the heavy libraries, and the trainer's config no torch."""
    heavy = ("torch", "datasets", "numba", "pyarrow", "numpy", "ray", "tokenizers")
    code = f"import sys, dataprep.errors, dataprep.train.config; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_tests_mirror_the_house(root) -> None:
    """A folder of tests is one of the source, a twin is used by a test, and each test has a sentence."""
    tests = root / "tests"
    said = ""
    for path in sorted(tests.rglob("test_*.py")):
        text = path.read_text(encoding="utf-8")
        said += text
        folder = path.parent.relative_to(tests)
        assert (SRC / folder).is_dir() or folder.parts[0] in {"hard", "docs"}, f"{path}: src has no folder {folder}"
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                assert ast.get_docstring(node), f"{path.name}: {node.name} has no docstring"
    for twin in sorted((tests / "twins").glob("*.py")):
        said_by = said + "".join(p.read_text(encoding="utf-8") for p in twin.parent.glob("*.py") if p != twin)
        assert f"twins.{twin.stem} " in said_by or f"twins.{twin.stem}\n" in said_by, f"no test uses {twin.name}"


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
    assert f".[wheels{',langid,perplexity' if compiler else ''},dev]" in first
    assert "-c constraints.txt" in first
    said, ran = first.index("installing [wheels"), first.index("pip")
    assert said < ran, "minutes begin with a line that says what is done"
    assert ("compiles fasttext and kenlm, which" in first) is compiler
    assert first.count("fasttext and kenlm are left out") == (0 if compiler else 1)
    assert not re.search("pip|installing", setup()), "the second time there is nothing to do"


def test_every_python_that_is_claimed_is_tried(root: Path) -> None:
    """The classifiers name no Python but 3.11, of `make test`, and versions of `make test-all`."""
    claimed = re.findall(r'"Programming Language :: Python :: (3\.\d+)"', (root / "pyproject.toml").read_text())
    tried = re.search(r"PYTHONS:-([\d. ]+)}", (root / "scripts" / "test_all.sh").read_text())
    assert tried is not None
    assert claimed
    assert set(claimed) <= {"3.11", *tried[1].split()}


def test_version_is_said_once(root: Path) -> None:
    """pyproject.toml and the package state the same version, and the newest entry of the changelog is of it."""
    assert f'version = "{dp.__version__}"' in (root / "pyproject.toml").read_text()
    newest = re.search(r"^## \[(.+?)\] - ", (root / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert newest is not None
    assert newest[1] == dp.__version__
