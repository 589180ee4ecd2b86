"""The option --json: one JSON object on stdout, with the fields that docs/commands.md lists, and nothing else."""

from __future__ import annotations

import contextlib
import json
import math
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dataprep.core.model.batch import show_id
from dataprep.core.model.dataset import open_dataset
from dataprep.core.model.stats import Amount, Example, StageStats, by_bytes

if TYPE_CHECKING:  # most commands need none of these, and the libraries of tokenizers take a tenth of a second to load
    from dataprep.core.model.dataset import Dataset
    from dataprep.history.trials import Estimate
    from dataprep.tokens.shards.verify import Problem
    from dataprep.train.plan import TrainingCost

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of tables.")]
SCHEMA = 1  # raised if a field is renamed or removed, or if it changes its meaning


@contextlib.contextmanager
def only_json(wanted: bool) -> Iterator[None]:  # noqa: FBT001 - the value of the option
    """If JSON is wanted, redirect stdout to stderr inside the `with` statement."""
    with contextlib.redirect_stdout(sys.stderr) if wanted else contextlib.nullcontext():
        yield


def print_json(figures: dict[str, Any]) -> None:
    """Print figures as one JSON object on one line; numbers that JSON does not have (NaN, infinity) are null."""
    print(json.dumps(_plain(figures), allow_nan=False))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def of_dataset(docs: Dataset, examples: int, source: str | None) -> dict[str, Any]:
    """Return the figures of a sealed Dataset: its stages, estimators, unread files and alarms.

    - examples: dropped documents per reason.
    - source: the only source to include; None: all sources are included.
    """
    return {
        "folder": docs.url, "documents": docs.sealed.docs, "bytes": docs.sealed.bytes,
        "stages": [_stage(stage, examples, source) for stage in docs.stats],
        "estimators": docs.sealed.fits, "unread": docs.unread().to_pylist(),
        "alarms": docs.stats.alarms(),
    }  # fmt: skip


def of_duplicates(folder: str) -> tuple[dict[str, Any] | None, list[str], str]:
    """Return the figures of the duplicates that a run dropped, alarms, and a sentence about what is not included.

    The figures are None if the folder contains several results, as `family` defines them.
    """
    from dataprep.core.output.lineage import family, left_out
    from dataprep.errors import PlanError
    from dataprep.history.clusters import find_clusters, pair_alarms

    try:
        members = family(folder, saved=False)
    except PlanError as e:
        return None, [], str(e)
    found, stages = find_clusters(folder), [stage for one in members for stage in open_dataset(one.url).stats]
    lost, pairs = found.no_survivor(), found.source_pairs()
    alarms = pair_alarms(pairs, stages)
    figures = {
        "documents": lost.of, "no_survivor": lost.n, "clusters_without_survivor": len(lost.roots),
        "sources": [{"source": a, "duplicate_of_source": b, "documents": n} for (a, b), n in pairs.most_common()],
        "alarms": alarms,
    }  # fmt: skip
    return figures, [*alarms, *([str(lost)] if lost.n else [])], left_out(folder)


def _stage(stage: StageStats, examples: int, source: str | None) -> dict[str, Any]:
    names = [name for name in sorted(stage.into) if source in (None, name)]
    reasons = sorted(stage.dropped.items())
    dropped = {reason: {name: _amount(of[name]) for name in names if name in of} for reason, of in reasons}

    def some(found: Sequence[Example]) -> list[Example]:
        return [e for e in found if source in (None, e.source)][:examples]

    shown = {
        reason: [
            {
                "id": show_id(e.id), "source": e.source, "text": e.text, "similarity": e.similarity,
                "duplicate_of": None if e.duplicate_of is None else show_id(e.duplicate_of),
            }
            for e in some(found)
        ]
        for reason, found in sorted(stage.examples.items())
    }  # fmt: skip
    cuts = {
        rule: {
            "cuts": found.times, "bytes": found.bytes,
            "examples": [{"id": show_id(e.id), "source": e.source, "text": e.text} for e in some(found.examples)],
        }
        for rule, found in by_bytes(stage.cuts)
    }  # fmt: skip
    none = Amount()
    return {
        "stage": stage.name,
        "sources": {n: {"in": _amount(stage.into[n]), "out": _amount(stage.out.get(n, none))} for n in names},
        "dropped": {reason: of for reason, of in dropped.items() if of},
        "cut_bytes": stage.cut, "added_bytes": stage.added, "cuts": cuts,
        "counts": dict(sorted(stage.counts.items())),
        "examples": {reason: found for reason, found in shown.items() if found},
    }  # fmt: skip


def _amount(amount: Amount) -> dict[str, int]:
    return {"documents": amount.docs, "bytes": amount.bytes}


def of_estimate(found: Estimate, workers: int, allowed: int, worker_bytes: int) -> dict[str, Any]:
    """Return the figures of `plan`.

    - allowed: bytes of memory that may be used.
    - worker_bytes: memory of one worker.
    """
    needs = [("all workers together", found.needed_bytes(workers, allowed))]
    needs += [(held.what, held.n_bytes + worker_bytes) for held in found.reserved]
    return {
        "schema": SCHEMA, "stored_bytes": found.stored_bytes, "text_bytes": found.text_bytes,
        "sample_bytes": found.sample_bytes, "workers": workers,
        "steps": [
            {
                "step": cost.step, "passes": cost.n_passes, "disk_bytes": cost.disk_bytes,
                "most_bytes": cost.most_bytes, "seconds": cost.seconds / workers,
                "cpu_seconds": cost.cpu_seconds, "peak_bytes": cost.peak_bytes,
            }
            for cost in found.costs
        ],
        "memory_bytes": allowed,
        "needs": [{"what": what, "bytes": needed, "fits": needed <= allowed} for what, needed in needs],
    }  # fmt: skip


def of_trainings(found: Sequence[tuple[str, TrainingCost]], mfu: float) -> list[dict[str, Any]]:
    """Return the figures of the trainings that `plan` estimates.

    - mfu: the share of a GPU's peak operations per second that is assumed.
    """
    rows = []
    for step, cost in found:
        rows.append({
            "step": step, "parameters": cost.parameters, "steps": cost.steps, "tokens": cost.tokens,
            "passes": cost.epochs, "flops": cost.flops, "state_bytes": cost.state_bytes, "row_bytes": cost.row_bytes,
            "mfu": mfu,
            "cards": [{"card": on.card, "fits": on.rows is not None, "rows": on.rows, "bytes": on.n_bytes,
                       "seconds": on.seconds} for on in cost.on_each(mfu)],
        })  # fmt: skip
    return rows


def of_folder(url: str, problems: list[Problem], totals: dict[str, Any] | None) -> dict[str, Any]:
    """Return the problems that `verify` found in a folder.

    - totals: the totals of the folder's manifest; None if the manifest is damaged.
    """
    stated = totals or dict.fromkeys(("kind", "documents", "bytes", "tokens", "root"))
    found = [{"file": p.file, "problem": p.found, "fix": p.do} for p in problems]
    return {"folder": url, "good": not problems, **stated, "problems": found}
