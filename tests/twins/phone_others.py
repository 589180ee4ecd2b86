"""Twin of `pii/no_phones.py` and `others.py`: groups of digits that are no phone."""

from __future__ import annotations

import itertools

from twins.phone_forms import kind, possible
from twins.phone_signs import SIGNS, VALUES, groups_of


def in_date(line: str, start: int) -> bool:
    """Whether a group is in three groups like those of a date, with the same sign between them and none around."""
    groups = groups_of(line)
    signs = ["", *(line[a[1] : b[0]] for a, b in itertools.pairwise(groups)), ""]
    for n in range(len(groups) - 5):
        sizes = [len(digits) for _, _, digits in groups[n : n + 6]]
        days = all(size <= 2 for size in (*sizes[:2], *sizes[3:5])) and {sizes[2], sizes[5]} <= {2, 4}
        same = signs[n + 1] in ("/", ".") and {*signs[n + 1 : n + 3], *signs[n + 4 : n + 6]} == {signs[n + 1]}
        alone = not {signs[n], signs[n + 6]} & {"/", ".", "-"}
        if days and same and alone and signs[n + 3] == "-" and groups[n][0] <= start < groups[n + 5][1]:
            return True
    for n in range(len(groups) - 2):
        sizes = [len(digits) for _, _, digits in groups[n : n + 3]]
        short = sizes[1] <= 2 and ((sizes[0] <= 2 and sizes[2] in (2, 4)) or (sizes[0] == 4 and sizes[2] <= 2))
        same = signs[n + 1] == signs[n + 2] and signs[n + 1] in ("/", ".", "-")
        alone = not {signs[n], signs[n + 3]} & {"/", ".", "-"}
        if short and same and alone and groups[n][0] <= start < groups[n + 2][1]:
            return True
    return False


def in_isbn(line: str, start: int) -> bool:
    """Whether a group is in an ISBN of 13 digits: 978 and ten digits, or 978 and four groups with equal signs."""
    groups = groups_of(line)
    for n, (first, _, digits) in enumerate(groups):
        for size in (2, 5):
            some = groups[n : n + size]
            gaps = {line[a[1] : b[0]] for a, b in itertools.pairwise(some)}
            sizes = [len(g[2]) for g in some]
            parts = size == 2 or (len(sizes) == 5 and sizes[1] <= 5 and max(sizes[2:4]) <= 7 and sizes[4] == 1)
            right = len(some) == size and sum(sizes) == 13 and parts and gaps in ({" "}, {"-"})
            if digits in ("978", "979") and right and first <= start < some[-1][1]:
                return True
    return False


def is_decimal(line: str, run, at: int, last: int) -> bool:
    """Whether 01043.510047 follows 34191.79001 and a space."""
    if last != at + 1 or at < 2 or line[run[at][1]] != ".":
        return False
    return line[run[at - 2][1] : run[at - 1][0]] == "." and line[run[at - 1][1] : run[at][0]] == " "


def in_row(line: str, run, at: int, last: int) -> bool:
    """Whether two more groups of the same size, with the same sign between them, are beside the number's own."""
    like = [
        len(a[2]) == len(b[2]) == len(run[at][2]) and line[a[1] : b[0]] == line[run[at][1] : run[at + 1][0]]
        for a, b in itertools.pairwise(run) if at < last
    ]  # fmt: skip
    follows = last + 1 < len(run) and kind(line, run, last + 1) is None
    beside = like[max(0, at - 2) : at] + (like[last : last + 2] if follows else [])
    return at < last and all(like[at:last]) and sum(beside) >= 2


def may_end(line: str, run, at: int, last: int) -> bool:
    """Whether a number may end before what follows, and is neither 01 02 03 04, a postal code nor a book's."""
    start, end = run[at][0], run[last][1]
    after = line[end : end + 1]
    small = line[end + 1 : end + 2]
    label = at == run.called and "A" <= after <= "Z" and (small == "-" or "a" <= small <= "z")
    if after == "_" or (after.isascii() and after.isalpha() and not label):
        return False
    begins = last + 1 < len(run) and possible(line, run, last + 1)
    if after in (".", ":", *SIGNS) and line[end + 1 : end + 2] in VALUES and not begins:
        return False
    digits = [group[2] for group in run[at : last + 1]]
    steps = {int(b) - int(a) for a, b in itertools.pairwise(digits)}
    counted = len(digits) > 3 and len(steps) == 1 and digits[0][0] == "0" and at != run.called
    bits = len(digits) > 1 and all(len(d) == 8 and set(d) <= {"0", "1"} for d in digits)
    called_day = at == run.called and is_day(line[start:end])
    post_code = list(map(len, digits)) in ([5, 4], [5, 3]) and line[run[at][1]] == "-"
    docket = len(digits) == 2 and line[run[at][1]] == "/" and len(digits[1]) == 4 and digits[1][:2] in ("19", "20")
    sizes = {len(d) for d in digits}
    drawn = at != run.called and digits[0][0] == "0" and len(digits) > 4 and sizes == {2}
    drawn = drawn and all(0 < int(d) <= 50 for d in digits) if len(digits) > 5 else (
        drawn and int(digits[-1]) <= 50 and all(int(a) < int(b) for a, b in itertools.pairwise(["0", *digits])))
    short = at != run.called and len(digits) > 1 and digits[0][0] == "0" and len(digits[-1]) == 1
    short = short and (line[run[last][0] - 1] != "-" or [len(d) for d in digits] == [8, 1])
    number = "".join(digits)
    isbn = line[:start].endswith("/") and len(number) == 10 and len(digits) == 1
    isbn = isbn and line[start - 2 : start - 1] not in VALUES
    isbn = isbn and sum((10 - i) * int(d) for i, d in enumerate(number)) % 11 == 0
    if docket or drawn or short:
        return False
    return not (counted or bits or called_day or (post_code and run[last][0] - run[at][1] == 1) or isbn)


def is_day(text: str) -> bool:
    """Whether digits are a day of a year from 1900 to 2099, with at most one sign between its numbers."""
    for sizes in [(4, b, a) for a in (1, 2) for b in (1, 2)] + [(a, b, 4) for a in (1, 2) for b in (1, 2)]:
        for one, two in itertools.product((0, 1), repeat=2):
            a, b = sizes[0], sizes[0] + one
            c, d = b + sizes[1], b + sizes[1] + two
            parts, signs = [text[:a], text[b:c], text[d:]], text[a:b] + text[c:d]
            if [*map(len, parts)] == [*sizes] and "".join(parts).isdecimal() and not any(s.isdecimal() for s in signs):
                year, day = sorted((parts[0], parts[2]), key=len, reverse=True)
                if year[:2] in ("19", "20") and 1 <= int(parts[1]) <= 12 and 1 <= int(day) <= 31:
                    return True
    return False
