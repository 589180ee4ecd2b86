"""Pipeline files: a Python file with one plain function a step, run in file order.

    def ingest(out, run): ...
    def filter(ingest, out, run): ...        # wants what `ingest` returned

A step is a public function of the file that takes `out`, its own folder. Its other parameters are the names of earlier
steps, whose results it is given, and `run`, the Runner. Steps are called every time; receipts make that cheap.
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
from dataprep.history.why import RUN
from dataprep.store import files

GIVEN = ("out", "run")


@dataclass(frozen=True)
class Step:
    """One function of a pipeline file, and the names of the values it wants."""

    name: str
    fn: Callable[..., Any]
    wants: tuple[str, ...]


@dataclass(frozen=True)
class Done:
    """A step that has run: its folder, what it returned, and how long it took."""

    name: str
    out: str
    result: Any
    seconds: float


def load(path: str) -> list[Step]:
    """The steps of a pipeline file, in file order; a parameter that nothing provides is a PlanError."""
    module = _import(path)
    found = [
        Step(name, fn, tuple(inspect.signature(fn).parameters))
        for name, fn in vars(module).items()
        if inspect.isfunction(fn) and fn.__module__ == module.__name__ and _is_step(name, fn)
    ]
    steps = sorted(found, key=lambda step: step.fn.__code__.co_firstlineno)
    if not steps:
        msg = f"{path} has no steps; write functions that take `out`, like def ingest(out, run): ..."
        raise PlanError(msg)
    known = list(GIVEN)
    for step in steps:
        missing = [name for name in step.wants if name not in known]
        if missing:
            msg = f"{path}: step {step.name} wants {', '.join(missing)}; earlier steps and the runner give {known}"
            raise PlanError(msg)
        known.append(step.name)
    return steps


def execute(
    steps: list[Step], out: str, run: Any, to: str | None = None, starting: Callable[[str], None] = lambda _: None
) -> Iterator[Done]:
    """Call the steps up to `to`, one after another; each is given the results it names and the folder `out/name`."""
    results: dict[str, Any] = {}
    chosen = _upto(steps, to)
    files.write_json(files.join(out, RUN), {"steps": [step.name for step in steps]})
    for step in chosen:
        starting(step.name)
        given = {"out": files.join(out, step.name), "run": run, **results}
        began = time.perf_counter()
        results[step.name] = step.fn(**{name: given[name] for name in step.wants})
        yield Done(step.name, given["out"], results[step.name], time.perf_counter() - began)


def _upto(steps: list[Step], to: str | None) -> list[Step]:
    """The steps up to and with `to` (`dedup-exact` is `dedup_exact`); all of them for None."""
    if to is None:
        return steps
    names = [step.name for step in steps]
    if to.replace("-", "_") not in names:
        msg = f"there is no step {to}; this pipeline has {', '.join(names)}"
        raise PlanError(msg)
    return steps[: names.index(to.replace("-", "_")) + 1]


def _is_step(name: str, fn: Callable[..., Any]) -> bool:
    return not name.startswith("_") and "out" in inspect.signature(fn).parameters


def _import(path: str) -> Any:
    if not files.exists(path) or not path.endswith(".py"):
        msg = f"{path} is not a pipeline file; give a .py file whose functions are the steps"
        raise PlanError(msg)
    name = files.name_of(path).removesuffix(".py")
    name = f"pipeline_{name}" if name in sys.modules else name
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        msg = f"{path} cannot be imported; give a .py file"
        raise PlanError(msg)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    cloudpickle.register_pickle_by_value(module)  # workers have never heard of this file
    return module
