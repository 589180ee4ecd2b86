"""Warn of sources that a rule `keep="source:A,B"` names but that no document has."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from typing import Any

from ..model.dataset import Dataset
from ..model.part import Sealed
from ..model.stats import HIDDEN, Stats

log = logging.getLogger("dataprep")
SHOWN = 10  # maximum number of sources in a message


def sources_of(docs: Dataset) -> set[str] | None:
    """Return the sources of a Dataset's documents if they are known before reading, else None."""
    if any(isinstance(part.reader, Sealed) for part in docs.parts):
        return sources_in(docs.stats)
    if any(getattr(part.reader.plain, "source", "") for part in docs.parts):  # a field of each record names it
        return None
    return {piece.source for part in docs.parts for piece in part.slices} or None


def sources_in(stats: Stats) -> set[str] | None:
    """Return the sources of the documents that the last stage in `stats` returned; None if they are not recorded."""
    found = set(stats.stages[-1].out) if stats.stages else set()
    return None if HIDDEN in found or not found else found


def warn_of_absent(stages: Sequence[Any], known: Iterable[str]) -> None:
    """Log a warning for each source that the rule `keep="source:A,B"` of a stage names and `known` does not contain."""
    names = sorted(known)
    for stage in stages:
        kind, _, what = str(getattr(stage, "keep", "")).partition(":")
        wanted = [name.strip() for name in what.split(",") if name.strip()] if kind == "source" else []
        absent = [name for name in wanted if name not in names]
        if absent:
            shown = ", ".join(names[:SHOWN]) + (" ..." if len(names) > SHOWN else "")
            log.warning(
                "%s: keep=%r names %s, which no document has as its source; the sources are %s",
                stage.name, stage.keep, ", ".join(absent), shown,
            )  # fmt: skip
