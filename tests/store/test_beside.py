"""Files that are replaced together: what readers find, and what is deleted."""

import os
from pathlib import Path

import pytest

from dataprep.errors import ReadError, StaleOutput
from dataprep.store import beside
from dataprep.store.atomic import begin_journal, whole
from killed import bytes_of, kills


def write(out, texts):
    """Make a file beside the result for each of {name: text}."""
    for name, text in texts.items():
        with whole(os.path.join(beside.home(out), name)) as f:
            f.write(text.encode())


def found(out):
    """Return {name: text} of the files of the result, as readers find them."""
    places = {name: beside.at(str(out / name)) for name in ("a", "b", "c")}
    return {name: Path(place).read_text() for name, place in places.items() if os.path.exists(place)}


def test_readers_find_the_old_files_or_the_new_ones(tmp_path, monkeypatch):
    """At each rename and deletion, and nothing else is left after the next call."""
    out, seen = tmp_path / "out", []
    old, new = {"a": "old", "b": "old"}, {"a": "new", "c": "new", "in/d": "new"}
    (tmp_path / "old").mkdir()
    write(tmp_path / "old", old)
    beside.commit(tmp_path / "old", old)

    def replace():
        beside.recover(out)
        write(out, new)
        beside.commit(out, new, old)

    for _ in kills(monkeypatch, tmp_path / "old", out, replace):
        seen.append(found(out))
        replace()
        assert bytes_of(out) == {name: text.encode() for name, text in new.items()}
    assert [state for n, state in enumerate(seen) if state not in seen[:n]] == [old, {"a": "new", "c": "new"}]


def test_only_files_that_dataprep_made_are_discarded(tmp_path):
    """A file of somebody else stays, with its folder; so does everything once a commit has begun."""
    begin_journal(str(tmp_path))
    write(tmp_path, {"a": "1", "b": "1"})
    (tmp_path / "_unfinished" / "notes").write_text("mine")
    beside.discard(tmp_path, ["b"])
    assert sorted(os.listdir(tmp_path / "_unfinished")) == ["a", "notes"]
    beside.discard(tmp_path)
    assert os.listdir(tmp_path / "_unfinished") == ["notes"]
    write(tmp_path, {"a": "1", beside.READY: '{"files": ["a"], "gone": []}'})
    beside.discard(tmp_path)
    assert found(tmp_path) == {"a": "1"}
    beside.recover(tmp_path)
    assert sorted(bytes_of(tmp_path)) == ["_unfinished/notes", "a"]


def test_a_folder_in_the_place_of_a_file_is_named(tmp_path):
    """Before the result changes."""
    write(tmp_path, {"a": "1", "b": "1"})
    (tmp_path / "b").mkdir()
    with pytest.raises(StaleOutput, match="b is a folder, but the result needs a file there"):
        beside.commit(tmp_path, ["a", "b"])
    assert beside.ready(tmp_path) is None


def test_a_ready_list_of_others_is_none(tmp_path):
    """A file of the same name that is not such a list changes nothing."""
    write(tmp_path, {"a": "1"})
    for text in ("", "[]", '{"files": 3}', "\xff"):
        (tmp_path / "_unfinished" / beside.READY).write_text(text, encoding="latin-1")
        assert beside.ready(tmp_path) is None
        beside.recover(tmp_path)
        assert beside.at(str(tmp_path / "a")) == str(tmp_path / "a")
    assert sorted(os.listdir(tmp_path / "_unfinished")) == ["a", beside.READY]


def test_what_changed_while_it_was_read_is_read_again(tmp_path):
    """An error counts only if no file was replaced meanwhile; so does a result."""
    read = []

    def one():
        read.append(len(read))
        if len(read) < 3:
            os.utime(tmp_path, (len(read), len(read)))
        if len(read) == 1:
            msg = "moved"
            raise ReadError(msg, "a")
        return len(read)

    assert beside.steady(tmp_path, one) == 3
    with pytest.raises(ZeroDivisionError):
        beside.steady(tmp_path, lambda: 1 / 0)
