"""SemDeDup: documents whose vectors are nearly the same, found inside clusters; and D4's diversification after it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from dataprep.core.dataset import Dataset
from dataprep.core.estimator import Estimator
from dataprep.core.runner import Runner
from dataprep.core.tables import VERDICTS, write_verdicts
from dataprep.core.verdict import DropIds
from dataprep.dedup.embeddings.decide import CLOSEST, FARTHEST, Assign, Balls, compile_balls, n_partitions, verdicts_of
from dataprep.dedup.embeddings.kmeans import Gone, KMeans, k_means, n_clusters
from dataprep.dedup.embeddings.prototypes import NOBODY, Cut, Nearness, cut, prototypes
from dataprep.dedup.embeddings.vectors import UNITS, Embed, Given, Vectors, two_sizes
from dataprep.dedup.embeddings.word_vectors import Learn, Sample, WordVectors, compile_words, model_place, sample_bytes
from dataprep.errors import PlanError, need
from dataprep.store import files, receipts
from dataprep.store.key import key

from .keep import Keep

MAX_GROUPS = 256  # files are opened once a group when verdicts are brought back to their parts
PASSES = ("sample", "words", "vectors", "clusters", "assign", "balls", "gone", "diverse", "nearness")
FACTS = (
    "documents", "vectors", "dim", "words", "clusters", "largest_cluster", "compared", "dropped", "prototypes",
    "prototype_cosine",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True, repr=False)
class SemDeDup(Estimator):
    """Drop documents whose vector has a cosine above 1 - epsilon to that of a document that is kept.

    epsilon: 0 < epsilon < 1; what it removes depends on the vectors, so look at the pairs first (`dataprep clusters`).
    clusters: of k-means; only documents of one cluster are compared. Default: sqrt(n), or 1 for up to 32,768 documents.
    embed: a function list[str] -> array[n, d], called with up to 1,024 texts; keyed like other functions, or by
    `version=` where Python cannot find its source. By default: fastText vectors of `dim` numbers, learnt from a sample
    of these documents (extra `langid`); nothing is downloaded.
    keep: which of the copies stays: "first", "longest", "newest", "newest:COLUMN", "best:COLUMN", "source:A,B"; or by
    the cosine to the centroid of the cluster, "farthest" (the paper's choice) or "closest".
    diversify: the share of what is then left that stays: the documents closest to the centroids of new clusters go.
    seed: of the samples, and of where training starts.

    An Estimator; Abbas et al. 2023 (SemDeDup), Tirumala et al. 2023 (D4: `diversify`). It deletes by a model's idea of
    similarity, not by text: verdicts say "semantic_duplicate" with the kept document and the cosine, or "prototype"
    with the cosine to the centroid. A document whose vector is zero is similar to nothing, and is kept.
    """

    only_drops: ClassVar[bool] = True

    epsilon: float = 0.02
    clusters: int | None = None
    embed: Callable[[list[str]], Any] | None = None
    keep: str = "first"
    diversify: float | None = None
    dim: int = 64
    seed: int = 0
    version: str | None = None

    VERSION: ClassVar[int] = 1

    def __post_init__(self) -> None:
        if not _is_number(self.epsilon) or not 0 < self.epsilon < 1:
            msg = f"epsilon={self.epsilon!r} is not a distance of cosines; give a number between 0 and 1, such as 0.02"
            raise PlanError(msg)
        if self.clusters is not None and (not isinstance(self.clusters, int) or self.clusters < 1):
            msg = f"clusters={self.clusters!r}: give at least 1, or None for the square root of the number of documents"
            raise PlanError(msg)
        if self.diversify is not None and (not _is_number(self.diversify) or not 0 < self.diversify <= 1):
            msg = f"diversify={self.diversify!r} is not the share that stays; give a number above 0, at most 1"
            raise PlanError(msg)
        if not isinstance(self.dim, int) or not 16 <= self.dim <= 4096:
            msg = f"dim={self.dim!r}: fastText vectors have 16 to 4,096 numbers; fewer cannot tell documents apart"
            raise PlanError(msg)
        if not 0 <= self.seed < 1 << 31:
            msg = f"seed={self.seed!r} is not in 0 ... 2^31 - 1"
            raise PlanError(msg)
        if self.embed is not None and not callable(self.embed):
            msg = f"embed takes a function list[str] -> array[n, d], not {self.embed!r}"
            raise PlanError(msg)
        if self.embed is not None and self.version is None:
            key(self.embed)  # a function that cannot be keyed fails here, not after an hour
        if self.keep not in (CLOSEST, FARTHEST):
            Keep.parse(self.keep)

    def __repr__(self) -> str:
        given = [f for f in fields(self) if getattr(self, f.name) != f.default]
        return f"SemDeDup({', '.join(f'{f.name}={self._show(f.name)}' for f in given)})"

    def _show(self, name: str) -> str:
        value = getattr(self, name)
        return getattr(value, "__qualname__", type(value).__name__) if name == "embed" else repr(value)

    def recipe(self) -> Any:
        """Every parameter; the version in place of the function, where it is given."""
        names = [f.name for f in fields(self)]
        values = {name: getattr(self, name) for name in names if name != "embed" or self.version is None}
        return (self.VERSION, self.embed is not None, values)

    @property
    def name(self) -> str:
        """What it is called in the books."""
        return "SemDeDup"

    @property
    def policy(self) -> Keep:
        """How copies are ranked when vectors are made; by the centroid they are ranked later."""
        return Keep.parse("first" if self.keep in (CLOSEST, FARTHEST) else self.keep)

    @property
    def needs(self) -> tuple[str, ...]:  # type: ignore[override]
        """The columns that choose which copy stays."""
        return self.policy.needs

    def fit(self, docs: Dataset, run: Runner, out: str) -> DropIds:
        """Find the semantic duplicates; the stage that is returned drops them.

        Disk under `out` while it runs: about 4 bytes a number of every vector. A worker takes a bounded amount.
        """
        if self.embed is None:
            need("fasttext", extra="langid")
        made_by = key((self, docs.key))
        receipt = files.join(out, "verdicts.json")
        found = receipts.valid(receipt, made_by) or receipts.once(
            receipt, made_by, lambda: _Search(self, docs, run, out, made_by).find()
        )
        for folder in PASSES:  # what the passes left; not needed once there are verdicts
            files.remove(files.join(out, folder))
        facts = {"epsilon": self.epsilon, **{name: found[name] for name in FACTS if name in found}}
        return DropIds(verdicts=files.join(out, "verdicts.parquet"), key=made_by, estimator=self.name, facts=facts)

    def warm(self) -> None:
        """Compile the kernels."""
        compile_words()
        vectors = np.full((2, 2), 100, np.int16)
        k_means(vectors, 1, 1)
        compile_balls(vectors)


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


@dataclass
class _Search:
    """The passes of one fit."""

    how: SemDeDup
    docs: Dataset
    run: Runner
    out: str
    key: str

    def __post_init__(self) -> None:
        self.items = [replace(item, key=key((self.key, item.key))) for item in self.docs.tasks]
        self.n_parts = len(self.items)
        self.groups = min(self.n_parts, MAX_GROUPS)
        self.facts: dict[str, Any] = {}

    def find(self) -> dict[str, Any]:
        """Vectors, clusters, balls, prototypes; then the verdict table. The receipt."""
        made = self._each(Vectors(self.out, self._embed(), self.how.policy), self.items, "vectors")
        n_docs, dim = sum(r["vectors"] for r in made), _dim(made)
        self.facts |= {"documents": sum(r["docs"] for r in made), "vectors": n_docs, "dim": dim, "dropped": 0}
        partitions = self._balls(n_docs, dim) if n_docs else 0
        url = files.join(self.out, "verdicts.parquet")
        if self.how.diversify is None:
            write_verdicts(url, map(self._duplicates, [partitions] * self.groups, range(self.groups)))
        else:
            left = n_docs - self.facts["dropped"]
            where = self._nearness(self.how.diversify, left, dim, partitions) if left else NOBODY
            n_rows = write_verdicts(url, self._with_prototypes(partitions, where))
            self.facts |= {"prototypes": n_rows - self.facts["dropped"], "prototype_cosine": where.cosine / UNITS}
        return {"files": [url], **self.facts}

    def _each(self, task: Callable[[Any], dict[str, Any]], items: Sequence[Any], label: str) -> list[dict[str, Any]]:
        return list(self.run.map(task, items, f"{self.how.name}: {label}"))

    def _embed(self) -> Embed:
        """What makes the vectors; word vectors are learnt first."""
        how = self.how
        if how.embed is not None:
            return Given(how.embed)
        self._each(Sample(self.out, how.seed, sample_bytes(self.n_parts)), self.items, "sample")
        found = self._each(Learn(self.out, self.key, how.dim, how.seed, self.n_parts), [0], "learn")[0]
        self.facts["words"] = found["words"]
        return WordVectors(model_place(self.out), self.key, how.dim)

    def _cluster(self, name: str, n_docs: int, dim: int, gone: Gone | None = None) -> int:
        k = self.how.clusters or n_clusters(n_docs)
        task = KMeans(self.out, self.key, name, dim, self.n_parts, n_docs, k, self.how.seed, gone)
        return int(self._each(task, [0], name)[0]["clusters"])

    def _balls(self, n_docs: int, dim: int) -> int:
        """Cluster, shuffle, compare; returns how many partitions there are."""
        partitions = n_partitions(n_docs, dim)
        self.facts["clusters"] = self._cluster("clusters", n_docs, dim)
        self._each(Assign(self.out, self.key, dim, partitions, self.how.keep), self.items, "assign")
        limit = round((1.0 - self.how.epsilon) * UNITS)
        balls = Balls(self.out, self.key, dim, self.n_parts, self.groups, limit)
        decided = self._each(balls, range(partitions), "compare")
        self.facts["largest_cluster"] = max(d["largest"] for d in decided)
        self.facts |= {name: sum(d[name] for d in decided) for name in ("compared", "dropped")}
        return partitions

    def _nearness(self, share: float, left: int, dim: int, partitions: int) -> Cut:
        """Cluster what is left, note how near everyone is to its centroid, and find where to cut."""
        gone = Gone(files.join(self.out, "gone"), self.n_parts, self.groups)
        gone.write(verdicts_of(self.out, partitions, group)["id"] for group in range(self.groups))
        self._cluster("diverse", left, dim, gone)
        self._each(Nearness(self.out, self.key, dim, gone), range(self.n_parts), "prototypes")
        return cut(self.out, self.n_parts, share)

    def _duplicates(self, partitions: int, group: int) -> pa.Table:
        rows = verdicts_of(self.out, partitions, group)
        return _table(rows["id"], "semantic_duplicate", pa.array(rows["kept"]), rows["similarity"])

    def _with_prototypes(self, partitions: int, where: Cut) -> Iterator[pa.Table]:
        """The verdicts group by group, those of a group in any order."""
        goes = prototypes(self.out, self.n_parts, where) if where != NOBODY else iter(())
        group_of = [part * self.groups // self.n_parts for part in range(self.n_parts)]
        for group in range(self.groups):
            found = list(itertools.islice(goes, group_of.count(group)))
            rows = [_table(r["id"], "prototype", pa.nulls(len(r)), r["cosine"] / UNITS) for r in found]
            yield pa.concat_tables([self._duplicates(partitions, group), *rows])


def _dim(made: Sequence[dict[str, Any]]) -> int:
    """How many numbers every vector has; 1 if there are none."""
    found = sorted({r["dim"] for r in made if r["dim"]})
    if len(found) > 1:
        raise PlanError(two_sizes(*found[:2]))
    return found[0] if found else 1


def _table(ids: Any, reason: str, kept: pa.Array, similarity: Any) -> pa.Table:
    columns = [
        pa.array(np.ascontiguousarray(ids)),
        pa.repeat(reason, len(ids)),
        pa.nulls(len(ids), pa.string()),
        kept.cast(pa.uint64()),
        pa.array(np.asarray(similarity, np.float32)),
    ]
    return pa.Table.from_arrays(columns, schema=VERDICTS)
