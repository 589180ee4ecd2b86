"""Twin of `messages/language`: points for every label."""

from __future__ import annotations

import re
from collections import Counter

from dataprep.unicode.text import ALPHA, classes


def language_points(text: str, table: dict[str, dict[str, list[int]]], labels: tuple[str, ...]) -> list[int]:
    """The points of every label: those of each listed word, else at most 8 of all the pieces it has."""
    total = Counter()
    for chunk in re.split(r"[ \n\t\u00a0]", text):
        heard = re.split(r"[@#/]", chunk)[0]
        plain = heard.replace("\u0640", "").lower().translate({0x660 + i: 48 + i for i in range(10)})
        for word in re.findall(r"[^\W_]+['\u2019]?", plain):
            if not any(classes()[ord(c)] & ALPHA for c in word):
                continue
            word = word.replace("\u2019", "'")  # noqa: PLW2901
            total.update(_listed(word, table) or _pieces(word, table))
    return [total[label] for label in labels]


def _listed(word: str, table: dict[str, dict[str, list[int]]]) -> Counter | None:
    found = table.get(f"^{word}$")
    return None if found is None else Counter({label: max(points) for label, points in found.items()} | {"": 1})


def _pieces(word: str, table: dict[str, dict[str, list[int]]]) -> Counter:
    n = len(word)
    found = [word[i : i + k] for k in range(1, 5) for i in range(n - k + 1)]
    found += ["^" + word[:k] for k in range(2, 5) if k < n] + [word[n - k :] + "$" for k in range(1, 5) if k < n]
    points = Counter()
    for piece in found:
        points.update({label: max(some) for label, some in table.get(piece, {}).items()})
    return Counter({label: min(8, k) for label, k in points.items()})
