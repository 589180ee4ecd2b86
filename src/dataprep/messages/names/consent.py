"""Consent: messages of people who did not agree are left out."""

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

    refused: names of those who said no; or allowed: of those who said yes, everybody else's messages go. Either the
    names, or the location of a file with one a line. What the platform itself says (no author) stays. Two names are one
    if they are equal without case, accents, emoji, invisible signs and a leading ~.

    What others wrote stays, answers to the dropped messages included: an export has no quotation of what is answered,
    only `reply_to`, which may then name a message that is gone. To take their names out of what others wrote, give
    this as `Pseudonyms(consent=)`, which learns the names before the messages go.

    Raises PlanError for both or neither, a list that cannot be read, and one without names.
    """

    refused: str | Sequence[str] | None = None
    allowed: str | Sequence[str] | None = None
    listed: frozenset[Any] = field(init=False, compare=False)

    needs: ClassVar[tuple[str, ...]] = ("author",)
    hides: ClassVar[bool] = True  # the books' examples would show what they wrote

    def __post_init__(self) -> None:
        if (self.refused is None) == (self.allowed is None):
            msg = "Consent takes refused= or allowed=: a list of names, or a file with one a line"
            raise PlanError(msg)
        names = names_in("Consent", self.refused if self.allowed is None else self.allowed)
        object.__setattr__(self, "listed", frozenset(map(_loose, names)))

    def __repr__(self) -> str:
        which = "refused" if self.allowed is None else "allowed"
        return f"Consent({which}={len(self.listed)} names)"

    def recipe(self) -> Any:
        """Whom it names, not where the list lies."""
        return self.VERSION, self.allowed is None, sorted(map(repr, self.listed))

    def __call__(self, batches: Iterator[Batch], stats: Ledger) -> Iterator[Batch]:
        """Ask about every author once a batch."""
        for batch in batches:
            yield drop_rows(batch, self.reasons(batch.column("author")), stats)

    def reasons(self, authors: pa.Array) -> pa.StringArray:
        """The reason "no_consent" for each author who did not agree, else null."""
        coded = authors.cast(pa.string()).dictionary_encode()
        goes = [(_loose(name) in self.listed) == (self.allowed is None) for name in coded.dictionary.to_pylist()]
        why = pa.array(["no_consent" if g else None for g in goes], pa.string())
        return why.take(coded.indices)


def _loose(name: str) -> Any:
    """What is equal for two spellings of a name in a list: its words, or all of it where it has none."""
    return words(name) or identity(name)


def names_in(who: str, given: Any) -> tuple[str, ...]:
    """Names, or the lines of the file they are in."""
    if isinstance(given, str):
        try:
            with files.open_read(given) as f:
                given = f.read().decode("utf-8-sig").splitlines()
        except (OSError, ReadError, UnicodeDecodeError) as e:
            msg = f"{who} cannot read the names in {given}: {e}. Give a UTF-8 file with one a line, or the names"
            raise PlanError(msg) from e
    found = tuple(given) if isinstance(given, (Sequence, set, frozenset)) else (None,)
    if not all(isinstance(n, str) for n in found) or not any(n.strip() for n in found):
        msg = f"{who} was given no names; give a file with one a line, or a tuple of names"
        raise PlanError(msg)
    return tuple(sorted({n.strip() for n in found} - {""}))
