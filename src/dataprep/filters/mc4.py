"""MC4: the rule of multilingual C4, which keeps pages with enough long lines.

Slow reference for the tests: tests/twins/mc4.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from dataprep.core.model import batch as B
from dataprep.core.model.batch import Batch
from dataprep.core.model.score import ScoredFilter
from dataprep.unicode.kernel import kernel
from dataprep.unicode.text import I64, U8

from .thresholds import Threshold, check_numbers, compared, reasons

RULES = (Threshold("min_paragraphs", "mc4_paragraphs", "<", "few_paragraphs"),)


@dataclass(frozen=True, kw_only=True)
class MC4(ScoredFilter):
    r"""Drop documents with too few long lines, as multilingual C4 does (Xue et al. 2021, 3.1).

    >>> MC4()
    >>> MC4(min_paragraphs=1, min_paragraph_chars=100)

    Args:
        min_paragraphs: the minimum number of paragraphs of a kept document; a document with fewer is dropped
            (`few_paragraphs`). 3 is the published value.
        min_paragraph_chars: the minimum number of code points of a line that counts as a paragraph. 200 is the
            published value. Lines end at `\n`, and all their characters count. None: every line is a paragraph, even an
            empty line.

    Texts are not changed. Multilingual C4 has no other text rules, except that it drops 99.9 % of pages with bad words:
    `BadWords(..., keep_fraction=0.001)`.

    Raises PlanError for a number below 0.
    """

    compiled: ClassVar[bool] = True

    min_paragraphs: int | None = 3
    min_paragraph_chars: int | None = 200

    def __post_init__(self) -> None:
        check_numbers(self, ["min_paragraphs", "min_paragraph_chars"])

    @property
    def scores(self) -> Mapping[str, pa.DataType]:
        """The name and type of the column that the filter adds: the number of paragraphs, int64."""
        return {"mc4_paragraphs": pa.int64()}

    @property
    def measure(self) -> Any:
        """The value that determines the score: the minimum length of a paragraph; 0 for None, which scores the same."""
        return self.min_paragraph_chars or 0

    def score(self, batch: Batch) -> Mapping[str, pa.Array]:
        """Return the number of paragraphs of each text, as the column `mc4_paragraphs`."""
        return {"mc4_paragraphs": pa.array(count_long_lines(*B.buffers(batch), self.measure))}

    def decide(self, scores: Mapping[str, pa.Array]) -> pa.StringArray:
        """Return the reason to drop each document; null to keep it.

        Args:
            scores: the columns of `score`.
        """
        return reasons(self, RULES, scores)

    def compared(self, scores: Mapping[str, pa.Array], reasons: pa.StringArray) -> Mapping[str, pa.Array]:
        """Return the score that the rule of each reason compared, as the column `value`."""
        return compared(RULES, scores, reasons)


@kernel
def count_long_lines(offsets: I64, data: U8, min_chars: float) -> I64:
    r"""Return the number of lines of each text, separated by `\n`, with `min_chars` code points or more, int64[n]."""
    out = np.zeros(len(offsets) - 1, np.int64)
    for d in range(len(out)):
        chars = 0
        for i in range(offsets[d], offsets[d + 1]):
            if data[i] == 0x0A:
                out[d] += chars >= min_chars
                chars = 0
            else:
                chars += data[i] & 0xC0 != 0x80
        out[d] += chars >= min_chars
    return out
