"""RefinedWeb: remove boilerplate lines of pages, and drop pages that are mostly boilerplate."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

from dataprep.core.model.batch import Batch
from dataprep.core.model.ledger import Ledger
from dataprep.core.model.stage import Stage
from dataprep.errors import PlanError
from dataprep.filters.line_rules import rewritten
from dataprep.filters.thresholds import PRESET, check_numbers, check_words, take_preset
from dataprep.filters.word_lists import COUNTERS, DCLM_COUNTERS
from dataprep.unicode.spaced import marks_of
from dataprep.unicode.text import LINE, SPACE, classes, lowered
from dataprep.unicode.words import word_table

from . import kernel as K
from . import phrases as P
from .dclm_lines import tables

NUMBERS = ("max_upper", "max_numeric", "min_line_words", "max_edit_words", "max_removed_words")
PRESETS: dict[str, dict[str, Any]] = {"paper": {"counters": COUNTERS}, "dclm": {"counters": DCLM_COUNTERS}}
PHRASES = ("counters", "prefixes", "suffixes", "anywhere")


@dataclass(frozen=True, kw_only=True)
class RefinedWeb(Stage):
    """Remove boilerplate lines, and drop documents that lose too many words (Penedo et al. 2023, G.2; DCLM).

    >>> RefinedWeb()
    >>> RefinedWeb(suffixes=("read more...", "lire la suite", "اقرأ المزيد"))
    >>> RefinedWeb(preset="dclm")                       # lines, words and counters of DCLM's code
    >>> RefinedWeb(max_removed_words=None)              # removes lines, and drops only pages that are then empty

    | parameter | rule | counted as |
    |---|---|---|
    | max_upper | a line is dropped if more than 0.5 of its characters are upper case (DCLM's "mainly") | upper_case |
    | max_numeric | it is dropped if more than 0.999999 of them are numeric ("only", DCLM's number) | numbers |
    | counters | it is dropped if it consists of a number and one of these words ("3 likes", "1.2K views") | counter |
    | min_line_words | it is dropped if it has fewer words than 2 | few_words |
    | max_edit_words, prefixes, suffixes, anywhere | these phrases are removed from lines of at most 10 words | edited |
    | max_removed_words | the document is dropped if it lost more than 0.05 of its words | (reason) removed_words |

    The rules are applied in this order, and lines are counted as `lines.REASON` (`lines.valid`: unchanged). Texts are
    split into lines as by `str.splitlines`. Blank lines are kept and not counted; a line is dropped together with its
    line break. Characters are code points other than white space. Phrases are found in any case, and also inside words;
    if several phrases start at the same offset, the longest one is removed. An edited line is stripped, and dropped if
    it contains no more words. A document without words is dropped as `empty`. None or () switches a rule off. The paper
    describes types of phrases with one example each; these examples are the defaults. The default `counters` are
    English, French and Arabic words. To filter for quality and repetition as both papers do, use `Gopher`.

    Args:
        word_split: the definition of a word, as in `Gopher`; with "blanks", words are runs of characters.
        preset: "paper", or "dclm" for these rules of DCLM's code: lines end at line feeds only, their white space
            counts among their characters, lines of white space are dropped, texts are stripped after nearly every rule,
            words count in `max_removed_words` if they begin with a letter or digit, and `counters` are twelve English
            words. A phrase is removed with one blank before it (for a prefix: after it), a full stop in a phrase
            matches any character, and edited lines are not stripped.

    Raises PlanError for an unknown preset or `word_split`, a number below 0, or a phrase that cannot occur in a
    stripped line.
    """

    compiled: ClassVar[bool] = True
    VERSION: ClassVar[int] = 5

    preset: str = "paper"
    word_split: str = "blanks"
    max_upper: float | None = 0.5
    max_numeric: float | None = 0.999999
    counters: tuple[str, ...] = field(default=PRESET, repr=False)
    min_line_words: int | None = 2
    max_edit_words: int | None = 10
    prefixes: tuple[str, ...] = ("sign-in",)
    suffixes: tuple[str, ...] = ("read more...",)
    anywhere: tuple[str, ...] = ("items in cart",)
    max_removed_words: float | None = 0.05

    def __post_init__(self) -> None:
        take_preset(self, PRESETS)
        check_words(self)
        check_numbers(self, NUMBERS)
        for name in PHRASES:
            value = getattr(self, name)
            object.__setattr__(self, name, tuple(value) if isinstance(value, list) else value)
            _check_phrases(name, getattr(self, name))

    def __call__(self, batches: Iterator[Batch], stats: Ledger) -> Iterator[Batch]:
        """Yield the batches with corrected texts, without the documents that a rule drops; count lines by rule."""
        yield from rewritten(batches, stats, K.correct, self._rules(), P.NAMES, P.REMOVED_WORDS, "stripped")

    def _rules(self) -> P.RefinedWebRules:
        def limit(value: float | None) -> float:
            return float("inf") if value is None else float(value)

        dclm = self.preset == "dclm"
        plain, lower, folds = tables() if dclm else (classes(), lowered(), lowered())

        def pack(phrases: tuple[str, ...]) -> P.PackedPhrases:
            return P.pack_phrases(tuple(p.replace(".", chr(P.ANY)) for p in phrases) if dclm else phrases, folds)

        return P.RefinedWebRules(
            as_dclm=dclm,
            max_upper=limit(self.max_upper),
            max_numeric=limit(self.max_numeric),
            counters=P.pack_phrases(self.counters),
            min_line_words=int(self.min_line_words or 0),
            max_edit_words=int(self.max_edit_words or 0),
            prefixes=pack(self.prefixes),
            suffixes=pack(self.suffixes),
            anywhere=pack(self.anywhere),
            max_removed=limit(self.max_removed_words),
            marks=marks_of(self.word_split),
            words=word_table(),
            classes=plain,
            lower=lower,
            folds=folds,
        )


def _check_phrases(name: str, value: Any) -> None:
    """Raise PlanError for phrases that cannot occur in a stripped line."""
    if not isinstance(value, tuple) or not all(isinstance(v, str) and v for v in value):
        msg = f'RefinedWeb: {name}={value!r} must be a tuple of phrases, such as ("read more...",), or ()'
        raise PlanError(msg)
    for phrase in value:
        bits = [int(classes()[ord(c)]) for c in phrase]
        if any(b & LINE for b in bits) or (bits[0] | bits[-1]) & SPACE:
            msg = f"RefinedWeb: {phrase!r} in {name} must have no white space at its ends and no line break"
            raise PlanError(msg)
