"""Prepare the output folder of a Dataset: open a finished result, continue an unfinished one, or replace another."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from typing import Any

from dataprep.errors import CorruptShard, PlanError, ReadError, StaleOutput
from dataprep.store import files
from dataprep.store.receipts import all_whole

from ..model.dataset import Dataset, open_dataset
from . import forget_list, owned
from .layout import (
    DATASET_FILES,
    FORGET_LIST,
    MANIFEST,
    PART_FILES,
    RECEIPTS,
    RECIPE,
    STEPS,
    Folder,
    home_of,
    part_name,
)  # fmt: skip
from .stale import changed

log = logging.getLogger("dataprep")


def check_apart(docs: Dataset, out: str, read: Iterable[str] = ()) -> None:
    """Raise PlanError if the folder `out` has input files, or if the next run would read files of `out` as input.

    read: folders of Datasets that stages read.
    """
    home = files.real(out)
    for url in read:
        if any(files.is_inside(Folder(url).path(MANIFEST), files.join(home, name)) for name in DATASET_FILES):
            msg = f"{out} is or holds the Dataset {url}, which a stage reads; give another folder as out"
            raise PlanError(msg)
    for piece in (piece for part in docs.parts for piece in part.slices):
        if files.is_inside(piece.url, out):
            msg = f"{out} holds the input {piece.url}; give another folder as out"
            raise PlanError(msg)
        at = home_of(piece.url)
        if at is not None and any(files.is_inside(out, at.path(name)) for name in DATASET_FILES):
            msg = f"{out} is inside the input {at.url}, among its own files; give another folder as out"
            raise PlanError(msg)
    for listed in dict.fromkeys(piece.listed for part in docs.parts for piece in part.slices if piece.listed):
        if any(files.would_list(listed, files.join(home, name)) for name in (MANIFEST, Folder(out).shard(0, 0))):
            msg = f"{out} is inside the input {listed}, and the next run would read it; give a folder outside as out"
            raise PlanError(msg)


def is_finished(out: str, recipe: dict[str, Any]) -> bool:
    """Return whether `out` has the complete result of `recipe` (input and stages), so that nothing must be written."""
    found = Folder(out).recipe
    return all(found.get(name) == recipe.get(name) for name in ("key", "forgotten")) and Folder(out).is_sealed


def claim(
    out: str, recipe: dict[str, Any], *, replace: bool, journal: bool = False, docs: Dataset | None = None,
    whole: bool = False,
) -> Dataset | None:  # fmt: skip
    """Return the Dataset in `out` if it is the complete result of `recipe`; else prepare `out` for the work.

    To prepare means to delete files that may be replaced, and to write recipe.json; after this, None is returned.
    recipe: the input and the stages. replace: whether a result of another recipe may be replaced. journal: whether to
    begin a list of the files that are created. docs: the input, for a message that names what changed, and for the
    number of parts in recipe.json. whole: whether to compare all bytes of a complete result with its receipts, and to
    make parts that differ again. Raises StaleOutput if `out` has files that dataprep did not write, or if it has
    another result and `replace` is False.
    """
    folder = Folder(out)
    found = folder.recipe or _sealed_recipe(folder)
    written = recipe if docs is None else recipe | {"parts": len(docs.parts)}
    same = found.get("key") == recipe["key"]
    if same and found.get("forgotten") == recipe.get("forgotten"):
        try:
            if folder.is_sealed:
                found_before = open_dataset(out)
                if not whole or all_whole(folder.receipts()):
                    return found_before
                log.warning("%s has files with other bytes than were written; making them again", out)
                files.remove(folder.path(MANIFEST))
        except (CorruptShard, ReadError) as e:
            log.warning("%s", f"{e}; making what is missing again")
            files.remove(folder.path(MANIFEST))  # first, so that a folder that is being mended does not look complete
        files.write_state(folder.path(RECIPE), written)
        if journal:
            owned.begin(out)
        return None
    names = set(files.listdir(out))
    others = found.get("forgotten") != recipe.get("forgotten")  # then saved steps have other documents
    replaced = sorted(DATASET_FILES - (set() if others else {STEPS}))
    searched = names & set(replaced if found else DATASET_FILES)
    owned.refuse(out, owned.strangers(out, DATASET_FILES | {FORGET_LIST}, searched))
    if found and not {n for n in names if not n.startswith(".")} <= {RECIPE}:  # a recipe alone has written nothing yet
        if not replace and same:
            raise forget_list.stale(out)
        if not replace:
            what = "" if docs is None else f" ({changed(out, found, recipe, docs)})"
            msg = f"{out} was made by another recipe or from other input{what}"
            msg += "; give another folder as out, or replace=True"
            raise StaleOutput(msg)
        owned.remove(out, replaced)
    if journal:
        owned.begin(out)
    files.write_state(folder.path(RECIPE), written)
    return None


def remove_parts_of_others(out: str, receipts: Sequence[dict[str, Any]]) -> None:
    """Delete shards and tables in `out` that no receipt (work record) names: they are left from earlier work."""
    named = {file["name"].removeprefix("../") for receipt in receipts for file in receipt["files"]}
    named |= {files.join(RECEIPTS, f"{part_name(number)}.json") for number in range(len(receipts))}
    stored = {files.join(kind, name) for kind in PART_FILES for name in files.listdir(files.join(out, kind))}
    if stored - named:
        owned.remove(out, stored - named)


def _sealed_recipe(folder: Folder) -> dict[str, Any]:
    """Return the recipe as the manifest states it; empty if there is none, or if it is empty or cut."""
    try:
        return folder.manifest
    except CorruptShard:
        return {}
