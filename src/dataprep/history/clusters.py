"""Clusters: a document that stays and all that went for it, directly or for one that went for it later.

Read from the drop tables some rows at a time; never texts. What is held is 17 bytes for each document dropped for
another, a few times that while they are sorted: ten million took 0.75 GB at the peak, and 11 s with everything asked.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from dataprep.core import batch as B
from dataprep.core.dataset import open_dataset
from dataprep.core.tables import Drop

from . import why as trail

HERE = 0  # the code of a survivor that lives in this run
ROWS = 1 << 20  # followed at once, so that little is held besides the links
MOST_STEPS = 64  # a trail has one drop a stage; longer ones are of folders that are not one run
SPARE = 16  # as many more are looked at, so that one survivor does not fill the list
EXAMPLES = 6  # members of a cluster that are named: the least similar ones

U64 = npt.NDArray[np.uint64]


@dataclass
class Cluster:
    """One document that stays, and what went for it."""

    kept: int
    kept_in: str | None  # another Dataset, if the survivor lives there
    removed: int
    why: Counter[tuple[str, str]] = field(default_factory=Counter)  # documents by (stage, reason)
    least: float | None = None  # similarity of a removed document with the one that it was dropped for
    examples: list[Drop] = field(default_factory=list)  # least similar first

    @property
    def size(self) -> int:
        """Documents, the one that stays included."""
        return self.removed + 1


@dataclass(frozen=True)
class Clusters:
    """Who went for whom in the end; all arrays in order of ids."""

    url: str
    ids: U64  # the removed
    roots: U64  # the document that stands for each of them in the end
    homes: npt.NDArray[np.uint8]  # where that one lives: an index into `places`
    places: list[str | None]  # None, and the other Datasets that drop tables name

    @property
    def removed(self) -> int:
        """How many documents went for another."""
        return len(self.ids)

    def sizes(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """The sizes that clusters have, survivors included, and how many clusters have each."""
        counts = [self._counts(home)[1] for home in range(len(self.places))]
        size, n = np.unique(np.concatenate(counts), return_counts=True)
        return size + 1, n

    def largest(self, n: int, source: str | None = None) -> list[Cluster]:
        """The n clusters of which most went, largest first; with `source`, counting only what went of it."""
        mask = None if source is None else self.of_source(source)
        found: list[tuple[int, int, int]] = []  # documents removed, home, root
        for home in range(len(self.places)):
            roots, counts = self._counts(home, mask)
            best = np.lexsort((roots, -counts))[:n]
            found += [(int(counts[i]), home, int(roots[i])) for i in best]
        top = sorted(found, key=lambda row: (-row[0], row[1:]))[:n]
        return self._described([Cluster(root, self.places[home], count) for count, home, root in top], mask)

    def of_source(self, source: str) -> npt.NDArray[np.bool_]:
        """Which of the removed are of this source, bool[n].

        Read from the Datasets that still hold them; for the others, the source of their input file is taken.
        """
        mask, known = np.zeros(len(self.ids), bool), np.zeros(len(self.ids), bool)
        files_of_it: list[int] = []
        for folder in trail.sealed_folders(self.url):
            docs = open_dataset(folder)
            files_of_it += [
                row["file"] for row in docs.manifest["inputs"] if row.get("source") == source and "file" in row
            ]
            for batch in docs.batches(["id", "source"]):
                at = np.searchsorted(self.ids, B.ids(batch))
                hit = np.flatnonzero(at < len(self.ids))
                hit = hit[self.ids[at[hit]] == B.ids(batch)[hit]]
                known[at[hit]] = True
                same = pc.equal(batch.column("source").cast(pa.string()), source).to_numpy(zero_copy_only=False)
                mask[at[hit[same[hit]]]] = True
        return mask | ~known & np.isin(self.ids >> np.uint64(B.POSITION_BITS), np.array(files_of_it, np.uint64))

    def _counts(self, home: int, mask: npt.NDArray[np.bool_] | None = None) -> tuple[U64, npt.NDArray[np.int64]]:
        """The survivors in one place, in order, and how many went for each."""
        mine = self.homes == home if mask is None else (self.homes == home) & mask
        roots = self.roots[mine]
        roots.sort()  # np.unique would hold three copies
        starts = np.flatnonzero(np.concatenate([[True], roots[1:] != roots[:-1]])[: len(roots)])
        return roots[starts], np.diff(starts, append=len(roots))

    def _described(self, clusters: list[Cluster], mask: npt.NDArray[np.bool_] | None) -> list[Cluster]:
        """Reasons, similarities and members of some clusters: one more look at the drop tables."""
        owner = np.full(len(self.ids), -1, np.int32)
        for number, cluster in enumerate(clusters):
            mine = (self.roots == np.uint64(cluster.kept)) & (self.homes == self.places.index(cluster.kept_in))
            owner[mine if mask is None else mine & mask] = number
        members = np.flatnonzero(owner >= 0)
        for rows, folder in _related(self.url, self.ids[members]):
            whose = owner[members[np.searchsorted(self.ids[members], rows.column("id").to_numpy())]]
            for number in np.unique(whose).tolist():
                mine = rows.filter(pa.array(whose == number))
                pairs = (mine.column(name).to_pylist() for name in ("stage", "reason"))
                clusters[number].why.update(zip(*pairs, strict=True))
                self._remember(clusters[number], mine, folder)
        return clusters

    @staticmethod
    def _remember(cluster: Cluster, rows: pa.RecordBatch, folder: str) -> None:
        likeness = rows.column("similarity").fill_null(1.0).to_numpy(zero_copy_only=False)
        first = np.argsort(likeness, kind="stable")[:EXAMPLES]
        cluster.examples += [Drop(**row, folder=folder) for row in rows.take(pa.array(first)).to_pylist()]
        cluster.examples = sorted(cluster.examples, key=_least_first)[:EXAMPLES]
        cluster.least = cluster.examples[0].similarity


def find(url: str) -> Clusters:
    """The clusters of a run, from its drop tables."""
    return followed(url, *_links(url))


def followed(url: str, ids: U64, kept: U64, homes: npt.NDArray[np.uint8], places: list[str | None]) -> Clusters:
    """The clusters that links make: ids[i] went for kept[i], which lives in places[homes[i]]; links are changed."""
    if not np.all(ids[1:] > ids[:-1]):  # of several folders; one folder's are in order
        order = np.argsort(ids, kind="stable")
        ids, kept, homes = ids[order], kept[order], homes[order]
    open_ = np.ones(len(ids), bool)
    for _ in range(MOST_STEPS):  # each round doubles how far everyone has followed
        for start in range(0, len(ids), ROWS):
            on = start + np.flatnonzero(open_[start : start + ROWS])
            at = np.minimum(np.searchsorted(ids, kept[on]), len(ids) - 1)
            further = (homes[on] == HERE) & (ids[at] == kept[on])
            open_[on[~further]] = False
            on, at = on[further], at[further]
            kept[on], homes[on] = kept[at], homes[at]
        if not open_.any():
            break
    return Clusters(url, ids, kept, homes, places)


def _links(url: str) -> tuple[U64, U64, npt.NDArray[np.uint8], list[str | None]]:
    """Every document dropped for another: who, for whom, and where that one lives."""
    ids, kept, homes = [np.zeros(0, np.uint64)], [np.zeros(0, np.uint64)], [np.zeros(0, np.uint8)]
    places: list[str | None] = [None]
    for batch, _ in _batches(url, ["id", "kept_in", "kept"]):
        rows = batch.filter(batch.column("kept").is_valid())
        ids.append(rows.column("id").to_numpy())
        kept.append(rows.column("kept").to_numpy())
        homes.append(_codes(rows.column("kept_in"), places))
    return np.concatenate(ids), np.concatenate(kept), np.concatenate(homes), places


def _codes(names: pa.DictionaryArray, places: list[str | None]) -> npt.NDArray[np.uint8]:
    """The places as indices into `places`, which grows."""
    known = names.dictionary.to_pylist()
    places += [name for name in known if name not in places]
    table = np.array([*(places.index(name) for name in known), HERE], np.uint8)
    codes: npt.NDArray[np.uint8] = table[names.indices.fill_null(len(known)).to_numpy(zero_copy_only=False)]
    return codes


def _batches(url: str, columns: Sequence[str] | None = None) -> Iterator[tuple[pa.RecordBatch, str]]:
    for folder in trail.sealed_folders(url):
        for batch in trail.tables(folder, "drops", columns):
            yield batch, folder


def _related(url: str, members: U64) -> Iterator[tuple[pa.RecordBatch, str]]:
    """The rows in which some documents were dropped for another."""
    for batch, folder in _batches(url) if len(members) else ():
        ids = batch.column("id").to_numpy()
        at = np.minimum(np.searchsorted(members, ids), len(members) - 1)
        hit = (members[at] == ids) & batch.column("kept").is_valid().to_numpy(zero_copy_only=False)
        if hit.any():
            yield batch.filter(pa.array(hit)), folder


@dataclass(frozen=True)
class Likeness:
    """How similar the documents that one stage removed are to those that they were removed for."""

    hundredths: npt.NDArray[np.int64]  # int64[100]: documents by similarity, those under 1
    same: int  # similarity 1


def likeness(url: str) -> dict[str, Likeness]:
    """By stage, in order; stages that measured nothing are not in it."""
    found: dict[str, Likeness] = {}
    for batch, _ in _batches(url, ["stage", "similarity", "kept"]):
        rows = _with_survivor(batch)
        for stage in rows.column("stage").unique().to_pylist():
            mine = rows.filter(pc.equal(rows.column("stage").cast(pa.string()), stage))
            values = mine.column("similarity").to_numpy()
            counts = np.histogram(values[values < 1], bins=100, range=(0, 1))[0]
            old = found.get(stage, Likeness(np.zeros(100, np.int64), 0))
            found[stage] = Likeness(old.hundredths + counts, old.same + int((values >= 1).sum()))
    return found


def _with_survivor(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The rows that name a survivor and how similar it is; a prototype's similarity is to a centroid, not to a text."""
    return batch.filter(pc.and_(batch.column("similarity").is_valid(), batch.column("kept").is_valid()))


def least_similar(url: str, n: int, source: str | None = None) -> list[Drop]:
    """The n removed documents that are least like the one they went for, one for each of those if there are enough."""
    mask = None if source is None else (found := find(url)).ids[found.of_source(source)]
    best: list[Drop] = []
    for batch, folder in _batches(url):
        rows = _with_survivor(batch)
        if mask is not None:
            rows = rows.filter(pc.is_in(rows.column("id"), pa.array(mask)))
        values: Any = rows.column("similarity").to_numpy()
        first = np.lexsort((rows.column("id").to_numpy(), values))[: n * SPARE]
        candidates = [Drop(**row, folder=folder) for row in rows.take(pa.array(first)).to_pylist()]
        best = heapq.nsmallest(n * SPARE, [*best, *candidates], key=_least_first)
    firsts = list({(drop.kept_in, drop.kept): drop for drop in reversed(best)}.values())[::-1]
    others = [drop for drop in best if drop not in firsts]
    return sorted([*sorted(firsts, key=_least_first), *others][:n], key=_least_first)


def _least_first(drop: Drop) -> tuple[float, int]:
    return (1.0 if drop.similarity is None else drop.similarity, drop.id)
