"""Find names of scripts without spaces, such as Chinese, Japanese and Thai, anywhere in a text.

`kernel.py` finds names as whole words. These scripts write no spaces between words, so that a name is followed by
letters of its own script: "王小明来了", "山田太郎さん". A name is searched for here if all its letters are of such
scripts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np

from dataprep.unicode.text import I64, U8

from .kernel import SKIPPED
from .matching import folded

_HAN = "\u2e80-\u2fdf\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_OTHERS = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff"
_NAME = re.compile(f"[{_HAN}{_OTHERS}]{{3,}}|(?=.*[{_HAN}])[{_HAN}{_OTHERS}]{{2}}")
_FIRST_BYTES = np.zeros(256, np.bool_)  # of the UTF-8 of these letters
_FIRST_BYTES[[0xE0, 0xE1, *range(0xE3, 0xEB), 0xEF, 0xF0]] = True


def is_unspaced(name: str) -> bool:
    """Return whether all letters of a name are of scripts without spaces, and are enough to search for it inside words.

    Two letters are enough if one is a Chinese character, else three are.
    """
    return _NAME.fullmatch(name) is not None


class UnspacedNames:
    """Finds terms of scripts without spaces in texts; terms: the number of each, by its folded text."""

    def __init__(self, terms: Mapping[str, int]) -> None:
        self.terms = {term: number for term, number in terms.items() if is_unspaced(term)}
        longest_first = sorted(self.terms, key=len, reverse=True)
        self.pattern = re.compile("|".join(map(re.escape, longest_first))) if longest_first else None

    def find(self, offsets: I64, data: U8) -> I64:
        """Return the names in n texts, int64[m, 5], as `kernel.find_names` does; of overlapping names, the longer one.

        offsets, data: the texts in UTF-8.
        """
        found: list[tuple[int, int, int, int, int]] = []
        if self.pattern is None:
            return np.array(found, np.int64).reshape(-1, 5)
        at = np.flatnonzero(_FIRST_BYTES[data[offsets[0] : offsets[-1]]]) + offsets[0]
        for row in np.unique(np.searchsorted(offsets, at, side="right") - 1).tolist():
            text = data[offsets[row] : offsets[row + 1]].tobytes().decode("utf-8")
            kinds = folded()[[ord(c) for c in text]].tolist()
            letters = [i for i, kind in enumerate(kinds) if kind != SKIPPED]
            plain = "".join(chr(min(kinds[i], 0x10FFFF)) for i in letters)
            starts = np.cumsum([int(offsets[row]), *(len(c.encode()) for c in text)])
            for m in self.pattern.finditer(plain):
                first, last = letters[m.start()], letters[m.end() - 1]
                mentioned = text[first - 1 : first] == "@"
                found.append((row, int(starts[first]), int(starts[last + 1]), self.terms[m[0]], mentioned))
        return np.array(found, np.int64).reshape(-1, 5)
