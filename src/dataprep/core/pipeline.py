"""Pipeline: a list of stages, and the loop that joins them into passes, saves what it must, and seals a Dataset.

Consecutive Stages are one pass. Before an Estimator, pending stages are applied and the text is saved, but only if one
of them is not a verdict: Exact -> MinHash -> SuffixArray reads one saved text through the verdicts. Every pass writes
a receipt per part, so a killed run resumes and ends in the same bytes.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dataprep.errors import PlanError, StaleOutput
from dataprep.store import files
from dataprep.store.atomic import is_attempt
from dataprep.store.key import key

from . import forget_list
from .dataset import Dataset, open_dataset
from .estimator import Estimator
from .folder import DATASET, DATASET_FILES, FORGET_LIST, MANIFEST, RECIPE, STEPS, Folder
from .hiding import remove_steps, write_inputs
from .runner import Runner, Serial, guard
from .seal import Seal, manifest
from .stage import Filter, Stage, describe, labels_of, spelled, stated
from .stats import Stats
from .trial import current
from .verdict import Verdict

log = logging.getLogger("dataprep")


@dataclass(frozen=True)
class Step:
    """One stage of a Pipeline: `key` covers the input and everything up to it; `label` is its name in statistics."""

    number: int
    stage: Stage | Estimator
    key: str
    label: str

    @property
    def name(self) -> str:
        """The name of the folder in which it keeps what it finds."""
        label = re.sub(r"\W+", "-", self.label).strip("-")
        return f"{self.number:02d}-{label}-{self.key[:8]}"


class Pipeline:
    """A list of Stages and Estimators that seals one Dataset.

    >>> clean = Pipeline(C4(), Exact(), MinHash()).run(docs, out="work/clean")    # doctest: +SKIP

    A Pipeline without stages copies.
    """

    def __init__(self, *stages: Stage | Estimator) -> None:
        for stage in stages:
            if not isinstance(stage, (Stage, Estimator)):
                msg = f"{stage!r} is not a stage; give stages such as dp.C4(), or wrap a function: dp.Filter(fn)"
                raise PlanError(msg)
        self.stages = stages

    def __repr__(self) -> str:
        return f"Pipeline({', '.join(map(repr, self.stages))})"

    def steps(self, docs: Dataset) -> list[Step]:
        """Return the stages with their keys; raise PlanError if a stage needs a column that does not exist."""
        self._check_columns(docs)
        steps: list[Step] = []
        so_far = docs.key
        for number, (stage, label) in enumerate(zip(self.stages, labels_of(self.stages), strict=True), 1):
            so_far = key((so_far, stage))
            steps.append(Step(number, stage, so_far, label))
        return steps

    def run(self, docs: Dataset, out: str, run: Runner | None = None, *, replace: bool = False) -> Dataset:
        """Apply the stages to `docs`, seal the result in the folder `out`, and return it.

        A finished `out` of the same recipe is opened, an unfinished one is continued. If it was made by another recipe
        or from other input, StaleOutput is raised; with `replace`, it is removed and made again, except for steps that
        did not change.
        """
        guard()
        out = str(out).rstrip("/")
        runner: Runner = run if run is not None else Serial()
        trial = current()
        docs = trial.sample(docs) if trial else docs
        steps = self.steps(docs)
        forgotten = forget_list.wanted(docs, out)
        recipe = {
            "kind": DATASET,
            "key": steps[-1].key if steps else docs.key,
            "stages": [describe(step.stage, step.label) for step in steps],
            **forget_list.noted(forgotten),
        }
        sealed = _claim(out, recipe, replace=replace)
        if sealed is not None:
            remove_steps(out, docs, {step.name: step.stage for step in steps})
            return sealed
        docs = forget_list.without(docs, out, forgotten)
        if runner.workers > 1:
            for stage in (*dict.fromkeys(part.reader for part in docs.parts), *docs.stages, *self.stages):
                stage.warm()
        return self._seal(docs, steps, recipe, out, runner)

    def _seal(self, docs: Dataset, steps: list[Step], recipe: dict[str, Any], out: str, run: Runner) -> Dataset:
        earlier: list[Stats] = []
        saved: list[str] = []
        fits: list[dict[str, Any]] = []  # the facts of each Estimator
        write_inputs(docs, out, self.stages)
        current = docs
        for step in steps:
            stage = step.stage
            if isinstance(stage, Stage):
                current = current.then(stage, labels=[step.label])
                continue
            folder = Folder(files.join(out, STEPS, step.name))
            if not all(isinstance(s, Verdict) for s in current.stages):
                current = self._save(current, folder, run, recipe)
                earlier.append(current.stats)
                saved.append(f"{STEPS}/{step.name}/{folder.input.name}")
            verdict = stage.fit(current, run, folder.url)
            if not isinstance(verdict, Stage):
                msg = f"{type(stage).__name__}.fit returned {verdict!r}; it must return the Stage to apply"
                raise PlanError(msg)
            if run.workers > 1:
                verdict.warm()
            if verdict.hides:
                earlier, saved = [stats.hidden() for stats in earlier], []
            fits.append({**stated(getattr(verdict, "facts", {})), "stage": step.label})
            current = current.then(verdict, labels=[step.label])
        recipe |= {"saved": saved, "fits": fits}
        final = seal(current, out, run, "zstd", recipe, earlier=earlier, label="write")
        for alarm in final.stats.alarms():
            log.warning(alarm)
        remove_steps(out, docs, {step.name: step.stage for step in steps})
        return final

    def _save(self, current: Dataset, step: Folder, run: Runner, of: dict[str, Any]) -> Dataset:
        """Save what is pending before an Estimator reads it more than once."""
        out = step.input.url
        names = current.parts[0].stage_names if current.parts else ()
        stages = [describe(stage, name) for stage, name in zip(current.stages, names, strict=True)]
        recipe = {"kind": DATASET, "key": current.key, "stages": stages}
        recipe |= {name: of[name] for name in ("forgotten",) if name in of}
        return _claim(out, recipe, replace=True) or seal(
            current, out, run, "lz4", recipe, earlier=[], label=" ".join(names)
        )

    def _check_columns(self, docs: Dataset) -> None:
        columns = list(docs.columns)
        decided = None
        for stage in self.stages:
            missing = [c for c in getattr(stage, "needs", ()) if c not in columns]
            if missing:
                msg = (
                    f"{stage.name} needs the column {', '.join(missing)}, which neither the input nor an earlier "
                    f"stage has; there are {', '.join(columns)}; dp.read(..., columns={missing}) lifts it out of meta"
                )
                raise PlanError(msg)
            if isinstance(stage, Stage):
                columns += stage.adds
                if decided and isinstance(stage, Filter):
                    log.warning(
                        "%s filters after %s and may drop the only copy left of a document; put it before",
                        stage.name,
                        decided,
                    )
            else:
                decided = stage.name


def seal(
    docs: Dataset,
    out: str,
    run: Runner,
    codec: str,
    recipe: dict[str, Any],
    *,
    earlier: Sequence[Stats],
    label: str,
) -> Dataset:
    """Write shards, tables, receipts and the manifest; return the Dataset. codec: lz4 for steps, zstd for results."""
    trial = current()
    task = Seal(out, codec, trial.ledgers) if trial else Seal(out, codec)
    receipts = list(run.map(task, docs.tasks, label))
    if len(receipts) != len(docs.parts):
        msg = f"{run!r} returned {len(receipts)} results of {len(docs.parts)} tasks; its map must yield one per item"
        raise PlanError(msg)
    files.sweep(out)
    files.write_json(Folder(out).path(MANIFEST), manifest(docs, recipe, receipts, earlier))
    return open_dataset(out)


def _claim(out: str, recipe: dict[str, Any], *, replace: bool) -> Dataset | None:
    """Return the sealed Dataset if `out` has it; else write the recipe, after removing what may be replaced."""
    folder = Folder(out)
    found = folder.recipe
    same = found.get("key") == recipe["key"]
    if same and found.get("forgotten") == recipe.get("forgotten"):
        return open_dataset(out) if folder.is_sealed else None
    strangers = sorted(n for n in set(files.listdir(out)) - DATASET_FILES - {FORGET_LIST} if not is_attempt(n))
    if strangers:
        msg = f"{out} holds {strangers[0]}, which dataprep did not write; give another folder as out"
        raise StaleOutput(msg)
    if found and not set(files.listdir(out)) <= {RECIPE}:  # a recipe alone has written nothing yet
        if not replace and same:
            raise forget_list.stale(out)
        if not replace:
            stages = " -> ".join(map(spelled, found["stages"])) or "a copy"
            msg = (
                f"{out} was made by another recipe or from other input ({stages}); "
                "give another folder as out, or replace=True"
            )
            raise StaleOutput(msg)
        others = found.get("forgotten") != recipe.get("forgotten")  # then saved steps have other documents
        for name in sorted(DATASET_FILES - (set() if others else {STEPS})):
            files.remove(files.join(out, name))
    files.write_json(folder.path(RECIPE), recipe)
    return None
