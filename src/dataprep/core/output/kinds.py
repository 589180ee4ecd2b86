"""Identify the kind of result in a folder by its records, so that no command writes another kind of result into it.

For a local folder, only the standard library is needed, since the trainer calls this module too.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Mapping
from typing import Any

from dataprep.errors import CorruptShard, DataprepError, StaleOutput
from dataprep.store import beside
from dataprep.store.atomic import is_path, journal_of, journaled, read_bytes
from dataprep.store.checksum import checked

from .state import DATASET, INDEX, MANIFEST, MANIFESTS, ORIGIN, RECEIPTS, RECIPE, STEPS, TOKENS, Recipe

TOKENIZER, EXPORT, PERSONA, PRESET = "tokenizer", "export", "persona", "preset"
TRAINED, MODEL, ADAPTER = "trained model", "model", "adapter"
NOUNS = {
    DATASET: "a Dataset", TOKENS: "token shards", INDEX: "a search index", TOKENIZER: "a tokenizer",
    EXPORT: "an export", PERSONA: "a persona", PRESET: "a preset", TRAINED: "a trained model",
    MODEL: "a Hugging Face model", ADAPTER: "an adapter",
}  # fmt: skip
BESIDE: Mapping[str, frozenset[str]] = {  # a tokenizer is the same as theirs, which `check_same` checks
    TOKENS: frozenset({TOKENIZER}), TOKENIZER: frozenset({TOKENS, EXPORT}), EXPORT: frozenset({TOKENIZER}),
}  # fmt: skip
FORMS = ("llmc", "megatron", "datatrove", "nanogpt")  # of exports, whose receipts are in folders of these names
CHECKPOINT = re.compile(r"step-\d{8}\.pt")
METRICS = "metrics.jsonl"  # of a trained model, written before its first checkpoint
WEIGHTS = {MODEL: r"model(-\d{5}-of-\d{5})?\.safetensors", ADAPTER: r"adapter_model\.safetensors"}


def held(url: str) -> list[str]:
    """Return the kinds of results, finished or begun, in a folder.

    A trained model, a model and an adapter are recognized by their file names, no matter which program wrote them.
    """
    names = _names(url)
    made = _recipe(url) or (_recipe(f"{url}/{beside.UNFINISHED}") if is_begun(url) else None)
    found = [] if made is None else [made]
    listed = _record(f"{url}/receipt.json", checksum=True).get("files")
    own = [one.get("name") for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    if "tokenizer.json" in own:
        found.append(TOKENIZER)
    if any(_names(f"{url}/{RECEIPTS}/{form}") for form in FORMS):
        found.append(EXPORT)
    if "cuts" in _record(f"{url}/cuts.json", checksum=True):
        found.append(PERSONA)
    if "preset.json" in names:
        found.append(PRESET)
    if any(map(CHECKPOINT.fullmatch, names)) or (METRICS in names and _is_own(f"{url}/{METRICS}")):
        found.append(TRAINED)
    return found + [kind for kind, weights in WEIGHTS.items() if any(re.fullmatch(weights, name) for name in names)]


def is_begun(url: str) -> bool:
    """Return whether a folder contains unfinished work; a recipe alone does not count as work."""
    return has_work(url) or any(name[:2].isdigit() for name in _names(f"{url}/{STEPS}"))


def has_work(url: str) -> bool:
    """Return whether any file of the next result exists."""
    return bool(_names(f"{url}/{beside.UNFINISHED}") - {RECIPE, ORIGIN})


def refuse(url: str, kind: str) -> None:
    """Raise StaleOutput if a folder has a result whose kind cannot share the folder with a result of `kind`."""
    for other in held(url):
        if other != kind and other not in BESIDE.get(kind, ()):
            raise other_kind(url, other)


def other_kind(url: str, kind: str) -> StaleOutput:
    """Return the error for a folder that has a result whose kind cannot share the folder with other kinds."""
    return StaleOutput(f"{url} holds {NOUNS[kind]}; choose another folder as out")


def _recipe(url: str) -> str | None:
    """Return the kind that the manifest or the recipe in a folder states; None if neither can be read."""
    manifest, recipe = (f"{url}/{name}" for name in (MANIFEST, RECIPE))
    with contextlib.suppress(CorruptShard, KeyError):
        found = _record(manifest)
        return MANIFESTS[found["kind"]].of(found, manifest).kind
    with contextlib.suppress(CorruptShard):
        return Recipe.of(_record(recipe), recipe).kind
    return None


def _names(url: str) -> set[str]:
    """Return the names in a folder, including those of a result whose files are being moved there."""
    if not is_path(url):
        from dataprep.store import files

        return set(files.listdir(url))
    moved = beside.ready(url)
    with contextlib.suppress(OSError):
        return {*os.listdir(url), *(moved.files if moved is not None else ())}
    return set()


def _record(url: str, *, checksum: bool = False) -> dict[str, Any]:
    """Return the JSON object in a file; {} if the file is missing or damaged.

    - checksum: whether the file must have a checksum.
    """
    with contextlib.suppress(DataprepError, OSError, ValueError, RecursionError):
        if is_path(url):
            data = read_bytes(beside.at(url))
            found = checked(data, json.loads(data), required=checksum)
        else:
            from dataprep.store import files

            found = files.read_json(url, checksum=checksum) if files.exists(url) else {}
        return found if isinstance(found, dict) else {}
    return {}


def _is_own(url: str) -> bool:
    """Return whether the journal of the folder that contains a local file lists it."""
    journal = journal_of(url) if is_path(url) else None
    return journal is not None and os.path.abspath(url) in journaled(journal)
