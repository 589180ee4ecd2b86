"""Quality: similarity of a document to reference texts, scored by a fastText classifier."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import InitVar, dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from dataprep.core.model import batch as B
from dataprep.core.model.batch import Batch
from dataprep.core.model.score import ScoredFilter
from dataprep.errors import PlanError
from dataprep.filters.thresholds import outside, range_elsewhere, range_of
from dataprep.unicode.text import whole_points

from . import models

Bound = float | None
DCLM = "hq"  # positive label of the published DCLM model


@dataclass(frozen=True, kw_only=True)
class Quality(ScoredFilter):
    """Keep documents to which a quality classifier assigns a high score (Li et al., "DataComp-LM", 2024).

    >>> Quality(model="quality.bin", score_range=0.018)    # scores of at least this
    >>> Quality(model="quality.bin", score_range=(0.5, 0.999))
    >>> Percentiles(Quality(model="quality.bin"), top=0.1)    # the best tenth of the corpus, as in DCLM

    Args:
        model: the path of a supervised fastText model, or its name in a folder of DATAPREP_MODELS (see `dataprep
            train-quality`).
        score_range: the minimum score (the model's probability of `label`) of a kept document; or (low, high), to keep
            documents with low <= score < high, where None sets no limit. The parameter is required, unless
            `Percentiles` sets the range.
        top: leave this parameter unset; it belongs to `Percentiles`.
        label: the positive label; None: the label that `train-quality` wrote next to the model, or "hq" (DCLM's label).
        max_bytes: the number of bytes from the start of a text that the model reads; None: all bytes, as in DCLM.

    Scores are rounded to 1e-4. The drop reasons are "quality_low" and "quality_high". To add the scores as the column
    `quality_score`, use `dp.Score`. Line feeds are replaced by spaces, as in DCLM. Needs the extra `langid`. Raises
    PlanError if the model or a parameter is invalid.
    """

    model: str
    score_range: Any = None
    top: InitVar[Any] = None  # raises: a parameter of `Percentiles`
    label: str | None = None
    max_bytes: int | None = None

    VERSION: ClassVar[int] = 1

    def __post_init__(self, top: Any) -> None:
        if top is not None:
            raise range_elsewhere(self, "top", top)
        if self.model == models.BUILTIN:
            msg = "Quality: model='builtin' identifies languages only; pass the path of a fastText model"
            raise PlanError(msg)
        if self.max_bytes is not None and (not isinstance(self.max_bytes, int) or self.max_bytes < 1):
            msg = f"max_bytes={self.max_bytes!r} must be a whole number of at least 1, or None"
            raise PlanError(msg)
        self._range  # noqa: B018 - raises
        labels = models.load(models.find(self.model)).labels
        if self._label not in labels:
            some = ", ".join([*labels[:9], *(["..."] if len(labels) > 9 else [])])
            msg = f"label={self.label!r} must be a label of {self.model!r}: {some}; choose one"
            raise PlanError(msg)

    @property
    def _range(self) -> tuple[float, float]:
        keep = self.score_range if isinstance(self.score_range, (tuple, list)) else (self.score_range, None)
        return range_of(keep, -1.0, 2.0, "a score such as 0.018 or a range (low, high)")

    @property
    def _label(self) -> str | None:
        if self.label is not None:
            return self.label
        return models.description(models.find(self.model)).get("positive") or DCLM

    @property
    def scores(self) -> Mapping[str, pa.DataType]:
        """Name and type of the column that the filter adds: `quality_score`, the probability of `label`."""
        return {"quality_score": pa.float64()}

    @property
    def measure(self) -> Any:
        """The values that determine the scores: the model's content, the label, and `max_bytes`."""
        return (models.identity(models.find(self.model)), self._label, self.max_bytes)

    def recipe(self) -> Any:
        """Return the values that identify this stage: the model's content (not its path), label, `max_bytes`, range."""
        return (self.measure, self._range)

    def warm(self) -> None:
        """Load the model, before workers start."""
        models.load(models.find(self.model))

    def score(self, batch: Batch) -> Mapping[str, pa.Array]:
        """Return the column `quality_score` by name: the model's probability of the label for each document."""
        offsets, data = B.buffers(batch)
        model, label = models.load(models.find(self.model)), self._label
        found = np.zeros(batch.num_rows)
        for row, (start, stop) in enumerate(zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)):
            if self.max_bytes is not None and stop - start > self.max_bytes:
                stop = whole_points(data, start, start + self.max_bytes)  # noqa: PLW2901
            shown = data[start:stop].tobytes()
            found[row] = next((p for p, name in model.top(shown, len(model.labels)) if name == label), 0.0)
        return {"quality_score": pa.array(models.round_scores(found))}

    def decide(self, scores: Mapping[str, pa.Array]) -> pa.StringArray:
        """Return the reason for which each document is dropped; null if it is kept.

        Args:
            scores: the columns of `score`.
        """
        return pa.array(outside(scores["quality_score"], self._range, "quality"), pa.string())
