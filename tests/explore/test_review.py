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
from dataprep.core.model.batch import parse_id, show_id
from dataprep.errors import PlanError
from dataprep.explore import review as reviews
from dataprep.explore.documents import document
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


def answer(index, id_, verdict, stage="Exact"):
    """The answer on a document that was just shown."""
    return ReviewAnswer(parse_id(id_), stage, verdict, document(index, ViewQuery({"id": id_}))["content"])


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
        judge(explored.index(), answer(explored.index(), id_, verdict), "Ann")
    (one,) = shown(explored.index())
    assert (one["drops"], one["right"], one["wrong"], one["unsure"], one["stale"]) == (8, 2, 0, 1, 0)
    assert one["precision"]["share"] == 1
    assert one["precision"]["low"] == pytest.approx(review.wilson(1, 2)[0])
    judge(explored.index(), answer(explored.index(), third, ""), "Ann")
    assert shown(explored.index())[0]["unsure"] == 0
    assert suspected_by_text(explored.index(), ViewQuery({}))["suspicions"] == []
    for id_ in before["sample"][2:]:
        judge(explored.index(), answer(explored.index(), id_, "wrong"), "Bo")
    (bad,) = suspected_by_text(explored.index(), ViewQuery({}))["suspicions"]
    assert (bad["kind"], bad["docs"], bad["reason"]) == ("judged_wrong", 6, "duplicate")
    for id_ in before["sample"][2:]:
        judge(explored.index(), answer(explored.index(), id_, ""), "Bo")
    assert {row.reviewer for row in review.load(url)} == {"Ann"}
    assert not list((tmp_path / "run").rglob("*review*"))
    good = {"id": first, "stage": "Exact", "verdict": "right", "content": "0" * 32}
    assert ReviewAnswer.of(good).content == good["content"]
    for wrong in ({}, [], {**good, "verdict": "maybe"}, {**good, "id": "x"}, {**good, "content": ""}):
        with pytest.raises(PlanError):
            ReviewAnswer.of(wrong)
    with pytest.raises(PlanError, match="C4 did not drop"):
        judge(explored.index(), answer(explored.index(), first, "right", "C4"), "Ann")
    seen = answer(explored.index(), third, "right")
    other = "".join(json.dumps({"text": one.replace("lamps", "ropes")}) + "\n" for one in lines)
    (tmp_path / "in.jsonl").write_text(other)
    run()
    judge(explored.index(), seen, "Ann")  # of the text before the rerun
    (one,) = shown(explored.index())
    assert (one["stale"], one["right"], one["precision"]) == (3, 0, None)
    judge(explored.index(), answer(explored.index(), third, "right"), "Ann")
    assert [shown(explored.index())[0][name] for name in ("stale", "right")] == [2, 1]
    judge(explored.index(), answer(explored.index(), third, ""), "Ann")
    late = answer(explored.index(), first, "right")
    done = forget(url, [first])
    assert any("removed from" in said and "review.parquet" in said for said in done.cleared)
    with pytest.raises(PlanError, match="was forgotten, so there is nothing to judge"):
        judge(explored.index(), late, "Ann")  # of a page that shows it still
    assert {row.id for row in review.load(url)} == {parse_id(second)}
    (one,) = shown(explored.index())
    assert (one["drops"], first in one["sample"]) == (7, False)
    shutil.rmtree(tmp_path / "run")


def test_forget_removes_judgements_by_the_ids_of_the_run(tmp_path) -> None:
    """Two Datasets are joined: documents of equal numbers in the other Dataset keep their judgements."""
    places = [tmp_path / "run" / name for name in ("first", "second")]
    for number, place in enumerate(places):
        lines = [f"the ferryman {number} sold {i % 2} lamps" for i in range(6)]
        (tmp_path / f"{number}.jsonl").write_text("".join(json.dumps({"text": one}) + "\n" for one in lines))
        dp.Pipeline(dp.Exact()).run(dp.read(str(tmp_path / f"{number}.jsonl")), str(place))
    dp.Pipeline().run(dp.read([dp.open_dataset(str(place)) for place in places]), str(tmp_path / "run" / "third"))
    url, alone = str(tmp_path / "run"), str(places[1])
    sampled = []
    for explored in (ExploredRun(url), ExploredRun(alone)):
        (before,) = shown(explored.index())
        for id_ in before["sample"]:
            judge(explored.index(), answer(explored.index(), id_, "right"), "Ann")
        sampled.append({parse_id(id_) for id_ in before["sample"]})
    both, own = sampled
    shift = parse_id("1:0")
    assert both == own | {id_ + shift for id_ in own}
    one, other = sorted(own)[:2]
    forget(url, [show_id(one + shift)], of="third")
    left = [{row.id for row in review.load(name)} for name in (url, alone)]
    assert left == [both - {one + shift}, own - {one}]
    forget(alone, [show_id(other)])
    left = [{row.id for row in review.load(name)} for name in (url, alone)]
    assert left == [both - {one + shift, other + shift}, own - {one, other}]
