"""Pipeline files: a Python file with one plain function per step, run in file order.

    def ingest(out, runner): ...
    def filter(ingest, out, runner): ...        # takes what `ingest` returned

A step is a public function of the file with a parameter `out`, the step's own folder. Its other parameters may be
`runner`, the Runner, and the names of earlier steps, whose results are passed for them. In a trial, `runner` is a
Context that marks the run as a trial. A step must therefore pass `runner` on, or use only the results of earlier steps.
Every run calls all steps; because of receipts, a repeated call is cheap. A mistake in the file is reported in one
sentence with the file, the line and the most similar valid name.
"""

from __future__ import annotations

import ast
import contextlib
import difflib
import importlib.util
import inspect
import os
import re
import sys
import textwrap
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from types import FrameType
from typing import Any

import cloudpickle

from dataprep.errors import DataprepError, FunctionFailed, InUse, PlanError, StaleOutput
from dataprep.store import failure, files, lease, newer
from dataprep.store.atomic import JOURNAL
from dataprep.store.place import Stays
from dataprep.store.stopping import is_stop

from .core.model.blame import raised
from .core.output import owned
from .core.output.layout import RUN, folder_url
from .core.output.run_folder import earlier_steps
from .core.run.context import trial_of

OWN = os.path.dirname(__file__) + os.sep  # whose lines are not the user's, such as the step that `plan INPUT` tries
WRITTEN_WRONG = (TypeError, NameError, AttributeError, ImportError)  # a step that raises one in its own line
UNEXPECTED = re.compile(r"([\w.]+)\(\) got an unexpected keyword argument '(\w+)'")
PACKAGE_NAMES = re.compile(r"^module '(dataprep|dataprep\.chats|dataprep\.extend)' has no attribute '(\w+)'")


@dataclass(frozen=True)
class Step:
    """One step of a pipeline file: its name, its function, and the names of the function's parameters (`takes`)."""

    name: str
    fn: Callable[..., Any]
    takes: tuple[str, ...]


@dataclass(frozen=True)
class Done:
    """A finished step: its name, folder, result, duration in seconds, and whether it wrote nothing (`before`)."""

    name: str
    out: str
    result: Any
    seconds: float
    before: bool


def load(path: str) -> list[Step]:
    """Import a pipeline file and return its steps in file order.

    Raises PlanError if the file cannot be imported, if a parameter is neither `out`, `runner` nor an earlier step, or
    if a step uses the result of a step without `return`.
    """
    module = _import(path)
    found = [
        Step(name, fn, tuple(inspect.signature(fn).parameters))
        for name, fn in vars(module).items()
        if inspect.isfunction(fn) and fn.__module__ == module.__name__ and not name.startswith("_")
    ]
    steps = sorted((step for step in found if "out" in step.takes), key=lambda step: step.fn.__code__.co_firstlineno)
    if not steps:
        msg = f"{path} has no steps; a step must be a function that takes `out`, like def ingest(out, runner): ..."
        raise PlanError(msg)
    known = ["out", "runner"]
    for step in steps:
        missing = [name for name in step.takes if name not in known]
        if missing:
            line = step.fn.__code__.co_firstlineno
            msg = (
                f"{path}:{line}: step {step.name} takes {', '.join(missing)}, which is not defined before it; "
                f"parameters must be {', '.join(known)}"
            )
            raise PlanError(msg)
        known.append(step.name)
    _check_results(path, steps)
    return steps


def functions(path: str) -> dict[str, Callable[..., Any]]:
    """Import a pipeline file and return the functions in it by name. Raises PlanError if it cannot be imported."""
    return {name: fn for name, fn in vars(_import(path)).items() if inspect.isfunction(fn)}


def _check_results(path: str, steps: list[Step]) -> None:
    """Raise PlanError if a step has no `return` and the code of a later step uses its result."""
    for step in steps:
        users = [other.name for other in steps if step.name in other.takes and _names_in(other.fn, step.name)]
        if users and not _returns(step.fn):
            line = step.fn.__code__.co_firstlineno
            msg = f"{path}:{line}: step {step.name} returns nothing, but step {users[0]} takes its result; "
            msg += "end it with `return` and the result"
            raise PlanError(msg)


def _body(fn: Callable[..., Any]) -> list[ast.AST]:
    """Return the nodes of a function's code, without its parameters; [] if it has no source."""
    try:
        (tree,) = ast.parse(textwrap.dedent(inspect.getsource(fn))).body
    except (OSError, SyntaxError, ValueError):
        return []
    return [node for line in getattr(tree, "body", ()) for node in ast.walk(line)]


def _names_in(fn: Callable[..., Any], name: str) -> bool:
    """Return whether the code of a function uses a name."""
    return any(isinstance(node, ast.Name) and node.id == name for node in _body(fn))


def _returns(fn: Callable[..., Any]) -> bool:
    """Return whether the source of a function contains a `return` with a value, even one of an inner function."""
    found = _body(fn)
    gives = (ast.Yield, ast.YieldFrom)
    return not found or any(isinstance(n, gives) or (isinstance(n, ast.Return) and n.value is not None) for n in found)


def execute(
    steps: list[Step], out: str, run: Any, to: str | Sequence[str] | None = None,
    starting: Callable[[str], None] = lambda _: None,
) -> Iterator[Done]:  # fmt: skip
    """Call the steps one after another, and yield a `Done` after each.

    A step is passed the folder `out`/NAME, the Runner `runner`, and the results of the earlier steps that its
    parameters name.

    - to: the step or steps to call, together with the steps that they need; None: all steps.
    - starting: called with the name before each step.

    Raises PlanError if there is no step `to`, if a line of the pipeline file uses an unknown name or argument, or if
    `runner` is a trial that a step would ignore; NewerFormat if a newer dataprep wrote into one of the folders.
    """
    results: dict[str, Any] = {}
    chosen = _needed(steps, to)
    if trial_of(run) is not None:
        _check_told(chosen)
    lease.check_place(folder_url(out))
    for place in (out, *(files.join(out, step.name) for step in chosen)):
        newer.refuse(place)
    record = files.join(out, RUN)
    earlier = earlier_steps(out)
    is_new = not files.exists(record)
    states = [url for url in (files.join(out, JOURNAL), files.join(out, failure.NAME)) if not files.exists(url)]
    owned.begin(out)
    replace(earlier, steps=[step.name for step in steps]).save(record)
    for step in chosen:
        starting(step.name)
        given = {"out": files.join(out, step.name), "runner": run, **results}
        began, there = time.perf_counter(), _stamps(given["out"])
        try:
            called = _calling(step.fn.__code__.co_filename, step.name)
            with _noted(out, step.name), called, Stays(f"step {step.name}"):
                results[step.name] = step.fn(**{name: given[name] for name in step.takes})
        except PlanError:  # such as that `out` is in a folder of input, where nothing of ours may remain
            if is_new and not results:
                for url in [record, *([] if files.exists(given["out"]) else states)]:
                    files.remove(url)
            raise
        seconds = time.perf_counter() - began
        before = bool(there) and there == _stamps(given["out"])
        yield Done(step.name, given["out"], results[step.name], seconds, before)


def _check_told(steps: Sequence[Step]) -> None:
    """Raise PlanError if a step would read whole input in a trial: it uses neither `runner` nor a sample."""
    for step in steps:
        used = [name for name in step.takes if name != "out" and (not _body(step.fn) or _names_in(step.fn, name))]
        if not used:
            code = step.fn.__code__
            lacks, fix = ("uses no", "") if "runner" in step.takes else ("takes no", "add the parameter and ")
            msg = f"{code.co_filename}:{code.co_firstlineno}: step {step.name} {lacks} `runner`, so it cannot be tried "
            msg += f"on a sample; {fix}pass it on"
            raise PlanError(msg)


def _stamps(url: str) -> dict[str, tuple[int, int]]:
    """Return the size and mtime of each file in a local folder, except hidden files; {} for a remote folder."""
    found: dict[str, tuple[int, int]] = {}
    for at, folders, names in os.walk(files.path_of(url)) if files.is_local(url) else ():
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in names:
            if not name.startswith("."):
                with contextlib.suppress(FileNotFoundError):
                    stat = os.lstat(os.path.join(at, name))
                    found[os.path.join(at, name)] = stat.st_size, stat.st_mtime_ns
    return found


def _noted(out: str, step: str) -> contextlib.AbstractContextManager[None]:
    """If an error ends the `with` block, write it into the run's folder for `dataprep status`; only on local disks."""
    if not files.is_local(out):
        return contextlib.nullcontext()
    return failure.noted(files.path_of(out), but=(InUse,), step=step)


def _needed(steps: list[Step], to: str | Sequence[str] | None) -> list[Step]:
    """Return `to` (`dedup-exact` is `dedup_exact`) and the steps whose results are needed, or all if `to` is None."""
    if to is None:
        return steps
    needed, known = {one.replace("-", "_") for one in ([to] if isinstance(to, str) else to)}, [s.name for s in steps]
    if needed - set(known):
        msg = f"there is no step {to}; the steps are {', '.join(known)}"
        raise PlanError(msg)
    for step in reversed(steps):  # a step takes results of earlier steps only
        if step.name in needed:
            needed.update(step.takes)
    return [step for step in steps if step.name in needed]


def _import(path: str) -> Any:
    if not files.exists(path) or not path.endswith(".py"):
        msg = f"{path} is not a pipeline file; it must be an existing .py file whose functions are the steps"
        raise PlanError(msg)
    name = files.name_of(path).removesuffix(".py")
    name = f"pipeline_{name}" if name in sys.modules else name
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        msg = f"{path} cannot be imported; it must be a .py file"
        raise PlanError(msg)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    with _importing(spec.origin or path):
        spec.loader.exec_module(module)
    cloudpickle.register_pickle_by_value(module)  # workers cannot import this file
    return module


@contextlib.contextmanager
def _importing(path: str) -> Iterator[None]:
    """Raise PlanError with file and line for any exception while the pipeline file at `path` is imported."""
    try:
        yield
    except SyntaxError as e:
        msg = f"{e.filename or path}{'' if e.lineno is None else f':{e.lineno}'}: {e.msg}"
        raise PlanError(msg) from e
    except BaseException as e:
        if is_stop(e):
            raise
        if isinstance(e, ValueError) and "null bytes" in str(e):  # later Pythons raise SyntaxError
            msg = f"{path}: {e}"
            raise PlanError(msg) from e
        raise PlanError(_sentence(path, e)) from e


@contextlib.contextmanager
def _calling(path: str, step: str) -> Iterator[None]:
    """Raise PlanError with file and line if the code of the pipeline file at `path` itself is wrong.

    Such errors are a name that does not exist, arguments that a function does not take, and a PlanError or StaleOutput
    of any call. If a step ends the program, for example by `sys.exit`, FunctionFailed is raised. All other exceptions
    are passed on.
    """
    try:
        yield
    except (PlanError, StaleOutput) as e:
        raise type(e)(_sentence(path, e)) from e
    except WRITTEN_WRONG as e:
        frames = [frame.f_code.co_filename for frame, _ in traceback.walk_tb(e.__traceback__)]
        if frames[-1] != path and not PACKAGE_NAMES.match(str(e)):
            raise
        raise PlanError(_sentence(path, e)) from e
    except BaseException as e:
        if isinstance(e, Exception) or is_stop(e):
            raise
        raise FunctionFailed(raised(f"step {step}", e)) from e


def _sentence(path: str, error: BaseException) -> str:
    """Return "FILE:LINE: PROBLEM; did you mean NAME?"."""
    own = [(f, line) for f, line in traceback.walk_tb(error.__traceback__) if f.f_code.co_filename == path]
    position = f"{path}:{own[-1][1]}" if own else path
    if isinstance(error, DataprepError):
        return str(error) if path.startswith(OWN) else f"{position}: {error}"
    message = re.split(r"; it has |; use dp\.|\. Did you mean", str(error))[0] or "raised without a message"
    message = message if isinstance(error, WRITTEN_WRONG) else f"{type(error).__name__}: {message}"
    if isinstance(error, SystemExit):
        message += "; a pipeline file is imported: end the program only under `if __name__ == '__main__':`"
    return f"{position}: {message}{_nearest(error, own[-1][0] if own else None)}"


def _nearest(error: BaseException, frame: FrameType | None) -> str:
    """Return "; did you mean NAME?" for a slightly misspelt name, else the list of valid names, or ""."""
    wrong: Any = getattr(error, "name", None)
    names: list[str] = []
    cutoff = 0.5
    keyword, missing = UNEXPECTED.search(str(error)), PACKAGE_NAMES.match(str(error))
    if keyword:
        wrong, names = keyword[2], _parameters(keyword[1], frame)
    elif missing:
        wrong, names = missing[2], _public_names(missing[1])
        names = [name for name in names if name.endswith(f".{wrong}")] or names
    elif isinstance(error, ModuleNotFoundError):
        names, cutoff = [*sys.modules, *sys.stdlib_module_names], 0.8  # of other packages that are not installed
    elif isinstance(error, AttributeError):
        names = dir(getattr(error, "obj", None))
    elif isinstance(error, NameError) and frame is not None:
        names = [*frame.f_locals, *frame.f_globals, *dir(frame.f_builtins)]
    near = difflib.get_close_matches(wrong, names, 1, cutoff) if isinstance(wrong, str) else []
    if near:
        return f"; did you mean {near[0]}?"
    return f"; it takes {', '.join(names)}" if keyword and names else ""


def _public_names(module: str) -> list[str]:
    """Return the public names of a module of dataprep; of `dataprep` itself, also those of its public modules."""
    found = importlib.import_module(module)
    inner = () if module != "dataprep" else ("chats", "extend", "tools")
    return [*dir(found), *(f"{one}.{name}" for one in inner for name in getattr(found, one).__all__)]


def _parameters(called: str, frame: FrameType | None) -> list[str]:
    """Return the parameter names of a function that an error names, like C4.__init__ or Pipeline.run."""
    import dataprep

    first, *rest = called.removesuffix(".__init__").split(".")
    known = {**frame.f_globals, **frame.f_locals} if frame is not None else {}
    try:
        places = (dataprep, dataprep.chats, dataprep.extend)
        found = known.get(first) or next(getattr(place, first) for place in places if hasattr(place, first))
        for name in rest:
            found = getattr(found, name)
        return [name for name in inspect.signature(found).parameters if name != "self"]
    except (AttributeError, StopIteration, TypeError, ValueError):
        return []
