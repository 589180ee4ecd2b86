"""Clusters: the kept document of each dropped one, over any number of stages."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dataprep as dp
from dataprep.core.model.batch import doc_id
from dataprep.errors import CorruptShard
from dataprep.history import clusters, why
from dataprep.store import files

TEXT = "the quick brown fox jumps over the lazy dog and runs home before the rain begins to fall on {} tonight"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Three pages: copies of copies, near copies, and one on its own; from two sources."""
    place = tmp_path_factory.mktemp("clusters")
    rows = {
        "wiki": [TEXT.format("wiki pages"), TEXT.format("wiki pages"), "one of a kind, and quite short"],
        "web": [TEXT.format("wiki pages"), TEXT.format("wiki sites"), "a page", "a page", "a page"],
    }
    for source, texts in rows.items():
        pa.parquet.write_table(pa.table({"text": texts, "source": [source] * len(texts)}), place / f"{source}.parquet")
    docs = dp.read([str(place / "wiki.parquet"), str(place / "web.parquet")])
    dp.Pipeline(dp.Map(strip), dp.Exact(), dp.MinHash(threshold=0.7)).run(docs, out=str(place / "out"))
    return str(place / "out")


def strip(text: str) -> str:
    """A stage that makes the pipeline save what it gives to Exact."""
    return text.strip()


def test_trails_are_followed_to_the_end(run):
    """A document dropped for one that is dropped later belongs to the cluster of the last one."""
    found = clusters.find_clusters(run)
    sizes, counts = found.sizes()
    assert dict(zip(sizes.tolist(), counts.tolist(), strict=True)) == {3: 1, 4: 1}
    top, second = found.largest(2)
    assert (top.kept, top.size) == (doc_id(0, 0), 4)
    assert top.reasons == {("Exact", "duplicate"): 2, ("MinHash", "near_duplicate"): 1}
    assert top.examples[0].id == doc_id(1, 1)
    assert top.least == pytest.approx(top.examples[0].similarity)
    assert (second.kept, second.size, second.least) == (doc_id(1, 2), 3, 1.0)


def test_only_what_a_source_lost(run):
    """With a source, only what was removed of it counts."""
    found = clusters.find_clusters(run)
    assert [(c.kept, c.removed) for c in found.largest(5, "wiki")] == [(doc_id(0, 0), 1)]
    assert [(c.kept, c.removed) for c in found.largest(5, "web")] == [(doc_id(0, 0), 2), (doc_id(1, 2), 2)]
    assert found.largest(5, "nobody") == []
    assert [drop.id for drop in clusters.least_similar(run, 9, "wiki")] == [doc_id(0, 1)]


def test_least_similar_first_and_one_for_each_survivor(run):
    """The least similar removal leads; one survivor does not fill the list."""
    drops = clusters.least_similar(run, 2)
    assert [drop.id for drop in drops] == [doc_id(1, 1), doc_id(1, 3)]
    assert len(clusters.least_similar(run, 99)) == 5


def test_similarities_by_stage(run):
    """Each stage's removals by hundredths; the same are counted apart."""
    found = clusters.similarities(run)
    assert (found["Exact"].same, int(found["Exact"].hundredths.sum())) == (4, 0)
    assert (found["MinHash"].same, int(found["MinHash"].hundredths.sum())) == (0, 1)


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60), st.sampled_from([None, "old"])), max_size=40))
def test_ends_of_trails_are_those_of_a_walk(links):
    """Doubling finds the survivor that walking link by link finds."""
    links = {a: (b, home) for a, b, home in links if b < a}  # a trail has no circles

    def end(a):
        where = None
        while where is None and a in links:
            a, where = links[a]
        return a, where

    places = [None, "old"]
    arrays = (
        np.array(list(links), np.uint64),
        np.array([b for b, _ in links.values()], np.uint64),
        np.array([places.index(home) for _, home in links.values()], np.uint8),
    )
    found = clusters.join_links("nowhere", *arrays, places)
    got = zip(found.ids.tolist(), found.roots.tolist(), found.homes.tolist(), strict=True)
    assert {a: (b, places[home]) for a, b, home in got} == {a: end(a) for a in links}
    sizes = Counter(Counter(map(end, links)).values())
    assert dict(zip(*(values.tolist() for values in found.sizes()), strict=True)) == {
        n + 1: c for n, c in sizes.items()
    }


def test_a_missing_or_half_written_table_is_one_sentence(run, tmp_path):
    """A drop table that is gone or cut off is said to be so, whoever asks."""
    import shutil

    broken = shutil.copytree(run, tmp_path / "broken")
    table = next((broken / "drops").iterdir())
    whole = table.read_bytes()
    table.write_bytes(whole[: len(whole) // 2])
    for ask in (clusters.find_clusters, clusters.similarities, lambda url: clusters.least_similar(url, 3)):
        with pytest.raises(CorruptShard, match=r"drops/part-\d+.parquet is not the table that was written"):
            ask(str(broken))
    with pytest.raises(CorruptShard, match="verify DIR --repair PIPELINE` makes it again"):
        why.follow(str(broken), doc_id(1, 1))
    table.unlink()
    with pytest.raises(CorruptShard, match="it is missing"):
        clusters.find_clusters(str(broken))
    with files.atomic(str(table)) as f:
        pa.parquet.write_table(pa.table({"id": [1]}), f)
    with pytest.raises(CorruptShard, match="there is no column stage, reason"):
        clusters.find_clusters(str(broken))
