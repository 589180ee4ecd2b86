"""State of an output folder of any kind: finished and remaining work, the writing process, and the last failure."""

from __future__ import annotations

import contextlib
import pickle
import zipfile
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

import orjson

from dataprep.core.output.kinds import CHECKPOINT, METRICS
from dataprep.core.output.layout import RUN, Folder, folder_url
from dataprep.core.output.run_folder import run_steps
from dataprep.core.output.state import DATASET, TOKENS
from dataprep.errors import DataprepError, PlanError
from dataprep.store import failure, files, lease

from .progress import PassProgress, progress

DONE, UNFINISHED, NOT_BEGUN = "done", "unfinished", "not begun"
MODEL, TOKENIZER, PERSONA, A_RUN, FOLDER, OTHER = "model", "tokenizer", "persona", "run", "folder", "other"
PERSONA_STEPS = ("messages", "conversations", "windows", "shards")  # in every finished folder of `persona`
DEPTH = 2  # a run has personas and groups of Datasets as steps


@dataclass(frozen=True)
class FolderStatus:
    """State of one output folder.

    Attributes:
        name: the name of the folder.
        url: its URL.
        kind: dataset, tokens, model, tokenizer, persona, run, folder (of several) or other; None if the folder does not
            exist.
        state: DONE, UNFINISHED or NOT_BEGUN. documents, bytes (of text), tokens: totals of a finished result, which is
            kept until the unfinished one replaces it.
        done: the number of finished units of work: parts of the input of a Dataset or of token shards, or training
            steps of a model; None if it is not known.
        of: the total number of these units; None if it is not known.
        holder: process that writes into the folder.
        progress: the current work of the run that makes a Dataset; None if no run works, or no task is finished.
        failure: the last failure, {"at", "error"} and for a run also "step".
    """

    name: str
    url: str
    kind: str | None
    state: str
    documents: int | None = None
    bytes: int | None = None
    tokens: int | None = None
    done: int | None = None
    of: int | None = None
    holder: dict[str, Any] | None = None
    progress: PassProgress | None = None
    failure: dict[str, Any] | None = None


def status(out: str) -> tuple[FolderStatus, list[FolderStatus]]:
    """Return the state of the folder `out`, and the states of the folders in it; nothing is written.

    The folders are the steps of a run in order, including steps not begun; or the folders of a persona; or any other
    subfolders that dataprep wrote. Raises PlanError if dataprep wrote nothing into `out`.
    """
    out = folder_url(out)
    inside = _inside(out, DEPTH)
    whole = _of(out, inside)
    if whole.kind in (None, OTHER):
        state = "is a file" if files.exists(out) else "does not exist"
        state = "has no results" if files.is_dir(out) else state
        msg = f"{out} {state}; pass the folder of a run, a Dataset, token shards, a model or a persona"
        raise PlanError(msg)
    return whole, inside


def _inside(url: str, depth: int) -> list[FolderStatus]:
    """Return the states of the folders in a folder that is not of one kind itself.

    - depth: levels of folders to read.
    """
    if depth == 0:
        return []
    names, steps = files.listdir(url), run_steps(url)
    if steps is None and _own_kind(url, names) not in (None, OTHER):
        return []
    listed = steps if steps is not None else _in_order([name for name in names if not name.startswith(".")])
    found = [_readable(files.join(url, name), depth - 1) for name in listed]
    return found if steps is not None else [one for one in found if one.kind not in (None, OTHER)]


def _readable(url: str, depth: int) -> FolderStatus:
    try:
        return _of(url, _inside(url, depth))
    except DataprepError:  # a file that another program wrote, or that is damaged
        return FolderStatus(files.name_of(url), url, OTHER, UNFINISHED)


def _in_order(names: list[str]) -> list[str]:
    known = [name for name in PERSONA_STEPS if name in names]
    return [*known, *(name for name in names if name not in known)] if _is_persona(names) else names


def _is_persona(names: list[str]) -> bool:
    return set(PERSONA_STEPS[:1]) < set(names) and bool({"learned.json", "conversations"} & set(names))


def _own_kind(url: str, names: list[str]) -> str | None:
    """Return the kind of a folder by its files; None if it has none."""
    folder = Folder(url)
    recipes = (folder.recipe, folder.unfinished.recipe)
    kind = folder.kind if folder.is_sealed else next((one.kind for one in recipes if one is not None), None)
    if kind is not None:
        return kind
    if _pieces(folder):
        return TOKENS
    if any(CHECKPOINT.fullmatch(name) or name == METRICS for name in names):
        return MODEL
    if "tokenizer.json" in names:
        return TOKENIZER
    return OTHER if any(not name.startswith(".") for name in names) else None


def _of(url: str, inside: list[FolderStatus]) -> FolderStatus:
    names = files.listdir(url)
    holder = lease.holder(url)
    failed = failure.found(files.path_of(url)) if files.is_local(url) else None
    known: dict[str, Any] = {"holder": holder, "failure": failed}
    kind, state = _own_kind(url, names), DONE
    if RUN in names or (inside and kind in (None, OTHER)):
        kind = A_RUN if RUN in names else PERSONA if _is_persona(names) else FOLDER
        ended = all(one.state == DONE for one in inside) and (kind != PERSONA or {*PERSONA_STEPS} <= {*names})
        state = DONE if ended and failed is None else UNFINISHED
        known |= {"done": sum(one.state == DONE for one in inside), "of": len(inside)}
    elif kind is None:
        state = NOT_BEGUN
    elif kind == DATASET:
        state, figures = _dataset(Folder(url))
        known |= figures
    elif kind == TOKENS:
        state, figures = _tokens(Folder(url))
        known |= figures
    elif kind == MODEL:
        state, figures = _model(url, names)
        known |= figures
    elif holder is not None or failed is not None:
        state = UNFINISHED
    return FolderStatus(files.name_of(url), url, kind, state, **known)


def _dataset(folder: Folder) -> tuple[str, dict[str, Any]]:
    found = None
    with contextlib.suppress(DataprepError):
        found = folder.manifest
    totals = {} if found is None else {"documents": found.docs, "bytes": found.bytes}
    begun = folder.unfinished.recipe
    if begun is None and found is not None:
        return DONE, totals
    work = folder if begun is None else folder.unfinished  # without work, a manifest was lost or removed
    recipe = begun or folder.recipe
    done = {"done": work.n_done, "of": None if recipe is None else recipe.parts}
    return UNFINISHED, {**totals, **done, "progress": progress(folder, done["of"])}


def _tokens(folder: Folder) -> tuple[str, dict[str, Any]]:
    found = None
    with contextlib.suppress(DataprepError):
        found = folder.token_manifest
    totals = {} if found is None else {"documents": found.documents, "bytes": found.bytes, "tokens": found.tokens}
    if found is not None and not files.exists(folder.unfinished.url):
        return DONE, totals
    return UNFINISHED, {**totals, "done": sum(_n_receipts(files.join(at, "parts")) for at in _pieces(folder))}


def _pieces(folder: Folder) -> list[str]:
    """Return the folders of the pieces of token shards that are being made."""
    homes = (folder, folder.unfinished)
    return [home.path(name) for home in homes for name in files.listdir(home.url) if name.startswith("pieces-")]


def _n_receipts(url: str) -> int:
    return sum(name.endswith(".json") for name in files.listdir(url))


def _model(url: str, names: list[str]) -> tuple[str, dict[str, Any]]:
    """Return the state of a training run: the step of its newest checkpoint, and the steps of its config.

    If a new run that will replace it was begun, the state is that of the new run.
    """
    begun = Folder(url).unfinished.url
    if any(CHECKPOINT.fullmatch(name) or name == METRICS for name in files.listdir(begun)):
        return UNFINISHED, _model(begun, files.listdir(begun))[1]
    for name in sorted((name for name in names if CHECKPOINT.fullmatch(name)), reverse=True):
        found = _checkpoint_facts(files.join(url, name))
        if found is not None:
            done, of = found["step"], found["config"].get("steps")
            return DONE if of is not None and done >= of else UNFINISHED, {"done": done, "of": of}
    if "metrics.jsonl" not in names:
        return UNFINISHED, {}
    rows = metrics_rows(files.join(url, "metrics.jsonl"))
    return UNFINISHED, {"done": rows[-1].get("step", 0) if rows else 0}


def metrics_rows(url: str) -> list[dict[str, Any]]:
    """Return the rows of a training run's metrics; lines that are incomplete or damaged are left out."""
    found: list[dict[str, Any]] = []
    with files.open_raw(url) as f:
        for line in f:
            with contextlib.suppress(orjson.JSONDecodeError):
                row = orjson.loads(line) if line.endswith(b"\n") else None
                found += [row] if isinstance(row, dict) else []
    return found


class _Facts(pickle.Unpickler):
    """Reads the numbers and texts of a checkpoint; tensors and all other objects are None, and no code is called."""

    def find_class(self, module: str, name: str) -> Any:
        """Return OrderedDict for itself, and a function that returns None for every other class or function."""
        return OrderedDict if (module, name) == ("collections", "OrderedDict") else lambda *_given, **_named: None

    def persistent_load(self, pid: Any) -> None:
        """Return None instead of the bytes of a tensor."""


def _checkpoint_facts(url: str) -> dict[str, Any] | None:
    """Return {"step", "config", ...} of a checkpoint; None if it is damaged."""
    try:
        with files.open_raw(url) as f, zipfile.ZipFile(f) as z:
            inner = next(name for name in z.namelist() if name.endswith("/data.pkl"))
            with z.open(inner) as data:
                found = _Facts(data).load()
        return found if isinstance(found["step"], int) and isinstance(found["config"], dict) else None
    except Exception:  # noqa: BLE001 - whatever damaged bytes raise
        return None
