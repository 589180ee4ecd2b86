"""Components against plain search: edges of equal keys, chains of any order, ranges that cover all keys once."""

from __future__ import annotations

import random
from collections import Counter, defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dataprep.dedup.near import components as C
from dataprep.dedup.near import key_sources as K
from dataprep.dedup.near.gather import MAX_PARTITIONS, PARTITION_BYTES, n_partitions

pairs = st.lists(st.tuples(st.integers(0, 19), st.integers(0, 19)), max_size=25)


def reached(n, edges):
    """The smallest document that each document reaches by the edges, step by step."""
    near = defaultdict(set)
    for a, b in edges:
        near[a].add(b)
        near[b].add(a)
    roots = []
    for first in range(n):
        seen, todo = {first}, [first]
        while todo:
            todo += (new := near[todo.pop()] - seen)
            seen |= new
        roots.append(min(seen))
    return roots


@settings(max_examples=30)
@given(edges=pairs, cuts=st.integers(1, 5))
def test_components_are_what_a_walk_reaches(edges, cuts):
    """Whatever the order of the edges, and however often they are given; a document is shared if it is not alone."""
    parent = np.arange(20, dtype=np.uint32)
    for some in np.array_split(np.array(edges, np.uint32).reshape(-1, 2), cuts):
        C.unite(parent, some)
    shared = C.flatten(parent)
    roots = reached(20, edges)
    assert parent.tolist() == roots
    assert shared.tolist() == [Counter(roots)[root] > 1 for root in roots]


@pytest.mark.parametrize("seed", range(3))
def test_long_chains_stay_together(seed):
    """A chain of 3,000 documents in random order is one component, its neighbours are others."""
    rng = random.Random(seed)
    edges = [(k, k + 1) for k in range(3, 3000)]
    rng.shuffle(edges)
    parent = np.arange(3010, dtype=np.uint32)
    C.unite(parent, np.array([(a, b) if rng.random() < 0.5 else (b, a) for a, b in edges], np.uint32))
    shared = C.flatten(parent)
    assert parent.tolist() == [0, 1, 2, *[3] * 2998, *range(3001, 3010)]
    assert np.flatnonzero(shared).tolist() == list(range(3, 3001))


@settings(max_examples=40)
@given(keys=st.sets(st.tuples(st.integers(0, 6), st.integers(0, 30)), max_size=30), new=st.integers(0, 31))
def test_edges_join_documents_of_one_key(keys, new):
    """Each document with the first that has its key; none if no document of the key is new."""
    rows = sorted(keys, key=lambda row: row[0])
    found = C.star_edges(
        np.array([k for k, _ in rows], np.uint64), np.array([d for _, d in rows], np.uint32), np.uint32(new)
    )
    expected = []
    for key in {k for k, _ in rows}:
        docs = [d for k, d in rows if k == key]
        expected += [(d, min(docs)) for d in docs if d != min(docs) and max(docs) >= new]
    assert sorted(map(tuple, found.tolist())) == sorted(expected)


@pytest.mark.parametrize("n_docs", [0, 1, 40, 41, 80, 4000, 40_000])
@pytest.mark.parametrize("bands", [1, 26])
def test_ranges_cover_every_key_once(monkeypatch, n_docs, bands):
    """Tasks are numbered, take each top byte of each band once, and sort no more keys than fit."""
    monkeypatch.setattr(K, "MATCH_RECORDS", 40)
    ranges = K.key_ranges(n_docs, bands)
    assert [r.number for r in ranges] == list(range(len(ranges)))
    covered = Counter((b, byte) for r in ranges for b in range(*r.bands) for byte in range(*r.buckets))
    assert set(covered.values()) == {1}
    assert len(covered) == bands * K.BUCKETS
    widest = max(r.buckets[1] - r.buckets[0] for r in ranges)
    assert widest == 1 or n_docs * widest <= 40 * K.BUCKETS
    assert all((r.bands[1] - r.bands[0]) * n_docs <= max(40, n_docs) for r in ranges)
    if n_docs <= 40:
        assert len(ranges) == -(-bands // (40 // max(1, n_docs)))


def test_partitions_grow_with_the_candidates():
    """One for little, another for each PARTITION_BYTES, and no more than files may be open."""
    sizes = [0, 1, PARTITION_BYTES, PARTITION_BYTES + 1, 2 * PARTITION_BYTES, 1 << 60]
    assert [n_partitions(size) for size in sizes] == [1, 1, 1, 2, 2, MAX_PARTITIONS]
