"""Kernels that read the parts of a header in a WhatsApp export: numbers, words, separators, dates and times.

All functions stop at a line feed, and every line has one.

Slow reference for the tests: tests/twins/whatsapp_headers.py
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from dataprep.unicode.kernel import kernel

Bytes: TypeAlias = npt.NDArray[np.uint8]
Ints: TypeAlias = npt.NDArray[np.int64]
Keys: TypeAlias = npt.NDArray[np.uint64]

DOT, SLASH, DASH, COMMA, YEAR_SIGN, MONTH_SIGN, DAY_SIGN = 1, 2, 3, 4, 5, 6, 7
# What a word means: codes below ERA are about the hour, those from ERA on are added to the year, those from
# FIRST_YEAR on are the year itself (an era's first, which is written as a word).
UNKNOWN, NEUTRAL, AM, PM, NOON, NIGHT, ERA, FIRST_YEAR = -1, 0, 1, 2, 3, 4, 100, 10_000
MULTIPLIER, BASIS = 1_099_511_628_211, 14_695_981_039_346_656_037  # FNV-1a, 64 bits
SLOTS = 8_192  # of the table of words
MAX_WORD = 48  # bytes


@kernel
def skip(data: Bytes, i: int) -> int:
    """Return the position of the first byte that is neither a space nor a mark."""
    while True:
        c = data[i]
        if c in (32, 9):
            i += 1
        elif c < 0xC2:
            return i
        elif c == 0xC2 and data[i + 1] == 0xA0:
            i += 2
        elif (c == 0xE2 and data[i + 1] in (0x80, 0x81) and _is_e2(data[i + 1], data[i + 2])) or (
            c == 0xEF and data[i + 1] == 0xBB and data[i + 2] == 0xBF
        ):
            i += 3
        elif c == 0xD8 and data[i + 1] == 0x9C:
            i += 2
        else:
            return i


@kernel
def _is_e2(second: int, third: int) -> bool:
    """Return whether a character is one of U+2009-200F, U+202A-202F, U+2066-2069: thin spaces and marks."""
    if second == 0x80:
        return 0x89 <= third <= 0x8F or 0xAA <= third <= 0xAF
    return 0xA6 <= third <= 0xA9


@kernel
def _digit(data: Bytes, i: int) -> tuple[int, int]:  # noqa: PLR0911
    """Return the digit at i (-1: none) and its size, in ASCII, Arabic, Persian, Indic, Thai, Burmese, full-width."""
    c = data[i]
    if 48 <= c <= 57:
        return c - 48, 1
    if c < 0xD9:
        return -1, 0
    if c == 0xD9 and 0xA0 <= data[i + 1] <= 0xA9:
        return data[i + 1] - 0xA0, 2
    if c == 0xDB and 0xB0 <= data[i + 1] <= 0xB9:
        return data[i + 1] - 0xB0, 2
    third = data[i + 2] if c >= 0xE0 and data[i + 1] >= 0x80 else 0
    if c == 0xE0 and data[i + 1] in (0xA5, 0xA7) and 0xA6 <= third <= 0xAF:
        return third - 0xA6, 3
    thai = c == 0xE0 and data[i + 1] == 0xB9
    if 0x90 <= third <= 0x99 and (thai or (c == 0xEF and data[i + 1] == 0xBC)):
        return third - 0x90, 3
    if c == 0xE1 and data[i + 1] == 0x81 and 0x80 <= third <= 0x89:
        return third - 0x80, 3
    return -1, 0


@kernel
def _number(data: Bytes, i: int) -> tuple[int, int, int]:
    """Return a number of four digits at most: value, count of digits (0: none), end."""
    value, digits = 0, 0
    while True:
        d, width = _digit(data, i)
        if d < 0:
            return value, digits if digits <= 4 else 0, i
        value, digits, i = min(value * 10 + d, 99_999), digits + 1, i + width


@kernel
def _ends_word(data: Bytes, i: int) -> bool:
    """Return whether the byte at i cannot be in a word: line feeds, separators, brackets, dashes."""
    c = data[i]
    if c < 48:
        return c not in (9, 32, 34, 39, 46)  # spaces, quote signs, a full stop
    return (
        c in (58, 59, 91, 93)
        or (c == 0xD8 and data[i + 1] == 0x8C)
        or (c == 0xE2 and data[i + 1] == 0x80 and data[i + 2] in (0x93, 0x94))
    )


@kernel
def read_word(data: Bytes, i: int, keys: Keys, codes: Ints) -> tuple[int, int]:
    """Return the code of the word at i (NEUTRAL if there is none, UNKNOWN if it is not in the table), and its end."""
    i = skip(data, i)
    if 45 <= data[i] <= 58 and data[i] != 46:  # a dash, a slash, a digit, a colon
        return NEUTRAL, i
    h, n, start = np.uint64(BASIS), 0, i
    while i - start < MAX_WORD:
        c = np.uint64(data[i])
        if not (97 <= c <= 122 or 65 <= c <= 90):
            i = skip(data, i)
            if _ends_word(data, i) or _digit(data, i)[0] >= 0:
                break
            c = np.uint64(data[i])
        i += 1
        if c != 46:
            h = (h ^ (c | np.uint64(32) if 65 <= c <= 90 else c)) * np.uint64(MULTIPLIER)
            n += 1
    if n == 0:
        return NEUTRAL, i
    slot = np.int64(h % np.uint64(SLOTS))
    while keys[slot] != 0:
        if keys[slot] == h:
            return int(codes[slot]), i
        slot = (slot + 1) % SLOTS
    return UNKNOWN, i


@kernel
def _separator(data: Bytes, i: int) -> tuple[int, int]:
    """Return the separator of a date at i (0: none), and its end."""
    i = skip(data, i)
    c = data[i]
    code = DOT * (c == 46) + SLASH * (c == 47) + DASH * (c == 45) + COMMA * (c == 44)
    if code:
        return code, i + 1
    if c < 0xE5:
        return 0, i
    sign = np.int64(c) << 16 | np.int64(data[i + 1]) << 8 | np.int64(data[i + 2])
    code = (
        YEAR_SIGN * (sign in (0xE5B9B4, 0xEB8584))
        + MONTH_SIGN * (sign in (0xE69C88, 0xEC9B94))
        + DAY_SIGN * (sign in (0xE697A5, 0xEC9DBC))
    )
    return code, i + 3 * (code > 0)


@kernel
def _era(data: Bytes, i: int, keys: Keys, codes: Ints) -> tuple[int, int]:
    """Return the code of the era at i and its end; NEUTRAL and i if there is none."""
    code, end = read_word(data, i, keys, codes)
    return (code, end) if ERA <= code < FIRST_YEAR else (NEUTRAL, i)


@kernel
def read_date(data: Bytes, i: int, keys: Keys, codes: Ints) -> tuple[int, int, int, int, int, int, bool]:
    """Return the end of a date (-1: none), its numbers, its separator, where its year is, and if a dot ends it."""
    era = NEUTRAL
    if _digit(data, i)[0] < 0:
        era, i = read_word(data, i, keys, codes)
        if era < ERA:
            return -1, 0, 0, 0, 0, 0, False
    if era >= FIRST_YEAR:
        a, na, first = era - FIRST_YEAR, 4, YEAR_SIGN
    else:
        a, na, i = _number(data, i)
        first, i = _separator(data, i)
    b, nb, i = _number(data, skip(data, i))
    second, i = _separator(data, i)
    last, i = NEUTRAL, skip(data, i)
    if era == NEUTRAL and not 48 <= data[i] <= 57:
        last, i = _era(data, i, keys, codes)  # 3/5/R6
    c, nc, i = _number(data, skip(data, i))
    alike = first == second != 0 or (first == YEAR_SIGN and second == MONTH_SIGN)
    if na == 0 or nb == 0 or nb > 2 or nc == 0 or not alike:
        return -1, 0, 0, 0, 0, 0, False
    third, j = _separator(data, i)
    dotted = third == DOT and first == DOT
    if dotted or third == DAY_SIGN:
        i = j
    if era == NEUTRAL and last == NEUTRAL and na <= 2 and nc <= 2 and data[skip(data, i)] != 44:
        last, i = _era(data, i, keys, codes)  # 3/5/6 R
    if last != NEUTRAL:
        year_at = 2 if na <= 2 and nc <= 2 and first != YEAR_SIGN else -1
        c += last - ERA
    elif era >= ERA or na == 4 or first == YEAR_SIGN:
        year_at = 1 if nc <= 2 else -1
        a += era - ERA if ERA <= era < FIRST_YEAR else 0
    else:
        year_at = (2 if nc == 4 else 0) if na <= 2 and (nc in (2, 4) or (na == 2 and nc == 1)) else -1
        a += 2_000 * (nc == 1)  # 24. 5. 3. begins with the year
    return (i if year_at >= 0 else -1), a, b, c, min(first, YEAR_SIGN), year_at, dotted


@kernel
def read_time(data: Bytes, i: int) -> tuple[int, int, int, bool]:
    """Return the end of a time (-1: none), the hour, the seconds after it, and whether it has seconds."""
    hour, n, i = _number(data, i)
    i = skip(data, i) if data[i] != 58 else i
    mark = data[i]
    if n == 0 or n > 2 or mark not in (46, 58, 104):  # . : h
        return -1, 0, 0, False
    minute, n, i = _number(data, skip(data, i + 1))
    if n != 2 or minute > 59 or hour > 24:
        return -1, 0, 0, False
    if data[i] == mark:
        second, n, j = _number(data, i + 1)
        if n == 2 and second <= 59:
            return j, hour, minute * 60 + second, True
    return i, hour, minute * 60, False


@kernel
def read_hour(hour: int, half: int) -> int:
    """Return the hour, 0 to 23, or -1 if it is not valid; some phones write 00:04 AM, and 22:35 PM."""
    if half in (AM, PM, NOON, NIGHT) and hour <= 12:
        afternoon = half == PM or (half == NOON and hour not in (10, 11)) or (half == NIGHT and 5 < hour < 12)
        return hour % 12 + 12 * afternoon
    return hour if hour < 24 else -1
