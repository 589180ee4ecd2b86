"""Twin of `pii/phone_forms.py` and `number_plans.py`: the forms of phones, group by group."""

from __future__ import annotations

import itertools

from dataprep.pii.countries import NATIONAL
from twins.phone_signs import BLANKS, SIGNS, VALUES, closed, is_latin

LINKS = ("wa.me/", "phone=", "=%2B", "=%2b")
FEWEST = {code: len(code) + int(least) for code, least in (entry.split(":") for entry in NATIONAL.split())}
GAPS = ("", " ", "-")
PLANS = [  # N: 3, 4, 8 or 9; M: 3 to 9; d: any digit
    *(f"8{a}{b}Ndd{c}{d}ddd{e}dd{f}dd" for a in " -" for b in ("", "(") for c in ("", ")")
      for d in GAPS for e in GAPS for f in GAPS),
    *(f"8(Ndd){d}ddd{e}dd{f}dd" for d in GAPS for e in GAPS for f in GAPS),
    *(f"0{a}(ddd){b}ddd{c}dd{d}dd" for a in ("", " ") for b in GAPS for c in GAPS for d in GAPS),
    "1Md-dddd-dddd", "dd)dddd-dddd", "dd) dddd-dddd", "dd)9dddd-dddd", "dd) 9dddd-dddd",
]  # fmt: skip
KINDS = {**{c: c for c in "0189 ()-"}, "N": "3489", "M": "3456789", "d": "0123456789"}


def goes_on(line: str, run, at: int, last: int, k: int, mine: bool) -> bool:
    """Whether the group after group k is in one run with groups `at` to `last`."""
    if k + 1 >= len(run):
        return False
    sign, inner = line[run[k][1] : run[k + 1][0]], line[run[last - 1][1] : run[last][0]] if last > at else ""
    end = run[k + 1][1]
    after, digit = line[end : end + 1], line[end + 1 : end + 2] in VALUES
    alone = not (after in tuple("$%_£¥°€") or (after < "\u0250" and after.isalnum()))
    alone = alone and not (after in (*SIGNS, ",", "/", ":") and digit)
    if len(sign) == 1 and sign == inner:
        return alone or after == sign
    return alone and ((mine and sign == "-" and len(run[k + 1][2]) <= 4) or is_second(line, run, at, last, k))


def is_second(line: str, run, at: int, last: int, k: int) -> bool:
    """Whether /79 follows a number of several groups."""
    end = k + 2 == len(run) or run[k + 2][0] - run[k + 1][1] > 1
    return k == last > at and line[run[k][1]] == "/" and len(run[k + 1][2]) == 2 and end


def before_phone(line: str, run, last: int) -> bool:
    """Whether the next group begins a phone with 0 or +."""
    if last + 1 == len(run):
        return False
    start, _, digits = run[last + 1]
    return (digits[0] == "0" or line[:start].endswith("+")) and bool(possible(line, run, last + 1))


def is_inner(line: str, run, at: int) -> bool:
    """Whether a group of the same size precedes, with a slash on both sides of group `at`."""
    if not 0 < at < len(run) - 1:
        return False
    gaps = [line[run[k][1] : run[k + 1][0]] for k in (at - 1, at)]
    return gaps == ["/", "/"] and len({len(group[2]) for group in run[at - 1 : at + 2]}) == 1


def to_end(line: str, run, at: int, last: int) -> int | None:
    """The last group of the run of a number, before the next phone; None if it is a row of figures."""
    k, mine = last, at == run.called
    while goes_on(line, run, at, last, k, mine) and not possible(line, run, k + 1):
        k += 1
    digits = [group[2] for group in run[at : k + 1]]
    rising = len(set(map(len, digits))) == 1 and digits == sorted(digits)
    plus = line[: run[at][0]].endswith("+")
    second = k == last + 1 and is_second(line, run, at, last, last)
    if k > last and not mine and not plus and sum(map(len, digits)) > 15:
        return None
    return None if k > last and not mine and not second and (rising or (k - last > 2 and not plus)) else k


def kind(line: str, run, at: int) -> str | None:
    """The kind of number that begins with a group."""
    start, _, digits = run[at]
    before = line[:start]
    if before.endswith("+") and digits != "0":
        exponent = before[-2:-1] in ("e", "E") and before[-3:-2] in tuple("0123456789.")
        point = before[-2:-1] == "U" and not (before[-3:-2].isalnum() or before[-3:-2] == "_")
        word = len(digits) == 1 and digits not in ("1", "7") and (before[-2:-1].isalnum() or before[-2:-1] == "_")
        country = digits.startswith("0") or fewest(digits)
        return "world" if country and not (exponent or point or word) else None
    if digits.startswith("0") and len(digits) > 1 and digits[1] != "0":
        return "national"
    if digits.startswith("00") and len(digits) > 2 and digits[2] != "0":
        return "world"
    at_sign = before.endswith("@") and not (before[-2:-1].isalnum() or before[-2:-1] == "_")
    if (at_sign or before.endswith(LINKS)) and 10 <= len(digits) <= 15 and digits[0] != "0":
        return "mention"
    if american(line, run, at) or plan(line, run, at) or chinese(line, run, at):
        return "whole"
    return "called" if at == run.called and not digits.startswith("00") else None


def fewest(digits: str) -> int:
    """The fewest digits of a number of the country with whose code the first group begins; 0 if there is none."""
    return max(least for code, least in [("", 0), *FEWEST.items()] if digits[:3].ljust(3, "0").startswith(code))


def american(line: str, run, at: int) -> int | None:
    """The last group of 212-555-0123 and (212) 555-0123, with or without a 1 before it."""
    first = at + (run[at][2] == "1")
    if [len(digits) for _, _, digits in run[first : first + 3]] != [3, 3, 4]:
        return None
    area, office, number = run[first : first + 3]
    inner, outer = line[area[1] : office[0]], line[office[1] : number[0]]
    bracket = line[: area[0]].endswith("(") and inner in (")", ") ")
    lead = line[run[at][1] : area[0]] if first > at else "-"
    right = outer in SIGNS and (bracket or inner in SIGNS) and lead in (*SIGNS, " ", " (", "-(")
    return first + 2 if right and area[2][0] > "1" and office[2][0] > "1" else None


def plan(line: str, run, at: int) -> int | None:
    """The last group of a number by the plan of Russia, Turkey, China or Brazil."""
    start = run[at][0]
    for shape in PLANS:
        end = start + len(shape)
        fits = len(line[start:end]) == len(shape) and all(map(str.__contains__, map(KINDS.get, shape), line[start:end]))
        years = line[start:end].rpartition(")")[2].strip().split("-")
        years = all(len(year) == 4 and year[:2] in ("19", "20") for year in years)
        brazil = shape.startswith("dd)")
        if fits and line[end : end + 1] not in VALUES and (not brazil or (line[:start].endswith("(") and not years)):
            return next(k for k in range(at, len(run)) if run[k][1] == end)
    return None


def possible(line: str, run, at: int) -> list[int]:
    """The groups with which the number that begins with group `at` may end."""
    form = kind(line, run, at)
    if form in (None, "mention"):
        return [at] if form else []
    if form == "whole":
        return [american(line, run, at) or plan(line, run, at) or at]
    mine = at == run.called
    whole = argentine(line, run, at) if form == "national" else None
    if whole is not None:
        return [whole]
    found, total = [], 0
    for k in range(at, len(run)):
        if k > at:
            gap, sizes = line[run[k - 1][1] : run[k][0]], [len(digits) for _, _, digits in run[at:k]]
            inside = len(gap) <= 3 and not set(gap) & {"+"} and ("(" not in gap or closed(line, run[k]))
            if form != "world":
                inside = gap in (*SIGNS, *BLANKS, "/", ")", *(")" + c for c in (*SIGNS, *BLANKS)))
            wide = mine and form == "national" and k == at + 1 and gap in (" / ", " - ")
            middle = 2 <= len(run[k][2]) <= 4 and line[run[k][1] :].startswith(")")
            inside |= gap == "(" and form == "national" and middle
            inside |= wide and sizes[0] <= 5 and run[k][2][0] != "0"
            if not inside or sizes[-1] >= 9:
                break
            slash = form != "world" and k > at + 1 and gap[0] == "/" and line[run[k - 2][1]] != "/"
            if slash and total > (7 if mine else 4):
                break
        total += len(run[k][2])
        n = total - 2 * run[at][2].startswith("00")
        least, most = {"national": (9 - mine, 11 + mine), "world": (8, 15), "called": (8, 12)}[form]
        if form == "world" and not run[at][2].startswith("0"):
            least = max(least, fewest(run[at][2]))
        if least <= n <= most:
            found.append(k)
    return found


def chinese(line: str, run, at: int) -> bool:
    """Whether a group is 11 digits from 13 to 19, alone: a mobile phone of China."""
    start, end, digits = run[at]
    before, after = line[max(0, start - 1) : start], line[end : end + 1]
    latin = any(c < "\u0250" and c.isalnum() for c in (before, after))
    right = len(digits) == 11 and digits[0] == "1" and digits[1] > "2" and not digits.endswith("000")
    return right and not latin and before not in tuple("#$+-./=_") and after not in tuple("%€_")


def argentine(line: str, run, at: int) -> int | None:
    """The last group of 011 15 2345 6789: area, 15 and number, with at most a space or hyphen between any two parts."""
    for last in range(at, min(at + 4, len(run))):
        digits = "".join(group[2] for group in run[at : last + 1])
        for area in (3, 4, 5):
            cuts = {area, area + 2, 9}  # where a group may end
            ends = list(itertools.accumulate(len(group[2]) for group in run[at:last]))
            gaps = [line[run[k][1] : run[k + 1][0]] for k in range(at, last)]
            bare = [g.removeprefix(")") if e == area else g for g, e in zip(gaps, ends, strict=True)]
            right = area in ends and set(ends) <= cuts and set(bare) <= {"", " ", "-"} and "" not in gaps
            if len(digits) == 13 and digits[area : area + 2] == "15" and right:
                return last
    return None


def may_begin(line: str, start: int) -> bool:
    """Whether a number may begin behind what stands there: not behind a letter or two, a decimal point or a time."""
    before = line[:start].removesuffix("(")
    if line[:start].endswith(("+", *LINKS)):
        return True
    letters = ""
    while before and len(letters) < 16 and (before[-1] == "_" or is_latin(before[-1])):
        letters, before = before[-1] + letters, before[:-1]
    if letters:
        return len(letters.strip("_")) >= 3 and not before[-1:].isalnum()
    size = next((i for i, c in enumerate(line[start:]) if c not in VALUES), len(line) - start)
    if before[-1:] == "," and size >= 9 and line[start + size :].startswith(","):
        return True
    return not (before[-1:] in (".", ",", ":", *SIGNS) and before[-2:-1] in VALUES)
