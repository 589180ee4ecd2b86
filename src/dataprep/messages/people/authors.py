"""Authors: the names under which one person wrote messages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from dataprep.core.model.dataset import Dataset
from dataprep.errors import PlanError
from dataprep.messages.names.matching import identity

from .identities import Identities


def names_of_author(docs: Dataset, given: Sequence[str], known: Identities) -> tuple[str, ...]:
    """Return the names of a person under which messages were written, in the order of their numbers of messages.

    Args:
        docs: messages.
        given: the names that the user gave.
        known: the people with their names.

    Raises PlanError, which lists the authors, if there is no name, or if no author has one of these names or another
    name of the same person.
    """
    if "author" not in docs.columns:
        msg = "these files have no authors; pass chat exports from WhatsApp, Telegram, Discord ..."
        raise PlanError(msg)
    wrote: Counter[str] = Counter()
    for part in docs.parts:
        for batch in part.batches(["author"]):
            counted = batch["author"].value_counts()
            names, numbers = (counted.field(i).to_pylist() for i in (0, 1))
            wrote.update({name: n for name, n in zip(names, numbers, strict=True) if name})
            if not known and len(given) == 1 and given[0] in wrote:
                return tuple(given)
    if not given:
        msg = f"name the person to imitate with person= (--person); {_authors(wrote)}"
        raise PlanError(msg)
    people = {name: known.find(name) for name in wrote}
    for name in given:
        person = known.find(name)
        if name not in wrote and (person is None or person not in people.values()):
            msg = f"person={name!r} must be the name of an author; {_authors(wrote)}"
            raise PlanError(msg)
    mine = {known.find(name) for name in given} - {None}
    return tuple(name for name, _ in wrote.most_common() if name in given or people[name] in mine)


def not_written(given: Sequence[str], own: Sequence[str], stated: Identities) -> tuple[str, ...]:
    """Return those of the names given for a person under which nobody wrote, and which no people file states.

    - own: the names under which the person wrote.
    - stated: the people file.
    """
    wrote = set(map(identity, own))
    return tuple(name for name in given if identity(name) not in wrote and stated.find(name) is None)


def _authors(wrote: Counter[str]) -> str:
    """Return a clause that names the authors with the most messages."""
    most = ", ".join(f"{name} ({n:,})" for name, n in wrote.most_common(10))
    return f"the authors are {most}" if most else "the files contain no author; pass other exports"
