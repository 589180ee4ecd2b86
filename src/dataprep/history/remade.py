"""Reconstruct the stages of a run from their descriptions in its manifest."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from dataprep.core.model.describe import describe
from dataprep.core.model.stage import Stage
from dataprep.core.output.lineage import family
from dataprep.errors import require


def classes_named(name: str) -> Iterator[type]:
    """Yield the classes of dataprep that have a name."""
    for module in ("dataprep", "dataprep.chats"):
        kind = getattr(importlib.import_module(module), name, None)
        if isinstance(kind, type):
            yield kind


def stage_of(described: Mapping[str, Any]) -> Stage | None:
    """Return the stage that a manifest describes; None if dataprep does not have it, or if it would differ."""
    for kind in classes_named(described["class"]):
        if issubclass(kind, Stage):
            try:
                stage = _made(kind, {name: _value(v) for name, v in described["fields"].items()})
            except Exception:  # noqa: BLE001 - such as a model that was moved: there is no replay
                return None
            return stage if describe(stage, described["label"]) == described else None
    return None


def _value(value: Any) -> Any:
    """Return the value of a parameter that a manifest states: a list is a tuple, and a stage is described by a dict."""
    if isinstance(value, Mapping) and "class" in value:
        return stage_of(value)
    return tuple(map(_value, value)) if isinstance(value, list) else value


def _made(kind: type[Stage], values: dict[str, Any]) -> Stage:
    """Return a stage with these values of its fields; a parameter `*NAME` is passed by position."""
    given = inspect.signature(kind.__init__).parameters
    listed = [name for name in values if name in given and given[name].kind is inspect.Parameter.VAR_POSITIONAL]
    first = [value for name in listed for value in values.pop(name)]
    made: Stage = kind(*first, **values)
    return made


def with_parameters(stage: Stage, given: Mapping[str, Any]) -> Stage:
    """Return a stage with other values of some parameters. Raises PlanError if it has no such parameter."""
    names: list[str] = [one.name for one in fields(stage) if one.init] if is_dataclass(stage) else []
    for name in given:
        require(name in names, f"{name!r} must be a parameter of {stage.name}, which has {', '.join(names) or 'none'}")
    return _made(type(stage), {name: getattr(stage, name) for name in names} | dict(given))


def masking(url: str, after: str = "") -> list[Stage] | None:
    """Return the stages of a run that mask private strings; None if one of them cannot be reconstructed.

    Args:
        url: the run's folder.
        after: the label of a stage; only stages after it are returned. "": all, also if the run has no stage of this
            label.
    """
    described = [one for final in family(url, saved=False) for one in final.sealed.stages]
    labels, found = [one["label"] for one in described], list[Stage]()
    for one in described[labels.index(after) + 1 if after in labels else 0 :]:
        stage = stage_of(one)
        if stage is None and one.get("masks"):
            return None
        if stage is not None and stage.masks:
            found.append(stage)
    return found
