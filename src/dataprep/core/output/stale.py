"""Say what changed since a folder was made: the first stage, field or input file in which two recipes differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dataprep.store import files

from ..model.dataset import Dataset
from ..model.describe import spelled
from .changed import compared
from .layout import ORIGIN, RECIPE, Folder

UNKNOWN = "its input or its code is another"
UNLISTED = f"{UNKNOWN}; which, is not known: the folder does not list its input files, as after a stage that hides them"
LONGEST = 60  # characters of a value that are shown


def changed(out: str, found: dict[str, Any], recipe: dict[str, Any], docs: Dataset) -> str:
    """Return the first difference between the recipe of the folder `out` and another one, as the end of a sentence.

    found, recipe: the folder's recipe, and that of this run. docs: the input of this run.
    """
    return _stages(found.get("stages", []), recipe["stages"]) or _files(out, docs) or _unknown(out)


def changed_settings(out: str, found: Mapping[str, Any], settings: Mapping[str, Any], docs: Dataset | None) -> str:
    """Return the first difference between the settings that made the folder `out` and new ones; the end of a sentence.

    found, settings: the folder's settings, and those of this run; a name that only one of them has is not compared.
    docs: the input of this run, whose files are compared if no setting differs; None if it is not a Dataset.
    """
    for name, now in settings.items():
        if name in found and found[name] != now:
            return f"{name} was {_value(found[name])} there, and is {_value(now)} now"
    return ("" if docs is None else _files(out, docs)) or UNKNOWN


def _unknown(out: str) -> str:
    home = Folder(out)
    return UNLISTED if files.exists(home.path(RECIPE)) and not files.exists(home.path(ORIGIN)) else UNKNOWN


def _stages(old: Sequence[dict[str, Any]], new: Sequence[dict[str, Any]]) -> str:
    names = [[one["label"] for one in stages] for stages in (old, new)]
    if names[0] != names[1]:
        return f"its stages are {_listed(names[0])}, and now {_listed(names[1])}"
    for was, now in zip(old, new, strict=True):
        for name in [*dict.fromkeys([*was["fields"], *now["fields"]])]:
            values = [_value(stage["fields"].get(name)) for stage in (was, now)]
            if was["fields"].get(name) != now["fields"].get(name):
                return f"{now['label']} has {name}={values[0]} there, and {name}={values[1]} now"
        if was != now:
            return f"the class or version of {now['label']} is another"
    return ""


def _listed(labels: Sequence[str]) -> str:
    return " -> ".join(labels) or "none (a copy)"


def _value(value: Any) -> str:
    text = spelled(value) if isinstance(value, dict) and "class" in value else repr(value)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}\u2026"


def _files(out: str, docs: Dataset) -> str:
    """Return the first input file that is new, missing or has other content; empty if none is, or if none is known."""
    changes = compared(out, docs)
    for what, urls in () if changes is None else (
        ("is new", changes.new),
        ("is not in the input any more", changes.gone),
        ("is empty now, or cannot be opened", changes.unreadable),
        ("has other content", changes.changed),
    ):
        if urls:
            more = f" (and {len(urls) - 1:,} more)" if len(urls) > 1 else ""
            return f"the input file {urls[0]}{more} {what}"
    return ""
