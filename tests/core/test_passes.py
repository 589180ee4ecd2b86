"""Tasks that write one file per item: done once for each key, and again if a file or what decides it changed."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path

import pytest

import laws
from dataprep.core.model import batch as B
from dataprep.core.model import tables
from dataprep.core.model.part import Part
from dataprep.core.model.range_reader import RangeReader
from dataprep.core.model.reader import Slice
from dataprep.core.model.tables import VERDICTS, new_rows, read_rows, write_verdicts
from dataprep.core.run.passes import Pass, WriteTable, table_once
from dataprep.core.run.runner import Serial
from dataprep.store import files, parquet

PART = Part((Slice("a.txt", 0),), laws.Rows(), number=3, key="content of a")
CALLS: list[str] = []


@dataclass(frozen=True)
class Writes(Pass):
    """Writes a word, and counts how often."""

    folder = "words"
    word: str = "one"

    def write(self, url, item):
        """Write it."""
        CALLS.append(url)
        files.write_bytes(url, self.word.encode())
        return {"documents": len(self.word)}


@dataclass(frozen=True)
class WritesTwo(Writes):
    """Writes two files, and no file at the URL itself."""

    noun = ""

    def write(self, url, item):
        """Write both."""
        CALLS.append(url)
        for name in ("a", "b"):
            files.write_bytes(f"{url}.{name}", b"x")
        return {"files": [f"{url}.a", f"{url}.b"]}


@pytest.fixture
def called():
    """How often something was written since the last question."""
    CALLS.clear()

    def count():
        n = len(CALLS)
        CALLS.clear()
        return n

    return count


def test_each_item_has_a_file_and_a_receipt(tmp_path, called) -> None:
    """Named by its number; the receipt lists the file and what `write` returned."""
    task = Writes(str(tmp_path), "key")
    assert task(PART) == task(PART)
    assert task(7)["key"] == "key"
    assert called() == 2
    assert [p.name for p in sorted((tmp_path / "words").iterdir())] == [
        "part-00003", "part-00003.json", "part-00007", "part-00007.json",
    ]  # fmt: skip
    receipt = json.loads((tmp_path / "words" / "part-00003.json").read_text())
    assert [(file["name"], file["size"]) for file in receipt["files"]] == [("part-00003", 3)]
    assert receipt["documents"] == 3
    assert Writes.url("OUT") == "OUT/words/part-00000"
    assert Writes.url("OUT", 3) == "OUT/words/part-00003"
    assert WritesTwo.url("OUT") == "OUT/words"


@pytest.mark.parametrize("change", ["key", "content", "missing", "damaged", "receipt"])
def test_what_changed_is_written_again(tmp_path, called, change) -> None:
    """Another key of the task or of the part, a file that is missing or has other bytes, a receipt that is cut."""
    task, part = Writes(str(tmp_path), "key"), PART
    task(part)
    written = tmp_path / "words" / "part-00003"
    if change == "key":
        task = dataclasses.replace(task, key="another")
    elif change == "content":
        part = dataclasses.replace(PART, key="content of b")
    elif change == "missing":
        written.unlink()
    elif change == "damaged":
        written.write_bytes(b"eno")
    else:
        written.with_suffix(".json").write_text("{")
    assert called() == 1
    task(part)
    assert called() == 1
    task(part)
    assert (called(), written.read_bytes()) == (0, b"one")


def test_a_task_may_write_several_files(tmp_path, called) -> None:
    """Each is in the receipt, so each is missed."""
    task = WritesTwo(str(tmp_path), "key")
    task(0)
    task(0)
    assert called() == 1
    (tmp_path / "words.b").unlink()
    task(0)
    assert called() == 1
    assert (tmp_path / "words.b").exists()


def test_a_table_is_made_once_and_replaces_what_led_to_it(tmp_path, called) -> None:
    """Its counts come back without files and key; work files of the passes are deleted, those of others are not."""
    task, url = Writes(str(tmp_path), "key"), str(tmp_path / "t.parquet")
    single = WritesTwo(str(tmp_path), "key")

    def make():
        task(1)
        files.write_bytes(url, b"table")
        return {"rows": 5}

    (tmp_path / "mine").mkdir()
    for _ in range(2):
        assert table_once(url, "key", make, [Writes, WritesTwo]) == {"rows": 5}
    assert called() == 1
    assert sorted(p.name for p in tmp_path.iterdir()) == ["mine", "t.json", "t.parquet"]
    single(0)
    Path(url).write_bytes(b"tables")
    assert table_once(url, "key", make) == {"rows": 5}
    assert called() == 2
    assert (tmp_path / "words").exists()
    assert table_once(url, "another", make) == {"rows": 5}
    assert Path(url).read_bytes() == b"table"


SECTIONS = [[1, 2], [], [3], [4, 5, 6, 9], [], [12], [13, 14]]


@dataclass(frozen=True)
class WritesSections(WriteTable):
    """Writes the ids in SECTIONS."""

    schema = VERDICTS

    def rows(self, section):
        """One table per id."""
        for id_ in SECTIONS[section]:
            yield new_rows(VERDICTS, id=[id_], reason=f"r{id_}")


@dataclass(frozen=True)
class Notes(Serial):
    """Notes the tasks of each pass."""

    noted: list = dataclasses.field(default_factory=list)

    def map(self, task, items, label=""):
        """Results as usual."""
        self.noted.append(len(items))
        return super().map(task, items, label)


@pytest.mark.parametrize(("groups", "before"), [(1, 0), (1, 20), (2, 1), (100, 1)])
def test_the_files_of_a_table_are_written_by_tasks(tmp_path, monkeypatch, groups, before) -> None:
    """Their rows are those of a table that one process writes; one file has no task; a killed run goes on."""
    monkeypatch.setattr(tables, "VERDICT_ROWS", 2)
    monkeypatch.setattr(parquet, "FILE_GROUPS", groups)
    ids = [id_ for section in SECTIONS for id_ in section]
    n_files = {1: 5, 2: 3, 100: 1}[groups]
    if before:  # an earlier table, in a file or in more files than the new one
        write_verdicts(str(tmp_path / "verdicts.parquet"), [new_rows(VERDICTS, id=range(before), reason="old")])
    table, run = str(tmp_path / "verdicts.parquet"), Notes()
    task = WritesSections(str(tmp_path), "key", table, len(SECTIONS))
    if n_files > 1:
        with pytest.raises(KeyboardInterrupt):
            task.run(laws.Stops(at="write"), len(ids), "write")
    made = table_once(table, "key", lambda: {"files": task.run(run, len(ids), "write")}, [WritesSections])
    assert run.noted == ([n_files] if n_files > 1 else [])
    assert (made, read_rows(table, VERDICTS)["id"].to_pylist()) == ({}, ids)
    write_verdicts(str(tmp_path / "plain.parquet"), [new_rows(VERDICTS, id=ids, reason=[f"r{id_}" for id_ in ids])])
    assert read_rows(table, VERDICTS) == read_rows(str(tmp_path / "plain.parquet"), VERDICTS)
    with RangeReader(table, VERDICTS) as reader:
        found = [reader.of(B.make([id_], ["x"], "s")).num_rows for id_ in range(16)]
    assert found == [int(id_ in ids) for id_ in range(16)]
    names = [f"part-{number:05d}.parquet" for number in range(n_files)]
    left = sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file())
    whole = [f"verdicts.parquet/{name}" for name in ["index.parquet", *names]] if n_files > 1 else ["verdicts.parquet"]
    assert [name for name in left if not name.startswith("plain")] == sorted([*whole, "verdicts.json"])
    stated = json.loads((tmp_path / "verdicts.json").read_text())["files"]
    assert sorted(one["name"] for one in stated) == whole
    assert table_once(table, "key", lambda: pytest.fail("it is finished")) == {}
