"""The experiments in the folder of a run: their results, and the losses during their trainings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from dataprep.store import files

from .status import metrics_rows

JSON = "experiment.json"
POINTS = 40  # of a curve; each is the mean of equally many steps
FIELDS = {"baseline", "versions", "measures", "about"}

Curves = dict[str, list[list[tuple[float, float]]]]
"""{version: a curve per seed, as points (tokens read, mean loss in nats per token)}."""


@dataclass(frozen=True)
class FoundExperiment:
    """The result of an experiment.

    Attributes:
        name: the name of its folder.
        content: what experiment.json has: baseline, versions, measures and about.
        curves: the training losses.
    """

    name: str
    content: dict[str, Any]
    curves: Curves


def found_experiments(folder: str) -> list[FoundExperiment]:
    """Return the experiments in a folder and in the folders directly inside it.

    Damaged results are left out, and so are sweeps over mixtures that compared no versions.
    """
    found = []
    for home in (folder, *(files.join(folder, name) for name in sorted(files.listdir(folder)))):
        place = files.join(home, JSON)
        if files.is_dir(home) and files.exists(place):
            try:
                with files.open_raw(place) as f:
                    content = orjson.loads(f.read())
            except orjson.JSONDecodeError:
                continue
            if isinstance(content, dict) and content.keys() >= FIELDS and content["measures"]:
                found.append(FoundExperiment(files.name_of(home) or home, content, curves_of(home, content)))
    return found


def curves_of(folder: str, content: Mapping[str, Any]) -> Curves:
    """Return the training losses of each version's runs.

    Runs whose metrics were deleted have no curve.

    Args:
        folder: the folder of the experiment.
        content: what its experiment.json has.
    """
    config = content["about"]["config"]
    per_step = config["batch"] * config["model"]["context"]
    found: Curves = {}
    for name, version in content["versions"].items():
        places = [files.join(folder, run, "metrics.jsonl") for run in version["runs"]]
        each = (_curve(metrics_rows(place), per_step) for place in places if files.exists(place))
        found[name] = [curve for curve in each if curve]
    return found


def _curve(rows: list[dict[str, Any]], per_step: int) -> list[tuple[float, float]]:
    points = [(row["step"] * per_step, row["loss"]) for row in rows if row.get("loss") is not None]
    n = max(1, -(-len(points) // POINTS))
    groups = (points[i : i + n] for i in range(0, len(points), n))
    return [(float(group[-1][0]), sum(loss for _, loss in group) / len(group)) for group in groups]
