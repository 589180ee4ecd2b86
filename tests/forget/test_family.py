"""Which folder was made of which, and the ids of a document in each of them."""

from __future__ import annotations

import itertools
import json
import shutil
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dataprep as dp
import stated
from dataprep.core.model.batch import POSITION_BITS
from dataprep.core.model.tables import DROPS
from dataprep.core.output.forget_list import write_list
from dataprep.core.output.layout import Folder
from dataprep.core.output.state import DATASET, TOKENS
from dataprep.errors import PlanError, StaleOutput
from dataprep.forget.family import Family, Member, ids_everywhere
from dataprep.forget.forget import _remove
from dataprep.forget.plan import Removal, _gone
from dataprep.store import files

SEALED, JSON = {"name": "Sealed"}, {"name": "JsonLines"}


def folder(place, kind=DATASET, inputs=(), reads=(), last_file=0, offset=None, **more):
    """Write what states the relations of a folder: `reads` [(folder, file number)], `inputs` [(file, file number)]."""
    known = {"last_file": last_file, "inputs": [{"offset": offset}] if offset is not None else []}
    rows = [{"url": f"{home}/data/part-00000-000.parquet", "file": n, "reader": 0} for home, n in reads]
    rows += [{"url": str(name), "file": n, "reader": 1} for name, n in inputs]
    if rows:
        files.write_json(str(place / "origin.json"), stated.origin(rows, [SEALED, JSON]))
        known["origin"] = "origin.json"
    stated.written(place, kind, **(known if kind == DATASET else {"origin": known.get("origin")}), **more)
    return place


def family(place):
    """Return the members by name."""
    return {member.folder.name: member for member in Family(str(place)).members}


def parents(node):
    """Return the names and offsets of the parents of a folder."""
    return [(parent.folder.name, offset) for parent, offset in node.parents]


def a_run(place, **kinds):
    """Write a run whose steps have no origin."""
    files.write_json(str(place / "run.json"), {"steps": list(kinds)})
    for name, more in kinds.items():
        if more is not None:
            folder(place / name, **more)
    return place


@settings(max_examples=40)
@given(st.data())
def test_ids_everywhere_are_those_of_a_walk(data) -> None:
    """Up to a parent an id loses the offset, down to a child it gains it; ids no file of the parent has stay away."""
    n = data.draw(st.integers(1, 5))
    nodes = [stated.member(k, last_file=data.draw(st.integers(0, 2))) for k in range(n)]
    for parent, child in itertools.combinations(range(n), 2):
        for offset in data.draw(st.lists(st.integers(0, 2), max_size=1)):
            nodes[child].made_of(nodes[parent], offset)
    some = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 2)), max_size=3)
    start = {k: data.draw(some) for k in data.draw(st.sets(st.integers(0, n - 1), max_size=2))}
    expected = {(k, number, at) for k, ids in start.items() for number, at in ids}
    waiting = list(expected)
    while waiting:
        k, number, at = waiting.pop()
        up = [(int(p.folder.url), number - o, at) for p, o in nodes[k].parents if 0 <= number - o <= p.last_file]
        down = [(int(c.folder.url), number + o, at) for c, o in nodes[k].children]
        waiting += [each for each in (*up, *down) if each not in expected]
        expected |= {*up, *down}
    given_ids = {nodes[k]: np.array([f << POSITION_BITS | at for f, at in ids], np.uint64) for k, ids in start.items()}
    found = ids_everywhere(given_ids)
    rows = [(int(node.folder.url), i >> POSITION_BITS, i & 3) for node, ids in found.items() for i in ids.tolist()]
    assert set(rows) == expected
    assert all(ids.tolist() == sorted(set(ids.tolist())) for ids in found.values())


def test_origins_state_the_parents(tmp_path) -> None:
    """Sealed input inside the run is a parent, outside of it a sentence; other files are input."""
    web = folder(tmp_path / "run" / "web", inputs=[("a.jsonl", 0), ("b.jsonl", 1)])
    far = folder(tmp_path / "far")
    folder(tmp_path / "run" / "both", reads=[(web, 0), (web, 0), (far, 3)], inputs=[("c.jsonl", 4)])
    folder(tmp_path / "run" / "self", reads=[(tmp_path / "run" / "self", 0)])
    folder(tmp_path / "run" / ".old"), folder(tmp_path / "run" / "_tmp" / "web")
    found = family(tmp_path / "run")
    assert parents(found["both"]) == [("web", 0)]
    assert found["both"].outside == [(Folder(str(far)), 3)]
    assert found["both"].inputs == [(4, "c.jsonl")]
    assert found["web"].inputs == [(0, "a.jsonl"), (1, "b.jsonl")]
    assert [(child.folder.name, offset) for child, offset in found["web"].children] == [("both", 0)]
    assert (found["self"].parents, found["self"].outside) == ([], [])
    assert sorted(found) == ["both", "self", "web"]


def test_a_sealed_folder_read_by_another_reader_is_a_file(tmp_path) -> None:
    """A shard that was read as Parquet has the file number of a file, so its folder is no parent."""
    web = folder(tmp_path / "web")
    files.write_json(
        str(folder(tmp_path / "raw", origin="origin.json") / "origin.json"),
        stated.origin([{"url": f"{web}/data/x.parquet", "file": 0}], [None]),
    )
    found = family(tmp_path)
    assert (parents(found["raw"]), found["raw"].inputs) == ([], [(0, f"{web}/data/x.parquet")])


def test_a_moved_run_finds_its_parents_by_name(tmp_path) -> None:
    """If the stated folder is gone, the only folder of its name is meant; if it is there, it is outside."""
    old, new = tmp_path / "old", tmp_path / "new"
    folder(old / "clean", reads=[(folder(old / "web"), 0), (folder(old / "a" / "web2"), 1)])
    folder(old / "b" / "web2")
    shutil.copytree(old, new)
    assert (found := family(new)["clean"]).parents == []
    assert [offset for _, offset in found.outside] == [0, 1]
    shutil.rmtree(old)
    found = family(new)["clean"]
    assert parents(found) == [("web", 0)]
    assert found.outside == [(Folder(f"{old}/a/web2"), 1)]


def test_a_step_without_an_origin_is_made_of_the_dataset_before_it(tmp_path) -> None:
    """Token shards are nobody's parent, and shifted numbers say that more than one folder was read."""
    run = a_run(
        tmp_path, web={}, absent=None, tokens={"kind": TOKENS}, clean={"offset": 0},
        shifted={"offset": 2}, listed={"inputs": [("a.jsonl", 0)]}, last={},
    )  # fmt: skip
    assert {name: parents(node) for name, node in family(run).items()} == {
        "web": [], "tokens": [("web", 0)], "clean": [("web", 0)], "shifted": [], "listed": [], "last": [("listed", 0)],
    }  # fmt: skip


def test_saved_inputs_belong_to_their_folder(tmp_path) -> None:
    """They are no folders of their own. Other kinds are left out; a recipe alone is an unfinished Dataset."""
    folder(tmp_path / "web" / "steps" / "01-Exact" / "input")
    folder(tmp_path / "web")
    files.write_json(str(tmp_path / "begun" / "recipe.json"), {"kind": DATASET, "key": ""})
    files.write_json(str(tmp_path / "new" / "_unfinished" / "recipe.json"), {"kind": DATASET, "key": ""})
    files.write_json(str(tmp_path / "model" / "manifest.json"), {"kind": "model"})
    folder(tmp_path / "bare", TOKENS)
    found = family(tmp_path)
    assert {name: (node.kind, node.folder.is_sealed) for name, node in found.items()} == {
        "web": (DATASET, True), "begun": (DATASET, False), "new": (DATASET, False), "bare": (TOKENS, True),
    }  # fmt: skip
    (step,) = found["web"].saved
    assert step.url == str(tmp_path / "web" / "steps" / "01-Exact" / "input")
    assert found["web"].datasets == [step, found["web"].folder]
    assert found["bare"].datasets == []
    assert (found["begun"].last_file, found["web"].last_file) == (2**24 - 1, 0)


def test_sources_of_a_mixture_are_found_by_their_recipes(tmp_path) -> None:
    """The mixture names the recipe of each source; names alone say nothing."""
    for name in ("a", "b"):
        folder(tmp_path / name, TOKENS, recipe=f"recipe of {name}")
    shares = [{"source": "web", "recipe": "recipe of b"}, {"source": "a", "recipe": "unknown"}, {"source": "b"}]
    folder(tmp_path / "mixed", TOKENS, recipe="recipe of mixed", mixture={"sources": shares})
    everyone = Family(str(tmp_path))
    a, b, mixed = everyone.members
    assert mixed.sources == {"web": b}
    everyone.members = [mixed, a, b]
    assert everyone.parents_first == [b, mixed, a]


def test_parents_come_first_once(tmp_path) -> None:
    """A diamond is placed parents first, every folder once."""
    a = folder(tmp_path / "z")
    b, c = folder(tmp_path / "m", reads=[(a, 0)]), folder(tmp_path / "b", reads=[(a, 0)])
    folder(tmp_path / "a", reads=[(b, 0), (c, 1)])
    found = Family(str(tmp_path)).parents_first
    assert [member.folder.name for member in found] == ["z", "m", "b", "a"]


def owner(place, of=None):
    """Return the name of the folder to which ids refer."""
    return Family(str(place)).owner(of).folder.name


def test_who_numbers_the_documents(tmp_path) -> None:
    """The folder itself, the named one, or the last step if all number alike; else the user is asked."""
    web = folder(tmp_path / "web")
    folder(tmp_path / "clean", reads=[(web, 0)])
    folder(tmp_path / "tokens", TOKENS, reads=[(tmp_path / "clean", 0)])
    assert owner(tmp_path) == "web"  # by name, where no run.json states the order
    files.write_json(str(tmp_path / "run.json"), {"steps": ["web", "clean", "tokens", "never"]})
    assert owner(tmp_path) == "clean"
    assert owner(tmp_path / "clean") == "clean"
    assert owner(tmp_path, "tokens") == owner(tmp_path, f"{tmp_path}/tokens") == "tokens"
    with pytest.raises(PlanError, match="there is no folder c in .*; --of must be one of clean, tokens, web"):
        owner(tmp_path, "c")
    folder(tmp_path / "clean", reads=[(web, 1)])
    with pytest.raises(PlanError, match=r"number documents differently \(web, clean\)"):
        owner(tmp_path)
    shutil.rmtree(web)
    assert owner(tmp_path) == "clean"
    shutil.rmtree(tmp_path / "clean")
    assert owner(tmp_path) == "tokens"


def test_two_parents_are_two_numberings(tmp_path) -> None:
    """A folder of two others has ids of its own, even if the first keeps its numbers."""
    web, chats = folder(tmp_path / "web"), folder(tmp_path / "chats")
    both = folder(tmp_path / "x" / "both", reads=[(web, 0), (chats, 1)])
    files.write_json(str(tmp_path / "run.json"), {"steps": ["web"]})
    assert owner(tmp_path) == "web"
    folder(tmp_path / "end", reads=[(both, 0)])
    files.write_json(str(tmp_path / "run.json"), {"steps": ["web", "end"]})
    with pytest.raises(PlanError, match=r"number documents differently \(web, end\)"):
        owner(tmp_path)


def test_folders_of_other_storage_are_found() -> None:
    """By their URLs; hidden ones and files with other names are left out."""
    home = "memory://family-of-other-storage"
    inside = (".old/manifest.json", "web/data/notes.json", "new/_unfinished/recipe.json")
    for name in ("web/manifest.json", "chat/recipe.json", *inside):
        files.write_json(f"{home}/{name}", stated.manifest())
    assert sorted(family(home)) == ["chat", "new", "web"]
    files.remove(home)
    with pytest.raises(PlanError, match="has no Dataset and no token shards; pass the folder of a run"):
        Family(home)


def test_lists_of_other_runs_count(tmp_path) -> None:
    """With the numbers that their files have here."""
    for name, ids in (("here", [1 << POSITION_BITS]), ("far", [5, 2 << POSITION_BITS])):
        write_list(str(tmp_path / name), np.array(ids, np.uint64))
    outside = [(Folder(str(tmp_path / "far")), 3), (Folder(str(tmp_path / "no")), 9)]
    member = Member(Folder(str(tmp_path / "here")), DATASET, outside=outside)
    assert member.listed.tolist() == [1 << POSITION_BITS, 3 << POSITION_BITS | 5, 5 << POSITION_BITS]


def test_conversations_go_from_what_was_made_of_them(tmp_path) -> None:
    """With the numbers that they have there; only the conversation of a message goes from later ones."""
    row = {"id": 3, "stage": "Join", "reason": "joined", "duplicate_of": 7}
    home = tmp_path / "chat"
    (home / "drops").mkdir(parents=True)
    (home / "data").mkdir()
    pq.write_table(pa.Table.from_pylist([row], schema=DROPS), home / "drops" / "part-00000.parquet")
    pq.write_table(pa.table({"id": pa.array([7], pa.uint64())}), home / "data" / "part-00000-000.parquet")
    size = (home / "data" / "part-00000-000.parquet").stat().st_size
    folder(home, shards=[{**stated.SHARD, "size": size}], columns=[["id", "uint64"]])
    everyone = Family(str(tmp_path))
    (chat,) = everyone.members
    both, tokens = Member(Folder("both"), DATASET), Member(Folder("tokens"), TOKENS)
    both.made_of(chat, 2)
    tokens.made_of(both, 1)
    everyone.members = [tokens, both, chat]
    lists = {chat: np.array([3], np.uint64), both: np.array([2 << POSITION_BITS | 3], np.uint64)}
    assert {folder.name: ids.tolist() for folder, ids in _gone(everyone, lists).items()} == {
        "chat": [3, 7], "both": [2 << POSITION_BITS | 3, 2 << POSITION_BITS | 7], "tokens": [3 << POSITION_BITS | 7],
    }  # fmt: skip


def test_a_shard_without_documents_holds_none(tmp_path) -> None:
    """The first part lost all of its documents; those of the second are found."""
    for name in "ab":
        (tmp_path / f"{name}.jsonl").write_text(json.dumps({"text": name}) + "\n")
    docs = dp.read([str(tmp_path / f"{name}.jsonl") for name in "ab"])
    part = docs.parts[0]
    halves = docs.of(replace(part, slices=(piece,)) for piece in part.slices)
    done = dp.Pipeline(dp.Filter(lambda text: text == "b", version="1")).run(halves, str(tmp_path / "out"))
    assert [shard.last_id for shard in done.manifest.shards] == [None, 1 << POSITION_BITS]
    assert dp.tools.forget(done.url, ["1:0"]).removed == {done.url: 1}
    with pytest.raises(PlanError, match="1 of 1 ids are not in"):
        dp.tools.forget(done.url, ["1:7"])


def test_a_result_made_before_documents_were_forgotten_is_stale(tmp_path) -> None:
    """The sentence says what removes them; replace=True makes it without them."""
    (tmp_path / "a.jsonl").write_text('{"text": "a"}\n{"text": "b"}\n')
    first = dp.Pipeline().run(dp.read(str(tmp_path / "a.jsonl")), str(tmp_path / "first"))
    out = str(tmp_path / "out")
    assert dp.Pipeline().run(first, out).count == 2
    write_list(first.url, np.array([0], np.uint64))
    with pytest.raises(StaleOutput, match=f"documents that {out} may contain were forgotten since it was made: run `"):
        dp.Pipeline().run(first, out)
    assert [row["text"] for row in dp.Pipeline().run(first, out, replace=True)] == ["b"]


def test_token_shards_without_forgotten_documents_are_not_opened(tmp_path) -> None:
    """Nor are those of sources that lose none; nothing was removed."""
    none = np.zeros(0, np.uint64)
    source, mixed = stated.member("a", TOKENS), stated.member("none", TOKENS)
    mixed.sources["web"] = source
    everyone = Family(stated.written(tmp_path))
    everyone.members = [source, mixed]
    plan = Removal(everyone, none, (), {}, {source.folder: none, mixed.folder: none})
    assert _remove(plan, mixed) == {"none": 0}


def a_copy(place):
    """Make a run of two Datasets, the second of which lost a document to a filter, and a copy of it."""
    (place / "a.jsonl").write_text("".join(json.dumps({"text": name * 9}) + "\n" for name in "abcd"))
    web = dp.Pipeline().run(dp.read(str(place / "a.jsonl")), str(place / "old" / "web"))
    dp.Pipeline(dp.Filter(lambda text: text[0] != "d", version="1")).run(web, str(place / "old" / "clean"))
    shutil.copytree(place / "old", place / "new")
    return str(place / "new")


def test_in_a_copy_the_copies_are_forgotten(tmp_path) -> None:
    """Though the run that it was copied from is still there, which is named; a second call finds them too."""
    new = a_copy(tmp_path)
    a, b, c, d = (row["id"] for row in dp.open_dataset(f"{new}/web"))
    done = dp.tools.forget(new, [b, d], of="web")
    assert done.removed == {f"{new}/clean": 1, f"{new}/web": 2}
    assert any(said.startswith(f"{tmp_path}/old/web (a Dataset outside") for said in done.elsewhere)
    assert dp.tools.forget(new, [c], of="web").removed == {f"{new}/clean": 1, f"{new}/web": 1}
    assert [row["id"] for row in dp.open_dataset(f"{new}/clean")] == [a]
    assert dp.open_dataset(f"{tmp_path}/old/clean").count == 3


def test_a_folder_of_unknown_parents_is_named(tmp_path) -> None:
    """One whose parent was made again in the copy only, and one that does not state what it was made from."""
    new = a_copy(tmp_path)
    shutil.rmtree(f"{new}/web")
    (tmp_path / "b.jsonl").write_text('{"text": "b"}\n')
    dp.Pipeline().run(dp.read(str(tmp_path / "b.jsonl")), f"{new}/web")
    shutil.copytree(f"{new}/clean", f"{new}/alone")
    for name in files.listdir(f"{new}/alone"):
        if name.startswith("origin"):
            files.remove(f"{new}/alone/{name}")
    said = dp.tools.forget(new, ["0:0"], of="web").elsewhere
    doubts = [one.partition(" (")[0] for one in said if one.endswith("it is not known whether it has the documents)")]
    assert sorted(doubts) == [f"{new}/alone", f"{new}/clean"]
