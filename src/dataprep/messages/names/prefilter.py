"""Kernels that select the texts and signs for a slow search: names next to digits, names in handles, known numbers.

Texts that are not selected have no name and no known number; selected texts may have none, too.

Slow reference for the tests: tests/twins/names.py
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dataprep.unicode.kernel import kernel
from dataprep.unicode.text import I64, U8, U32, Int, code_point

from .kernel import BREAK, GAP, MAX_PREFIXES, SKIPPED, is_escape, passes
from .trie import EMPTY, I32, step

Bools = npt.NDArray[np.bool_]
LETTER, DIGIT, UNSEEN = 1, 2, 4  # kinds of characters
MIN_INSIDE = 4  # letters of a name that is found inside of a longer word; a shorter one only at an end of it
NO_DIGIT = 10


@kernel
def _may_have_digits(data: U8, start: Int, stop: Int, least: int) -> bool:
    """Return whether bytes have `least` ASCII digits, or a character outside ASCII; a loop that is compiled to SIMD."""
    found, n = np.uint8(0), np.int64(0)
    for i in range(start, stop):
        n += np.int64(np.uint8(data[i] - np.uint8(48)) < np.uint8(10))
        found |= data[i]
    return bool(n >= least or found >= 0x80)


@kernel
def _word_begins(data: U8, low: Int, i: Int, stop: Int, kinds: U8, fold: U32, sieve: U8, prefixes: U32) -> bool:
    """Return whether a word of a term may begin at `i`, after prefixes, or after the letter of a typed line break.

    All letters of a word have the same kind (`kinds`) as the letter at `i`.
    """
    kind = kinds[code_point(data, i)[0]]
    letters, n, j = np.zeros(MAX_PREFIXES + 3, np.uint32), 0, i
    while j < stop and n < len(letters):
        c, size = code_point(data, j)
        if kinds[c] == kind:
            letters[n] = fold[c]
            n += 1
        elif kinds[c] != UNSEEN:
            break
        j += size
    escaped = is_escape(data, low, i)
    for k in range(min(n, MAX_PREFIXES + 1)):
        if passes(np.uint64(letters[k]), np.uint64(letters[k + 1]), np.uint64(letters[k + 2]), sieve):
            return True
        is_prefix = escaped and k == 0
        for x in prefixes:
            is_prefix |= letters[k] == x
        if not is_prefix:
            return False
    return False


@kernel
def _next_letter(data: U8, i: Int, stop: Int, kinds: U8) -> Int:
    """Return the offset of the first visible character from `i` on; -1 if it is not a letter."""
    while i < stop:
        c, size = code_point(data, i)
        if kinds[c] != UNSEEN:
            return i if kinds[c] == LETTER else -1
        i += size
    return -1


@kernel
def _first_letter(data: U8, low: Int, i: Int, kinds: U8) -> Int:
    """Return the offset of the word that ends before `i`; -1 if no letter precedes `i`."""
    first = -1
    while i > low:
        i -= 1
        while data[i] & 0xC0 == 0x80:
            i -= 1
        c, _ = code_point(data, i)
        if kinds[c] == LETTER:
            first = i
        elif kinds[c] != UNSEEN:
            break
    return first


@kernel
def near_digits(offsets: I64, data: U8, kinds: U8, fold: U32, sieve: U8, prefixes: U32) -> Bools:
    """Return whether each of n texts may have a word of a term next to a digit, bool[n].

    Args:
        offsets: text k is data[offsets[k]:offsets[k + 1]].
        data: the texts, UTF-8 bytes.
        kinds: LETTER, DIGIT, UNSEEN (not seen) or 0 for each code point.
        fold: as in `find_names`.
        prefixes: as in `find_names`.
        sieve: as in a Trie, of all words of the terms.
    """
    out = np.zeros(len(offsets) - 1, np.bool_)
    for d in range(len(out)):
        low, i, stop, last = offsets[d], offsets[d], offsets[d + 1], False
        if not _may_have_digits(data, i, stop, 1):
            continue
        while i < stop and not out[d]:
            if data[i] < 0x80:
                size, is_digit = 1, 48 <= data[i] <= 57
            else:
                c, size = code_point(data, i)
                is_digit = kinds[c] == DIGIT
            if is_digit:
                before = -1 if last else _first_letter(data, low, i, kinds)
                for at in (before, _next_letter(data, i + size, stop, kinds)):
                    if at >= 0 and _word_begins(data, low, at, stop, kinds, fold, sieve, prefixes):
                        out[d] = True
            i, last = i + size, is_digit
    return out


@kernel
def _may_mix(data: U8, start: Int, stop: Int) -> bool:
    """Return whether bytes may have letters of two scripts; a loop that is compiled to SIMD.

    The first bytes of letters are: for Latin ones, ASCII, 0xC3 to 0xC9 or, if full-width, 0xEF; for other alphabets,
    0xCE to 0xDF; for Indic scripts, Thai and others, 0xE0 and 0xE1; for East Asian scripts, 0xE3 to 0xEE; for signs,
    0xE2.
    """
    latin, two, indic, east = np.uint8(0), np.uint8(0), np.uint8(0), np.uint8(0)
    for i in range(start, stop):
        b = data[i]
        latin |= np.uint8((np.uint8((b | np.uint8(32)) - np.uint8(97)) < np.uint8(26)) | (b == np.uint8(0xEF)))
        latin |= np.uint8(np.uint8(b - np.uint8(0xC3)) < np.uint8(7))
        two |= np.uint8(np.uint8(b - np.uint8(0xCE)) < np.uint8(18))
        indic |= np.uint8(np.uint8(b - np.uint8(0xE0)) < np.uint8(2))
        east |= np.uint8(np.uint8(b - np.uint8(0xE3)) < np.uint8(12))
    return bool(latin + two + indic + east > 1)


@kernel
def changes_script(offsets: I64, data: U8, scripts: U8, fold: U32, sieve: U8, prefixes: U32) -> Bools:
    """Return whether each of n texts may have a word of a term next to a letter of another script, bool[n].

    - offsets: text k is data[offsets[k]:offsets[k + 1]].
    - data: the texts, UTF-8 bytes.
    - scripts: for each code point a number of its script, 0 for no letter, or UNSEEN. The others are those of
      `near_digits`.
    """
    out = np.zeros(len(offsets) - 1, np.bool_)
    for d in range(len(out)):
        low, stop, first, last = offsets[d], offsets[d + 1], offsets[d], np.uint8(0)
        i = low
        if not _may_mix(data, low, stop):
            continue
        while i < stop and not out[d]:
            c, size = code_point(data, i)
            script = scripts[c]
            if script == UNSEEN:
                i += size
                continue
            if script != last:
                if script != 0 and last != 0:
                    for at in (first, i):
                        if _word_begins(data, low, at, stop, scripts, fold, sieve, prefixes):
                            out[d] = True
                first, last = i, np.uint8(script)
            i += size
    return out


@kernel
def with_ends(offsets: I64, data: U8, values: U8, ends: Bools) -> Bools:
    """Return whether each of n texts has the last digits of a known number, uninterrupted by ASCII letters, bool[n].

    Args:
        offsets: text k is data[offsets[k]:offsets[k + 1]].
        data: the texts, UTF-8 bytes.
        values: the digit that each code point is, or NO_DIGIT.
        ends: bool, whether a number ends with these digits; its length is a power of ten.
    """
    out, n_ends = np.zeros(len(offsets) - 1, np.bool_), round(np.log10(len(ends)))
    for d in range(len(out)):
        i, stop, n, last = offsets[d], offsets[d + 1], 0, 0
        if not _may_have_digits(data, i, stop, n_ends):
            continue
        while i < stop and not out[d]:
            b, size = data[i], 1
            if b < 0x80:
                value = b - 48 if 48 <= b <= 57 else NO_DIGIT
                n = 0 if 65 <= b & 0xDF <= 90 else n
            else:
                c, size = code_point(data, i)
                value = np.int64(values[c])
            if value < NO_DIGIT:
                last, n = (last * 10 + value) % len(ends), n + 1
                out[d] = n >= n_ends and ends[last]
            i += size
    return out


@kernel
def with_pairs(offsets: I64, data: U8, fold: U32, pairs: Bools) -> Bools:
    """Return whether each of n texts may have the first two letters of a term next to each other, bool[n].

    Args:
        offsets: text k is data[offsets[k]:offsets[k + 1]].
        data: the texts, UTF-8 bytes.
        fold: as in `find_names`.
        pairs: bool[65536], by `unspaced.pair_slot`.
    """
    out = np.zeros(len(offsets) - 1, np.bool_)
    for d in range(len(out)):
        i, stop, before = offsets[d], offsets[d + 1], np.int64(0)
        while i < stop and not out[d]:
            if data[i] < 0x80:
                before = np.int64(0) if fold[data[i]] != SKIPPED else before
                i += 1
                continue
            c, size = code_point(data, i)
            kind = np.int64(fold[c])
            if kind != SKIPPED:
                out[d] = pairs[(before * 0x9E3779B1 ^ kind * 0x85EBCB) >> 8 & 0xFFFF]
                before = kind
            i += size
    return out


@kernel
def with_terms(
    data: U8, signs: I64, starts: I64, stops: I64, fold: U32, keys: I64, children: I32, ends: Bools
) -> Bools:
    """Return, for each of n signs (such as an @), whether a term may be next to it, also inside a word, bool[n].

    For sign d, the bytes around it are searched up to the next space on each side, but not before starts[d] or after
    stops[d]. A term of less than MIN_INSIDE letters is searched for only at an end of a word, or at a capital.

    Args:
        data: UTF-8.
        signs: int64[n].
        starts: int64[n].
        stops: int64[n].
        fold: as in `find_names`.
        keys: as in `find_names`.
        children: as in `find_names`.
        ends: for each node, whether a term that is searched ends there.
    """
    out = np.zeros(len(signs), np.bool_)
    for d in range(len(signs)):
        i, stop, before = max(signs[d], starts[d]), signs[d] + 1, False
        while i > starts[d] and data[i - 1] > 0x20:
            i -= 1
        while stop < stops[d] and data[stop] > 0x20:
            stop += 1
        while i < stop and not out[d]:
            if data[i] & 0xC0 == 0x80:  # inside a character
                i += 1
                continue
            edge = not before or not 97 <= data[i] <= 122
            node, j, n = np.int64(0), i, 0
            while j < stop:
                c, size = code_point(data, j)
                kind = np.int64(fold[c])
                if c < 0x80 and kind in (GAP, BREAK):
                    break  # the word ends
                j += size
                if kind in (SKIPPED, GAP, BREAK):
                    continue
                node, n = step(node, kind, keys, children), n + 1
                if node == EMPTY:
                    break
                if ends[node] and (n >= MIN_INSIDE or edge or _ends(data, j, stop)):
                    out[d] = True
                    break
            before = 97 <= data[i] <= 122 or 65 <= data[i] <= 90
            i += 1
    return out


@kernel(inline="always")
def _ends(data: U8, i: Int, stop: Int) -> bool:
    """Return whether a word may end before `i`: no letter of ASCII follows."""
    return bool(i >= stop or not (97 <= data[i] <= 122 or 65 <= data[i] <= 90))
