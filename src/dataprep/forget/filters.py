"""Refill the Bloom filters of a Dataset without forgotten documents."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dataprep.core.model.dataset import Dataset, open_dataset
from dataprep.core.model.verdict import CutSpans, DropIds
from dataprep.core.output import owned
from dataprep.core.output.layout import SPANS, VERDICTS, Folder
from dataprep.core.run.runner import Runner, runner_of
from dataprep.dedup.bloom import Bloom
from dataprep.errors import DataprepError, PlanError, counted
from dataprep.store import files, receipts

from .family import Member

FILTER = "filter.bloom"


def refill_filters(member: Member, runner: Runner | None = None) -> Iterator[str]:
    """Refill the Bloom filters of a Dataset without the forgotten documents; yield a sentence for each filter.

    A filter is filled with the documents that its step read. They are read from the step's saved input, or from the
    sealed input of the Dataset without the documents and text that earlier stages removed. If neither exists, the
    documents of the Dataset are entered. A filter that cannot be refilled is removed.

    - runner: the Runner that fills the filters; None for this process.
    """
    steps = sorted(member.folder.steps, key=lambda step: step.number)
    for step in steps:
        url, work = step.path(FILTER), step.path("anew")
        if not files.exists(url):
            continue
        try:
            docs, stage = _input_of(member, steps, step), _bloom(**_stage(member, step))
        except (DataprepError, ValueError) as e:
            files.remove(url)
            done = f"was removed, since it cannot be rebuilt ({' '.join(str(e).split())})"
        else:
            files.remove(work)
            stage.fit(docs, runner_of(runner), work)
            owned.move((files.join(work, FILTER), url))
            files.remove(work)
            done = f"was rebuilt from the {counted(docs.count, 'document')} that are left"
        for table in (VERDICTS, SPANS):  # the receipt states the bytes that the filter has now
            receipts.restate(step.path(table).removesuffix("parquet") + "json", url)
        yield f"{url} {done}"


def _bloom(**stage: Any) -> Bloom:
    if stage.get("class") != "Bloom":
        msg = f"it was made by {stage.get('class')}, which is not dataprep's Bloom"
        raise PlanError(msg)
    return Bloom(**stage["fields"])


def _stage(member: Member, step: Folder) -> dict[str, Any]:
    """Return the stage of a step, as the recipe states it; empty if the step is of an earlier recipe."""
    stages = member.folder.recipe.stages if member.folder.recipe is not None else []
    return dict(stages[step.number - 1]) if step.number <= len(stages) else {}


def _input_of(member: Member, steps: list[Folder], step: Folder) -> Dataset:
    """Return the documents that an Estimator read: the last saved input without the drops of later verdicts.

    If there is no saved input, the sealed Datasets from which the Dataset was made, with its file numbers, are
    returned. If there are none, the Dataset itself is returned, from which the documents have been removed.
    """
    last = steps.index(step)
    saved = [i for i in range(last + 1) if steps[i].input.is_sealed]
    if not saved and (member.inputs or member.outside or not member.parents):
        return open_dataset(member.folder.url)
    first = saved[-1] if saved else 0
    parents = sorted(member.parents, key=lambda one: one[1])
    homes = [(steps[first].input, 0)] if saved else [(parent.folder, at) for parent, at in parents]
    docs = Dataset(tuple(part.shifted(at) for home, at in homes for part in open_dataset(home.url).parts))
    for before in steps[first:last]:
        if files.exists(before.path(VERDICTS)):
            docs = docs.then(DropIds(verdicts=before.path(VERDICTS), key="", estimator=before.name))
        elif files.exists(before.path(SPANS)):
            min_remaining_chars = _stage(member, before).get("fields", {}).get("min_remaining_chars", 1)
            docs = docs.then(
                CutSpans(
                    spans=before.path(SPANS), key="", estimator=before.name, min_remaining_chars=min_remaining_chars
                )
            )
    return docs
