"""Shingles: runs of words or characters of a text, without differences that are to be ignored, such as case.

Slow reference for the tests: tests/twins/text.py
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache

import numpy as np

from dataprep.errors import require

from . import text as T
from .canonical import canonical
from .hashes import char_hashes, normal_form, shingle_hashes
from .kernel import kernel, read_only
from .shingle_sets import shingle_sets
from .text import I64, U8, U32, U64
from .word_hashes import words
from .words import SPLITS

SWITCHES = ("nfc", "diacritics", "case", "digits", "punctuation", "space")
FINEWEB = ("fineweb",)
# The characters that FineWeb's published code removes, in addition to control characters.
FINEWEB_MARKS = (
    "!/:&(\\#%+^]~';{|[=-`*$,><)?@_.\"}"
    "\u2014\u201d\uff05\uff11\u3008\u3001\u2501\u3010\u300c\u300d\uff0c\u3011\uff1b\u201c\u300a\u201e"
    "\u2019\u2236\u00b4\uff0e\uff08\u2013\uff1f\uff01\uff1a\uff5e\u00ab\u3009\u300b\uff09\u3002\u2026"
    "\u25ba\u00bb"
)
KEPT, DIGIT = 1 << 21, 1 << 22  # of an entry: the code point is kept; it is the 0 that stands for a number


def differences(given: str | Sequence[str] | None, unit: str, word_split: str) -> tuple[str, ...]:
    """Return the names of the differences to ignore, such as "case", in the order of SWITCHES.

    Args:
        given: the names, or "fineweb" for the differences that FineWeb ignores; None: the default for the unit.
        unit: "word", "char", or another text for tokens.
        word_split: one of words.SPLITS.

    Raises PlanError if a name is unknown, or if `given` lacks a difference that is always ignored for this unit.
    """
    tokens = unit not in ("word", "char")
    if given is None and tokens:
        return ()
    if given is None:
        marks = ("punctuation",) if unit == "word" else ()
        nfc = () if unit == "word" and word_split == "regex" else ("nfc",)
        return (*nfc, "case", *marks, "space")
    names = tuple(given) if isinstance(given, Iterable) and not isinstance(given, str) else (given,)
    if names == FINEWEB:
        require(
            unit == "word" and word_split == "regex",
            ("normalize='fineweb' requires word_split='regex' and shingle='word'"),
        )
        return names
    known = ", ".join(map(repr, SWITCHES))
    unknown = [name for name in names if name not in SWITCHES]
    require(not unknown, f"normalize={unknown and unknown[0]!r} must be 'fineweb' or names of {known}")
    least = {"case", "punctuation", "space"} if unit == "word" else {"case", "space"}
    if tokens:
        least = {"space"} if "case" in names else set()
        unit = "lower-cased token"
    missing = sorted(least - set(names))
    require(not missing, f"normalize={names!r} must have {missing}: {unit}s are always compared without them")
    return tuple(name for name in SWITCHES if name in names)


@cache
def _entries(names: tuple[str, ...]) -> U32:
    """Return the replacement of each code point, uint32[0x110000], for "digits", "punctuation" or "fineweb"."""
    points = np.arange(0x110000, dtype=np.uint32)
    out = points | np.uint32(KEPT)
    if "punctuation" in names:
        out[T.classes() & T.PUNCT != 0] = 0
    if names == FINEWEB:
        out[[ord(c) for c in FINEWEB_MARKS]] = 0
        controls = (points < 32) | ((points >= 127) & (points < 160))
        out[controls & (T.classes() & T.SPACE == 0)] = 0  # its white space is a space before these are removed
    if "digits" in names or names == FINEWEB:
        out[T.classes() & T.DECIMAL != 0] = KEPT | DIGIT | ord("0")
    out.flags.writeable = False
    return out


@kernel
def _replaced(offsets: I64, data: U8, entries: U32) -> tuple[I64, U8]:
    """Return the texts with each code point replaced by its entry, and each run of digits by one 0."""
    n, k = len(offsets) - 1, 0
    ends, out = np.zeros(n + 1, np.int64), np.empty(offsets[n] - offsets[0] + 4, np.uint8)
    for d in range(n):
        i, in_number = offsets[d], False
        while i < offsets[d + 1]:
            c, size = T.code_point(data, i)
            entry = np.int64(entries[c])
            i += size
            if entry & KEPT:
                if not (in_number and entry & DIGIT):
                    k = T.put(out, k, entry & T.POINT)
                in_number = entry & DIGIT != 0
        ends[d + 1] = k
    return ends, out[:k]


def simplified(offsets: I64, data: U8, unit: str, names: tuple[str, ...]) -> tuple[I64, U8]:
    """Return the texts without the differences `names`, except those that the later split into units removes anyway.

    The result is offsets int64[n + 1] into UTF-8 bytes, uint8.

    - unit: "word" or "char".
    - names: names of `differences`, such as "digits" (each number becomes 0) or "diacritics".
    """
    replaced = tuple(
        name for name in names if name in ("digits", "fineweb") or (name == "punctuation" and unit != "word")
    )
    if replaced:
        offsets, data = _replaced(*read_only(offsets, data), _entries(replaced))
    if names == FINEWEB:
        return canonical(offsets, data, "marks")
    if "diacritics" in names:
        return canonical(offsets, data, "diacritics")
    return canonical(offsets, data) if "nfc" in names else (offsets, data)


def shingles(
    offsets: I64, data: U8, unit: str, n: int, word_split: str = "unicode", normalize: tuple[str, ...] | None = None,
    least: int = 1,
) -> tuple[I64, U64]:  # fmt: skip
    """Return the distinct hashes of the runs of `n` units in each text: offsets int64[texts + 1] into hashes uint64.

    They are in order of first occurrence.

    - unit: "word", or "char" for characters of the text's "lower" form (see `normal_form`).
    - word_split: the rule for splitting words, one of words.SPLITS.
    - normalize: the differences to ignore, as `differences` returns them; None: the default for the unit.
    - least: texts with fewer runs, counted with repeats, get none.
    """
    offsets, data = simplified(offsets, data, unit, normalize or differences(None, unit, word_split))
    if unit == "word":
        ends, items = words(offsets, data, word_split)
    else:
        ends, items = char_hashes(*normal_form(offsets, data, "lower"))
    return shingle_sets(ends, items, n, least)


def shingle_hash(shingle: bytes | str, word_split: str = "unicode", normalize: tuple[str, ...] | None = None) -> int:
    """Return the 32-bit hash of a shingle of words, as MinHash uses it: `datasketch.MinHash(hashfunc=shingle_hash)`.

    Args:
        shingle: the words, as text or UTF-8 bytes.
        word_split: "unicode" or "regex", the value of `word_split=` of the MinHash.
        normalize: the names in `normalize=` of the MinHash.

    >>> shingle_hash(b"the quick brown fox jumps") == shingle_hash("The quick, brown fox jumps.")
    True
    """
    require(word_split in SPLITS, f"word_split={word_split!r} must be 'unicode' or 'regex'")
    data = np.frombuffer(shingle.encode() if isinstance(shingle, str) else shingle, np.uint8)
    text = simplified(np.array([0, len(data)], np.int64), data, "word", differences(normalize, "word", word_split))
    ends, items = words(*text, word_split)
    _, hashes = shingle_hashes(ends, items, max(1, len(items)))
    return int(hashes[0]) & 0xFFFFFFFF if len(hashes) else 0
