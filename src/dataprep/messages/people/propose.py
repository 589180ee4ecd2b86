"""propose_people: find the people who have several names in chat exports, and write them into a people file.

Two names become one person if one of the following is found, and nothing contradicts it:

- the same account of Telegram, Discord or Slack, or the same phone number, in any form
- three or more messages with the same minutes and texts in two exports of one chat, and hardly any that differ
- a contact (vCard, contact list, message) with a name of several words and a number that no other name has
- the same name of several words, apart from case, accents and emoji, or as a romanization (`romanized.py`), if no
  other name is like it

The user's own entries contradict all evidence. If two names do not share an account or number, they also contradict if
both are authors in one export. For a contact or an equal name, different accounts or numbers are a contradiction, too.
Weaker evidence is written as [[maybe]], which has no effect.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from dataprep.core.run.runner import Runner, runner_of
from dataprep.errors import PlanError, counted
from dataprep.messages.names.matching import identity
from dataprep.messages.names.phones import phone
from dataprep.read import read
from dataprep.store import files

from .evidence import Evidence, evidence_of
from .links import Link, is_short, links_of
from .people_file import Names, PeopleFile, read_people_file, rendered
from .romanized import LATIN, script_of
from .stated import CARD, card_files


@dataclass(frozen=True)
class Proposal:
    """The content of a new people file.

    Attributes:
        text: the content of the file.
        people: the number of people with several names, old and new.
        new: the number of people that were not in the old file.
        grown: the number of people of the old file to which names were added.
        maybes: the number of groups with weak evidence.
        single: the number of authors with one name.
    """

    text: str
    people: tuple[Names, ...]
    new: int
    grown: int
    maybes: int
    single: int

    def __str__(self) -> str:
        if not self.people and not self.maybes:
            return f"no evidence that an author has several names; {self.single:,} authors have one name each"
        found = f"{len(self.people):,} {'person has' if len(self.people) == 1 else 'people have'} several names"
        found += f": {self.new:,} new, {self.grown:,} with more names"
        return f"{found}; {self.single:,} have one; {self.maybes:,} to be decided ([[maybe]])"


def propose_people(
    exports: Any, out: str, *, replace: bool = False, runner: Runner | None = None, **options: Any
) -> Proposal:
    """Write a people file, which lists people who have several names in chat exports; return its content.

    Args:
        exports: a file, a folder or a list of exports, of any platform; files of contacts (.vcf) are used as evidence.
        out: the path of the people file.
        replace: whether to replace an existing people file. Its [[person]], [[same]] and [[apart]] entries are kept, a
            name that the user removed from a person is not added again, and new names are added.
        runner: the Runner that reads the exports; None: `dp.tools.Serial()`.
        options: parameters of `dp.read`.

    Raises PlanError if the file exists and `replace` is False, or if it is not a valid people file.

    >>> propose_people("exports/", "people.toml")                                            # doctest: +SKIP
    """
    old = PeopleFile()
    if files.exists(out):
        if not replace:
            msg = f"{out} exists; use --replace (replace=True) to propose again, which keeps your edits"
            raise PlanError(msg)
        old = read_people_file(out)
    given = [exports] if isinstance(exports, str) or not isinstance(exports, (list, tuple)) else list(exports)
    paths = [one for one in map(str, given) if not one.lower().endswith(CARD)]
    if not paths:
        msg = f"exports={', '.join(map(str, given))!r} has no chat export; add one, since contacts are not authors"
        raise PlanError(msg)
    docs = read(paths if len(paths) > 1 else paths[0], **options)
    if "author" not in docs.columns:
        msg = "these files have no authors; pass chat exports from WhatsApp, Telegram, Discord ..."
        raise PlanError(msg)
    proposal = proposed(evidence_of(docs, runner_of(runner), card_files(map(str, given))), old)
    files.write_bytes(out, proposal.text.encode())
    return proposal


def proposed(evidence: Evidence, old: PeopleFile) -> Proposal:
    """Return the new people file: the entries of `old`, and those that the evidence adds."""
    groups = _NameGroups(evidence, old)
    weak = [link for link in links_of(evidence) if not groups.join(link)]
    persons = groups.persons()
    stated = {identity(name) for _, names in (*old.persons, *old.sames) for name in names}
    grown, new = {}, []
    for names, known, why in persons:
        if known is None:
            new.append((names, why))
        elif more := tuple(n for n in names if identity(n) not in stated):
            grown[known] = (more, why)
    maybes = groups.maybes(weak)
    said = [(*old.persons[i][1], *more) for i, (more, _) in grown.items()] + [names for names, _ in new]
    shown = sorted({*old.shown, *(names for names, _ in maybes)})
    others = groups.others(maybes)
    text = rendered(old, grown, new, maybes, sorted({*old.proposed, *said}), shown, others)
    people = [names for _, names in old.persons]
    people = [(*names, *grown[i][0]) if i in grown else names for i, names in enumerate(people)] + [n for n, _ in new]
    return Proposal(text, tuple(people), len(new), len(grown), len(maybes), max(len(others) - 1, 0))


@dataclass(eq=False)
class _NameGroup:
    """Names that are one person, as `identity` returns them, and the evidence."""

    names: list[str]
    whys: list[str] = field(default_factory=list)


class _NameGroups:
    """All names, and the people that they are joined to step by step."""

    def __init__(self, evidence: Evidence, old: PeopleFile) -> None:
        self.evidence, self.old = evidence, old
        self.known = {identity(name): i for i, (_, names) in enumerate(old.persons) for name in names}
        self.written = {identity(name): name for name in sorted(evidence.named)}
        wrote = evidence.wrote
        self.written |= {identity(name): name for name in sorted(wrote, key=lambda n: (wrote[n], n))}
        kept = [name for _, names in (*old.persons, *old.sames) for name in names]
        self.written = {identity(name): name for name in kept} | self.written
        self.of = {name: _NameGroup([name]) for name in self.written}
        for _, names in old.persons:
            for name in names[1:]:
                self._union(identity(names[0]), identity(name))
        for _, names in old.sames:
            for name in names[1:]:
                self._union(identity(names[0]), identity(name))
        for group in set(self.of.values()):
            mine = [self.known[name] for name in group.names if name in self.known]
            self.known.update(dict.fromkeys(group.names if mine else (), min(mine, default=0)))
        self.apart = {frozenset(pair) for _, names in old.aparts for pair in _pairs(names)}
        for names in old.proposed:  # what the user took apart since
            split = (pair for pair in _pairs(names) if self.known.get(pair[0], -1) != self.known.get(pair[1], -2))
            self.apart |= {frozenset(pair) for pair in split}
        self.together: dict[str, set[str]] = defaultdict(set)
        for authors in evidence.exports.values():
            keys = {identity(name) for name in authors}
            for key in keys:
                self.together[key] |= keys
        self.accounts: dict[str, set[tuple[str, str]]] = defaultdict(set)
        for account, named in evidence.accounts.items():
            for name in named:
                self.accounts[identity(name)].add(account)
        self.numbers: dict[str, set[str]] = defaultdict(set)
        for name, digits in [*evidence.cards, *((name, phone(name)) for name in self.written.values())]:
            self.numbers[identity(name)].update({digits} - {""})

    def _union(self, one: str, other: str, why: str = "") -> None:
        mine, others = self.of[one], self.of[other]
        if mine is not others:
            mine.names += others.names
            mine.whys = [w for w in dict.fromkeys([*mine.whys, *others.whys, why]) if w]
            self.of.update(dict.fromkeys(others.names, mine))

    def join(self, link: Link) -> bool:
        """Join two names if the evidence is sure and nothing contradicts it; return whether they are one person now."""
        one, other = identity(link.one), identity(link.other)
        if self.of[one] is not self.of[other] and link.is_sure and not self._contradicted(link.kind, one, other):
            self._union(one, other, link.why)
        return self.of[one] is self.of[other]

    def _contradicted(self, kind: str, one: str, other: str) -> bool:
        """Return whether there is evidence that two names are of different people."""
        mine, others = self.of[one].names, self.of[other].names
        if self._are_apart(mine, others):
            return True
        if len({self.known[name] for name in (*mine, *others) if name in self.known}) > 1:
            return True  # two people of the user's file
        if kind in ("account", "phone"):
            return False
        if self._met(mine, others):
            return True
        return kind != "messages" and (_differ(self.numbers, mine, others) or self._other_accounts(mine, others))

    def _are_apart(self, mine: Iterable[str], others: Iterable[str]) -> bool:
        return any(frozenset((a, b)) in self.apart for a in mine for b in others)

    def _met(self, mine: Iterable[str], others: Iterable[str]) -> bool:
        """Return whether two people wrote in one export."""
        return any(b in self.together[a] for a in mine for b in others)

    def _other_accounts(self, mine: Iterable[str], others: Iterable[str]) -> bool:
        """Return whether two people have different accounts of one platform."""
        platforms = {platform for name in (*mine, *others) for platform, _ in self.accounts[name]}
        of = {p: {n: {a for a in self.accounts[n] if a[0] == p} for n in (*mine, *others)} for p in platforms}
        return any(_differ(accounts, mine, others) for accounts in of.values())

    def persons(self) -> list[tuple[Names, int | None, str]]:
        """Return (names, index of the person in the old file or None, reason) of each person with several names."""
        found = []
        for group in dict.fromkeys(self.of.values()):
            if len(group.names) > 1:
                known = next((self.known[name] for name in group.names if name in self.known), None)
                written = sorted((self.written[name] for name in group.names), key=self._rank)
                found.append((tuple(written), known, "; ".join(group.whys)))
        return sorted(found, key=lambda person: person[0])

    def _rank(self, name: str) -> tuple[Any, ...]:
        """Return the sort key of a person's names: a full name before a first name, and a number last."""
        return bool(phone(name)), is_short(name), script_of(name) != LATIN, -self.evidence.wrote[name], name

    def maybes(self, weak: Iterable[Link]) -> list[tuple[Names, str]]:
        """Return (names, why) of weak evidence that neither the user nor the exports contradict."""
        hidden = {frozenset(map(identity, names)) for names in self.old.shown}
        hidden -= {frozenset(map(identity, names)) for _, names in self.old.maybes}
        found: dict[frozenset[str], tuple[Names, list[str]]] = {}
        for link in weak:
            pair = frozenset((identity(link.one), identity(link.other)))
            mine, others = (self.of[identity(name)].names for name in (link.one, link.other))
            wrong = self._are_apart(mine, others) or (link.kind == "name" and self._met(mine, others))
            if mine is not others and pair not in hidden and not wrong:
                written = sorted((self.written[one] for one in pair), key=self._rank)
                found.setdefault(pair, (tuple(written), []))[1].append(link.why)
        return [(names, "; ".join(dict.fromkeys(whys))) for names, whys in sorted(found.values())]

    def others(self, maybes: Iterable[tuple[Names, str]]) -> list[str]:
        """Return lines about the authors with one name, those with the most messages first."""
        taken = {identity(name) for names, _ in maybes for name in names}
        taken |= {name for name, group in self.of.items() if len(group.names) > 1}
        wrote = self.evidence.wrote
        rest = [name for name in sorted(wrote, key=lambda n: (-wrote[n], n)) if identity(name) not in taken]
        lines = [f"    {' '.join(name.split())} ({counted(wrote[name], 'message')})" for name in rest]
        return ["One name each:", *lines] if rest else []


def _pairs(names: Names) -> Iterator[tuple[str, str]]:
    keys = [identity(name) for name in names]
    return ((a, b) for i, a in enumerate(keys) for b in keys[i + 1 :])


def _differ(values: Mapping[str, set[Any]], mine: Iterable[str], others: Iterable[str]) -> bool:
    """Return whether both people have values but none in common."""
    one, other = ({value for name in names for value in values.get(name, ())} for names in (mine, others))
    return bool(one and other) and not one & other
