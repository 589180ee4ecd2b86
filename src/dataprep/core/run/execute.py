"""Execute a Plan: save the input of each Estimator, let it decide, and seal what is left; every task has a receipt."""

from __future__ import annotations

import logging
from typing import Any

from dataprep.errors import PlanError

from ..model import blame
from ..model.dataset import Dataset, open_dataset
from ..model.estimator import Estimator
from ..model.stage import Stage
from ..output.commit import Output, Work
from .account import Account
from .context import Context
from .plan import Plan, PlannedStage
from .quarantine import without_deadly_files
from .seal import seal

log = logging.getLogger("dataprep")


def execute(plan: Plan, work: Work[Dataset], context: Context) -> None:
    """Make the result of a plan in the folder of `work`; finished tasks are not repeated."""
    plan.prepare(context.workers)
    made = _execute(plan.docs, plan, work, context)
    for alarm in made.stats.alarms():
        log.warning(alarm)
    plan.warn_of_absent_sources(made.stats)


@without_deadly_files
def _execute(flow: Dataset, plan: Plan, work: Work[Dataset], context: Context) -> Dataset:
    account = Account(flow)
    for step in plan.steps:
        stage = step.stage
        if not isinstance(stage, Stage):
            if not flow.is_only_decided:
                flow = _saved(flow, step, plan, context, account)
            stage = _fit(stage, flow, context, step)
            account.fit(step.label, getattr(stage, "facts", {}))
        account.then(stage)
        flow = flow.then(stage, labels=[step.label])
    return seal(flow, work, context, account, codec="zstd", label="write")


def _saved(flow: Dataset, step: PlannedStage, plan: Plan, context: Context, account: Account) -> Dataset:
    """Apply the pending stages and save the result in the folder of a step, since an Estimator reads it repeatedly."""
    wanted = plan.wanted_of(step, flow.stages, flow.stage_names)
    with Output(step.input, open_dataset, nested=True, also=step.earlier_inputs).begin(wanted, whole=True) as work:
        if work.result is None:
            seal(flow, work, context, Account(flow), codec="lz4", label=" ".join(flow.stage_names))
    account.save(step.saved, work.finished.stats, work.finished.unread_rows)
    return work.finished


@blame.fitting
def _fit(estimator: Estimator, docs: Dataset, context: Context, step: PlannedStage) -> Stage:
    stage: Any = estimator.fit(docs, context, step.folder.url)
    if not isinstance(stage, Stage):
        msg = f"{type(estimator).__name__}.fit returned {stage!r}; it must return the Stage to apply"
        raise PlanError(msg)
    if context.workers > 1:
        stage.warm()
    return stage
