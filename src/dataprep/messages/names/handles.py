"""Collect the handles in exports, in addition to displayed names: ids, account names, contacts, forwarded people.

A handle has the pseudonym of the person whom the export states. If a name is that of several accounts of a platform,
the handles of these accounts have pseudonyms of their own.
"""

from __future__ import annotations

import logging
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from dataprep.core.inputs.look_up import first_inputs, is_there
from dataprep.core.model.dataset import Dataset
from dataprep.core.model.reader import Reader
from dataprep.core.run.runner import Runner
from dataprep.errors import counted
from dataprep.messages.people.identities import Identities
from dataprep.messages.people.stated import STATING, stated_by

from .matching import identity
from .phones import is_abroad, phone
from .terms import AUTHOR, CHAT, HANDLE, STATED

log = logging.getLogger("dataprep")

Row = tuple[str, str, str]  # kind, account or "", name


def stated_in(docs: Dataset, runner: Runner, label: str) -> set[Row]:
    """Return (HANDLE or STATED, account, name) of each name that input files state; the account may be "".

    - docs: the documents; if they were saved by a run, the files that this run read are opened again.
    - label: the title of the progress bar.

    Logs a warning about files that no longer exist, since the names in them cannot be known.
    """
    places = [(url, reader) for reader, url in first_inputs(docs.parts) if isinstance(reader, STATING)]
    there, gone = list[tuple[str, Reader]](), list[str]()
    for url, reader in places:
        if is_there(url):
            there.append((url, reader))
        else:
            gone.append(url)
    if gone:
        more = f" and {counted(len(gone) - 1, 'other file')}" if gone[1:] else ""
        log.warning("%s%s cannot be opened again: account ids and names that occur only in exports stay in the "
                    "texts; pass the exports, as exports=dp.read(...)", gone[0], more)  # fmt: skip
    return set[Row]().union(*runner.map(_stated, there, label)) if there else set()


def _stated(place: tuple[str, Reader]) -> set[Row]:
    stated = stated_by(place)
    handles = stated.handles
    rows = {(HANDLE if name in handles else STATED, " ".join(account), name) for account, name in stated.accounts}
    of_cards = {one for name, digits in stated.cards for one in (name, f"+{digits}")}
    return rows | {(STATED, "", name) for name in stated.others | of_cards if name}


def with_accounts(known: Identities, rows: Iterable[Row]) -> Identities:
    """Return identities in which all names of an account are one person, unless `known` or the names contradict this.

    All spellings of an international phone number are one person, too.

    Args:
        known: the people of the people file, who are not changed.
        rows: (kind, chat or account, name), also of authors.
    """
    named: dict[str, set[str]] = defaultdict(set)
    authors = set()
    for kind, account, name in rows:
        if kind == AUTHOR:
            authors.add(name)
        elif kind in (HANDLE, STATED) and account:
            named[account].add(name)
        if kind not in (HANDLE, CHAT) and is_abroad(name) and phone(name):
            named[f"phone {phone(name)}"].add(name)
    pairs = ((_platform(account), one) for account, names in named.items() for one in set(map(identity, names)))
    n_accounts = Counter(pairs)
    people = [list(strings) for strings in known.persons]
    place: dict[str, int] = {}
    for account, names in sorted(named.items()):
        own = [name for name in names if n_accounts[_platform(account), identity(name)] < 2]
        _add(people, place, known, sorted(own, key=lambda name: (name not in authors, name)))
    lines = (*known.lines, *(0 for _ in people[len(known.lines) :])) if known.lines else ()
    return Identities(tuple(map(tuple, people)), known.source, lines)


def _platform(account: str) -> str:
    return account.partition(" ")[0]


def _add(people: list[list[str]], place: dict[str, int], known: Identities, names: Sequence[str]) -> None:
    """Add names of one account to the person who has one of them, or as a new person.

    - place: the location of each new name.
    """
    met = {name: place.get(identity(name), known.find(name)) for name in names}
    taken = {at for at in met.values() if at is not None}
    if len(taken) > 1:
        return
    at = taken.pop() if taken else len(people)
    if at == len(people):
        people.append([])
    new = {identity(name): name for name in reversed(names) if met[name] is None}
    people[at] += list(reversed(new.values()))
    place.update(dict.fromkeys(new, at))
