"""The views of the page: their numbers are those of `inspect --json` and of plain queries on the run's files."""

from __future__ import annotations

import json
import shutil
from collections import Counter

import pytest
from typer.testing import CliRunner

import dataprep as dp
from dataprep.cli import app
from dataprep.core.model.batch import parse_id, show_id
from dataprep.errors import PlanError

pytest.importorskip("duckdb")

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from dataprep.explore import lists, overview, thresholds
from dataprep.explore.documents import document, pair, search, titles
from dataprep.explore.export import exported
from dataprep.explore.index import ExploredRun
from dataprep.explore.server import ExploreServer, plain
from dataprep.explore.view_query import ViewQuery


@pytest.fixture(scope="module")
def index(rich):
    """The index of the rich run."""
    return ExploredRun(str(rich)).index()


@pytest.fixture(scope="module")
def inspected(rich):
    """What `inspect --json` prints about it."""
    return json.loads(CliRunner().invoke(app, ["inspect", str(rich), "--json"]).stdout)


@pytest.fixture(scope="module")
def dropped(rich):
    """The rows of its drop tables, by a query of DuckDB's own reader."""
    with duckdb.connect() as con:
        rows = con.execute(f"SELECT * FROM read_parquet('{rich}/clean/**/drops/*.parquet', union_by_name=true)")
        names = [column[0] for column in rows.description]
        return [dict(zip(names, row, strict=True)) for row in rows.fetchall()]


def ask(view, index, **given):
    """The answer of a view, as the page gets it."""
    return json.loads(json.dumps(plain(view(index, ViewQuery(given)))))


def test_stages_and_sources_are_those_of_inspect(index, inspected) -> None:
    """Documents and bytes of each stage, reason and source; what is missing in a row was cut."""
    (one,) = inspected["datasets"]
    stages = {stage["stage"]: stage for stage in one["stages"]}
    shown = ask(overview.run, index)
    assert [stage["stage"] for stage in shown["stages"]] == list(stages)
    for stage in shown["stages"]:
        for side in ("in", "out"):
            amounts = [amount[side] for amount in stages[stage["stage"]]["sources"].values()]
            wanted = {"docs": sum(a["documents"] for a in amounts), "bytes": sum(a["bytes"] for a in amounts)}
            assert stage[side] == wanted
    found = ask(overview.matrix, index)
    cells = Counter()
    for row in found["sources"]:
        for number, docs, size in row["removed"]:
            head = found["columns"][number]
            cells[head["stage"], head["reason"], row["source"], "documents"] += docs
            cells[head["stage"], head["reason"], row["source"], "bytes"] += size
        left = row["read"]["bytes"] - row["kept"]["bytes"]
        assert sum(size for _, _, size in row["removed"]) == left
    wanted = Counter()
    for name, stage in stages.items():
        for reason, of in stage["dropped"].items():
            for source, amount in of.items():
                for unit, n in amount.items():
                    wanted[name, reason, plain(source), unit] += n
    assert +Counter({key: n for key, n in cells.items() if key[1] != overview.CUT}) == +wanted
    cut = sum(n for key, n in cells.items() if key[1] == overview.CUT)
    assert cut == sum(stage["cut_bytes"] for stage in stages.values()) > 0


def test_clusters_are_those_of_the_drop_tables(index, dropped, inspected) -> None:
    """Sizes, bytes and least similarities, by following each duplicate one step at a time; sorted and filtered."""
    kept = {row["id"]: row["duplicate_of"] for row in dropped if row["duplicate_of"] is not None}
    wanted = {}
    for row in dropped:
        if row["duplicate_of"] is not None:
            root = row["duplicate_of"]
            while root in kept:
                root = kept[root]
            wanted.setdefault(root, []).append(row)
    found = ask(lists.clusters, index, rows="200")
    assert found["total"] == len(wanted)
    assert found["removed"] == sum(map(len, wanted.values())) == inspected["duplicates"]["documents"] > 0
    for one in found["clusters"]:
        rows = wanted[index.rows("SELECT root FROM clusters WHERE root = ?", [_id(one["root"])])[0]["root"]]
        assert one["removed"] == len(rows)
        assert one["bytes"] == sum(row["bytes"] for row in rows)
        assert one["least"] == min(row["similarity"] for row in rows)
    assert [one["removed"] for one in found["clusters"]] == sorted(map(len, wanted.values()), reverse=True)
    pages = [ask(lists.clusters, index, rows="1", page=str(n))["clusters"][0] for n in range(found["total"])]
    assert pages == found["clusters"]
    arabic = ask(lists.clusters, index, source="عربي")["clusters"]
    assert arabic
    assert all(one["source"] == "عربي" for one in arabic)
    assert ask(lists.clusters, index, source="nobody")["total"] == 0
    near = ask(lists.clusters, index, below="1", sort="least")["clusters"]
    assert [one["least"] for one in near] == sorted(one["least"] for one in found["clusters"] if one["least"] < 1)
    (root, rows) = max(wanted.items(), key=lambda item: len(item[1]))
    members = ask(lists.cluster, index, id=show_id(root), rows="200")
    assert {one["id"] for one in members["drops"]} == {show_id(row["id"]) for row in rows}


def _id(shown: str) -> int:
    file, position = map(int, shown.split(":"))
    return file << 40 | position


def test_drops_are_those_of_the_tables(index, dropped) -> None:
    """All, and those of a source, stage and reason; in each order, a page at a time."""
    for order in lists.DROP_ORDERS:
        rows = [row for n in range(len(dropped) // 50 + 1)
                for row in ask(lists.drops, index, rows="50", page=str(n), sort=order)["drops"]]  # fmt: skip
        assert sorted(row["id"] for row in rows) == sorted(show_id(row["id"]) for row in dropped)
    some = ask(lists.drops, index, stage="MinHash", reason="near_duplicate", source="web & co")
    own = [row for row in dropped if (row["stage"], row["source"]) == ("MinHash", "web & co")]
    assert (some["total"], some["bytes"]) == (len(own), sum(row["bytes"] for row in own))
    for wrong in ({"sort": "id; DROP TABLE drops"}, {"page": "-1"}, {"rows": "201"}):
        with pytest.raises(Exception, match="must be"):
            ask(lists.drops, index, **wrong)
    assert ask(lists.drops, index, source="' OR true --")["total"] == 0


def test_a_wiped_out_source_is_suspected_first(index) -> None:
    """Suspicions are ranked by bytes, and each names the source, stage and reason to filter by."""
    found = ask(overview.suspected, index)["suspicions"]
    assert [one["bytes"] for one in found] == sorted((one["bytes"] for one in found), reverse=True)
    took = next(one for one in found if one["kind"] == "reason_took_source")
    assert took["source"] == "wiped out"
    rows = ask(lists.drops, index, **{name: took[name] for name in ("source", "stage", "reason")})
    assert (rows["total"], rows["bytes"]) == (took["docs"], took["bytes"])
    assert ask(overview.suspected_by_text, index)["suspicions"] == []


def test_texts_are_those_of_why(index, dropped) -> None:
    """A pair side by side, the trail of a document with its cuts, titles, and a search in what was removed."""
    row = next(row for row in dropped if row["stage"] == "MinHash")
    both = ask(pair, index, id=show_id(row["id"]))["pair"]
    assert both["similarity"] == row["similarity"]
    assert both["duplicate_of"] == show_id(row["duplicate_of"])
    assert any(kind == "changed" for kind, _ in both["dropped"])
    one = ask(document, index, id=show_id(row["id"]))
    assert [step["stage"] for step in one["drops"]] == ["MinHash"]
    assert one["has_cluster"]
    assert one["text"].startswith("".join(text for kind, text in both["dropped"] if kind != "left out")[:20])
    cut = ask(document, index, id="2:1")
    assert [stage["stage"] for stage in cut["cuts"]] == ["Lines"]
    assert all("Subscribe" in piece["text"] for piece in cut["cuts"][0]["cuts"])
    ids = [show_id(row["id"]), show_id(row["duplicate_of"])]
    heads = ask(titles, index, ids=",".join(ids))["titles"]
    assert one["text"].startswith(heads[ids[0]]["text"])
    hits = ask(search, index, text="x7")
    assert hits["documents_removed"] == hits["documents"] == 11  # x7 and x70 to x79
    assert hits["hits"][0]["causes"][0]["how"] == "dropped"


def test_a_kept_document_has_a_place_in_the_shards(index, rich) -> None:
    """The tokens from `start` to `stop` are those of its text; the documents next to it are those of the shard."""
    shards, tok = dp.Shards.open(rich / "encode"), dp.Tokenizer.load(rich / "encode")
    for number, shard in enumerate(shards.shards):
        docs = shards.docs(number, ["id"])["id"].to_pylist()
        for row, id_ in enumerate(docs):
            one = ask(document, index, id=show_id(id_))
            place = one["shard"]
            assert place["shard"] == shard.name
            assert place["near"] == [show_id(docs[i]) for i in (row - 1, row + 1) if 0 <= i < len(docs)]
            data = np.fromfile(rich / "encode" / f"{shard.name}.bin", shards.dtype)
            ids = data[place["start"] : place["stop"]].tolist()
            assert plain(tok.decode(ids)) == one["text"]
    assert ask(document, index, id=ask(lists.drops, index)["drops"][0]["id"])["shard"] is None


def test_a_cluster_is_a_tree_over_all_stages(tmp_path) -> None:
    """Dropped by Exact for one that MinHash dropped for another, which a filter dropped: each below the one kept."""
    texts = [" ".join([*(f"w{i}" for i in range(40)), str(n)]) for n in (0, 1, 1, 1)]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps({"text": one}) + "\n" for one in texts))
    stages = (dp.Exact(), dp.MinHash(threshold=0.6), dp.Filter(none))
    out = dp.Pipeline(*stages).run(dp.read(str(tmp_path / "in.jsonl")), out=str(tmp_path / "out")).url
    index = ExploredRun(out).index()
    (one,) = ask(lists.clusters, index)["clusters"]
    found = ask(lists.cluster, index, id=one["root"])
    steps = {(row["id"], row["depth"], row["stage"], row["duplicate_of"]) for row in found["tree"]}
    ids = sorted((row["id"] for row in found["tree"]), key=parse_id)
    assert steps == {(ids[0], 1, "MinHash", one["root"]), *((id_, 2, "Exact", ids[0]) for id_ in ids[1:])}
    assert (found["cluster"]["end_stage"], found["cluster"]["removed"]) == ("none", 3)


def none(text: str) -> bool:
    """Drop each text."""
    return not text


def test_thresholds_are_those_of_the_command(index, rich) -> None:
    """The numbers of `dataprep threshold --json`, the pairs at the border, and the stage as code."""
    (step,) = ask(thresholds.thresholds, index)["stages"]
    assert step["threshold"] in step["stops"]
    printed = CliRunner().invoke(app, ["threshold", str(rich), "0.6,0.99", "--json"]).stdout
    for wanted in json.loads(printed)["thresholds"]:
        found = ask(thresholds.threshold, index, stage=step["stage"], at=str(wanted["threshold"]))
        assert {name: found[name] for name in wanted} == wanted
        assert len(found["back_pairs"]) == min(thresholds.MOST_EXAMPLES, wanted["back"])
        assert f"threshold={wanted['threshold']}, bands=" in found["code"]
    same = ask(thresholds.threshold, index, at=str(step["threshold"]))
    assert (same["back"], same["new"], same["dropped"]) == (0, 0, step["dropped"])


def test_a_list_is_exported_as_it_is_shown(index, dropped) -> None:
    """All rows in the order of the list, as Parquet and as JSON Lines; with texts, if they are few."""
    asked = {"list": "drops", "stage": "MinHash", "sort": "similarity"}
    shown = ask(lists.drops, index, **asked, rows="200")["drops"]
    data, _, name = exported(index, ViewQuery({**asked, "as": "parquet", "texts": "1"}))
    table = pq.read_table(pa.BufferReader(data))
    assert name == "drops.parquet"
    assert [row["id"] for row in table.to_pylist()] == [row["id"] for row in shown]
    assert all(row["text"] for row in table.to_pylist())
    lines = exported(index, ViewQuery({**asked, "as": "jsonl"}))[0].splitlines()
    kept = [name for name in table.column_names if name != "text"]
    assert [list(json.loads(line)) for line in lines] == [kept] * len(shown)
    assert [plain(json.loads(line)) for line in lines] == [{name: row[name] for name in kept} for row in shown]
    clusters = exported(index, ViewQuery({"list": "clusters"}))[0]
    rows = pq.read_table(pa.BufferReader(clusters)).to_pylist()
    assert plain(rows) == ask(lists.clusters, index, rows="200")["clusters"]
    with pytest.raises(Exception, match="must be one of"):
        exported(index, ViewQuery({"list": "members"}))


def test_runs_are_compared_as_by_diff(tmp_path) -> None:
    """Lost and gained documents by reason, and the words that differ in changed texts, by a plain comparison."""
    texts = [f"the miller of field {i % 5} owns {i} sacks and a grey horse" for i in range(20)]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps({"text": one}) + "\n" for one in texts))
    docs = dp.read(str(tmp_path / "in.jsonl"))
    a = dp.Pipeline(dp.Filter(few)).run(docs, out=str(tmp_path / "a"))
    b = dp.Pipeline(dp.Filter(even), dp.Map(shouted)).run(docs, out=str(tmp_path / "b"))
    with ExploreServer([a.url, b.url]) as server:
        found = plain(server.view("1", "compare", {"with": "0", "other": "/"}))
    one, other = ({row["id"]: row["text"] for row in made.table().to_pylist()} for made in (a, b))
    (row,) = found["sources"]
    assert row["lost"]["docs"] == len(one.keys() - other.keys()) == sum(of["docs"] for of in found["lost"]) > 0
    assert row["gained"]["docs"] == len(other.keys() - one.keys()) > 0
    assert {of["stage"] for of in found["lost"]} == {"even"}
    assert row["changed"]["docs"] == len(one.keys() & other.keys())
    assert len(found["texts"]) == 5
    for text in found["texts"]:
        assert "".join(words for _, words in text["before"]) == one[parse_id(text["id"])]
        assert ["changed", "HORSE"] in text["after"]


def numbered(place, name: str, numbers) -> dp.Dataset:
    """Texts of 40 words, those of neighbouring numbers alike, as a Dataset of one source."""
    rows = [{"text": " ".join([*(f"w{n // 3}x{i}" for i in range(39)), str(n % 3)])} for n in numbers]
    (place / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return dp.read(str(place / f"{name}.jsonl"))


def test_stages_of_the_same_name_in_several_datasets_are_told_apart(tmp_path) -> None:
    """The table of sources has the drops of both, what was read is counted once, and each MinHash can be chosen."""
    docs = numbered(tmp_path, "in", [*range(30), *range(30), 0])
    first = dp.Pipeline(dp.Exact(), dp.MinHash(threshold=0.97)).run(docs, out=str(tmp_path / "run" / "a"))
    dp.Pipeline(dp.Exact(), dp.MinHash(threshold=0.6)).run(first, out=str(tmp_path / "run" / "b"))
    index = ExploredRun(str(tmp_path / "run")).index()
    found = ask(overview.matrix, index)
    (row,) = found["sources"]
    removed = {(found["columns"][n]["stage"], found["columns"][n]["reason"]): docs for n, docs, _ in row["removed"]}
    for (stage, reason), docs in removed.items():
        assert docs == ask(lists.drops, index, stage=stage, reason=reason)["total"]
    assert removed == {("Exact", "duplicate"): 31, ("MinHash", "near_duplicate"): 20}
    assert row["read"] == found["read"]
    assert (row["read"]["docs"], row["kept"]["docs"]) == (61, 10)
    names = [one["stage"] for one in ask(thresholds.thresholds, index)["stages"]]
    assert names == ["a/MinHash", "b/MinHash"]
    own = zip(names, ("0.97", "0.6"), strict=True)
    assert [ask(thresholds.threshold, index, stage=name, at=at)["dropped"] for name, at in own] == [0, 20]
    with pytest.raises(Exception, match="which has 'a/MinHash', 'b/MinHash'"):
        ask(thresholds.threshold, index, stage="MinHash", at="0.6")


def test_a_joined_run_is_counted_once(tmp_path) -> None:
    """Ids are those of the join; totals are those of the drop tables, of `inspect --json`, and of each Dataset."""
    run = tmp_path / "run"
    a = dp.Pipeline(dp.Exact()).run(numbered(tmp_path, "a", [*range(12), *range(6)]), out=str(run / "a"))
    b = dp.Pipeline(dp.MinHash(threshold=0.6)).run(numbered(tmp_path, "b", range(30, 42)), out=str(run / "b"))
    both = dp.Pipeline().run(dp.read([a.url, b.url]), out=str(run / "both"))
    last = dp.Pipeline(dp.Exact(), dp.Filter(late)).run(both, out=str(run / "last"))
    index = ExploredRun(str(run)).index()
    inspected = json.loads(CliRunner().invoke(app, ["inspect", str(run), "--json"]).stdout)
    with duckdb.connect() as con:
        ((n, size),) = con.execute(f"SELECT count(*), sum(bytes) FROM '{run}/*/drops/*.parquet'").fetchall()
    shown, found = ask(overview.run, index), ask(lists.drops, index, rows="200")
    assert (found["total"], found["bytes"]) == (n, size)
    assert (shown["read"]["docs"], shown["kept"]["docs"]) == (30, last.count) == (30, 30 - n)
    assert shown["duplicates"] == inspected["duplicates"]["documents"] == 6 + 8
    assert shown["left_out"] == ""
    removed = sum(docs for row in ask(overview.matrix, index)["sources"] for _, docs, _ in row["removed"])
    assert removed == n
    texts = {row["id"]: row["text"] for row in both.table().to_pylist()}
    assert len({row["id"] for row in found["drops"]}) == n
    for row in found["drops"]:
        one = ask(document, index, id=row["id"])
        assert one["source"] == row["source"]
        assert one["text"] == texts.get(parse_id(row["id"]), one["text"])
        assert one["text"]
        if row["duplicate_of"] is not None:
            kept = "".join(text for _, text in one["pair"]["kept"])
            assert kept.split()[:39] == one["text"].split()[:39]
    assert ask(thresholds.threshold, index, at="0.99")["back_pairs"][0]["kept"] is not None
    hits = ask(search, index, text="w11x7 ")
    assert hits["documents_removed"] == 3
    assert all(one["causes"] for one in hits["hits"])


def test_a_result_with_several_copies_of_a_dataset(tmp_path) -> None:
    """A Dataset is read directly and through another one, at any place, or twice: each drop is shown once."""
    run = tmp_path / "run"
    first = dp.Pipeline(dp.Exact()).run(numbered(tmp_path, "in", [*range(6), *range(3)]), out=str(run / "first"))
    some = dp.Pipeline(dp.Filter(late)).run(first, out=str(run / "some"))
    for number, parts in enumerate(((first, some), (some, first), (first, first))):
        if some not in parts:
            shutil.rmtree(str(some.url))
        both = dp.Pipeline(dp.Exact()).run(dp.read(list(parts)), out=str(run / f"both{number}"))
        index = ExploredRun(str(run)).index()
        inspected = CliRunner().invoke(app, ["inspect", str(run), "--json"])
        shown, found = ask(overview.run, index), ask(lists.drops, index, rows="200")
        assert (shown["read"]["docs"], shown["kept"]["docs"]) == (9, both.count) == (9, 6)
        own = sum({str(one.url): len(one.drops()) for one in (*parts, both)}.values())
        assert found["total"] == len({row["id"] for row in found["drops"]}) == own
        assert shown["left_out"].startswith("Shown once: the drops of 'first', whose documents reach the result in")
        assert shown["duplicates"] == json.loads(inspected.stdout)["duplicates"]["documents"]
        assert sum(one["removed"] for one in ask(lists.clusters, index)["clusters"]) == shown["duplicates"]
        for row in found["drops"]:
            one = ask(document, index, id=row["id"])
            assert one["text"]
            inside = ask(lists.cluster, index, id=row["id"])
            assert (row["duplicate_of"] is None) == (not inside["tree"])
            assert len(inside["tree"]) == (0 if row["duplicate_of"] is None else inside["cluster"]["removed"])
        hits = ask(search, index, text="w0x7 ")
        assert (hits["documents"], hits["documents_removed"]) == (12, 9)  # copies in the second way count, too
        assert all(one["causes"] for one in hits["hits"])
        roots = {ask(document, index, id=one["id"])["pair"]["root"] for one in hits["hits"]}
        assert roots <= set(map(show_id, both.table(["id"])["id"].to_pylist()))
        shutil.rmtree(str(both.url))


def test_other_results_of_the_folder_are_named_and_not_counted(tmp_path) -> None:
    """Alternatives and unrelated runs: refused, or without those that are not the last step, which are named."""
    run = tmp_path / "run"
    first = dp.Pipeline().run(numbered(tmp_path, "in", [*range(9), *range(9)]), out=str(run / "first"))
    dp.Pipeline(dp.Exact()).run(first, out=str(run / "exact"))
    near = dp.Pipeline(dp.MinHash(threshold=0.6)).run(first, out=str(run / "near"))
    dp.Pipeline(dp.Exact()).run(numbered(tmp_path, "other", range(50, 70)), out=str(run / "other"))
    with pytest.raises(PlanError, match="3 results, 'other', 'exact', 'near', .* pass the folder of one of them"):
        ExploredRun(str(run)).index()
    for command in ("clusters", "report", "card"):
        assert "3 results" in str(CliRunner().invoke(app, [command, str(run)]).exception)
    inspected = CliRunner().invoke(app, ["inspect", str(run), "--json"])
    assert json.loads(inspected.stdout)["duplicates"] is None
    (run / "run.json").write_text('{"format": 1, "steps": ["first", "other", "exact", "near"]}')
    index = ExploredRun(str(run)).index()
    shown = ask(overview.run, index)
    assert shown["left_out"].startswith("Not included: 'other', 'exact', other results")
    assert (shown["read"]["docs"], shown["kept"]["docs"]) == (18, near.count)
    assert ask(lists.drops, index)["total"] == 18 - near.count == shown["duplicates"]
    assert "Not included: 'other'" in CliRunner().invoke(app, ["inspect", str(run)]).output


def late(text: str) -> bool:
    """Drop the texts of one number."""
    return not text.startswith("w11x")


def test_clusters_of_documents_in_other_datasets(tmp_path) -> None:
    """The id of a document in another Dataset may be that of another document here; private data is replaced there."""
    mail = "write to jane.roe@mail.example about "
    texts = [f"{mail if n == 4 else ''}the lamp of harbour {n} has {n} doors and no key" for n in range(6)]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps({"text": one}) + "\n" for one in texts))
    (tmp_path / "new.jsonl").write_text("".join(json.dumps({"text": one}) + "\n" for one in [*texts[::-1], texts[0]]))
    old = dp.Pipeline().run(dp.read(str(tmp_path / "in.jsonl")), out=str(tmp_path / "old"))
    stages = (dp.Exact(against=old.url), dp.PII())
    out = dp.Pipeline(*stages).run(dp.read(str(tmp_path / "new.jsonl")), out=str(tmp_path / "new"))
    index = ExploredRun(out.url).index()
    found = ask(lists.clusters, index)["clusters"]
    assert len(found) == len(texts)
    for one in found:
        inside = ask(lists.cluster, index, id=one["root"], home=one["home"])
        assert inside["cluster"] == one
        assert {drop["duplicate_of"] for drop in inside["drops"]} == {one["root"]}
        shown = [ask(pair, index, id=drop["id"])["pair"] for drop in inside["drops"]]
        assert {two["root_dataset"] for two in shown} == {one["home"]}
        assert "jane" not in json.dumps(shown)
    assert ask(lists.cluster, index, id=found[0]["root"], home="elsewhere")["cluster"] is None


def test_what_another_run_forgets_is_not_shown_at_other_thresholds(tmp_path) -> None:
    """The texts at the border are read each time, as they may be those of another run."""
    from dataprep.forget.forget import forget

    old = dp.Pipeline().run(numbered(tmp_path, "old", range(0, 9, 3)), out=str(tmp_path / "old"))
    near = dp.MinHash(threshold=0.6, against=old.url)
    index = ExploredRun(dp.Pipeline(near).run(numbered(tmp_path, "new", (1,)), out=str(tmp_path / "new")).url).index()
    (before,) = ask(thresholds.threshold, index, at="0.99")["back_pairs"]
    assert before["kept"] is not None
    forget(old.url, [before["duplicate_of"]])
    (after,) = ask(thresholds.threshold, index, at="0.99")["back_pairs"]
    assert after["kept"] is None


def few(text: str) -> bool:
    """Keep texts with a small number."""
    return int(text.split()[6]) < 15


def even(text: str) -> bool:
    """Keep texts with an even number."""
    return int(text.split()[6]) % 2 == 0


def shouted(text: str) -> str:
    """Write one word in capitals."""
    return text.replace("horse", "HORSE")
