"""Percentiles: cuts calibrated on the corpus itself, for each language of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from dataprep.core import batch as B
from dataprep.core.dataset import Dataset
from dataprep.core.estimator import Estimator
from dataprep.core.part import Part
from dataprep.core.runner import Runner
from dataprep.core.score import ScoredFilter
from dataprep.core.tables import NOBODY, SPAN, VERDICTS, write_spans, write_verdicts
from dataprep.core.verdict import CutSpans, DropIds, Verdict
from dataprep.errors import PlanError
from dataprep.store import files, receipts
from dataprep.store.key import key

Cut = str | tuple[float, float]
Bounds = Mapping[str, tuple[float | None, float | None]]  # by language, "" where there is none
NAMED = {"head": (0.0, 30.0), "middle": (30.0, 60.0), "tail": (60.0, 100.0)}  # as LLaMA's and CCNet's buckets
BY = "language"
PREVIEW_CHARS = 300


@dataclass(frozen=True, kw_only=True)
class Percentiles(Estimator):
    """Keep what scores between two percentiles of the corpus, of each language's own; an Estimator.

    filter: one with `keep=(low, high)` and one score a document or a paragraph, such as `dp.Perplexity(model=...)`;
    where the corpus has that score already (`dp.Score`), made by the same model, nothing is measured again.
    Paragraphs are cut out, and documents of which nothing is left go ("left_too_short").
    cut: (low, high) in percent, of which 0 and 100 are no bound; or CCNet's "head" (0, 30), "middle" (30, 60), "tail"
    (60, 100). A bound lies between two documents by linear interpolation, and is rounded to 1e-4; what equals the
    upper one goes, so the three parts are disjoint and together everything. Languages are those of the column
    `language`, where there is one. Documents without a score go or stay as the filter says.
    min_scores: a language with fewer scores is kept whole, since percentiles of a few mean nothing.

    `facts` of the fitted stage has the bounds of each language, and how many scores they rest on. Scores are held in
    memory: some 50 bytes each.
    """

    filter: ScoredFilter
    cut: Cut
    min_scores: int = 10

    VERSION: ClassVar[int] = 1

    def __post_init__(self) -> None:
        if not isinstance(self.filter, ScoredFilter) or not hasattr(self.filter, "keep"):
            msg = f"Percentiles takes a filter with keep=(low, high), as dp.Perplexity(model=...), not {self.filter!r}"
            raise PlanError(msg)
        if [pa.types.is_floating(kind) or pa.types.is_list(kind) for kind in self.filter.scores.values()] != [True]:
            msg = f"{self.filter.name} has not one number for a document or a paragraph, and percentiles are of one"
            raise PlanError(msg)
        low, high = self._range
        if not 0 <= low < high <= 100:
            msg = f"cut={self.cut!r} is neither {', '.join(map(repr, NAMED))} nor two percentiles such as (1, 90)"
            raise PlanError(msg)

    @property
    def _range(self) -> tuple[float, float]:
        if isinstance(self.cut, str):
            return NAMED.get(self.cut, (0.0, -1.0))
        return self.cut if isinstance(self.cut, tuple) and len(self.cut) == 2 else (0.0, -1.0)

    @property
    def name(self) -> str:
        """Its filter's name."""
        return self.filter.name

    @property
    def needs(self) -> tuple[str, ...]:  # type: ignore[override]
        """What the filter reads."""
        return self.filter.needs

    def recipe(self) -> Any:
        """The measure and the percentiles."""
        return self.filter.measure_key().decode(), self._range, self.min_scores, self.VERSION

    def warm(self) -> None:
        """Read the filter's models."""
        self.filter.warm()

    @property
    def _of_paragraphs(self) -> bool:
        return not pa.types.is_floating(next(iter(self.filter.scores.values())))

    def fit(self, docs: Dataset, run: Runner, out: str) -> Verdict:
        """Measure everything, find the cuts; the stage that is returned drops what they cut off."""
        made_by = key((self, docs.key))
        task = _Measure(out=out, key=made_by, filter=self.filter)
        parts = [receipt["url"] for receipt in run.map(task, docs.tasks, f"{self.name} scores")]
        bounds, facts = self.bounds(pa.concat_tables(map(_read, parts)) if parts else _EMPTY.empty_table())
        url = files.join(out, "verdicts.parquet")
        judged = (self.reasons(_read(part), bounds) for part in parts)
        receipts.once(url + ".json", made_by, lambda: {"files": [url], "n": self._write(url, judged)})
        if self._of_paragraphs:
            return CutSpans(spans=url, key=made_by, estimator=self.name, facts=facts)
        return DropIds(verdicts=url, key=made_by, estimator=self.name, facts=facts)

    def _write(self, url: str, judged: Iterator[pa.Table]) -> int:
        return (
            write_spans(url, map(_spans, judged)) if self._of_paragraphs else write_verdicts(url, map(_drops, judged))
        )

    def bounds(self, scores: pa.Table) -> tuple[Bounds, dict[str, Any]]:
        """The range of each language, and the same with counts, for people."""
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
        """The table with a column `reason`: why each row goes, null where it stays."""
        name = next(iter(self.filter.scores))
        why = np.full(len(scores), None, object)
        languages = np.asarray(scores[BY].to_pylist(), object)
        column = scores["score"].combine_chunks()
        for language, keep in bounds.items():
            rows = np.flatnonzero(languages == language)
            filtered: Any = replace(self.filter, keep=keep)  # type: ignore[type-var]
            mine = column.take(pa.array(rows))
            decided = filtered.reasons(mine) if self._of_paragraphs else filtered.decide({name: mine})
            why[rows] = decided.to_pylist()
        return scores.append_column("reason", pa.array(why, pa.string()))

    def preview(self, docs: Dataset, n: int = 20) -> pa.Table:
        """What this cut would lose: the n documents, or paragraphs, of each language nearest to it.

        docs: best a sealed one with the scores (`dp.Score`), then this takes a moment. Columns: id, language, score,
        reason, text (300 characters of it); nearest first.
        """
        return self.look(docs, n)[1]

    def look(self, docs: Dataset, n: int) -> tuple[dict[str, Any], pa.Table]:
        """The bounds of each language with the number of "scores" and of those "lost", and the preview."""
        scores = pa.concat_tables([*(_table(batch, self.filter) for batch in docs.batches()), _EMPTY.empty_table()])
        bounds, facts = self.bounds(scores)
        lost = self.reasons(scores, bounds)
        lost = lost.filter(pc.is_valid(lost["reason"]))
        for name in bounds:
            facts["cuts"][name or "all"]["lost"] = pc.sum(pc.equal(lost[BY], name)).as_py() or 0
        rows = [row for name, keep in bounds.items() for row in _nearest(lost, name, keep, n)]
        lost = lost.take(pa.array(rows, pa.int64()))
        shown = lost.append_column("text", pa.array(_texts(docs, lost), pa.string())).drop_columns(["start", "end"])
        return facts["cuts"], shown


# A row a document, or a paragraph: what was measured, and where it stands in the text, in UTF-8 bytes.
_EMPTY = pa.schema([
    ("id", pa.uint64()), (BY, pa.string()), ("score", pa.float64()), ("start", pa.int64()), ("end", pa.int64()),
])  # fmt: skip


@dataclass(frozen=True)
class _Measure:
    """Write the scores of a part."""

    out: str
    key: str
    filter: ScoredFilter

    def __call__(self, item: Part) -> dict[str, Any]:
        url = files.join(self.out, "scores", f"part-{item.number:05d}.parquet")
        return receipts.once(url + ".json", self.key, lambda: self._write(url, item)) | {"url": url}

    def _write(self, url: str, item: Part) -> dict[str, Any]:
        with files.atomic(url) as f, pq.ParquetWriter(f, _EMPTY, compression="zstd") as writer:
            for batch in item.batches(None):
                writer.write_table(_table(batch, self.filter))
        return {"files": [url]}


def _read(url: str) -> pa.Table:
    with files.open_raw(url) as f:
        return pq.read_table(f)


def _table(batch: B.Batch, measured_by: ScoredFilter) -> pa.Table:
    """What a batch's documents, or their paragraphs, score; the language is "" where there is none."""
    score = measured_by.scores_of(batch)[next(iter(measured_by.scores))]
    named = BY in batch.schema.names
    languages = pc.fill_null(batch.column(BY).cast(pa.string()), "") if named else pa.repeat("", batch.num_rows)
    offsets, data = B.buffers(batch)
    starts, ends, row = offsets[:-1], offsets[1:], np.arange(batch.num_rows)
    if pa.types.is_list(score.type):
        row = np.repeat(row, score.value_lengths().to_numpy())
        score = score.flatten()
        feeds = np.flatnonzero(data[offsets[0] : offsets[-1]] == ord("\n")) + offsets[0]
        starts, ends = np.sort(np.append(starts, feeds + 1)), np.sort(np.append(ends, feeds))
    places = (pa.array(x - offsets[row]) for x in (starts, ends))
    rows = pa.array(row)
    return pa.table([batch.column("id").take(rows), languages.take(rows), score, *places], schema=_EMPTY)


def _drops(judged: pa.Table) -> pa.Table:
    """Verdicts on the documents with a reason."""
    gone = judged.filter(pc.is_valid(judged["reason"]))
    nobody = {
        name: pa.nulls(len(gone), kind) for name, kind in zip(VERDICTS.names[2:], VERDICTS.types[2:], strict=True)
    }
    return pa.table({"id": gone["id"], "reason": gone["reason"], **nobody})


def _spans(judged: pa.Table) -> npt.NDArray[Any]:
    """The paragraphs out of range, each with the line feed before it, or behind it where nothing before it stays."""
    ids, start, end = (judged[name].to_numpy() for name in ("id", "start", "end"))
    goes = np.asarray(pc.is_in(judged["reason"], pa.array(["perplexity_low", "perplexity_high"])))
    stay = np.cumsum(~goes)
    first = np.flatnonzero(np.append(True, ids[1:] != ids[:-1])) if len(ids) else np.zeros(0, np.intp)
    n = np.diff(first, append=len(ids))
    before = stay - np.repeat((stay - ~goes)[first], n) > 0
    last = np.repeat(end[first + n - 1], n) if len(ids) else end
    spans = np.zeros(int(goes.sum()), SPAN)
    spans["id"], spans["kept"] = ids[goes], NOBODY
    spans["start"] = (start - before)[goes]
    spans["end"] = np.where(before, end, np.minimum(end + 1, last))[goes]
    return spans[spans["end"] > spans["start"]]


def _bounds(values: npt.NDArray[np.float64], low: float, high: float) -> tuple[float | None, float | None]:
    """The bounds at two percentiles; 0 and 100 are none. If most scores are one number, it stays."""
    found = [None if p in {0, 100} else round(float(np.percentile(values, p)), 4) for p in (low, high)]
    if found[0] is not None and found[0] == found[1]:
        found[1] = round(found[0] + 1e-4, 4)
    return found[0], found[1]


def _nearest(lost: pa.Table, language: str, keep: tuple[float | None, float | None], n: int) -> list[int]:
    """The rows of a language that lie nearest to the cut they fell by, as a ratio; those without a score last."""
    rows = np.flatnonzero(np.asarray(lost[BY].to_pylist(), object) == language)
    score = lost["score"].to_numpy()[rows]
    low, high = keep
    far = np.full(len(rows), np.inf)
    for bound in (low, high):
        if bound:
            far = np.fmin(far, np.abs(np.log(np.maximum(score, 1e-9) / bound)))
    return rows[np.argsort(far, kind="stable")[:n]].tolist()  # type: ignore[no-any-return]


def _texts(docs: Dataset, lost: pa.Table) -> list[str]:
    """How some documents or paragraphs begin."""
    found: dict[int, bytes] = {}
    for batch in docs.batches(["id", "text"]):
        hit = batch.filter(pc.is_in(batch.column("id"), lost["id"].combine_chunks()))
        found |= {
            id_: text.encode() for id_, text in zip(*(hit.column(n).to_pylist() for n in ("id", "text")), strict=True)
        }
    places = zip(*(lost[name].to_pylist() for name in ("id", "start", "end")), strict=True)
    return [found[id_][start:end].decode()[:PREVIEW_CHARS] for id_, start, end in places]
