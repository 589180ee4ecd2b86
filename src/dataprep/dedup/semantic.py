"""SemDeDup: drop documents with nearly equal vectors, found in clusters; optionally also D4's diversification."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from dataprep.core.model.annotate import CENTROIDS, added_columns, annotated
from dataprep.core.model.dataset import Dataset
from dataprep.core.model.tables import write_rows
from dataprep.core.model.verdict import DropIds, Verdict
from dataprep.core.run.merge import MergeSections, merged
from dataprep.core.run.passes import table_once
from dataprep.core.run.runner import Runner
from dataprep.dedup.embeddings.learn_words import LearnWords, SampleTexts, sample_bytes
from dataprep.dedup.embeddings.vectors import UNITS, Embed, EmbedDocuments, UserVectors, common_dim
from dataprep.dedup.embeddings.word_vectors import WordVectors
from dataprep.errors import need, require, require_integer
from dataprep.store import files
from dataprep.store.key import key
from dataprep.store.shuffle import ShuffleFiles

from .embeddings import decide, kmeans
from .embeddings.decide import (
    CLOSEST,
    FARTHEST,
    AssignClusters,
    DecideClusters,
    MergeAssigned,
    MergeDecided,
    WriteDecisions,
    nearest_centroids,
)
from .embeddings.kmeans import DroppedIds, FindClusters, FindSecondClusters, MeasureNearness, SortDropped
from .embeddings.stored import keep_vectors, stored_vectors
from .keep import Keep, unreadable_values
from .older import Deduplication, Joined, Older
from .warm import warm

MAX_GROUPS = 256  # sections of the files of decisions
CENTROID_TABLE = "centroids.parquet"  # with annotate=
PASSES = (
    SampleTexts, LearnWords, EmbedDocuments, FindClusters, AssignClusters, MergeAssigned, DecideClusters, MergeDecided,
    SortDropped, FindSecondClusters, MeasureNearness, WriteDecisions,
)  # fmt: skip
FACTS = (
    "documents", "vectors", "dim", "words", "clusters", "largest_cluster", "compared", "dropped", "prototypes",
    "prototype_cosine",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True, repr=False)
class SemDeDup(Deduplication):
    """Drop a document if the cosine of its vector and that of a kept document is above 1 - epsilon (an Estimator).

    Args:
        epsilon: 0 < epsilon < 1. The effect of a value depends on the vectors, so inspect pairs first (`dataprep
            clusters`).
        clusters: the number of k-means clusters; only documents of the same cluster are compared. None: the square root
            of the number of documents, or 1 for up to 32,768 documents.
        embed: a function list[str] -> array[n, d], called with up to 1,024 texts. If its source code changes, the stage
            runs again. None: fastText vectors, trained on a sample of these documents (extra `langid`); nothing is
            downloaded.
        dim: the number of dimensions of the default vectors.
        keep: the copy that is kept: "first", "longest", "newest", "newest:COLUMN", "best:COLUMN", "source:A,B" or
            "none", as in `Exact`; or, by the cosine to the centroid of the cluster, "farthest" (the paper's choice) or
            "closest".
        diversify: the share (0 to 1) of the remaining documents that is kept; the documents closest to the centroids of
            new clusters are dropped. None: all remaining documents are kept.
        seed: the seed of the samples and of the initial vectors of the training.
        version: a text that identifies `embed` if Python cannot find its source code; change the text whenever the
            function changes.
        against: the folders of sealed Datasets (finished outputs) whose documents come before all new ones and are
            kept. Word vectors and centroids are then computed from the first of these folders alone; new documents do
            not change them.
        annotate: True removes nothing, and adds the columns of docs/dedup-annotate.md. A string such as "near_" also
            removes nothing, and is the prefix of the column names.

    The methods are those of Abbas et al. 2023 (SemDeDup) and Tirumala et al. 2023 (D4: `diversify`). Documents are
    compared by vectors from a model, not by their texts. The table of dropped documents states the reason
    "semantic_duplicate" with the kept document and the cosine, or "prototype" with the cosine to the centroid. A
    document whose vector is zero is never similar to another document and is kept.
    """

    only_drops: ClassVar[bool] = True
    VERSION: ClassVar[int] = 2

    epsilon: float = 0.02
    clusters: int | None = None
    embed: Callable[[list[str]], Any] | None = None
    keep: str = "first"
    diversify: float | None = None
    dim: int = 64
    seed: int = 0
    version: str | None = None
    against: str | Sequence[str] | None = None
    annotate: bool | str = False

    def __post_init__(self) -> None:
        near = _is_number(self.epsilon) and 0 < self.epsilon < 1
        require(near, f"epsilon={self.epsilon!r} must be a number between 0 and 1, such as 0.02")
        some = self.clusters is None or (isinstance(self.clusters, int) and self.clusters >= 1)
        default = "None for the square root of the documents"
        require(some, f"clusters={self.clusters!r} must be at least 1, or {default}")
        share = self.diversify is None or (_is_number(self.diversify) and 0 < self.diversify <= 1)
        require(share, f"diversify={self.diversify!r} must be a number above 0 and at most 1")
        require_integer("dim", self.dim, 16, 4096)
        require_integer("seed", self.seed, 0, (1 << 31) - 1)
        is_function = self.embed is None or callable(self.embed)
        require(is_function, f"embed={self.embed!r} must be a function list[str] -> array[n, d]")
        if self.version is None:
            key(self.embed)  # a function that cannot be keyed fails here, not after an hour
        if self.keep not in (CLOSEST, FARTHEST):
            Keep.parse(self.keep)
        both = self.against is None or self.diversify is None
        require(both, f"diversify={self.diversify!r} must be None with against=; diversify the joined Datasets instead")
        self._check_memory()

    def __repr__(self) -> str:
        given = [f for f in fields(self) if getattr(self, f.name) != f.default]
        return f"SemDeDup({', '.join(f'{f.name}={self._show(f.name)}' for f in given)})"

    def _show(self, name: str) -> str:
        value = getattr(self, name)
        return getattr(value, "__qualname__", type(value).__name__) if name == "embed" else repr(value)

    def recipe(self) -> Any:
        """Return the values that identify this stage: all parameters, with `version` (if given) in place of `embed`."""
        names = [f.name for f in fields(self)]
        values = {name: getattr(self, name) for name in names if name != "embed" or self.version is None}
        values["against"] = [old.content for old in self.older]
        return (self.embed is not None, values)

    @property
    def adds(self) -> Mapping[str, pa.DataType]:  # type: ignore[override]
        """The columns that `annotate` adds, with their types."""
        return added_columns(self.prefix, cuts=False, centroids=True)

    @property
    def policy(self) -> Keep:
        """The rule that ranks copies before clusters are known: `keep`, or "first" for "closest" and "farthest"."""
        return Keep.parse("first" if self.keep in (CLOSEST, FARTHEST) else self.keep)

    @property
    def needs(self) -> tuple[str, ...]:  # type: ignore[override]
        """The extra column that `keep` reads to choose the copy, as a tuple; () if it needs no extra column."""
        return self.policy.needs

    def fit(self, docs: Dataset, runner: Runner, out: str) -> Verdict:
        """Find the documents of `docs` with nearly equal vectors; return the stage that drops them.

        Writes the table of documents to drop, and the vectors of `embed`, into the folder `out`. During the search, the
        folder needs about 4 bytes of disk space per vector element. Memory per worker is bounded.
        """
        if self.embed is None:
            need("fasttext", extra="langid")
        made_by, url = self.key_for(docs), files.join(out, "verdicts.parquet")
        older = self.sampled_older(runner)
        search = _SemanticSearch(self, older, Joined.of(older, docs), runner, out, made_by)
        passes = [one for one in PASSES if one is not EmbedDocuments or not self.embed_key]
        found = table_once(url, made_by, lambda: search.find(url), passes)
        facts = {"epsilon": self.epsilon, **{name: found[name] for name in FACTS if name in found}}
        facts |= self.policy.warn(self.name, found) | ({"vectors_of": made_by} if self.embed_key else {})
        dropped = DropIds(verdicts=url, key=made_by, estimator=self.name, facts=facts)
        return annotated(dropped, self.prefix, files.join(out, CENTROID_TABLE))

    @property
    def embed_key(self) -> str:
        """Hash of the user's function, which identifies its stored vectors; "" for default vectors."""
        return "" if self.embed is None else key(("SemDeDup vectors", self.version or self.embed))

    def warm(self) -> None:
        """Compile the kernels that `fit` calls, by fitting two short documents, before workers start."""
        chosen: dict[str, Any] = {"embed": self.embed and _ones, "version": None, "keep": "first", "diversify": None}
        chosen["against"] = None
        warm(replace(self, **chosen).fit)


def _ones(texts: list[str]) -> Any:
    """Return equal vectors."""
    return np.ones((len(texts), 2))


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


@dataclass
class _SemanticSearch:
    """The passes of one fit."""

    how: SemDeDup
    older: tuple[Older, ...]
    joined: Joined
    runner: Runner
    out: str
    key: str

    def __post_init__(self) -> None:
        self.items = self.joined.docs.tasks
        self.n_parts = len(self.items)
        self.frozen = self.joined.n_first  # the parts that decide word vectors and centroids
        self.groups = min(self.n_parts, MAX_GROUPS)
        self.facts: dict[str, Any] = {}

    def find(self, url: str) -> dict[str, Any]:
        """Write the verdict table, after vectors, clusters, decisions and prototypes; return the counts."""
        n_old = self.joined.n_old
        embed_key = self.how.embed_key
        stored = stored_vectors(self.older, embed_key, self.joined) if embed_key else ()
        task = EmbedDocuments(self.out, self.key, self._embed(), self.how.policy, n_old, stored)
        made = self._each(task, self.items, "vectors")
        n_docs, dim = sum(r["vectors"] for r in made), common_dim(made)
        new = made[n_old:]
        self.facts |= unreadable_values(made)
        self.facts |= {"documents": sum(r["docs"] for r in new), "vectors": sum(r["vectors"] for r in new)}
        self.facts |= {"dim": dim, "dropped": 0}
        n_frozen = sum(r["vectors"] for r in made[: self.frozen])
        self.frozen = self.frozen if n_frozen else self.n_parts
        partitions = self._decide(n_docs, n_frozen or n_docs, dim) if n_docs else 0
        decided = ShuffleFiles(DecideClusters.url(self.out)[:-5], partitions, self.groups)
        decided = self._merged(decided, MergeDecided, "merge decisions")
        limit = None
        if self.how.diversify is not None:
            left = n_docs - self.facts["dropped"]
            limit = self._limit(self.how.diversify, left, dim, decided) if left else None
            self.facts |= {"prototypes": limit.drops if limit else 0}
            self.facts |= {"prototype_cosine": limit.cosine / UNITS if limit else 1.0}
        given: dict[str, Any] = {"joined": self.joined, "decided": decided, "limit": limit}
        write = WriteDecisions(self.out, self.key, url, self.groups, **given)
        n_rows = self.facts["dropped"] + self.facts.get("prototypes", 0)
        written: list[Any] = write.run(self.runner, n_rows, f"{self.how.name}: write table")
        if embed_key:
            keep_vectors(self.out, self.key, embed_key, self.joined)
        if self.how.prefix is not None:
            centroids = files.join(self.out, CENTROID_TABLE)
            of_new = self.items[n_old:] if partitions else []
            rows = nearest_centroids(self.out, of_new, partitions, self.joined.first_new)
            write_rows(centroids, CENTROIDS, rows)
            written.append(centroids)
        return {"files": written, **self.facts}

    def _each(self, task: Callable[[Any], dict[str, Any]], items: Sequence[Any], label: str) -> list[dict[str, Any]]:
        return list(self.runner.map(task, items, f"{self.how.name}: {label}"))

    def _merged(self, found: ShuffleFiles, task: type[MergeSections], label: str) -> ShuffleFiles:
        return merged(self.runner, found, task, self.out, self.key, f"{self.how.name}: {label}")

    def _embed(self) -> Embed:
        """Return the object that computes the vectors; word vectors are learned first."""
        how = self.how
        if how.embed is not None:
            return UserVectors(how.embed)
        items = self.items[: self.frozen]
        self._each(SampleTexts(self.out, self.key, how.seed, sample_bytes(len(items))), items, "sample")
        found = self._each(LearnWords(self.out, self.key, how.dim, how.seed, len(items)), [0], "learn")[0]
        self.facts["words"] = found["words"]
        return WordVectors(LearnWords.url(self.out), self.key, how.dim)

    def _cluster(self, kind: type[FindClusters], n_docs: int, dim: int, dropped: DroppedIds | None = None) -> int:
        """Find centroids; return how many."""
        k = self.how.clusters or kmeans.n_clusters(n_docs)
        task = kind(self.out, self.key, dim, self.frozen, n_docs, k, self.how.seed, dropped)
        return int(self._each(task, [0], kind.folder)[0]["clusters"])

    def _decide(self, n_docs: int, n_frozen: int, dim: int) -> int:
        """Cluster, assign, compare; return how many partitions there are."""
        partitions = decide.n_partitions(n_docs, dim)
        self.facts["clusters"] = self._cluster(FindClusters, n_frozen, dim)
        self._each(AssignClusters(self.out, self.key, dim, partitions, self.how.keep), self.items, "assign")
        limit = round((1.0 - self.how.epsilon) * UNITS)
        assigned = ShuffleFiles(AssignClusters.url(self.out)[:-5], self.n_parts, partitions, 2)
        assigned = self._merged(assigned, MergeAssigned, "merge vectors")
        n_old, drops_all = self.joined.n_old, self.how.keep == "none"
        task = DecideClusters(self.out, self.key, dim, assigned, self.n_parts, self.groups, limit, n_old, drops_all)
        decided = self._each(task, range(partitions), "compare")
        self.facts["largest_cluster"] = max(d["largest"] for d in decided)
        self.facts |= {name: sum(d[name] for d in decided) for name in ("compared", "dropped")}
        return partitions

    def _limit(self, share: float, left: int, dim: int, decided: ShuffleFiles) -> kmeans.CosineLimit:
        """Cluster the remaining documents, measure the cosine of each to its centroid, and find the limit."""
        self._each(SortDropped(self.out, self.key, decided), range(self.groups), "sort dropped")
        dropped = DroppedIds(self.out, self.n_parts, self.groups)
        self._cluster(FindSecondClusters, left, dim, dropped)
        self._each(MeasureNearness(self.out, self.key, dim, dropped), range(self.n_parts), "prototypes")
        return kmeans.cosine_limit(self.out, self.n_parts, share)
