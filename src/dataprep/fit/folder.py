"""The folder of a preset: the finished preset, and the models of the next preset, stored next to its own models."""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass
from typing import Any

from dataprep.core.output import owned
from dataprep.errors import DataprepError, PlanError, StaleOutput
from dataprep.filters.preset_folder import CLASSIFIER, MARK, NGRAM, PIECES, RECORD, file_of, open_preset
from dataprep.store import files, receipts

from .preview import CutShares

RECEIPTS = "receipts"
KINDS = (PIECES, NGRAM, CLASSIFIER)  # the models, by their names in the first preset of a folder


@dataclass(frozen=True)
class LanguagePreset:
    """A preset folder: the settings and models of one language.

    Attributes:
        url: the folder.
        record: the content of its preset.json.
        cuts: the share of the reference and of the crawl sample that each rule drops.
    """

    url: str
    record: dict[str, Any]
    cuts: tuple[CutShares, ...]


def finished(out: str, own: str, *, replace: bool) -> LanguagePreset | None:
    """Return the preset in `out` if the same recipe made it. Raises StaleOutput if another recipe made it."""
    at = files.join(out, RECORD)
    if not files.exists(at):
        return None
    try:
        record = open_preset("fit_language", out, *KINDS)
    except PlanError:
        with contextlib.suppress(PlanError):
            if open_preset("fit_language", out)["key"] == own:
                return None  # a model was changed or removed: only this one is made again
        if not replace:
            msg = f"{out} has a preset that was changed since it was made; choose another folder, or replace=True"
            raise StaleOutput(msg) from None
        record = {}
    if record.get("key") == own:
        return LanguagePreset(out, record, tuple(CutShares(**cut) for cut in record["cuts"]))
    if not replace:
        msg = f"{out} has a preset made from other samples or settings; choose another folder, or replace=True"
        raise StaleOutput(msg)
    return None


def models(out: str) -> list[str]:
    """Return the names of the models in a folder, and of the descriptions of classifiers."""
    return [name for name in files.listdir(out) if MARK.sub("", name.removesuffix(".json")) in KINDS]


def _receipts(out: str, own: str) -> list[str]:
    """Return the names of the receipts in a folder of models that were made by the recipe with the key `own`."""
    home = files.join(out, RECEIPTS)
    return [n for n in files.listdir(home) if (receipts.found(files.join(home, n)) or {}).get("key") == own]


def generation(out: str, own: str) -> int:
    """Return the generation of the models to make: the one that a call of this recipe began, or the next one."""
    mine = _receipts(out, own)
    names = mine or models(out)
    found = [int(mark[1]) if (mark := re.search(r"\.g(\d+)\.", name)) else 1 for name in names]
    return max(found) if mine else 1 + max(found, default=0)


def sweep(out: str, own: str) -> None:
    """Delete models that the preset in a folder does not name and no call of the recipe with the key `own` made."""
    at = files.join(out, RECORD)
    try:
        record = files.read_json(at) if files.exists(at) else {}
        named = [files.name_of(file_of(out, record, kind)) for kind in record.get("files", {})]
    except (AttributeError, DataprepError):  # damaged, so that it is not known which models are its own
        return
    kept = [*_receipts(out, own), *_receipts(out, str(record.get("key")))]
    named += [files.name_of(one["name"]) for n in kept for one in receipts.read(files.join(out, RECEIPTS, n))["files"]]
    stale = [name for name in models(out) if name.removesuffix(".json") not in named]
    old = set(files.listdir(files.join(out, RECEIPTS))) - set(kept)
    owned.remove(out, [*stale, *(files.join(RECEIPTS, name) for name in old)])
