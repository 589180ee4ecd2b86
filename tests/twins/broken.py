"""Twin of `pii.broken`: the line breaks between digits, and those below a line without a digit at its end."""

from __future__ import annotations

from dataprep.pii.broken import is_below_label, is_divided
from dataprep.pii.numbers import phones

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
