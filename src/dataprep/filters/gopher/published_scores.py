"""The scores of Gopher's rules as the code of datatrove, Dolma and DCLM computes them."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pyarrow as pa

from dataprep.filters.packed_strings import pack
from dataprep.filters.thresholds import share
from dataprep.filters.word_lists import CODE_LESS, CODE_MORE
from dataprep.unicode.shingles import FINEWEB_MARKS
from dataprep.unicode.spaced import spaced
from dataprep.unicode.text import I64, SENTENCE, U8, U64, classes, lowered

from . import published as K
from .published_repeats import DATATROVE, DCLM, DOLMA
from .segments import segment_table

CODES = {"datatrove": DATATROVE, "dolma": DOLMA, "dclm": DCLM}
ENDINGS = {"datatrove": ("...", "…"), "dolma": ("…",), "dclm": ("...", ". . .", "…")}
GRAM_WORDS = {"datatrove": "punctuation", "dolma": "blanks", "dclm": "blanks"}


def published_scores(
    offsets: I64, data: U8, preset: str, bullets: tuple[str, ...], lists: tuple[tuple[str, ...], ...]
) -> dict[str, pa.Array]:
    """Return the scores of texts by name, as the code that `preset` names computes them.

    - offsets: text k is data[offsets[k]:offsets[k + 1]].
    - data: the texts, UTF-8 bytes.
    - bullets: the signs that begin a bullet line.
    - lists: lists of stop words.
    """
    code = CODES[preset]
    keys, in_lists = _keys(lists, folded=preset == "dclm")
    rules = K.Published(
        code, pack(bullets), pack(ENDINGS[preset]), keys, in_lists, len(lists), _symbols(), classes(), lowered(),
        segment_table(),
    )  # fmt: skip
    counts = K.count(offsets, data, *spaced(offsets, data, GRAM_WORDS[preset]), rules)
    n = {name: counts[:, k] for k, name in enumerate(K.COUNTS)}
    words, lines = n["words"], n["lines"]
    none = np.zeros(len(words), np.int64)
    chars = n["chars"] if code == DATATROVE else n["gram_chars"]
    line_chars, paragraph_chars = {
        DATATROVE: (chars, chars), DOLMA: (chars, none), DCLM: (n["unit_chars"], n["paragraph_chars"]),
    }[code]  # fmt: skip
    mean = {
        DATATROVE: share(n["counted_chars"], n["counted_words"]),
        DOLMA: pa.array(n["median"] / 2),
        DCLM: share(n["counted_chars"], words),
    }[code]
    signs = {DATATROVE: n["hashes"], DOLMA: n["symbol_words"], DCLM: n["hashes"] + n["ellipses"]}[code]
    return {
        "gopher_words": pa.array(words if code == DOLMA else n["counted_words"]),
        "gopher_mean_word_chars": mean,
        "gopher_hashes": share(signs, words),
        "gopher_ellipses": share(n["ellipses"] if code == DATATROVE else none, words),
        "gopher_bullet_lines": share(n["bullets"], lines),
        "gopher_ellipsis_lines": share(n["trailing"], lines),
        "gopher_alphabetic": share(n["alphabetic"], words),
        "gopher_stop_words": pa.array(n["stop_words"]),
        "gopher_dup_lines": share(n["dup_lines"], n["units"]),
        "gopher_dup_paragraphs": share(n["dup_paragraphs"], n["paragraphs"]),
        "gopher_dup_line_chars": share(n["dup_line_chars"], line_chars),
        "gopher_dup_paragraph_chars": share(n["dup_paragraph_chars"], paragraph_chars),
        **{f"gopher_top_{k}gram": share(n[f"gram_{k}"], chars) for k in (2, 3, 4)},
        **{
            f"gopher_dup_{k}gram": share(n[f"gram_{k}"], n[f"of_gram_{k}"] if code == DOLMA else chars)
            for k in range(5, 11)
        },
    }


@lru_cache(maxsize=8)
def _keys(lists: tuple[tuple[str, ...], ...], *, folded: bool) -> tuple[U64, U64]:
    """Return the sorted hashes of all stop words, and for each word a bit mask of the lists that contain it.

    - folded: whether case is ignored.
    """
    held: dict[int, int] = {}
    for k, words in enumerate(lists):
        for word in words:
            data = np.frombuffer(word.encode(), np.uint8)
            h = int(K.stop_hash(data, 0, len(data), lowered() if folded else lowered()[:0]))
            held[h] = held.get(h, 0) | 1 << k
    keys = sorted(held)
    return np.array(keys, np.uint64), np.array([held[h] for h in keys], np.uint64)


@lru_cache(maxsize=1)
def _symbols() -> U8:
    """Return 1 for each character of the words that datatrove does not count, uint8[0x110000]."""
    table: U8 = (classes() & SENTENCE != 0).astype(np.uint8)
    table[[ord(c) for c in FINEWEB_MARKS]] = 1
    table[[*range(32), *range(127, 160), *CODE_MORE]] = 1
    table[[*CODE_LESS]] = 0
    return table
