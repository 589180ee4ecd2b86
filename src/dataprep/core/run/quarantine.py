"""Quarantine: files that ended a worker process twice, by memory use, time or a crash, are not read again.

Only input that is read with on_bad_file="skip" is quarantined. The decisions are stored in OUT/.dataprep-quarantine, so
that a resumed run makes the same decisions; they contain the hash of a file's content, but no name. Each slice of a
file is decided separately, since other slices may be finished.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from dataprep.store import files

from ..model.dataset import Dataset
from ..model.part import Part
from ..model.reader import Slice
from ..model.tables import QUARANTINED, Unread
from ..output.state import Quarantine
from .crashes import MAX_CRASHES, Quarantined

log = logging.getLogger("dataprep")

NAME = ".dataprep-quarantine"


def without_deadly_files(execute: Callable[..., None]) -> Callable[..., None]:
    """Return `execute`, wrapped: a slice of a file that ends workers is recorded, and then left out of the input.

    Args:
        execute: a function of a plan, which states the input and the folder of the records, and of other values.
    """

    @functools.wraps(execute)
    def repeated(plan: Any, *given: Any) -> None:
        left = replace(plan, docs=without(plan.docs, plan.out))
        try:
            return execute(left, *given)
        except Quarantined as e:
            log.warning("%s: %s, %d times; the file is skipped", e.piece.url, e.why, MAX_CRASHES)
            decided = {**_decided(plan.out), _name(left.docs, e.piece): e.why}
            Quarantine(slices=decided).save(files.join(plan.out, NAME))
        return repeated(left, *given)

    return repeated


def without(docs: Dataset, out: str) -> Dataset:
    """Return `docs` with the slices quarantined in the folder `out` listed as unread."""
    decided = _decided(out)
    if not decided or not any(part.skips_bad for part in docs.parts):
        return docs
    return docs.of(_without(part, docs, decided) for part in docs.parts)


def _without(part: Part, docs: Dataset, decided: Mapping[str, str]) -> Part:
    why = [decided.get(_name(docs, piece)) for piece in part.slices]
    if not part.skips_bad:
        return part
    slices = [
        replace(piece, unread=Unread(piece.url, QUARANTINED, piece.start or None, one)) if one else piece
        for piece, one in zip(part.slices, why, strict=True)
    ]
    return replace(part, slices=tuple(slices))


def _name(docs: Dataset, piece: Slice) -> str:
    return f"{docs.fingerprints[piece.url]}:{piece.start}"


def _decided(out: str) -> Mapping[str, str]:
    """Return the reason for each decision, by content hash and start of the slice."""
    found = Quarantine.found(files.join(out, NAME))
    return {} if found is None else found.slices  # a damaged list is decided again
