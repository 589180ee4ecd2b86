"""Gopher: the rules of MassiveText for quality and repetition, with every threshold as a parameter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from dataprep.core import batch as B
from dataprep.core.batch import Batch
from dataprep.core.score import ScoredFilter
from dataprep.errors import PlanError
from dataprep.filters.packed_strings import pack
from dataprep.filters.thresholds import Threshold, check_numbers, reasons, share, tuple_of_words
from dataprep.filters.word_lists import STOP_WORDS
from dataprep.unicode.text import I64, IN_WORD, classes, lowered

from . import kernel as K

RULES = (
    Threshold("min_words", "gopher_words", "<", "too_few_words"),
    Threshold("max_words", "gopher_words", ">", "too_many_words"),
    Threshold("min_mean_word_chars", "gopher_mean_word_chars", "<", "short_words"),
    Threshold("max_mean_word_chars", "gopher_mean_word_chars", ">", "long_words"),
    Threshold("max_hashes", "gopher_hashes", ">", "hashes"),
    Threshold("max_ellipses", "gopher_ellipses", ">", "ellipses"),
    Threshold("max_bullet_lines", "gopher_bullet_lines", ">", "bullet_lines"),
    Threshold("max_ellipsis_lines", "gopher_ellipsis_lines", ">", "ellipsis_lines"),
    Threshold("min_alphabetic", "gopher_alphabetic", "<", "not_alphabetic"),
    Threshold("min_stop_words", "gopher_stop_words", "<", "few_stop_words"),
    Threshold("max_dup_lines", "gopher_dup_lines", ">", "duplicate_lines"),
    Threshold("max_dup_paragraphs", "gopher_dup_paragraphs", ">", "duplicate_paragraphs"),
    Threshold("max_dup_line_chars", "gopher_dup_line_chars", ">", "duplicate_line_chars"),
    Threshold("max_dup_paragraph_chars", "gopher_dup_paragraph_chars", ">", "duplicate_paragraph_chars"),
    *(Threshold(f"max_top_{n}gram", f"gopher_top_{n}gram", ">", f"top_{n}gram") for n in (2, 3, 4)),
    *(Threshold(f"max_dup_{n}gram", f"gopher_dup_{n}gram", ">", f"duplicate_{n}gram") for n in range(5, 11)),
)
COUNTED = {"gopher_words", "gopher_stop_words"}  # integers; all others are shares, or a mean


@dataclass(frozen=True, kw_only=True)
class Gopher(ScoredFilter):
    """Drop documents that do not read like prose, or repeat themselves (Rae et al. 2021, A.1.1 and table A1).

    >>> Gopher()                                               # English, as published
    >>> Gopher(languages=("ar", "ary", "ary-Latn", "fr"))      # two stop words of any one of these
    >>> Gopher(min_words=None, stop_words=("wach", "dyal"))    # chats: any length, own stop words

    A *word* is a run without white space (`str.split`); *characters* are code points of words, so white space does not
    count; *lines* end as `str.splitlines` ends them, and blank ones are not counted; *paragraphs* are lines without a
    blank line between them. Two lines, or two paragraphs, are equal if their words are equal.

    | parameter | a document is dropped if (numbers as published) | reason |
    |---|---|---|
    | min_words, max_words | it has fewer words than 50, or more than 100,000 | too_few_words, too_many_words |
    | min_, max_mean_word_chars | its words have on average under 3 or over 10 characters | short_words, long_words |
    | max_hashes, max_ellipses | it has more than 0.1 `#` per word, or more than 0.1 `...` and `…` | hashes, ellipses |
    | max_bullet_lines | more than 0.9 of the lines begin with one of `bullets` | bullet_lines |
    | max_ellipsis_lines | more than 0.3 of the lines end with `...` or `…` | ellipsis_lines |
    | min_alphabetic | fewer than 0.8 of the words have a letter | not_alphabetic |
    | min_stop_words | it has fewer than 2 different stop words | few_stop_words |
    | max_dup_lines, max_dup_paragraphs | more than 0.3 of them occurred before | duplicate_lines, ..._paragraphs |
    | max_dup_line_chars, max_dup_paragraph_chars | these repeats have more than 0.2 of the characters | ..._chars |
    | max_top_2gram ... 4gram | over 0.20, 0.18, 0.16 of the characters are in the most frequent one | top_2gram ... |
    | max_dup_5gram ... 10gram | over 0.15 ... 0.10 of the characters are in repeated n-grams | duplicate_5gram ... |

    None switches a rule off. The scores are the columns gopher_*, one per rule, in the unit of its threshold.

    Not defined in the paper: the most frequent n-gram (the first of equally frequent ones) counts once per
    occurrence, overlapping or not, and must occur twice; a character inside several repeated n-grams counts once, and
    first occurrences are not repeats. The bullets are not from the paper. **Stop words** are compared by their letters
    in lower case ("The," is "the"). Of `languages` (English as published; there are ar, ary, ary-Latn, de, en, es, fr)
    the list with most matches counts, so adding one only keeps more; `stop_words` is one more list, of your own; with
    languages=() it is the only one. Repetition is decided by 64-bit hashes, without comparing: see kernel.py.

    Raises PlanError for a language without a list, a threshold below 0, or a stop word without a letter.
    """

    compiled: ClassVar[bool] = True

    min_words: int | None = 50
    max_words: int | None = 100_000
    min_mean_word_chars: float | None = 3
    max_mean_word_chars: float | None = 10
    max_hashes: float | None = 0.1
    max_ellipses: float | None = 0.1
    max_bullet_lines: float | None = 0.9
    max_ellipsis_lines: float | None = 0.3
    min_alphabetic: float | None = 0.8
    min_stop_words: int | None = 2
    max_dup_lines: float | None = 0.30
    max_dup_paragraphs: float | None = 0.30
    max_dup_line_chars: float | None = 0.20
    max_dup_paragraph_chars: float | None = 0.20
    max_top_2gram: float | None = 0.20
    max_top_3gram: float | None = 0.18
    max_top_4gram: float | None = 0.16
    max_dup_5gram: float | None = 0.15
    max_dup_6gram: float | None = 0.14
    max_dup_7gram: float | None = 0.13
    max_dup_8gram: float | None = 0.12
    max_dup_9gram: float | None = 0.11
    max_dup_10gram: float | None = 0.10
    languages: tuple[str, ...] = ("en",)
    stop_words: tuple[str, ...] = ()
    bullets: tuple[str, ...] = ("•", "‣", "◦", "▪", "●", "■", "-", "*", "–")

    def __post_init__(self) -> None:
        check_numbers(self, (r.parameter for r in RULES))
        for name in ("languages", "stop_words", "bullets"):
            tuple_of_words(self, name)
        unknown = [code for code in self.languages if code not in STOP_WORDS]
        if unknown:
            msg = (
                f"Gopher: languages must be some of {', '.join(sorted(STOP_WORDS))}, not {', '.join(unknown)}; "
                "give your own stop_words=, or switch the rule off with min_stop_words=None"
            )
            raise PlanError(msg)
        bare = [w for w in self.stop_words if not any(lowered()[ord(c)] & IN_WORD for c in w)]
        if bare:
            msg = f"Gopher: the stop word {bare[0]!r} must have a letter, since stop words are compared by letters"
            raise PlanError(msg)

    @property
    def scores(self) -> Mapping[str, pa.DataType]:
        """Names and types of the columns that the filter adds, one per score: int64 for word counts, else float64."""
        return {r.score: pa.int64() if r.score in COUNTED else pa.float64() for r in RULES}

    @property
    def measure(self) -> Any:
        """The values that decide the scores: the lists of stop words, and the bullets."""
        own = (self.stop_words,) if self.stop_words else ()
        return (*(STOP_WORDS[code] for code in dict.fromkeys(self.languages)), *own), self.bullets

    def score(self, batch: Batch) -> Mapping[str, pa.Array]:
        """Return a column for each score that the rules use, by name, with a value per text."""
        offsets, data = B.buffers(batch)
        rules = K.GopherRules(pack(self.bullets), *pack_words(self.measure[0]), classes(), lowered())
        return _shares(K.count(offsets, data, rules))

    def decide(self, scores: Mapping[str, pa.Array]) -> pa.StringArray:
        """Return the reason of the first rule of the table that drops each document, null if none does.

        scores: the columns of `score`.
        """
        return reasons(self, RULES, scores)


def pack_words(lists: tuple[tuple[str, ...], ...]) -> tuple[Any, Any, int, int]:
    """Return lists of stop words in the form that the kernel reads, as four values.

    They are the sorted hashes of all words, uint64[words]; for each word, the lists that have it (bit k: list k),
    uint64[words]; the number of lists; and the number of letters of the longest word.
    """
    held: dict[int, int] = {}
    longest = 0
    for k, words in enumerate(lists):
        for word in words:
            data = np.frombuffer(word.encode(), np.uint8)
            data.flags.writeable = False
            h = int(K.letters_hash(data, 0, len(data), len(word), lowered()))
            held[h] = held.get(h, 0) | 1 << k
            longest = max(longest, len(word))
    keys = sorted(held)
    return np.array(keys, np.uint64), np.array([held[h] for h in keys], np.uint64), len(lists), longest


def _shares(counts: I64) -> dict[str, pa.Array]:
    """Return the scores of `RULES`, in their order, from the kernel's counts."""
    n = {name: counts[:, k] for k, name in enumerate(K.COUNTS)}
    words, chars, lines = n["words"], n["chars"], n["lines"]
    values = [
        pa.array(words), share(chars, words), share(n["hashes"], words), share(n["ellipses"], words),
        share(n["bullets"], lines), share(n["trailing"], lines), share(n["alphabetic"], words),
        pa.array(n["stop_words"]), share(n["dup_lines"], lines), share(n["dup_paragraphs"], n["paragraphs"]),
        share(n["dup_line_chars"], chars), share(n["dup_paragraph_chars"], chars),
        *(share(n[f"gram_{k}"], chars) for k in range(2, 11)),
    ]  # fmt: skip
    return dict(zip(dict.fromkeys(r.score for r in RULES), values, strict=True))
