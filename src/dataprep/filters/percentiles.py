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

from .. import batch as B
from .. import files
from ..dataset import Dataset
from ..errors import PlanError
from ..key import key
from ..part import Item
from ..run import Runner
from ..score import ScoredFilter
from ..verdict import DropIds, write_verdicts

Cut = str | tuple[float, float]
Bounds = Mapping[str, tuple[float | None, float | None]]  # by language, "" where there is none
NAMED = {"head": (0.0, 30.0), "middle": (30.0, 60.0), "tail": (60.0, 100.0)}  # as LLaMA's and CCNet's buckets
BY = "language"
PREVIEW_CHARS = 300


@dataclass(frozen=True, kw_only=True)
class Percentiles:
    """Keep documents whose score lies between two percentiles of the corpus, of each language's own; an Estimator.

    filter: one with `keep=(low, high)` and one score, such as `dp.Perplexity(model=...)`; where the corpus has that
    score already (`dp.Score`), made by the same model, nothing is measured again.
    cut: (low, high) in percent, of which 0 and 100 are no bound; or CCNet's "head" (0, 30), "middle" (30, 60), "tail"
    (60, 100). A bound lies between two documents by linear interpolation, and is rounded to 1e-4; what equals the
    upper one goes, so the three parts are disjoint and together everything. Languages are those of the column
    `language`, where there is one. Documents without a score go or stay as the filter says.

    `facts` of the fitted stage has the bounds of each language, and how many documents they rest on. Scores are held
    in memory: 16 bytes a document.
    """

    filter: ScoredFilter
    cut: Cut

    VERSION: ClassVar[int] = 1

    def __post_init__(self) -> None:
        if not isinstance(self.filter, ScoredFilter) or not hasattr(self.filter, "keep"):
            msg = f"Percentiles takes a filter with keep=(low, high), as dp.Perplexity(model=...), not {self.filter!r}"
            raise PlanError(msg)
        if [str(kind) for kind in self.filter.scores.values()] != ["double"]:
            msg = f"{self.filter.name} has no one number for a document; cuts are of documents: unit='document'"
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
    def needs(self) -> tuple[str, ...]:
        """What the filter reads."""
        return self.filter.needs

    def recipe(self) -> Any:
        """The measure and the percentiles."""
        return self.filter.made_by().decode(), self._range, self.VERSION

    def warm(self) -> None:
        """Read the filter's models."""
        self.filter.warm()

    def fit(self, docs: Dataset, run: Runner, out: str) -> DropIds:
        """Measure everything, find the cuts; the stage that is returned drops what they cut off."""
        made_by = key((self, docs.key))
        task = _Measure(out=out, key=made_by, filter=self.filter)
        parts = [receipt["url"] for receipt in run.map(task, docs.items, f"{self.name} scores")]
        bounds, facts = self.bounds(pa.concat_tables(map(_read, parts)) if parts else _EMPTY.empty_table())
        url = files.join(out, "verdicts.parquet")
        files.once(
            url + ".json", made_by, lambda: {"files": [url], "n": write_verdicts(url, self._drops(parts, bounds))}
        )
        return DropIds(verdicts=url, made_by=made_by, called=self.name, facts=facts)

    def bounds(self, scores: pa.Table) -> tuple[Bounds, dict[str, Any]]:
        """The range of each language, and the same with counts, for people."""
        found: dict[str, tuple[float | None, float | None]] = {}
        facts: dict[str, Any] = {}
        low, high = self._range
        for name in sorted(pc.unique(scores[BY]).to_pylist()):
            mine = scores.filter(pc.equal(scores[BY], name))["score"].to_numpy()
            values = mine[~np.isnan(mine)]
            found[name] = _percentile(values, low), _percentile(values, high)
            facts[name or "all"] = {"low": found[name][0], "high": found[name][1], "documents": len(values)}
        return found, {"cuts": facts}

    def _drops(self, parts: list[str], bounds: Bounds) -> Iterator[pa.Table]:
        for url in parts:
            table = self.reasons(_read(url), bounds)
            table = table.filter(pc.is_valid(table["reason"]))
            n = len(table)
            yield pa.table({
                "id": table["id"], "reason": table["reason"], "kept_in": pa.nulls(n, pa.string()),
                "kept": pa.nulls(n, pa.uint64()), "similarity": pa.nulls(n, pa.float32()),
            })  # fmt: skip

    def reasons(self, scores: pa.Table, bounds: Bounds) -> pa.Table:
        """The table with a column `reason`: why each document goes, null where it stays."""
        name = next(iter(self.filter.scores))
        why = np.full(len(scores), None, object)
        languages = np.asarray(scores[BY].to_pylist(), object)
        column = scores["score"].combine_chunks()
        for language, keep in bounds.items():
            rows = np.flatnonzero(languages == language)
            decided = replace(self.filter, keep=keep).decide({name: column.take(pa.array(rows))})  # type: ignore[type-var]
            why[rows] = decided.to_pylist()
        return scores.append_column("reason", pa.array(why, pa.string()))

    def preview(self, docs: Dataset, n: int = 20) -> pa.Table:
        """What this cut would lose: the n documents of each language nearest to it, and how their texts begin.

        docs: best a sealed one with the scores (`dp.Score`), then this takes a moment. Columns: id, language, score,
        reason, text (300 characters of it); nearest first.
        """
        scores = pa.concat_tables([*(_table(batch, self.filter) for batch in docs.batches()), _EMPTY.empty_table()])
        bounds, _ = self.bounds(scores)
        lost = self.reasons(scores, bounds)
        lost = lost.filter(pc.is_valid(lost["reason"]))
        rows = [row for name, keep in bounds.items() for row in _nearest(lost, name, keep, n)]
        lost = lost.take(pa.array(rows, pa.int64()))
        return lost.append_column("text", pa.array(_texts(docs, lost["id"].to_pylist()), pa.string()))


_EMPTY = pa.schema([("id", pa.uint64()), (BY, pa.string()), ("score", pa.float64())])


@dataclass(frozen=True)
class _Measure:
    """Write the scores of a part."""

    out: str
    key: str
    filter: ScoredFilter

    def __call__(self, item: Item) -> dict[str, Any]:
        url = files.join(self.out, "scores", f"part-{item.number:05d}.parquet")
        return files.once(url + ".json", self.key, lambda: self._write(url, item)) | {"url": url}

    def _write(self, url: str, item: Item) -> dict[str, Any]:
        with files.atomic(url) as f, pq.ParquetWriter(f, _EMPTY, compression="zstd") as writer:
            for batch in item.part.batches(None):
                writer.write_table(_table(batch, self.filter))
        return {"files": [url]}


def _read(url: str) -> pa.Table:
    with files.open_raw(url) as f:
        return pq.read_table(f)


def _table(batch: B.Batch, measured_by: ScoredFilter) -> pa.Table:
    """Id, language ("" where there is none) and score of the rows of a batch."""
    name = next(iter(measured_by.scores))
    if BY in batch.schema.names:
        column = batch.column(BY)
        languages = pc.fill_null(column.cast(pa.string()), "")
    else:
        languages = pa.repeat("", batch.num_rows)
    return pa.table([batch.column("id"), languages, measured_by.scores_of(batch)[name]], schema=_EMPTY)


def _percentile(values: npt.NDArray[np.float64], percent: float) -> float | None:
    """A bound; None at the ends, and where nothing was measured."""
    if percent in {0, 100} or not len(values):
        return None
    return round(float(np.percentile(values, percent)), 4)


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


def _texts(docs: Dataset, ids: list[int]) -> list[str]:
    """The beginnings of some documents."""
    wanted = pa.array(ids, pa.uint64())
    found: dict[int, str] = {}
    for batch in docs.batches(["id", "text"]):
        hit = batch.filter(pc.is_in(batch.column("id"), wanted))
        found |= dict(zip(hit.column("id").to_pylist(), hit.column("text").to_pylist(), strict=True))
    return [found[i][:PREVIEW_CHARS] for i in ids]
