"""The view of other thresholds: the decisions of a MinHash or of a filter with scores, made again for another value."""

from __future__ import annotations

import dataclasses
from typing import Any

from dataprep.core.model.batch import show_id
from dataprep.core.model.tables import Drop
from dataprep.dedup.minhash import MinHash
from dataprep.history.texts import pairs_of
from dataprep.history.thresholds import U64, MinHashStep, OtherThreshold, at_thresholds, minhash_of, minhash_steps

from . import limits
from .documents import pair_of
from .index import RunIndex
from .view_query import ViewQuery

STOPS = (-0.1, -0.05, 0.0, 0.05, 0.1, 0.15)  # differences to the run's threshold that the page computes at first
MOST_EXAMPLES, MOST_SOURCES = 6, 200


def thresholds(index: RunIndex, _asked: ViewQuery) -> dict[str, Any]:
    """Return the MinHash stages of the run, each with its threshold, and the filters with scores, with their limits."""
    found: list[dict[str, Any]] = [
        {"stage": step.name, "threshold": step.threshold, "dropped": step.fit["dropped"], "stops": _stops(step),
         "folder": step.folder.url, "limits": []}
        for step in minhash_steps(index.url)
    ]  # fmt: skip
    return {"stages": [*found, *limits.filters(index)]}


def _stops(step: MinHashStep) -> list[float]:
    """Return the thresholds to compute first."""
    return sorted({round(step.threshold + shift, 2) for shift in STOPS if 0 < step.threshold + shift <= 1})


def stops(index: RunIndex, asked: ViewQuery) -> dict[str, Any]:
    """Compute the results at the first thresholds of the MinHash `stage`; each is a part of the answer, without pairs.

    Raises the errors of `at_thresholds`.
    """
    step = minhash_of(index.url, asked.text("stage") or None)
    for at in _stops(step):
        asked.part(_figures(_computed(index, asked, step, at)))
    return {"stops": _stops(step)}


def threshold(index: RunIndex, asked: ViewQuery) -> dict[str, Any]:
    """Return the effect of the threshold `at` in the MinHash `stage`: documents kept again and newly dropped.

    The numbers are those of a full run with the same bands. Raises the errors of `at_thresholds`.
    """
    step, at = minhash_of(index.url, asked.text("stage") or None), asked.number("at")
    return _shown(index, step, _computed(index, asked, step, at))


def _computed(index: RunIndex, asked: ViewQuery, step: MinHashStep, at: float) -> OtherThreshold:
    """Return the result at a threshold, computed once; texts are not kept, as those of other runs may be forgotten."""
    key = (threshold, step.name, at)
    if key not in index.kept:
        (index.kept[key],) = at_thresholds(step, [at], asked.runner, MOST_EXAMPLES)
    found: OtherThreshold = index.kept[key]
    return found


def _shown(index: RunIndex, step: MinHashStep, found: OtherThreshold) -> dict[str, Any]:
    sources = list(found.by_source.items())
    back, new = (_pairs(index, drops) for drops in found.examples)
    return {
        **_figures(found), "back_pairs": back, "new_pairs": new, "n_sources": len(sources),
        "sources": [{"source": name, "back": a, "new": b} for name, (a, b) in sources[:MOST_SOURCES]],
        "code": _code(step, found.threshold),
    }  # fmt: skip


def _figures(found: OtherThreshold) -> dict[str, Any]:
    return {"threshold": found.threshold, "recall": found.recall, "dropped": found.dropped, "back": len(found.back),
            "new": len(found.new)}  # fmt: skip


def _pairs(index: RunIndex, drops: list[Drop]) -> list[dict[str, Any]]:
    documents = pairs_of(index.url, drops)
    return [{**pair_of(index, documents, drop), "id": show_id(drop.id)} for drop in drops]


def _code(step: MinHashStep, at: float) -> str:
    """Return the MinHash with another threshold as Python code; bands and rows are those of the run."""
    changed = {"threshold": at, "bands": step.fit["bands"], "rows": step.fit["rows"]}
    default = {one.name: one.default for one in dataclasses.fields(MinHash)}
    given = {name: value for name, value in step.fields.items() if value != default.get(name)}
    return f"dp.MinHash({', '.join(f'{name}={value!r}' for name, value in {**given, **changed}.items())})"


def changed_documents(index: RunIndex, asked: ViewQuery) -> tuple[str, str, U64, U64]:
    """Return the label and the folder of the stage, and the ids that `threshold` or `limit` states as kept and dropped.

    The parameters are those of `limit` if there is a parameter `limit`, else those of `threshold`.
    """
    if asked.text("limit"):
        filter_, found = limits.computed(index, asked)
        return filter_.at.label, filter_.at.home.url, found.back, found.new
    step, at = minhash_of(index.url, asked.text("stage") or None), asked.number("at")
    other = _computed(index, asked, step, at)
    return step.label, step.folder.url, other.back, other.new
