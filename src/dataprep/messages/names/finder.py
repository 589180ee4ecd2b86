"""Find names in texts in every form: the search that `Pseudonymised` and the audit of its results use."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from dataprep.unicode.text import I64, U8, U32

from . import kernel as K
from .beside import BesideNames, without_parts
from .glued import GluedNames, with_glued
from .matching import folded
from .signed import SignedNames
from .terms import MIN_GLUED
from .trie import build
from .unspaced import UnspacedNames


class Finder:
    """Finds terms (words and full names, folded) as words, next to digits and other scripts, in hashtags and addresses.

    Attributes:
        terms: the terms; the number of a term is its index.
        weak: the terms that count only after an @.
        signed: for terms that are written with signs between their words, these signs.
    """

    def __init__(self, terms: Iterable[str], weak: frozenset[str], signed: Mapping[str, frozenset[int]]) -> None:
        self.terms = list(terms)
        number = {term: i for i, term in enumerate(self.terms)}
        self.trie = build(self.terms)
        self.weak = np.array([term in weak for term in self.terms], bool)
        strong = {term: i for term, i in number.items() if term not in weak}
        single = {term: i for term, i in strong.items() if _is_sure(term)}
        full = [i for term, i in strong.items() if " " in term]
        self.glued = GluedNames(self.terms, self.trie, single, full)
        self.beside = BesideNames(self.trie, self.glued.sure, self.glued.sieve)
        self.signed = SignedNames(signed, number)
        self.unspaced = UnspacedNames(strong)

    def hits(self, offsets: I64, data: U8, prefixes: U32) -> I64:
        """Return the names in n texts, int64[m, 5], as `kernel.find_names` does, also terms that count only after an @.

        Args:
            offsets: text k is data[offsets[k]:offsets[k + 1]].
            data: the texts, UTF-8 bytes.
            prefixes: folded letters that may be joined to the beginning of a name.
        """
        found = K.find_names(offsets, data, folded(), *self.trie, prefixes)
        glued = self.glued.find(offsets, data, prefixes)
        found = self.signed.joined(offsets, data, found)
        beside = self.beside.find(offsets, data, prefixes)
        found = without_parts(found, beside)
        return with_glued(found, np.concatenate([beside, glued, self.unspaced.find(offsets, data)]))


def _is_sure(term: str) -> bool:
    """Return whether a term is searched for next to digits and inside of hashtags, handles and addresses."""
    return len(term) >= MIN_GLUED and " " not in term and not term.isdigit()


def folded_letters(letters: str) -> U32:
    """Return letters in the form in which they are compared, uint32[n]; for the prefixes of names."""
    return folded()[[ord(c) for c in letters]] if letters else np.zeros(0, np.uint32)
