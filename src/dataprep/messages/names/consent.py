"""Consent: drop messages of people who did not agree."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import pyarrow as pa

from dataprep.core.batch import Batch
from dataprep.core.ledger import Ledger
from dataprep.core.stage import Stage, drop_rows
from dataprep.errors import PlanError, ReadError
from dataprep.store import files

from .matching import identity, words


@dataclass(frozen=True, kw_only=True, repr=False)
class Consent(Stage):
    """Drop the messages of people who did not agree: reason "no_consent".

    refused: names of people who did not agree. allowed: names of people who agreed; all others' messages are dropped.
    Give one of the two: the names, or the path of a file with one per line. The platform's own lines (no author) are
    kept. Two names are equal if they are without case, accents, emoji, invisible signs and a leading ~.

    Messages of others are kept, replies to the dropped messages included: an export does not quote the answered
    message, it has only `reply_to`, which may then name a dropped message. To remove the names of people who did not
    agree from other people's texts, use `Pseudonyms(consent=)`, which learns the names before it drops messages.

    Raises PlanError for both or neither, a list that cannot be read, and one without names.
    """

    refused: str | Sequence[str] | None = None
    allowed: str | Sequence[str] | None = None
    listed: frozenset[Any] = field(init=False, compare=False)

    needs: ClassVar[tuple[str, ...]] = ("author",)
    hides: ClassVar[bool] = True  # examples in the statistics would show what they wrote

    def __post_init__(self) -> None:
        if (self.refused is None) == (self.allowed is None):
            msg = "Consent must have one of refused= and allowed=; give names, or a file with one per line"
            raise PlanError(msg)
        names = names_in("Consent", self.refused if self.allowed is None else self.allowed)
        object.__setattr__(self, "listed", frozenset(map(_loose, names)))

    def __repr__(self) -> str:
        which = "refused" if self.allowed is None else "allowed"
        return f"Consent({which}={len(self.listed)} names)"

    def recipe(self) -> Any:
        """Return the names, not the path of the list."""
        return self.VERSION, self.allowed is None, sorted(map(repr, self.listed))

    def __call__(self, batches: Iterator[Batch], stats: Ledger) -> Iterator[Batch]:
        """Drop messages of people who did not agree; each author is looked up once per batch."""
        for batch in batches:
            yield drop_rows(batch, self.reasons(batch.column("author")), stats)

    def reasons(self, authors: pa.Array) -> pa.StringArray:
        """Return "no_consent" for each author who did not agree, else null."""
        coded = authors.cast(pa.string()).dictionary_encode()
        drops = [(_loose(name) in self.listed) == (self.allowed is None) for name in coded.dictionary.to_pylist()]
        return pa.array(["no_consent" if drop else None for drop in drops], pa.string()).take(coded.indices)


def _loose(name: str) -> Any:
    """Return a value that is equal for two spellings of a name: its words, or its identity if it has none."""
    return words(name) or identity(name)


def names_in(stage: str, given: Any) -> tuple[str, ...]:
    """Return names, given as such or as a file with one per line; sorted and unique.

    Raises PlanError, naming `stage`, if the file cannot be read or there is no name.
    """
    if isinstance(given, str):
        try:
            with files.open_read(given) as f:
                given = f.read().decode("utf-8-sig").splitlines()
        except (OSError, ReadError, UnicodeDecodeError) as e:
            msg = f"{stage} could not read the names in {given}: {e}; give a UTF-8 file with one per line, or the names"
            raise PlanError(msg) from e
    found = tuple(given) if isinstance(given, (Sequence, set, frozenset)) else (None,)
    if not all(isinstance(n, str) for n in found) or not any(n.strip() for n in found):
        msg = f"{stage} has no names; give a file with one per line, or a tuple of names"
        raise PlanError(msg)
    return tuple(sorted({n.strip() for n in found} - {""}))
