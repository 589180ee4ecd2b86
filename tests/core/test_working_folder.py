"""A change of the working folder (os.chdir): what was given by a relative path means the same files, or nothing."""

from __future__ import annotations

import json
import os
import pickle
import shutil
from dataclasses import dataclass
from pathlib import Path

import cloudpickle
import pytest

import dataprep as dp
import laws
from dataprep import chats, extend
from dataprep.errors import FunctionFailed, PlanError, ReadError
from dataprep.pipeline_file import Step, execute
from dataprep.search.index import SuffixIndex
from dataprep.store.key import key as key_of
from dataprep.store.place import files_named, here
from dataprep.tokens.shards.shard import Shards

HERE, THERE = "نص من هنا", "نص من هناك"  # a text of either folder
SAYS = r"is relative to the working folder .*/here, which is now .*/there; pass absolute paths"
MOVED = r" changed the working folder to .*/there, where relative paths of the run mean other files"


def rows(path: Path, text: str) -> None:
    """Write three files of three documents."""
    for n in range(3):
        path.joinpath(f"d{n}.jsonl").write_text("".join(f'{{"text": "{text} {n}{i}"}}\n' for i in range(3)))


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """Two folders, whose files have the same names."""
    home, patch = tmp_path_factory.mktemp("made"), pytest.MonkeyPatch()
    for name, text in (("here", HERE), ("there", THERE)):
        (home / name).mkdir()
        rows(home / name, text)
        (home / name / "hosts.txt").write_text("example.org\n")
        patch.chdir(home / name)
        docs = dp.Pipeline().run(dp.read("*.jsonl"), out="out")
        dp.encode(docs, dp.train_bpe(docs, vocab_size=270, sample=1.0), out="shards", val=0.0)
        SuffixIndex.build(docs, "index")
    patch.undo()
    return home


@pytest.fixture
def places(made, tmp_path, monkeypatch) -> tuple[Path, Path]:
    """Copies of the two folders; the first is the working folder, also after the test unless it changes it."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here", tmp_path / "there"


def listing(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


DATASETS = {
    "read": lambda: dp.read("*.jsonl"),
    "read a file": lambda: dp.read("d0.jsonl"),
    "sealed": lambda: dp.open_dataset("out"),
    "with stages": lambda: dp.open_dataset("out").then(dp.Filter(lambda text: len(text) > 1)),
    "sent": lambda: pickle.loads(pickle.dumps(dp.open_dataset("out"))),
}
USES = {
    "to_arrow": lambda docs: docs.to_arrow(),
    "take": lambda docs: docs.take(1),
    "key": lambda docs: docs.key,
    "tasks": lambda docs: docs.tasks,
    "write": lambda docs: docs.write("new.jsonl"),
    "run": lambda docs: dp.Pipeline().run(docs, out="new"),
    "stage": lambda docs: dp.Pipeline(dp.Exact()).run(docs, out="new", runner=laws.TWO),
    "pick": lambda docs: list(docs.parts[0].pick(extend.make([0], ["x"], "x").column("id").to_numpy(), ["text"])),
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("kind", DATASETS)
def test_documents_are_not_read_in_another_folder(places, monkeypatch, kind, use):
    """A Dataset of relative paths is refused elsewhere, in one sentence, and nothing is written."""
    docs = DATASETS[kind]()
    monkeypatch.chdir(places[1])
    before = listing(places[1])
    with pytest.raises(PlanError, match=SAYS):
        USES[use](docs)
    assert listing(places[1]) == before
    monkeypatch.chdir(places[0])
    assert THERE not in "".join(docs.to_arrow().column("text").to_pylist())


@pytest.mark.parametrize("use", ["drops", "unread", "dropped", "cuts"])
def test_tables_are_not_read_in_another_folder(places, monkeypatch, use):
    """So are the tables of a sealed Dataset."""
    docs = dp.open_dataset("out")
    monkeypatch.chdir(places[1])
    with pytest.raises(PlanError, match=SAYS):
        getattr(docs, use)()


def test_absolute_paths_and_counts_are_the_same_everywhere(places, monkeypatch):
    """What needs no relative path works in any folder."""
    docs, sealed = dp.read(str(places[0] / "*.jsonl")), dp.open_dataset(str(places[0] / "out"))
    counted, empty = dp.open_dataset("out"), dp.Map(lambda text: text.strip(), version="1")
    monkeypatch.chdir(places[1])
    assert docs.to_arrow().column("text").to_pylist() == sealed.to_arrow().column("text").to_pylist()
    assert THERE not in str(sealed.take(9))
    assert len(counted) == 9
    assert dp.Pipeline(empty).run(docs, out="new").count == 9


def test_no_key_and_no_record_depends_on_the_folder(places, monkeypatch):
    """The same relative path with the same content has the same key in both folders."""
    rows(places[1], HERE)
    keys = []
    for place in places:
        monkeypatch.chdir(place)
        keys.append((dp.read("*.jsonl").key, key_of(dp.Hosts("hosts.txt")), repr(dp.Hosts("hosts.txt"))))
        dp.Pipeline(dp.Exact()).run(dp.read("*.jsonl"), out="same")
    assert keys[0] == keys[1]
    laws.same_bytes(places[0] / "same", places[1] / "same")


def test_shards_and_indexes_stay_those_that_were_opened(places, monkeypatch):
    """They are not recorded anywhere, and continue to read the files that they were opened with."""
    shards, index = Shards.open("shards"), SuffixIndex.open("index")
    expected = Shards.open("shards").split("train").document(0).tolist()
    monkeypatch.chdir(places[1])
    for one in (shards, pickle.loads(pickle.dumps(shards))):
        assert one.split("train").document(0).tolist() == expected
        assert one.split("train").docs(0).num_rows == 9
    assert str(shards.path) == "shards"
    assert index.count("هناك") == 0
    assert index.count(HERE) == 9


STAGES = {
    "against": lambda: dp.Exact(against="out"),
    "a list": lambda: dp.MinHash(against=["out"]),
    "a file": lambda: dp.Hosts("hosts.txt"),
    "a glob": lambda: dp.Hosts("host*.txt"),
    "mapping": lambda: chats.Pseudonyms(key=b"0123456789abcdef", mapping="names.parquet"),
    "consent": lambda: chats.Pseudonyms(key=b"0123456789abcdef", consent=chats.Consent(refused="hosts.txt")),
    "exports": lambda: chats.Pseudonyms(key=b"0123456789abcdef", exports=dp.read("*.jsonl")),
    "sent": lambda: cloudpickle.loads(cloudpickle.dumps(dp.Hosts("hosts.txt"))),
}


@pytest.mark.parametrize("kind", STAGES)
def test_stages_keep_no_other_file(places, monkeypatch, kind):
    """A stage whose parameter is a relative path runs only where it was made."""
    stage = STAGES[kind]()
    docs = dp.read(str(places[1] / "*.jsonl"))
    monkeypatch.chdir(places[1])
    before = listing(places[1])
    with pytest.raises(PlanError, match=SAYS):
        dp.Pipeline(stage).run(docs, out="new")
    if isinstance(stage, extend.Stage):
        with pytest.raises(PlanError, match=SAYS):
            docs.then(stage).to_arrow()
    assert listing(places[1]) == before


def test_texts_that_name_no_file_may_be_given_anywhere(places, monkeypatch):
    """A preset, a reason or a URL is no path."""
    stages = dp.C4(preset="tfds"), dp.Hosts(("example.org", "a/b"))
    docs = dp.read(str(places[0] / "*.jsonl"))
    monkeypatch.chdir(places[1])
    assert dp.Pipeline(*stages[:1]).run(docs, out="new").count == 0
    stages[1].check_here()
    values = [
        "",
        "d0.jsonl",
        ("d*.jsonl", {"a": "{n}.txt"}),
        Path("d1.jsonl"),
        "s3://d0.jsonl",
        "x\0",
        str(places[0]),
        3,
    ]
    assert list(files_named(values, str(places[0]))) == ["d0.jsonl", "d*.jsonl", "{n}.txt", "d1.jsonl"]


def moves(text):
    os.chdir(Path.cwd().parent / "there")
    return text


def moves_back(text):
    old = Path.cwd()
    os.chdir(old.parent / "there")
    try:
        return text + (" !" if Path("d0.jsonl").exists() else "")
    finally:
        os.chdir(old)


@dataclass(frozen=True)
class Mover(extend.Stage):
    """Changes the folder before it asks for the first batch, or after the last."""

    first: bool

    def __call__(self, batches, stats):
        """The same batches."""
        if self.first:
            moves("")
        yield from batches
        if not self.first:
            moves("")


@dataclass(frozen=True)
class MovingReader(extend.Reader):
    """Changes the folder while it reads."""

    def __call__(self, piece, stats):
        """One document."""
        moves("")
        yield extend.make([extend.doc_id(piece.file, 0)], ["x"], "x")


@dataclass(frozen=True)
class MovingFit(extend.Estimator):
    """Changes the folder while it learns."""

    def fit(self, docs, runner, out):
        """A stage that drops nothing."""
        moves("")
        return dp.Map(lambda text: text.strip(), version="1")


def keeps(text):
    return moves(text) == text


CHANGES = {
    "map": lambda: dp.Map(moves),
    "filter": lambda: dp.Filter(keeps),
    "before": lambda: Mover(first=True),
    "after": lambda: Mover(first=False),
    "fit": MovingFit,
    "score": lambda: dp.Score(dp.Filter(keeps)),
}


@pytest.mark.parametrize("runner", [dp.tools.Serial(), laws.TWO], ids=repr)
@pytest.mark.parametrize("change", CHANGES)
def test_a_function_that_changes_the_folder_ends_the_run(places, change, runner):
    """One sentence names it; the folder is as before, and no file is scattered."""
    before = listing(places[1])
    with pytest.raises(FunctionFailed, match=MOVED):
        dp.Pipeline(CHANGES[change](), dp.Exact(against="out")).run(dp.read("d?.jsonl"), out="new", runner=runner)
    assert Path.cwd() == places[0]
    assert listing(places[1]) == before


def test_a_reader_that_changes_the_folder_ends_the_run(places):
    """So does a Reader of the user."""
    with pytest.raises(FunctionFailed, match="MovingReader" + MOVED):
        dp.read("d?.jsonl", format=MovingReader()).to_arrow()
    assert Path.cwd() == places[0]


@pytest.mark.parametrize("runner", [dp.tools.Serial(), laws.TWO], ids=repr)
def test_a_function_may_change_the_folder_for_a_while(places, runner):
    """A function that changes back is none of our business; its errors are its own."""
    done = dp.Pipeline(dp.Map(moves_back)).run(dp.read("d?.jsonl"), out="new", runner=runner)
    assert all(text.startswith(HERE) and text.endswith("!") for text in done.to_arrow().column("text").to_pylist())


def test_an_error_after_a_change_is_still_the_error(places):
    """The folder is put back, and the function's own error is raised."""

    def fails(text):
        moves(text)
        raise KeyError(text)

    with pytest.raises(FunctionFailed):
        dp.Pipeline(dp.Map(fails)).run(dp.read("d?.jsonl"), out="new")
    assert Path.cwd() == places[0]


def test_workers_work_in_the_folder_of_the_caller(places, monkeypatch):
    """Processes that were started elsewhere, or that began in the folder of the program's start, change to it."""
    runner = dp.tools.Local(2)
    for place, text in zip(reversed(places), (THERE, HERE), strict=True):
        monkeypatch.chdir(place)
        assert set(runner.map(folder_of, range(3))) == {str(place)}
        done = dp.Pipeline(dp.Exact()).run(dp.read("d?.jsonl"), out="new", runner=runner)
        assert {row[: len(text) + 1] for row in done.to_arrow().column("text").to_pylist()} == {f"{text} "}


def folder_of(_):
    return here()


def test_a_step_that_changes_the_folder_ends_the_run(places):
    """Later steps would write elsewhere, since OUT is a relative path."""

    def first(out):
        dp.Pipeline().run(dp.read("d?.jsonl"), out=out)
        moves("")

    with pytest.raises(FunctionFailed, match="step first" + MOVED):
        list(execute([Step("first", first, ("out",))], "steps", dp.tools.Serial()))
    assert Path.cwd() == places[0]
    assert Path("steps/status.json").exists() or any(Path("steps").iterdir())


def test_a_folder_that_was_deleted_is_named(tmp_path, monkeypatch):
    """Nothing is known of a folder that is gone; what was given before says so."""
    gone = tmp_path / "here"
    gone.mkdir()
    rows(gone, HERE)
    monkeypatch.chdir(gone)
    docs = dp.read("d0.jsonl")
    for path in gone.iterdir():
        path.unlink()
    gone.rmdir()
    assert here() == ""
    with pytest.raises(PlanError, match="which is now deleted"):
        docs.to_arrow()
    monkeypatch.undo()


def is_odd(text: str) -> bool:
    """Drop the texts that end in an even number."""
    return int(text[-1]) % 2 == 1


@pytest.fixture
def runs(places, monkeypatch) -> tuple[Path, Path]:
    """In both folders a run of relative paths, and a second one that reads its shards; their files have equal sizes."""
    for place in places[::-1]:
        monkeypatch.chdir(place)
        first = dp.Pipeline(dp.Filter(is_odd)).run(dp.read("*.jsonl"), out="first")
        dp.Pipeline(dp.Filter(lambda text: text[-2] != "2", version="1")).run(first, out="second")
    return places


def shown(dataprep, place: Path) -> str:
    """All that commands and functions show of the texts that two runs removed."""
    dropped = [row for name in ("first", "second") for row in dp.open_dataset(str(place / name)).dropped()]
    ids = [str(id_) for id_ in dp.open_dataset(str(place / "first")).drops()["id"].to_pylist()]
    said = [dataprep("why", place / "first", id_)[1] for id_ in ids[:2]]
    said += [dataprep("search", place / "second", "ن", "--removed")[1]]
    return json.dumps([row["text"] for row in dropped], ensure_ascii=False) + "\n".join(said)


@pytest.mark.parametrize("out", ["absolute", "relative"])
def test_the_input_of_a_run_is_found_from_another_folder(runs, monkeypatch, dataprep, out):
    """A relative path in `origin.json` means what it meant in the run; never a file of the same name and size."""
    here_, there = runs
    monkeypatch.chdir(here_)
    expected = shown(dataprep, here_)
    monkeypatch.chdir(there)
    place = here_ if out == "absolute" else Path("..", "here")
    found = shown(dataprep, place)
    assert HERE in found
    assert THERE not in found
    assert found.count(HERE) == expected.count(HERE) > 9


def test_a_missing_input_is_no_file_of_another_folder(runs, monkeypatch, dataprep):
    """The error states which path is missing; `why` shows no text."""
    here_, there = runs
    (id_, *_) = dp.open_dataset("first").drops()["id"].to_pylist()
    for path in here_.glob("*.jsonl"):
        path.unlink()
    monkeypatch.chdir(there)
    with pytest.raises(ReadError, match=r"/here/d0.jsonl: this input file of .*/here/first is missing"):
        dp.open_dataset(str(here_ / "first")).dropped()
    code, out, _ = dataprep("why", here_ / "first", id_)
    assert (code, THERE in out, "no text" in out) == (0, False, True)


def test_a_run_that_was_moved_finds_its_input_in_the_new_folder(runs, monkeypatch, dataprep):
    """As with paths that are not recorded; but only files with the same content."""
    here_, there = runs
    expected = shown(dataprep, here_)
    shutil.move(here_, here_.parent / "moved")
    monkeypatch.chdir(here_.parent / "moved")
    assert shown(dataprep, here_.parent / "moved").count(HERE) == expected.count(HERE)
    monkeypatch.chdir(there)
    with pytest.raises(ReadError, match="is missing|has changed"):
        dp.open_dataset(str(here_.parent / "moved" / "second")).dropped()
    with pytest.raises(ReadError, match="is missing|has changed"):
        dp.open_dataset(str(here_.parent / "moved" / "first")).dropped()


def test_forget_follows_the_paths_of_the_run(runs, monkeypatch):
    """From another folder with runs of the same names, which are not changed."""
    here_, there = runs
    monkeypatch.chdir(there)
    before = {path: path.read_bytes() for path in there.rglob("*") if path.is_file()}
    ids = [row["id"] for row in dp.open_dataset(str(here_ / "second"))][:1]
    done = dp.tools.forget("../here", ids, of="../here/second")
    assert sorted(Path(url).name for url, n in done.removed.items() if n) == ["first", "second"]
    assert {path: path.read_bytes() for path in there.rglob("*") if path.is_file()} == before
