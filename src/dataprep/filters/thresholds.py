"""Parameters of filters: rules that compare a score with a number, checks of values, and lists read from a file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from dataprep.core.model.score import number_or_null
from dataprep.errors import PlanError, ReadError
from dataprep.lazy import compute as pc
from dataprep.store import files
from dataprep.unicode.spaced import CHOICES
from dataprep.unicode.text import SPACE, classes

PRESET: Any = "preset"  # default of a parameter whose value the preset sets; None switches a rule off
DROPS = {"<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal}


class Threshold(NamedTuple):
    """A rule that drops a document if its score is below or above a limit.

    Attributes:
        parameter: the name of the stage's parameter that has the limit; if the limit is None, the rule is off.
        score: the name of the score column.
        drops: the comparison that drops a document: "<", "<=", ">" or ">=".
        reason: the drop reason.
    """

    parameter: str
    score: str
    drops: str  # a key of DROPS
    reason: str


def reasons(stage: Any, rules: Sequence[Threshold], scores: Mapping[str, pa.Array]) -> pa.StringArray:
    """Return, for each document, the reason of the first rule that drops it; null if no rule does.

    - stage: the stage whose attributes contain the limits.
    - scores: the score columns, by name; a null score never drops a document.
    """
    first = np.full(len(next(iter(scores.values()))), len(rules))
    for k, rule in reversed(list(enumerate(rules))):
        limit = getattr(stage, rule.parameter)
        if limit is not None:
            first[DROPS[rule.drops](scores[rule.score].to_numpy(zero_copy_only=False), limit)] = k
    return pa.array([*(r.reason for r in rules), None], pa.string()).take(pa.array(first))


def compared(
    rules: Sequence[Threshold], scores: Mapping[str, pa.Array], reasons: pa.StringArray
) -> Mapping[str, pa.Array]:
    """Return the column `value` of the drop table: for each document, the score that the rule of its reason compared.

    Args:
        rules: the rules, each with a different reason.
        scores: the score columns by name.
        reasons: one reason per document; null if it is kept.
    """
    of = pc.index_in(reasons, pa.array([rule.reason for rule in rules], pa.string())).fill_null(-1).to_numpy()
    values = np.full(len(of), np.nan)
    for k in np.unique(of[of >= 0]).tolist():
        mine = of == k
        values[mine] = scores[rules[k].score].to_numpy(zero_copy_only=False)[mine]
    return {"value": number_or_null(values)}


def check_preset(stage: Any, presets: Iterable[str]) -> None:
    """Raise PlanError if the parameter `preset` of a stage is not among the names `presets`."""
    names = list(presets)
    if stage.preset not in names:
        shown = [repr(name) for name in names]
        known = " or ".join(shown) if len(shown) == 2 else f"one of {', '.join(shown)}"
        msg = f"{stage.name}: preset={stage.preset!r} must be {known}"
        raise PlanError(msg)


def take_preset(stage: Any, presets: Mapping[str, Mapping[str, Any]]) -> None:
    """Set each parameter of a stage that has the value PRESET to the value in its preset.

    - presets: {name of a preset: {parameter: value}}.

    Raises PlanError if the stage's preset is not among `presets`.
    """
    check_preset(stage, presets)
    for name, value in presets[stage.preset].items():
        if getattr(stage, name) == PRESET:
            object.__setattr__(stage, name, value)


def check_words(stage: Any) -> None:
    """Raise PlanError if the parameter `word_split` of a stage is not a known kind of word."""
    if stage.word_split not in CHOICES:
        msg = f"{stage.name}: word_split={stage.word_split!r} must be {' or '.join(map(repr, CHOICES))}"
        raise PlanError(msg)


def check_numbers(stage: Any, parameters: Iterable[str], *, most: float = float("inf")) -> None:
    """Raise PlanError if one of the named parameters of a stage is below 0, above `most`, or not a number.

    None is allowed, since it switches a rule off. Of two parameters min_NAME and max_NAME, the first must not exceed
    the second.
    """
    for name in parameters:
        value = getattr(stage, name)
        if value is not None and (isinstance(value, bool) or not isinstance(value, (int, float)) or not value >= 0):
            msg = f"{stage.name}: {name}={value!r} must be a number of at least 0, or None to switch the rule off"
            raise PlanError(msg)
        if value is not None and value > most:
            msg = f"{stage.name}: {name}={value!r} must be at most {most:g}, or None to switch the rule off"
            raise PlanError(msg)
        least = getattr(stage, f"min_{name[4:]}", None) if name.startswith("max_") else None
        if isinstance(least, (int, float)) and value is not None and least > value:
            msg = f"{stage.name}: min_{name[4:]}={least!r} must be at most {name}={value!r}, or no document is kept"
            raise PlanError(msg)


def range_of(keep: Any, low: float, high: float, examples: str) -> tuple[float, float]:
    """Return (low, high), the bounds in the pair `keep`, in which `low` or `high` replaces None.

    Raises PlanError, with `examples` of valid values in the message, if the bounds do not form a range.
    """
    try:
        bounds = [edge if x is None else float(x) for x, edge in zip(keep, (low, high), strict=True)]
    except (TypeError, ValueError):
        bounds = [1.0, 0.0]
    if not bounds[0] < bounds[1]:
        msg = f"score_range={keep!r} must be {examples}"
        raise PlanError(msg)
    return bounds[0], bounds[1]


def outside(scores: pa.Array, bounds: tuple[float, float], name: str) -> Any:
    """Return drop reasons, object[n]: NAME_low for scores < bounds[0], NAME_high for scores >= bounds[1], else None.

    - name: the NAME of these reasons.
    """
    values = np.asarray(scores.to_numpy(zero_copy_only=False), np.float64)
    why = np.full(len(values), None, object)
    why[values < bounds[0]], why[values >= bounds[1]] = f"{name}_low", f"{name}_high"
    return why


def tuple_of_words(stage: Any, name: str) -> None:
    """Check the parameter `name` of a stage, and turn it into a tuple if it is a list.

    Raises PlanError if the parameter contains a string with white space, or a value that is not a string.
    """
    value = getattr(stage, name)
    value = tuple(value) if isinstance(value, list) else value
    good = isinstance(value, tuple) and all(isinstance(v, str) and v for v in value)
    if not good or any(classes()[ord(c)] & SPACE for v in value for c in v):
        msg = f'{stage.name}: {name}={value!r} must be a tuple of strings without white space, such as (".", "!")'
        raise PlanError(msg)
    object.__setattr__(stage, name, value)


def share(part: Any, whole: Any) -> pa.Array:
    """Return part / whole element by element, float64[n]; 0 if the whole is 0.

    The quotient is rounded once, so that 3 / 10 is equal to a threshold of 0.3.
    """
    return pa.array(np.divide(part, whole, out=np.zeros(len(part)), where=whole > 0))


def read_list(stage: str, url: str) -> str:
    """Return the text of the file `url`, a list with one entry per line.

    - stage: the name of the stage, for messages.

    Raises PlanError if the file cannot be read or is not UTF-8.
    """
    try:
        with files.open_read(url) as f:
            return f.read().decode("utf-8-sig")
    except (OSError, ReadError) as e:
        msg = f"{stage} cannot read the list {url}: {e}; pass its URL, or the entries as a tuple"
        raise PlanError(msg) from e
    except UnicodeDecodeError as e:
        msg = f"the list {url} must be UTF-8 (byte {e.start} is not); convert it, one entry per line"
        raise PlanError(msg) from e


def given_fields(stage: Any) -> dict[str, Any]:
    """Return the parameters of a stage that differ from their defaults."""
    given = {f.name: (getattr(stage, f.name), f.default) for f in fields(stage) if f.init}
    return {name: value for name, (value, default) in given.items() if value != default}


def range_elsewhere(stage: Any, name: str, value: Any) -> PlanError:
    """Return the PlanError for a filter that was given `cut` or `top`, parameters that only `Percentiles` has.

    Args:
        stage: the filter.
        name: the parameter's name.
        value: the parameter's value. The message states the code to write instead.
    """
    kind, given = type(stage).__name__, given_fields(stage)
    old = ", ".join(f"{k}={v!r}" for k, v in (given | {name: value}).items())
    new = ", ".join(f"{k}={v!r}" for k, v in given.items() if k != "keep")
    return PlanError(f"{kind}({old}) must be written Percentiles({kind}({new}), {name}={value!r})")
