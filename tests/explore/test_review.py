"""The review: whom the sample deals, what is saved, and what becomes stale."""

from __future__ import annotations

import json
import shutil
from itertools import groupby

import numpy as np
import pytest

pytest.importorskip("duckdb")

import duckdb

import dataprep as dp
from dataprep.core.model.batch import parse_id
from dataprep.errors import PlanError
from dataprep.explore import review as reviews
from dataprep.explore.index import SEED, ExploredRun
from dataprep.explore.overview import suspected_by_text
from dataprep.explore.review import ReviewAnswer, judge, reviewed
from dataprep.explore.view_query import ViewQuery
from dataprep.forget.forget import forget
from dataprep.history import review
from dataprep.store.ranks import mix


def shown(index):
    """The reasons of the view."""
    return reviewed(index, ViewQuery({}))["reasons"]


def test_the_sample_is_dealt_by_source(rich) -> None:
    """A plain walk: the documents of each source in the order of a hash, one of each source in turn, up to 60."""
    with duckdb.connect() as con:
        rows = con.execute(f"SELECT stage, reason, source, id FROM read_parquet('{rich}/clean/**/drops/*.parquet')")
        rows = rows.fetchall()
    chance = {row[3]: int(mix(np.array([row[3]], np.uint64), SEED)[0]) for row in rows}
    wanted = {}
    for key, some in groupby(sorted(rows, key=lambda row: row[:2]), lambda row: row[:2]):
        stacks = {}
        for row in sorted(some, key=lambda row: chance[row[3]]):
            stacks.setdefault(row[2], []).append(row[3])
        dealt = []
        while any(stacks.values()):
            dealt += sorted((stack.pop(0) for stack in stacks.values() if stack), key=chance.get)
        wanted[key] = dealt[: reviews.SAMPLE]
    found = shown(ExploredRun(str(rich)).index())
    assert {(one["stage"], one["reason"]): [parse_id(id_) for id_ in one["sample"]] for one in found} == wanted
    assert {len(some) for some in wanted.values()} >= {4, 16, 60}


def test_judgements_are_saved_counted_and_become_stale(tmp_path) -> None:
    """The last answer counts; undo takes it back; other texts make it stale; `forget` removes it; wrong ones fail."""
    lines = [f"the ferryman sold {i % 4} lamps at the old harbour and went home" for i in range(12)]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps({"text": one}) + "\n" for one in lines))

    def run():
        docs = dp.read(str(tmp_path / "in.jsonl"))
        return dp.Pipeline(dp.Exact()).run(docs, out=str(tmp_path / "run" / "clean"), replace=True)

    run()
    url = str(tmp_path / "run")
    explored = ExploredRun(url)
    (before,) = shown(explored.index())
    first, second, third = before["sample"][:3]
    for id_, verdict in ((first, "right"), (second, "wrong"), (third, "unsure"), (second, "right")):
        judge(explored.index(), ReviewAnswer.of({"id": id_, "stage": "Exact", "verdict": verdict}), "Ann")
    (one,) = shown(explored.index())
    assert (one["drops"], one["right"], one["wrong"], one["unsure"], one["stale"]) == (8, 2, 0, 1, 0)
    assert one["precision"]["share"] == 1
    assert one["precision"]["low"] == pytest.approx(review.wilson(1, 2)[0])
    judge(explored.index(), ReviewAnswer.of({"id": third, "stage": "Exact", "verdict": ""}), "Ann")
    assert shown(explored.index())[0]["unsure"] == 0
    assert suspected_by_text(explored.index(), ViewQuery({}))["suspicions"] == []
    for id_ in before["sample"][2:]:
        judge(explored.index(), ReviewAnswer.of({"id": id_, "stage": "Exact", "verdict": "wrong"}), "Bo")
    (bad,) = suspected_by_text(explored.index(), ViewQuery({}))["suspicions"]
    assert (bad["kind"], bad["docs"], bad["reason"]) == ("judged_wrong", 6, "duplicate")
    for id_ in before["sample"][2:]:
        judge(explored.index(), ReviewAnswer.of({"id": id_, "stage": "Exact", "verdict": ""}), "Bo")
    assert {row.reviewer for row in review.load(url)} == {"Ann"}
    assert not list((tmp_path / "run").rglob("*review*"))
    for wrong in ({}, [], {"id": first, "stage": "Exact", "verdict": "maybe"}, {"id": "x", "stage": "", "verdict": ""}):
        with pytest.raises(PlanError):
            ReviewAnswer.of(wrong)
    with pytest.raises(PlanError, match="C4 did not drop"):
        judge(explored.index(), ReviewAnswer.of({"id": first, "stage": "C4", "verdict": "right"}), "Ann")
    other = "".join(json.dumps({"text": one.replace("lamps", "ropes")}) + "\n" for one in lines)
    (tmp_path / "in.jsonl").write_text(other)
    run()
    (one,) = shown(explored.index())
    assert (one["stale"], one["right"], one["precision"]) == (2, 0, None)
    done = forget(url, [first])
    assert any("removed from" in said and "review.parquet" in said for said in done.cleared)
    assert {row.id for row in review.load(url)} == {parse_id(second)}
    (one,) = shown(explored.index())
    assert (one["drops"], first in one["sample"]) == (7, False)
    shutil.rmtree(tmp_path / "run")
