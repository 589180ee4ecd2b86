"""Repair: remove the damaged files of finished folders, so that the same pipeline regenerates only these files."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dataprep.core.output import forget_list, owned
from dataprep.core.output.layout import (
    CUTS,
    DATA,
    DROPS,
    INPUT,
    MANIFEST,
    ORIGIN,
    RECEIPTS,
    RECIPE,
    STEPS,
    Folder,
    home_of,
)  # fmt: skip
from dataprep.core.run.runner import Runner
from dataprep.errors import DataprepError, PlanError
from dataprep.search.index import is_index
from dataprep.store import files, lease, receipts
from dataprep.store.atomic import JOURNAL
from dataprep.tokens.shards.verify import STOPPED, Problem

from .verify import A_FOLDER, JSON_STATE, QUOTES, REMOVE_IT, origin_url, verify
from .verify_models import kind_of

STATE = {*JSON_STATE, JOURNAL}


def repair(url: str, runner: Runner | None, again: Callable[[], None]) -> None:
    """Remove damaged files as `remove_damaged` does; if there were any, call `again`, which regenerates them.

    If `again` fails, folders that do not state their input, such as that of a persona, are as complete as before.
    """
    found = verify(url, runner)
    kept = _remove(found)
    if any(found.values()):
        try:
            again()
        except BaseException:
            for manifest, content in kept.items():
                if not files.exists(manifest):
                    files.write_bytes(manifest, content)
            raise


def remove_damaged(url: str, runner: Runner | None = None) -> dict[str, list[Problem]]:
    """Remove the damaged files of a finished folder, or of all such folders of a run; return {folder: problems}.

    If a part has a damaged file, all files of the part and its receipt (record of finished work) are removed; the other
    parts are kept. If a folder has damage, its manifest is removed, so that it does not look complete. The next search
    rebuilds the files of an index. From a folder that hides its input, a tokenizer, a preset and a folder of several
    results, nothing else is removed, because the call that makes them compares them with receipts. Damaged lines of a
    journal (list of created files) are replaced by the entries of receipts, and quotations of forgotten documents are
    removed from receipts. Afterwards, run the same pipeline again: it regenerates the missing files, and reuses the
    other files.

    - runner: the Runner that reads the files.

    Raises PlanError, before anything is removed, if an input file of a damaged folder no longer exists. Raises InUse if
    another process writes into one of the folders.
    """
    found = verify(url, runner)
    _remove(found)
    return found


def _remove(found: Mapping[str, Sequence[Problem]]) -> dict[str, bytes]:
    """Remove the files that `remove_damaged` describes; return {URL: manifest} of the folders that hide their input.

    Args:
        found: {folder: problems}.
    """
    damaged = {Folder(home): problems for home, problems in found.items() if problems and not kind_of(home)}
    results = {
        folder: [p for p in problems if p.file not in STATE and p.do != STOPPED and p.found != QUOTES]
        for folder, problems in damaged.items()
    }
    results = {at: some for at, some in results.items() if some and (at.kind or at.is_pruned or is_index(at.url))}
    hiding = {folder for folder in results if _hides_input(folder)}
    for folder in results.keys() - hiding:
        if not is_index(folder.url):
            _check_input(folder)
            _check_forgotten(folder)
        if (at := next((one.file for one in results[folder] if one.found == A_FOLDER), None)) is not None:
            msg = f"{folder.path(at)} {A_FOLDER}; nothing was removed; {REMOVE_IT}"
            raise PlanError(msg)
    kept = {}
    with lease.all_held({home_of_step(folder).url for folder in damaged}):
        for folder, problems in damaged.items():
            files_of_state = {problem.file for problem in problems} & STATE
            for name in files_of_state - {JOURNAL}:
                files.remove(folder.path(name))
            if JOURNAL in files_of_state:
                owned.begin(folder.url)
            if any(problem.found == QUOTES for problem in problems):
                forget_list.remove_quotations(folder)
        for folder, problems in results.items():
            names = {problem.file for problem in problems}
            if is_index(folder.url):  # the next search makes again what is missing
                owned.remove(folder.url, names | ({MANIFEST} if names - {RECIPE, ORIGIN} else set()))
                continue
            paths = {one for name in names for one in _files_of(folder, name)}
            for manifest in {folder.path(MANIFEST), home_of_step(folder).path(MANIFEST)}:
                if folder in hiding and MANIFEST not in names and files.exists(manifest):
                    with files.open_raw(manifest) as f:
                        kept[manifest] = f.read()
                files.remove(manifest)  # first, so that it does not look complete
            if folder not in hiding:
                owned.remove(folder.url, paths)
    return kept


def _hides_input(folder: Folder) -> bool:
    """Return whether the pipeline that made a Dataset hides its input, so that no file lists its input files."""
    home = home_of_step(folder)
    is_dataset = folder.is_dataset or folder.is_pruned
    return is_dataset and not files.exists(origin_url(home)) and home.any_origin is None


def home_of_step(folder: Folder) -> Folder:
    """Return the output folder of the pipeline that saved `folder` as the input of a step; for others, `folder`."""
    home, mark, _ = folder.url.partition(f"/{STEPS}/")
    return Folder(home) if mark else folder


def _files_of(folder: Folder, damaged: str) -> list[str]:
    """Return the paths in a folder of the files to remove: the damaged file, and files that were made with it."""
    if damaged in (MANIFEST, f"{RECEIPTS}/{receipts.PACKED}"):  # of which the next run uses the lines that are whole
        return []
    kind, _, rest = damaged.partition("/")
    if kind == STEPS:  # of a step, all but its saved input, which is a Dataset of its own
        step = f"{STEPS}/{rest.partition('/')[0]}"
        return [f"{step}/{name}" for name in files.listdir(folder.path(step)) if name != INPUT]
    if kind not in (DATA, DROPS, CUTS):  # of token shards, or the table of unread files
        return [damaged]
    shards = (folder.record or folder.sealed).shards
    part = next((one.drops for one in shards if damaged in (one.name, one.drops, one.cuts)), damaged)
    paths = {path for one in shards if one.drops == part for path in (one.name, one.drops, one.cuts) if path}
    stating = [url for url, record in folder.receipts().items() if _states(folder, url, record, paths)]
    return [*paths, *(files.join(RECEIPTS, files.name_of(url)) for url in stating)]


def _states(folder: Folder, url: str, record: dict[str, Any] | None, paths: set[str]) -> bool:
    """Return whether a receipt states one of the files, and no shard from which `forget` removed documents.

    A receipt with such a shard is kept: it is void without its files, and states the hash on which keys depend.
    """
    if record is None or any(one.get("sealed") for one in record.get("shards", ())):
        return False
    stated = [receipts.resolved(url, one["name"]) for one in record["files"]]
    return not paths.isdisjoint(one.removeprefix(f"{folder.url}/") for one in stated)


def _check_forgotten(folder: Folder) -> None:
    """Raise PlanError if the receipts lack the hash of a shard from which `forget` removed documents.

    Keys depend on this hash: without it, Estimators would choose again, perhaps other documents.
    """
    unstated = []
    with contextlib.suppress(DataprepError):  # a damaged manifest, whose receipts are not in doubt
        unstated = folder.unstated(folder.receipts())
    if folder.is_settled and any(shard.sealed for shard in unstated):
        what = "was made before `dataprep forget` removed documents, or is damaged"
        msg = f"{folder.path(RECEIPTS)} {what}; nothing was removed; restore this folder from a later copy"
        raise PlanError(msg)


def _check_input(folder: Folder) -> None:
    """Raise PlanError if an input file of a folder is missing, since a damaged part then cannot be regenerated."""
    home = home_of_step(folder)
    origin = home.any_origin
    rows = [] if origin is None else [*(row.url for row in origin.files), *(row.url for row in origin.sources)]
    urls = [url for url in rows if files.is_local(url) and not files.exists(url)]
    homes = {url: home_of(url) for url in urls}  # of a Dataset; `dataprep forget` gives its shards other names
    missing = [url for url, home in homes.items() if home is None or not home.is_of_a_run]
    if missing or not rows:
        what = f"its input {missing[0]} is missing" if missing else "it does not state its input"
        msg = f"{folder.url} is damaged, and {what}; nothing was removed; restore the input, or copies of the files"
        raise PlanError(msg)
