"""Find lines that may contain personal data, in one pass over the bytes, so that patterns are tried on few lines.

The lines found may also include lines without personal data, but no line with personal data is missed.

Slow reference for the tests: tests/twins/pii.py (it searches for each kind of data character by character)
"""

from __future__ import annotations

from functools import cache

import numpy as np

from dataprep.unicode.kernel import kernel
from dataprep.unicode.text import DECIMAL, I64, U8, Int, classes, code_point

from .signs import BETWEEN

EMAIL, IP, NUMBER, IBAN = 1, 2, 4, 8  # candidates in a line; NUMBER: a phone or a card
BREAK = 16  # the next line, or the one after it if that is blank, begins with (the rest of) a number
MIN_DIGITS = 8  # of a phone: the fewest that a NUMBER has

# Kinds of bytes: those that begin a candidate, and those between the digits of one number.
PLAIN, NEWLINE, AT, COLON, DIGIT, LEAD, SEPARATOR, DOT = range(8)
POINTS = 256  # where the code points begin in the table
# Between the digits of a number: white space, dashes, invisible characters, full-width signs.
_BETWEEN = [0xAD, *range(0x2000, 0x2040), *range(0x2060, 0x206A), 0xFEFF, *map(ord, BETWEEN)]


@cache
def byte_kinds() -> U8:
    """Return the class of each byte value, then of each code point: uint8[256 + 0x110000].

    Classes are digit, separator, newline, at sign ...; LEAD is a byte that begins a digit or a separator outside ASCII.
    """
    table = np.full(POINTS + 0x110000, PLAIN, np.uint8)
    decimals = np.flatnonzero(classes() & DECIMAL)
    table[POINTS + decimals] = DIGIT
    table[[POINTS + c for c in _BETWEEN]] = SEPARATOR
    table[[chr(c).encode()[0] for c in (*decimals.tolist(), *_BETWEEN)]] = LEAD
    table[list(b"0123456789")] = DIGIT
    table[list(b" ()-/+")] = SEPARATOR
    table[list(b"\n@:.")] = [NEWLINE, AT, COLON, DOT]
    table.flags.writeable = False
    return table


@kernel(inline="always")
def digit_bytes(data: U8, i: Int, kinds: U8) -> Int:
    """Return the size in bytes of the decimal digit, of any script, that begins at `data[i]`; 0 if there is none.

    - kinds: the table of byte and character classes that `byte_kinds` returns.
    """
    kind = kinds[data[i]]
    if kind == DIGIT:
        return 1
    if kind == LEAD:
        c, size = code_point(data, i)
        if kinds[POINTS + c] == DIGIT:
            return size
    return 0


@kernel(inline="always")
def between_bytes(data: U8, i: Int, kinds: U8) -> Int:
    """Return the size in bytes of the separator that begins at `data[i]`; 0 if there is none.

    Separators are the characters that may be between the digits of a number: white space, hyphens, parentheses, / + and
    full stop, also in full width, and invisible characters.

    - kinds: the table of byte and character classes that `byte_kinds` returns.
    """
    kind = kinds[data[i]]
    if kind in (SEPARATOR, DOT):
        return 1
    if kind == LEAD:
        c, size = code_point(data, i)
        if kinds[POINTS + c] == SEPARATOR:
            return size
    return 0


@kernel(inline="always")
def is_hex(b: Int) -> bool:
    """Return whether a byte is a hexadecimal digit."""
    return bool(48 <= b <= 57 or 65 <= b <= 70 or 97 <= b <= 102)


@kernel(inline="always")
def is_before_colon(data: U8, i: Int, stop: Int) -> bool:
    """Return whether a colon follows offset `i` after at most four hexadecimal digits."""
    j = i
    while j < stop and j < i + 4 and is_hex(data[j]):
        j += 1
    return bool(j < stop and data[j] == 58)


@kernel(inline="always")
def is_code(data: U8, i: Int, stop: Int) -> bool:
    """Return whether two capitals, or two small letters if another digit follows, precede the digit at `i`."""
    a, b = data[i - 2], data[i - 1]
    if 65 <= b <= 90:
        return bool(65 <= a <= 90)
    return bool(97 <= b <= 122 and 97 <= a <= 122 and i + 1 < stop and 48 <= data[i + 1] <= 57)


@kernel(inline="always")
def line_above(data: U8, i: Int, start: Int, first: Int, n_digits: Int) -> tuple[Int, Int]:
    """Return start and end of the line above (or two above) the line from `start`, which begins with a number.

    - i: the first digit of the line.
    - first: the start of the text.
    - n_digits: the number of digits of the number.

    Returns (-1, -1) if there is no such line, or if the line does not begin with the number. The result is also (-1,
    -1) if the number has fewer digits than a phone number and the line above does not end in a digit, which is then not
    checked outside ASCII.
    """
    at = i - 1
    while at >= start and (data[at] in (9, 13, 32) or 40 <= data[at] <= 47):
        at -= 1
    if at >= start or start == first:
        return np.int64(-1), np.int64(-1)
    at = start - 1
    while at > first and data[at - 1] in (9, 13, 32):
        at -= 1
    if n_digits < MIN_DIGITS:
        last = data[at - 1 - (at - 1 > first and data[at - 1] in (41, 45, 46, 47))] if at > first else 10
        if last < 0x80 and not 48 <= last <= 57:
            return np.int64(-1), np.int64(-1)
    stop = at if at > first and data[at - 1] == 10 else start
    at = stop - 1
    while at > first and data[at - 1] != 10:
        at -= 1
    return at, stop - 1


@kernel
def suspects(offsets: I64, data: U8, kinds: U8, wanted: int) -> I64:
    """Return the lines that may contain wanted personal data, int64[m, 4], in order.

    A row of the result is (index of the text, start and end of the line in `data`, sum of the kinds in `wanted` that
    the line may contain).

    Args:
        offsets: text k is data[offsets[k]:offsets[k + 1]].
        data: the texts, UTF-8 bytes.
        kinds: the table of byte and character classes that `byte_kinds` returns.
        wanted: the kinds of data to find, as a sum of EMAIL, IP, NUMBER (phone or card), IBAN and BREAK.
    """
    n, room = len(offsets) - 1, len(offsets) - 1
    for i in range(offsets[0], offsets[n]):
        room += data[i] == 10
    out = np.empty((room, 4), np.int64)
    m: Int = 0
    for d in range(n):
        i, start, stop, can, seen = offsets[d], offsets[d], offsets[d + 1], 0, False  # seen: a number of the line
        while i <= stop:
            kind = kinds[data[i]] if i < stop else NEWLINE
            if kind == PLAIN or kind >= SEPARATOR:
                i += 1
            elif kind == NEWLINE:
                if can & wanted:
                    out[m, 0], out[m, 1], out[m, 2], out[m, 3] = d, start, i, can & wanted
                    m += 1
                i += 1
                start, can, seen = i, 0, False
            elif kind == AT:
                can |= EMAIL
                i += 1
            elif kind == COLON:
                can |= IP if is_before_colon(data, i + 1, stop) else 0
                i += 1
            else:
                if digit_bytes(data, i, kinds) == 0:
                    i += 1
                    continue
                if i - start >= 2 and is_code(data, i, stop):
                    can |= IBAN
                begins, digits, dots = i, 0, 0
                while i < stop:
                    size = digit_bytes(data, i, kinds)
                    if size:
                        digits += 1
                    else:
                        size = between_bytes(data, i, kinds)
                        dots += kinds[data[i]] == DOT
                    if size == 0:
                        break
                    i += size
                if not seen and digits > 1 and wanted & BREAK:
                    above, end = line_above(data, begins, start, offsets[d], digits)
                    if above >= 0 and m and out[m - 1, 1] == above:
                        out[m - 1, 3] |= BREAK
                    elif above >= 0:
                        out[m, 0], out[m, 1], out[m, 2], out[m, 3] = d, above, end, BREAK
                        m += 1
                seen = True
                can |= NUMBER if digits >= MIN_DIGITS else 0
                can |= IP if dots >= 3 else 0
    return out[:m]
