"""Keys of many parts: what a run opens and reads grows with the parts, not with parts times ranges."""

from __future__ import annotations

import pytest

import dataprep as dp
from dataprep.core.run import merge
from dataprep.dedup.near import key_sources
from dataprep.store import parquet, shuffle
from fixtures.counted import Counted, many_parts

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
