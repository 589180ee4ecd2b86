"""Repair: remove the damaged files of finished folders, so that the same pipeline makes only these files again."""

from __future__ import annotations

from dataprep.core import owned
from dataprep.core.folder import CUTS, DATA, DROPS, INPUT, MANIFEST, ORIGIN, RECEIPTS, RECIPE, STEPS, Folder, part_of
from dataprep.core.runner import Runner
from dataprep.errors import PlanError
from dataprep.search.claim import INDEX as INDEX_FILE
from dataprep.store import files, lease
from dataprep.store.atomic import JOURNAL
from dataprep.tokens.shards.verify import Problem

from .verify import JSON_STATE, is_index, verify
from .verify_models import kind_of

STATE = {*JSON_STATE, JOURNAL}


def remove_damaged(url: str, run: Runner | None = None) -> dict[str, list[Problem]]:
    """Remove the damaged files of a finished folder, or of all such folders of a run; return {folder: problems}.

    If a part has a damaged file, all files of the part and its receipt (record of finished work) are removed. If a
    folder has damage, its manifest is removed, so that it does not look complete; the next search makes the files of an
    index again. Tokenizers and presets are left, since their steps make damaged files again. Damaged lines of a journal
    (list of created files) are replaced by what receipts state. Then run the same pipeline again: it makes the missing
    files, and uses the other files. run: the Runner that reads the files.

    Raises PlanError, before anything is removed, if an input file of a damaged folder does not exist any more. Raises
    InUse if another process writes into one of the folders.
    """
    found = verify(url, run)
    damaged = {Folder(home): problems for home, problems in found.items() if problems and not kind_of(home)}
    results = {folder: [p for p in problems if p.file not in STATE] for folder, problems in damaged.items()}
    for folder, problems in results.items():
        if problems and not is_index(folder.url):
            _check_input(folder)
    homes = {home_of_step(folder).url for folder in damaged}
    with lease.all_held(homes):
        for folder, problems in damaged.items():
            files_of_state = {problem.file for problem in problems} & STATE
            for name in files_of_state - {JOURNAL}:
                files.remove(folder.path(name))
            if JOURNAL in files_of_state:
                owned.begin(folder.url)
        for folder, problems in results.items():
            if is_index(folder.url):  # the next search makes again what is missing
                names = {problem.file for problem in problems}
                owned.remove(folder.url, names | ({INDEX_FILE} if names - {RECIPE, ORIGIN} else set()))
            elif problems:
                names = {name for problem in problems for name in _files_of(folder, problem.file)}
                files.remove(folder.path(MANIFEST))  # first, so that it does not look complete
                files.remove(home_of_step(folder).path(MANIFEST))
                owned.remove(folder.url, names)
    return found


def home_of_step(folder: Folder) -> Folder:
    """Return the output folder of the pipeline that saved `folder` as the input of a step; for others, `folder`."""
    home, mark, _ = folder.url.partition(f"/{STEPS}/")
    return Folder(home) if mark else folder


def _files_of(folder: Folder, damaged: str) -> list[str]:
    """Return the paths in a folder of the files to remove: the damaged one, and those that were made with it."""
    if damaged == MANIFEST:
        return []
    kind, _, rest = damaged.partition("/")
    if kind == STEPS:  # of a step, all but its saved input, which is a Dataset of its own
        step = f"{STEPS}/{rest.partition('/')[0]}"
        return [f"{step}/{name}" for name in files.listdir(folder.path(step)) if name != INPUT]
    if kind not in (DATA, DROPS, CUTS):  # of token shards, or the table of unread files
        return [damaged]
    part = part_of(damaged) if kind == DATA else files.name_of(damaged).removesuffix(".parquet")
    shards = [f"{DATA}/{name}" for name in files.listdir(folder.path(DATA)) if part_of(name) == part]
    return [*shards, f"{DROPS}/{part}.parquet", f"{CUTS}/{part}.parquet", f"{RECEIPTS}/{part}.json"]


def _check_input(folder: Folder) -> None:
    """Raise PlanError if an input file of a folder is missing, since then no damaged part can be made again."""
    home = home_of_step(folder)
    rows = home.origin.get("files", home.origin.get("sources", []))
    missing = [row["url"] for row in rows if files.is_local(row["url"]) and not files.exists(row["url"])]
    if missing or not rows:
        what = f"its input {missing[0]} is not there" if missing else "it does not state its input"
        msg = f"{folder.url} is damaged, and {what}; nothing was removed; restore the input, or copies of the files"
        raise PlanError(msg)
