"""NormalizeArabic: write variants of Arabic letters in one form.

Use it on copies that are compared (deduplication, search), or if a model should see a single form. Each switch removes
differences that the author may have made on purpose.

Slow reference for the tests: tests/twins/arabic.py
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np

from dataprep.core.model import batch as B
from dataprep.core.model.batch import Batch
from dataprep.core.model.ledger import Ledger
from dataprep.core.model.stage import Stage
from dataprep.unicode.kernel import kernel
from dataprep.unicode.text import I64, U8, U32, code_point, put

REMOVED = 0xFFFFFFFF
_DIACRITICS = (*range(0x610, 0x61B), *range(0x64B, 0x660), 0x670, *range(0x6D6, 0x6DD), *range(0x6DF, 0x6E5),
               0x6E7, 0x6E8, *range(0x6EA, 0x6EE))  # fmt: skip
ARABIC: Mapping[str, Mapping[int, int]] = {
    "tatweel": {0x640: REMOVED},
    "diacritics": dict.fromkeys(_DIACRITICS, REMOVED),
    "alef": dict.fromkeys((0x622, 0x623, 0x625, 0x671), 0x627),
    "yeh": {0x649: 0x64A, 0x6CC: 0x64A},
    "ta_marbuta": {0x629: 0x647},
}
"""The code point that each switch of `NormalizeArabic` writes for another; REMOVED: none."""


@dataclass(frozen=True, kw_only=True)
class NormalizeArabic(Stage):
    """Write Arabic letters in one form; every switch is off by default.

    >>> NormalizeArabic(tatweel=True, diacritics=True)      # removes signs that carry little
    >>> NormalizeArabic(alef=True, yeh=True)                # also changes words

    Args:
        tatweel: whether to remove the tatweel, the stretching line (U+0640).
        diacritics: whether to remove vowel signs, shadda, tanwin, Quranic signs and combining hamzas.
        alef: whether to write alef with madda, with hamza above or below, or with wasla as bare alef.
        yeh: whether to write alef maqsura and the Persian yeh as yeh.
        ta_marbuta: whether to write ta marbuta as heh.

    Changed characters are counted as arabic.tatweel, arabic.diacritics and so on.
    """

    tatweel: bool = False
    diacritics: bool = False
    alef: bool = False
    yeh: bool = False
    ta_marbuta: bool = False

    compiled: ClassVar[bool] = True

    def __call__(self, batches: Iterator[Batch], stats: Ledger) -> Iterator[Batch]:
        """Yield the same documents with their texts rewritten; changed characters are counted in `stats`."""
        chosen = switches_on(self)
        table, which = np.arange(0x110000, dtype=np.uint32), np.zeros(0x110000, np.uint8)
        for number, name in enumerate(ARABIC):
            for c, new in ARABIC[name].items() if name in chosen else ():
                table[c], which[c] = new, number + 1
        for batch in batches:
            offsets, data, counts = mapped(*B.buffers(batch), table, which, len(ARABIC) + 1)
            for name, n in zip(ARABIC, counts[1:].tolist(), strict=True):
                stats.count(f"arabic.{name}", n)
            yield B.with_column(batch, "text", B.strings(offsets, data)) if counts[1:].any() else batch


def switches_on(stage: Any) -> list[str]:
    """Return the names of the fields of `stage` that are True."""
    return [f.name for f in fields(stage) if getattr(stage, f.name) is True]


@kernel
def mapped(offsets: I64, data: U8, table: U32, which: U8, n_kinds: int) -> tuple[I64, U8, I64]:
    """Replace every character of n texts by `table`; return (offsets int64[n + 1], bytes, changes int64[n_kinds]).

    - offsets: text k is data[offsets[k]:offsets[k + 1]].
    - data: the texts, UTF-8 bytes.
    - table: uint32, the new code point for each code point, or REMOVED; it must not be longer in UTF-8.
    - which: uint8, a number below `n_kinds` for each code point; changes are counted by this number.
    """
    n = len(offsets) - 1
    ends, counts = np.zeros(n + 1, np.int64), np.zeros(n_kinds, np.int64)
    out = np.empty(offsets[n] - offsets[0], np.uint8)
    k = 0
    for d in range(n):
        i = offsets[d]
        while i < offsets[d + 1]:
            if data[i] < 0x80:
                out[k] = data[i]
                i += 1
                k += 1
                continue
            c, size = code_point(data, i)
            counts[which[c]] += 1
            new = np.int64(table[c])
            if new != REMOVED:
                k = put(out, k, new)
            i += size
        ends[d + 1] = k
    return ends, out[:k], counts
