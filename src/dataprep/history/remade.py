"""Reconstruct the stages of a run from their descriptions in its manifest."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from typing import Any

from dataprep.core.model.describe import describe
from dataprep.core.model.stage import Stage, masks
from dataprep.core.output.lineage import family


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
            fields = {name: tuple(v) if isinstance(v, list) else v for name, v in described["fields"].items()}
            try:
                stage = kind(**fields)
            except Exception:  # noqa: BLE001 - such as a model that was moved: there is no replay
                return None
            return stage if describe(stage, described["label"]) == described else None
    return None


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
        if stage is not None and masks(stage):
            found.append(stage)
    return found
