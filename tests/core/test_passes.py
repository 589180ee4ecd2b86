"""Tasks that write one file per item: done once for each key, and again if a file or what decides it changed."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path

import pytest

import laws
from dataprep.core.model.part import Part
from dataprep.core.model.reader import Slice
from dataprep.core.run.passes import Pass, table_once
from dataprep.store import files

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
