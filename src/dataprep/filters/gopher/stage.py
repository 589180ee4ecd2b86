"""Gopher: the rules of MassiveText for quality and repetition, with every threshold as a parameter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from dataprep.core.model import batch as B
from dataprep.core.model.batch import Batch
from dataprep.core.model.score import ScoredFilter
from dataprep.errors import PlanError
from dataprep.filters.packed_strings import pack
from dataprep.filters.preset_folder import counted_as, take_preset_or_folder
from dataprep.filters.thresholds import (
    PRESET,
    Threshold,
    check_numbers,
    compared,
    reasons,
    share,
    tuple_of_words,
)
from dataprep.filters.word_lists import STOP_WORDS
from dataprep.lazy import compute as pc
from dataprep.unicode.language_tags import known_as
from dataprep.unicode.spaced import CHOICES, spaced, word_classes
from dataprep.unicode.text import I64, IN_WORD, lowered

from . import kernel as K
from .published_scores import published_scores

RULES = (
    Threshold("min_words", "gopher_words", "<", "too_few_words"),
    Threshold("max_words", "gopher_words", ">", "too_many_words"),
    Threshold("min_mean_word_chars", "gopher_mean_word_chars", "<", "short_words"),
    Threshold("max_mean_word_chars", "gopher_mean_word_chars", ">", "long_words"),
    Threshold("max_hash_signs", "gopher_hashes", ">", "hashes"),
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
OF_TEXT = (
    "hashes", "ellipses", "lines", "bullets", "trailing", "paragraphs", "dup_lines", "dup_line_chars", "dup_paragraphs",
    "dup_paragraph_chars",
)  # fmt: skip
COUNTED = {"gopher_words", "gopher_stop_words"}  # integers; all others are shares, or a mean


_PAPER: dict[str, Any] = {
    "word_split": "blanks",
    "min_words": 50,
    "max_words": 100_000,
    "min_mean_word_chars": 3,
    "max_mean_word_chars": 10,
    "max_hash_signs": 0.1,
    "max_ellipses": 0.1,
    "max_bullet_lines": 0.9,
    "max_ellipsis_lines": 0.3,
    "min_alphabetic": 0.8,
    "min_stop_words": 2,
    "max_dup_lines": 0.30,
    "max_dup_paragraphs": 0.30,
    "max_dup_line_chars": 0.20,
    "max_dup_paragraph_chars": 0.20,
    "max_top_2gram": 0.20,
    "max_top_3gram": 0.18,
    "max_top_4gram": 0.16,
    "max_dup_5gram": 0.15,
    "max_dup_6gram": 0.14,
    "max_dup_7gram": 0.13,
    "max_dup_8gram": 0.12,
    "max_dup_9gram": 0.11,
    "max_dup_10gram": 0.10,
    "bullets": ("•", "‣", "◦", "▪", "●", "■", "-", "*", "–"),
    "languages": ("en",),
    "stop_words": (),
}
PRESETS: dict[str, dict[str, Any]] = {
    "paper": _PAPER,
    "datatrove": _PAPER | {"word_split": "punctuation", "bullets": ("•", "-")},
    "dolma": _PAPER
    | {"max_ellipses": None, "max_dup_line_chars": 0.30, "max_dup_paragraphs": None, "max_dup_paragraph_chars": None}
    | {"bullets": ("*", "-")},
    "dclm": _PAPER | {"max_ellipses": None, "bullets": ("●", "•", "*", "-")},
}


@dataclass(frozen=True, kw_only=True)
class Gopher(ScoredFilter):
    """Drop documents that do not look like prose, or that contain many repetitions (Rae et al. 2021, A.1.1, table A1).

    >>> Gopher()                                               # English, as published
    >>> Gopher(languages=("ar", "ary", "ary-Latn", "fr"))      # two stop words of any one of these
    >>> Gopher(min_words=None, stop_words=("wach", "dyal"))    # chats: any length, additional stop words
    # scripts without spaces between words
    >>> Gopher(word_split="unicode", languages=(), stop_words=("の", "に", "は"))
    >>> Gopher(preset="dclm")                                  # as in the code of DCLM
    >>> Gopher(preset="presets/ary")                           # doctest: +SKIP

    A *word* is a run of characters without white space (`str.split`). With `word_split="unicode"`, words have the
    boundaries of docs/words.md, and punctuation is not a word. With `word_split="punctuation"`, each run of one
    punctuation mark is a word, too; this approximates the tokenizers of published code. *Characters* are the code
    points of words; white space is not counted. *Lines* are those of `str.splitlines`, and blank lines are not counted.
    *Paragraphs* are separated by blank lines. Two lines, or two paragraphs, are equal if their words between white
    space are equal.

    | parameter | a document is dropped if (numbers as published) | reason |
    |---|---|---|
    | min_words, max_words | it has fewer words than 50, or more than 100,000 | too_few_words, too_many_words |
    | min_, max_mean_word_chars | the mean word length is below 3 or above 10 characters | short_words, long_words |
    | max_hash_signs, max_ellipses | it has more than 0.1 `#`, or ellipses (`...`, `…`), per word | hashes, ellipses |
    | max_bullet_lines | more than 0.9 of the lines start with one of `bullets` | bullet_lines |
    | max_ellipsis_lines | more than 0.3 of the lines end with `...` or `…` | ellipsis_lines |
    | min_alphabetic | fewer than 0.8 of the words contain a letter | not_alphabetic |
    | min_stop_words | it has fewer than 2 distinct stop words | few_stop_words |
    | max_dup_lines, max_dup_paragraphs | more than 0.3 of them repeat earlier ones | duplicate_lines, ..._paragraphs |
    | max_dup_line_chars, max_dup_paragraph_chars | over 0.2 of the characters are in these repeats | ..._chars |
    | max_top_2gram ... 4gram | over 0.20, 0.18, 0.16 of the characters are in the most frequent one | top_2gram ... |
    | max_dup_5gram ... 10gram | over 0.15 ... 0.10 of the characters are in repeated n-grams | duplicate_5gram ... |

    The mean word length excludes words with letters of scripts without spaces. If no word remains, it is null, and the
    rule drops nothing. Accents, vowel signs of Arabic or Hebrew, and the tatweel do not count towards it. None switches
    a rule off.

    Args:
        word_split: the definition of a word: "blanks", "unicode" or "punctuation", as above.
        languages: the names of stop-word lists: ar, ary, ary-Latn, de, en (as published), es and fr. Only the list with
            the most matches counts, so an additional list never drops additional documents.
        stop_words: a list of additional stop words; with languages=(), no other list is used.
        bullets: the strings that start a line of a list. The default is not from the paper.
        preset: "paper"; or "datatrove", "dolma" or "dclm", for the word definitions, denominators, thresholds and
            repetition counts of that project's code (docs/filters.md lists the differences); or a folder written by
            `dataprep fit-language`, with the thresholds and stop words of one language and the definitions of "paper".

    The scores are the columns gopher_*, one per rule, in the unit of the rule's threshold.

    The paper leaves some details open. Here, the most frequent n-gram (the first of equally frequent ones) is counted
    once per occurrence, even if occurrences overlap, and must occur at least twice. A character inside several repeated
    n-grams is counted once, and the first occurrence of an n-gram is not a repetition. **Stop words** are compared by
    their letters in lower case ("The," is "the"). Repetition is decided by 64-bit hashes; the texts are not compared
    (see kernel.py).

    Raises PlanError for an unknown preset or `word_split`, a language without a list, a threshold below 0, or a stop
    word without a letter.
    """

    compiled: ClassVar[bool] = True
    VERSION: ClassVar[int] = 2

    preset: str = "paper"
    word_split: str = PRESET
    min_words: int | None = PRESET
    max_words: int | None = PRESET
    min_mean_word_chars: float | None = PRESET
    max_mean_word_chars: float | None = PRESET
    max_hash_signs: float | None = PRESET
    max_ellipses: float | None = PRESET
    max_bullet_lines: float | None = PRESET
    max_ellipsis_lines: float | None = PRESET
    min_alphabetic: float | None = PRESET
    min_stop_words: int | None = PRESET
    max_dup_lines: float | None = PRESET
    max_dup_paragraphs: float | None = PRESET
    max_dup_line_chars: float | None = PRESET
    max_dup_paragraph_chars: float | None = PRESET
    max_top_2gram: float | None = PRESET
    max_top_3gram: float | None = PRESET
    max_top_4gram: float | None = PRESET
    max_dup_5gram: float | None = PRESET
    max_dup_6gram: float | None = PRESET
    max_dup_7gram: float | None = PRESET
    max_dup_8gram: float | None = PRESET
    max_dup_9gram: float | None = PRESET
    max_dup_10gram: float | None = PRESET
    languages: tuple[str, ...] = PRESET
    stop_words: tuple[str, ...] = PRESET
    bullets: tuple[str, ...] = PRESET

    def __post_init__(self) -> None:
        take_preset_or_folder(self, PRESETS, "gopher")
        most = CHOICES if self._counted == "paper" else (PRESETS[self.preset]["word_split"],)
        if self.word_split not in most:
            msg = (
                f"Gopher: word_split={self.word_split!r} must be {' or '.join(map(repr, most))} with "
                f"preset={self.preset!r}"
            )
            raise PlanError(msg)
        check_numbers(self, (r.parameter for r in RULES))
        for name in ("languages", "stop_words", "bullets"):
            tuple_of_words(self, name)
        object.__setattr__(self, "languages", tuple(known_as(code, STOP_WORDS) for code in self.languages))
        unknown = [code for code in self.languages if code not in STOP_WORDS]
        if unknown:
            msg = (
                f"Gopher: languages must be among {', '.join(sorted(STOP_WORDS))}, not {', '.join(unknown)}; "
                "set stop_words=, or switch the rule off with min_stop_words=None"
            )
            raise PlanError(msg)
        bare = [w for w in self.stop_words if not any(lowered()[ord(c)] & IN_WORD for c in w)]
        if bare:
            msg = f"Gopher: the stop word {bare[0]!r} must have a letter, since stop words are compared by letters"
            raise PlanError(msg)

    @property
    def _counted(self) -> str:
        return counted_as(self, PRESETS)

    @property
    def scores(self) -> Mapping[str, pa.DataType]:
        """Names and types of the columns that the filter adds, one per score: int64 for word counts, else float64."""
        return {r.score: pa.int64() if r.score in COUNTED else pa.float64() for r in RULES}

    @property
    def measure(self) -> Any:
        """The values that determine the scores: the lists of stop words, and the bullets."""
        own = (self.stop_words,) if self.stop_words else ()
        lists = (*(STOP_WORDS[code] for code in dict.fromkeys(self.languages)), *own)
        return lists, self.bullets, self._counted, self.word_split

    def recipe(self) -> Any:
        """Return the values that identify this stage: those of all parameters, whether a preset set them or not."""
        return self.measure, [getattr(self, rule.parameter) for rule in RULES]

    def score(self, batch: Batch) -> Mapping[str, pa.Array]:
        """Return a column for each score that the rules use, by name, with a value per text."""
        texts = B.buffers(batch)
        lists = self.measure[0]
        if self._counted != "paper":
            return published_scores(*texts, self.preset, self.bullets, lists)
        rules = K.GopherRules(pack(self.bullets), *pack_words(lists), word_classes(), lowered())
        found = K.count(*spaced(*texts, self.word_split), rules)
        return _shares(found, K.count(*texts, rules) if self.word_split == "unicode" else found)

    def decide(self, scores: Mapping[str, pa.Array]) -> pa.StringArray:
        """Return the reason of the first rule of the table that drops each document; null if no rule does.

        Args:
            scores: the columns of `score`.
        """
        return reasons(self, RULES, scores)

    def compared(self, scores: Mapping[str, pa.Array], reasons: pa.StringArray) -> Mapping[str, pa.Array]:
        """Return the score that the rule of each reason compared, as the column `value`."""
        return compared(RULES, scores, reasons)


def pack_words(lists: tuple[tuple[str, ...], ...]) -> tuple[Any, Any, int, int]:
    """Return lists of stop words in the form that the kernel reads, as four values.

    The values are: the sorted hashes of all words, uint64[words]; for each word, a bit mask of the lists that contain
    it (bit k is list k), uint64[words]; the number of lists; and the length of the longest word in letters.
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


def _shares(counts: I64, of_text: I64) -> dict[str, pa.Array]:
    """Return the scores of `RULES`, in their order, from the kernel's counts.

    Args:
        counts: the counts in texts with single spaces between words.
        of_text: the counts in the unchanged texts, for lines, paragraphs and symbols.
    """
    n = {name: counts[:, k] for k, name in enumerate(K.COUNTS)}
    n |= {name: of_text[:, K.COUNTS.index(name)] for name in OF_TEXT}
    text_chars = of_text[:, K.CHARS]
    words, chars, lines = n["words"], n["chars"], n["lines"]
    unknown = (words > 0) & (n["length_words"] == 0)  # no mean length for words that no space separates
    mean = pc.if_else(pa.array(unknown), pa.scalar(None, pa.float64()), share(n["lengths"], n["length_words"]))
    values = [
        pa.array(words), mean, share(n["hashes"], words), share(n["ellipses"], words),
        share(n["bullets"], lines), share(n["trailing"], lines), share(n["alphabetic"], words),
        pa.array(n["stop_words"]), share(n["dup_lines"], lines), share(n["dup_paragraphs"], n["paragraphs"]),
        share(n["dup_line_chars"], text_chars), share(n["dup_paragraph_chars"], text_chars),
        *(share(n[f"gram_{k}"], chars) for k in range(2, 11)),
    ]  # fmt: skip
    return dict(zip(dict.fromkeys(r.score for r in RULES), values, strict=True))
