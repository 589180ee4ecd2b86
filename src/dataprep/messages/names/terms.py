"""The words and full names that are searched for in texts, for the names of a corpus."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from itertools import product

from .endings import with_endings
from .matching import COMMON, identity, spellings, words
from .phones import MIN_DIGITS
from .unspaced import is_hangul, is_unspaced

AUTHOR, MENTION, CHAT, WHOLE, MORE, SHARED = "author", "mention", "chat", "whole", "more", "shared"
HANDLE, STATED = "handle", "stated"  # an account; a person whom an export names, but who did not write
MIN_GLUED = 3  # letters of a word that is searched for inside of hashtags
ARTICLE = "\u0627\u0644"  # its first letter is lost after a preposition: "للعلوي" is "to العلوي"
MAX_WORDS = 4  # of a name that is also searched with only some of its spaces
MIN_JOINED = 6  # letters of a name without its spaces that is searched for, as "ilsevarga"
NAMING = (AUTHOR, MENTION, WHOLE, MORE, HANDLE, STATED)
SINGLE = (WHOLE, CHAT, STATED)  # of which a single word counts only after an @
_NUMBERED = re.compile(r"user(\d+)")


@dataclass
class Term:
    """A word or a full name to find in texts.

    Attributes:
        persons: the people it may mean.
        weak: True if it counts only after an @.
    """

    persons: set[str] = field(default_factory=set)
    weak: bool = True


def terms_of(
    rows: Collection[tuple[str, str, str]], min_chars: int, weak: frozenset[str], who: Callable[[str], str] = identity
) -> dict[str, Term]:
    """Return the words and full names to find in texts, {text: Term}, for rows (kind, chat, name).

    A form of a word with an ending (`endings.py`) means the same people, unless it is a name by itself.

    - min_chars: a shorter word is weak, as are the words in `weak`: they count only after an @.
    - who: returns a text that is equal for the names of one person.
    """
    found: dict[str, Term] = defaultdict(Term)
    for kind, _, name in rows:
        for term, is_weak in terms_in(kind, name, min_chars, weak):
            found[term].persons.add(who(name))
            found[term].weak &= is_weak
    forms: dict[str, set[str]] = defaultdict(set)
    for word in {word for _, _, name in rows for word in words(name)} & found.keys():
        for form in with_endings(word) if not found[word].weak else ():
            forms[form] |= found[word].persons
    return {form: Term(who, weak=False) for form, who in forms.items() if form not in weak} | found


def terms_in(kind: str, name: str, min_chars: int, weak: frozenset[str]) -> Iterable[tuple[str, bool]]:
    """Yield (term, whether it counts only after an @) for the words of a name, in all its spellings.

    - kind: the kind of the name, such as AUTHOR.
    - min_chars: as in `terms_of`.
    - weak: as in `terms_of`.
    """
    for spelled in spellings(name):
        yield from _terms(kind, spelled, min_chars, weak)


def _terms(kind: str, name: tuple[str, ...], min_chars: int, weak: frozenset[str]) -> Iterable[tuple[str, bool]]:
    digits = "".join(name)
    if digits.isdigit():
        return [(" ".join(name), False), (digits, False)] if len(digits) >= MIN_DIGITS else []
    if kind == HANDLE:
        return [(one, len(one) < MIN_JOINED or one in weak) for one in whole_forms(name)]
    if kind in SINGLE:
        return [(one, len(name) == 1) for one in whole_forms(name)]
    several = [w for w in name if len(w) > 1 and not w.isdigit()]
    single = [(w, (len(w) < min_chars and not is_unspaced(w) and not is_hangul(w)) or w in weak) for w in several]
    single += [(w[1:], is_weak) for w, is_weak in single if w.startswith(ARTICLE) and len(w) > len(ARTICLE) + 1]
    if len(name) <= 1:
        return single
    return [*((one, False) for one in whole_forms(name)), *single]


def whole_forms(name: tuple[str, ...]) -> tuple[str, ...]:
    """Return the terms that are a whole name: its words, and the name written as one word, such as "ilsevarga".

    Args:
        name: the words, as `matching.words` returns them.

    For a name such as "user1234567", which Telegram gives to accounts, the number is returned too.

    >>> whole_forms(("ilse", "van", "varga"))
    ('ilse van varga', 'ilse vanvarga', 'ilsevan varga', 'ilsevanvarga', 'ilsevarga', 'vargailse')
    """
    if len(name) < 2:
        numbered = _NUMBERED.fullmatch("".join(name))
        return (*name, numbered[1]) if numbered else name
    joined = dict.fromkeys(("".join(name), name[0] + name[-1], name[-1] + name[0]))
    full = [" ".join(name)]
    if len(name) <= MAX_WORDS:  # "SiobhánO'Rourke"
        gaps = list(product((" ", ""), repeat=len(name) - 1))[1:-1]
        full += ["".join(map("".join, zip(name, (*gap, ""), strict=True))) for gap in gaps]
    return *full, *(one for one in joined if len(one) >= MIN_JOINED or is_unspaced(one) or is_hangul(one))


def is_group_name(name: str) -> bool:
    """Return whether a chat's name is searched for in texts: it has several words, not all numbers or common words."""
    found = words(name)
    return len(found) > 1 and not all(word in COMMON or word.isdigit() for word in found)


def one_word(rows: Iterable[tuple[str, str, str]]) -> frozenset[str]:
    """Return the words that texts keep: whole names of chats or of people who wrote nothing, but of no author."""
    by_kind: dict[bool, set[str]] = {True: set(), False: set()}
    for kind, _, name in rows:
        by_kind[kind in SINGLE].update(words(name) if kind not in SINGLE or len(words(name)) == 1 else ())
    return frozenset(by_kind[True] - by_kind[False])
