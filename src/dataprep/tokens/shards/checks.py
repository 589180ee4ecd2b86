"""Checks of `encode`: that a template fits the tokenizer, and that splits agree and have documents."""

from __future__ import annotations

import logging
import os
from dataclasses import asdict
from typing import TYPE_CHECKING

from dataprep.errors import PlanError
from dataprep.tokens.dialogue import COLUMN, check_template
from dataprep.tokens.split import Split
from dataprep.tokens.templates import Template, template_of
from dataprep.tokens.vocabulary.tokenizer import Tokenizer

from .shard import Shards

if TYPE_CHECKING:
    from dataprep.core.model.dataset import Dataset

log = logging.getLogger("dataprep")


def template_for(docs: Dataset, tok: Tokenizer, given: str | os.PathLike[str] | Template | None) -> Template | None:
    """Return the template that is given by its name, text or path, or None; raise PlanError if it cannot be used."""
    if given is None:
        return None
    template = template_of(given)
    check_template(tok, template)
    if COLUMN not in docs.columns:
        msg = (
            f"template= encodes the column {COLUMN!r}, which the documents do not have; they have "
            f"{', '.join(docs.columns)}; dp.chats.Turns(person=...) makes it from chats"
        )
        raise PlanError(msg)
    return template


def check_split(tok: Tokenizer, split: Split) -> None:
    """Log a warning if the tokenizer was trained on documents that `split` holds out."""
    seen = tok.trained_on and Split(**tok.trained_on)
    if seen and not seen.holds_out(split):
        log.warning(
            "the tokenizer was trained on documents of this validation split (trained with %s, encoding with %s); "
            "train it again with the same split, or with larger shares",
            *(", ".join(f"{n}={v!r}" for n, v in asdict(s).items() if v is not None) for s in (seen, split)),
        )


def check_sides(shards: Shards, split: Split, emptied: str) -> None:
    """Log a warning if there is no document, or none in a split.

    - emptied: the reason, as `Stats.emptied` states it.
    """
    if not len(shards):
        log.warning("%s: the input has no documents to encode%s", shards.path, f"; {emptied}" if emptied else "")
    for side, share in (("val", split.val), ("test", split.test)):
        if len(shards) and share and not len(shards.split(side)):
            log.warning(
                "%s: none of %s documents is in the %s split, so no loss can be measured on it; raise %s=%s",
                *(shards.path, f"{len(shards):,}", {"val": "validation"}.get(side, side), side, share),
            )
