"""Rewrite a result without some documents, and remove unfinished work; for Datasets and for token shards.

Only the files that contain the documents are rewritten, as the next generation of the result, which atomically replaces
the old one. After a killed call, the same call therefore resumes the work and writes the same bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from dataprep.core.output import owned
from dataprep.core.output.commit import Output, Wanted, Work
from dataprep.core.output.layout import ORIGIN, PART_FILES, RECIPE, REPLACED, UNFINISHED, Folder
from dataprep.core.output.state import Recipe
from dataprep.store import files
from dataprep.tokens.shards.folder import SHARD_FILE

T = TypeVar("T")


def rewritten(
    folder: Folder, recipe: Recipe, forgotten: str | None, opened: Callable[[str], T], write: Callable[[Work[T]], int]
) -> int:
    """Rewrite the result of a folder without some documents, and return how many were in it; 0 if it is done already.

    - recipe: the recipe of the result.
    - forgotten: the hash of all ids that are left out of it.
    - opened: opens the result in a folder.
    - write: writes the files that change and commits them; it returns the number of documents that it left out.
    """
    steps = frozenset(step.name for step in folder.steps)
    wanted = Wanted(recipe=replace(recipe, forgotten=forgotten), private=True, steps=steps)
    with Output(folder.url, opened, nested=True).begin(wanted) as work:
        n = 0 if work.result is not None else write(work)
    begun = folder.unfinished.recipe
    if begun is not None and begun.forgotten != forgotten:
        owned.remove(folder.url, [UNFINISHED])
    return n


def remove_unfinished(folder: Folder, forgotten: str | None) -> None:
    """Remove the files of a result that is not finished; the next run makes them without the forgotten documents.

    - forgotten: the hash of all ids that are to be left out, which is written to the recipe; None if there are none.
    """
    shards = [name for name in files.listdir(folder.url) if SHARD_FILE.fullmatch(name)]
    begun = [name for name in files.listdir(folder.unfinished.url) if name not in (RECIPE, ORIGIN)]
    owned.remove(folder.url, [REPLACED, *PART_FILES, *shards, *(files.join(UNFINISHED, name) for name in begun)])
    for home in (folder, folder.unfinished):
        if home.recipe is not None and forgotten is not None:
            replace(home.recipe, forgotten=forgotten).save(home.path(RECIPE))
