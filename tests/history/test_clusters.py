"""Clusters: the kept document of each dropped one, over any number of stages."""

from __future__ import annotations

import datetime as dt
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dataprep as dp
from dataprep.core.model.batch import doc_id
from dataprep.core.output.run_folder import datasets
from dataprep.errors import CorruptShard
from dataprep.history import clusters, why
from dataprep.history.run_summary import summarize
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
    assert (top.duplicate_of, top.size) == (doc_id(0, 0), 4)
    assert top.reasons == {("Exact", "duplicate"): 2, ("MinHash", "near_duplicate"): 1}
    assert top.examples[0].id == doc_id(1, 1)
    assert top.least == pytest.approx(top.examples[0].similarity)
    assert (second.duplicate_of, second.size, second.least) == (doc_id(1, 2), 3, 1.0)


def test_only_what_a_source_lost(run):
    """With a source, only what was removed of it counts."""
    found = clusters.find_clusters(run)
    assert [(c.duplicate_of, c.removed) for c in found.largest(5, "wiki")] == [(doc_id(0, 0), 1)]
    assert [(c.duplicate_of, c.removed) for c in found.largest(5, "web")] == [(doc_id(0, 0), 2), (doc_id(1, 2), 2)]
    assert found.largest(5, "nobody") == []
    assert [drop.id for drop in clusters.least_similar(run, 9, "wiki")] == [doc_id(0, 1)]


def test_pairs_of_sources_are_counted_by_their_ends(run, lossy):
    """The source of a dropped document, and that of the one kept in the end, even if that was dropped later."""
    pairs = clusters.find_clusters(run).source_pairs()
    assert pairs == {("wiki", "wiki"): 1, ("web", "wiki"): 2, ("web", "web"): 2}
    found, rows = clusters.find_clusters(lossy), _sources(lossy)
    assert sum(found.source_pairs().values()) == found.removed
    assert found.source_pairs() == Counter(
        (rows[a], rows[b]) for a, b in zip(found.ids.tolist(), found.roots.tolist(), strict=True)
    )


def _sources(url):
    """A plain twin: the source of every document that any table or Dataset of a run names."""
    found = {}
    for folder in datasets(url):
        docs = dp.open_dataset(folder.url)
        for table in (docs.to_arrow(), docs.drops()):
            found |= zip(table["id"].to_pylist(), table["source"].to_pylist(), strict=True)
    return found


def test_a_source_that_its_copy_displaced_is_an_alarm(tmp_path):
    """A source whose documents are kept in another one by more than half; of a hundred documents and more."""
    for name, n in (("a-mirror", 120), ("site", 150), ("small", 90)):
        texts = "".join(f'{{"text": "page {k} of many, as long as the others"}}\n' for k in range(n))
        (tmp_path / f"{name}.jsonl").write_text(texts)
    out = str(tmp_path / "out")
    dp.Pipeline(dp.Exact()).run(dp.read(str(tmp_path / "*.jsonl")), out=out)
    found = clusters.find_clusters(out)
    assert found.source_pairs() == {("site", "a-mirror"): 120, ("small", "a-mirror"): 90}
    says = clusters.pair_alarms(found.source_pairs(), dp.open_dataset(out).stats)
    assert says == [
        ("120 of 150 documents of 'site' were dropped as duplicates of documents of 'a-mirror'; "
        "keep=\"source:site,a-mirror\" prefers those of 'site'")
    ]
    assert says[0] in summarize(out).alarms
    dp.Pipeline(dp.Exact(keep="source:site,a-mirror")).run(dp.read(str(tmp_path / "*.jsonl")), out=out, replace=True)
    assert clusters.find_clusters(out).source_pairs() == {("a-mirror", "site"): 120, ("small", "site"): 90}


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


@pytest.fixture(scope="module")
def lossy(tmp_path_factory):
    """Two clusters whose kept document a filter drops later, one that stays, and one that goes for another."""
    place = tmp_path_factory.mktemp("lossy")
    texts = ["bad apples"] * 4 + ["bad pears"] * 2 + ["good plums"] * 3 + [TEXT.format("a")] * 2 + [TEXT.format("b")]
    (place / "a.jsonl").write_text("".join(f'{{"text": "{text}"}}\n' for text in [*texts, "bad and alone"]))
    stages = (dp.Exact(), dp.MinHash(threshold=0.7), dp.Filter(not_bad))
    dp.Pipeline(*stages).run(dp.read(str(place / "a.jsonl")), out=str(place / "out"))
    return str(place / "out")


def not_bad(text: str) -> str | None:
    """Drop bad texts."""
    return "rotten" if text.startswith("bad") else None


def test_clusters_without_a_survivor_are_counted(lossy):
    """Those of which `why` says that a later stage dropped the kept document, and no others."""
    found = clusters.find_clusters(lossy)
    lost = found.no_survivor()
    ends = {int(i): why.follow(lossy, int(i)) for i in found.ids}
    gone = [i for i, fate in ends.items() if fate.survivor_in is None]
    assert (lost.n, lost.of, len(lost.roots)) == (len(gone), 8, 2) == (4, 8, 2)
    assert [int(i) for i in found.ids if found.survivor(int(i), lost) is None] == gone
    assert all(found.survivor(i, lost) == fate.survivor for i, fate in ends.items() if i not in gone)
    assert dict(zip(lost.roots.tolist(), lost.removed.tolist(), strict=True)) == Counter(ends[i].survivor for i in gone)
    assert lost.reasons == {("not_bad", "rotten"): 2}
    assert str(lost) == (
        "4 of 8 duplicates, in 2 clusters, without a survivor: what was kept instead was dropped later "
        "(2 by not_bad: rotten)"
    )


def test_a_cluster_knows_the_end_of_its_kept_document(lossy):
    """The stage and the reason; None if it is kept; the clusters without a survivor can be listed alone."""
    found = clusters.find_clusters(lossy)
    ends = {
        cluster.duplicate_of: cluster.end and (cluster.end.stage, cluster.end.reason) for cluster in found.largest(9)
    }
    assert Counter(ends.values()) == {None: 2, ("not_bad", "rotten"): 2}
    listed = found.largest(9, among=found.no_survivor().roots)
    assert [(cluster.duplicate_of, cluster.size) for cluster in listed] == [(i, n) for i, n in zip(
        found.no_survivor().roots.tolist(), (4, 2), strict=True
    )]  # fmt: skip
    assert all(cluster.end is not None for cluster in listed)


def test_a_run_that_lost_nothing_says_nothing(run):
    """Every duplicate has a survivor."""
    lost = clusters.find_clusters(run).no_survivor()
    assert (lost.n, len(lost.roots), str(lost)) == (0, 0, "")


def test_messages_of_a_conversation_are_no_duplicates(tmp_path):
    """Their text went into a document that a later stage may drop; it is not a duplicate without a survivor."""
    row = {"chat": "c", "author": "a", "kind": "text"}
    rows = [row | {"text": f"text {n}", "time": dt.datetime(2024, 5, 1, 10, n)} for n in range(3)]
    pa.parquet.write_table(pa.Table.from_pylist(rows), tmp_path / "a.parquet")
    docs = dp.read(str(tmp_path / "a.parquet"), columns=["chat", "author", "kind", "time"])
    out = str(tmp_path / "out")
    made = dp.Pipeline(dp.chats.Conversations(), dp.Filter(nothing)).run(docs, out=out)
    assert Counter(made.drops()["reason"].to_pylist()) == {"joined": 2, "not_wanted": 1}
    lost = clusters.find_clusters(out).no_survivor()
    assert (lost.n, lost.of) == (0, 0)


def nothing(text: str) -> str:
    """Drop every document."""
    return "not_wanted"


def test_a_missing_or_half_written_table_is_one_sentence(run, tmp_path):
    """A drop table that is gone or cut off is said to be so, whoever asks."""
    import shutil

    broken = shutil.copytree(run, tmp_path / "broken")
    table = next((broken / "drops").iterdir())
    whole = table.read_bytes()
    table.write_bytes(whole[: len(whole) // 2])
    for ask in (clusters.find_clusters, clusters.similarities, lambda url: clusters.least_similar(url, 3)):
        with pytest.raises(CorruptShard, match=r"drops/part-\d+.parquet as the table that was written"):
            ask(str(broken))
    with pytest.raises(CorruptShard, match="verify DIR --repair PIPELINE` restores it"):
        why.follow(str(broken), doc_id(1, 1))
    table.unlink()
    with pytest.raises(CorruptShard, match="it is missing"):
        clusters.find_clusters(str(broken))
    with files.atomic(str(table)) as f:
        pa.parquet.write_table(pa.table({"id": [1]}), f)
    with pytest.raises(CorruptShard, match="there is no column stage, reason"):
        clusters.find_clusters(str(broken))
