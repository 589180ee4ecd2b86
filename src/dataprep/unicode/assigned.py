"""Functions that use Python's Unicode tables but return the same result on every version of Python.

The functions are applied only to characters of Unicode 13.0, the version of the oldest Python that is supported (3.10).
Normal forms and case foldings of a character never change once it is assigned (Unicode's stability policies), and its
lower case is the same from Python 3.10 to 3.13 (tests/unicode/test_assigned.py). Characters that were assigned after
13.0 are not changed. The list of assigned characters is `assigned.txt`, which scripts/make_unicode.py writes.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from functools import cache
from importlib import resources
from itertools import groupby
from typing import Literal

import numpy as np
import numpy.typing as npt

NormalForm = Literal["NFC", "NFD", "NFKC", "NFKD"]


@cache
def assigned() -> npt.NDArray[np.bool_]:
    """Return, for each code point, whether it is a character of Unicode 13.0, bool[0x110000]; False for surrogates."""
    table = np.zeros(0x110000, np.bool_)
    lines = resources.files(__package__).joinpath("assigned.txt").read_text(encoding="utf-8").split("\n")
    for span in " ".join(lines[2:]).split():
        first, _, last = span.partition("-")
        table[int(first, 16) : int(last or first, 16) + 1] = True
    table.flags.writeable = False
    return table


def over_assigned(change: Callable[[str], str], text: str) -> str:
    """Return the text with `change` applied to each run of characters of Unicode 13.0; other characters are kept.

    >>> over_assigned(str.lower, "A\U00010570")     # a capital of Unicode 14.0
    'a𐕰'
    """
    if text.isascii():
        return change(text)
    known = assigned()[np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)]
    if known.all():
        return change(text)
    runs = groupby(zip(known.tolist(), text, strict=True), key=lambda pair: pair[0])
    parts = ((is_known, "".join(c for _, c in run)) for is_known, run in runs)
    return "".join(change(part) if is_known else part for is_known, part in parts)


def without_newer(text: str) -> str:
    """Return the text with U+FFFD in place of each character that is not in Unicode 13.0."""
    if text.isascii():
        return text
    points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    known = assigned()[points]
    return text if known.all() else np.where(known, points, 0xFFFD).astype("<u4").tobytes().decode("utf-32-le")


def normalized(form: NormalForm, text: str) -> str:
    """Return the text in a normal form of Unicode 13.0."""
    return over_assigned(lambda part: unicodedata.normalize(form, part), text)
