"""Hostile names and places: folders whose names look like patterns or URLs, and places that cannot be written."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import dataprep as dp
from dataprep.core.pipeline import Pipeline
from dataprep.errors import DataprepError
from dataprep.store import files
from dataprep.store.atomic import whole
from dataprep.tokens.vocabulary.tokenizer import Tokenizer

NAMES = {
    "star": "a*b", "bracket": "a[b", "class": "a[1]", "question": "a?b", "chain": "a::b", "escape": "a\x1b[31mb",
    "not utf-8": "b\udcffad", "newline": "new\nline", "dot": "dot.", "tilde": "~x", "hash": "a#b%20c",
}  # fmt: skip
TWO = '{"text": "one two"}\n{"text": "three"}\n'


@pytest.mark.parametrize("name", NAMES)
def test_a_folder_may_have_any_name(tmp_path, name):
    """Folder and file of such a name are read, sealed, opened, encoded and verified; a second run does nothing."""
    home = tmp_path / NAMES[name]
    (home / "in").mkdir(parents=True)
    (home / "in" / f"{NAMES[name]}.jsonl").write_text(TWO)
    assert dp.read(str(home / "in")).count == dp.read(str(home / "in" / f"{NAMES[name]}.jsonl")).count == 2
    for _ in range(2):
        made = Pipeline().run(dp.read(str(home / "in")), str(home / "out"))
        assert dp.read(str(home / "out")).count == made.count == 2
        dp.encode(made, Tokenizer.of_bytes(), home / "shards", val=0.5)
    assert dp.tools.verify(str(home)) == {str(home / "out"): [], str(home / "shards"): []}
    with pytest.raises(DataprepError, match="would read it"):
        Pipeline().run(dp.read(str(home / "in")), str(home / "in" / "out"))


def test_a_pattern_that_names_nothing_stays_a_pattern(tmp_path):
    """Only an existing file or folder is meant literally."""
    for name in ("ab", "axb"):
        (tmp_path / f"{name}.jsonl").write_text(TWO)
    assert files.is_glob(str(tmp_path / "a*b.jsonl"))
    assert dp.read(str(tmp_path / "a*b.jsonl")).count == 4
    (tmp_path / "a*b.jsonl").write_text(TWO)
    assert not files.is_glob(str(tmp_path / "a*b.jsonl"))
    assert dp.read(str(tmp_path / "a*b.jsonl")).count == 2


PLACES = ("file", "file/x", "dangling", "dangling/x")
JOBS = {
    "run": lambda docs, out: Pipeline().run(docs, out),
    "encode": lambda docs, out: dp.encode(docs, Tokenizer.of_bytes(), out),
    "write": lambda docs, out: docs.write(f"{out}/docs.jsonl"),
    "tokenizer": lambda docs, out: Tokenizer.of_bytes().save(out),
    "forget": lambda docs, out: dp.tools.forget(out, [1]),
    "open": lambda docs, out: dp.open_dataset(out),
    "shards": lambda docs, out: dp.Shards.open(out),
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("job", JOBS)
def test_a_place_that_cannot_be_used_is_one_sentence(tmp_path, place, job):
    """A file where a folder should be, or a dangling link: no traceback, and what is there stays."""
    (tmp_path / "a.jsonl").write_text(TWO)
    (tmp_path / "file").write_text("mine")
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    with pytest.raises(DataprepError) as e:
        JOBS[job](dp.read(str(tmp_path / "a.jsonl")), str(tmp_path / place))
    assert place in str(e.value)
    assert "\n" not in str(e.value)
    assert (tmp_path / "file").read_text() == "mine"
    assert sorted(os.listdir(tmp_path)) == ["a.jsonl", "dangling", "file"]


@pytest.mark.parametrize("kind", ["folder", "pipe", "link to a pipe"])
def test_only_a_file_is_replaced(tmp_path, kind):
    """A folder or a device is never replaced by a file of its name."""
    place = tmp_path / "place"
    if kind == "folder":
        place.mkdir()
    else:
        os.mkfifo(tmp_path / "pipe")
        os.symlink("pipe", place) if kind == "link to a pipe" else os.rename(tmp_path / "pipe", place)
    with pytest.raises(DataprepError, match=r"place cannot be written \(it is (a folder|not a file)\)"), whole(place):
        pytest.fail("written")
    assert not place.is_file()
    assert not [name for name in os.listdir(tmp_path) if name.endswith(".tmp")]


def test_an_error_while_writing_is_not_ours(tmp_path):
    """What fails inside the block keeps its type: it is not about the place."""
    with pytest.raises(FileNotFoundError), whole(tmp_path / "a"):
        Path(tmp_path / "missing").read_bytes()
    assert os.listdir(tmp_path) == []


def test_ids_of_any_size_are_one_sentence(tmp_path):
    """Too big, negative, of too many digits, or no number at all."""
    (tmp_path / "a.jsonl").write_text(TWO)
    docs = Pipeline().run(dp.read(str(tmp_path / "a.jsonl")), str(tmp_path / "out"))
    for id_ in (2**64, 2**70, -1, f"1:{2**41}", "99999999999:1", "1:2:3", "x", "9" * 5000, ""):
        with pytest.raises(DataprepError):
            docs.text_of(id_)
        with pytest.raises(DataprepError):
            dp.tools.forget(str(tmp_path / "out"), [id_])
