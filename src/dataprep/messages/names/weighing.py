"""Compare the uses of words as names with their uses as ordinary words: "will", "from", "rose".

Only words of the lists of this project are weighed; every other word of a name is always treated as a name. A word is
used as a name if it is capitalised inside a sentence, or follows an @ or a word of address.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterable

import numpy as np

from dataprep.core.model import batch as B
from dataprep.core.model.dataset import Dataset
from dataprep.core.model.part import Part
from dataprep.core.run.runner import Runner
from dataprep.messages.language.words import WORDS
from dataprep.unicode.text import I64, U8

from . import kernel as K
from .matching import COMMON, folded, words
from .trie import build

MIN_USES = 3  # as a word; a rarer word costs little
ODDS = 2  # uses as a word per use as a name, from which on a word is common
_CALLS = (b"ya ", b"Ya ", "يا ".encode())
_STARTS = np.isin(np.arange(256), list(b"\n.!?:;")) | (np.arange(256) == 0xA6)  # the byte before a sentence


@functools.cache
def listed_words() -> frozenset[str]:
    """Return the words that are weighed, in the form in which names are compared."""
    given = [*COMMON, *(w for lists in WORDS.values() for text in lists for w in text.split())]
    return frozenset(word for entry in given for word in words(entry))


def common_in(docs: Dataset, runner: Runner, names: Iterable[str]) -> tuple[str, ...]:
    """Return, sorted, the words of `names` that the texts of `docs` use more often as ordinary words than as names."""
    asked = tuple(sorted({word for name in names for word in words(name)} & listed_words()))
    uses: Counter[tuple[str, bool]] = Counter()
    for counted in runner.map(functools.partial(_uses, asked), docs.tasks if asked else [], "Pseudonyms: words"):
        uses.update(counted)
    return tuple(word for word in asked if uses[word, False] >= max(MIN_USES, ODDS * uses[word, True]))


def _uses(asked: tuple[str, ...], part: Part) -> Counter[tuple[str, bool]]:
    """Return {(word, whether it is used as a name): number of uses}, without unclear uses."""
    found: Counter[tuple[str, bool]] = Counter()
    trie, no_prefixes = build(asked), np.zeros(0, np.uint32)
    for batch in part.batches(["text"]):
        offsets, data = B.buffers(batch)
        hits = K.find_names(offsets, data, folded(), *trie, no_prefixes)
        name, unclear = uses_as_name(offsets, data, hits)
        for is_name in (False, True):
            counts = np.bincount(hits[(name == is_name) & ~unclear, 3], minlength=len(asked)).tolist()
            found.update({(word, is_name): n for word, n in zip(asked, counts, strict=True) if n})
    return found


def uses_as_name(offsets: I64, data: U8, hits: I64) -> tuple[np.ndarray, np.ndarray]:
    """Return (whether each found word is used as a name, whether its use is unclear), bool[m] each.

    Args:
        offsets: text k is data[offsets[k]:offsets[k + 1]].
        data: the texts, UTF-8 bytes.
        hits: int64[m, 5], as `kernel.find_names` returns them.
    """
    start, low = hits[:, 1], offsets[hits[:, 0]]
    before, two = data[np.maximum(start - 1, 0)], data[np.maximum(start - 2, 0)]
    begins = (start == low) | _STARTS[before] | ((before == 32) & ((start - 1 == low) | _STARTS[two]))
    first, second = data[start], data[np.minimum(start + 1, len(data) - 1)]
    capital = (first >= 65) & (first <= 90)
    shouted = capital & (second >= 65) & (second <= 90)
    called = hits[:, 4] == 1
    for call in _CALLS:
        same = start - low >= len(call)
        for i, byte in enumerate(call):
            same &= data[np.maximum(start - len(call) + i, 0)] == byte
        called |= same
    return (capital & ~begins & ~shouted) | called, (shouted | (capital & begins)) & ~called
