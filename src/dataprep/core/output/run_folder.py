"""Run folders: the complete output folders in the folder of a run, in the order in which they were created."""

from __future__ import annotations

from collections.abc import Iterator

from dataprep.errors import CorruptShard, PlanError
from dataprep.store import files, newer

from . import owned
from .layout import RUN, STEPS, Folder, inside
from .state import DATASET, TOKENS, RunSteps


def run_steps(url: str) -> list[str] | None:
    """Return the names of the steps, in order, that `dataprep run` ran in the folder `url`; None for other folders."""
    at = files.join(url, RUN)
    try:
        return RunSteps.load(at).steps if files.exists(at) else None
    except CorruptShard as e:
        msg = f"{at} does not list the steps of a run: {e}; or pass the folder of a run"
        raise CorruptShard(msg) from e


def earlier_steps(url: str) -> RunSteps:
    """Return the record of the last `dataprep run` into the folder `url`, including fields unknown to this version.

    If the record does not exist or is damaged, the result is an empty record. Raises StaleOutput if run.json has any
    other content.
    """
    at = files.join(url, RUN)
    owned.check_file(at, "the record of a run", '{"format":1,"steps"')
    return RunSteps.found(at) or RunSteps(steps=[])


def children(url: str) -> list[Folder]:
    """Return the complete output folders directly inside `url`, in the order of the run's steps.

    If run.json, which lists the steps, does not exist, the order is: Datasets, the largest first; then token shards.
    """
    steps = run_steps(url)
    if steps is not None:
        names = files.listdir(url)
        return [Folder(files.join(url, name)) for name in steps if name in names]
    found = [folder for folder in map(Folder, inside(url)) if folder.kind is not None]
    docs = [folder for folder in found if folder.is_dataset]
    sizes = {folder: folder.manifest for folder in docs}
    docs.sort(key=lambda folder: (0, 0) if (m := sizes[folder]) is None else (-m.docs, -m.bytes))
    return [*docs, *(folder for folder in found if not folder.is_dataset)]


def walk(url: str) -> Iterator[Folder]:
    """Yield the complete output folders in a run's folder `url`, in the order in which they were created.

    Datasets that were saved as input of Estimators are included, even if `dataprep prune` removed their documents.
    """
    url = url.rstrip("/")
    for folder in (*children(url), Folder(url)):
        kind = folder.kind
        if kind == DATASET:
            yield from (saved for saved in folder.saved if saved.is_dataset or saved.is_pruned)
        if kind is not None:
            yield folder


def datasets(url: str, *, saved: bool = True) -> list[Folder]:
    """Return the complete Datasets in a run's folder `url`, in the order in which they were created.

    - saved: whether to include Datasets that were saved as input of Estimators, of which `dataprep prune` may have left
      only the tables.

    Raises PlanError if there is none.
    """
    found = [folder for folder in walk(url) if folder.kind != TOKENS and (saved or f"/{STEPS}/" not in folder.url)]
    if not found:
        msg = f"{url} contains no sealed Dataset{_instead(url)}; pass a folder of `dataprep run` or Pipeline.run"
        raise PlanError(msg)
    return found


def _instead(url: str) -> str:
    """Return, in brackets, a description of a path that contains no Dataset."""
    if token_folders(url):
        return " (it holds token shards)"
    if not files.exists(url):
        return " (it does not exist)"
    return "" if files.is_dir(url) else " (it is a file)"


def token_folders(url: str) -> list[Folder]:
    """Return the folders of token shards (tokenized text) among `url` and the folders directly inside it."""
    return [folder for folder in map(Folder, (url, *inside(url))) if folder.kind == TOKENS]


def refuse_newer(url: str) -> None:
    """Raise NewerFormat if a newer dataprep wrote into a folder, into one inside it, or into the run containing it."""
    url = url.rstrip("/")
    run = url.rpartition("/")[0] or "."
    for place in (url, *inside(url), *([run] if files.exists(files.join(run, RUN)) else ())):
        newer.refuse(place)
