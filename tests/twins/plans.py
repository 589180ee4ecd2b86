"""Twin of `pii/plans.py`: the form of a number sign by sign; it takes only the tables."""

from __future__ import annotations

import re

from dataprep.pii.plans import MORE, forms
from twins.phone_signs import DIGITS


def pieces(whole: str) -> list[str]:
    """Groups of digits, and each other sign by itself."""
    out: list[str] = []
    for c in whole:
        if c in DIGITS and out and out[-1][-1] in DIGITS:
            out[-1] += c
        else:
            out.append(c)
    return out


def form(whole: str) -> str:
    """The sizes of groups; one hyphen for a blank, a hyphen or a full stop, but none beside a bracket."""
    for sign in "/-":
        whole = whole.replace(f" {sign} ", sign)
    out = ""
    for piece in pieces(whole):
        if piece[0] in DIGITS:
            out += "0123456789abcdef"[len(piece)] if len(piece) < 16 else "?"
        elif piece in " .-":
            out += "" if out.endswith(")") else "-"
        else:
            out = out[:-1] + piece if piece == "(" and out.endswith("-") else out + piece
    return out


def shows_phone(whole: str) -> bool:
    """Whether a form and its first digits are those of a phone, and of no amount, date, range or years."""
    groups = [piece for piece in pieces(whole) if piece[0] in DIGITS]
    digits, sizes, name = "".join(groups), [len(g) for g in groups], form(whole)
    if name in MORE and re.match(MORE[name], digits):
        return not (sizes == [5, 5] and groups[0][:2] == groups[1][:2])
    if digits.startswith("00") or int(digits[:3]) not in forms().get(name, ()):
        return False
    if sizes[-2:] == [4, 4] and whole[-5] in " .-" and {g[:2] for g in groups[-2:]} <= {"19", "20"}:
        return False
    if sizes == [3, 3, 3] and whole[3] == whole[7] == "-" and len(whole) == 11 and whole[0] in "56789":
        return True
    return is_distinct(name, sizes, digits)


def is_distinct(name: str, sizes: list[int], digits: str) -> bool:
    """Whether a form is none of figures."""
    if "(" in name:
        return len(digits) >= 9
    if "/" in name:
        return digits[0] == "0" and len(digits) >= 9
    figures = all(n == 3 for n in sizes[1:]) or (len(set(sizes)) == 1 and sizes[0] in (2, 4))
    figures = figures or sizes in ([2, 2, 4], [4, 2, 2]) or len(sizes) == 2
    if figures and len(sizes) > 1:
        return digits[0] == "0" and len(digits) >= 10 and (len(sizes) > 2 or sizes[0] <= 5)
    return len(sizes) > 1
