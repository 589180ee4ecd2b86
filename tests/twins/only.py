"""Twin of `pii/only.py`: texts that are nothing but phones, read character by character."""

from __future__ import annotations

import itertools

from dataprep.pii.only import SIZES
from twins.context import counted
from twins.glued import parted, with_extension
from twins.lone import is_date
from twins.phone_signs import DIGITS, is_word, plain
from twins.phones import phones


def only(text: str) -> list[tuple[int, int]]:
    """Spans of the numbers of a text that has nothing else, but glued words, extensions, signs and one line break."""
    line = plain(text)
    shown, at, found = parted(line), 0, []
    if len(text.encode()) > 160 or line.strip().count("\n") > 1 or not text or text[0].isalpha():
        return []
    while True:
        while shown[at : at + 1].isspace():
            at += 1
        end = number_end(shown, at)
        if end is None or not is_number(line[at:end]):
            return []
        last = with_extension(line, end)
        found.append((at, last))
        end = last
        while shown[end : end + 1] == "\x1f" or (end > last and is_word(shown[end : end + 1])):
            end += 1
        while shown[end : end + 1] in tuple(" .!"):
            end += 1
        while shown[end : end + 1].isspace():
            end += 1
        if end == len(shown):
            return found
        if shown[end] not in ",;":
            return []
        at = end + 1


def number_end(line: str, at: int) -> int | None:
    """Where digits with at most three signs between them end."""
    i = at + (line[at : at + 1] == "(")
    if line[i : i + 1] not in tuple(DIGITS):
        return None
    while True:
        i += 1
        n = next((n for n in range(4) if line[i + n : i + n + 1] in tuple(DIGITS)), None)
        if n is None or not set(line[i : i + n]) <= set(" ().\t\r\n/-"):
            return i
        i += n


def is_number(whole: str) -> bool:
    """Whether the groups are those of a number and of no date, amount, range or series, or it is a phone anywhere."""
    whole = " ".join(whole.split()) if not whole[-1:].isspace() else whole
    groups = "".join(c if c in DIGITS else " " for c in whole).split()
    signs = [c for c in whole if c not in DIGITS]
    sizes = [len(g) for g in groups]
    simple = whole[0] in "123456789" and len(signs) == len(groups) - 1 and set(signs) <= {" ", "-"}
    if simple and "".join(map(str, sizes)) in SIZES:
        return not is_other(whole, groups, signs)
    if has_area(whole) and not is_other(whole, groups, signs):
        return list(phones(f"tel {whole}")) == [(4, 4 + len(whole))]
    return list(phones(whole)) == [(0, len(whole))]


def has_area(whole: str) -> bool:
    """Whether a number is 0 and its area code, or one in brackets, then groups with a blank or hyphen between."""
    if whole[0] == "0":
        first = whole.replace("-", " ").partition(" ")[0]
        rest = whole[len(first) + 1 :]
        right = first.isdigit() and (len(first) > 1 or whole[1:2] == " ")
    else:
        first, _, rest = whole.removeprefix("(").partition(")")
        right = whole[0] == "(" and first.isdigit()
        rest = rest[1:] if rest[:1] in (" ", "-") else rest
    return right and all(group.isdigit() for group in rest.replace("-", " ").split(" "))


def is_other(whole: str, groups: list[str], signs: list[str]) -> bool:
    """Whether groups are a date, an amount, a range or a series."""
    if is_date(whole, 0) or counted(whole, 0, len(whole)) or whole[-3:] == "000":
        return True
    sizes, values = [len(g) for g in groups], [int(g) for g in groups]
    if sizes in ([2] * 4, [2] * 5) and set(signs) <= {" ", "-"} and whole[0].isdigit():
        return not any(a > b for a, b in itertools.pairwise(groups))
    plain_groups = set(signs) == {" "} and len(signs) == len(groups) - 1
    thousands = plain_groups and sizes[0] <= 3 and set(sizes[1:]) == {3}
    series = len(values) > 2 and len({b - a for a, b in itertools.pairwise(values)}) == 1
    span = "-" in signs and len(values) == 2 and whole[0] == groups[1][0] and values[0] <= values[1]
    one = whole[0] == "1" and (thousands or len(groups) == 1)
    return one or (thousands and whole[-2:] == "00") or series or span
