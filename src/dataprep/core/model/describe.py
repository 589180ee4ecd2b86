"""Describe stages: as dicts for manifests, as the text of a Python call, and by unique labels in statistics."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from dataprep.errors import redacted
from dataprep.store.key import class_name

from .stage import Stage, masks

READ, FORGET = "read", "forget"  # the names of the reader and of the forget list in statistics
LABEL_CHARS = 60


def describe(stage: Any, label: str | None = None) -> dict[str, Any]:
    """Return a Stage or Estimator as a dict for the manifest: label, class, version, fields, only_drops, masks.

    "fields" has the fields that the dataclass's repr shows. If a class defines its own `__repr__`, some fields may be
    private; then "fields" is empty, and "shown" is the repr.
    """
    printed = is_dataclass(stage) and hasattr(type(stage).__repr__, "__wrapped__")  # by the decorator's own __repr__
    return {
        "label": stated(label or stage.name),
        "class": class_name(type(stage)),
        "version": stage.VERSION,
        "fields": {f.name: stated(getattr(stage, f.name)) for f in fields(stage) if f.repr} if printed else {},
        "only_drops": bool(stage.only_drops),
        **({"masks": True} if masks(stage) else {}),
        **({} if printed else {"shown": stated(repr(stage))}),
    }


def stated(value: Any) -> Any:  # noqa: PLR0911 - one line per kind of value
    """Return `value`, with text in place of integers of over 64 bits and of values whose types JSON lacks."""
    value = value.item() if isinstance(value, np.generic) else value
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return int(value) if -(2**63) <= value < 2**63 else str(int(value))
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else str(float(value))
    if isinstance(value, str):
        return redacted(str(value)).encode("utf-8", "backslashreplace").decode()
    if isinstance(value, (list, tuple, set, frozenset, np.ndarray)):
        items = [stated(v) for v in value]
        return sorted(items, key=str) if isinstance(value, (set, frozenset)) else items
    if isinstance(value, Mapping):
        return {stated(str(k)): stated(v) for k, v in value.items()}
    if isinstance(value, Stage) or (hasattr(value, "fit") and not isinstance(value, type)):
        return describe(value)
    return stated(getattr(value, "__qualname__", None) or str(value))


def labels_of(stages: Sequence[Any]) -> list[str]:
    """Return a unique name per stage of a Pipeline, for statistics, such as Exact(paragraph) and Exact(line).

    Stages with the same name are distinguished by the fields in which they differ, or by a number if no field differs:
    lambda, lambda #2.
    """
    names = [stage.name for stage in stages]
    labels = list(names)
    for name in {n for n in names if names.count(n) > 1}:
        same = [i for i, n in enumerate(names) if n == name]
        described = [describe(stages[i])["fields"] for i in same]
        of_one_class = len({type(stages[i]) for i in same}) == 1
        differing = [f for f in described[0] if of_one_class and len({str(d.get(f)) for d in described}) > 1]
        candidates = (_values(described, differing[:n]) for n in range(1, len(differing) + 1))
        best = next((v for v in candidates if len(set(v)) == len(v)), _values(described, differing))
        for i, value in zip(same, best, strict=True):
            labels[i] = f"{name}({value[:LABEL_CHARS]})" if value else name
    return numbered(labels)


def _values(described: Sequence[Mapping[str, Any]], names: Sequence[str]) -> list[str]:
    """Return the simple values of some fields of each stage, as text."""
    return [", ".join(str(d[n]) for n in names if isinstance(d.get(n), (str, int, float))) for d in described]


def numbered(names: Sequence[str]) -> list[str]:
    """Return unique names: #2, #3 ... is appended to a repeated name, and to a name that dataprep reserves."""
    unique = [READ, FORGET]
    for name in names:
        label, n = name, 1
        while label in unique:
            n += 1
            label = f"{name} #{n}"
        unique.append(label)
    return unique[2:]
