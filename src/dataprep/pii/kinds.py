"""More kinds of personal data than those of `rules.py`: patterns with a check of the digits; also your own kinds."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache

from dataprep.errors import PlanError

from .cards import luhn

KINDS = ("email", "ip", "iban", "card", "phone")  # found by default; an earlier kind has precedence over a later one
_RIB_LETTERS = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "12345678912345678923456789")


@dataclass(frozen=True)
class PIIKind:
    r"""A kind of personal data for `PII(kinds=...)`: a pattern of Python's `re`, and a check of each match.

    >>> badge = PIIKind("badge", r"\bEMP-[0-9]{6}\b")
    >>> PII(kinds=("email", badge))                       # "badge <badge>, mail <email>"

    Args:
        name: the kind's name in replacements and statistics: lower-case letters, digits and _.
        pattern: the regular expression, which is searched for in every line. If it contains a group named `data`, only
            that group is replaced, so that the pattern can require a label before it.
        check: the check of a match: "luhn" (cards), "iban" (MOD 97-10), "rib" (the key of French and Moroccan
            accounts), or a function. The function is called with the match, without spaces and hyphens, and returns
            whether the match is valid. "": every match is valid.

    Raises PlanError for a name that is already in use, a pattern that is invalid or matches the empty string, or an
    unknown check.
    """

    name: str
    pattern: str
    check: str | Callable[[str], bool] = ""

    def __post_init__(self) -> None:
        if not re.fullmatch("[a-z][a-z0-9_]*", self.name) or self.name in KINDS:
            msg = f"PIIKind: name={self.name!r} must be lower-case letters, digits and _, and not a built-in kind"
            raise PlanError(msg)
        try:
            found = re.compile(self.pattern).search("")
        except re.error as e:
            msg = f"PIIKind {self.name}: pattern={self.pattern!r} must be a valid pattern for Python's re: {e}"
            raise PlanError(msg) from e
        if found:
            msg = f"PIIKind {self.name}: pattern={self.pattern!r} matches the empty string; it must match text"
            raise PlanError(msg)
        if not callable(self.check) and self.check not in ("", *CHECKS):
            msg = f"PIIKind {self.name}: check={self.check!r} must be one of {', '.join(CHECKS)}, or a function"
            raise PlanError(msg)

    def __repr__(self) -> str:
        check = self.check.__qualname__ if callable(self.check) else repr(self.check)
        return f"PIIKind({self.name!r}, {self.pattern!r}, check={check})"

    def find(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield (start, end) of each match in a line of text, as offsets in characters."""
        pattern = _compiled(self.pattern)
        group = "data" if "data" in pattern.groupindex else 0
        check = CHECKS.get(self.check) if isinstance(self.check, str) else self.check
        for m in pattern.finditer(text):
            if m[group] and (check is None or check(re.sub(r"[\s-]", "", m[group]))):
                yield m.span(group)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def mod97(iban: str) -> bool:
    """Return whether the check digits of an IBAN are correct (ISO 7064, MOD 97-10)."""
    return int("".join(str(int(c, 36)) for c in iban[4:] + iban[:4])) % 97 == 1


def rib(account: str) -> bool:
    """Return whether the key (last two digits) of a French or Moroccan bank account is correct."""
    digits = account.upper().translate(_RIB_LETTERS)
    return digits.isdecimal() and int(digits) % 97 == 0


CHECKS: dict[str, Callable[[str], bool]] = {"luhn": luhn, "iban": mod97, "rib": rib}

_INCLUDED = (
    PIIKind("rib", r"(?<![0-9A-Za-z])(?:(?:[0-9][ -]?){23}[0-9]|[0-9]{5}[ -]?[0-9]{5}[ -]?[0-9A-Z]{11}[ -]?[0-9]{2})"
                   r"(?![0-9A-Za-z])", "rib"),
    PIIKind("cin", r"(?:\b(?i:CINE?|CNIE?|carte (?:d'identité )?nationale)|(?:ال)?بطاقة (?:التعريف )?الوطنية)"
                   r"(?: ?(?:n°|no|رقم))?[ .:#]{1,3}(?P<data>[A-Z]{1,2}[0-9]{5,6})\b"),
    PIIKind("ssn", r"(?<![\w-])(?!000|666|9)[0-9]{3}-(?!00)[0-9]{2}-(?!0000)[0-9]{4}(?![\w-])"),
    PIIKind("mac", r"(?<![\w:-])[0-9A-Fa-f]{2}(?P<sign>[:-])(?:[0-9A-Fa-f]{2}(?P=sign)){4}[0-9A-Fa-f]{2}(?![\w:-])"),
    PIIKind("api_key", r"(?<![\w-])(?:(?:AKIA|ASIA)[0-9A-Z]{16}|gh[opsur]_[0-9A-Za-z]{36}|github_pat_\w{22,}"
                       r"|glpat-[\w-]{20,}|sk-[\w-]{20,}|hf_[0-9A-Za-z]{30,}|AIza[\w-]{35}|xox[abeprs]-[\w-]{10,})(?![\w-])"),
)  # fmt: skip
INCLUDED = {kind.name: kind for kind in _INCLUDED}  # found if `kinds` names them
