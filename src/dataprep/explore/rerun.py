"""The view of a run without one of its stages, or with other parameters of it, on a random sample."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

from dataprep.core.model.batch import show_id
from dataprep.errors import PlanError
from dataprep.history.stage_input import RunStage, run_stages
from dataprep.history.what_if import SAMPLE, WhatIf, parameter_of, what_if

from .index import RunIndex
from .view_query import ViewQuery

MOST_SAMPLE, MOST_SOURCES = 1 << 40, 200
SIMPLE = (bool, int, float, str)


def changeable(index: RunIndex, _asked: ViewQuery) -> dict[str, Any]:
    """Return the stages of the run, each with its simple parameters, or why a sample cannot answer."""
    return {"sample": SAMPLE, "stages": [_stage(one) for one in run_stages(index.url)]}


def _stage(one: RunStage) -> dict[str, Any]:
    found: dict[str, Any] = {"stage": one.name, "parameters": [], "refused": None, "later": one.later}
    if one.is_estimator:
        return {**found, "refused": "it reads all documents before it decides, and a sample has far fewer duplicates "
                "than the corpus: see Threshold, or run the Pipeline with the change and compare the runs"}  # fmt: skip
    try:
        stage = one.made()
    except PlanError as e:
        return {**found, "refused": str(e)}
    if stage.hides:
        return {**found, "refused": "it hides what it reads"}
    own: list[str] = [each.name for each in fields(stage) if each.init and each.repr] if is_dataclass(stage) else []
    values = {name: getattr(stage, name) for name in own}
    simple = {name: value for name, value in values.items() if value is None or isinstance(value, SIMPLE)}
    return {**found, "parameters": [{"name": name, "value": repr(value)} for name, value in simple.items()]}


def what_if_changed(index: RunIndex, asked: ViewQuery) -> dict[str, Any]:
    """Return the documents that come back and are newly dropped without the stage `stage`, or with `change`.

    Parameters: change, "NAME=VALUE", or "" to leave the stage out; sample, the number of documents, 0 for all. Raises
    the errors of `what_if`.
    """
    change = dict([parameter_of(asked.text("change"))]) if asked.text("change") else None
    sample = asked.integer("sample", SAMPLE, MOST_SAMPLE)
    key = (what_if_changed, asked.text("stage"), asked.text("change"), sample)
    if key not in index.kept:
        index.kept[key] = what_if(index.url, asked.text("stage"), change, sample=sample or None, runner=asked.runner)
    return _shown(index, index.kept[key], sample)


def _shown(index: RunIndex, found: WhatIf, sample: int) -> dict[str, Any]:
    changed = [(name, *row) for name, row in found.by_source.items() if any(row[1:])]
    back, new = ([show_id(one) for one in some] for some in found.examples)
    given = [repr(index.url), repr(found.stage)] + ([] if found.change is None else [repr(dict(found.change))])
    return {
        "stage": found.stage, "documents": found.documents, "sample": found.sample, "kept": found.kept,
        "back": found.back._asdict(), "new": found.new._asdict(),
        "text": None if found.text is None else found.text._asdict(), "later": found.later, "back_docs": back,
        "new_docs": new, "n_sources": len(changed), "sources": changed[:MOST_SOURCES],
        "code": f"dp.tools.what_if({', '.join(given)}, sample={sample or None})",
    }  # fmt: skip
