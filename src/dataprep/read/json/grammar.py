"""JSON's grammar as kernels: the ends of strings, numbers and other values, and unescaped strings (RFC 8259).

Strings make up nearly all of the input. Their ends and escapes are found 64 bytes at a time, and the bytes between
these are copied 64 at a time, at 5.7 GB/s together. Every loop ends at a newline, which no valid string contains
unescaped. A block of lines ends with a newline, followed by PADDING bytes, which are read and, in the copies, written.

Slow reference for the tests: tests/twins/json_lines.py
"""

from __future__ import annotations

import numpy as np

from dataprep.unicode.byte_masks import WIDTH, bytes_between, bytes_equal, copy_bytes, lowest_bit
from dataprep.unicode.kernel import kernel
from dataprep.unicode.text import U8, Int, put

ONE, STEP = np.uint64(1), np.uint64(WIDTH)
ESCAPED = np.zeros(256, np.uint8)  # the byte that a backslash and this one stand for; 0: none, or \u
ESCAPED[list(b'"\\/bfnrt')] = list(b'"\\/\b\f\n\r\t')


@kernel(inline="always")
def specials(data: U8, i: Int) -> Int:
    """Return the mask of quotes, backslashes and control bytes among data[i:i + 64], as `bytes_between` does."""
    return bytes_equal(data, i, 0x22) | bytes_equal(data, i, 0x5C) | bytes_between(data, i, np.uint8(0), np.uint8(0x1F))


@kernel
def next_special(data: U8, i: int) -> Int:
    """Return the first position >= i of a quote, a backslash or a control byte."""
    at = np.uint64(i)
    found = specials(data, at)
    while not found:
        at += STEP
        found = specials(data, at)
    return np.int64(at + lowest_bit(found))


@kernel
def skip_space(data: U8, i: int) -> int:
    """Return the first position >= i that is not a space, tab or carriage return."""
    while data[i] == 32 or data[i] == 9 or data[i] == 13:
        i += 1
    return i


@kernel
def hex4(data: U8, i: int) -> int:
    """Return the value of the four hexadecimal digits data[i:i + 4]; -1 if one is not a hexadecimal digit."""
    value = 0
    for k in range(i, i + 4):
        c = data[k]
        if 48 <= c <= 57:
            value = value * 16 + c - 48
        elif 97 <= (c | 32) <= 102:
            value = value * 16 + (c | 32) - 87
        else:
            return -1
    return value


@kernel
def string_end(data: U8, i: int) -> int:
    """Return the index after the closing quote of a JSON string; -1 if the string is not valid.

    - i: the index of the first byte after its opening quote.
    """
    while True:
        i = next_special(data, i)
        c = data[i]
        if c == 34:
            return i + 1
        if c != 92:
            return -1
        c = data[i + 1]
        if c == 117:  # \u
            if hex4(data, i + 2) < 0:
                return -1
            i += 6
        elif c in (34, 92, 47, 98, 102, 110, 114, 116):
            i += 2
        else:
            return -1


@kernel
def copy(data: U8, i: int, j: int, out: U8, o: int) -> int:
    """Copy data[i:j] to out[o:], 64 bytes at a time; return the index in `out` after the copy.

    Up to 63 more bytes of `out` are overwritten.
    """
    at, to, end = np.uint64(i), np.uint64(o), np.uint64(o + j - i)
    while to < end:
        copy_bytes(data, at, out, to)
        at, to = at + STEP, to + STEP
    return o + j - i


@kernel
def put_code(data: U8, i: Int, out: U8, o: Int) -> tuple[Int, Int, bool]:
    r"""Write the character of an escape \uXXXX, or of two that are a surrogate pair, to `out` from the index `o` on.

    - i: index of the first hexadecimal digit.

    Returns (index in `data` after the escape, -1 if a digit is missing; index in `out` after the character; whether it
    is a lone surrogate, of which nothing is written).
    """
    code = hex4(data, i)
    if code < 0:
        return -1, o, False
    i += 4
    if 0xD800 <= code <= 0xDBFF and data[i] == 92 and data[i + 1] == 117:
        low = hex4(data, i + 2)
        if 0xDC00 <= low <= 0xDFFF:
            code = 0x10000 + ((code - 0xD800) << 10) + low - 0xDC00
            i += 6
    if 0xD800 <= code <= 0xDFFF:
        return i, o, True
    return i, put(out, o, code), False


@kernel
def copy_string(data: U8, i: int, out: U8, o: int) -> tuple[Int, Int]:
    """Unescape a JSON string into `out`, from the index `o` on; up to 63 bytes after it are overwritten.

    - i: index of the first byte after its opening quote.

    Returns (index in `data` after the closing quote, index in `out` after the text). If it is not a JSON string, the
    result is (-1, o). If it has an escaped lone surrogate, which is allowed in JSON but not in UTF-8, the second
    element is -1.
    """
    lone, at, to = False, np.uint64(i), np.uint64(o)
    base = at  # of the mask `found`, whose bits before `at` are cleared
    found = specials(data, base)
    while True:
        while not found:
            copy_bytes(data, at, out, to)
            base += STEP
            at, to = base, to + (base - at)
            found = specials(data, base)
        copy_bytes(data, at, out, to)
        special = base + lowest_bit(found)
        at, to = special, to + (special - at)
        if data[at] == 34:
            return np.int64(at) + 1, -1 if lone else np.int64(to)
        if data[at] != 92:
            return -1, np.int64(to)
        kind = data[at + ONE]
        if ESCAPED[kind]:
            out[to] = ESCAPED[kind]
            at, to = at + np.uint64(2), to + ONE
        elif kind == 117:
            after, end, is_lone = put_code(data, np.int64(at) + 2, out, np.int64(to))
            if after < 0:
                return -1, np.int64(to)
            at, to, lone = np.uint64(after), np.uint64(end), lone | is_lone
        else:
            return -1, np.int64(to)
        if at - base < STEP:
            found &= ~np.uint64(0) << (at - base)
        else:
            base, found = at, specials(data, at)


@kernel
def digits_end(data: U8, i: int) -> int:
    """Return the first position >= i that is not a digit."""
    while 48 <= data[i] <= 57:
        i += 1
    return i


@kernel
def number_end(data: U8, i: int) -> int:
    """Return the index after the number that begins at data[i], or -1 if there is no valid number."""
    if data[i] == 45:
        i += 1
    j = digits_end(data, i)
    if j == i or (data[i] == 48 and j > i + 1):
        return -1
    i = j
    if data[i] == 46:
        j = digits_end(data, i + 1)
        if j == i + 1:
            return -1
        i = j
    if data[i] | 32 == 101:
        i += 1
        if data[i] == 43 or data[i] == 45:
            i += 1
        j = digits_end(data, i)
        if j == i:
            return -1
        i = j
    return i


@kernel
def scalar_end(data: U8, i: int) -> int:
    """Return the index after the string, number, true, false or null that begins at data[i], or -1 if there is none."""
    c = data[i]
    if c == 34:
        return string_end(data, i + 1)
    if c == 45 or 48 <= c <= 57:
        return number_end(data, i)
    if c == 116 and data[i + 1] == 114 and data[i + 2] == 117 and data[i + 3] == 101:
        return i + 4
    if c == 110 and data[i + 1] == 117 and data[i + 2] == 108 and data[i + 3] == 108:
        return i + 4
    if c == 102 and data[i + 1] == 97 and data[i + 2] == 108 and data[i + 3] == 115 and data[i + 4] == 101:
        return i + 5
    return -1


@kernel
def key_end(data: U8, i: int) -> int:
    """Return the index after the colon of an object's key, `"key" :`, that begins at data[i]; -1 if none does."""
    if data[i] != 34:
        return -1
    i = string_end(data, i + 1)
    if i < 0:
        return -1
    i = skip_space(data, i)
    return i + 1 if data[i] == 58 else -1


@kernel
def value_end(data: U8, i: int, stack: U8) -> int:
    """Return the index after the JSON value of any type that begins at data[i], or -1 if it is not valid.

    - stack: uint8, scratch for the open brackets; its length limits the depth.
    """
    depth = 0
    while True:
        i = skip_space(data, i)
        c = data[i]
        if c in (123, 91):  # { [
            if depth == len(stack):
                return -1
            stack[depth] = c + 2  # the bracket that closes it: } is { + 2, ] is [ + 2
            depth += 1
            i = skip_space(data, i + 1)
            if data[i] != c + 2:  # not empty
                if c == 123:
                    i = key_end(data, i)
                    if i < 0:
                        return -1
                continue
        else:
            i = scalar_end(data, i)
            if i < 0:
                return -1
        while True:  # a value has ended, or a bracket is about to close
            if depth == 0:
                return i
            i = skip_space(data, i)
            if data[i] == 44:
                i += 1
                if stack[depth - 1] == 125:
                    i = key_end(data, skip_space(data, i))
                    if i < 0:
                        return -1
                break
            if data[i] != stack[depth - 1]:
                return -1
            i += 1
            depth -= 1
