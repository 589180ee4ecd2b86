"""FineWeb: three line rules of the paper, and a fourth of its code; every threshold a parameter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import pyarrow as pa

from dataprep.core import batch as B
from dataprep.core.batch import Batch
from dataprep.core.score import ScoredFilter
from dataprep.filters.packed_strings import pack
from dataprep.filters.thresholds import Threshold, check_numbers, reasons, share, tuple_of_words
from dataprep.filters.word_lists import END_MARKS
from dataprep.unicode.text import classes

from . import kernel as K

RULES = (
    Threshold("min_end_mark_lines", "fineweb_end_mark_lines", "<=", "few_end_marks"),
    Threshold("max_short_lines", "fineweb_short_lines", ">=", "short_lines"),
    Threshold("max_dup_line_chars", "fineweb_dup_line_chars", ">=", "duplicate_line_chars"),
    Threshold("max_breaks", "fineweb_breaks", ">", "line_breaks"),
)


@dataclass(frozen=True, kw_only=True)
class FineWeb(ScoredFilter):
    """Drop documents that are lists, menus or repeated lines (Penedo et al. 2024, 3.6).

    >>> FineWeb()
    >>> FineWeb(max_dup_line_chars=0.01)                 # as in the authors' code
    >>> FineWeb(min_end_mark_lines=None)                 # poems, chats

    | parameter | a document is dropped if | paper | their code | reason |
    |---|---|---|---|---|
    | min_end_mark_lines | so many of the lines or fewer end with one of `end_marks` | 0.12 | 0.12 | few_end_marks |
    | max_short_lines | so many or more have `short_line_chars` characters at most | 0.67, 30 | 0.67, 30 | short_lines |
    | max_dup_line_chars | so much or more is in lines that occurred before | 0.1 | 0.01 | duplicate_line_chars |
    | max_breaks | it has more line breaks per word | | 0.3 | line_breaks |

    Lines end as `str.splitlines` ends them, are stripped, and blank ones are not counted; their characters are code
    points, white space inside included. Characters in repeated lines are those of words, as in `Gopher`. A word is a
    run without white space. None switches a rule off. If paper and code disagree, the default is the paper's;
    `max_breaks` is in the code alone. End marks are those of all scripts (`word_lists.END_MARKS`); early versions of
    the code have `. ! ? ' "`, later ones marks of many scripts.

    Raises PlanError for a threshold below 0, or for end marks that hold white space.
    """

    compiled: ClassVar[bool] = True

    min_end_mark_lines: float | None = 0.12
    max_short_lines: float | None = 0.67
    max_dup_line_chars: float | None = 0.1
    max_breaks: float | None = 0.3
    short_line_chars: int = 30
    end_marks: tuple[str, ...] = END_MARKS

    def __post_init__(self) -> None:
        check_numbers(self, (*RULES, Threshold("short_line_chars", "", "", "")))
        tuple_of_words(self, "end_marks")

    @property
    def scores(self) -> Mapping[str, pa.DataType]:
        """Columns of four shares."""
        return dict.fromkeys((r.score for r in RULES), pa.float64())

    @property
    def measure(self) -> Any:
        """End marks, and the length of a short line."""
        return self.end_marks, self.short_line_chars

    def score(self, batch: Batch) -> Mapping[str, pa.Array]:
        """Count the lines of each text."""
        rules = K.FineWebRules(pack(self.end_marks), int(self.short_line_chars), classes())
        n = dict(zip(K.COUNTS, K.count_lines(*B.buffers(batch), rules).T, strict=True))
        parts = {"ended": "lines", "short": "lines", "repeated_line_chars": "chars", "breaks": "words"}
        return {r.score: share(n[part], n[parts[part]]) for r, part in zip(RULES, parts, strict=True)}

    def decide(self, scores: Mapping[str, pa.Array]) -> pa.StringArray:
        """Return the first rule, in the order of the table, that a document breaks."""
        return reasons(self, RULES, scores)
