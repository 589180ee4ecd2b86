"""Kinds: what a folder holds, as its records say, so that no writer puts its files among those of another result."""

from __future__ import annotations

from collections.abc import Mapping

from dataprep.errors import StaleOutput
from dataprep.store import files, receipts

from .layout import ORIGIN, RECEIPTS, RECIPE, Folder
from .state import DATASET, INDEX, TOKENS

TOKENIZER, EXPORT, PERSONA, PRESET = "tokenizer", "export", "persona", "preset"
NOUNS = {
    DATASET: "a Dataset", TOKENS: "token shards", INDEX: "a search index", TOKENIZER: "a tokenizer",
    EXPORT: "an export", PERSONA: "a persona", PRESET: "a preset",
}  # fmt: skip
BESIDE: Mapping[str, frozenset[str]] = {  # a tokenizer is the same as theirs, which `check_same` checks
    TOKENS: frozenset({TOKENIZER}), TOKENIZER: frozenset({TOKENS, EXPORT}), EXPORT: frozenset({TOKENIZER}),
}  # fmt: skip
FORMS = ("llmc", "megatron", "datatrove", "nanogpt")  # of exports, whose receipts are in folders of these names


def held(url: str) -> list[str]:
    """Return the kinds of the results in a folder, finished or begun."""
    folder = Folder(url)
    recipe = folder.recipe or (folder.unfinished.recipe if is_begun(folder) else None)
    found = [] if recipe is None else [recipe.kind]
    own = receipts.found(folder.path("receipt.json"))
    if own is not None and any(files.name_of(one["name"]) == "tokenizer.json" for one in own["files"]):
        found.append(TOKENIZER)
    if any(files.listdir(folder.path(RECEIPTS, form)) for form in FORMS):
        found.append(EXPORT)
    if "cuts" in (receipts.found(folder.path("cuts.json")) or {}):
        found.append(PERSONA)
    return [*found, *([PRESET] if files.exists(folder.path("preset.json")) else [])]


def is_begun(folder: Folder) -> bool:
    """Return whether there is unfinished work with a result: a recipe alone is none."""
    return has_work(folder) or bool(folder.steps)


def has_work(folder: Folder) -> bool:
    """Return whether a file of the next result was made."""
    return bool(set(files.listdir(folder.unfinished.url)) - {RECIPE, ORIGIN})


def refuse(url: str, kind: str) -> None:
    """Raise StaleOutput if a folder has a result of another kind beside which none of `kind` may be written."""
    for other in held(url):
        if other != kind and other not in BESIDE.get(kind, ()):
            raise other_kind(url, other)


def other_kind(url: str, kind: str) -> StaleOutput:
    """Return the error that a folder holds a result of a kind, beside which another must not be written."""
    return StaleOutput(f"{url} holds {NOUNS[kind]}; give another folder as out")
