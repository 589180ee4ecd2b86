"""Execute a Plan: save the input of each Estimator, call its `fit`, and seal the remaining documents.

Every task has a receipt.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dataprep.errors import PlanError

from ..model import blame
from ..model.dataset import Dataset
from ..model.estimator import Estimator
from ..model.stage import Stage
from ..output.commit import Work
from .account import Account
from .context import Context
from .plan import Plan, PlannedStage
from .quarantine import without_deadly_files
from .seal import seal


@without_deadly_files
def execute(plan: Plan, work: Work[Dataset], context: Context) -> None:
    """Produce the result of a plan in the folder of `work`; finished tasks are not repeated."""
    plan.prepare(context)
    context = replace(context, given=plan.docs)
    account = Account(plan.docs)
    for step in plan.steps:
        stage = step.stage
        if not isinstance(stage, Stage):
            if not account.docs.is_only_decided:
                account.save(step.saved, _saved(step, account.docs, context))
            stage = _fit(stage, account.docs, context, step)
            account.fit(step.label, stage)
        account.then(stage, step.label)
    account.docs = plan.laid_out(account.docs, saved=bool(account.saved))
    plan.warn(seal(account, work, context, codec=plan.wanted.recipe.codec or "zstd", label="write").stats)


def _saved(step: PlannedStage, docs: Dataset, context: Context) -> Dataset:
    """Apply the pending stages and save the result in the folder of a step, since an Estimator reads it repeatedly."""
    with step.output.begin(step.wanted(docs), whole=True) as work:
        if work.result is None:
            seal(Account(docs), work, context, codec="lz4", label=" ".join(docs.stage_names))
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
