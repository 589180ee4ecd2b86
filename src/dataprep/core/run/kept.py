"""Keep the documents that a Pipeline dropped next to its result, so that they can be read if the input is gone.

They form a sealed Dataset, OUT/steps/99-dropped-KEY8/input. As with other saved steps, `dataprep forget` removes
documents from it, and `dataprep prune` removes all of it.
"""

from __future__ import annotations

from collections.abc import Sequence

from dataprep.store import lease
from dataprep.store.key import key

from ..model.dataset import Dataset, open_dataset
from ..model.describe import describe, labels_of
from ..model.estimator import Estimator
from ..model.stage import Stage
from ..output.commit import Output, Wanted
from ..output.layout import Folder
from ..output.state import DATASET, Recipe
from .account import Account
from .context import Context
from .seal import seal


def keep_dropped(done: Dataset, stages: Sequence[Stage | Estimator], context: Context) -> None:
    """Save the documents that `stages` dropped to make the sealed Dataset `done`, unless they are already saved.

    The texts are those of the input, after those of `stages` that mask private data. Raises ReadError if the input has
    moved or changed.
    """
    made, kept = done.sealed, Folder(str(done.url)).kept
    masking = [stage for stage in stages if isinstance(stage, Stage) and stage.masks]
    described = [describe(stage, label) for stage, label in zip(masking, labels_of(masking), strict=True)]
    recipe = Recipe(kind=DATASET, key=key((made.key, "dropped", masking)), forgotten=made.forgotten, stages=described)
    if kept.readable is not None and recipe.is_same(kept.recipe) and kept.is_settled:
        return
    docs = done.dropped()
    for stage in masking:
        docs = docs.then(stage)
    output = Output(kept.url, open_dataset, nested=True)
    with lease.held(str(done.url)), output.begin(Wanted(recipe)) as work:
        if work.result is None:
            seal(Account(docs), work, context, codec="zstd", label="dropped")
