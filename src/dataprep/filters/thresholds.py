"""Rules of filters that compare a count with a parameter, and checks of these parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from dataprep.errors import PlanError
from dataprep.unicode.text import SPACE, classes

DROPS = {"<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal}


class Threshold(NamedTuple):
    """A rule that drops a document by one comparison; a parameter of None switches the rule off."""

    parameter: str
    score: str
    drops: str  # a key of DROPS
    reason: str


def reasons(stage: Any, rules: Sequence[Threshold], scores: Mapping[str, pa.Array]) -> pa.StringArray:
    """Return the reason of the first rule that drops each row, null to keep it."""
    first = np.full(len(next(iter(scores.values()))), len(rules))
    for k, rule in reversed(list(enumerate(rules))):
        limit = getattr(stage, rule.parameter)
        if limit is not None:
            first[DROPS[rule.drops](scores[rule.score].to_numpy(), limit)] = k
    return pa.array([*(r.reason for r in rules), None], pa.string()).take(pa.array(first))


def check_numbers(stage: Any, rules: Sequence[Threshold]) -> None:
    """Raise PlanError for a threshold that is not a number of at least 0."""
    for rule in rules:
        value = getattr(stage, rule.parameter)
        if value is not None and (isinstance(value, bool) or not isinstance(value, (int, float)) or not value >= 0):
            msg = f"{stage.name}: {rule.parameter}={value!r} must be a number from 0, or None for no rule"
            raise PlanError(msg)


def tuple_of_words(stage: Any, name: str) -> None:
    """Make a list parameter a tuple. Raises PlanError for anything but strings without white space."""
    value = getattr(stage, name)
    value = tuple(value) if isinstance(value, list) else value
    good = isinstance(value, tuple) and all(isinstance(v, str) and v for v in value)
    if not good or any(classes()[ord(c)] & SPACE for v in value for c in v):
        msg = f'{stage.name}: {name}={value!r} must be a tuple of strings without white space, such as (".", "!")'
        raise PlanError(msg)
    object.__setattr__(stage, name, value)


def share(part: Any, whole: Any) -> pa.Array:
    """Return part / whole as float64, 0 if the whole is 0; exact: 3 of 10 equals a threshold of 0.3."""
    return pa.array(np.divide(part, whole, out=np.zeros(len(part)), where=whole > 0))
