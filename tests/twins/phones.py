"""Twin of `pii/numbers.py`: phone numbers as runs of digits, read group by group without patterns."""

from __future__ import annotations

import itertools
import unicodedata

import numpy as np

from dataprep.pii import bare
from dataprep.pii.candidates import is_after_word, may_be_bare
from dataprep.pii.context import OTHERS, is_amount, topic
from dataprep.pii.countries import NATIONAL
from dataprep.pii.label_words import AFTER_LABEL, AFTER_PHONE, AND, NOT_PERSONAL, PHONE
from dataprep.pii.labels import PARAMETERS, words
from dataprep.unicode.text import classes

VALUES = {c: str(unicodedata.decimal(c)) for c in map(chr, range(0x1FBFA)) if c.isdecimal()}
DASHES = "\u2212\u301c\u3030\u30a0" + "".join(c for c in map(chr, range(0x110000)) if unicodedata.category(c) == "Pd")
WIDE = {c: " " for c in map(chr, range(0x110000)) if unicodedata.category(c) == "Zs"} | dict.fromkeys(DASHES, "-")
WIDE |= dict(zip("（）＋．／", "()+./", strict=True))
INVISIBLE = "\u00ad\ufeff" + "".join(map(chr, (*range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x206A))))
LINKS = ("wa.me/", "phone=", "=%2B", "=%2b")
FEWEST = {code: len(code) + int(least) for code, least in (entry.split(":") for entry in NATIONAL.split())}
BLANKS, SIGNS = [" "], ["-", "."]
LABELS, PHONES = tuple(words(NOT_PERSONAL)), tuple(words(PHONE))
MORE = [a + b for a in " _" for b in AFTER_LABEL.split("|")]
PARAMETER = tuple(a + b + "=" for a in "?&" for b in PARAMETERS.split("|"))
GAPS = ("", " ", "-")
PLANS = [  # N: 3, 4, 8 or 9; M: 3 to 9; d: any digit
    *(f"8{a}{b}Ndd{c}{d}ddd{e}dd{f}dd" for a in " -" for b in ("", "(") for c in ("", ")")
      for d in GAPS for e in GAPS for f in GAPS),
    *(f"8(Ndd){d}ddd{e}dd{f}dd" for d in GAPS for e in GAPS for f in GAPS),
    *(f"0{a}(ddd){b}ddd{c}dd{d}dd" for a in ("", " ") for b in GAPS for c in GAPS for d in GAPS),
    "1Md-dddd-dddd", "dd)dddd-dddd", "dd) dddd-dddd", "dd)9dddd-dddd", "dd) 9dddd-dddd",
]  # fmt: skip
KINDS = {**{c: c for c in "0189 ()-"}, "N": "3489", "M": "3456789", "d": "0123456789"}


def plain(line: str) -> str:
    """A line with the digits and signs of ASCII instead of those of other scripts."""
    return "".join(WIDE.get(c) or VALUES.get(c, c) for c in line)


def phones(line: str):
    """Spans of phone numbers; digits are read as Western ones, and characters hidden in a number are left out."""
    line = plain(line)
    inside, kept, i = {*"0123456789/()+", *BLANKS, *SIGNS}, [], 0
    while i < len(line):
        end = i
        while end < len(line) and line[end] in INVISIBLE:
            end += 1
        if i in (end, 0) or end == len(line) or line[i - 1] not in inside or line[end] not in inside:
            end = max(end, i + 1)
            kept += range(i, end)
        i = end
    for start, end in plain_phones("".join(line[i] for i in kept)):
        yield kept[start], kept[end - 1] + 1


def plain_phones(line: str):
    """Spans of phone numbers, each from its + or bracket to the end of its last group."""
    end, phone = -1, False
    for groups in runs(line):
        run, at, before_run = Run(groups), 0, end
        found: list[tuple[int, int]] = []
        if not run or run[-1][1] - run[0][0] < 8:
            continue
        first = run[0][0]
        phone = is_phone(line, first) or (phone and (in_list(line, end, first) or with_and(line, end, first)))
        run.called = 0 if phone else None
        while at < len(run):
            other = in_date(line, run[at][0]) or in_isbn(line, run[at][0])
            last = None if other else last_group(line, run, at, end)
            mine, rest = at == run.called, last
            if last is not None and phone:
                run.called = last + 1
            while last is not None and goes_on(line, run, at, rest, last, mine):
                if phone:
                    run.called = last + 1
                if last_group(line, run, last + 1, run[rest][1]) is not None:
                    break
                last += 1
            if last is not None and phone:
                run.called = last + 1
            if last is not None and (
                any(is_labelled(line, i) for i in (run[at][0], row_start(line, run, at)))
                or (not phone and is_other(line, run[at][0], run[last][1]))
            ):
                at = last + 1
                continue
            if last is not None:
                start, end = run[at][0], run[last][1]
                rest = line[run[at][1] : end]
                start -= line[:start].endswith("+")
                bracket = line[:start].endswith("(") and rest.count(")") > rest.count("(")
                found.append((start - bracket, end))
            at = at + 1 if last is None else last + 1
        points = np.frombuffer(line.encode("utf-32-le", "surrogatepass"), "<u4")
        may = is_after_word(points, classes(), first) or 0 <= before_run < first <= before_run + 4
        if may and may_be_bare(points, np.array([group[:2] for group in run], np.int64)):
            before = end if not found else before_run
            found = bare.joined(line, first, run[-1][1], found, before)
        yield from found
        end = found[-1][1] if found else end


class Run(list):
    """Groups of digits; `called`: the index of one that a label calls a phone."""

    called: int | None = None


def is_other(line: str, start: int, end: int) -> bool:
    """Whether a number without a label is glued to three capitals, is 0123456789, or has no 0 and is counted."""
    letters = line[max(0, start - 3) : start]
    if len(letters) == 3 and letters.isalpha() and letters.isupper():
        return True
    if line[start] == "0":
        return line[start:end] == "0123456789"
    if line[max(0, start - 1) : start] in ("+", "@", "=", "/", "B", "b"):
        return False
    return is_amount(line, end) or topic(line, start, end, 2) == OTHERS


def row_start(line: str, run, at: int) -> int:
    """Where the groups begin that are as long as a group and stand before it, with one space between."""
    least = max(0, at - 8)
    while at > least and len(run[at - 1][2]) == len(run[at][2]) and line[run[at - 1][1] : run[at][0]] == " ":
        at -= 1
    return run[at][0]


def with_and(line: str, end: int, start: int) -> bool:
    """Whether a number follows the phone that ends at `end` and a word such as "or"."""
    between = line[max(end, 0) : start].lower()
    between = between[: len(between) - between.endswith(("(", "+"))]
    words = [(a, b) for a in AND.split("|") for b in ("", *(f"{w} " for w in AFTER_PHONE.split("|")))]
    for a, b in words if end >= 0 and start - end <= 12 else ():
        middle = between.removesuffix(b) if between.endswith(b) else None
        if middle is not None and middle.strip(" ,") == a:
            return True
    return False


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
    return k == last > at and line[run[k][1]] == "/" and len(run[k + 1][2]) == 2


def in_list(line: str, end: int, start: int) -> bool:
    """Whether a number is the next one in a list after a phone that ends at `end`."""
    gap = line[end : start - line[:start].endswith(("+", "("))]
    return end >= 0 and 1 <= len(gap) <= 3 and set(gap) <= set(" ,;/-")


def groups_of(line: str) -> list[tuple[int, int, str]]:
    """All groups of digits: start, end, Western digits."""
    found = []
    for i, c in enumerate(line):
        if c in VALUES and found and found[-1][1] == i:
            found[-1] = (found[-1][0], i + 1, found[-1][2] + VALUES[c])
        elif c in VALUES:
            found.append((i, i + 1, VALUES[c]))
    return found


def runs(line: str):
    """Groups with at most four signs between them that may be in a number."""
    run = []
    for group in groups_of(line):
        between = line[run[-1][1] : group[0]] if run else ""
        if len(between) > 4 or not set(between) <= {*BLANKS, *SIGNS, *"/()+"}:
            yield run
            run = []
        run.append(group)
    yield run


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


def is_labelled(line: str, start: int) -> bool:
    """Whether a word before a number says that it is not a person's: ISBN, version, order no."""
    before = line[max(0, start - 40) : start].lower()
    if before.endswith("+"):
        return False
    if before.endswith(PARAMETER):
        return True
    for n in range(5):
        if n > len(before) or not set(before[len(before) - n :]) <= set(" \t_.:：=#°№\"'"):
            break
        heads = {before[: len(before) - n]}
        for _ in range(4):
            if any(ends_with(h.removesuffix(edition), LABELS) for h in heads for edition in ("", "-10", "-13")):
                return True
            heads = {h.removesuffix(more) for h in heads for more in MORE if h.endswith(more)}
    return False


def is_phone(line: str, start: int) -> bool:
    """Whether a word before a number says that it is a phone: tel., my number is; at most three words between."""
    before = line[max(0, start - 40) : start].lower()
    heads = {before}
    for _ in range(4):
        heads |= {head[:-1] for head in heads if head[-1:] and head[-1] in " \t_.:：=፦(（+\"'"}
    for _ in range(4):
        if any(ends_with(head, PHONES) for head in heads):
            return True
        bare = {head.removesuffix(word) for head in heads for word in AFTER_PHONE.split("|") if head.endswith(word)}
        heads = bare | {head[:-1] for head in bare if head[-1:] in (" ", "_")}
    return False


def ends_with(text: str, labels: tuple[str, ...]) -> bool:
    """Whether a text ends with a label, which begins a word unless its script joins words."""
    for label in labels if text.endswith(labels) else ():
        before = text.removesuffix(label)[-1:]
        begins = not before.isalnum() or joins(before)
        if text.endswith(label) and (begins or joins(label[0])):
            return True
    return False


def joins(c: str) -> bool:
    """Whether a character is of Hebrew, Arabic or a script in which words may follow each other without a space."""
    ranges = [(0x590, 0x6FF), (0x900, 0xFFF), (0x1000, 0x10FF), (0x1200, 0x137F), (0x1780, 0x17FF), (0x3040, 0x9FFF)]
    return bool(c) and any(a <= ord(c) <= b for a, b in [*ranges, (0xAC00, 0xD7AF)])


def last_group(line: str, run, at: int, end: int) -> int | None:
    """The last group of the phone that begins with group `at`; the longest that leaves the next number whole."""
    start = run[at][0]
    follows = in_list(line, end, start)
    lengths = possible(line, run, at)
    if not lengths or not (follows or (may_begin(line, start) and not is_inner(line, run, at))):
        return None
    for last in sorted(lengths, reverse=True):
        takes_next = any(one > last for k in range(at + 1, last + 1) for one in possible(line, run, k))
        row = kind(line, run, at) in ("national", "called") and not follows and in_row(line, run, at, last)
        whole = None if takes_next or row else to_end(line, run, at, last)
        if whole is not None and may_end(line, run, at, whole):
            return whole
    return None


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


def closed(line: str, group) -> bool:
    """Whether a group has at most four digits, and a bracket closes behind it."""
    return len(group[2]) <= 4 and line[group[1] :].startswith(")")


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


def is_latin(c: str) -> bool:
    """Whether a character is a Latin letter up to U+024F."""
    return (c.isascii() and c.isalpha()) or "\u00c0" <= c <= "\u024f"


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
    if after == "_" or (after.isascii() and after.isalpha()):
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
    short = short and line[run[last][0] - 1] != "-"
    number = "".join(digits)
    isbn = line[:start].endswith("/") and len(number) == 10
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
