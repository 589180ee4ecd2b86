"""Prepare the output folder of a Dataset: open a finished result, continue an unfinished one, or replace another one.

A result is also continued if the input differs only in files that the earlier run could not read in full (bad files,
empty files, and files with damaged records, as listed in unread.parquet). Then only the parts with these files are made
again.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow.parquet as pq

from dataprep.errors import CorruptShard, DataprepError, PlanError, ReadError, StaleOutput, redacted
from dataprep.store import files
from dataprep.store.receipts import all_whole

from . import forget_list, owned
from .dataset import Dataset, open_dataset
from .folder import (
    DATASET_FILES,
    FORGET_LIST,
    MANIFEST,
    PART_FILES,
    RECEIPTS,
    RECIPE,
    REPORT,
    STEPS,
    UNREAD,
    Folder,
    home_of,
    part_name,
)  # fmt: skip
from .inputs import work_key
from .stale import changed
from .unread import BAD, BAD_DIGEST, DAMAGED, EMPTY, QUARANTINED

log = logging.getLogger("dataprep")

NOT_WHOLE = (BAD, EMPTY, BAD_DIGEST, DAMAGED, QUARANTINED)  # reasons of files that may be fetched again


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


def take_over_restored(docs: Dataset, out: str, recipe: dict[str, Any], stages: Sequence[Any]) -> None:
    """Mark `out` as unfinished if the input differs only in files that the earlier run could not read in full.

    Otherwise, do nothing. To mark means to delete the manifest and the saved steps (their keys are of the old input),
    and to write `recipe`. Then `claim` continues the work, and only the parts with these files are made again.
    """
    found = Folder(out).recipe
    if found.get("key") in (None, recipe["key"]) or found.get("forgotten") != recipe.get("forgotten"):
        return
    if _only_unread_changed(out, docs, stages):
        owned.remove(out, [MANIFEST, REPORT, UNREAD, STEPS])
        files.write_state(Folder(out).path(RECIPE), recipe)


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


def _only_unread_changed(out: str, docs: Dataset, stages: Sequence[Any]) -> bool:
    """Return whether the folder `out` was made by the same readers and stages, and from the same files, as now.

    Files that the earlier run could not read may differ.
    """
    try:
        origin, unread = Folder(out).origin, _unread_files(out)
        if not unread or origin.get("work") != work_key(docs, stages):
            return False
        old = {(row["url"], row["file"], row["source"]): row["fingerprint"] for row in origin["files"]}
    except (DataprepError, OSError, KeyError):
        return False
    pieces = [piece for part in docs.parts for piece in part.slices]
    new = {(redacted(p.url), p.file, p.source): docs.fingerprints[p.url] for p in pieces}
    return old.keys() == new.keys() and {name[0] for name in new if new[name] != old[name]} <= unread


def _unread_files(out: str) -> set[str]:
    """Return the files that earlier runs of a folder found to be bad, empty, or with damaged records."""
    found: set[str] = set()
    for home in (Folder(out), *(step.input for step in Folder(out).steps)):
        url = home.path(UNREAD)
        if files.exists(url):
            with files.open_arrow(url) as f:
                rows = pq.read_table(f).to_pylist()
            found |= {row["file"] for row in rows if row["reason"] in NOT_WHOLE}
    return found
