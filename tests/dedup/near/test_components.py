"""Components against plain search: edges of equal keys, chains of any order, ranges that cover all keys once."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dataprep.dedup.near import components as C
from dataprep.dedup.near import key_sources as K
from dataprep.dedup.near import union
from dataprep.dedup.near.gather import PARTITION_BYTES, n_partitions
from dataprep.store import files

pairs = st.lists(st.tuples(st.integers(0, 19), st.integers(0, 19)), max_size=25)
NUMBERS = itertools.count()


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


def united(edges, cuts):
    """The root of every document, whether it is joined, and the size of the largest component, by ranges `cuts`."""
    number = K.number_type(cuts[-1])
    rows = np.array(edges, number).reshape(-1, 2)
    find = union.UnionFind(f"memory://union-{next(NUMBERS)}", cuts)
    parent, largest = find.link(np.frombuffer(some.tobytes(), number).reshape(-1, 2) for some in np.split(rows, [2, 5]))
    bases, roots, shared = zip(*((at, found.copy(), joined) for at, found, joined in find.roots(parent)), strict=True)
    assert bases == cuts[:-1]
    assert not files.exists(find.folder)
    return np.concatenate(roots), np.concatenate(shared), largest


@pytest.mark.parametrize("wide", [False, True])
@settings(max_examples=15)
@given(edges=pairs, cuts=st.sets(st.integers(1, 19), max_size=5))
def test_components_are_what_a_walk_reaches(wide, edges, cuts):
    """Whatever the order of the edges, however often they are given, and in as many ranges as there may be."""
    edges = [(max(edge), min(edge)) for edge in edges if edge[0] != edge[1]]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(K, "MAX_UINT32", 1 if wide else 99)
        patch.setattr(union, "EDGES_AT_ONCE", 3)
        found, shared, largest = united(edges, (0, *sorted(cuts), 20))
    roots = reached(20, edges)
    sizes = Counter(roots)
    assert found.tolist() == roots
    assert shared.tolist() == [sizes[root] > 1 for root in roots]
    assert largest == (max(sizes.values()) if edges else 0)


@pytest.mark.parametrize("n", [3_000, 200_000])
def test_long_chains_and_stars_stay_together(n):
    """A chain in random order, and a star, are one component each; the documents around them are others."""
    order = np.random.default_rng(n).permutation(np.arange(3, n))
    for other in (order, np.full(len(order), 3)):
        for cuts in ((0, n + 9), (0, 2, n // 3, n // 2, n + 9)):
            roots, shared, largest = united(np.stack([order + 1, other], axis=1), cuts)
            assert largest == n - 2
            assert (roots[3 : n + 1] == 3).all()
            assert np.flatnonzero(roots == np.arange(n + 9)).tolist() == [0, 1, 2, 3, *range(n + 1, n + 9)]
            assert np.flatnonzero(shared).tolist() == list(range(3, n + 1))


def test_no_documents_have_no_components():
    """Nothing, and documents without edges."""
    for cuts in ((0, 0), (0, 2, 3)):
        roots, shared, largest = united([], cuts)
        assert (roots.tolist(), shared.tolist(), largest) == ([*range(cuts[-1])], [0] * cuts[-1], 0)


@settings(max_examples=40)
@given(keys=st.sets(st.tuples(st.integers(0, 6), st.integers(0, 30)), max_size=30), new=st.integers(0, 31))
def test_edges_join_documents_of_one_key(keys, new):
    """Each document with the first that has its key; none if no document of the key is new."""
    rows = list(keys)
    found = C.star_edges(
        np.array([k for k, _ in rows], np.uint64), np.array([d for _, d in rows], np.uint32), np.uint32(new)
    )
    expected = []
    for key in {k for k, _ in rows}:
        docs = [d for k, d in rows if k == key]
        expected += [(d, min(docs)) for d in docs if d != min(docs) and max(docs) >= new]
    assert sorted(map(tuple, found.tolist())) == sorted(expected)


@pytest.mark.parametrize("kind", [np.uint32, np.uint64])
def test_edges_of_many_keys_join_what_sorting_joins(kind):
    """Keys in many groups, in any order, with one key that a tenth of the documents have."""
    random = np.random.default_rng(0)
    keys, docs = random.integers(0, 9_000, 20_000).astype(np.uint64), random.permutation(20_000).astype(kind)
    keys *= np.uint64(0x9E3779B97F4A7C15)
    keys[:2_000] = 7
    found = C.star_edges(keys, docs, kind(19_000))
    rows = sorted(zip(keys.tolist(), docs.tolist(), strict=True))
    expected = []
    for _, same in itertools.groupby(rows, lambda row: row[0]):
        of_key = [doc for _, doc in same]
        expected += [(doc, of_key[0]) for doc in of_key[1:]] if of_key[-1] >= 19_000 else []
    assert found.dtype == kind
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
    """One for little, and another for each PARTITION_BYTES."""
    sizes = [0, 1, PARTITION_BYTES, PARTITION_BYTES + 1, 2 * PARTITION_BYTES, 10**6 * PARTITION_BYTES]
    assert [n_partitions(size) for size in sizes] == [1, 1, 1, 2, 2, 10**6]
