"""Pipeline: a list of stages, run in as few passes as possible; the result is a folder, opened as a Dataset.

Consecutive Stages are run in one pass. Before an Estimator, the stages that are still to be applied are run and the
text is saved, but only if one of these stages changes or reads text. Drops and cuts of earlier Estimators are applied
while reading; so Exact, MinHash and SuffixArray in a row all read the same saved copy of the text. Every task writes a
receipt of its work, so a killed run resumes and writes the same bytes.
"""

from __future__ import annotations

import contextlib
import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass, is_dataclass
from typing import Any

from dataprep.errors import PlanError
from dataprep.store import failure, files, lease
from dataprep.store.key import key

from .inputs import origin as inputs
from .inputs.sources import sources_in, sources_of, warn_of_absent
from .model import blame
from .model.batch import Ids
from .model.dataset import Dataset, check_dataset
from .model.describe import describe, labels_of, stated
from .model.estimator import Estimator
from .model.stage import Filter, Stage, n_hidden
from .model.stats import Stats
from .model.unread import Unread, rows_of, without_names
from .model.verdict import Verdict
from .output import forget_list, owned, quarantine
from .output.audit import Search
from .output.changed import take_over
from .output.claim import check_apart, claim, is_finished
from .output.layout import DATASET, STEPS, Folder, folder_url, step_name
from .run.context import context_of
from .run.runner import Runner
from .run.seal import seal
from .run.workers import guard

log = logging.getLogger("dataprep")


@dataclass(frozen=True)
class Step:
    """One stage of a Pipeline, numbered from 1.

    key: a hash of the input and of all stages up to this one. label: the stage's name in statistics.
    """

    number: int
    stage: Stage | Estimator
    key: str
    label: str

    @property
    def name(self) -> str:
        """The name of the stage's folder inside OUT/steps: number, label and start of the key, joined by hyphens."""
        label = re.sub(r"\W+", "-", self.label).strip("-")
        return step_name(self.number, label, self.key)


class Pipeline:
    """A list of Stages and Estimators; `run` applies them to a Dataset and saves the result in a folder.

    >>> clean = Pipeline(C4(), Exact(), MinHash()).run(docs, out="work/clean")    # doctest: +SKIP

    A Pipeline without stages copies its input.
    """

    def __init__(self, *stages: Stage | Estimator) -> None:
        for stage in stages:
            if not isinstance(stage, (Stage, Estimator)):
                msg = f"{stage!r} is not a stage; give stages such as dp.C4(), or wrap a function: dp.Filter(fn)"
                raise PlanError(msg)
            if is_dataclass(stage) and not type(stage).__dataclass_params__.frozen:
                msg = f"{type(stage).__name__} must be frozen, since workers get copies; write @dataclass(frozen=True)"
                raise PlanError(msg)
        self.stages = stages

    def __repr__(self) -> str:
        return f"Pipeline({', '.join(map(repr, self.stages))})"

    def steps(self, docs: Dataset) -> list[Step]:
        """Return the stages with their numbers, keys and labels, for the input `docs`; nothing is run.

        Raises PlanError if a stage needs a column that does not exist, or must see what an earlier stage has lost.
        """
        self._check_columns(docs)
        _lost(docs, self.stages)
        steps: list[Step] = []
        so_far = docs.key
        for number, (stage, label) in enumerate(zip(self.stages, labels_of(self.stages), strict=True), 1):
            so_far = key((so_far, stage))
            steps.append(Step(number, stage, so_far, label))
        return steps

    def run(self, docs: Dataset, out: str, run: Runner | None = None, *, replace: bool = False) -> Dataset:
        """Apply the stages to `docs`, save the result in the folder `out`, and return it as a Dataset.

        A finished result of the same stages and input is only opened, and an unfinished one is continued. run: the
        Runner, which decides how many tasks run at once; None: `Serial()`. replace: if `out` was made by other stages
        or from other input, True makes the result again, except for steps that did not change; False raises
        StaleOutput.
        """
        guard()
        check_dataset(docs)
        out = folder_url(out)
        context = context_of(run)
        docs = context.trial.sample(docs) if context.trial else docs
        check_apart(docs, out, [url for stage in self.stages for url in getattr(stage, "reads_folders", ())])
        docs.hashes.load(out)
        steps = self.steps(docs)
        if (known := sources_of(docs)) is not None:
            warn_of_absent(self.stages, known)
        forgotten = forget_list.wanted(docs, out)
        recipe = {
            "kind": DATASET,
            "key": steps[-1].key if steps else docs.key,
            "stages": [describe(step.stage, step.label) for step in steps],
            **({"lost": lost} if (lost := _lost(docs, self.stages)) else {}),
            **forget_list.noted(forgotten),
        }
        finished = is_finished(out, recipe)
        if finished:
            failure.forget(files.path_of(out))  # which came after the last file, such as while work files were deleted
        with contextlib.nullcontext() if finished else lease.held(out):
            kept, found = quarantine.without(docs, out), None
            while found is None:
                with quarantine.decided(out, kept) as later:  # parts of other files keep their keys
                    found = self._run(kept, steps, dict(recipe), out, context, forgotten, replace=replace)
                kept = later.docs
            return found

    def _run(
        self, docs: Dataset, steps: list[Step], recipe: dict[str, Any], out: str, run: Runner, forgotten: Ids,
        *, replace: bool,
    ) -> Dataset:  # fmt: skip
        fits = {step.name: step.key for step in steps if not isinstance(step.stage, Stage)}
        take_over(docs, out, recipe, self.stages, fits, forgotten, replace=replace)
        sealed = claim(out, recipe, replace=replace, journal=True, docs=docs)
        docs.hashes.save(out, docs.fingerprints)
        if sealed is not None:
            _remove_hidden(out, docs, steps)
            return sealed
        docs = forget_list.without(docs, out, forgotten)
        if run.workers > 1:
            for stage in (*dict.fromkeys(part.reader for part in docs.parts), *docs.stages, *self.stages):
                stage.warm()
        return self._seal(docs, steps, recipe, out, run)

    def _seal(self, docs: Dataset, steps: list[Step], recipe: dict[str, Any], out: str, run: Runner) -> Dataset:
        earlier: list[Stats] = []
        unread: list[Unread] = []  # by the passes that saved the input of an Estimator
        saved: list[str] = []
        fits: list[dict[str, Any]] = []  # the facts of each Estimator
        inputs.write(docs, out, self.stages)
        current = docs
        audits = [search for stage in (*docs.stages, *self.stages) if (search := _secrets(stage)) is not None]
        for step in steps:
            stage = step.stage
            if not isinstance(stage, Stage):
                folder = Folder(files.join(out, STEPS, step.name))
                if not all(isinstance(s, Verdict) for s in current.stages):
                    current = self._save(current, folder, run, recipe, step.key)
                    earlier.append(current.stats)
                    unread += rows_of(current.unread())
                    saved.append(f"{STEPS}/{step.name}/{folder.input.name}")
                stage = self._fit(stage, current, run, folder.url)
                if (search := stage.secrets()) is not None:
                    audits.append(search)
                fits.append({**stated(getattr(stage, "facts", {})), "stage": step.label})
            if stage.hides:
                earlier, saved = [stats.hidden() for stats in earlier], []
                unread = without_names(unread)
            current = current.then(stage, labels=[step.label])
        recipe |= {"saved": saved, "fits": fits}
        final = seal(
            current, out, run, "zstd", recipe, earlier=earlier, unread=unread, label="write", audits=audits,
            hidden=[files.join(STEPS, name) for name in _hidden_steps(out, docs, steps)],
        )  # fmt: skip
        for alarm in final.stats.alarms():
            log.warning(alarm)
        if sources_of(docs) is None and (known := sources_in(Stats(final.stats.stages[:1]))) is not None:
            warn_of_absent(self.stages, known)
        _remove_hidden(out, docs, steps)
        return final

    @staticmethod
    def _fit(estimator: Estimator, docs: Dataset, run: Runner, out: str) -> Stage:
        with blame.fitting(estimator, docs) as given:
            stage = estimator.fit(given, run, out)
        if not isinstance(stage, Stage):
            msg = f"{type(estimator).__name__}.fit returned {stage!r}; it must return the Stage to apply"
            raise PlanError(msg)
        if run.workers > 1:
            stage.warm()
        return stage

    def _save(self, current: Dataset, step: Folder, run: Runner, of: dict[str, Any], key: str) -> Dataset:
        """Apply the pending stages and save the result, which an Estimator reads more than once; key: of the step."""
        out = step.input.url
        names = current.parts[0].stage_names if current.parts else ()
        stages = [describe(stage, name) for stage, name in zip(current.stages, names, strict=True)]
        recipe = {"kind": DATASET, "key": key, "stages": stages}
        recipe |= {"forgotten": of["forgotten"]} if "forgotten" in of else {}
        return claim(out, recipe, replace=True, whole=True) or seal(
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
                    f"stage has (there are {', '.join(columns)}); to make it from a field of the input's metadata, use "
                    f"dp.read(..., columns={missing}); the parameters of a function are named after columns"
                )
                raise PlanError(msg)
            if not isinstance(stage, Stage) and (twice := [name for name in stage.adds if name in columns]):
                msg = f"{stage.name} adds {', '.join(twice)}, which is a column already; give annotate='another_'"
                raise PlanError(msg)
            columns += stage.adds
            if isinstance(stage, Stage):
                if decided and isinstance(stage, Filter):
                    danger = "filters after %s and may drop the only copy left of a document; put it before"
                    log.warning(f"%s {danger}", stage.name, decided)  # noqa: G004 - a constant
            elif not stage.adds:
                decided = stage.name


def _lost(docs: Dataset, stages: Sequence[Any]) -> dict[str, list[str]]:
    """Return what no later stage can see all of: {what: [the first stage that loses it, the way out]}.

    The pipelines that made the folder of `docs` count, too. Raises PlanError if one of `stages` must see it.
    """
    lost: dict[str, list[str]] = dict(docs.manifest.get("lost", {}))
    applied = {id(stage): stage for part in docs.parts for stage in part.stages}
    for number, stage in enumerate((*applied.values(), *stages)):
        missed = [what for what in stage.sees if what in lost]
        if missed and number >= len(applied):
            earlier, way_out = lost[missed[0]]
            way_out = way_out or f"put {stage.name} before {earlier}"
            msg = f"{stage.name} after {earlier} would not see all {missed[0]}; {way_out}"
            raise PlanError(msg)
        for what, way_out in stage.loses.items():
            lost.setdefault(what, [stage.name, way_out])
    return lost


def _remove_hidden(out: str, docs: Dataset, steps: Sequence[Step]) -> None:
    """Remove the saved steps that a stage hides, those of killed runs and earlier recipes included."""
    owned.remove(out, [files.join(STEPS, name) for name in _hidden_steps(out, docs, steps)])


def _hidden_steps(out: str, docs: Dataset, steps: Sequence[Step]) -> list[str]:
    n = n_hidden([step.stage for step in steps])
    if not n and not n_hidden(docs.stages):
        return []
    kept = {step.name for step in steps[n:]}
    return [name for name in files.listdir(files.join(out, STEPS)) if name not in kept]


def _secrets(stage: Stage | Estimator) -> Search | None:
    return stage.secrets() if isinstance(stage, Stage) else None
