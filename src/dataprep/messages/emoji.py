"""Find emoji in texts; one emoji may have several code points (UTS #51).

Flags, keycaps, skin tones, families joined by U+200D and the flags of England, Scotland and Wales are one emoji each.
"""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
import pyarrow as pa

from dataprep.core.model import batch as B

# Unicode 18.0's emoji data. Pictures, including those that Unicode draws as text by default but people write as emoji
# (U+2764, a heart, often without its U+FE0F); above U+1F000 complete blocks, so that newer ones are found too.
PICTURES = """
231a-231b 23e9-23ec 23f0 23f3 25fd-25fe 2600-2604 260e 2611 2614-2615 2618 261d 2620 2622-2623 2626 262a 262e-262f
2638-263a 2640 2642 2648-2653 265f-2660 2663 2665-2666 2668 267b 267e-267f 2692-2697 2699 269b-269c 26a0-26a1 26a7
26aa-26ab 26b0-26b1 26bd-26be 26c4-26c5 26c8 26ce-26cf 26d1 26d3-26d4 26e9-26ea 26f0-26f5 26f7-26fa 26fd 2702 2705
2708-270d 270f 2712 2714 2716 271d 2721 2728 2733-2734 2744 2747 274c 274e 2753-2755 2757 2763-2764 2795-2797 27a1
27b0 27bf 2b1b-2b1c 2b50 2b55 1f004 1f0cf 1f170-1f171 1f17e-1f17f 1f18e 1f191-1f19a 1f201-1f202 1f21a 1f22f
1f232-1f23a 1f250-1f251 1f300-1f64f 1f680-1f6ff 1f7e0-1f7f0 1f90c-1f9ff 1fa70-1faff
"""
# Signs that are emoji only before U+FE0F: arrows, (c), buttons of players.
SIGNS = """
a9 ae 203c 2049 2122 2139 2194-2199 21a9-21aa 2328 23cf 23ed-23ef 23f1-23f2 23f8-23fa 24c2 25aa-25ab 25b6 25c0
25fb-25fc 2934-2935 2b05-2b07 3030 303d 3297 3299
"""


def _set(table: str) -> str:
    """Return the ranges of a table as the inside of a character class."""
    spans = (span.partition("-") for span in table.split())
    return "".join(f"{chr(int(a, 16))}-{chr(int(b or a, 16))}" for a, _, b in spans)


_FLAG, _KEY, _TONE = "\U0001f1e6-\U0001f1ff", "0-9#*", "\ufe0f?[\U0001f3fb-\U0001f3ff]?"
_ONE = rf"(?:[{_set(PICTURES)}](?!\ufe0e){_TONE}|[{_set(SIGNS)}]\ufe0f)"
_TAGS = "(?:[\U000e0020-\U000e007e]{1,16}\U000e007f)?"
# First one plain class, then the kind of its character: a pattern that begins with a choice is five times as slow.
_EMOJI = re.compile(
    rf"[{_KEY}{_set(SIGNS)}{_set(PICTURES)}{_FLAG}](?:(?<=[{_FLAG}])[{_FLAG}]|(?<=[{_KEY}])\ufe0f?\u20e3"
    rf"|(?:(?<=[{_set(SIGNS)}])\ufe0f|(?<=[{_set(PICTURES)}])(?!\ufe0e){_TONE}){_TAGS}(?:\u200d{_ONE}){{0,9}})"
)
# UTF-8 of U+2000 and up, where all emoji are, or the U+FE0F or U+20E3 in them; but not letters, U+4000 to U+EFFF.
FIRST_BYTE, HAN, HANGUL = 0xE2, 0xE4, 0xEE
PARTS = _set(PICTURES) + _FLAG + "\u200d\ufe0f\u20e3"
"""Inside of a character class: parts of emoji, except digits and signs."""


def emoji_spans(text: str) -> list[tuple[int, int]]:
    """Return the (start, end) of each emoji in a text, in characters.

    >>> emoji_spans("ok 👍🏽👨‍👩‍👧 🇲🇦")
    [(3, 5), (5, 10), (11, 13)]
    """
    return [m.span() for m in _EMOJI.finditer(text)]


def emoji_counts(texts: pa.Array) -> Counter[str]:
    """Return the number of occurrences of each emoji in a column of texts.

    For speed, texts whose bytes show that they have no emoji are not searched.
    """
    offsets, data = B.buffers(texts)
    high = np.flatnonzero(data[: offsets[-1]] >= FIRST_BYTE)
    high = high[(data[high] < HAN) | (data[high] > HANGUL)]
    rows = np.unique(np.searchsorted(offsets, high, side="right") - 1)
    joined = "\n".join(texts.take(pa.array(rows[rows >= 0])).to_pylist())
    return Counter(_EMOJI.findall(joined))
