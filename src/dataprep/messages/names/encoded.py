r"""Find names and numbers that are written in code, letter by letter, or after a count.

    %D0%97%D0%B0   &#1047;   \u0417   ilse＠example.org   I l s e   2xIlse

Such a text is decoded and searched like other texts; names and numbers in the decoded parts are replaced in the
original text.
"""

from __future__ import annotations

import html
import itertools
import re
from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from dataprep.core.model import batch as B
from dataprep.unicode.text import I64, U8

_MARKED = (  # in the syntax of RE2
    r"%[0-9A-Fa-f]{2}|&#?[0-9A-Za-z]{2,8};|\\u[0-9a-fA-F]{4}|\x{FF20}"
    r"|(?:^|[^\pL\d])\pL[ ._-]\pL[ ._-]\pL[ ._-]\pL(?:[^\pL\d]|$)|\d[xX]\pL\pL\pL"
)
_CODED = re.compile(
    r"(?P<percent>(?:%[0-9A-Fa-f]{2})+)|(?P<entity>&#?[0-9A-Za-z]{2,8};)|(?P<escape>(?:\\u[0-9a-fA-F]{4})+)"
    r"|(?P<at>\uff20)|(?P<spaced>(?<![\w])[^\W\d_](?:(?P<gap>[ ._-])[^\W\d_](?:(?P=gap)[^\W\d_]){2,})(?!\w))"
    r"|(?P<times>(?<!\w)\d{1,3}[xX](?=[^\W\d_]{3}))"
)
CODES = ("percent", "entity", "escape")
Spans = Callable[[I64, U8, I64], I64]  # offsets, data, rows of these texts -> spans, int64[n, 4]


class Decoded(NamedTuple):
    """A decoded text.

    Attributes:
        starts, ends: for each of its characters, the characters of the original text that it represents.
        coded: whether each character is decoded.
    """

    text: str
    starts: list[int]
    ends: list[int]
    coded: list[bool]


def decoded(text: str) -> Decoded | None:
    """Return a text with its encoded parts decoded; None if it has none."""
    out, at = Decoded("", [], [], []), 0
    pieces: list[str] = []

    def add(chars: str, spans: Iterable[tuple[int, int]], *, coded: bool) -> None:
        pieces.append(chars)
        for start, end in spans:
            out.starts.append(start)
            out.ends.append(end)
            out.coded.append(coded)

    for m in _CODED.finditer(text):
        chars, widths = _read(m)
        if chars == m[0]:
            continue
        add(text[at : m.start()], ((i, i + 1) for i in range(at, m.start())), coded=False)
        edges = np.cumsum([m.start(), *widths]).tolist()
        add(chars, itertools.pairwise(edges), coded=True)
        at = m.end()
    add(text[at:], ((i, i + 1) for i in range(at, len(text))), coded=False)
    return out._replace(text="".join(pieces)) if any(out.coded) else None


def plain(text: str) -> str:
    r"""Return a text with codes (%41, &#65;, \u0041) decoded; doubly encoded ones are decoded twice."""
    for _ in range(2):
        text = _CODED.sub(lambda m: _read(m)[0] if m.lastgroup in CODES else m[0], text)
    return text


def may_be_coded(text: str) -> bool:
    """Return whether a text has a character with which a code begins."""
    return "%" in text or "&" in text or "\\u" in text


def _read(m: re.Match[str]) -> tuple[str, list[int]]:
    """Return the characters that a match represents, each with the number of characters of the text that encode it."""
    kind, raw = m.lastgroup, m[0]
    if kind == "percent":
        chars = bytes.fromhex(raw.replace("%", "")).decode("utf-8", "replace")
        widths = [3 * len(c.encode()) for c in chars]
        return (chars, widths) if sum(widths) == len(raw) else (raw, [])
    if kind == "escape":
        chars = bytes.fromhex(raw.replace("\\u", "")).decode("utf-16-be", "replace")
        return chars, [6 * (len(c.encode("utf-16-be")) // 2) for c in chars]
    if kind == "entity":
        chars = html.unescape(raw)
        return (chars, [len(raw)]) if len(chars) == 1 else (raw, [])
    if kind == "at":
        return "@", [1]
    if kind == "times":
        return " ", [len(raw)]
    return raw[::2], [*[2] * (len(raw) // 2), 1]


def coded_spans(batch_texts: pa.Array, offsets: I64, spans_of: Spans) -> list[tuple[int, int, int, int]]:
    """Return the spans of names and numbers in decoded parts of texts: (text, first byte, end, index of the new word).

    Args:
        batch_texts: n texts.
        offsets: int64[n + 1], of their bytes.
        spans_of: the search in decoded texts.
    """
    rows = np.flatnonzero(pc.match_substring_regex(batch_texts, _MARKED).to_numpy(zero_copy_only=False))
    raws = batch_texts.take(pa.array(rows)).to_pylist() if len(rows) else []
    kept = [(row, raw, one) for row, raw in zip(rows.tolist(), raws, strict=True) if (one := decoded(raw))]
    if not kept:
        return []
    where: npt.NDArray[np.int64] = np.array([row for row, _, _ in kept], np.int64)
    low, data = B.buffers(pa.array([one.text for _, _, one in kept], pa.large_string()))
    found = []
    for k, start, end, word in spans_of(low, data, where).tolist():
        row, raw, one = kept[k]
        a = len(data[low[k] : start].tobytes().decode())
        b = a + len(data[start:end].tobytes().decode())
        if any(one.coded[a:b]) or (a and one.coded[a - 1]):
            first, last = (int(offsets[row]) + len(raw[:i].encode()) for i in (one.starts[a], one.ends[b - 1]))
            found.append((row, first, last, word))
    return found
