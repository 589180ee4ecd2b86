"""Consent: drop the messages of people who did not agree to their use."""

from __future__ import annotations

import difflib
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import pyarrow as pa

from dataprep.core.model.batch import Batch
from dataprep.core.model.dataset import Dataset
from dataprep.core.model.estimator import Estimator
from dataprep.core.model.ledger import Ledger
from dataprep.core.model.part import Part
from dataprep.core.model.stage import Stage, drop_rows
from dataprep.core.run.context import given_to, sees_all
from dataprep.core.run.runner import Runner
from dataprep.errors import PlanError, ReadError
from dataprep.messages.people.people_file import people_of
from dataprep.store import files

from .handles import Row, stated_in, with_accounts
from .known import KnownPeople, parts
from .matching import COMMON, identity, words
from .phones import is_abroad, phone, same_number
from .terms import AUTHOR

log = logging.getLogger("dataprep")


@dataclass(frozen=True, kw_only=True, repr=False)
class Consent(Estimator):
    """Drop the messages of people who refused consent, with the reason "no_consent"; an Estimator.

    Args:
        refused: the names of people who refused consent, or the path of a file with one name per line.
        allowed: the names of people who gave consent, or the path of such a file; the messages of all other people are
            dropped. Only one of `refused` and `allowed` may be given.
        strict: whether a listed name that no author has stops the run. With False, such a name is only logged; this is
            for one list that serves several corpora.
        people: a people file (`dataprep people`); a listed name then represents all names of its person.

    The platform's own lines (no author) are kept. Names are compared without case, accents, emoji, invisible characters
    and a leading ~. Phone numbers are compared by their digits, in national or international form: a listed +7 912 345
    67 89 is not +91 2345 6789. A handle or id in an export identifies the person of that account.

    Messages of other people are kept, including replies to dropped messages: an export does not quote the answered
    message, but has only `reply_to`, which may then refer to a dropped message. To remove the names of people who
    refused consent from other people's texts, use `Pseudonyms(consent=)`, which learns the names before it drops
    messages.

    Raises PlanError if both or neither of the lists are given, if a list cannot be read or has no names, and, before
    any message is dropped, if a listed name is not the name of an author; the error shows the authors with the most
    similar names.
    """

    refused: str | Sequence[str] | None = None
    allowed: str | Sequence[str] | None = None
    strict: bool = True
    people: Any = None
    given: tuple[str, ...] = field(init=False, compare=False)
    names: tuple[str, ...] = field(init=False, compare=False)
    listed: frozenset[Any] = field(init=False, compare=False)
    phones: tuple[str, ...] = field(init=False, compare=False)

    VERSION: ClassVar[int] = 4
    needs: ClassVar[tuple[str, ...]] = ("author",)
    loses: ClassVar[Mapping[str, str]] = {"authors": "pass it as Pseudonyms(consent=Consent(...))"}
    sees: ClassVar[tuple[str, ...]] = ("messages",)
    hides: ClassVar[bool] = True  # examples in the statistics would show what they wrote

    def __post_init__(self) -> None:
        if (self.refused is None) == (self.allowed is None):
            msg = "Consent must have either refused= or allowed=; pass names, or a file with one name per line"
            raise PlanError(msg)
        given = names_in("Consent", self.refused if self.allowed is None else self.allowed)
        object.__setattr__(self, "people", people_of(self.people))
        names = tuple(sorted({one for name in given for one in (name, *self.people.strings_of(name))}))
        object.__setattr__(self, "given", given)
        object.__setattr__(self, "names", names)
        object.__setattr__(self, "listed", frozenset(_loose(name) for name in names if not phone(name)))
        object.__setattr__(self, "phones", tuple(name for name in names if phone(name)))

    def __repr__(self) -> str:
        which = "refused" if self.allowed is None else "allowed"
        return f"Consent({which}={len(self.given)} names)"

    def recipe(self) -> Any:
        """Return the values that identify this stage: the names themselves, not the path of the list."""
        numbers = sorted({(phone(one), is_abroad(one)) for one in self.phones})
        return self.allowed is None, sorted(map(repr, self.listed)), numbers

    def fit(self, docs: Dataset, runner: Runner, out: str) -> Stage:  # noqa: ARG002 - writes nothing
        """Check that each listed name is an author's in `docs`; return the stage that drops the messages.

        Raises PlanError as `check` does. Writes no file, so `out` is not used.
        """
        whole = sees_all(runner)
        rows: set[Row] = set().union(*runner.map(_authors, docs.tasks, "Consent: authors"))
        rows |= stated_in(given_to(runner, docs), runner, "Consent: accounts") if whole else set()
        people = sorted({name for kind, _, name in rows if kind == AUTHOR})
        known = replace(self, people=with_accounts(self.people, rows))
        known.check(people, whole=whole)
        others = [parts(name) for name in people if not known.lists(name)]
        return Consented(consent=known, borne=tuple(name for name in known.names if _is_in(parts(name), others)))

    def check(self, people: Iterable[str], *, whole: bool = True) -> None:
        """Raise PlanError if a listed name is not among `people`, or if a national number matches several of them.

        The message shows the most similar names; if `strict` is False, or only a sample of the input is read, it is
        only logged.

        Args:
            people: the names of authors.
            whole: whether these are all authors, and not only those of a sample.
        """
        present = sorted(set(people))
        for name in self.given if whole else ():
            fits = {phone(one): one for one in present if is_abroad(one) and same_number(name, one)}
            if len(fits) > 1 and not is_abroad(name):
                msg = f"the number {name!r} given to Consent may be {' or '.join(map(repr, sorted(fits.values())))}; "
                msg += "write it with + and the country code"
                raise PlanError(msg)
        missing = [name for name in self.given if not self._meets(name, present)]
        if not missing:
            return
        nearest = [one for name in missing[:3] for one in _nearest(name, present)]
        shown = ", ".join(map(repr, missing[:10]))
        where = "" if whole else " in the sample"  # which has not everybody
        msg = f"{len(missing)} of {len(self.given)} names given to Consent are not authors{where}: {shown}"
        msg += f"; the most similar authors are {', '.join(map(repr, dict.fromkeys(nearest)))}" if nearest else ""
        if self.strict and whole:
            msg += "; write the names as the export does, or remove them from the list"
            raise PlanError(msg)
        log.warning("%s", msg)

    def _meets(self, name: str, people: Sequence[str]) -> bool:
        forms = {name, *self.people.strings_of(name)}
        return any(_same(form, other) for form in forms for other in people)

    def reasons(self, authors: pa.Array) -> pa.StringArray:
        """Return the reason to drop the message of each author: "no_consent", or null for people who agreed."""
        coded = authors.cast(pa.string()).dictionary_encode()
        drops = [self.lists(name) == (self.allowed is None) for name in coded.dictionary.to_pylist()]
        return pa.array(["no_consent" if drop else None for drop in drops], pa.string()).take(coded.indices)

    def lists(self, name: str) -> bool:
        """Return whether an author is on the list."""
        return any(same_number(name, one) for one in self.phones) if phone(name) else _loose(name) in self.listed


@dataclass(frozen=True, kw_only=True, repr=False)
class Consented(Stage):
    """Drops the messages of people who did not agree; `Consent.fit` returns this stage.

    Attributes:
        borne: the listed names that are part of the name of an unlisted author, such as Sara if the author is Sara
            Lund.
    """

    consent: Consent
    borne: tuple[str, ...] = ()

    needs: ClassVar[tuple[str, ...]] = ("author",)
    hides: ClassVar[bool] = True

    @property
    def name(self) -> str:
        """The name of the Estimator, "Consent", which is used in statistics."""
        return Consent.__name__

    def __repr__(self) -> str:
        return repr(self.consent)

    def __call__(self, batches: Iterator[Batch], stats: Ledger) -> Iterator[Batch]:
        """Yield the messages of people who agreed; drop the others as "no_consent"."""
        for batch in batches:
            yield drop_rows(batch, self.consent.reasons(batch.column("author")), stats)

    def secrets(self) -> KnownPeople | None:
        """Return a search for the names of people who did not agree; None if only people who agreed are listed.

        A name that is also part of another author's name is only counted.
        """
        return KnownPeople(self.consent.names, COMMON, self.borne) if self.consent.allowed is None else None


def _authors(part: Part) -> set[Row]:
    """Return rows of the authors in a part."""
    found = set[Row]()
    for batch in part.batches(["author"]):
        found |= {(AUTHOR, "", name) for name in batch["author"].unique().drop_null().cast(pa.string()).to_pylist()}
    return found


def _is_in(name: Sequence[str], others: Iterable[Sequence[str]]) -> bool:
    """Return whether the words of a name are consecutive words of one of the other names."""
    n = len(name)
    return n > 0 and any(tuple(one[i : i + n]) == tuple(name) for one in others for i in range(len(one) - n + 1))


def _same(name: str, other: str) -> bool:
    return same_number(name, other) if phone(name) else _loose(name) == _loose(other)


def _nearest(name: str, people: Sequence[str]) -> list[str]:
    """Return at most three similar names in `people`: by the end of a number, or by similar letters and equal words."""
    number = phone(name)
    if number:
        return [one for one in people if phone(one)[-4:] == number[-4:]][:3]
    mine = words(name)
    close = set(difflib.get_close_matches(" ".join(mine), [" ".join(words(one)) for one in people], 3, 0.5))
    return [one for one in people if set(mine) & set(words(one)) or " ".join(words(one)) in close][:3]


def _loose(name: str) -> Any:
    """Return a value that is equal for two spellings of a name: its words, or its identity if it has none."""
    return words(name) or identity(name)


def names_in(stage: str, given: Any) -> tuple[str, ...]:
    """Return the names in a list, or in a file with one name per line, sorted and without duplicates, as a tuple.

    - given: the list, or the file's path.

    Raises PlanError, which names `stage`, if the file cannot be read or there is no name.
    """
    place = "the list"
    if isinstance(given, str):
        if not given.strip():
            msg = f"{stage} got an empty string instead of names; pass a file with one per line, or a tuple of names"
            raise PlanError(msg)
        place = given
        try:
            with files.open_read(given) as f:
                given = f.read().decode("utf-8-sig").splitlines()
        except (OSError, ReadError, UnicodeDecodeError) as e:
            msg = f"{stage} could not read the names in {given}: {e}; pass a UTF-8 file with one per line, or the names"
            raise PlanError(msg) from e
    found = tuple(given) if isinstance(given, (Sequence, set, frozenset)) else (None,)
    if not all(isinstance(n, str) for n in found):
        msg = f"{stage} has {given!r} instead of names; pass a file with one per line, or a tuple of names"
        raise PlanError(msg)
    if not any(n.strip() for n in found):
        msg = f"{stage} has no names, since {place} is empty; pass a file with one per line, or a tuple of names"
        raise PlanError(msg)
    return tuple(sorted({n.strip() for n in found} - {""}))
