"""Canonical forms of texts: NFC, NFC without marks such as accents and Arabic vowel signs, or with plain letters.

Most texts are in NFC already; one pass over blocks of 64 bytes detects this, and such texts are copied. The tables are
from one Unicode version, so the result is the same on every Python version.

Slow reference for the tests: tests/twins/canonical.py
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from . import tables
from . import text as T
from .assigned import normalized
from .byte_masks import WIDTH, bytes_between, lowest_bit
from .kernel import kernel, read_only
from .text import I64, U8, U32, U64, Int

HANGUL, LEAD, VOWEL, TAIL = 0xAC00, 0x1100, 0x1161, 0x11A7
SYLLABLES, TAILS, PER_LEAD = 11_172, 28, 588
TATWEEL = 0x640
# Marks of scripts whose words are the same words without them: Latin, Greek, Cyrillic, Hebrew, Arabic and Syriac.
ACCENTS = (
    "300-36f 483-487 591-5bd 5bf 5c1-5c2 5c4-5c5 5c7 610-61a 64b-65f 670 6d6-6dc 6df-6e4 6e7-6e8 6ea-6ed 711 730-74a "
    "898-89f 8ca-8e1 8e3-8ff 1ab0-1ace 1dc0-1dff 20d0-20f0 fe20-fe2f"
)
DROPS = ("", "diacritics", "marks")  # no marks; ACCENTS and the tatweel; all non-spacing marks, as FineWeb does
FORMS = "forms"  # no marks, and plain letters for the forms of letters below
# Ligatures of Latin and Armenian letters, Arabic letters by their place in a word, full-width letters and digits, and
# those of mathematics. Spaces with a vowel sign (U+FE70, U+FC5E ...) are not among them.
SHAPES = (
    "fb00-fb06 fb13-fb17 fb20-fb28 fb4f-fbb1 fbd3-fc5d fc64-fd3d fd50-fd8f fd92-fdc7 fdf0-fdfb "
    "fe71 fe77 fe79 fe7b fe7d fe7f-fefc ff10-ff19 ff21-ff3a ff41-ff5a 1d400-1d7ff"
)
UNSAFE, PLAIN = 255, 5
WIDEST = 18  # code points of U+FDFA, a sentence


class Canonical(NamedTuple):
    """The tables of canonical forms; `rank`, `order`, `row` and `dropped` have one item per code point.

    Attributes:
        plain: uint8[PLAIN, 2], ranges (both ends included) of first bytes of UTF-8 for whose characters `rank` is 0.
        rank: UNSAFE if a text with this code point may have to be changed, else its canonical combining class.
        order: canonical combining class.
        row: index in `whole`; 0 if there is no decomposition.
        whole: uint32[rows, points], the code points of each decomposition, followed by zeros.
        pairs: sorted pairs (first << 21 | second) of code points.
        composed: the code point to which each pair is composed.
        dropped: 1 if the code point is removed.
    """

    plain: U8
    rank: U8
    order: U8
    row: U32
    whole: U32
    pairs: U64
    composed: U32
    dropped: U8


@cache
def canonical_tables(drop: str = "") -> Canonical:
    """Return the tables for NFC without the marks that `drop` names, which must be one of DROPS."""
    unsafe, order, dropped = (np.zeros(0x110000, np.uint8) for _ in range(3))
    row, pairs = np.zeros(0x110000, np.uint32), {}
    for name, points in tables.tokens(tables.ORDER):
        order[points] = int(name)
    found = {point: parts for points, parts in tables.decomposed() for point in points}
    excluded = set(tables.points(tables.CLASSES["NOT_NFC"]))
    if drop == FORMS:
        plain = {c: [*map(ord, normalized("NFD", normalized("NFKC", chr(c))))] for c in tables.points(SHAPES)}
        shapes = {c: parts for c, parts in plain.items() if parts != [c]}
        excluded |= shapes.keys()
        found |= shapes
    width = max(map(len, found.values()))
    whole = [[0] * width]
    back = {tuple(parts): point for point, parts in found.items() if point not in excluded}
    for point, parts in found.items():
        row[point] = len(whole)
        whole.append([*parts, *[0] * (width - len(parts))])
        if point not in excluded:
            first = parts[0] if len(parts) == 2 else back[tuple(parts[:-1])]
            pairs[first << 21 | parts[-1]] = point
            unsafe[parts[-1]] = 1
    unsafe[list(excluded)] = 1
    unsafe[VOWEL : VOWEL + 21] = unsafe[TAIL + 1 : TAIL + TAILS] = 1
    if drop not in ("", FORMS):
        dropped[tables.points(ACCENTS if drop == "diacritics" else tables.CLASSES["NONSPACING"])] = 1
        dropped[TATWEEL] = drop == "diacritics"
        unsafe[dropped == 1] = 1
        unsafe[[point for point, parts in found.items() if dropped[parts].any()]] = 1
    keys = np.array(sorted(pairs), np.uint64)
    composed = np.array([pairs[int(k)] for k in keys], np.uint32)
    rank = np.where(unsafe, np.uint8(UNSAFE), order)
    made = Canonical(_plain(rank), rank, order, row, np.array(whole, np.uint32), keys, composed, dropped)
    for table in made:
        table.flags.writeable = False
    return made


def _plain(rank: U8) -> U8:
    """Return the longest ranges of first bytes of UTF-8 for whose characters `rank` is 0, uint8[PLAIN, 2]."""
    leads = {chr(c).encode("utf-8", "surrogatepass")[0] for c in np.flatnonzero(rank)}
    ranges: list[list[int]] = []
    for b in sorted(set(range(0xC2, 0xF5)) - leads):
        if ranges and ranges[-1][1] == b - 1:
            ranges[-1][1] = b
        else:
            ranges.append([b, b])
    ranges.sort(key=lambda ends: ends[0] - ends[1])
    return np.array((ranges + [[0xFF, 0xFF]] * PLAIN)[:PLAIN], np.uint8)


@kernel(_nrt=False)
def is_canonical(data: U8, i: int, stop: int, given: Canonical) -> bool:
    """Return True if the text data[i:stop] is certainly in the canonical form, False if that is not certain."""
    last: Int = 0
    end: Int = -1  # `last` is the class of the mark that ends here
    while i < stop:
        first, size = np.uint64(0), min(WIDTH, stop - i)
        if size < WIDTH:
            for k in range(size):
                first |= np.uint64(data[i + k] >= 0xC2) << np.uint64(k)
        else:
            first = bytes_between(data, np.uint64(i), np.uint8(0xC2), np.uint8(0xFF))
            if first:
                for k in range(PLAIN):
                    first &= ~bytes_between(data, np.uint64(i), given.plain[k, 0], given.plain[k, 1])
        while first:
            at = i + np.int64(lowest_bit(first))
            first &= first - np.uint64(1)
            c, n = T.code_point(data, at)
            rank = np.int64(given.rank[c])
            if rank:
                if rank == UNSAFE or (at == end and rank < last):
                    return False
                last, end = rank, at + n
        i += size
    return True


@kernel(_nrt=False)
def _decompose(data: U8, i: int, stop: int, given: Canonical, out: U32) -> int:
    """Write the decomposition of data[i:stop] without dropped marks, in canonical order; return its length."""
    n = 0
    while i < stop:
        c, size = T.code_point(data, i)
        i += size
        first = n
        if HANGUL <= c < HANGUL + SYLLABLES:
            s = c - HANGUL
            out[n], out[n + 1], out[n + 2] = LEAD + s // PER_LEAD, VOWEL + s % PER_LEAD // TAILS, TAIL + s % TAILS
            n += 3 if s % TAILS else 2
        elif given.row[c] == 0:
            out[n] = c
            n += 1
        else:
            for j in range(given.whole.shape[1]):
                if given.whole[given.row[c], j]:
                    out[n] = given.whole[given.row[c], j]
                    n += 1
        end = n
        n = first
        for j in range(first, end):
            point = out[j]
            if given.dropped[point]:
                continue
            k = n
            while k and given.order[point] and given.order[out[k - 1]] > given.order[point]:
                out[k] = out[k - 1]
                k -= 1
            out[k] = point
            n += 1
    return n


@kernel(_nrt=False)
def _pair(first: Int, second: Int, given: Canonical) -> Int:
    """Return the composition of two code points, or 0 if there is none."""
    if LEAD <= first < LEAD + 19 and VOWEL <= second < VOWEL + 21:
        return HANGUL + (first - LEAD) * PER_LEAD + (second - VOWEL) * TAILS
    if HANGUL <= first < HANGUL + SYLLABLES and (first - HANGUL) % TAILS == 0 and TAIL < second < TAIL + TAILS:
        return first + second - TAIL
    key = np.uint64(first << 21 | second)
    at = np.searchsorted(given.pairs, key)
    return np.int64(given.composed[at]) if at < len(given.pairs) and given.pairs[at] == key else 0


@kernel(_nrt=False)
def _compose(points: U32, n: int, given: Canonical) -> int:
    """Compose the first `n` code points of a text in canonical order in place; return their new number."""
    w, starter, last = 0, -1, np.int64(0)
    for i in range(n):
        c = np.int64(points[i])
        order = np.int64(given.order[c])
        if starter >= 0 and (w == starter + 1 or last < order):
            both = _pair(np.int64(points[starter]), c, given)
            if both:
                points[starter] = both
                continue
        if order == 0:
            starter = w
        last = order
        points[w] = c
        w += 1
    return w


@kernel(_nrt=False)
def _changes(offsets: I64, data: U8, given: Canonical, same: npt.NDArray[np.bool_]) -> tuple[int, int]:
    """Write to `same` whether each text is in its canonical form; return how many bytes the longest other one has.

    And return how many times U+FDFA or U+FDFB is in the other texts.
    """
    longest, more = 0, 0
    for d in range(len(offsets) - 1):
        same[d] = is_canonical(data, offsets[d], offsets[d + 1], given)
        if not same[d]:
            longest = max(longest, offsets[d + 1] - offsets[d])
            for i in range(offsets[d], offsets[d + 1] - 2):
                more += data[i] == 0xEF and data[i + 1] == 0xB7 and data[i + 2] in (0xBA, 0xBB)
    return longest, more


@kernel(_nrt=False)
def _canonical(
    offsets: I64, data: U8, given: Canonical, same: npt.NDArray[np.bool_], points: U32, ends: I64, out: U8
) -> int:
    """Write the canonical form of each text to `out`, and where each ends to `ends`; return where the last one ends."""
    k = 0
    for d in range(len(offsets) - 1):
        if same[d]:
            k = T.copied(data, offsets[d], offsets[d + 1], out, k)
        else:
            count = _compose(points, _decompose(data, offsets[d], offsets[d + 1], given, points), given)
            for j in range(count):
                k = T.put(out, k, np.int64(points[j]))
        ends[d + 1] = k
    return k


def canonical(offsets: I64, data: U8, drop: str = "") -> tuple[I64, U8]:
    """Return the texts in NFC, without the marks that `drop` names: offsets int64[n + 1] into UTF-8 bytes, uint8.

    If all texts already have this form, they are returned unchanged.

    - drop: "" drops nothing; "diacritics" drops accents, Hebrew points, Arabic vowel signs and the tatweel; "marks"
      drops all non-spacing marks; FORMS drops nothing, and writes plain letters for the forms of letters in SHAPES.
    """
    given, (places, texts) = canonical_tables(drop), read_only(offsets, data)
    if is_canonical(texts, offsets[0], offsets[-1], given):  # of all texts in a row: a mark at a start is rare
        return offsets, data
    same, ends = np.zeros(len(offsets) - 1, np.bool_), np.zeros(len(offsets), np.int64)
    longest, more = _changes(places, texts, given, same)
    points = np.empty(3 * longest + WIDEST * (more + 1), np.uint32)
    out = np.empty(3 * (offsets[-1] - offsets[0] + WIDEST * more) + 4, np.uint8)  # U+1D160 and others grow threefold
    n = _canonical(places, texts, given, same, points, ends, out)
    return ends, out[:n]
