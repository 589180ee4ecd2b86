"""Phone numbers that form a whole text, such as a message: one number or a list, grouped like phone numbers.

Slow reference for the tests: tests/twins/only.py
"""

from __future__ import annotations

import itertools
import re

import numpy as np

from dataprep.unicode.kernel import kernel
from dataprep.unicode.text import I64, U8, Int

from .bare import is_dated
from .context import is_counted
from .glued import CUT, parted, with_extension
from .kernel import MIN_DIGITS, PLAIN, between_bytes, byte_kinds, digit_bytes
from .numbers import phones
from .signs import plain

MOST_BYTES = 160  # of such a text
MOST_BREAKS = 1  # line breaks in it
_SIZES = """
8 9 10 17 26 27 35 36 37 44 45 46 53 54 55 134 144 224 233 234 244 323 324 332 333 334 343 344 433 434 443 1222 2222
2322 3222 3322 12222 22222
"""
SIZES = frozenset(_SIZES.split())  # the number of digits in each group of a number
_NUMBER = re.compile(r"[ \t\r\n]*(?P<number>[(]?[0-9](?:[ ().\t\r\n/-]{0,3}[0-9])*)")
_WORD = re.compile(rf"(?:{CUT}\w*)?")  # glued to a number
_NEXT = re.compile(r"[ .!]*[ \t\r\n]*(?:(?P<sign>[,;])|\Z)")
_GROUPS = re.compile("[1-9][0-9]*(?:[ -][0-9]+)*")
_AMOUNT = re.compile("1[0-9]{0,2}(?: [0-9]{3})+|[0-9]{1,3}(?: [0-9]{3})+(?<=00)|1[0-9]+")  # also a time in seconds
_AREA = re.compile("(?:0[0-9]* |0[0-9]+-|[(][0-9]+[)][ -]?)[0-9]+(?:[ -][0-9]+)*")  # 0 801 23 45 67
_LABEL = "tel "
_PAIRS = re.compile("[0-9]{2}(?:[ -][0-9]{2}){3,4}")


def only_phones(offsets: I64, data: U8) -> list[tuple[int, int]]:
    """Return (start, end) in bytes of `data` of the phone numbers of each text that consists only of phone numbers.

    - offsets: int64[n + 1], the offsets of n texts in `data`, UTF-8 bytes.
    """
    rows, found = starting(offsets, data, byte_kinds()), list[tuple[int, int]]()
    for start, stop in zip(offsets[rows].tolist(), offsets[rows + 1].tolist(), strict=True):
        text = data[start:stop].tobytes().decode()
        found += [(start + len(text[:a].encode()), start + len(text[:b].encode())) for a, b in only(text)]
    return found


@kernel
def starting(offsets: I64, data: U8, kinds: U8) -> I64:
    """Return the indices of texts of at most MOST_BYTES that begin with a number of at least MIN_DIGITS, int64[m].

    - kinds: the table of byte and character classes that `byte_kinds` returns.
    """
    out = np.empty(len(offsets) - 1, np.int64)
    m: Int = 0
    for k in range(len(offsets) - 1):
        i, stop = offsets[k], offsets[k + 1]
        if not MIN_DIGITS <= stop - i <= MOST_BYTES or (kinds[data[i]] == PLAIN and data[i] not in (9, 13)):
            continue
        digits: Int = 0
        while i < stop:
            size = digit_bytes(data, i, kinds)
            digits += size > 0
            if size == 0:
                size = 1 if data[i] in (9, 10, 13) else between_bytes(data, i, kinds)
            if size == 0:
                break
            i += size
        if digits >= MIN_DIGITS:
            out[m] = k
            m += 1
    return out[:m]


def only(text: str) -> list[tuple[int, int]]:
    """Return (start, end) of the phone numbers of a text that consists only of such numbers; otherwise nothing.

    Signs, an attached word or an extension may follow each number. The text may contain one line break.
    """
    line = plain(text)
    if not _NUMBER.match(line) or line.strip().count("\n") > MOST_BREAKS:
        return []
    shown, at, found = parted(line), 0, list[tuple[int, int]]()
    while (m := _NUMBER.match(shown, at)) and is_number(re.sub(r"\s+", " ", m["number"])):
        end = with_extension(line, m.end())
        found.append((m.start("number"), end))
        word = _WORD.match(shown, end) if end == m.end() else None
        more = _NEXT.match(shown, word.end() if word else end)
        if more is None or not more["sign"]:
            return found if more else []
        at = more.end()
    return []


def is_number(whole: str) -> bool:
    """Return whether a text of digits and signs is a phone number, by its grouping, without words near it."""
    groups = re.findall("[0-9]+", whole)
    if _GROUPS.fullmatch(whole) and "".join(str(len(g)) for g in groups) in SIZES:
        return not _is_other(whole, groups)
    if _AREA.fullmatch(whole) and not _is_other(whole, groups):
        return list(phones(_LABEL + whole)) == [(len(_LABEL), len(_LABEL) + len(whole))]
    return list(phones(whole)) == [(0, len(whole))]


def _is_other(whole: str, groups: list[str]) -> bool:
    """Return whether the groups of a number are a date, an amount, a range, or a series of numbers."""
    if is_dated(whole) or is_counted(whole, 0, len(whole)) or whole.endswith("000"):
        return True
    if _PAIRS.fullmatch(whole):
        return groups == sorted(groups)
    values = [int(g) for g in groups]
    amount = _AMOUNT.fullmatch(whole) is not None
    series = len(values) > 2 and len({b - a for a, b in itertools.pairwise(values)}) == 1  # 200 300 400
    span = "-" in whole and len(values) == 2 and whole[0] == groups[1][0] and values[0] <= values[1]  # 3100-3200
    return amount or series or span
