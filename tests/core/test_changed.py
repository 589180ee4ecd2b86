"""Changed input: files with other content are read by a rerun, which makes only their parts again."""

import json
import os
import shutil
from dataclasses import dataclass
from dataclasses import replace as other
from typing import ClassVar

import numpy as np
import pytest

import dataprep as dp
from dataprep.core.inputs.origin import origin_of
from dataprep.core.model.dataset import open_dataset
from dataprep.core.model.stage import Stage
from dataprep.core.model.tables import QUARANTINED, Unread
from dataprep.core.output.changes import compared
from dataprep.core.output.layout import Folder
from dataprep.core.pipeline import Pipeline
from dataprep.core.run.seal import Seal
from dataprep.errors import StaleOutput
from dataprep.forget.forget import forget
from dataprep.read import parts
from dataprep.store import atomic, files, lease
from fixtures.small_pipeline import FirstOfLength, empty, long_enough, shout, words
from laws import same_bytes, same_result

STAGES = {
    "copy": (),
    "stages": (dp.Filter(empty), dp.Map(shout)),
    "estimators": (dp.Map(shout), FirstOfLength(), dp.Map(words, adds={"words": "int32"}), dp.Filter(long_enough),
                   FirstOfLength()),
}  # fmt: skip


@dataclass(frozen=True)
class Hides(Stage):
    """Keeps all documents, and no name of an input file."""

    hides: ClassVar[bool] = True

    def __call__(self, batches, stats):
        """Yield the batches."""
        yield from batches


def write(home, name, texts):
    """A file of JSON Lines."""
    (home / f"{name}.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))


def texts_of(name, n=8):
    """Texts of which some have the same length."""
    return [f"{name} has text {i} " * (1 + i % 5) for i in range(n)]


@pytest.fixture
def home(tmp_path, monkeypatch):
    """Five files, each a part of its own, and a list of the parts that are made: (folder in OUT, number)."""
    monkeypatch.setattr(parts, "PART_BYTES", 540)
    (tmp_path / "in").mkdir()
    for name in "abcde":
        write(tmp_path / "in", name, texts_of(name))
    return tmp_path / "in"


@pytest.fixture
def made(monkeypatch):
    """The parts that are made, as (name of the folder, number)."""
    found = []
    write_part = Seal._write

    def written(self, part):
        found.append((os.path.basename(self.places.out), part.number))
        return write_part(self, part)

    monkeypatch.setattr(Seal, "_write", written)
    return found


def run(home, out, stages=(), **given):
    return Pipeline(*stages).run(dp.read(str(home)), str(out), **given)


def change(home):
    """Other content in two files: words in one, a line more in the other."""
    write(home, "b", [text.replace("text", "some words") for text in texts_of("b")])
    write(home, "d", texts_of("d", 9))


@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.parametrize("stages", STAGES.values(), ids=STAGES)
def test_only_their_parts_are_made_again(home, tmp_path, made, caplog, stages, replace):
    """The result is that of a first run, byte for byte; a sentence names the files; a third run makes nothing."""
    run(home, tmp_path / "out", stages)
    assert len(made) == 5 * (1 + 2 * (len(stages) == 5))
    change(home)
    for name in ("report.html", "unread.parquet", "index/rows"):  # of what is not so any more
        files.write_bytes(f"{tmp_path}/out/{name}", b"")
    caplog.clear(), made.clear()
    run(home, tmp_path / "out", stages, replace=replace)
    said = "2 of 5 input files changed since the last run: b.jsonl, d.jsonl; recreating their parts"
    assert [message for message in caplog.messages if "only remaining copy" not in message] == [said]
    if len(stages) < 5:
        assert made == [("out", 1), ("out", 3)]
    else:  # of the first saved input; what follows a decision about all documents is made again
        assert made[:3] == [("input", 1), ("input", 3), ("input", 0)]
        assert len(made) == 2 + 5 + 5
    run(home, tmp_path / "fresh", stages)
    same_result(tmp_path / "out", tmp_path / "fresh")
    made.clear()
    run(home, tmp_path / "out", stages)
    assert not made


@pytest.mark.parametrize("n", [40, 1])
def test_a_file_of_other_parts(home, tmp_path, made, n):
    """The parts of all other files are kept under the numbers that they have now, and so are those of the next step."""
    for name in "bd":
        write(home, name, texts_of(name, 20))

    def both(out):
        first = run(home, tmp_path / out / "first", STAGES["stages"])
        return Pipeline(dp.Map(words, adds={"words": "int32"})).run(first, str(tmp_path / out / "second"))

    both("out")
    write(home, "b", texts_of("b", n))
    with_b = {n for n, part in enumerate(dp.read(str(home)).parts) if any("b.jsonl" in s.url for s in part.slices)}
    made.clear()
    both("out")
    numbers = {folder: {n for at, n in made if at == folder} for folder in ("first", "second")}
    assert numbers["first"] == with_b
    assert set() < numbers["second"] <= with_b  # a shard of the same documents is not changed
    both("fresh")
    for name in ("first", "second"):
        same_result(tmp_path / "out" / name, tmp_path / "fresh" / name)
        dp.tools.verify(str(tmp_path / "out" / name))


def test_any_parts_may_be_missing(tmp_path, monkeypatch):
    """What is left is kept under its number, and the rest is made again with the same bytes."""
    home = tmp_path / "in"
    home.mkdir()
    write(home, "a", texts_of("a", 30))
    monkeypatch.setattr(parts, "PART_BYTES", 300)
    run(home, tmp_path / "out")
    names = sorted(os.listdir(tmp_path / "out" / "receipts"))
    assert len(names) > 3
    random = np.random.default_rng(0)
    for _ in range(8):
        copy = tmp_path / "copy"
        shutil.copytree(tmp_path / "out", copy)
        os.unlink(copy / "manifest.json")
        for name in random.choice(names, 2, replace=False):
            os.unlink(copy / "receipts" / name)
        os.unlink(copy / "data" / f"{names[int(random.integers(len(names)))][:10]}-000.parquet")
        run(home, copy)
        same_bytes(copy, tmp_path / "out")
        shutil.rmtree(copy)


class Stop(BaseException):
    """A kill."""


@pytest.mark.parametrize(("stages", "step"), [("stages", 7), ("estimators", 43)])
def test_a_killed_rerun_resumes(home, tmp_path, monkeypatch, stages, step):
    """Killed before any file is renamed or deleted, then changed once more or not: the bytes are those of one run."""
    run(home, tmp_path / "whole", STAGES[stages])
    write(home, "b", texts_of("b", 30))  # of more parts
    run(home, tmp_path / "fresh", STAGES[stages])
    left = [0]

    def dying(call):
        def called(*given, **named):
            is_lease = str(given[0]).endswith(lease.NAME)
            left[0] -= not is_lease
            if left[0] == 0 and not is_lease:
                raise Stop
            return call(*given, **named)

        return called

    monkeypatch.setattr(os, "rename", dying(os.rename))
    monkeypatch.setattr(os, "replace", dying(os.replace))
    monkeypatch.setattr(os, "unlink", dying(os.unlink))
    out = tmp_path / "out"
    for at in range(1, 1_000, step):
        shutil.rmtree(out, ignore_errors=True)
        left[0] = 0
        shutil.copytree(tmp_path / "whole", out)
        left[0] = at
        try:
            run(home, out, STAGES[stages])
        except Stop:
            left[0] = 0
            if at % 2:
                write(home, "b", texts_of("b"))
                run(home, out, STAGES[stages])
                assert open_dataset(str(out)).table().equals(open_dataset(str(tmp_path / "whole")).table())
                write(home, "b", texts_of("b", 30))
            run(home, out, STAGES[stages])
            same_result(out, tmp_path / "fresh")
        else:
            break
    assert 30 < at < 990


def test_other_files_still_need_replace(home, tmp_path, made):
    """New, missing, renamed, emptied, reordered and unreadable ones are named by the sentence; the result is kept."""
    out = tmp_path / "out"
    run(home, out)
    change(home)

    def says(given, **options):
        with pytest.raises(StaleOutput) as e:
            Pipeline().run(dp.read(given, **options), str(out))
        return str(e.value)

    assert f"the input file {home}/a.jsonl (and 3 more) is no longer in the input" in says(str(home / "b.jsonl"))
    assert "its input or its code has changed" in says([str(home / f"{name}.jsonl") for name in "edcba"])
    os.rename(home / "a.jsonl", home / "aa.jsonl")
    assert f"the input file {home}/aa.jsonl is new" in says(str(home))
    os.rename(home / "aa.jsonl", home / "a.jsonl")
    text = (home / "a.jsonl").read_bytes()
    (home / "a.jsonl").write_bytes(b"")
    assert f"the input file {home}/a.jsonl is empty now, or cannot be opened" in says(str(home))
    docs = dp.read(str(home), on_bad_file="skip")
    os.unlink(home / "c.jsonl")
    with pytest.raises(StaleOutput, match="is empty now, or cannot be opened"):
        Pipeline().run(docs, str(out))
    assert open_dataset(str(out)).count == 40
    write(home, "c", texts_of("c"))
    (home / "a.jsonl").write_bytes(text)
    write(home, "f", texts_of("f"))
    assert f"the input file {home}/f.jsonl is new" in says(str(home))
    made.clear()
    run(home, out, replace=True)
    assert made == [("out", 1), ("out", 3), ("out", 5)]
    run(home, tmp_path / "fresh")
    same_result(out, tmp_path / "fresh")


def test_a_stage_that_hides_its_input_is_named_as_the_reason(home, tmp_path):
    """The folder has no names of input files, so a rerun after a change asks, and the sentence says why."""
    out = tmp_path / "out"
    run(home, out, [Hides()])
    change(home)
    with pytest.raises(StaleOutput, match="no input files are listed, for example because a stage hides them"):
        run(home, out, [Hides()])
    with pytest.raises(StaleOutput, match="its stages were"):
        run(home, out)


def test_the_sentence(home, tmp_path, caplog):
    """At most five files; their paths where names are the same; what is new or gone with replace=True."""
    def said():
        return caplog.messages[-1].partition("; ")[0].replace(str(home), "IN")

    def again(given, **options):
        Pipeline().run(dp.read(given), str(tmp_path / "out"), **options)

    (home / "z").mkdir()
    for name in "abcde":
        write(home / "z", name, texts_of(name))
    again(str(home / "**/*.jsonl"))
    for place in (home, home / "z"):
        write(place, "a", ["other"])
    again(str(home / "**/*.jsonl"))
    assert said() == "2 of 10 input files changed since the last run: IN/a.jsonl, IN/z/a.jsonl"
    for name in "bcde":
        write(home / "z", name, ["other"])
    write(home, "e", ["other"])
    write(home / "z", "a", ["more"])
    again(str(home / "z" / "*"), replace=True)
    assert said() == "5 input files are gone since the last run: a.jsonl, b.jsonl, c.jsonl, d.jsonl, e.jsonl"


def test_a_file_of_which_documents_were_forgotten(home, tmp_path):
    """They were named by their places, which may be others now; in other files they stay forgotten."""
    out = tmp_path / "out"
    first = run(home, out).table()["id"].to_pylist()
    forget(str(out), first[:1])
    change(home)
    again = run(home, out)
    assert first[0] not in again.table()["id"].to_pylist()
    write(home, "a", texts_of("x"))
    with pytest.raises(StaleOutput, match=r"a\.jsonl changed, but some of its documents were forgotten by position"):
        run(home, out)
    assert open_dataset(str(out)).count == again.count == 40


def test_a_quarantined_file_that_changed_is_not_unreadable(home, tmp_path):
    """Its new content ended workers, too, so that it is left out by rule; a file that cannot be read needs replace."""
    run(home, tmp_path / "out")
    change(home)
    docs = dp.read(str(home))

    def with_reason(reason):
        def slices(part):
            return tuple(other(p, unread=Unread(p.url, reason)) if "b.jsonl" in p.url else p for p in part.slices)

        now = docs.of(other(p, slices=slices(p)) for p in docs.parts)
        return compared(Folder(str(tmp_path / "out")).origin, origin_of(now))

    b, d = str(home / "b.jsonl"), str(home / "d.jsonl")
    found = with_reason(QUARANTINED)
    assert (found.changed, found.unreadable, found.same) == ((b, d), (), True)
    found = with_reason("is empty")
    assert (found.changed, found.unreadable, found.same) == ((d,), (b,), False)


def test_files_that_are_read_beside_others(tmp_path, made, caplog):
    """A file of names changed: the parts of the chats are made again."""
    folder = tmp_path / "slack" / "general"
    folder.mkdir(parents=True)
    (tmp_path / "slack" / "channels.json").write_text('[{"id": "C1", "name": "general"}]')
    day = [{"type": "message", "user": "U1", "text": "hello there", "ts": "1704103200.000100"}]
    (folder / "2024-01-01.json").write_text(json.dumps(day))

    def named(name, out):
        users = [{"id": "U1", "name": name, "profile": {"real_name": name, "display_name": name}}]
        (tmp_path / "slack" / "users.json").write_text(json.dumps(users))
        return set(run(tmp_path / "slack", tmp_path / out).table()["author"].to_pylist())

    assert named("Ada", "out") == {"Ada"}
    made.clear(), caplog.clear()
    assert named("Bo", "out") == {"Bo"}
    assert made == [("out", 0)]
    assert "users.json" in caplog.messages[-1]
    named("Bo", "fresh")
    same_result(tmp_path / "out", tmp_path / "fresh")


def test_moved_files_are_in_the_journal(home, tmp_path):
    """So that they are dataprep's, and others' files keep a run from beginning."""
    out = tmp_path / "out"
    run(home, out, STAGES["estimators"])
    (out / "data" / "notes.txt").write_text("mine")
    change(home)
    with pytest.raises(StaleOutput, match="notes.txt, which dataprep did not write"):
        run(home, out, STAGES["estimators"])
    os.unlink(out / "data" / "notes.txt")
    run(home, out, STAGES["estimators"])
    listed = atomic.journaled(str(out / atomic.JOURNAL))
    assert {str(path) for path in out.rglob("[!.]*") if path.is_file()} <= listed
