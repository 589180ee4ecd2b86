"""Clusters: a kept document and all documents dropped as its duplicates, directly or through others; and similarities.

Clusters are read from the drop tables, some rows at a time; texts are not read. Clusters take 17 bytes of memory per
dropped duplicate, and several times as much while they are sorted. For ten million duplicates, peak memory was 0.75 GB,
and computing all figures took 11 s.
"""

from __future__ import annotations

import heapq
import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from dataprep.core.model import batch as B
from dataprep.core.model.stats import LARGE, StageStats, Stats
from dataprep.core.model.tables import Drop, row_object
from dataprep.core.output.layout import DROPS, Folder, replaced
from dataprep.core.output.lineage import MemberFolder, family, other_ways
from dataprep.errors import counted

UNKNOWN = -1  # the index of a source that is hidden
HERE = 0  # the index of this run in `Clusters.homes`
ROWS = 1 << 20  # drops that are followed at a time, to limit memory
MOST_STEPS = 64  # doublings: a chain has one drop per stage, so a longer one mixes folders of several runs
SPARE = 16  # times as many candidates are held, so that one kept document does not fill the list
MOST_REASONS = 4  # in a sentence
LINK = ("id", "stage", "reason", "duplicate_of_dataset", "duplicate_of")  # columns
EXAMPLES = 6  # members of a cluster that are listed: the least similar ones

U64 = npt.NDArray[np.uint64]


@dataclass
class Cluster:
    """One kept document, and the documents that were dropped as its duplicates.

    Attributes:
        duplicate_of: the id of the kept document.
        duplicate_of_dataset: the path of its Dataset if this belongs to another run, else None.
        removed: the number of dropped documents.
        reasons: the number of dropped documents by (stage, reason).
        least: the lowest similarity (0 to 1) between a dropped document and the document that was kept instead.
        examples: dropped documents, the least similar first.
        end: the drop of the kept document itself, if a stage dropped it later, so that no document is left.
    """

    duplicate_of: int
    duplicate_of_dataset: str | None
    removed: int
    reasons: Counter[tuple[str, str]] = field(default_factory=Counter)
    least: float | None = None
    examples: list[Drop] = field(default_factory=list)
    end: Drop | None = None

    @property
    def size(self) -> int:
        """The number of documents, including the kept one."""
        return self.removed + 1


@dataclass(frozen=True)
class NoSurvivor:
    """The clusters of a run of which no document remains, because a later stage dropped the kept document.

    Attributes:
        roots: the documents that were kept initially, ascending.
        removed: the number of duplicates dropped for each.
        of: the number of duplicates in all clusters.
        reasons: the number of `roots` by (stage, reason) of their drop. Messages that became part of a conversation do
            not count as duplicates.
    """

    roots: U64
    removed: npt.NDArray[np.int64]
    of: int
    reasons: Counter[tuple[str, str]]

    @property
    def n(self) -> int:
        """The number of duplicates of which no copy remains."""
        return int(self.removed.sum())

    def __str__(self) -> str:
        """Return a sentence; "" if every cluster has a survivor."""
        if not self.n:
            return ""
        by = ", ".join(f"{n:,} by {stage}: {reason}" for (stage, reason), n in self.reasons.most_common(MOST_REASONS))
        of = f"{counted(self.of, 'duplicate')}, in {counted(len(self.roots), 'cluster')}"
        return f"{self.n:,} of {of}, without a survivor: what was kept instead was dropped later ({by})"


@dataclass(frozen=True)
class Clusters:
    """The documents that a run dropped as duplicates, and the documents kept in their place.

    Entry i of each array belongs to one dropped document.

    Attributes:
        url: the run's folder.
        ids: the dropped documents, ascending.
        roots: for each dropped document, the document that was kept in its place at the end; if a kept document was
            dropped later, the document kept instead of it counts; or if it has none, its copy that reached the last
            Dataset in another way (`MemberFolder.shifts`).
        homes: the Dataset of each of `roots`, as an index into `datasets`.
        datasets: None, which represents this run, and the paths of Datasets of other runs.
    """

    url: str
    ids: U64
    roots: U64
    homes: npt.NDArray[np.uint8]
    datasets: list[str | None]

    @property
    def removed(self) -> int:
        """The number of documents dropped as duplicates."""
        return len(self.ids)

    def sizes(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Return (distinct sizes of clusters, number of clusters of each size); a size includes the kept document.

        Both arrays are int64.
        """
        counts = [self._counts(home)[1] for home in range(len(self.datasets))]
        size, n = np.unique(np.concatenate(counts), return_counts=True)
        return size + 1, n

    def no_survivor(self) -> NoSurvivor:
        """Return the clusters of which no document remains; reads the drop tables once more."""
        roots, counts = self._counts(HERE)
        ends = dict[int, tuple[str, str]]()
        for batch, _ in drop_batches(self.url, ["id", "stage", "reason", "duplicate_of"]) if len(roots) else ():
            at, known = B.find_sorted(roots, batch.column("id").to_numpy())
            rows = batch.filter(pa.array(known & batch.column("duplicate_of").is_null().to_numpy(zero_copy_only=False)))
            at = np.searchsorted(roots, rows.column("id").to_numpy())
            names = zip(*(rows.column(name).to_pylist() for name in ("stage", "reason")), strict=True)
            ends |= zip(at.tolist(), names, strict=True)
        gone = sorted(ends)
        return NoSurvivor(roots[gone], counts[gone], self.removed, Counter(ends[i] for i in gone))

    def survivor(self, id_: int, lost: NoSurvivor) -> int | None:
        """Return the remaining document of the cluster of a dropped document; None if there is none."""
        at = np.searchsorted(self.ids, np.uint64(id_))
        is_lost = self.homes[at] == HERE and B.find_sorted(lost.roots, self.roots[at : at + 1])[1][0]
        return None if is_lost else int(self.roots[at])

    def largest(self, n: int, source: str | None = None, among: U64 | None = None) -> list[Cluster]:
        """Return the `n` clusters with the most dropped documents, largest first.

        - source: count only dropped documents of this source; None: all.
        - among: only clusters of these kept documents of this run; None: all.
        """
        mask = None if source is None else self.of_source(source)
        if among is not None:
            own = np.isin(self.roots, among) & (self.homes == HERE)
            mask = own if mask is None else mask & own
        found: list[tuple[int, int, int]] = []  # documents removed, home, root
        for home in range(len(self.datasets)):
            roots, counts = self._counts(home, mask)
            best = np.lexsort((roots, -counts))[:n]
            found += [(int(counts[i]), home, int(roots[i])) for i in best]
        top = sorted(found, key=lambda row: (-row[0], row[1:]))[:n]
        return self._described([Cluster(root, self.datasets[home], count) for count, home, root in top], mask)

    def of_source(self, source: str) -> npt.NDArray[np.bool_]:
        """Return, for each of `ids`, whether it is a document of `source`, bool[n]; reads the drop tables once more."""
        codes, names = sources_of(self.ids, self._drops())
        mask: npt.NDArray[np.bool_] = codes == (names.index(source) if source in names else len(names))
        return mask

    def source_pairs(self) -> Counter[tuple[str, str]]:
        """Return the number of dropped documents by (their source, the source of the document kept in the end).

        Documents of hidden sources, and those for which a document of another run was kept, are left out. Reads the
        drop tables, and two columns of the Datasets.
        """
        roots, kept, kept_names = self.root_sources()
        if not len(roots):
            return Counter()
        codes, names = sources_of(self.ids, self._drops())
        of, to = codes, np.where(self.homes == HERE, kept[B.find_sorted(roots, self.roots)[0]], UNKNOWN)
        known = (of != UNKNOWN) & (to != UNKNOWN)
        pairs, counts = np.unique(np.stack([of[known], to[known]]), axis=1, return_counts=True)
        named = zip(pairs[0].tolist(), pairs[1].tolist(), counts.tolist(), strict=True)
        return Counter({(names[a], kept_names[b]): n for a, b, n in named})

    def root_sources(self) -> tuple[U64, npt.NDArray[np.int32], list[str]]:
        """Return (kept documents of this run, ascending; the index of each one's source; names), as `sources_of` does.

        Reads the drop tables, and two columns of the Datasets.
        """
        roots = self._counts(HERE)[0]
        whole = (one for one in family(self.url) if one.is_dataset) if len(roots) else ()
        texts = (batch for one in whole for batch in one.batches(["id", "source"]))
        return roots, *sources_of(roots, itertools.chain(self._drops(), texts) if len(roots) else ())

    def _drops(self) -> Iterator[pa.RecordBatch]:
        return (batch for batch, _ in drop_batches(self.url, ["id", "source"]))

    def _counts(self, home: int, mask: npt.NDArray[np.bool_] | None = None) -> tuple[U64, npt.NDArray[np.int64]]:
        """Return the kept documents in one Dataset, ascending, and the number dropped for each."""
        mine = self.homes == home if mask is None else (self.homes == home) & mask
        roots = self.roots[mine]
        roots.sort()  # np.unique would hold three copies
        starts = np.flatnonzero(np.concatenate([[True], roots[1:] != roots[:-1]])[: len(roots)])
        return roots[starts], np.diff(starts, append=len(roots))

    def _described(self, clusters: list[Cluster], mask: npt.NDArray[np.bool_] | None) -> list[Cluster]:
        """Add reasons, similarities and members to the clusters, and return them; reads the drop tables once more.

        Raises Replaced if the tables are those of another result now.
        """
        owner = np.full(len(self.ids), -1, np.int32)
        for number, cluster in enumerate(clusters):
            mine = (self.roots == np.uint64(cluster.duplicate_of)) & (
                self.homes == self.datasets.index(cluster.duplicate_of_dataset)
            )
            owner[mine if mask is None else mine & mask] = number
        members, owner = self.ids[owner >= 0], owner[owner >= 0]
        kept = {cluster.duplicate_of: cluster for cluster in clusters if cluster.duplicate_of_dataset is None}
        kept_ids = pa.array(list(kept), pa.uint64())
        for batch, folder in drop_batches(self.url) if len(members) else ():
            ids = batch.column("id").to_numpy()
            ends = batch.filter(pc.and_(pc.is_in(batch.column("id"), kept_ids), batch.column("duplicate_of").is_null()))
            for row in ends.to_pylist():
                kept[row["id"]].end = row_object(Drop, row, folder=folder)
            at, known = B.find_sorted(members, ids)
            hit = known & batch.column("duplicate_of").is_valid().to_numpy(zero_copy_only=False)
            rows, cluster_of = batch.filter(pa.array(hit)), owner[at[hit]]
            for number in np.unique(cluster_of).tolist():
                cluster, mine = clusters[number], rows.filter(pa.array(cluster_of == number))
                pairs = (mine.column(name).to_pylist() for name in ("stage", "reason"))
                cluster.reasons.update(zip(*pairs, strict=True))
                values = mine.column("similarity").fill_null(1.0).to_numpy(zero_copy_only=False)
                first = mine.take(pa.array(np.argsort(values, kind="stable")[:EXAMPLES])).to_pylist()
                examples = [*cluster.examples, *(row_object(Drop, row, folder=folder) for row in first)]
                cluster.examples = sorted(examples, key=_least_first)[:EXAMPLES]
                cluster.least = cluster.examples[0].similarity
        if not all(cluster.examples for cluster in clusters):
            raise replaced(self.url)
        return clusters


class Overtaken(NamedTuple):
    """A source of which more than half was dropped as duplicates of one other source.

    Attributes:
        source: its name.
        by: the name of the other source.
        n: the number of its documents that were dropped as such duplicates.
        of: the number of its documents that were read.
    """

    source: str
    by: str
    n: int
    of: int

    def __str__(self) -> str:
        """Return a sentence."""
        a, b = self.source, self.by
        return (
            f"{self.n:,} of {self.of:,} documents of '{a}' were dropped as duplicates of documents of '{b}'; "
            f'keep="source:{a},{b}" prefers those of \'{a}\''
        )


def overtaken(pairs: Mapping[tuple[str, str], int], stages: Iterable[StageStats]) -> list[Overtaken]:
    """Return the sources of which more than half was dropped as duplicates of one other source, most documents first.

    Sources of fewer than 100 documents are left out.

    - pairs: the result of `Clusters.source_pairs`.
    """
    read: dict[str, int] = {}
    for stage in stages:
        read = {name: amount.docs for name, amount in stage.into.items()} | read
    return [
        Overtaken(a, b, n, read[a])
        for (a, b), n in sorted(pairs.items(), key=lambda item: -item[1])
        if a != b and read.get(a, 0) >= LARGE and 2 * n > read[a]
    ]


def pair_alarms(pairs: Mapping[tuple[str, str], int], stages: Iterable[StageStats]) -> list[str]:
    """Return a sentence for each source that `overtaken` returns."""
    return [str(one) for one in overtaken(pairs, stages)]


def sources_of(ids: U64, batches: Iterable[pa.RecordBatch]) -> tuple[npt.NDArray[np.int32], list[str]]:
    """Return the source of each document as an index into a list of names, int32[n], and the names.

    Args:
        ids: the documents, ascending.
        batches: rows with the columns `id` and `source`. The index of a document without a named source is UNKNOWN.
    """
    found, names = np.full(len(ids), UNKNOWN, np.int32), dict[str, int]()
    for batch in batches:
        at, known = B.find_sorted(ids, batch.column("id").to_numpy())
        of = batch.column("source")
        codes = [names.setdefault(name, len(names)) for name in of.dictionary.to_pylist()]
        rows = of.indices.fill_null(len(codes)).to_numpy(zero_copy_only=False)[known]
        found[at[known]] = np.array([*codes, UNKNOWN], np.int32)[rows]
    return found, list(names)


def find_clusters(url: str) -> Clusters:
    """Return the clusters of duplicates of a run, from its drop tables.

    Args:
        url: the run's folder.

    Raises PlanError if the folder has no sealed (finished) Dataset, and CorruptShard if a table is missing or damaged.
    """
    found, folders = join_links(url, *_links(url)), family(url)
    if any(len(one.shifts) > 1 for one in folders) and len(lost := found.no_survivor().roots):
        _follow_other_ways(found, folders, lost)
    return found


def _follow_other_ways(found: Clusters, folders: Sequence[MemberFolder], lost: U64) -> None:
    """Replace each root that a stage dropped, but of which a copy reaches the end in another way, by this copy.

    The document's ids in other ways are followed step by step: to what was kept instead, and if that was dropped, to
    its ids in other ways. Takes about a kilobyte of memory per root.

    - lost: the roots that a stage dropped, ascending.
    """
    ends: dict[int, tuple[int, int]] = {}
    forgotten = {id_ for one in folders for id_ in one.listed.tolist()}
    todo = {root: other_ways(folders, root) for root in lost.tolist()}
    seen = {root: {root, *ids} for root, ids in todo.items()}
    while todo := {root: ids for root, ids in todo.items() if ids}:
        drops = _drops_of(found.datasets, folders, {id_ for ids in todo.values() for id_ in ids})
        for root, ids in todo.items():
            todo[root], further = [], list[int]()
            for id_ in (one for one in ids if one not in forgotten):
                kept, home = drops.get(id_, (id_, HERE))
                if kept is not None and (id_ not in drops or home != HERE):
                    ends.setdefault(root, (kept, home))
                further += other_ways(folders, id_) if kept is None else [kept]
            if root not in ends:
                todo[root] = [id_ for id_ in dict.fromkeys(further) if id_ not in seen[root]]
                seen[root].update(further)
    for i in np.flatnonzero(B.find_sorted(lost, found.roots)[1] & (found.homes == HERE)).tolist():
        found.roots[i], found.homes[i] = ends.get(int(found.roots[i]), (found.roots[i], HERE))


def _drops_of(
    datasets: list[str | None], folders: Sequence[MemberFolder], ids: set[int]
) -> dict[int, tuple[int | None, int]]:
    """Return the drops of documents by id, of any way: the id that was kept, if any, and its Dataset as in `_links`."""
    drops: dict[int, tuple[int | None, int]] = {}
    for folder in folders:
        own = {id_ for _, some in folder.own_ids(ids) for id_ in some}
        wanted = pa.array(sorted(id_ + folder.shift for id_ in own), pa.uint64())
        for batch in folder.table(DROPS, LINK) if own else ():
            rows = _without_moved(batch.filter(pc.is_in(batch.column("id"), wanted)), folder.url)
            homes = _codes(rows.column("duplicate_of_dataset"), datasets).tolist()
            pairs = (rows.column(name).to_pylist() for name in ("id", "duplicate_of"))
            for id_, kept, home in zip(*pairs, homes, strict=True):
                for step in (shift - folder.shift for shift in folder.shifts):
                    drops[id_ + step] = (kept if kept is None or home != HERE else kept + step), home
    return drops


def join_links(url: str, ids: U64, kept: U64, homes: npt.NDArray[np.uint8], datasets: list[str | None]) -> Clusters:
    """Join single drops (one document dropped as a duplicate of another) to clusters; changes the arrays in place.

    Document ids[i] was dropped as a duplicate of kept[i], which is in the Dataset datasets[homes[i]]; datasets[0] is
    None, which represents this run. Chains are followed: if kept[i] was dropped too, its own kept document is used.

    - url: the run's folder.
    """
    if not np.all(ids[1:] > ids[:-1]):  # tables of several folders; those of one folder are in order
        order = np.argsort(ids, kind="stable")
        ids, kept, homes = ids[order], kept[order], homes[order]
    open_ = np.ones(len(ids), bool)
    for _ in range(MOST_STEPS):  # each round doubles the number of drops that are followed
        for start in range(0, len(ids), ROWS):
            on = start + np.flatnonzero(open_[start : start + ROWS])
            at, further = B.find_sorted(ids, kept[on])
            further &= homes[on] == HERE
            open_[on[~further]] = False
            on, at = on[further], at[further]
            kept[on], homes[on] = kept[at], homes[at]
        if not open_.any():
            break
    return Clusters(url, ids, kept, homes, datasets)


def _links(url: str) -> tuple[U64, U64, npt.NDArray[np.uint8], list[str | None]]:
    """Return every document dropped for another: its id, the kept id, the index of its Dataset, and the Datasets."""
    ids, kept, homes = [np.zeros(0, np.uint64)], [np.zeros(0, np.uint64)], [np.zeros(0, np.uint8)]
    datasets: list[str | None] = [None]
    for batch, folder in drop_batches(url, LINK):
        rows = _without_moved(batch.filter(batch.column("duplicate_of").is_valid()), folder)
        ids.append(rows.column("id").to_numpy())
        kept.append(rows.column("duplicate_of").to_numpy())
        homes.append(_codes(rows.column("duplicate_of_dataset"), datasets))
    return np.concatenate(ids), np.concatenate(kept), np.concatenate(homes), datasets


def _without_moved(rows: pa.RecordBatch, folder: str) -> pa.RecordBatch:
    """Return the rows without documents whose text became part of another, such as messages of a conversation."""
    for stage in Stats.from_json(manifest.stats if (manifest := Folder(folder).record) else []):
        if stage.moved:
            moved = pc.is_in(rows.column("reason").cast(pa.string()), pa.array(sorted(stage.moved)))
            of_stage = pc.equal(rows.column("stage").cast(pa.string()), stage.name)
            rows = rows.filter(pc.invert(pc.and_(moved, of_stage)))
    return rows


def _codes(names: pa.DictionaryArray, datasets: list[str | None]) -> npt.NDArray[np.uint8]:
    """Return names as indices into `datasets`, to which new names are added."""
    known = names.dictionary.to_pylist()
    datasets += [name for name in known if name not in datasets]
    table = np.array([*(datasets.index(name) for name in known), HERE], np.uint8)
    codes: npt.NDArray[np.uint8] = table[names.indices.fill_null(len(known)).to_numpy(zero_copy_only=False)]
    return codes


def drop_batches(url: str, columns: Sequence[str] | None = None) -> Iterator[tuple[pa.RecordBatch, str]]:
    """Yield the rows of all drop tables of a run, as (batch, folder of the Dataset).

    - columns: the names of the columns to read; None: all.
    """
    for folder in family(url):
        for batch in folder.table(DROPS, columns):
            yield batch, folder.url


def _least_first(drop: Drop) -> tuple[float, int]:
    """Return a sort key: similarity, then id."""
    return (1.0 if drop.similarity is None else drop.similarity, drop.id)


@dataclass(frozen=True)
class Similarities:
    """The similarities between the documents that one stage dropped and the documents kept in their place.

    Attributes:
        hundredths: int64[100], numbers of dropped documents with a similarity below 1, per hundredth of similarity.
        same: the number of dropped documents with the similarity 1.
    """

    hundredths: npt.NDArray[np.int64]
    same: int


def similarities(url: str) -> dict[str, Similarities]:
    """Return {stage: Similarities} for the stages of a run that measure how similar dropped documents are."""
    found: dict[str, Similarities] = {}
    for batch, _ in drop_batches(url, ["stage", "similarity", "duplicate_of"]):
        rows = _with_survivor(batch)
        for stage in rows.column("stage").unique().to_pylist():
            mine = rows.filter(pc.equal(rows.column("stage").cast(pa.string()), stage))
            values = mine.column("similarity").to_numpy()
            counts = np.histogram(values[values < 1], bins=100, range=(0, 1))[0]
            old = found.get(stage, Similarities(np.zeros(100, np.int64), 0))
            found[stage] = Similarities(old.hundredths + counts, old.same + int((values >= 1).sum()))
    return found


def _with_survivor(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return the rows with a kept document and a similarity; prototypes, compared to a centroid, have none."""
    return batch.filter(pc.and_(batch.column("similarity").is_valid(), batch.column("duplicate_of").is_valid()))


def least_similar(url: str, n: int, source: str | None = None) -> list[Drop]:
    """Return the `n` dropped documents that are least similar to the documents kept instead, least similar first.

    - url: the run's folder. Documents with different kept documents are preferred.
    - source: only dropped documents of this source are returned; None: of all sources.
    """
    mask = None if source is None else (found := find_clusters(url)).ids[found.of_source(source)]
    best: list[Drop] = []
    for batch, folder in drop_batches(url):
        rows = _with_survivor(batch)
        if mask is not None:
            rows = rows.filter(pc.is_in(rows.column("id"), pa.array(mask)))
        values: Any = rows.column("similarity").to_numpy()
        first = np.lexsort((rows.column("id").to_numpy(), values))[: n * SPARE]
        candidates = [row_object(Drop, row, folder=folder) for row in rows.take(pa.array(first)).to_pylist()]
        best = heapq.nsmallest(n * SPARE, [*best, *candidates], key=_least_first)
    firsts = list({(drop.duplicate_of_dataset, drop.duplicate_of): drop for drop in reversed(best)}.values())[::-1]
    others = [drop for drop in best if drop not in firsts]
    return sorted([*sorted(firsts, key=_least_first), *others][:n], key=_least_first)
