"""Twin of the first half of `pii/bare.py`: what may be a phone without + and 0 in a run of groups."""

from __future__ import annotations

from dataprep.pii.countries import mobiles
from twins.phone_labels import is_phone
from twins.phone_signs import DIGITS, VALUES, closed, is_word
from twins.plans import shows_phone


def is_after_word(line: str, start: int) -> bool:
    """Whether a line, a cell, a letter or a number and ", " precedes, with up to four signs between."""
    i = start
    while i > max(0, start - 4) and line[i - 1] < "\u0250" and not is_word(line[i - 1]):
        i -= 1
    before, gap = line[:i][-1:], line[i:start]
    if set(gap) & set("\t;>|"):
        return True
    if not before:
        return len(gap) <= 1 or gap.endswith(" ")
    return before not in VALUES or gap in (", ", "; ")


def may_be_bare(line: str, run) -> bool:
    """Whether some groups of a run, with one sign between them, may be a number without + and 0, and no figures."""
    at = 0
    while at < len(run):
        last = at
        while last + 1 < len(run) and chained(line, run, at, last):
            last += 1
        if 8 <= sum(len(g[2]) for g in run[at : last + 1]) <= 15 and not are_figures(line, run[at : last + 1]):
            return True
        at = last + 1
    return False


def chained(line: str, run, first: int, k: int) -> bool:
    """Whether group k + 1 is in one number with group k; a slash behind eight digits is between two numbers."""
    gap = line[run[k][1] : run[k + 1][0]]
    if gap.endswith("/") and sum(len(g[2]) for g in run[first : k + 1]) >= 8:
        return False
    if gap.endswith("("):
        return len(gap) <= 2 and closed(line, run[k + 1])
    area = k == first and run[k][2].startswith("0") and len(run[k][2]) <= 4 and len(gap) <= 3
    return gap in tuple(" ).-/") or (len(gap) == 2 and gap[0] == ")") or area


def are_figures(line: str, groups) -> bool:
    """Whether groups are decimals, ratios, a range of numbers or years, or 1-3 210."""
    sizes, digits = [len(g[2]) for g in groups], [g[2] for g in groups]
    signs = [line[g[1]] for g in groups[:-1]]
    stops, slashes, others = signs.count("."), signs.count("/"), signs.count(" ") + signs.count("-")
    ten, zero = sum(sizes) == 10, digits[0].startswith("0")
    if any(len(d) == 1 and d != "9" for d in digits[1:]) and digits[0][0] not in "08":
        return True
    if stops and others and (not ten or stops > 1 or others > 1):
        return True
    if stops == 1 and len(groups) == 2 and not ten:
        return True
    lebanon = sum(sizes) == 8 and sizes[0] == 2 and (digits[0][0] == "7" or digits[0] == "81")
    area = slashes == 1 and signs[0] == "/" and (lebanon or (ten and sizes[0] == 3))
    if slashes and not zero and not area and (not ten or len(groups) > 2):
        return True
    a, b = digits[0], digits[-1]
    years = {a[:2], b[:2]} <= {"19", "20"}
    return sizes == [4, 4] and (years or (signs != [" "] and a[0] == b[0] and a[1] <= b[1]))


def chains(line: str, run):
    """Groups with a sign or bracket between them, cut at slashes if they are too long for one number."""
    at = 0
    while at < len(run):
        last = at
        while last + 1 < len(run):
            gap, first = line[run[last][1] : run[last + 1][0]], run[at][2]
            area = last == at and first[0] == "0" and 2 <= len(first) <= 4 and gap in ("/ ", "- ", " / ", " - ")
            bracket = gap in ("(", " (") and line[run[last + 1][1] :].startswith(")")
            if not (area or bracket or gap in (*" ./-", ")", ") ", ")-")):
                break
            last += 1
        start, end = run[at][0], run[last][1]
        parts = line[start:end].split("/") if sum(len(g[2]) for g in run[at : last + 1]) > 13 else [line[start:end]]
        for part in parts:
            if part:
                yield start, start + len(part)
            start += len(part) + 1
        at = last + 1


def numbers(line: str, run):
    """What may be a phone: start, end, whether its groups show it."""
    first, stop = run[0][0], run[-1][1]
    for a, b in chains(line, run):
        opened = line[:a].endswith("(") and line[a:b].count(")") > line[a:b].count("(")
        whole = line[a - opened : b].removeprefix("00 ")
        digits = "".join(c for c in whole if c in DIGITS)
        plus = line[: a - opened].endswith("+ ") and mobile(digits)
        begin = a - opened - 2 * plus
        behind = b < stop and line[b] == "/" and eight(line, b + 1)
        glued = len(line[:begin]) > 2 and line[begin - 3 : begin].isalpha() and is_phone(line, begin)
        listed = begin > first and line[begin - 1] == "/"
        if not 8 <= len(digits) <= 13 or not (begins(line, begin) or listed or glued):
            continue
        if not (behind or stops(line, b)):
            continue
        dot = whole.find(".")
        mixed = dot >= 0 and bool({" ", "-"} & set(whole)) and not whole.startswith("(")
        sure = not mixed and is_sure(whole, digits)
        if sure or not (mixed or figures(whole)) or home(line, begin, b):
            yield begin, b, sure


def eight(line: str, at: int) -> bool:
    """Whether eight digits follow, with at most one sign after each, perhaps in a bracket."""
    for start in {at, at + line[at:].startswith("(")}:
        n, i = 0, start
        while n < 8 and line[i : i + 1] in DIGITS:
            n, i = n + 1, i + 1
            i += n < 8 and line[i : i + 1] in tuple(" .()-")
        if n == 8:
            return True
    return False


def begins(line: str, a: int) -> bool:
    """Whether a number may begin here: not in a word, a price, a decimal, a time or an identifier."""
    one, two = line[max(0, a - 1) : a], line[max(0, a - 2) : a]
    latin = (one.isascii() and one.isalnum()) or (one and "\u00c0" <= one <= "\u024f") or one in tuple("_$€£¥₹₽₺#+")
    decimal = len(two) == 2 and two[0] in DIGITS and two[1] in " ./:-"
    price = len(two) == 2 and two[0] in "$€£¥₹₽₺#№" and two[1] == " "
    three = line[max(0, a - 3) : a]
    path = len(three) == 3 and three[0] in DIGITS and "A" <= three[1] <= "Z" and three[2] == "/"
    ten = line[max(0, a - 10) : a]
    uuid = len(ten) == 10 and ten[4] == ten[9] == "-" and set(ten[:4] + ten[5:9]) <= set("0123456789abcdefABCDEF")
    return not (latin or decimal or price or path or uuid)


def stops(line: str, b: int) -> bool:
    """Whether a number may end here: no word, percent sign, decimal, and no short number behind a space."""
    one, two, rest = line[b : b + 1], line[b + 1 : b + 2], line[b + 1 :]
    if (one.isascii() and one.isalnum()) or (one and "\u00c0" <= one <= "\u024f") or one in tuple("_%°$€£¥"):
        return False
    if one in tuple(".:/-") and two in DIGITS:
        return False
    n = next((i for i, c in enumerate(rest) if c not in DIGITS), len(rest))
    if one == "," and 1 <= n <= 2:
        return False
    return not (one == " " and 1 <= n <= 3 and rest[n : n + 1] not in tuple(":/.-"))


def figures(whole: str) -> bool:
    """Whether a number looks like 7-11/16 or 12/1234/12."""
    if (len(whole) > 1 and whole[-2] == "/" and whole[-1] in DIGITS) or whole.count("/") > 1:
        return True
    single = any(
        whole[i] in DIGITS and i and whole[i - 1] not in DIGITS and whole[i + 1 : i + 2] not in DIGITS
        for i in range(len(whole))
    )
    return not whole.startswith("0") and (single or any(sign + "/" in whole for sign in " .-"))


def is_sure(whole: str, digits: str) -> bool:
    """Whether its groups show that a number is a phone."""
    groups = "".join(c if c in DIGITS else " " for c in whole).split()
    if shows_phone(whole):
        rises = len(groups) > 3 and len(set(map(len, groups[1:]))) == 1 and groups == sorted(groups)
        times = whole.split(" ")
        times = len(times) == 3 and all(len(t) == 4 and t.isdecimal() and t[:2] < "24" and t[2:] < "60" for t in times)
        return not rises and not times
    grouped = whole[0] != "(" and groups[0] in mobiles() and whole[len(groups[0]) :][:1] in (" ", "-")
    if (grouped or whole == digits) and mobile(digits):
        barcode = (sum(map(int, digits[::2])) + 3 * sum(map(int, digits[1::2]))) % 10 == 0
        return grouped or len(digits) < 13 or not barcode
    return False


def mobile(digits: str) -> bool:
    """Whether the code of a country and the beginning of its mobile phones precede the right number of digits."""
    return any(
        digits == code + rest and len(rest) in plan.sizes and int(rest[:3]) in plan.first
        for code, plan in mobiles().items()
        if (rest := digits.removeprefix(code)) != digits
    )


def near(line: str, a: int, b: int, size: int) -> tuple[str, str]:
    """The line before and after a number, at most `size` characters of each."""
    return line[max(0, a - size) : a], line[b : b + size]


def home(line: str, a: int, b: int) -> bool:
    """Whether a number is a mobile phone of the country whose script is near."""
    some, digits = "".join(near(line, a, b, 40)), "".join(c for c in line[a:b] if c in DIGITS)
    n, two = len(digits), digits[:2]
    places = [
        (0x900, 0xDFF, n == 10 and digits[0] in "6789"),
        (0x370, 0x3FF, n == 10 and (two == "69" or (two[0] == "2" and two[1] in "12345678"))),
        (0x400, 0x4FF, n == 10 and digits[0] == "9"), (0x10A0, 0x10FF, n == 9 and digits[0] == "5"),
        (0xAC00, 0xD7AF, n == 8 and two in ("15", "16", "18")),
    ]  # fmt: skip
    return any(right and any(low <= ord(c) <= high for c in some) for low, high, right in places)
