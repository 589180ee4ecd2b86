"""The view of other MinHash thresholds: the decisions of a full run, recomputed from its stored candidates."""

from __future__ import annotations

import dataclasses
from typing import Any

from dataprep.core.model.batch import show_id
from dataprep.core.model.tables import Drop
from dataprep.core.run.runner import Serial
from dataprep.dedup.minhash import MinHash
from dataprep.history.texts import pairs_of
from dataprep.history.thresholds import MinHashStep, OtherThreshold, at_thresholds, minhash_of, minhash_steps

from .documents import pair_of
from .index import RunIndex
from .view_query import ViewQuery

STOPS = (-0.1, -0.05, 0.0, 0.05, 0.1, 0.15)  # differences to the run's threshold that the page computes at first
MOST_EXAMPLES, MOST_SOURCES = 6, 200


def thresholds(index: RunIndex, _asked: ViewQuery) -> dict[str, Any]:
    """Return the MinHash stages of the run, each with its threshold and the thresholds to compute first."""
    found = []
    for step in minhash_steps(index.url):
        stops = sorted({round(step.threshold + shift, 2) for shift in STOPS if 0 < step.threshold + shift <= 1})
        found.append({"stage": step.label, "threshold": step.threshold, "dropped": step.fit["dropped"], "stops": stops,
                      "folder": step.folder.url})  # fmt: skip
    return {"stages": found}


def threshold(index: RunIndex, asked: ViewQuery) -> dict[str, Any]:
    """Return the effect of the threshold `at` in the MinHash `stage`: documents kept again and newly dropped.

    The numbers are those of a full run with the same bands. Raises the errors of `at_thresholds`.
    """
    step, at = minhash_of(index.url, asked.text("stage") or None), asked.number("at")
    key = (threshold, step.label, at)
    if key not in index.kept:
        (found,) = at_thresholds(step, [at], Serial(), MOST_EXAMPLES)
        index.kept[key] = _shown(index, step, found)
    return dict(index.kept[key])


def _shown(index: RunIndex, step: MinHashStep, found: OtherThreshold) -> dict[str, Any]:
    sources = list(found.by_source.items())
    back, new = (_pairs(index, drops) for drops in found.examples)
    return {
        "threshold": found.threshold, "recall": found.recall, "dropped": found.dropped, "back": len(found.back),
        "new": len(found.new), "back_pairs": back, "new_pairs": new, "n_sources": len(sources),
        "sources": [{"source": name, "back": a, "new": b} for name, (a, b) in sources[:MOST_SOURCES]],
        "code": _code(step, found.threshold),
    }  # fmt: skip


def _pairs(index: RunIndex, drops: list[Drop]) -> list[dict[str, Any]]:
    documents = pairs_of(index.url, drops)
    return [{**pair_of(index, documents, drop), "id": show_id(drop.id)} for drop in drops]


def _code(step: MinHashStep, at: float) -> str:
    """Return the MinHash with another threshold as Python code; bands and rows are those of the run."""
    changed = {"threshold": at, "bands": step.fit["bands"], "rows": step.fit["rows"]}
    default = {one.name: one.default for one in dataclasses.fields(MinHash)}
    given = {name: value for name, value in step.fields.items() if value != default.get(name)}
    return f"dp.MinHash({', '.join(f'{name}={value!r}' for name, value in {**given, **changed}.items())})"
