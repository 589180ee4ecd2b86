"""Columns with the decisions of Estimators, from random tables of decisions against plain Python."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import laws
from dataprep.core.model.annotate import (
    CENTROIDS,
    CLUSTERS,
    AnnotateClusters,
    AnnotateSpans,
    added_columns,
    annotated,
    clusters_of,
)  # fmt: skip
from dataprep.core.model.ledger import Ledger
from dataprep.core.model.tables import SPAN, VERDICTS, conform, write_rows, write_spans, write_verdicts
from dataprep.core.model.verdict import CutSpans, DropIds
from dataprep.errors import PlanError
from dataprep.store.key import key

GIVEN = {"key": "k", "estimator": "E"}
homes = st.sampled_from([None, "old", "other"])
rows_ = st.dictionaries(st.integers(0, 11), st.tuples(homes, st.none() | st.integers(0, 11)), max_size=9)


def verdicts(rows):
    """A table of decisions: {id: (duplicate_of_dataset, duplicate_of)}."""
    similarity = [i / 16 for i in sorted(rows)]
    columns = [sorted(rows), [f"why {i}" for i in sorted(rows)], *zip(*(rows[i] for i in sorted(rows)), strict=True)]
    columns = columns if rows else [[], [], [], []]
    names = ("id", "reason", "duplicate_of_dataset", "duplicate_of", "similarity")
    return conform(pa.table(dict(zip(names, [*columns, similarity], strict=True))), VERDICTS)


def expected(rows):
    """{id: (reason, cluster, its Dataset, its size)} of all members of clusters."""
    sizes = Counter((home, kept) for home, kept in rows.values() if kept is not None)
    found = {}
    for i, (home, kept) in rows.items():
        named = (home, kept) if kept is not None else (None, None)
        named = (None, i) if (None, i) in sizes else named
        found[i] = (f"why {i}", named[1], home, sizes[named] + 1 if named[1] is not None else None)
    for (home, kept), n in sizes.items():
        if home is None and kept not in rows:
            found[kept] = (None, kept, None, n + 1)
    return found


@settings(max_examples=40)
@given(rows_)
def test_clusters_are_those_of_a_plain_count(rows):
    """Of chains, of documents that are kept elsewhere, and of those that are dropped for nobody."""
    found = clusters_of(verdicts(rows)).to_pylist()
    assert [row["id"] for row in found] == sorted(expected(rows))
    stated = {r["id"]: (r["duplicate"], r["cluster"], r["cluster_dataset"], r["cluster_size"]) for r in found}
    assert stated == expected(rows)
    assert {r["id"]: r["similarity"] for r in found} == {i: i / 16 if i in rows else None for i in expected(rows)}


def run(stage, *batches):
    """All rows that a stage yields."""
    return [row for batch in stage(iter(batches), Ledger("E")) for row in batch.to_pylist()]


@pytest.mark.parametrize("sized", [True, False])
@pytest.mark.parametrize("near", [True, False])
def test_every_document_gets_its_columns(tmp_path, near, sized):
    """Those of its cluster; one that is in none is a cluster of its own; vectors only where they were measured."""
    rows = {1: (None, 0), 4: ("old", 7), 5: (None, None)}
    write_verdicts(str(tmp_path / "verdicts.parquet"), verdicts(rows))
    measured = pa.table({"id": [0, 4], "centroid": [2, 3], "centroid_similarity": [0.5, 0.25]}).cast(CENTROIDS)
    write_rows(str(tmp_path / "near.parquet"), CENTROIDS, [measured])
    verdict = DropIds(verdicts=str(tmp_path / "verdicts.parquet"), facts={"n": 1}, **GIVEN)
    assert annotated(verdict, None) is verdict
    stage = annotated(verdict, "a_", str(tmp_path / "near.parquet") if near else "", sized=sized)
    assert (stage.facts, stage.name, stage.only_drops) == ({"n": 1}, "E", True)
    found = run(stage, laws.batch_of(["x"] * 3), laws.batch_of(["x"] * 4, 3), laws.batch_of([], 7))
    names = ("a_duplicate", "a_cluster", "a_cluster_dataset", "a_cluster_size", "a_similarity")
    assert [tuple(row[name] for name in names) for row in found] == [
        (None, 0, None, 2, None), ("why 1", 0, None, 2, 1 / 16), (None, 2, None, 1 if sized else None, None),
        (None, 3, None, 1 if sized else None, None), ("why 4", 7, "old", 2, 0.25), ("why 5", None, None, None, 5 / 16),
        (None, 6, None, 1 if sized else None, None),
    ]  # fmt: skip
    assert list(stage.adds) == list(added_columns("a_", cuts=False, centroids=near))
    assert [*laws.batch_of(["x"]).schema.names, *stage.adds] == list(found[0])
    if near:
        vectors = [(row["a_centroid"], row["a_centroid_similarity"]) for row in found]
        assert vectors == [(2, 0.5), *[(None, None)] * 3, (3, 0.25), *[(None, None)] * 2]


def test_every_document_gets_its_spans(tmp_path):
    """In order; none is an empty list."""
    spans = np.array([(1, 0, 2, 9, 5, 7), (1, 4, 6, 9, 0, 2), (3, 1, 2, 1, 0, 1)], SPAN)
    write_spans(str(tmp_path / "spans.parquet"), [spans])
    stage = annotated(CutSpans(spans=str(tmp_path / "spans.parquet"), **GIVEN), "")
    found = run(stage, laws.batch_of(["abcdef"] * 2), laws.batch_of(["abcdef"] * 3, 2), laws.batch_of(["x"], 9))
    assert [row["text"] for row in found] == ["abcdef"] * 5 + ["x"]
    pairs = [
        [(s["start"], s["end"], s["duplicate_of"], s["duplicate_of_start"]) for s in row["repeats"]] for row in found
    ]
    assert pairs == [[], [(0, 2, 9, 5), (4, 6, 9, 0)], [], [(1, 2, 1, 0)], [], []]
    assert dict(stage.adds) == {"repeats": added_columns("", cuts=True)["repeats"]}


def test_columns_are_named_once(tmp_path):
    """A prefix keeps two apart; keys differ by it, by the kind and by the key of the table."""
    write_rows(str(tmp_path / "c.parquet"), CLUSTERS, [CLUSTERS.empty_table()])
    clusters = AnnotateClusters(clusters=str(tmp_path / "c.parquet"), **GIVEN)
    with pytest.raises(PlanError, match=r"^E: the column 'duplicate' already exists; set annotate='another_'$"):
        run(clusters, laws.batch_of([{"text": "a", "duplicate": "x"}]))
    others = [clusters, AnnotateClusters(clusters="", prefix="a", **GIVEN), AnnotateSpans(spans="", **GIVEN),
              AnnotateClusters(clusters="", key="l", estimator="E"),
              AnnotateClusters(clusters="", key="k", estimator="F"),
              DropIds(verdicts="", **GIVEN)]  # fmt: skip
    assert len({key(one) for one in others}) == len(others)
    assert key(clusters) == key(AnnotateClusters(clusters="elsewhere", **GIVEN))
    assert added_columns(None, cuts=True) == added_columns(None, cuts=False) == {}


def test_columns_follow_the_order_of_a_batch(tmp_path):
    """Whatever it is."""
    write_verdicts(str(tmp_path / "verdicts.parquet"), verdicts({1: (None, 0), 4: ("old", 7)}))
    spans = np.array([(1, 0, 2, 9, 5, 7), (1, 4, 6, 9, 0, 2), (3, 1, 2, 1, 0, 1)], SPAN)
    write_spans(str(tmp_path / "spans.parquet"), [spans])
    batch = laws.batch_of(["abcdef"] * 5).take(pa.array([3, 0, 4, 1, 2]))
    clusters = run(annotated(DropIds(verdicts=str(tmp_path / "verdicts.parquet"), **GIVEN), ""), batch)
    assert [(row["id"], row["cluster"]) for row in clusters] == [(3, 3), (0, 0), (4, 7), (1, 0), (2, 2)]
    cut = run(annotated(CutSpans(spans=str(tmp_path / "spans.parquet"), **GIVEN), ""), batch)
    assert [(row["id"], [s["start"] for s in row["repeats"]]) for row in cut] == [
        (3, [1]), (0, []), (4, []), (1, [0, 4]), (2, []),
    ]  # fmt: skip
