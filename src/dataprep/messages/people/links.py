"""Turn the evidence collected from exports into links, each of which states that two names may be of one person."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from dataprep.messages.names.matching import identity, words
from dataprep.messages.names.phones import is_abroad, phone, same_phone

from .evidence import EqualMessages, Evidence
from .romanized import LATIN, plain, romanizations, script_of

MIN_MESSAGES = 3  # that two exports have under two names
SURE = 0.9  # of the messages of each name that both exports have
_PARTICLES = """
abd abdel abdul abdou al el ben bin ibn bint bou abu abou oum umm ait ould van von der den de del della di da la le du
dr mr mrs ms prof sidi lalla hajj haj
عبد الله بن ابن بنت أبو ابو أم ام آيت ايت الحاج سيدي
"""
_PARTICLE = frozenset(word for entry in _PARTICLES.split() for word in words(entry))
MAX_MAYBES = 3  # of one short name


class Link(NamedTuple):
    """Evidence that two names are of one person.

    Attributes:
        kind: "account", "phone", "messages", "card" or "name".
        is_sure: whether this evidence alone suffices to join the names.
        why: the evidence in words.
    """

    one: str
    other: str
    kind: str
    is_sure: bool
    why: str


def links_of(evidence: Evidence) -> Iterator[Link]:
    """Yield all evidence that two names are of one person, the strongest first."""
    names = sorted({*evidence.wrote, *evidence.named})
    yield from _by_account(evidence, {identity(name) for name in names})
    yield from _by_phone(names)
    yield from _by_messages(evidence)
    yield from _by_card(evidence.cards, names)
    yield from _by_name(names)


def _by_account(evidence: Evidence, known: set[str]) -> Iterator[Link]:
    of_name = defaultdict(set)
    for account, named in evidence.accounts.items():
        for name in named:
            of_name[account[0], identity(name)].add(account)
    files: dict[str, set[int]] = defaultdict(set)
    for (_, number), authors in evidence.exports.items():
        for name in authors:
            files[name].add(number)
    for account, named in sorted(evidence.accounts.items()):
        mine = sorted({identity(n): n for n in sorted(named) if identity(n) in known}.values())
        mine.sort(key=lambda n: -evidence.wrote[n])
        own = [n for n in mine if len(of_name[account[0], identity(n)]) == 1]  # of no other account
        own = [n for n in own if not is_short(n) or files[n] <= named[n]]  # elsewhere, "Sara" may be another one
        for name in mine:
            if name != (own or mine)[0]:
                sure = bool(own) and name in own
                yield Link((own or mine)[0], name, "account", sure, f"the same account of {account[0].title()}")


def _by_phone(names: Iterable[str]) -> Iterator[Link]:
    by_digits: dict[str, list[str]] = defaultdict(list)
    for name in names:
        if phone(name):
            by_digits[phone(name)].append(name)
    for forms in by_digits.values():
        yield from (Link(forms[0], other, "phone", True, "the same phone number") for other in forms[1:])
    abroad = {d: forms for d, forms in by_digits.items() if any(map(is_abroad, forms))}
    for digits, forms in sorted(by_digits.items()):
        if digits in abroad:
            continue
        fits = [other for other in abroad if other != digits and same_phone(digits, other)]
        why = "the same phone number, once without the country code"
        for other in fits:
            yield Link(abroad[other][0], forms[0], "phone", len(fits) == 1, why)


def _by_messages(evidence: Evidence) -> Iterator[Link]:
    """Yield links of authors with equal messages; a name of one word must have them in all of its chats."""
    chats: dict[str, set[str]] = defaultdict(set)
    for (chat, _), authors in evidence.exports.items():
        for name in authors:
            chats[name].add(chat)
    pairs: dict[tuple[str, ...], list[EqualMessages]] = defaultdict(list)
    for match in evidence.matches:
        pairs[tuple(sorted((match.one, match.other)))].append(match)
    for (one, other), matches in sorted(pairs.items()):
        sure = [m for m in matches if m.common >= MIN_MESSAGES and m.common >= SURE * max(m.of_one, m.of_other)]
        met = {chat for match in sure for chat in match.chats}
        everywhere = all(not is_short(name) or chats[name] <= met for name in (one, other))
        why = f"{sum(match.common for match in matches):,} equal messages in two exports"
        yield Link(one, other, "messages", bool(sure) and everywhere, why)


def is_short(name: str) -> bool:
    """Return whether several people may easily have a name, since it is not a number and has at most one word."""
    return not phone(name) and len(significant(name)) < 2


def _by_card(cards: Iterable[tuple[str, str]], names: Iterable[str]) -> Iterator[Link]:
    by_digits: dict[str, dict[str, str]] = defaultdict(dict)
    for name, digits in sorted(cards):
        by_digits[digits][identity(name)] = name
    numbers = [name for name in names if phone(name)]
    known = {identity(name): name for name in names if not phone(name)}
    for digits, named in sorted(by_digits.items()):
        forms = [n for n in numbers if phone(n) == digits]
        forms = forms or _alone([n for n in numbers if same_phone(phone(n), digits)])
        met = [known[key] for key in named if key in known]
        for number in forms[:1]:
            for name in met:
                sure = len(named) == 1 and not is_short(name)
                yield Link(name, number, "card", sure, "a contact with this name and number")
        for other in met[1:]:
            yield Link(met[0], other, "card", False, "contacts with the same number")


def _alone(found: list[str]) -> list[str]:
    return found if len(found) == 1 else []


def significant(name: str) -> tuple[str, ...]:
    """Return the words of a name without particles (ben, van, عبد), numbers and single letters."""
    return tuple(word for word in words(name) if len(word) > 1 and word not in _PARTICLE and not word.isdigit())


def _by_name(names: Iterable[str]) -> Iterator[Link]:
    """Yield links of names that differ only in case, accents, spaces and emoji, and of romanized and first names."""
    same: dict[str, list[str]] = defaultdict(list)
    for name in names:
        if words(name) and not phone(name):
            same["".join(words(name))].append(name)
    firsts = [next((n for n in forms if not is_short(n)), forms[0]) for forms in same.values()]
    for first, forms in zip(firsts, same.values(), strict=True):
        for other in forms:
            if other != first:
                yield Link(first, other, "name", not (is_short(first) or is_short(other)), "the same name")
    scripts: dict[str, list[str]] = defaultdict(list)
    for name in firsts:
        scripts[script_of(name)].append(name)
    for script, others in sorted(scripts.items()):
        if script not in ("", LATIN):
            yield from _romanized(scripts[LATIN], others, script)
    yield from _shorter(firsts)


def _romanized(latin: Iterable[str], others: Iterable[str], script: str) -> Iterator[Link]:
    spelled = [(one, plain(one)) for one in latin]
    patterns = [(other, pattern) for other in others if (pattern := romanizations(other))]
    pairs = [(one, other) for other, pattern in patterns for one, text in spelled if pattern.fullmatch(text)]
    n = Counter(name for pair in pairs for name in pair)
    for one, other in pairs:
        alone = n[one] == n[other] == 1
        full = not is_short(one) and not is_short(other)
        yield Link(one, other, "name", alone and full, f"the same name in Latin and {script.title()} letters")


def _shorter(names: Iterable[str]) -> Iterator[Link]:
    """Yield weak links of names of one word with the few names that begin with it."""
    starting: dict[str, list[str]] = defaultdict(list)
    for name in names:
        if len(words(name)) > 1:
            starting[words(name)[0]].append(name)
    for name in names:
        longer = starting.get(words(name)[0], []) if len(words(name)) == 1 else []
        for other in longer if len(longer) <= MAX_MAYBES else []:
            yield Link(other, name, "name", False, "the same first name")
