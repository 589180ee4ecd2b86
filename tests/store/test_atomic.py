"""Files that appear whole: what is synced before and after they get their names, and which files are listed."""

from __future__ import annotations

import errno
import os

import pytest

from dataprep.errors import DataprepError
from dataprep.store import atomic
from dataprep.store.atomic import JOURNAL, begin_journal, is_attempt, journal_of, journaled, whole


@pytest.fixture
def calls(monkeypatch):
    """What is synced and renamed, in order, by the last part of its path."""
    found, fsync, replace = [], os.fsync, os.replace

    def synced(descriptor):
        found.append(os.path.basename(os.readlink(f"/proc/self/fd/{descriptor}")))
        fsync(descriptor)

    def renamed(old, new):
        found.append(f"{os.path.basename(old)[: len(os.path.basename(new)) + 2]} -> {os.path.basename(new)}")
        replace(old, new)

    monkeypatch.setattr(atomic.os, "fsync", synced)
    monkeypatch.setattr(atomic.os, "replace", renamed)
    return found


def test_a_file_is_on_disk_before_its_name_and_its_name_before_the_end(tmp_path, calls):
    """The list of files before the file; a file that fails is neither renamed nor synced."""
    begin_journal(str(tmp_path))
    calls.clear()
    with whole(tmp_path / "a" / "b") as f:
        f.write(b"x")
        assert calls == [JOURNAL]
        assert journaled(str(tmp_path / JOURNAL)) == {str(tmp_path / "a" / "b")}
    temporary, *rest = calls[1:]
    assert is_attempt(temporary)
    assert rest == [".b. -> b", "a"]
    calls.clear()
    with pytest.raises(ZeroDivisionError), whole(tmp_path / "a" / "b"):
        raise ZeroDivisionError
    assert calls == []
    assert os.listdir(tmp_path / "a") == ["b"]


def test_all_bytes_are_on_disk_before_the_name(tmp_path, monkeypatch):
    """And all of the line in the journal: what Python still holds when a file is synced is lost in a power cut."""
    begin_journal(str(tmp_path))
    sizes = []
    monkeypatch.setattr(atomic.os, "fsync", lambda descriptor: sizes.append(os.fstat(descriptor).st_size))
    with whole(tmp_path / "a") as f:
        f.write(b"xyz")
    assert sizes[:2] == [(tmp_path / JOURNAL).stat().st_size, 3]
    assert sizes[0] > 0


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG], ids=errno.errorcode.get)
def test_a_full_disk_is_one_sentence(tmp_path, code):
    """Also if it is full for this user, or the file is too large for it; other errors are raised as they are."""
    with pytest.raises(DataprepError, match="a: the disk is full.*; free some space"), whole(tmp_path / "a"):
        raise OSError(code, "no room")
    with pytest.raises(BlockingIOError), whole(tmp_path / "a"):
        raise BlockingIOError(errno.EAGAIN, "later")


def test_a_file_without_a_folder_is_here(tmp_path, monkeypatch, calls):
    """In the folder in which the program runs."""
    monkeypatch.chdir(tmp_path)
    with whole("a") as f:
        f.write(b"x")
    assert os.listdir() == ["a"]
    assert calls[1:] == [".a. -> a", tmp_path.name]


@pytest.mark.parametrize(("deep", "found"), [(0, True), (6, True), (7, True), (8, False)])
def test_a_journal_is_looked_for_in_eight_folders(tmp_path, deep, found):
    """That of the nearest one counts; a link is none."""
    begin_journal(str(tmp_path))
    folder = tmp_path.joinpath(*"abcdefgh"[:deep])
    folder.mkdir(parents=True, exist_ok=True)
    assert journal_of(str(folder)) == (str(tmp_path / JOURNAL) if found else None)
    if deep:
        (folder / JOURNAL).symlink_to(tmp_path / JOURNAL)
        assert journal_of(str(folder)) == (str(tmp_path / JOURNAL) if found else None)
    assert journal_of("/nowhere/at/all") is None


def test_pipes_are_not_opened(tmp_path):
    """To open one would wait; what else is no file raises its own error, and is not written."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "a").write_bytes(b"x")
    assert atomic.read_bytes(tmp_path / "a") == b"x"
    for name, error in (("pipe", PermissionError), (".", IsADirectoryError), ("no", FileNotFoundError)):
        with pytest.raises(error):
            atomic.read_bytes(tmp_path / name)
    for name, state in (("pipe", "it is not a file"), (".", "it is a folder")):
        with pytest.raises(DataprepError, match=rf"cannot be written \({state}\); choose another path"), whole(
            f"{tmp_path}/{name}"
        ):
            pytest.fail("written")


def test_a_file_is_listed_once(tmp_path):
    """When it is made; writing it again adds no line."""
    begin_journal(str(tmp_path))
    for data in (b"1", b"2"):
        with whole(tmp_path / "a") as f:
            f.write(data)
    assert (tmp_path / JOURNAL).read_bytes().count(b'"a"') == 1
    assert (tmp_path / "a").read_bytes() == b"2"
