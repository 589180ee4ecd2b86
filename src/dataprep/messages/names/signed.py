"""Find names with signs between their words, such as "Beans & Leaves" and "Quist, Orsolya".

`kernel.py` allows only spaces, hyphens, points and apostrophes between the words of a name: any other sign ends a name,
so "Ilse, Varga" in a text is two names. This module searches for names that are written with other signs, in a separate
pass in which these signs are gaps.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dataprep.unicode.text import I64, U8

from . import kernel as K
from .matching import folded
from .trie import build

_NO_PREFIXES = np.zeros(0, np.uint32)


class SignedNames:
    """Finds the terms that are written with signs.

    Args:
        signed: the signs of each one.
        numbers: the number of each term.
    """

    def __init__(self, signed: Mapping[str, frozenset[int]], numbers: Mapping[str, int]) -> None:
        terms = sorted(term for term in signed if " " in term and term in numbers)
        self.numbers = np.array([numbers[term] for term in terms], np.int64)
        self.trie = build(terms)
        self.fold = folded().copy() if terms else folded()
        if terms:
            self.fold[sorted(set().union(*(signed[term] for term in terms)))] = K.GAP
            self.fold.flags.writeable = False

    def joined(self, offsets: I64, data: U8, hits: I64) -> I64:
        """Return `hits` with the names found here, in order; hits that are inside of one are left out.

        Args:
            offsets: text k is data[offsets[k]:offsets[k + 1]].
            data: the texts, UTF-8 bytes.
            hits: int64[m, 5], as `kernel.find_names` returns them, in order. A name that overlaps only a part of one of
                `hits` is not added.
        """
        if not len(self.numbers):
            return hits
        found = K.find_names(offsets, data, self.fold, *self.trie, _NO_PREFIXES)
        found[:, 3] = self.numbers[found[:, 3]]
        first = np.searchsorted(hits[:, 2], found[:, 1], side="right")  # the hits that overlap each
        stop = np.searchsorted(hits[:, 1], found[:, 2], side="left")
        starts, ends = np.append(hits[:, 1], np.iinfo(np.int64).max), np.append(0, hits[:, 2])
        whole = (first >= stop) | ((starts[first] >= found[:, 1]) & (ends[stop] <= found[:, 2]))
        keep = np.ones(len(hits), np.bool_)
        for a, b in zip(first[whole].tolist(), stop[whole].tolist(), strict=True):
            keep[a:b] = False
        both = np.concatenate([hits[keep], found[whole]])
        return both[np.argsort(both[:, 1], kind="stable")]
