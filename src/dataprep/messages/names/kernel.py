"""Find names in texts in one pass, by looking up the start of each word in a trie.

The trie is that of `trie.py`. Its characters are those of `matching.folded`; one space represents any gap between two
words of a name.

Slow reference for the tests: tests/twins/names.py
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from dataprep.unicode.kernel import kernel
from dataprep.unicode.text import I64, U8, U32, Int, code_point

from .trie import EMPTY, I32, SIEVE_BITS, step

SKIPPED, GAP, BREAK = 0, 0x20, 0xFFFFFFFF  # values as which characters that are not letters are compared
STRETCHED = 2  # "Ilseee": with this many more of the last letter it is the same word
MAX_PREFIXES = 2  # "ولإلسا": and, to
_FIRST_SIGN, _LAST_SIGN = 0x2000, 0x2070  # signs such as isolates are no accents: they may belong to what follows
MAX_GAP = 4  # characters between two words of one name
MIN_REPEATED = 4  # letters of a name that is found in "IlseIlse" and "Ilsex2"; "tomtom" is a word
_X = 0x78


@kernel
def _ends_word(data: U8, i: Int, stop: Int, fold: U32) -> bool:
    """Return whether no letter or digit follows at `i`."""
    while i < stop:
        c, size = code_point(data, i)
        kind = fold[c]
        if kind != SKIPPED:
            return bool(kind in (GAP, BREAK))
        i += size
    return True


@kernel
def _repeated(data: U8, start: Int, i: Int, stop: Int, fold: U32) -> Int:
    """Return the end of the word at `start` if it consists of repetitions of the name data[start:i]; else -1.

    An x may be between ("IlsexIlse"), and an x and a number may follow ("Ilsex2").
    """
    letters, p, q, x, number = 0, start, i, False, False
    while p < i:
        c, size = code_point(data, p)
        letters += fold[c] != SKIPPED
        p += size
    if letters < MIN_REPEATED:
        return np.int64(-1)
    p = start
    while q < stop:
        c, size = code_point(data, q)
        kind = fold[c]
        if kind in (GAP, BREAK):
            break
        q += size
        if kind == SKIPPED:
            continue
        own, width = code_point(data, p)
        while fold[own] == SKIPPED:
            p += width
            own, width = code_point(data, p)
        if (x or number) and 48 <= kind <= 57:
            x, number = False, True
        elif kind == fold[own] and not number:
            x, p = False, p + width
            while p < i and fold[code_point(data, p)[0]] == SKIPPED:
                p += code_point(data, p)[1]
            p = start if p == i else p
        elif kind == _X and p == start and not x and not number:
            x = True
        else:
            return np.int64(-1)
    return np.int64(q) if p == start and not x else np.int64(-1)


@kernel
def _match(data: U8, start: Int, stop: Int, fold: U32, keys: I64, children: I32, terms: I32) -> tuple[Int, Int]:
    """Return the end and the number of the longest term that begins at `start` and ends with a word; EMPTY if none."""
    node, i, last = np.int64(0), start, np.int64(0)
    end, found = start, np.int64(EMPTY)
    while i < stop:
        c, size = code_point(data, i)
        kind = np.int64(fold[c])
        if kind == SKIPPED:
            i += size
            continue
        if kind == BREAK:
            break
        if kind == GAP:
            n = 0
            while i < stop and n < MAX_GAP and (fold[c] == GAP or fold[c] == SKIPPED):
                n += fold[c] == GAP
                i += size
                if i < stop:
                    c, size = code_point(data, i)
            node = step(node, kind, keys, children)
            if node == EMPTY:
                break
            continue
        child = step(node, kind, keys, children)
        if child == EMPTY:
            n, term, tail = 0, np.int64(terms[node]), i
            while term != EMPTY and (kind == last or kind == SKIPPED) and i < stop:  # noqa: PLR1714, SIM109
                i += size
                n += kind == last
                tail = i if kind == last else tail
                if i < stop:
                    c, size = code_point(data, i)
                    kind = np.int64(fold[c])
            if n >= STRETCHED and _ends_word(data, i, stop, fold):
                end, found = tail, term
            break
        node, last = child, kind
        i += size
        if terms[node] != EMPTY:
            tail = i if _ends_word(data, i, stop, fold) else _repeated(data, start, i, stop, fold)
            end, found = (tail, np.int64(terms[node])) if tail >= 0 else (end, found)
    return end, found


@kernel(inline="always")
def _is_isolate(data: U8, i: Int, last: Int) -> bool:
    """Return whether the sign at `i` is U+2068 (last 0xA8) or U+2069 (0xA9), which WhatsApp writes around a mention."""
    return bool(data[i] == 0xE2 and data[i + 1] == 0x81 and data[i + 2] == last)


@kernel
def _widened(data: U8, low: Int, start: Int, end: Int, stop: Int, fold: U32) -> tuple[Int, Int, Int]:
    """Return the span of a name with its last letter's accents, the + of a number or the isolates of a mention.

    The third value is whether an @ precedes it.
    """
    while end < stop:
        c, size = code_point(data, end)
        if fold[c] != SKIPPED or _FIRST_SIGN <= c < _LAST_SIGN:
            break
        end += size
    if start > low and data[start - 1] == 43 and 48 <= data[start] <= 57:
        start -= 1
    i = start
    while i > low and (data[i - 1] == 126 or data[i - 1] == 32 or (data[i - 1] == 0xA0 and data[i - 2] == 0xC2)):
        i -= 2 if data[i - 1] == 0xA0 else 1
    if i >= low + 3 and end + 3 <= stop and _is_isolate(data, i - 3, 0xA8) and _is_isolate(data, end, 0xA9):
        start, end = i - 3, end + 3
    return start, end, np.int64(start > low and data[start - 1] == 64)


@kernel
def passes(a: Int, b: Int, c: Int, sieve: U8) -> bool:
    """Return whether a term's first word may begin with these letters, 0 after its end; the hash is `trie.hash3`."""
    h = a * np.uint64(0x9E3779) ^ b * np.uint64(0x85EBCB) ^ c * np.uint64(0xC2B2AF)
    return bool(sieve[h >> np.uint64(8) & np.uint64((1 << SIEVE_BITS) - 1)])


@kernel(inline="always")
def is_escape(data: U8, low: Int, i: Int) -> bool:
    """Return whether the letter at `i` is that of a typed line break: a backslash, n and "Ilse"."""
    return bool(i > low and data[i - 1] == 92 and data[i] in (110, 114, 116))


@kernel
def _last_bits(letters: U32) -> npt.NDArray[np.bool_]:
    """Return, for each value of the last six bits, whether any of the letters has it, bool[64]; a fast pre-check."""
    table = np.zeros(64, np.bool_)
    for x in letters:
        table[x & 63] = True
    return table


@kernel
def find_names(
    offsets: I64, data: U8, fold: U32, keys: I64, children: I32, terms: I32, sieve: U8, prefixes: U32
) -> I64:
    """Return every name in n texts, int64[m, 5]: text, first byte, end, number of the term, 1 if an @ precedes it.

    Names do not overlap; if two names begin at the same byte, the longer one counts.

    - offsets, data: the texts in UTF-8.
    - fold: uint32, the form in which each code point is compared (`matching.folded`).
    - keys, children, terms, sieve: a Trie.
    - prefixes: folded letters that may be joined to the beginning of a name and are kept, such as Arabic's "and".
    """
    capacity, m = len(offsets) + 1023, 0
    out = np.empty((capacity, 5), np.int64)
    zero, one, seen = np.uint64(0), np.uint64(1), np.uint64(MAX_PREFIXES + 3)
    ascii_fold = fold[:128].copy()
    may_precede = _last_bits(prefixes)
    letters, starts = np.zeros(np.int64(seen) + 1, np.uint64), np.zeros(np.int64(seen) + 1, np.uint64)
    for d in range(len(offsets) - 1):
        i, stop, n = np.uint64(offsets[d]), np.uint64(offsets[d + 1]), zero
        while i <= stop:
            size: Any = one
            kind: Any = np.uint32(BREAK)
            if i < stop:
                if data[i] < 0x80:
                    kind = ascii_fold[data[i]]
                else:
                    point, width = code_point(data, np.int64(i))
                    kind, size = fold[point], np.uint64(width)
            if kind > GAP and kind != BREAK:
                letters[n], starts[n] = kind, i
                n += np.uint64(n < seen)
            elif kind != SKIPPED and n > zero:  # the word has ended: a name may begin with it, or after a prefix
                for j in range(np.int64(n), np.int64(seen)):
                    letters[j] = zero
                term, end = np.int64(EMPTY), np.int64(i)
                k = zero
                while True:
                    if passes(letters[k], letters[k + one], letters[k + one + one], sieve):
                        end, term = _match(data, np.int64(starts[k]), np.int64(stop), fold, keys, children, terms)
                    if term != EMPTY or k == np.uint64(MAX_PREFIXES) or k + one == n:
                        break
                    is_prefix = k == zero and is_escape(data, offsets[d], np.int64(starts[0]))
                    if may_precede[np.int64(letters[k]) & 63]:
                        for x in prefixes:
                            is_prefix |= letters[k] == x
                    if not is_prefix:
                        break
                    k += one
                n = zero
                if term != EMPTY:
                    if m == capacity:
                        more = np.empty((2 * capacity, 5), np.int64)
                        more[:m] = out
                        out, capacity = more, 2 * capacity
                    start, end, mentioned = _widened(data, offsets[d], np.int64(starts[k]), end, offsets[d + 1], fold)
                    out[m, 0], out[m, 1], out[m, 2], out[m, 3], out[m, 4] = d, start, end, term, mentioned
                    m += 1
                    i = max(i, np.uint64(end))  # a name of several words
                    continue
            i += size
    return out[:m]
