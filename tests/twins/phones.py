"""Twin of `pii/numbers.py`: phone numbers as runs of digits, read group by group without patterns."""

from __future__ import annotations

import itertools
import unicodedata

VALUES = {c: str(unicodedata.decimal(c)) for c in map(chr, range(0x1FBFA)) if c.isdecimal()}
WIDE = dict(zip("（）＋－．／\u3000", "()+-./ ", strict=True))
INVISIBLE = "\u00ad\ufeff" + "".join(map(chr, (*range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x206A))))
LINKS = ("wa.me/", "phone=", "phone=%2B", "phone=%2b")
BLANKS, SIGNS = [" ", "\u00a0", "\u202f"], ["-", ".", "\u2010", "\u2011"]
LABELS = (
    "isbn issn ean doi arxiv version ver v release build rfc section img dsc vid ref reference référence order invoice "
    "tracking commande facture siren siret rcs rc ice tva vat kvk kbo bce btw crn duns company registration registered "
    "الفاتورة"
)
LABELS = [*LABELS.split(), "السجل التجاري", "رقم الطلب"]
MORE = ("", *(a + b for a in " _" for b in ("house", "number", "no", "nr", "num", "n°", "id")))


def phones(line: str):
    """Spans of phone numbers; digits are read as Western ones, and characters hidden in a number are left out."""
    line = "".join(WIDE.get(c) or VALUES.get(c, c) for c in line)
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
    end = -1
    for run in runs(line):
        at = 0
        while at < len(run):
            last = None if in_date(line, run[at][0]) else last_group(line, run, at, end)
            if last is not None:
                start, end = run[at][0], run[last][1]
                rest = line[run[at][1] : end]
                bracket = line[:start].endswith("(") and rest.count(")") > rest.count("(")
                yield start - (bracket or line[:start].endswith("+")), end
            at = at + 1 if last is None else last + 1


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
    for n in range(len(groups) - 2):
        sizes = [len(digits) for _, _, digits in groups[n : n + 3]]
        short = sizes[1] <= 2 and ((sizes[0] <= 2 and sizes[2] in (2, 4)) or (sizes[0] == 4 and sizes[2] <= 2))
        same = signs[n + 1] == signs[n + 2] and signs[n + 1] in ("/", ".", "-")
        alone = not {signs[n], signs[n + 3]} & {"/", ".", "-"}
        if short and same and alone and groups[n][0] <= start < groups[n + 2][1]:
            return True
    return False


def is_labelled(line: str, start: int) -> bool:
    """Whether a word before a number says that it is not a person's: ISBN, version, order no."""
    before = line[max(0, start - 32) : start].lower()
    for n in range(4):
        if n > len(before) or not set(before[len(before) - n :]) <= set(" \t_.:=#°№"):
            break
        for edition in ("", "-10", "-13"):
            for label in (word + more for word in LABELS for more in MORE):
                head = before[: len(before) - n].removesuffix(label + edition)
                whole = len(head) + len(label) + len(edition) + n == len(before)
                if whole and not (head and (head[-1].isalnum() or head[-1] == "_")):
                    return True
    return False


def last_group(line: str, run, at: int, end: int) -> int | None:
    """The last group of the phone that begins with group `at`; the longest that leaves the next number whole."""
    start = run[at][0]
    gap = line[end : start - line[:start].endswith(("+", "("))]
    in_list = end >= 0 and 1 <= len(gap) <= 3 and set(gap) <= set(" ,;/-")
    lengths = possible(line, run, at)
    if not lengths or is_labelled(line, start) or not (in_list or may_begin(line, start)):
        return None
    for last in sorted(lengths, reverse=True):
        takes_next = any(one > last for k in range(at + 1, last + 1) for one in possible(line, run, k))
        row = kind(line, run, at) == "national" and not in_list and in_row(line, run, at, last)
        if not takes_next and not row and may_end(line, run, at, last):
            return last
    return None


def kind(line: str, run, at: int) -> str | None:
    """The kind of number that begins with a group."""
    start, _, digits = run[at]
    before = line[:start]
    if before.endswith("+") and digits != "0":
        exponent = before[-2:-1] in ("e", "E") and before[-3:-2] in tuple("0123456789.")
        point = before[-2:-1] == "U" and not (before[-3:-2].isalnum() or before[-3:-2] == "_")
        return None if exponent or point else "world"
    if digits.startswith("0") and len(digits) > 1 and digits[1] != "0":
        return "national"
    if digits.startswith("00") and len(digits) > 2 and digits[2] != "0":
        return "world"
    at_sign = before.endswith("@") and not (before[-2:-1].isalnum() or before[-2:-1] == "_")
    if (at_sign or before.endswith(LINKS)) and 10 <= len(digits) <= 15 and digits[0] != "0":
        return "mention"
    return "american" if american(line, run, at) else None


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


def possible(line: str, run, at: int) -> list[int]:
    """The groups with which the number that begins with group `at` may end."""
    form = kind(line, run, at)
    if form in (None, "mention"):
        return [at] if form else []
    if form == "american":
        return [american(line, run, at)]
    whole = argentine(line, run, at) if form == "national" else None
    if whole is not None:
        return [whole]
    found, total = [], 0
    for k in range(at, len(run)):
        if k > at:
            gap, sizes = line[run[k - 1][1] : run[k][0]], [len(digits) for _, _, digits in run[at:k]]
            inside = len(gap) <= 3 and not set(gap) & {"+"}
            if form == "national":
                inside = gap in (*SIGNS, *BLANKS, "/", ")", *(")" + c for c in (*SIGNS, *BLANKS)))
            if not inside or sizes[-1] >= 9:
                break
        total += len(run[k][2])
        n = total - 2 * run[at][2].startswith("00")
        if 8 + (form == "national") <= n <= (11 if form == "national" else 15):
            found.append(k)
    return found


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
    counted = len(digits) > 3 and steps == {1} and digits[0][0] == "0"
    post_code = list(map(len, digits)) == [5, 4] and line[run[at][1]] == "-"
    number = "".join(digits)
    isbn = line[:start].endswith("/") and len(number) == 10
    isbn = isbn and sum((10 - i) * int(d) for i, d in enumerate(number)) % 11 == 0
    return not (counted or (post_code and end - start == 10) or isbn)
