"""Percentiles: drop documents or paragraphs with scores outside a range that is determined per language."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dataprep.core.model import batch as B
from dataprep.core.model.dataset import Dataset
from dataprep.core.model.estimator import Estimator
from dataprep.core.model.part import Part
from dataprep.core.model.score import ScoredFilter, number_or_null
from dataprep.core.model.tables import NOBODY, SPAN, VERDICTS, new_rows, span_rows, write_spans, write_verdicts
from dataprep.core.model.verdict import CutSpans, DropIds, Verdict
from dataprep.core.run.passes import Pass
from dataprep.core.run.runner import Runner
from dataprep.errors import PlanError
from dataprep.lazy import compute as pc
from dataprep.lazy import parquet as pq
from dataprep.store import files, receipts

from .thresholds import given_fields

Percents = str | tuple[float, float]
Bounds = Mapping[str, tuple[float | None, float | None]]  # by language, "" if there is none
NAMED = {"head": (0.0, 30.0), "middle": (30.0, 60.0), "tail": (60.0, 100.0)}  # as in LLaMA's and CCNet's buckets
BY = "language"
PREVIEW_CHARS = 300


@dataclass(frozen=True)
class Percentiles(Estimator):
    """Keep documents or paragraphs whose score is between two percentiles of the corpus, per language; an Estimator.

    >>> Percentiles(Quality(model="quality.bin"), top=0.1)          # doctest: +SKIP
    >>> Percentiles(Perplexity(model="en.arpa"), cut="head")        # doctest: +SKIP

    Args:
        filter: a filter with one score per document or paragraph, and a parameter `score_range=(low, high)`, which must
            be unset. If the corpus already has a column with this score (`dp.Score`), computed by the same model, the
            column is used.
        cut: the percentiles (low, high), where 0 and 100 set no bound; or CCNet's "head" (0, 30), "middle" (30, 60) or
            "tail" (60, 100).
        top: instead of `cut`, the share (0 to 1) of the documents to keep, which are those with the highest scores.
        min_scores: the minimum number of scores of a language. If a language has fewer, all its documents are kept,
            since percentiles of few scores are not meaningful.

    A bound is interpolated linearly between two scores and rounded to 1e-4. A score equal to the upper bound is out of
    range, so each score is in exactly one of head, middle and tail. Documents without a score are kept or dropped by
    the rule of the filter. Paragraphs out of range are removed from the text, and documents without any remaining text
    are dropped ("too_short_after_cuts").

    The languages are those of the column `language`, if the column exists. `facts` of the fitted stage contains the
    bounds of each language and the number of scores. Scores are held in memory, at about 50 bytes each. Raises
    PlanError for a filter that does not have exactly one score, or for an invalid `cut` or `top`.
    """

    filter: ScoredFilter
    cut: Percents | None = field(default=None, kw_only=True)
    top: float | None = field(default=None, kw_only=True)
    min_scores: int = field(default=10, kw_only=True)

    VERSION: ClassVar[int] = 2

    def __post_init__(self) -> None:
        if not isinstance(self.filter, ScoredFilter) or not hasattr(self.filter, "score_range"):
            msg = (
                f"filter={self.filter!r} must be a filter with score_range=(low, high), such as "
                "dp.Perplexity(model=...)"
            )
            raise PlanError(msg)
        if [pa.types.is_floating(kind) or pa.types.is_list(kind) for kind in self.filter.scores.values()] != [True]:
            msg = f"{self.filter.name} must have one score per document or paragraph; choose another filter"
            raise PlanError(msg)
        if "score_range" in given_fields(self.filter):
            msg = (
                f"score_range={self.filter.score_range!r} and percentiles both set the range of {self.filter.name}; "
                "leave score_range out"
            )
            raise PlanError(msg)
        if (self.cut is None) == (self.top is None):
            msg = f"cut={self.cut!r}, top={self.top!r}: use one of them, such as top=0.1"
            raise PlanError(msg)
        if self.top is not None and (not isinstance(self.top, float) or not 0 < self.top < 1):
            msg = f"top={self.top!r} must be a share of the corpus: more than 0, less than 1"
            raise PlanError(msg)
        if not 0 <= self._range[0] < self._range[1] <= 100:
            msg = f"cut={self.cut!r} must be {', '.join(map(repr, NAMED))}, or two percentiles such as (1, 90)"
            raise PlanError(msg)

    @property
    def _range(self) -> tuple[float, float]:
        if self.top is not None:
            return 100 * (1 - self.top), 100.0
        if isinstance(self.cut, str):
            return NAMED.get(self.cut, (0.0, -1.0))
        return self.cut if isinstance(self.cut, tuple) and len(self.cut) == 2 else (0.0, -1.0)

    @property
    def name(self) -> str:
        """The name of the filter, which is used in statistics."""
        return self.filter.name

    @property
    def needs(self) -> tuple[str, ...]:  # type: ignore[override]
        """The names of the columns that the filter reads in addition to those of every batch."""
        return self.filter.needs

    @property
    def only_drops(self) -> bool:  # type: ignore[override]
        """True if whole documents are dropped; False if the filter scores paragraphs, which are cut out."""
        return not self._of_paragraphs

    def recipe(self) -> Any:
        """Return the values that identify this stage: those that determine the filter's scores, and the percentiles."""
        return self.filter.measure_key().decode(), self._range, self.min_scores

    def warm(self) -> None:
        """Load the models of the filter, before workers start."""
        self.filter.warm()

    @property
    def _of_paragraphs(self) -> bool:
        return not pa.types.is_floating(next(iter(self.filter.scores.values())))

    def fit(self, docs: Dataset, runner: Runner, out: str) -> Verdict:
        """Score all documents of `docs`, determine the range of each language, and return the stage that drops or cuts.

        Writes the scores of each input part, and a table of the documents to drop or the spans to cut, into the folder
        `out`.
        """
        own = self.key_for(docs)
        task = _WriteScores(out, own, self.filter)
        parts = [task.url(out, number) for number, _ in enumerate(runner.map(task, docs.tasks, f"{self.name} scores"))]
        bounds, facts = self.bounds(pa.concat_tables(map(_read, parts)) if parts else SCORES.empty_table())
        url = files.join(out, "verdicts.parquet")
        judged = (self.reasons(_read(part), bounds) for part in parts)
        write = partial(write_spans, url, map(_spans, judged))
        if not self._of_paragraphs:
            write = partial(write_verdicts, url, map(_drops, judged))
        receipts.once(url + ".json", own, lambda: {"files": [url], "n": write()})
        if self._of_paragraphs:
            return CutSpans(spans=url, key=own, estimator=self.name, facts=facts)
        return DropIds(verdicts=url, key=own, estimator=self.name, facts=facts)

    def bounds(self, scores: pa.Table) -> tuple[Bounds, dict[str, Any]]:
        """Return the range of each language, {language: (low, high)}, and figures for reports.

        Args:
            scores: the rows of SCORES (id, language, score, start, end).

        A bound that is not set is None. The figures are {"cuts": {language: {"low", "high": bounds, "scores": number of
        scores}}}. Documents without a language are grouped under "", which is reported as "all" in the figures.
        """
        found: dict[str, tuple[float | None, float | None]] = {}
        facts: dict[str, Any] = {}
        low, high = self._range
        for name in sorted(pc.unique(scores[BY]).to_pylist()):
            mine = scores.filter(pc.equal(scores[BY], name))["score"].to_numpy()
            values = mine[~np.isnan(mine)]
            found[name] = _bounds(values, low, high) if len(values) >= self.min_scores else (None, None)
            facts[name or "all"] = {"low": found[name][0], "high": found[name][1], "scores": len(values)}
        return found, {"cuts": facts}

    def reasons(self, scores: pa.Table, bounds: Bounds) -> pa.Table:
        """Return the rows of `scores` with a column `reason`: the reason to drop the row, or null if it is kept.

        Args:
            scores: the rows of SCORES (id, language, score, start, end), one per document or paragraph.
            bounds: (low, high) by language.
        """
        name = next(iter(self.filter.scores))
        why = np.full(len(scores), None, object)
        languages = np.asarray(scores[BY].to_pylist(), object)
        column = scores["score"].combine_chunks()
        for language, keep in bounds.items():
            rows = np.flatnonzero(languages == language)
            filtered: Any = replace(self.filter, score_range=keep)  # type: ignore[type-var]
            mine = column.take(pa.array(rows))
            decided = filtered.reasons(mine) if self._of_paragraphs else filtered.decide({name: mine})
            why[rows] = decided.to_pylist()
        return scores.append_column("reason", pa.array(why, pa.string()))

    def preview(self, docs: Dataset, n: int = 20) -> pa.Table:
        """Return texts that would be dropped: for each language, the `n` documents or paragraphs nearest to its bounds.

        The table has the columns id, language, score, reason and text (its first 300 characters); the nearest rows come
        first.

        - docs: the documents; if they have stored scores (`dp.Score`), these are not computed again.
        """
        return self.look(docs, n)[1]

    def look(self, docs: Dataset, n: int) -> tuple[dict[str, Any], pa.Table]:
        """Return figures of each language, and the table that `preview` returns.

        The figures are {language: {"low", "high": the language's bounds, "scores": number of scores, "lost": number of
        documents or paragraphs that would be dropped}}.
        """
        scores = pa.concat_tables([*(_table(batch, self.filter) for batch in docs.batches()), SCORES.empty_table()])
        bounds, facts = self.bounds(scores)
        lost = self.reasons(scores, bounds)
        lost = lost.filter(pc.is_valid(lost["reason"]))
        for name in bounds:
            facts["cuts"][name or "all"]["lost"] = pc.sum(pc.equal(lost[BY], name)).as_py() or 0
        rows = [row for name, keep in bounds.items() for row in _nearest(lost, name, keep, n)]
        lost = lost.take(pa.array(rows, pa.int64()))
        shown = lost.append_column("text", pa.array(_texts(docs, lost), pa.string())).drop_columns(["start", "end"])
        return facts["cuts"], shown


# One row per document or paragraph: its score, and its range in the text in UTF-8 bytes.
SCORES = pa.schema([
    ("id", pa.uint64()), (BY, pa.string()), ("score", pa.float64()), ("start", pa.int64()), ("end", pa.int64()),
])  # fmt: skip


@dataclass(frozen=True)
class _WriteScores(Pass[Part]):
    """A task that writes the scores of a part."""

    folder: ClassVar[str] = "scores"

    filter: ScoredFilter

    def write(self, url: str, item: Part) -> dict[str, Any]:
        with files.atomic(url) as f, pq.ParquetWriter(f, SCORES, compression="zstd") as writer:
            for batch in item.batches(None):
                writer.write_table(_table(batch, self.filter))
        return {}


def _read(url: str) -> pa.Table:
    with files.open_arrow(url) as f:
        return pq.read_table(f)


def _table(batch: B.Batch, filter_: ScoredFilter) -> pa.Table:
    """Return the scores of a batch's documents or paragraphs; the language is "" if there is none."""
    score = filter_.scores_of(batch)[next(iter(filter_.scores))]
    named = BY in batch.schema.names
    languages = pc.fill_null(batch.column(BY).cast(pa.string()), "") if named else pa.repeat("", batch.num_rows)
    offsets, data = B.buffers(batch)
    starts, ends, row = offsets[:-1], offsets[1:], np.arange(batch.num_rows)
    if pa.types.is_list(score.type):
        row = np.repeat(row, score.value_lengths().to_numpy())
        score = score.flatten()
        feeds = np.flatnonzero(data[offsets[0] : offsets[-1]] == ord("\n")) + offsets[0]
        starts, ends = np.sort(np.append(starts, feeds + 1)), np.sort(np.append(ends, feeds))
    edges = (pa.array(x - offsets[row]) for x in (starts, ends))
    rows = pa.array(row)
    return pa.table([batch.column("id").take(rows), languages.take(rows), score, *edges], schema=SCORES)


def _drops(judged: pa.Table) -> pa.RecordBatch:
    """Return verdicts on the documents with a reason."""
    dropped = judged.filter(pc.is_valid(judged["reason"]))
    value = number_or_null(dropped["score"].combine_chunks())
    return new_rows(VERDICTS, id=dropped["id"], reason=dropped["reason"], value=value)


def _spans(judged: pa.Table) -> pa.RecordBatch:
    """Return the spans of paragraphs out of range, each with one line feed, the preceding one if possible."""
    ids, start, end = (judged[name].to_numpy() for name in ("id", "start", "end"))
    cut = np.asarray(pc.is_in(judged["reason"], pa.array(["perplexity_low", "perplexity_high"])))
    kept = np.cumsum(~cut)
    first = np.flatnonzero(np.append(True, ids[1:] != ids[:-1])) if len(ids) else np.zeros(0, np.intp)
    n = np.diff(first, append=len(ids))
    before = kept - np.repeat((kept - ~cut)[first], n) > 0
    last = np.repeat(end[first + n - 1], n) if len(ids) else end
    spans = np.zeros(int(cut.sum()), SPAN)
    spans["id"], spans["duplicate_of"] = ids[cut], NOBODY
    spans["start"] = (start - before)[cut]
    spans["end"] = np.where(before, end, np.minimum(end + 1, last))[cut]
    some = spans["end"] > spans["start"]
    return span_rows(spans[some], reason=judged["reason"].filter(pa.array(cut)).filter(pa.array(some)))


def _bounds(values: npt.NDArray[np.float64], low: float, high: float) -> tuple[float | None, float | None]:
    """Return the bounds at two percentiles, None at 0 and 100. If most scores are equal, this score is in range."""
    found = [None if p in {0, 100} else round(float(np.percentile(values, p)), 4) for p in (low, high)]
    if found[0] is not None and found[0] == found[1]:
        found[1] = round(found[0] + 1e-4, 4)
    return found[0], found[1]


def _nearest(lost: pa.Table, language: str, keep: tuple[float | None, float | None], n: int) -> list[int]:
    """Return the rows of a language that are nearest to a bound, by ratio; rows without a score come last."""
    rows = np.flatnonzero(np.asarray(lost[BY].to_pylist(), object) == language)
    score = lost["score"].to_numpy()[rows]
    low, high = keep
    far = np.full(len(rows), np.inf)
    for bound in (low, high):
        if bound:
            far = np.fmin(far, np.abs(np.log(np.maximum(score, 1e-9) / bound)))
    return rows[np.argsort(far, kind="stable")[:n]].tolist()  # type: ignore[no-any-return]


def _texts(docs: Dataset, lost: pa.Table) -> list[str]:
    """Return the first characters of documents or paragraphs."""
    found: dict[int, bytes] = {}
    for batch in docs.batches(["id", "text"]):
        hit = batch.filter(pc.is_in(batch.column("id"), lost["id"].combine_chunks()))
        found |= {row["id"]: row["text"].encode() for row in hit.to_pylist()}
    return [found[row["id"]][row["start"] : row["end"]].decode()[:PREVIEW_CHARS] for row in lost.to_pylist()]
