"""Keys of many parts: their order in a file; what a run opens and reads grows with parts, not with parts x ranges."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dataprep as dp
from dataprep.core.run import merge
from dataprep.dedup.near import key_sources
from dataprep.dedup.near import keys as keys_module
from dataprep.store import parquet, shuffle
from fixtures.counted import Counted, many_parts
from twins.minhash import by_top_byte

STAGES = dp.MinHash(bands=4, rows=2), dp.Exact(unit="line"), dp.SuffixArray(min_words=6)


@pytest.mark.parametrize("stage", STAGES, ids=["MinHash", "line", "windows"])
def test_opens_grow_with_the_parts(monkeypatch, stage):
    """Twice as many parts, ranges and partitions: at most 2.3 times as many opens, requests and bytes.

    Each level of merging reads every byte once more.
    """
    monkeypatch.setattr(shuffle, "FAN_IN", 4)
    monkeypatch.setattr(parquet, "FILE_GROUPS", 2)
    monkeypatch.setattr(merge, "MAX_SECTIONS", 5)
    counts = []
    for n in (24, 48):
        with many_parts(n, docs=6, in_a_range=2) as (url, out):
            assert dp.Pipeline(stage).run(dp.read(url), out).count == n * 3
            counts.append((Counted.opens.total(), Counted.requests.total(), Counted.read.total()))
    assert all(more <= 2.3 * few for few, more in zip(*counts, strict=True)), counts


def test_buckets_grow_with_the_documents():
    """A bucket has at most as many keys as are sorted at once, as far as a key's first 16 bits can tell them apart."""
    most = key_sources.MATCH_RECORDS
    sizes = {most * 256: 256, most * 256 + 1: 512, most * 512: 512, most * 5000: 8192, 1 << 60: 1 << 16}
    assert {n: key_sources.n_buckets(n) for n in (0, 1, *sizes)} == {0: 256, 1: 256} | sizes


@settings(max_examples=30)
@given(seed=st.integers(0, 99), n=st.integers(0, 60), bands=st.integers(1, 3), first=st.integers(0, 9))
def test_keys_are_stored_by_their_top_byte(seed, n, bands, first):
    """Sections as plain lists have them, of the documents that have contents; few top bytes, so that some repeat."""
    random = np.random.default_rng(seed)
    keys = random.integers(0, 3, (bands, n)).astype(np.uint64) << np.uint64(63) >> np.uint64(seed % 9)
    keys |= random.integers(0, 1 << 40, (bands, n)).astype(np.uint64)
    sizes = random.integers(0, 3, n)
    cut = n // 2
    held = [(sizes[:cut], keys[:, :cut], first), (sizes[cut:], keys[:, cut:], first + cut)]
    *found, stored = keys_module._sections(held)
    expected = by_top_byte(keys.tolist(), np.flatnonzero(sizes).tolist(), first)
    for one, sections in zip(found, expected, strict=True):
        assert [one.rows[low:high].tolist() for low, high in itertools.pairwise(one.cuts)] == sections
    assert stored.tolist() == sizes.tolist()
