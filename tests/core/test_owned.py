"""Deleting: only what dataprep created, and never the input."""

import os
import re
import shutil

import pytest

import dataprep as dp
from dataprep import pipeline_file
from dataprep.cli.runs import prune
from dataprep.core.output import owned
from dataprep.core.pipeline import Pipeline
from dataprep.errors import InUse, PlanError, StaleOutput
from dataprep.store import atomic, files
from dataprep.store.atomic import JOURNAL, begin_journal, journaled
from dataprep.store.lease import held
from fixtures.small_pipeline import STAGES, TEXTS
from laws import dataset_of, same_result

FOREIGN = ("data/notes.txt", "index/mine.txt", "drops/part-00000.csv", "cuts/deep/er/x", "receipts/a.json")


def everything(folder) -> dict[str, bytes]:
    """The content of each file of a folder."""
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def write(path, text="mine") -> None:
    """Write a file of a user."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_lost_lines_of_an_unfinished_run_are_added(tmp_path, monkeypatch):
    """As after a power cut, since tasks do not sync the lines of their files; a file of a user does not become ours."""
    docs, out = dataset_of(tmp_path, TEXTS), tmp_path / "out"
    with monkeypatch.context() as patch, pytest.raises(ZeroDivisionError):
        patch.setattr(owned, "sync_written", lambda *_: 1 / 0)
        Pipeline(dp.Exact()).run(docs, str(out))
    made = journaled(str(out / JOURNAL))
    lost = {path for path in made if "/steps/" in path or "/_unfinished/data/" in path}
    write(next((out / "steps").iterdir()) / "mine.txt")
    begin_journal(str(out))
    lines = (out / JOURNAL).read_bytes().splitlines(keepends=True)
    kept = (line for line in lines if not re.search(rb'^"(steps|_unfinished/data)/', line))
    (out / JOURNAL).write_bytes(b"".join(kept))
    assert len(lost) > 10
    assert lost.isdisjoint(journaled(str(out / JOURNAL)))
    Pipeline(dp.Exact()).run(docs, str(out))
    assert owned.foreign(str(out), os.listdir(out)) == [f"steps/{next((out / 'steps').iterdir()).name}/mine.txt"]


@pytest.mark.parametrize("journal", [True, False])
@pytest.mark.parametrize("name", FOREIGN)
def test_replace_keeps_files_of_others(tmp_path, name, journal):
    """A file of a user in a folder of a run is named, and nothing is deleted; moved away, the run goes through."""
    docs, out = dataset_of(tmp_path, TEXTS), tmp_path / "out"
    Pipeline(*STAGES).run(docs, str(out))
    if not journal:  # a copy without hidden files
        os.unlink(out / JOURNAL)
    write(out / name)
    before = everything(out)
    with pytest.raises(StaleOutput, match=f"holds {name}, which dataprep did not write"):
        Pipeline(*STAGES[:-1]).run(docs, str(out), replace=True)
    assert everything(out) == before
    os.unlink(out / name)
    Pipeline(*STAGES[:-1]).run(docs, str(out), replace=True)
    Pipeline(*STAGES[:-1]).run(docs, str(tmp_path / "fresh"))
    same_result(out, tmp_path / "fresh")


@pytest.mark.parametrize("replace", [True, False])
@pytest.mark.parametrize("name", [*FOREIGN, "steps/notes.txt", "steps/01-a-01234567/a", "data/part-00000-000.parquet"])
def test_a_new_run_does_not_begin_among_files_of_others(tmp_path, name, replace):
    """A folder with a name that a Dataset uses is refused before anything is written."""
    write(tmp_path / "out" / name)
    with pytest.raises(StaleOutput, match=f"holds {name}, which dataprep did not write"):
        Pipeline().run(dataset_of(tmp_path, TEXTS), str(tmp_path / "out"), replace=replace)
    assert everything(tmp_path / "out") == {name: b"mine"}


@pytest.mark.parametrize("form", ["same", "relative", "link", "slash", "data", "above"])
def test_out_is_never_the_input(tmp_path, monkeypatch, form):
    """A sealed input as out, by whatever name, is refused before any work, and stays as it was."""
    done = Pipeline().run(dataset_of(tmp_path, TEXTS), str(tmp_path / "in" / "one"))
    before = everything(tmp_path / "in")
    monkeypatch.chdir(tmp_path)
    os.symlink(tmp_path / "in" / "one", tmp_path / "link")
    names = {"same": done.url, "relative": "in/../in/one", "link": "link", "slash": f"{done.url}/",
             "data": "link/data/more", "above": "in"}  # fmt: skip
    for given in (done, dp.read("link")):
        with pytest.raises(PlanError, match="the input .*; choose another folder as out"):
            Pipeline(*STAGES).run(given, names[form], replace=True)
    assert everything(tmp_path / "in") == before


@pytest.mark.parametrize(
    ("given", "out", "refused"),
    [
        ("texts", "texts/clean", True), ("texts", "link/a/b", True), ("texts/", "texts", True),
        ("texts/**", "texts/x", True), ("texts/**/*.json*", "texts/x", True), ("*/*.json", "out", True),
        ("texts/*.jsonl", "texts/x", False), ("texts/a.jsonl", "texts/x", False), ("texts", "texts/_clean", False),
        ("texts", "texts2", False), ("texts", "texts/.clean", False),
    ],
)  # fmt: skip
def test_out_is_not_where_the_next_run_reads(tmp_path, monkeypatch, given, out, refused):
    """An out that a folder or glob of the input would find again is refused; one that it would not find is not."""
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "texts" / "a.jsonl", '{"text": "one"}\n{"text": "two"}\n')
    write(tmp_path / "texts" / "b.json", '{"text": "one"}\n{"text": "two"}\n')
    os.symlink("texts", tmp_path / "link")
    docs = dp.read(given)
    if not refused:
        assert Pipeline().run(docs, out).count == docs.count
        assert dp.read(given).count == docs.count
        return
    with pytest.raises(PlanError, match=r"(next run would read it|holds the input)"):
        Pipeline().run(docs, out)
    assert not os.path.exists(os.path.join(out, "recipe.json"))


def test_journals_survive_kills_and_moves(tmp_path):
    """A line that was cut is left out; a moved folder keeps its journal, which lists each existing file once."""
    out = tmp_path / "out"
    Pipeline(*STAGES).run(dataset_of(tmp_path, TEXTS), str(out))
    listed = journaled(str(out / JOURNAL))
    assert listed == {str(p) for p in out.rglob("*") if p.is_file() and p.name != JOURNAL}
    shutil.move(out, tmp_path / "moved")
    with (tmp_path / "moved" / JOURNAL).open("ab") as f:
        f.write(f"\n{atomic._line('data/no-such-file')}\n\"data/cu".encode())
    begin_journal(str(tmp_path / "moved"))
    assert len(journaled(str(tmp_path / "moved" / JOURNAL))) == len(listed)
    assert b"no-such" not in (tmp_path / "moved" / JOURNAL).read_bytes()


def test_links_are_not_followed(tmp_path):
    """A link in a folder of a run is a file of somebody else; what it leads to stays."""
    docs, out = dataset_of(tmp_path, TEXTS), tmp_path / "out"
    Pipeline(*STAGES).run(docs, str(out))
    write(tmp_path / "mine" / "thesis.txt")
    os.symlink(tmp_path / "mine", out / "cuts")
    with pytest.raises(StaleOutput, match="holds cuts, which dataprep did not write"):
        Pipeline().run(docs, str(out), replace=True)
    assert everything(tmp_path / "mine") == {"thesis.txt": b"mine"}


def test_an_out_that_cannot_be_written_is_one_sentence(tmp_path):
    """The folder of a run that is a file, or a link to nowhere, is named before any step begins."""
    (tmp_path / "file").write_text("x")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    for name, state in (("file", "File exists"), ("link", "it is a broken link"), ("file/out", "Not a directory")):
        with pytest.raises(PlanError, match=rf"cannot be written \({state}\); choose another folder as out"):
            list(pipeline_file.execute([], str(tmp_path / name), None))


def test_discard_keeps_files_of_others(tmp_path):
    """A folder of work files is deleted but for what a user put there; without a journal, all of it is."""
    for journal in (True, False):
        home = tmp_path / str(journal)
        home.mkdir()
        if journal:
            begin_journal(str(home))
        for name in ("rows/part-00000", "rows/deep/part-00001", "rows.json"):
            files.write_bytes(str(home / name), b"x")
        write(home / "rows" / "notes.txt")
        owned.discard(str(home / "rows"))
        owned.discard(str(home / "rows.json"))
        owned.discard(str(home / "missing"))
        left = {name for name in everything(home) if not name.startswith(".")}
        assert left == ({"rows/notes.txt"} if journal else set())


def test_bytes_that_are_freed_are_counted(tmp_path):
    """Of every file that was removed, once; those of others are not counted, and unfinished ones are ours."""
    begin_journal(str(tmp_path))
    for name, n in (("data/a", 3), ("data/b/c", 50), ("drops/x", 7)):
        files.write_bytes(str(tmp_path / name), b"x" * n)
    (tmp_path / "data" / "b" / ".c.0123456789ab.tmp").write_bytes(b"x" * 1000)
    (tmp_path / "data" / "mine").write_bytes(b"x" * 9)
    assert owned.foreign(str(tmp_path), ["data", "drops"]) == ["data/mine"]
    assert owned.remove(str(tmp_path), ["data"]) == 1053
    assert sorted(p.name for p in tmp_path.rglob("*")) == [".dataprep-journal", "data", "drops", "mine", "x"]
    assert owned.remove(str(tmp_path), ["data", "none"]) == 0
    assert owned.remove_all(str(tmp_path)) == (7, [f"{tmp_path}/data/mine"])
    assert sorted(p.name for p in tmp_path.rglob("*")) == ["data", "mine"]


@pytest.mark.parametrize("all_", [False, True], ids=["steps", "all"])
def test_nobody_writes_while_clean_removes(tmp_path, monkeypatch, all_):
    """`clean` holds the leases of the folders in which it removes files, and leaves no empty folder."""
    out, remove, refused = str(tmp_path / "runs" / "one"), owned.remove, []
    Pipeline(*STAGES).run(dataset_of(tmp_path, TEXTS), out)

    def watched(url, names, **more):
        for folder in {url, out}:
            with pytest.raises(InUse), held(folder):
                pass
            refused.append(folder)
        return remove(url, names, **more)

    monkeypatch.setattr(owned, "remove", watched)
    prune(str(tmp_path / "runs"), all_)
    assert out in refused
    assert (tmp_path / "runs").exists() is not all_


def test_a_result_inside_another_leaves_no_folder(tmp_path):
    """Whose journal the one around it lists, too: such as the index in the folder of a Dataset."""
    out = tmp_path / "out"
    owned.begin(str(out))
    owned.begin(str(out / "index"))
    files.write_bytes(str(out / "index" / "shards" / "part-00000.json"), b"x")
    assert str(out / "index" / JOURNAL) in journaled(str(out / JOURNAL))
    assert owned.remove_all(str(out))[1] == []
    assert not out.exists()


def test_nothing_is_left_on_a_store(tmp_path):
    """Also not what tells `datasets` where the documents are, unless somebody changed it."""
    home = "memory://owned-nothing-left"
    for name in ("steps/one", "two"):
        Pipeline().run(dataset_of(tmp_path, TEXTS), f"{home}/{name}")
        assert files.exists(f"{home}/{name}/.huggingface.yaml")
    files.write_bytes(f"{home}/two/.huggingface.yaml", b"mine")
    assert owned.remove_all(home)[1] == []
    assert [files.exists(f"{home}/{name}/.huggingface.yaml") for name in ("steps/one", "two")] == [False, True]


def test_empty_folders_of_others_are_kept(tmp_path):
    """Deleting takes the folders that it emptied, and one in which a killed writer had named a file; no other."""
    Pipeline(*STAGES).run(dataset_of(tmp_path, TEXTS), str(tmp_path / "runs" / "one"))
    mine = ("runs/mine", "runs/one/mine/deep", "runs/one/data/mine", "runs/one/steps/mine")
    for name in (*mine, "runs/one/steps/begun"):
        (tmp_path / name).mkdir(parents=True)
    with (tmp_path / "runs" / "one" / JOURNAL).open("a") as f:
        f.write(f"\n{atomic._line('steps/begun/part-00000')}\n")
    assert owned.remove(str(tmp_path / "runs" / "one"), ["steps"]) > 0
    assert [p.name for p in (tmp_path / "runs/one/steps").iterdir()] == ["mine"]
    assert owned.remove_all(str(tmp_path / "runs"))[1] == []
    kept = sorted(str(p.relative_to(tmp_path)) for p in (tmp_path / "runs").rglob("*"))
    assert kept == sorted([*mine, "runs/one", "runs/one/data", "runs/one/mine", "runs/one/steps"])


def test_without_a_journal_names_of_others_among_the_steps_are_kept(tmp_path):
    """In a copy without hidden files: the files of Estimators are ours, with a receipt or without; no others are."""
    Pipeline(dp.chats.NormalizeArabic(), dp.Exact()).run(dataset_of(tmp_path, TEXTS), str(tmp_path / "run"))
    shutil.copytree(tmp_path / "run", tmp_path / "copy", ignore=shutil.ignore_patterns(".*", "part-?????.json"))
    names = [p.relative_to(tmp_path / "copy").as_posix() for p in (tmp_path / "copy/steps").rglob("*") if p.is_file()]
    assert {name.split("/")[2] for name in names} > {"input", "rows", "keys", "verdicts.parquet"}
    step = names[0].rpartition("/")[0].split("/")[1]
    mine = [f"steps/{step}/{name}" for name in ("input/notes.txt", "photos/a.jpg", "photos/b/part-00000", "rows/x.md")]
    for name in mine:
        write(tmp_path / "copy" / name)
    assert owned.foreign(str(tmp_path / "copy"), ["steps"]) == mine
    owned.remove(str(tmp_path / "copy"), ["steps"])
    assert sorted(name for name in everything(tmp_path / "copy") if name.startswith("steps/")) == mine


FILE = {"name": "../data/odd", "size": 1, "hash": "h"}


@pytest.mark.parametrize(
    ("name", "record", "ours"),
    [
        ("receipts/part-00000.json", {"key": "k", "files": [FILE]}, {"data/odd", "data/part-00000-000.parquet"}),
        ("receipts/part-00000.json", {"key": "k", "files": [{**FILE, "name": 5}]}, {"data/part-00000-000.parquet"}),
        ("receipts/part-00000.json", {"key": "k", "files": []}, {"data/part-00000-000.parquet"}),
        ("receipts/part-00000.json", {"key": "k", "files": [{"name": "../data/odd", "size": 1}]}, None),
        ("receipts/part-00000.json", {"files": [FILE]}, None), ("receipts/part-00000.json", [FILE], None),
        ("manifest.json", {"kind": "dataset", "key": "k"}, {"data/part-00000-000.parquet"}),
        ("manifest.json", {"kind": "dataset", "shards": [{"name": "data/odd"}]},
         {"data/odd", "data/part-00000-000.parquet"}),
        ("manifest.json", {"kind": "dataset"}, None), ("manifest.json", {"kind": "model", "key": "k"}, None),
        ("manifest.json", {"key": "k", "shards": [{"name": "data/odd"}]}, None),
    ],
)  # fmt: skip
def test_without_a_journal_records_say_what_is_ours(tmp_path, name, record, ours):
    """A receipt or a manifest as dataprep writes them: itself, what it names, and what has the name of a part."""
    for path in ("data/odd", "data/part-00000-000.parquet", "data/part-0.parquet", "notes.txt"):
        files.write_bytes(str(tmp_path / path), b"x")
    files.write_json(str(tmp_path / name), record)
    expected = {"data/odd", "data/part-00000-000.parquet", "data/part-0.parquet", "notes.txt", name}
    expected -= set() if ours is None else {*ours, name}
    assert set(owned.foreign(str(tmp_path), ["data", "receipts", "notes.txt", "manifest.json"])) == expected


def test_sizes_of_ids_mark_a_folder_of_tokens(tmp_path) -> None:
    """Of shards whose manifest was not written yet; a folder beside it has none of ours."""
    for name in ("a/token_bytes.npy", "a/train-00000.bin", "a/mine.bin", "b/train-00000.bin", "token_bytes.txt"):
        files.write_bytes(str(tmp_path / name), b"x")
    foreign = owned.foreign(str(tmp_path), ["a", "b", "token_bytes.txt"])
    assert foreign == ["a/mine.bin", "b/train-00000.bin", "token_bytes.txt"]


def test_documents_that_were_not_listed_bar_no_folder(tmp_path, monkeypatch) -> None:
    """Files that were given by name are not found again in the folder where the program runs."""
    docs = dataset_of(tmp_path, TEXTS)
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    assert Pipeline().run(docs, "out").count == len(TEXTS)


def test_a_new_journal_names_what_is_there(tmp_path) -> None:
    """The files of the earlier one and those given, sorted, once; without those that are gone. Links are files."""
    for name in ("b", "a", "new"):
        files.write_bytes(str(tmp_path / name), b"x")
    os.symlink("nowhere", tmp_path / "link")
    (tmp_path / JOURNAL).write_text("\n".join([*map(atomic._line, ("b", "gone", "a")), '"cut']))
    begin_journal(str(tmp_path), ["new", "a", "link", "never"])
    assert [line[:-9] for line in (tmp_path / JOURNAL).read_text().splitlines()] == ['"a"', '"b"', '"link"', '"new"']
    assert journaled(str(tmp_path / JOURNAL)) == {str(tmp_path / name) for name in ("a", "b", "link", "new")}


def test_the_deepest_journals_come_first(tmp_path) -> None:
    """Of one depth in the order of their names."""
    for name in ("b", "a/y", "a/x", "c"):
        files.write_bytes(str(tmp_path / name / JOURNAL), b"")
    assert owned.homes(str(tmp_path)) == [str(tmp_path / name) for name in ("a/x", "a/y", "b", "c")]


def test_a_run_that_goes_on_has_a_journal(tmp_path) -> None:
    """Also if its folder lost it; a folder in which only a recipe was written may be used by any run."""
    docs, out = dataset_of(tmp_path, TEXTS), tmp_path / "out"
    first = Pipeline().run(docs, str(out))
    for name in (JOURNAL, "manifest.json"):
        (out / name).unlink()
    assert Pipeline().run(docs, str(out)).manifest == first.manifest
    assert str(out / "manifest.json") in journaled(str(out / JOURNAL))
    (out / "recipe.json").unlink()
    with pytest.raises(StaleOutput, match="was made by a different recipe or from different input"):
        Pipeline(*STAGES).run(docs, str(out))
    assert Pipeline().run(docs, str(out)).manifest == first.manifest
    begun = {"kind": "dataset", "key": "another", "stages": []}
    files.write_state(str(tmp_path / "begun" / "_unfinished" / "recipe.json"), begun)
    (tmp_path / "begun" / ".hidden").touch()
    assert Pipeline().run(docs, str(tmp_path / "begun")).manifest == first.manifest


@pytest.mark.parametrize("place", ["folder", "memory://owned/taken"])
@pytest.mark.parametrize("job", ["remove", "discard"])
def test_nothing_is_deleted_in_a_folder_that_was_taken(tmp_path, place, job):
    """A process that was suspended until another one took its folder would delete the new owner's files."""
    out = str(tmp_path / place) if place == "folder" else place
    Pipeline(*STAGES).run(dataset_of(tmp_path / "in", TEXTS), out)
    before = sorted(files.sizes(out))

    def taken():
        msg = "taken"
        raise InUse(msg)

    with atomic.leased(out, taken), pytest.raises(InUse, match="taken"):
        if job == "remove":
            owned.remove(out, ["data"])
        else:
            owned.discard(files.join(out, "data"))
    assert sorted(files.sizes(out)) == before
    assert owned.remove(out, ["data"]) > 0
