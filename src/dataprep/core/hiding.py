"""Hiding: what stays out of a folder if one of its stages hides what came before it (`Stage.hides`).

All decisions about it are here: statistics without names and texts, no input files, no saved steps.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dataprep.store import files

from . import inputs
from .dataset import Dataset
from .folder import STEPS
from .stats import StageStats, Stats


def hides(stages: Iterable[Any]) -> bool:
    """Return whether one of these Stages or Estimators hides what came before it."""
    return any(stage.hides for stage in stages)


def published(stats: Sequence[StageStats], stages: Sequence[Any]) -> Stats:
    """Return the statistics to save: without names and texts up to and including the last stage that hides.

    stats: those of the reader, if any, then of `stages`.
    """
    hiding = [i for i, stage in enumerate(reversed(stages)) if stage.hides]
    n_hidden = len(stats) - hiding[0] if hiding else 0
    return Stats([one.hidden() if i < n_hidden else one for i, one in enumerate(stats)])


def write_inputs(docs: Dataset, out: str, stages: Sequence[Any] = ()) -> None:
    """Write the names of the input files into `out`, unless a stage of `docs` or one of `stages` hides them."""
    if not hides((*docs.stages, *stages)):
        inputs.write(docs, out)


def remove_steps(out: str, docs: Dataset, steps: Mapping[str, Any]) -> None:
    """Remove the saved steps that a stage hides, those of killed runs and earlier recipes included.

    steps: the stages after those of `docs`, by the name of their step's folder, in order.
    """
    hiding = [i for i, stage in enumerate(steps.values()) if stage.hides]
    if not hiding and not hides(docs.stages):
        return
    kept = set(list(steps)[hiding[-1] + 1 if hiding else 0 :])
    url = files.join(out, STEPS)
    for name in set(files.listdir(url)) - kept:
        files.remove(files.join(url, name))
    if not kept:
        files.remove(url)
