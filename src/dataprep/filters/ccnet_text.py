"""CCNet's text normalisation, used to train its language models (Wenzek et al. 2020, `cc_net`)."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

import numpy as np

from dataprep.unicode import tables
from dataprep.unicode.text import CASED, DECIMAL, IGNORABLE, POINT, classes, lowered

# Plain signs of typographic marks. The published table has "１" among the quotation marks, but digits are 0 by then.
PLAIN = {
    ",": "，、", ".": "。", '"': "„”“«»」「《》", "'": "´’", ":": "∶：", "?": "？", "!": "！", "(": "（", ")": "）",
    ";": "；", "-": "–━►", " - ": "—", ". ": "．", "~": "～", "...": "…", "<": "〈", ">": "〉", "[": "【", "]": "】",
    "%": "％",
}  # fmt: skip
MARKS = {mark: plain for plain, marks in PLAIN.items() for mark in marks}


def ccnet_normal(text: str) -> str:
    """Return a line normalised as in CCNet: lower case, no accents, digits as 0, ASCII punctuation.

    Control characters are removed, including line feeds, so pass one line at a time. (`cc_net` passes
    complete documents, which joins the last word of each line to the first of the next; see `Perplexity`'s preset
    "ccnet2020".)

    >>> ccnet_normal(" Été 2020… «Oui» ")
    'ete 0000... "oui"'
    """
    text = text.strip()
    return (_with_final_sigmas(text) if _SIGMA in text else text).translate(_table())


def ccnet_lines(text: str) -> str:
    """Return the text with every line normalised by `ccnet_normal`, to train models of `Perplexity`."""
    return "\n".join(map(ccnet_normal, text.split("\n")))


class _Table(dict[int, str]):
    """Normal forms by code point; others are added on first use, since `translate` is slow for missing ones."""

    def __missing__(self, point: int) -> str:
        self[point] = chr(point)
        return self[point]


@cache
def _table() -> _Table:
    """Return the normal forms of the code points that change; characters are decomposed one by one."""
    table = dict.fromkeys([*range(32), *range(127, 160)], "")
    table |= {ord(mark): plain for mark, plain in MARKS.items()}
    table |= dict.fromkeys(np.flatnonzero(classes() & DECIMAL).tolist(), "0")
    for points, base in tables.bases():
        table |= dict.fromkeys(points, "".join(table.get(b, chr(b)) for b in base))
    small = lowered() & np.uint32(POINT)
    capitals = np.flatnonzero(small != np.arange(len(small)))
    lower = {c: table.get(s, chr(s)) for c, s in zip(capitals.tolist(), small[capitals].tolist(), strict=True)}
    return _Table(table | lower)


_SIGMA, _FINAL_SIGMA = "\u03a3", "\u03c2"


def _with_final_sigmas(text: str) -> str:
    """Return the text with a final sigma in place of each capital sigma that ends a word, as `str.lower` does."""

    def is_cased(places: Iterable[int]) -> bool:
        bits = (classes()[ord(text[i])] for i in places)
        return bool(next((b for b in bits if not b & IGNORABLE), 0) & CASED)

    n = len(text)
    final = {
        i for i, c in enumerate(text)
        if c == _SIGMA and is_cased(range(i - 1, -1, -1)) and not is_cased(range(i + 1, n))
    }  # fmt: skip
    return "".join(_FINAL_SIGMA if i in final else c for i, c in enumerate(text))
