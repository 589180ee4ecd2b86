"""`Sample`: draw a sample that contains the same share of every source and language of a corpus, by hash(seed, id).

The corpus is read in two passes. The first adds up the bytes of each stratum (a source and language) by the leading
bits of its documents' hashes. These sums yield a limit for each stratum. The second pass takes the documents whose hash
is below the limit of their stratum. Only sampled texts are therefore held in memory, and the sample does not depend on
workers, batches or order.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dataprep.core.model import batch as B
from dataprep.core.model.dataset import check_dataset
from dataprep.core.run.runner import runner_of
from dataprep.errors import PlanError
from dataprep.lazy import compute as pc

from .split import SEED, Split, check_share, sample_rank

if TYPE_CHECKING:
    from dataprep.core.model.dataset import Dataset
    from dataprep.core.model.part import Part
    from dataprep.core.run.runner import Runner

Stratum = tuple[str, str]  # source and language; "" if a document has none, or strata are merged
Bytes = npt.NDArray[np.int64]

DOC_BYTES = 1 << 20  # of one document, its beginning: one huge file must not be the whole sample
BINS = 1 << 12  # a stratum's sample is exact to one document, or to 1/4,096 of the stratum where that is more
AT_LEAST = 64 << 10  # bytes of each stratum, so that a language of a few documents is represented
MAX_STRATA = 1 << 10  # 32 MB of sums; with more, sources are merged (or languages, if sources have weights)


@dataclass(frozen=True, kw_only=True)
class Sample:
    """The settings of a sample of the training documents, or with `held_out` of the validation and test documents.

    Attributes:
        share: the size of the sample as a share of the documents' bytes, 0 to 1.
        min_bytes: the minimum size of the sample in bytes, regardless of the share.
        max_bytes: the maximum size of the sample in bytes, regardless of the share.
        weights: pairs (source, weight); the bytes of the sources in the sample are in proportion to their weights.
        split: assigns documents to train, validation and test.
        seed: a different seed draws different documents.
    """

    share: float = 1.0
    seed: int = SEED
    split: Split
    min_bytes: int = 1
    max_bytes: int = 1 << 62
    weights: tuple[tuple[str, float], ...] | None = None
    held_out: bool = False  # from validation and test documents instead of training documents

    def __post_init__(self) -> None:
        check_share("sample", self.share)
        bad = next(((name, w) for name, w in self.weights or () if not 0 <= w < float("inf")), None)
        if bad or (self.weights is not None and not sum(w for _, w in self.weights)):
            what = f"{bad[0]}: {bad[1]}" if bad else "no source above 0"
            msg = f"weights={dict(self.weights or ())} has {what}; give each source a number of 0 or more"
            raise PlanError(msg)

    def draw(self, docs: Dataset, runner: Runner | None = None) -> Drawn:
        """Count the bytes of the corpus by source and language, and return the sample; its texts are read later."""
        check_dataset(docs)
        self.split.check_columns(docs.columns)
        more = ["language"] if "language" in docs.columns else []
        columns = dict.fromkeys(["id", "text", "source", *more, *self.split.columns])
        runner, total = runner_of(runner), Strata(merge_sources=self.weights is None)
        for found in runner.map(SampleTask(self, tuple(columns)), docs.parts, "count"):
            total.add(found)
        limits = self.limits(total.sums)
        task = SampleTask(self, tuple(columns), limits, by_source=total.by_source, by_language=total.by_language)
        n_bytes = {s: int(total.sums[s][:limit].sum()) for s, limit in limits.items()}
        return Drawn({s: int(sums.sum()) for s, sums in total.sums.items()}, n_bytes, task, docs.parts, runner)

    def limits(self, sums: Mapping[Stratum, Bytes]) -> dict[Stratum, int]:
        """Return how many bins of each stratum (source, language) to take into the sample.

        A bin is a group of documents whose hashes begin with the same bits.

        Args:
            sums: the bytes of text per bin, int64[BINS], of each stratum.

        Raises PlanError if `weights` cannot be met.
        """
        sizes = {stratum: int(of.sum()) for stratum, of in sums.items()}
        wanted = self._wanted(sizes) if self.weights is None else self._weighted(sizes)
        return {stratum: _bins(sums[stratum], want) for stratum, want in wanted.items() if want}

    def _wanted(self, sizes: Mapping[Stratum, int]) -> dict[Stratum, float]:
        total = sum(sizes.values())
        n_bytes = min(max(total * self.share, self.min_bytes), self.max_bytes, total)
        least = min(AT_LEAST, n_bytes / 32 / max(1, len(sizes)))  # all of them together move the others by 3 %
        return {stratum: max(size * n_bytes / total, least) for stratum, size in sizes.items() if size}

    def _weighted(self, sizes: Mapping[Stratum, int]) -> dict[Stratum, float]:
        weights, there = dict(self.weights or ()), dict.fromkeys((source for source, _ in sizes), 0)
        for (source, _), size in sizes.items():
            there[source] += size
        _check_names(weights, there)
        whole = sum(weights.values())
        first = min((s for s in weights if weights[s]), key=lambda s: there[s] / weights[s])
        most = there[first] / weights[first] * whole
        wanted = min(sum(there.values()) * self.share, self.max_bytes)
        if most < wanted:
            msg = (
                f"weights need {wanted * weights[first] / whole:,.0f} bytes of {first!r}, which has only "
                f"{there[first]:,}; give it a smaller weight, or sample={most / sum(there.values()):.2g}"
            )
            raise PlanError(msg)
        n_bytes = min(max(wanted, self.min_bytes), most, self.max_bytes)
        of = {source: n_bytes * weights[source] / whole / max(1, there[source]) for source in there}
        return {(source, language): size * of[source] for (source, language), size in sizes.items()}


def _bins(sums: Bytes, want: float) -> int:
    """Return the number of bins that fit into `want` bytes, but enough for at least one document."""
    fit = int(np.searchsorted(np.cumsum(sums), want + 0.5, "right"))  # a rounded product must not lose a document
    return max(fit, int(np.flatnonzero(sums)[0]) + 1 if sums.any() else 0)


def _check_names(weights: Mapping[str, float], there: Mapping[str, int]) -> None:
    unknown, missing = sorted(weights.keys() - there.keys()), sorted(there.keys() - weights.keys())
    if unknown or missing:
        what = f"{unknown[0]!r}, which is not a source" if unknown else f"no entry for the source {missing[0]!r}"
        sources = ", ".join(sorted(there)[:20]) + (" ..." if len(there) > 20 else "")
        msg = f"weights has {what}; give each source a weight, 0 to leave it out: {sources}"
        raise PlanError(msg)


class Strata:
    """The bytes of text of each stratum (source, language) by bin (leading bits of documents' hashes), int64[BINS].

    If there are too many strata, all sources are merged into one (merge_sources=True), or else all languages.
    """

    def __init__(self, *, merge_sources: bool) -> None:
        self.merge_sources = merge_sources  # else languages are merged
        self.sums: dict[Stratum, Bytes] = {}
        self.by_source = self.by_language = True

    def add(self, found: Mapping[Stratum, tuple[Bytes, Bytes]]) -> None:
        """Add the bytes that one task counted.

        Args:
            found: {stratum: (numbers of its non-empty bins, bytes in each)}.
        """
        for stratum, (bins, n_bytes) in found.items():
            name = self._name(stratum)
            if name not in self.sums:
                self.sums[name] = np.zeros(BINS, np.int64)
            self.sums[name][bins] += n_bytes
        if len(self.sums) > MAX_STRATA and self.by_source and self.by_language:
            self.by_source, self.by_language = not self.merge_sources, self.merge_sources
            before, self.sums = self.sums, {}
            for stratum, sums in before.items():
                self.sums[self._name(stratum)] = self.sums.get(self._name(stratum), 0) + sums

    def _name(self, stratum: Stratum) -> Stratum:
        return stratum[0] if self.by_source else "", stratum[1] if self.by_language else ""


@dataclass(frozen=True)
class SampleTask:
    """The task for one part of the corpus: count its bytes, or with `limits` return its share of the sample.

    Bytes are counted by stratum (source, language) and bin (leading bits of the documents' hashes).

    Attributes:
        limits: the number of bins to take of each stratum.
        columns: the names of the columns to read.
        by_source: whether documents of different sources are in different strata.
        by_language: whether documents in different languages are in different strata.
    """

    sample: Sample
    columns: tuple[str, ...]
    limits: Mapping[Stratum, int] | None = None
    by_source: bool = True
    by_language: bool = True

    def __call__(self, part: Part) -> Any:
        """Return `count` of a part, or `pick` if there are limits."""
        batches = part.batches(list(self.columns))
        return self.count(batches) if self.limits is None else self.pick(batches)

    def count(self, batches: Iterable[B.Batch]) -> dict[Stratum, tuple[Bytes, Bytes]]:
        """Return the bytes of text per bin: {stratum: (indexes of its m non-empty bins, bytes in each)}, both int64[m].

        A stratum is (source, language); a bin is a group of documents whose hashes begin with the same bits.
        """
        total: dict[Stratum, Bytes] = {}
        for batch in batches:
            names, codes, bins, take = self._strata(batch)
            sizes = np.minimum(B.lengths(batch), DOC_BYTES) * take
            for code in np.unique(codes[sizes > 0]).tolist():
                of = codes == code
                found = np.bincount(bins[of], sizes[of], BINS).astype(np.int64)
                total[names[code]] = total.get(names[code], 0) + found
        return {name: (np.flatnonzero(of), of[of > 0]) for name, of in total.items()}

    def pick(self, batches: Iterable[B.Batch]) -> bytes:
        """Return the sampled documents of `batches` (text, source, language), in order, as a compressed Arrow stream.

        Returns b"" if there are none.
        """
        found = [batch for batch in map(self._picked, batches) if batch.num_rows]
        if not found:
            return b""
        sink = io.BytesIO()
        with pa.ipc.new_stream(sink, found[0].schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
            writer.write_table(pa.Table.from_batches(found), max_chunksize=4096)
        return sink.getvalue()

    def _picked(self, batch: B.Batch) -> pa.RecordBatch:
        names, codes, bins, take = self._strata(batch)
        limits = np.array([(self.limits or {}).get(name, 0) for name in names], np.int64)
        rows = np.flatnonzero(take & (bins < limits[codes]))
        of = [names[code] for code in codes[rows].tolist()]
        texts = heads(batch.column("text").take(pa.array(rows)))
        columns = [texts, pa.array([s for s, _ in of], pa.string()), pa.array([x for _, x in of], pa.string())]
        return pa.RecordBatch.from_arrays(columns, names=["text", "source", "language"])

    def _strata(self, batch: B.Batch) -> tuple[list[Stratum], Bytes, Bytes, npt.NDArray[np.bool_]]:
        """Return the strata of a batch, and per document its stratum's number, its bin and if it may be taken."""
        ids = B.ids(batch)
        bins = (sample_rank(ids, self.sample.seed) >> np.uint64(64 - BINS.bit_length() + 1)).astype(np.int64)
        side = (self.sample.split.sides(batch) != 0) == self.sample.held_out
        values, codes = [[""], [""]], np.zeros(len(ids), np.int64)
        for i, (column, used) in enumerate((("source", self.by_source), ("language", self.by_language))):
            if used and column in batch.schema.names:
                own, values[i] = _coded(batch.column(column))
                codes = codes * len(values[i]) + own
        found, codes = np.unique(codes, return_inverse=True)
        n = len(values[1])
        return [(values[0][code // n], values[1][code % n]) for code in found.tolist()], codes, bins, side


def _coded(column: pa.Array) -> tuple[Bytes, list[str]]:
    """Return the code of each value, and the value of each code; a missing value is the empty string."""
    coded = column if isinstance(column, pa.DictionaryArray) else column.dictionary_encode()
    values = [str(value or "") for value in coded.dictionary.to_pylist()]
    own = pc.fill_null(coded.indices.cast(pa.int64()), len(values)).to_numpy(zero_copy_only=False)
    return own, [*values, ""]


@dataclass(frozen=True)
class Drawn:
    """A sample that was drawn; `batches` reads its texts.

    Attributes:
        there: the bytes of each stratum (source, language) in the corpus.
        taken: the bytes of each stratum in the sample.
        task: the task that reads the texts.
        parts: the inputs of the task.
        runner: the Runner that executes the task.
    """

    there: dict[Stratum, int]
    taken: dict[Stratum, int]
    task: SampleTask
    parts: Sequence[Part]
    runner: Runner = field(repr=False)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the sampled texts as batches with the columns text, source and language, in the order of the corpus.

        Each call reads the corpus again.
        """
        for stream in self.runner.map(self.task, self.parts, "sample"):
            yield from pa.ipc.open_stream(stream) if stream else ()


def heads(texts: pa.LargeStringArray) -> pa.LargeStringArray:
    """Return the texts, each cut after the last whole character of its first MiB."""
    offsets, data = B.buffers(texts)
    if not len(texts) or int(np.diff(offsets).max()) <= DOC_BYTES:
        return texts
    spans = zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)
    cut = (bytes(data[a : min(b, a + DOC_BYTES)]) for a, b in spans)
    return pa.array([h.decode("utf-8", "ignore") for h in cut], pa.large_string())
