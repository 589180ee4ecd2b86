"""Sum, per text and language, the points of the words: whole words, and their beginnings, ends and middle parts.

Slow reference for the tests: tests/twins/message_language.py
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dataprep.unicode.hashes import mix64
from dataprep.unicode.kernel import kernel
from dataprep.unicode.text import ALPHA, DECIMAL, I64, MARK, U8, U16, U32, U64, Int, code_point

from .words import LABELS, features

MAX_LETTERS = 32  # of a word that are read
BEGIN, END = 1, 2  # flags: the part begins, ends the word
LATIN, ARABIC, OTHER = 0, 1, 2
REMEMBERED = 1 << 14  # words whose sums are cached
CAP = 8  # most points of an unknown word for a label
POINT = (1 << 21) - 1

Weights = npt.NDArray[np.int32]


class PointTable(NamedTuple):
    """The points of words and parts of words for each language, in a hash table with open addressing.

    Attributes:
        keys: uint64[slots], hashes of words, 0 if the slot is empty.
        weights: int32[slots, labels], their points per language.
    """

    keys: U64
    weights: Weights


@cache
def build() -> PointTable:
    """Return the table of points of all words and parts of words in `words.py`."""
    found: dict[int, list[int]] = {}
    for part, label, weight in features():
        inside = part.removeprefix("^").removesuffix("$")
        flags = BEGIN * part.startswith("^") + END * part.endswith("$")
        key = int(hash_of(np.array([ord(c) for c in inside], np.uint32), 0, len(inside), flags))
        row = found.setdefault(key, [0] * len(LABELS))
        row[LABELS.index(label)] = max(row[LABELS.index(label)], weight)
    slots = 1 << (4 * len(found)).bit_length()
    keys, weights = np.zeros(slots, np.uint64), np.zeros((slots, len(LABELS)), np.int32)
    for key, row in found.items():
        slot = key & slots - 1
        while keys[slot]:
            slot = slot + 1 & slots - 1
        keys[slot], weights[slot] = key, row
    return PointTable(keys, weights)


@kernel
def hash_of(letters: U32, start: Int, stop: Int, flags: Int) -> Int:
    """Return the hash of letters[start:stop] as a part of a word.

    - flags: BEGIN, END, both (a whole word) or 0.
    """
    h = np.uint64(flags + 1)
    for i in range(start, stop):
        h = h * np.uint64(0x9E3779B97F4A7C15) + np.uint64(letters[i])
    return mix64(h)


@kernel
def _add(letters: U32, start: Int, stop: Int, flags: Int, keys: U64, weights: Weights, into: Weights) -> bool:
    """Add the weights of a part to `into`; return whether the table has it."""
    h = hash_of(letters, start, stop, flags)
    mask = np.uint64(len(keys) - 1)
    slot = h & mask
    while keys[slot] != np.uint64(0):
        if keys[slot] == h:
            for k in range(len(into)):
                into[k] += weights[np.int64(slot), k]
            return True
        slot = (slot + np.uint64(1)) & mask
    return False


@kernel
def _word(letters: U32, n: Int, keys: U64, weights: Weights, known: U64, rows: Weights) -> Int:
    """Return the row of `rows` with a word's points: of the listed word, else of its parts; results are cached."""
    h = hash_of(letters, 0, n, BEGIN + END)
    slot = np.int64(h & np.uint64(len(known) - 1))
    if known[slot] == h:
        return slot
    known[slot], mine = h, rows[slot]
    for k in range(len(mine)):
        mine[k] = 0
    if _add(letters, 0, n, BEGIN + END, keys, weights, mine):
        return slot
    for size in range(1, 5):
        if size < n and size > 1:
            _add(letters, 0, size, BEGIN, keys, weights, mine)
        if size < n:
            _add(letters, n - size, n, END, keys, weights, mine)
        if size < 5:
            for i in range(n - size + 1):
                _add(letters, i, i + size, 0, keys, weights, mine)
    for k in range(len(mine)):
        mine[k] = min(mine[k], CAP)
    return slot


@kernel
def score(offsets: I64, data: U8, low: U32, table: U16, keys: U64, weights: Weights, n_labels: int) -> Any:
    """Return the score of each text for each language, int32[n, n_labels], and its number of letters in each script.

    The numbers of letters are int32[n, 3]; the scripts are Latin, Arabic and others.

    - offsets: text k is data[offsets[k]:offsets[k + 1]].
    - data: the n texts, UTF-8 bytes.
    - low: uint32, the lower case of each code point (`lowered()`).
    - table: uint16, its class.
    - keys, weights: a PointTable. A word is a run of letters, marks and digits; an apostrophe ends it and belongs to it
      ("l'eau" is "l'" and "eau"). Words after @, # or a slash, as in links, have no points.
    """
    n = len(offsets) - 1
    scores, letters = np.zeros((n, n_labels), np.int32), np.zeros((n, 3), np.int32)
    word = np.zeros(MAX_LETTERS, np.uint32)
    known, rows = np.zeros(REMEMBERED, np.uint64), np.zeros((REMEMBERED, n_labels), np.int32)
    for d in range(n):
        i, stop, size, mute, alpha = offsets[d], offsets[d + 1], 0, False, 0
        while i <= stop:
            c, width = (np.int64(32), np.int64(1)) if i == stop else code_point(data, i)
            if c < 128:
                width = np.int64(1)
            bits = table[c]
            if bits & (ALPHA | MARK | DECIMAL) and c != 0x640:
                lower = low[c] & POINT
                if 0x660 <= lower <= 0x669:
                    lower = lower - 0x660 + 48
                if size < MAX_LETTERS:
                    word[size] = lower
                    size += 1
                if bits & ALPHA and not mute:
                    alpha += 1
                    script = OTHER
                    if c < 0x250 or 0x1E00 <= c < 0x1F00:
                        script = LATIN
                    elif 0x600 <= c < 0x780 or 0x8A0 <= c < 0x900 or 0xFB50 <= c < 0xFE00 or 0xFE70 <= c < 0xFF00:
                        script = ARABIC
                    letters[d, script] += 1
            elif c == 0x640:
                pass
            else:
                if size > 0:
                    if c in (39, 0x2019) and size < MAX_LETTERS:
                        word[size] = np.uint32(39)
                        size += 1
                    if alpha > 0 and not mute:
                        row = _word(word, size, keys, weights, known, rows)
                        for k in range(n_labels):
                            scores[d, k] += rows[row, k]
                    size, alpha = 0, 0
                if c in (32, 10, 9, 0xA0):
                    mute = False
                elif c in (64, 35, 47):  # what follows @, # or a slash is a name
                    mute = True
            i += width
    return scores, letters
