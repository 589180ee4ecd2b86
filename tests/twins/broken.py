"""Twin of `pii.broken` and `pii.phone_lists`: line breaks between digits or below a label, and lists below a label."""

from __future__ import annotations

from dataprep.pii.broken import is_below_label, is_divided
from dataprep.pii.numbers import phones
from dataprep.pii.phone_lists import items
from twins.phone_signs import plain

BETWEEN = set(" ()-/+.")


def places(text: str) -> list[tuple[int, str]]:
    """(offset of the line break in bytes, kind) of each place where a phone may be divided, or be below a label."""
    lines = text.split("\n")
    found, offset = [], 0
    for k, line in enumerate(lines[:-1]):
        offset += len(line.encode())
        above, below = line.rstrip(" \t\r"), lines[k + 1]
        blank = not below.strip(" \t\r") and k + 2 < len(lines)
        below = (lines[k + 2] if blank else below).lstrip(" \t\r")
        after = _run(below)
        if above and below and (below[0].isdecimal() or below[0] in "(+"):
            last = above[:-1] if above[-1] in ")-./" else above
            if not last[-1:].isdecimal():
                found += [(offset, "below")] if after >= 8 else []
            elif not blank and below[0] != "+":
                run = len(above)
                while run and (above[run - 1].isdecimal() or above[run - 1] in BETWEEN):
                    run -= 1
                digits = [i for i in range(run, len(above)) if above[i].isdecimal()]
                world = digits[0] > 0 and above[digits[0] - 1] == "+"
                free = (run > 0 and above[run - 1] != "\t") or world
                fewest = 1 if above[-2:-1] == "+" or after >= 7 else 2
                if free and len(digits) >= fewest and after >= 2 and 8 <= len(digits) + after <= 15:
                    found.append((offset, "divided"))
        offset += 1
    return found


def _run(line: str) -> int:
    """How many digits the run of digits and signs has with which a line begins."""
    end = 0
    while end < len(line) and (line[end].isdecimal() or line[end] in BETWEEN):
        end += 1
    return sum(map(str.isdecimal, line[:end]))


def accounts(text: str, kind: str, find):
    """Spans in characters of the cards or accounts that a line break divides."""
    lines, at = text.split("\n"), 0
    for k, line in enumerate(lines[:-1]):
        above, below = line.rstrip(" \t\r"), lines[k + 1].lstrip(" \t\r")
        skipped, first, at = len(lines[k + 1]) - len(below), at, at + len(line) + 1
        one, two = plain(above), plain(below)
        if not (one and below):
            continue
        signs = [" "]
        if kind == "card":
            left, right = len(one), 0
            while left and (one[left - 1].isdecimal() or one[left - 1] in " -"):
                left -= 1
            left += next(i for i, c in enumerate(one[left:] + "0") if c.isdecimal())
            while right < len(two) and (two[right].isdecimal() or two[right] in " -"):
                right += 1
            rest = one[:left] + two[right:]
            whole = len(lines) == 2 and not rest.strip()
            if not (whole or any(map(str.isalpha, rest))):
                continue
            sign = next((c for c in one[left:] + two[:right] if c in " -"), "")
            signs = ["" if one[-1] == "-" or two[0] == "-" else sign]
        for sign in signs:
            size = len(one) + len(sign)
            for a, b in find(one + sign + two):
                if a < len(one) and b > size:
                    yield first + a, at + skipped + b - size


def across(text: str):
    """Spans in characters of the phones that a line break divides, or that stand below a label."""
    for at, kind in places(text):
        start = len(text.encode()[:at].decode())
        above, below = text[:start].rpartition("\n")[2].rstrip(), text[start + 1 :].lstrip(" \t\r\n")
        below = below.partition("\n")[0]
        first, at_below = start - len(text[:start].rpartition("\n")[2]), text.index(below, start + 1)
        between = "" if kind == "divided" and above[-1:] in ("-", ".", "/") else " "
        whole = len(above + between)
        for a, b in phones(above + between + below):
            if kind == "divided" and a < len(above) and b > whole and is_divided(above, below, a):
                yield first + a, at_below + b - whole
            if kind == "below" and a in (whole, whole + 1) and is_below_label(above, below):
                yield at_below + a - whole, at_below + b - whole


def listed(text: str):
    """Spans in characters of the phones in lists below labels, line by line."""
    lines = text.split("\n")
    starts = [sum(len(line) + 1 for line in lines[:k]) for k in range(len(lines))]
    for k in range(len(lines)):
        label, at = lines[k].rstrip(), k + 1
        while label and is_below_label(label, "") and at < len(lines):
            at += not lines[at].strip() and at + 1 < len(lines)
            spans = list(items(label, lines[at])) if len(lines[at].encode()) <= 120 else []
            yield from ((starts[at] + a, starts[at] + b) for a, b in spans)
            label, at = label if spans else "", at + 1
