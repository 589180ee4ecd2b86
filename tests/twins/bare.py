"""Twin of `pii/bare.py`: phones without + and 0; it takes from it only tables, the words and the shapes of numbers."""

from __future__ import annotations

from twins.bare_runs import home, numbers
from twins.context import amount, key, topic
from twins.lone import alone, has_address, is_date, like, lone
from twins.phone_labels import is_labelled, with_and


def joined(line: str, run, found: list, end: int) -> list:
    """The phones of a run with those that begin with neither + nor 0; `end`: where the last phone before it ends."""
    out = list(found)
    for a, b, sure in numbers(line, run):
        inside = [(c, d) for c, d in found if c < b and a < d]
        if inside and not (sure and a <= inside[0][0] and inside[-1][1] <= b):
            continue
        before = max((d for _, d in out if d <= a), default=end)
        gap = line[before:a].removesuffix("(") if 0 <= before < a else ""
        listed = 1 <= len(gap) <= 3 and set(gap) <= set(" ,;/-")
        listed = listed or with_and(line, before, a) or like(line, before, a, b)
        if is_bare_phone(line, a, b, sure, listed):
            out = [span for span in out if span not in inside] + [(a, b)]
    return sorted(out)


def is_bare_phone(line: str, a: int, b: int, sure: bool, listed: bool) -> bool:
    """Whether a number is a phone by its groups, or by the words near it."""
    sure = sure or home(line, a, b) or alone(line, a, b)
    if amount(line, b) or is_labelled(line, a) or (line[:a].endswith("=") and not key(line[:a])):
        return False
    if sure:
        return topic(line, a, b, 2) != "other"
    about, before = topic(line, a, b, 6), line[:a]
    brazil = len(line[a:b]) == 10 and line[a] == "9" and line[a + 5] == "-"
    state = before[-1:] == " " and all("A" <= c <= "Z" for c in before[-3:-1]) and len(before) > 2
    state = state and not (before[-4:-3].isalnum() or before[-4:-3] == "_")
    if about == "phone" and brazil and not state:
        return True
    unknown = about is None and (has_address(line, a, b) or lone(line, a, b))
    return (listed or unknown or about == "phone") and not is_date(line, a)
