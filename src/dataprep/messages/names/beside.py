"""Find names next to letters of another script: "Ilseさん", "我和Ilse去", "Ilseга", "قالIlse", "Заринаさん".

`kernel.py` finds names that are whole words, but Japanese, Chinese, Korean and Thai write no space around a name in
Latin letters, and case endings may be in another script, too. In this module, a change of script ends a word, and so
does a digit. `unspaced.py` finds names in scripts without spaces.
"""

from __future__ import annotations

import functools

import numpy as np

from dataprep.unicode.text import I64, NUMBER, U8, U32, classes
from dataprep.unicode.words import unspaced

from . import kernel as K
from . import prefilter as P
from .glued import is_no_arabizi
from .matching import folded
from .prefilter import Bools
from .trie import Trie

LATIN, APART, OTHER = 1, 2, 3  # letters: Latin; Korean and of scripts without spaces; all others
_LATIN = ((0x41, 0x2B0), (0x1D00, 0x1DC0), (0x1E00, 0x1F00), (0x2C60, 0x2C80), (0xA722, 0xA800), (0xAB30, 0xAB70))
_HANGUL = ((0x1100, 0x1200), (0x3130, 0x3190), (0xA960, 0xA980), (0xAC00, 0xD800))


class BesideNames:
    """Finds names next to letters of another script.

    Attributes:
        trie: the Trie of all terms.
        sure: the terms that are searched for next to such letters, bool[n].
        sieve: as in a Trie, of all words of the terms.
    """

    def __init__(self, trie: Trie, sure: Bools, sieve: U8) -> None:
        self.trie, self.sure, self.sieve = trie, sure, sieve

    def find(self, offsets: I64, data: U8, prefixes: U32) -> I64:
        """Return the names in n texts, int64[m, 5], as `kernel.find_names` does.

        Args:
            offsets: text k is data[offsets[k]:offsets[k + 1]].
            data: the texts, UTF-8 bytes.
            prefixes: letters that may be joined to the beginning of a name.
        """
        rows = np.flatnonzero(P.changes_script(offsets, data, scripts(), folded(), self.sieve, prefixes))
        if not len(rows):
            return np.zeros((0, 5), np.int64)
        some = np.append(0, np.cumsum(offsets[rows + 1] - offsets[rows]))
        text = np.concatenate([data[a:b] for a, b in zip(offsets[rows], offsets[rows + 1], strict=True)])
        some.flags.writeable = text.flags.writeable = False  # as those of batches, for which kernels are compiled
        hits = np.concatenate([K.find_names(some, text, table, *self.trie, prefixes) for table in _one_script()])
        hits = hits[self.sure[hits[:, 3]] | (hits[:, 4] == 1)]
        hits[:, 1:3] += (offsets[rows] - some[:-1])[hits[:, :1]]
        hits[:, 0] = rows[hits[:, 0]]
        kept: I64 = hits[[is_no_arabizi(offsets, data, *hit) for hit in hits[:, :3].tolist()]]
        return kept


def without_parts(hits: I64, longer: I64) -> I64:
    """Return the rows of `hits` (see `find_names`) that are not parts of longer names in `longer`."""
    if not len(longer):
        return hits
    longer = longer[np.argsort(longer[:, 1], kind="stable")]
    before = np.searchsorted(longer[:, 1], hits[:, 1], side="right") - 1
    spans = longer[np.maximum(before, 0), 1:3]
    inside = (before >= 0) & (hits[:, 2] <= spans[:, 1]) & (hits[:, 2] - hits[:, 1] < spans[:, 1] - spans[:, 0])
    return hits[~inside]


@functools.cache
def scripts() -> U8:
    """Return the script of each letter, LATIN, APART or OTHER; 0 for digits and signs, P.UNSEEN for invisible ones."""
    fold = folded()
    letter = (fold > K.GAP) & (fold != K.BREAK)
    of = np.where(unspaced(), APART, OTHER)
    for script, ranges in ((LATIN, _LATIN), (APART, _HANGUL)):
        for first, end in ranges:
            of[first:end] = script
    table = np.where(letter, of[np.where(letter, fold, 0)], 0).astype(np.uint8)
    table[(classes() & NUMBER) != 0] = 0
    table[fold == K.SKIPPED] = P.UNSEEN
    table.flags.writeable = False
    return table


@functools.cache
def _one_script() -> tuple[U32, U32]:
    """Return two tables like `folded`: letters are only Latin ones in the first, only those of OTHER in the second."""
    made = []
    for kept in (LATIN, OTHER):
        table = folded().copy()
        table[(table > K.GAP) & (table != K.BREAK) & (scripts() != kept)] = K.BREAK
        table.flags.writeable = False
        made.append(table)
    return made[0], made[1]
