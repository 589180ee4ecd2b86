"""Pipeline files: a Python file with one plain function per step, run in file order.

    def ingest(out, run): ...
    def filter(ingest, out, run): ...        # takes what `ingest` returned

A step is a public function of the file with a parameter `out`, the step's own folder. Its other parameters are `run`,
the Runner, and the names of earlier steps, whose results are passed. Steps are called in every run; receipts make a
repeated call cheap.
"""

from __future__ import annotations

import importlib.util
import inspect
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import cloudpickle

from dataprep.errors import PlanError
from dataprep.store import files

from . import pipeline_errors
from .folder import RUN

GIVEN = ("out", "run")


@dataclass(frozen=True)
class Step:
    """One function of a pipeline file, and the names of its parameters."""

    name: str
    fn: Callable[..., Any]
    takes: tuple[str, ...]


@dataclass(frozen=True)
class Done:
    """A step that has run: its folder, its result, and its duration in seconds."""

    name: str
    out: str
    result: Any
    seconds: float


def load(path: str) -> list[Step]:
    """Import a pipeline file and return its steps in file order.

    Raises PlanError if the file cannot be imported, or if a parameter is neither `out`, `run` nor an earlier step.
    """
    module = _import(path)
    found = [
        Step(name, fn, tuple(inspect.signature(fn).parameters))
        for name, fn in vars(module).items()
        if inspect.isfunction(fn) and fn.__module__ == module.__name__ and _is_step(name, fn)
    ]
    steps = sorted(found, key=lambda step: step.fn.__code__.co_firstlineno)
    if not steps:
        msg = f"{path} has no steps; a step must be a function that takes `out`, like def ingest(out, run): ..."
        raise PlanError(msg)
    known = list(GIVEN)
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
    return steps


def execute(
    steps: list[Step], out: str, run: Any, to: str | None = None, starting: Callable[[str], None] = lambda _: None
) -> Iterator[Done]:
    """Call the steps up to `to`, one after another, and yield each when it is done.

    A step gets the folder `out`/NAME and the results of the earlier steps that it names. starting: called with the name
    before each step. Raises PlanError if there is no step `to`, or if a line of the pipeline file uses a name or an
    argument that does not exist.
    """
    results: dict[str, Any] = {}
    chosen = _upto(steps, to)
    files.write_json(files.join(out, RUN), {"steps": [step.name for step in steps]})
    for step in chosen:
        starting(step.name)
        given = {"out": files.join(out, step.name), "run": run, **results}
        began = time.perf_counter()
        with pipeline_errors.calling(step.fn.__code__.co_filename):
            results[step.name] = step.fn(**{name: given[name] for name in step.takes})
        yield Done(step.name, given["out"], results[step.name], time.perf_counter() - began)


def _upto(steps: list[Step], to: str | None) -> list[Step]:
    """Return the steps up to and including `to` (`dedup-exact` is `dedup_exact`), or all if `to` is None."""
    if to is None:
        return steps
    names = [step.name for step in steps]
    if to.replace("-", "_") not in names:
        msg = f"there is no step {to}; the steps are {', '.join(names)}"
        raise PlanError(msg)
    return steps[: names.index(to.replace("-", "_")) + 1]


def _is_step(name: str, fn: Callable[..., Any]) -> bool:
    return not name.startswith("_") and "out" in inspect.signature(fn).parameters


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
    with pipeline_errors.importing(spec.origin or path):
        spec.loader.exec_module(module)
    cloudpickle.register_pickle_by_value(module)  # workers cannot import this file
    return module
