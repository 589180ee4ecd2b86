"""The view of other limits of filters with scores: stored scores, or documents that the filter measures again."""

from __future__ import annotations

import math
from dataclasses import fields
from typing import Any

from dataprep.core.model.batch import show_id
from dataprep.core.model.tables import Drop
from dataprep.errors import PlanError, require
from dataprep.filters.thresholds import given_fields
from dataprep.history.scored import (
    OtherValue,
    ScoredStep,
    Scores,
    at_values,
    measured_scores,
    scored_of,
    scored_steps,
    stored_scores,
)
from dataprep.history.texts import pairs_of

from .documents import TITLE_CHARS
from .index import RunIndex
from .view_query import ViewQuery

FACTORS = (0.25, 0.5, 0.8, 0.9, 1.0, 1.1, 1.25, 2.0, 4.0)  # of a limit in the run, to compute at first
SAMPLE = 10_000  # documents
MOST_EXAMPLES, MOST_SOURCES = 12, 200
MEASURE = ("", "sample", "all")


def filters(index: RunIndex) -> list[dict[str, Any]]:
    """Return the filters with scores of the run, each with its limits and the values to compute first."""
    return [
        {"stage": step.at.name, "dropped": step.at.stats.docs_dropped, "documents": step.at.stats.docs_in,
         "folder": step.at.final.url,
         "limits": [{"name": one.name, "value": one.value, "stops": _stops(step, one.name, one.value)}
                    for one in step.limits]}
        for step in scored_steps(index.url) if step.limits
    ]  # fmt: skip


def _stops(step: ScoredStep, name: str, value: float) -> list[float]:
    """Return multiples of a limit that the filter accepts, rounded to three digits; 0 and 1 around a limit of 0."""
    found = {_rounded(value * factor, whole=isinstance(value, int)) for factor in FACTORS} if value else {0.0, 0.5, 1.0}
    return sorted(one for one in {*found, value} if _is_valid(step, name, one))


def _rounded(value: float, *, whole: bool) -> float:
    return float(round(value)) if whole else round(value, 2 - math.floor(math.log10(abs(value))))


def _is_valid(step: ScoredStep, name: str, value: float) -> bool:
    try:
        step.changed(name, value)
    except PlanError:
        return False
    return True


def limit(index: RunIndex, asked: ViewQuery) -> dict[str, Any]:
    """Return the effect of the value `at` of the limit `limit` of the filter `stage`, and the figures of other values.

    Parameters: measure, "" for stored scores, "sample" to measure a sample of the documents again, or "all".
    Raises the errors of `measured_scores` and `at_values`.
    """
    step = scored_of(index.url, asked.text("stage") or None)
    one = step.limit(asked.text("limit") or None)
    at = asked.number("at") if asked.text("at") else one.value
    scores = _scores(index, asked, step)
    if scores is None:
        return {"stage": step.at.name, "limit": one.name, "value": at, "documents": step.at.stats.docs_in, "how": None}
    (found,) = at_values(step, scores, one.name, [at], MOST_EXAMPLES)
    stops = at_values(step, scores, one.name, _stops(step, one.name, one.value))
    sources = list(found.by_source.items())
    back, new = (_documents(index, drops) for drops in found.examples)
    return {
        "stage": step.at.name, "limit": one.name, **_figures(found), "unknown": found.unknown, "known": found.known,
        "documents": step.at.stats.docs_in, "stops": [_figures(stop) for stop in stops], "back_docs": back,
        "new_docs": new, "n_sources": len(sources), "code": _code(step, one.name, at),
        "sources": [{"source": name, "back": a, "new": b} for name, (a, b) in sources[:MOST_SOURCES]],
    }  # fmt: skip


def computed(index: RunIndex, asked: ViewQuery) -> tuple[ScoredStep, OtherValue]:
    """Return the filter, and its result with the value, by the parameters of `limit`.

    Raises PlanError if the scores are not stored, and the parameter `measure` is missing.
    """
    step = scored_of(index.url, asked.text("stage") or None)
    scores = _scores(index, asked, step)
    require(scores is not None, f"the scores of {step.at.name} are not stored; measure the documents again")
    assert scores is not None
    return step, at_values(step, scores, asked.text("limit"), [asked.number("at")])[0]


def _scores(index: RunIndex, asked: ViewQuery, step: ScoredStep) -> Scores | None:
    """Return the scores to decide by, which are read or measured once per index; None if none are stored."""
    how = asked.choice("measure", MEASURE) if asked.text("measure") else ""
    key = (limit, step.at.name, how)
    if key not in index.kept:
        sample = SAMPLE if how == "sample" else None
        index.kept[key] = measured_scores(step, asked.runner, sample) if how else stored_scores(step)
    found: Scores | None = index.kept[key]
    return found


def _figures(found: OtherValue) -> dict[str, Any]:
    return {"value": found.value, "how": found.how, "is_known": found.is_known, "dropped": found.dropped,
            "back": len(found.back), "new": len(found.new), "intervals": found.intervals}  # fmt: skip


def _documents(index: RunIndex, drops: list[Drop]) -> list[dict[str, Any]]:
    """Return documents at the border, with the beginnings of their texts; null for those that cannot be shown."""
    documents = pairs_of(index.url, drops)
    rows = [documents.dropped(drop) for drop in drops]
    return [
        {"id": show_id(drop.id), "value": drop.value, "label": drop.label, "reason": drop.reason,
         "source": None if row is None else row["source"],
         "text": None if row is None else str(row["text"])[:TITLE_CHARS]}
        for drop, row in zip(drops, rows, strict=True)
    ]  # fmt: skip


def _code(step: ScoredStep, name: str, value: float) -> str:
    """Return the filter with another value of a limit as Python code, with the parameters that are not defaults."""
    made, kind = step.changed(name, value), type(step.filter)
    given = given_fields(made)
    presets = [one for one in fields(made) if one.name == "preset"]  # type: ignore[arg-type]  # filters are dataclasses
    if presets:
        try:  # a preset sets the parameters that are not given
            usual: Any = kind(preset=made.preset)  # type: ignore[attr-defined]
            given = {one: own for one, own in given.items() if one == "preset" or own != getattr(usual, one)}
        except (PlanError, TypeError):
            pass
        if given.get("preset", presets[0].default) == presets[0].default:
            given.pop("preset", None)
    first = [repr(one) for one in given.pop("languages", ())] if kind.__name__ == "Language" else []
    return f"dp.{kind.__name__}({', '.join([*first, *(f'{one}={own!r}' for one, own in given.items())])})"
