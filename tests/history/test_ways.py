"""Results that have the documents of a Dataset in several ways, against a plain walk over random graphs of runs."""

from __future__ import annotations

import json
import random
from collections import Counter
from dataclasses import dataclass, field

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import dataprep as dp
from dataprep.cli import app
from dataprep.core.model.batch import POSITION_BITS, show_id
from dataprep.core.output.lineage import family, left_out
from dataprep.forget.forget import forget
from dataprep.history import clusters, why
from dataprep.history.replay import stage_cuts
from dataprep.history.run_summary import RunSummary, summarize
from dataprep.history.texts import DocumentsAsRead, pairs_of
from dataprep.history.thresholds import minhash_steps

WORDS = ["слово", "كلمة", "शब्द", "词语", "mot", "🦆", "λέξη", "言葉", "단어", "sõna"]


def is_even(text: str) -> bool:
    """Keep texts whose number is even."""
    return int(text.split(maxsplit=1)[0]) % 2 == 0


def is_low(text: str) -> bool:
    """Keep texts with a low number."""
    return int(text.split(maxsplit=1)[0]) < 4


def nothing(text: str) -> bool:
    """Drop each text."""
    return not text


def marked(text: str) -> str:
    """Change a text."""
    return f"{text} ة" if text.split(maxsplit=1)[0] == "3" else text


STEPS = {
    "join": (), "exact": (dp.Exact(),), "even": (dp.Filter(is_even),), "low": (dp.Filter(is_low),),
    "near": (dp.MinHash(threshold=0.5),), "both": (dp.Map(marked), dp.Exact(), dp.Filter(is_even)),
    "low_exact": (dp.Filter(is_low), dp.Exact()), "both_first": (dp.Map(marked), dp.Exact()),
    "none": (dp.Filter(nothing),),
}  # fmt: skip


@dataclass
class Node:
    """A Dataset of the graph: its inputs, the number of files that its ids count, its documents and drops."""

    docs: dp.Dataset
    inputs: list[str] = field(default_factory=list)
    n_files: int = 0
    kept: dict[int, dict] = field(default_factory=dict)
    drops: list[dict] = field(default_factory=list)


def made(place, seed: int, runner=None) -> dict[str, Node]:
    """Run a random graph of 2 to 7 Datasets; return them by name, the last one last."""
    rng = random.Random(seed)
    nodes: dict[str, Node] = {}
    for number in range(rng.randint(1, 2)):
        paths = []
        for file in range(rng.randint(1, 3)):
            rows = [{"text": text(rng), "source": rng.choice("ab")} for _ in range(rng.choice([0, 1, 6, 12]))]
            paths.append(place / f"{number}-{file}.jsonl")
            paths[-1].write_text("".join(json.dumps(row) + "\n" for row in rows or [{"text": text(rng)}]))
        stages = STEPS[rng.choice(["join", "exact", "both", "near"])]
        docs = dp.read(list(map(str, paths)))
        finish(nodes, place, f"first{number}", Node(docs, n_files=len(paths)), stages, runner)
    for number in range(rng.randint(1, 5)):
        names = list(nodes)
        inputs = rng.choices(names[-3:], k=rng.choice([1, 1, 2, 2, 3]))
        kind = rng.choice(list(STEPS)) if number or rng.random() < 0.9 else "join"
        docs = dp.read([nodes[name].docs for name in inputs]) if len(inputs) > 1 else nodes[inputs[0]].docs
        node = Node(docs, inputs, sum(nodes[name].n_files for name in inputs))
        finish(nodes, place, f"{kind}{number}", node, STEPS[kind], runner)
    (place / "run" / "run.json").write_text(json.dumps({"format": 1, "steps": list(nodes)}))
    return nodes


def text(rng) -> str:
    """A text of few numbers, so that many are equal, and some alike."""
    number = rng.randint(0, 7)
    words = [f"{word}{number // 2}" for word in WORDS * 3]
    return " ".join([str(number), *words, rng.choice(["", "", "كلمة جديدة"])])


def finish(nodes, place, name, node, stages, runner) -> None:
    """Run a step, and read its files plainly."""
    more = {} if runner is None else {"runner": runner}
    node.docs = dp.Pipeline(*stages).run(node.docs, out=str(place / "run" / name), **more)
    node.kept = {row["id"]: row for row in node.docs.table().to_pylist()}
    tables = sorted((place / "run" / name).rglob("drops/*.parquet"))
    node.drops = [row for table in tables for row in pq.read_table(table).to_pylist()]
    nodes[name] = node


def ways(nodes, name, shift=0):
    """Each Dataset above one, and itself, with the number of each way."""
    for above in nodes[name].inputs:
        yield from ways(nodes, above, shift)
        shift += nodes[above].n_files << POSITION_BITS
    shift -= sum(nodes[above].n_files for above in nodes[name].inputs) << POSITION_BITS
    yield name, shift


class Walk:
    """The drops of all ways by id, and the ids of the same documents in other ways."""

    def __init__(self, nodes) -> None:
        self.nodes, self.last = nodes, list(nodes)[-1]
        self.ways: dict[str, list[int]] = {}
        for name, shift in ways(nodes, self.last):
            self.ways.setdefault(name, []).append(shift)
        self.ways = {name: sorted(shifts) for name, shifts in self.ways.items()}
        self.drops: dict[int, tuple[str, dict]] = {}
        for name, shifts in self.ways.items():
            for row in nodes[name].drops:
                for shift in shifts:
                    kept = row["duplicate_of"]
                    assert row["id"] + shift not in self.drops
                    moved = {**row, "id": row["id"] + shift, "duplicate_of": None if kept is None else kept + shift}
                    self.drops[row["id"] + shift] = name, moved

    def twins(self, id_):
        """The ids of the same document in other ways."""
        for name, shifts in self.ways.items():
            span = self.nodes[name].n_files << POSITION_BITS
            for shift in (one for one in shifts if one <= id_ < one + span):
                yield from (id_ - shift + other for other in shifts if other != shift)

    def ends(self, id_):
        """All documents of the last Dataset that are left of a document: what was kept for it, or copies."""
        seen, todo = {id_}, [id_]
        for one in todo:
            if one not in self.drops:
                yield one
                continue
            kept = self.drops[one][1]["duplicate_of"]
            further = [kept] if kept is not None else self.twins(one)
            todo += [new for new in further if new not in seen]
            seen.update(todo)


def check(place, seed: int, runner=None) -> Walk:
    """Compare what is shown of a run with the plain walk."""
    walk = Walk(made(place, seed, runner))
    compare(walk, str(place / "run"))
    return walk


def compare(walk: Walk, run: str) -> RunSummary:
    """Compare what is shown of a run with the plain walk."""
    last = walk.nodes[walk.last]
    assert [(one.name, list(one.shifts)) for one in family(run, saved=False)] == list(walk.ways.items())
    others = [name for name in walk.nodes if name not in walk.ways]
    assert all(repr(name) in left_out(run) for name in others[:6])
    shown = summarize(run)
    check_totals(walk, last, shown)
    check_clusters(walk, last, clusters.find_clusters(run))
    check_fates(walk, last, run)
    return shown


def check_totals(walk, last, shown) -> None:
    """What was read counts once, each step once, and what is kept is what the last Dataset has."""
    read, kept = shown.totals
    assert (kept.docs, kept.bytes) == (last.docs.count, sum(len(row["text"].encode()) for row in last.kept.values()))
    first = [walk.nodes[name] for name in walk.ways if not walk.nodes[name].inputs]
    assert read.docs == sum(len(node.kept) + len(node.drops) for node in first)
    dropped = Counter((row["stage"], row["reason"]) for name in walk.ways for row in walk.nodes[name].drops)
    stated = Counter()
    for stage in shown.stages:
        stated.update({(stage.name, reason): n for reason, n in stage.reasons.items()})
    assert +stated == dropped
    by_source = Counter(row["source"] for row in last.kept.values())
    assert {name: amount.docs for name, (_, amount) in shown.sources.items() if amount.docs} == by_source


def check_clusters(walk, last, found) -> None:
    """Each drop counts once, with the ids of its first way; a cluster is lost only if nothing is left of it."""
    wanted = {row["id"] + shifts[0]: row["duplicate_of"] + shifts[0] for name, shifts in walk.ways.items()
              for row in walk.nodes[name].drops if row["duplicate_of"] is not None}  # fmt: skip
    assert found.ids.tolist() == sorted(wanted)
    lost = found.no_survivor()
    n = 0
    for id_, root in zip(found.ids.tolist(), found.roots.tolist(), strict=True):
        ends = set(walk.ends(wanted[id_]))
        assert ends <= last.kept.keys()
        direct = wanted[id_]
        while direct in walk.drops and walk.drops[direct][1]["duplicate_of"] is not None:
            direct = walk.drops[direct][1]["duplicate_of"]
        assert root in ends if ends and direct not in ends else root == direct
        assert found.survivor(id_, lost) == (root if ends else None)
        n += not ends
    assert lost.n == n
    assert sum(found.source_pairs().values()) == len(wanted)
    largest = found.largest(99)
    assert sum(one.removed for one in largest) == len(wanted)
    assert sum(one.removed for one in largest if one.end is not None) == n


def check_fates(walk, last, run) -> None:
    """Each id of each way: its drops one after another, the stage of each, and the text that was read."""
    ids = sorted(walk.drops.keys() | last.kept.keys())
    texts = DocumentsAsRead(run, ids)
    origin = {shift + id_: row["text"] for name, shifts in walk.ways.items() if not walk.nodes[name].inputs
              for shift in shifts for id_, row in walk.nodes[name].kept.items()}  # fmt: skip
    for id_ in ids[:: 1 + len(ids) // 12]:
        fate, at = why.follow(run, id_), id_
        for drop in fate.drops:
            name, row = walk.drops[at]
            assert (drop.id, drop.stage, drop.duplicate_of) == (row["id"], row["stage"], row["duplicate_of"])
            assert f"/run/{name}" in drop.folder
            at = drop.id if drop.duplicate_of is None else drop.duplicate_of
        is_kept = at in last.kept
        assert set(fate.copies) == (set() if is_kept else last.kept.keys() & set(walk.twins(at)))
        assert fate.survivor_in == (last.docs.url if is_kept else None)
        assert is_kept == (at not in walk.drops)
        row = texts.row(id_)
        assert row is not None
        assert row["id"] == id_
        if id_ in last.kept:
            assert row == last.kept[id_]
        elif id_ in origin:
            assert row["text"].removesuffix(" ة") == origin[id_].removesuffix(" ة")
        if fate.drops:
            assert texts.dropped(fate.drops[0])["id"] == id_
            if (kept := fate.drops[0].duplicate_of) is not None:
                both = pairs_of(run, fate.drops[:1])
                assert both.survivor(fate.drops[0])["id"] == kept


@pytest.mark.parametrize("seed", [1, 2])
def test_random_graphs(seed, tmp_path) -> None:
    """Totals, drops by step, clusters and the fate of each document."""
    check(tmp_path, seed)


@pytest.fixture(scope="module")
def diamond(tmp_path_factory):
    """Two branches, of which one drops more, join; the joined Dataset is read twice; Estimators save their input."""
    place = tmp_path_factory.mktemp("diamond")
    rng = random.Random(5)
    rows = [{"text": text(rng), "source": rng.choice("ab")} for _ in range(24)]
    (place / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    nodes: dict[str, Node] = {}
    finish(nodes, place, "first", Node(dp.read(str(place / "in.jsonl")), n_files=1), STEPS["both_first"], None)
    for name, kind, inputs in (
        ("low", "low", ["first"]), ("near", "near", ["first"]), ("joined", "exact", ["low", "near"]),
        ("last", "exact", ["joined", "joined", "first"]),
    ):  # fmt: skip
        given = [nodes[one].docs for one in inputs]
        node = Node(dp.read(given) if len(given) > 1 else given[0], inputs, sum(nodes[one].n_files for one in inputs))
        finish(nodes, place, name, node, STEPS[kind], None)
    return place / "run", Walk(nodes)


def test_nested_branches(diamond) -> None:
    """As for random graphs; the folder has no run.json, so that the graph alone decides which Dataset is the last."""
    run, walk = diamond
    assert {name: len(shifts) for name, shifts in walk.ways.items()} == {
        "first": 5, "low": 2, "near": 2, "joined": 2, "last": 1,
    }  # fmt: skip
    shown = compare(walk, str(run))
    assert shown.no_survivor is not None
    assert shown.no_survivor.n == 0


def test_commands_show_it(diamond) -> None:
    """Each ends well, and says what is verified."""
    run, walk = diamond
    n = len(walk.nodes["last"].kept)
    said = {}
    for command in ("report", "card", "clusters", "inspect", "verify"):
        found = CliRunner().invoke(app, [command, str(run)])
        assert found.exit_code == 0, found.output
        said[command] = found.output
    page = (run / "report.html").read_text()
    assert "last joins joined and joined and first</span>" in page
    assert f"<dd>{n}</dd><dt>documents kept" in page
    for text_ in (page, said["card"], " ".join(said["inspect"].split())):
        assert "Shown once: the drops of" in text_
        assert "joined" in text_
    dropped = max(walk.drops)
    assert "duplicate" in CliRunner().invoke(app, ["why", str(run), show_id(dropped)]).output
    assert [step.name for step in minhash_steps(str(run))] == ["MinHash"]


def test_other_programs_open_it(diamond) -> None:
    """The ids are those of no other document."""
    run, walk = diamond
    docs = walk.nodes["last"].docs
    ids = docs.to_polars()["id"].to_list()
    assert len(set(ids)) == len(ids) == docs.count
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect() as con:
        found = con.execute(f"SELECT count(*), count(DISTINCT id) FROM '{run}/last/data/*.parquet'").fetchall()
    assert found == [(docs.count, docs.count)]


def shortened(text: str) -> str:
    """Cut the number off."""
    return text.partition(" ")[2]


def test_a_stage_cuts_only_texts_of_its_own_branch(tmp_path) -> None:
    """The same text is in both branches, and only one of them cuts it."""
    (tmp_path / "in.jsonl").write_text(json.dumps({"text": "1 слово कुछ"}) + "\n")
    nodes: dict[str, Node] = {}
    finish(nodes, tmp_path, "first", Node(dp.read(str(tmp_path / "in.jsonl"))), (), None)
    finish(nodes, tmp_path, "as_is", Node(nodes["first"].docs), (), None)
    finish(nodes, tmp_path, "cut", Node(nodes["first"].docs), (dp.Map(shortened),), None)
    finish(nodes, tmp_path, "both", Node(dp.read([nodes["as_is"].docs, nodes["cut"].docs])), (), None)
    documents = DocumentsAsRead(str(tmp_path / "run"), ids := sorted(nodes["both"].kept))
    assert [[one.folder for one in stage_cuts(documents, id_)] for id_ in ids] == [[], [nodes["cut"].docs.url]]


def test_forgetting_an_id_of_one_way_forgets_all(tmp_path) -> None:
    """The other document stays in both ways, and a dropped one that had no file left is still found."""
    for name in "ab":
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps({"text": f"{n} {name}"}) + "\n" for n in (1, 2)))
    nodes: dict[str, Node] = {}
    docs = dp.read([str(tmp_path / "a.jsonl"), str(tmp_path / "b.jsonl")])
    finish(nodes, tmp_path, "first", Node(docs), (), None)
    finish(nodes, tmp_path, "some", Node(nodes["first"].docs), (dp.Filter(is_of_a),), None)
    finish(nodes, tmp_path, "both", Node(dp.read([nodes["some"].docs, nodes["some"].docs])), (), None)
    run = str(tmp_path / "run")
    assert [show_id(id_) for id_ in nodes["both"].kept] == ["0:0", "0:16", "2:0", "2:16"]
    assert [drop.stage for drop in why.follow(run, nodes["some"].drops[0]["id"]).drops] == ["is_of_a"]
    forgotten = sorted(nodes["both"].kept)[0::2]
    forget(run, forgotten[1:], of="both")
    left = dp.open_dataset(f"{run}/both").table(["id"])["id"].to_pylist()
    assert left == sorted(nodes["both"].kept)[1::2]
    texts = DocumentsAsRead(run, [*forgotten, *left])
    assert [texts.row(id_) is None for id_ in (*forgotten, *left)] == [True, True, False, False]
    assert summarize(run).totals[1].docs == 2


def is_of_a(text: str) -> bool:
    """Keep the texts of one file."""
    return text.endswith("a")
