"""Execute a Plan: save the input of each Estimator, let it decide, and seal what is left; every task has a receipt."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from typing import Any

from dataprep.errors import PlanError

from ..inputs.sources import sources_in, sources_of, warn_of_absent
from ..model import blame
from ..model.dataset import Dataset, open_dataset
from ..model.describe import describe, stated
from ..model.estimator import Estimator
from ..model.stage import Stage
from ..model.stats import Stats
from ..model.unread import Unread, rows_of, without_names
from ..model.verdict import Verdict
from ..output import forget_list
from ..output.audit import Search
from ..output.commit import Output, Wanted, Work
from ..output.layout import STEPS
from ..output.state import DATASET, Recipe
from .context import Context
from .plan import Plan, Step
from .quarantine import left_out_if_deadly
from .seal import seal

log = logging.getLogger("dataprep")


@dataclass
class Account:
    """What the passes before the last one did, for the manifest, and the searches that the result must pass.

    earlier: statistics of each pass. unread: files that were not read in them. saved: folders of saved inputs. fits:
    the facts of each Estimator.
    """

    searches: list[Search] = field(default_factory=list)
    earlier: list[Stats] = field(default_factory=list)
    unread: list[Unread] = field(default_factory=list)
    saved: list[str] = field(default_factory=list)
    fits: list[dict[str, Any]] = field(default_factory=list)

    def save(self, flow: Dataset, step: Step) -> None:
        """Enter a pass that saved the input of a step."""
        self.earlier.append(flow.stats)
        self.unread += rows_of(flow.unread())
        self.saved.append(f"{STEPS}/{step.name}/{step.folder.input.name}")

    def then(self, stage: Stage) -> None:
        """Enter a stage; if everything before it is private, what names or quotes it is removed."""
        if (search := stage.secrets()) is not None:
            self.searches.append(search)
        if stage.hides:
            self.earlier, self.saved = [stats.hidden() for stats in self.earlier], []
            self.unread = without_names(self.unread)


def execute(plan: Plan, work: Work[Dataset], context: Context) -> None:
    """Make the result of a plan in the folder of `work`; finished tasks are not repeated."""
    forget_list.write_if_new(plan.out, plan.forgotten)
    if context.workers > 1:
        for reader in dict.fromkeys(part.reader for part in plan.docs.parts):
            reader.warm()
        for stage in (*plan.docs.stages, *(step.stage for step in plan.steps)):
            stage.warm()
    left_out_if_deadly(plan.docs, plan.out, lambda docs: _execute(docs, plan, work, context))


def _execute(flow: Dataset, plan: Plan, work: Work[Dataset], context: Context) -> None:
    account = Account([search for stage in flow.stages if (search := stage.secrets()) is not None])
    for step in plan.steps:
        stage = step.stage
        if not isinstance(stage, Stage):
            if not all(isinstance(pending, Verdict) for pending in flow.stages):
                flow = _saved(flow, step, plan, context)
                account.save(flow, step)
            stage = _fit(stage, flow, context, step.folder.url)
            account.fits.append({**stated(getattr(stage, "facts", {})), "stage": step.label})
        account.then(stage)
        flow = flow.then(stage, labels=[step.label])
    made = seal(
        flow, work, context, "zstd", label="write", saved=account.saved, fits=account.fits, earlier=account.earlier,
        unread=account.unread, searches=account.searches,
    )  # fmt: skip
    for alarm in made.stats.alarms():
        log.warning(alarm)
    if sources_of(plan.docs) is None and (known := sources_in(Stats(made.stats.stages[:1]))) is not None:
        warn_of_absent([step.stage for step in plan.steps], known)


def _saved(flow: Dataset, step: Step, plan: Plan, context: Context) -> Dataset:
    """Apply the pending stages and save the result in the folder of a step, since an Estimator reads it repeatedly."""
    names = flow.parts[0].stage_names if flow.parts else ()
    stages = [describe(stage, name) for stage, name in zip(flow.stages, names, strict=True)]
    recipe = Recipe(kind=DATASET, key=step.key, stages=stages, forgotten=plan.wanted.recipe.forgotten)
    output = Output(step.folder.input.url, open_dataset, nested=True)
    with output.begin(Wanted(recipe=recipe), whole=True) as work:
        return work.result or seal(flow, work, context, "lz4", label=" ".join(names))


def _fit(estimator: Estimator, docs: Dataset, context: Context, out: str) -> Stage:
    with blame.fitting(estimator, [piece for part in docs.parts for piece in part.slices]):
        stage = estimator.fit(docs, context, out)
    if not isinstance(stage, Stage):
        msg = f"{type(estimator).__name__}.fit returned {stage!r}; it must return the Stage to apply"
        raise PlanError(msg)
    if context.workers > 1:
        stage.warm()
    return stage
