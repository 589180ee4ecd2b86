"""A result is replaced in one step: who opens the folder sees the old or the new one, whatever ends the run."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from typing import ClassVar

import pytest

import dataprep as dp
from dataprep.core.model.dataset import open_dataset
from dataprep.core.model.stage import Stage
from dataprep.core.output import commit, owned
from dataprep.core.output.layout import Folder
from dataprep.errors import FunctionFailed, PlanError, Replaced, StaleOutput
from dataprep.forget.forget import forget
from dataprep.history.verify import verify
from dataprep.read import parts
from dataprep.store import files, lease
from dataprep.store.atomic import JOURNAL
from dataprep.tokens.shards.verify import STOPPED
from laws import dataset_of, same_result

TEXTS = [f"document {n % 17} of a corpus with words {n % 17 * 7}" for n in range(40)]


def short(text):
    """Keep about half."""
    return len(text) % 2 == 0


def loud(text):
    """In capitals."""
    return text.upper()


def fails(text):
    """Fail at the last document."""
    if "39" in text or "of" in text:
        raise ZeroDivisionError
    return True


@dataclass(frozen=True)
class Hides(Stage):
    """Keeps all documents; everything before it is private."""

    hides: ClassVar[bool] = True

    def __call__(self, batches, stats):
        """Yield the batches."""
        yield from batches


def test_all_files_are_on_disk_before_the_result_changes(tmp_path, monkeypatch):
    """Tasks do not wait for the disk: their files are synced together, and the folders of the names after that."""
    synced, missing, replace = set[int](), [], os.replace

    def replaced(old, new):
        if str(new) == str(tmp_path / "out" / "manifest.json"):
            written = (p for p in (tmp_path / "out").rglob("*") if not p.name.startswith("."))
            missing.append([str(p) for p in written if p.stat().st_ino not in synced and any(p.parent.iterdir())])
        replace(old, new)

    monkeypatch.setattr(os, "fsync", lambda descriptor: synced.add(os.fstat(descriptor).st_ino))
    monkeypatch.setattr(os, "replace", replaced)
    dp.Pipeline(dp.Map(loud), dp.Exact(), dp.MinHash()).run(dataset_of(tmp_path, TEXTS), str(tmp_path / "out"))
    above = {str(tmp_path / "out" / name) for name in ("steps", "_unfinished")}  # of folders only
    assert [set(some) - above for some in missing] == [set()]


OLD, NEW = (dp.Exact(),), (dp.Map(loud), dp.Exact(), dp.Filter(short))


def run(docs, out, stages, **given):
    return dp.Pipeline(*stages).run(docs, str(out), **given)


def texts_of(docs):
    return [row["text"] for row in docs]


@pytest.fixture
def docs(tmp_path):
    return dataset_of(tmp_path, TEXTS, parts=3)


def test_a_failed_replacement_keeps_the_result(docs, tmp_path):
    """The result, its tables and its statistics are those of before; the next right run replaces them."""
    out = tmp_path / "out"
    old = run(docs, out, OLD)
    before = (texts_of(old), old.drops().to_pylist(), old.stats.to_json())
    with pytest.raises(FunctionFailed, match="finished work is kept"):
        run(docs, out, (dp.Filter(fails),), replace=True)
    now = open_dataset(str(out))
    assert (texts_of(now), now.drops().to_pylist(), now.stats.to_json()) == before
    assert run(docs, out, OLD).key == old.key
    new = run(docs, out, NEW, replace=True)
    assert texts_of(new) == texts_of(run(docs, tmp_path / "fresh", NEW))
    assert not (out / "_unfinished").exists()


def test_who_opened_the_old_result_reads_on_until_the_next_run(docs, tmp_path):
    """Its files are set aside; the run after that removes them, and the error says to open the folder again."""
    out = tmp_path / "out"
    old = run(docs, out, OLD)
    texts = texts_of(old)
    new = run(docs, out, NEW, replace=True)
    assert texts_of(old) == texts != texts_of(new)
    for asked in (old.drops, old.cuts, old.unread, old.dropped, old.cut_texts):
        with pytest.raises(Replaced, match="was replaced since it was opened; open it again"):
            asked()
    run(docs, out, NEW)
    assert not (out / "_replaced").exists()
    with pytest.raises(Replaced, match="was replaced since it was opened; open it again"):
        texts_of(old)
    assert texts_of(open_dataset(str(out))) == texts_of(new)


def test_files_that_are_just_moved_in_are_no_damage(docs, tmp_path, monkeypatch):
    """Those of the next result are moved before its manifest, and those of the old one set aside after it."""
    out, real, found = tmp_path / "out", os.replace, list[str]()
    run(docs, out, OLD)

    def looked(old, new):
        for when in ("before", "after") if str(new) == str(out / "manifest.json") else ():
            try:
                found.append(f"{when} {verify(str(out))}")
            except Replaced:
                found.append(when)
            real(old, new) if when == "before" else None
        return real(old, new) if os.path.exists(old) else None

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", looked)
        run(docs, out, NEW, replace=True)
    assert found == ["before", "after"]
    assert not any(verify(str(out)).values())


def test_the_lease_of_a_killed_writer_is_removed_by_the_next_run(docs, tmp_path):
    """Also if the result was complete; that of a process that runs is kept, and the result is opened all the same."""
    out = tmp_path / "out"
    run(docs, out, NEW)
    before = sorted(os.listdir(out))
    left = out / lease.NAME
    left.write_text('{"pid": 1, "host": "elsewhere", "boot": ""}')
    os.utime(left, (0, 0))
    assert run(docs, out, NEW).count > 0
    assert not left.exists()
    with lease.held(str(out)):
        assert run(docs, out, NEW).count > 0
        assert left.exists()
    assert sorted(os.listdir(out)) == before


@pytest.mark.parametrize("nested", ["", "_replaced/"])
def test_half_a_file_of_a_killed_writer_is_removed_by_the_next_run(docs, tmp_path, nested):
    """Also of the journal, which is written last, when the result is complete; other hidden files are kept."""
    out = tmp_path / "out"
    done = run(docs, out, NEW)
    (out / "_replaced").mkdir()
    half, mine = out / f"{nested}.{JOURNAL}.0123456789ab.tmp", out / ".0123456789ab.tmp"
    half.write_text("half")
    mine.write_text("mine")
    assert run(docs, out, NEW).key == done.key
    assert (half.exists(), mine.read_text()) == (False, "mine")


@pytest.mark.parametrize("name", ["_swap_in", "_settle"])
def test_what_a_stopped_commit_left_is_no_result(docs, tmp_path, monkeypatch, name):
    """Only the folder is one; of files beside the result, `verify` says that a run was stopped."""
    out = tmp_path / "out"
    dp.encode(run(docs, out / "clean", OLD), dp.Tokenizer.of_bytes(), out / "shards")

    def stop(*_):
        raise Stop

    monkeypatch.setattr(commit, name, stop)
    for write in (
        lambda: run(docs, out / "clean", NEW[:1], replace=True),
        lambda: dp.encode(docs, dp.Tokenizer.of_bytes(), out / "shards", val=0.5, replace=True),
    ):
        with pytest.raises(Stop):
            write()
    with (out / "clean" / JOURNAL).open("ab") as journal:  # a kill in the middle of a line
        journal.write(b'\n"_unfinished/data/part-0')
    for made in ("clean", "shards"):
        assert (out / made / "_unfinished" / "recipe.json").exists()
        found = dp.tools.verify(str(out / made))
        assert [url for url in found if "/steps/" not in url] == [str(out / made)]
        problems = found[str(out / made)]
        assert {one.do for one in problems} == ({STOPPED} if name == "_settle" or made == "clean" else set())


class Stop(BaseException):
    """A kill."""


@pytest.mark.parametrize("what", ["stages", "estimators"])
def test_a_killed_replacement_shows_the_old_or_the_new_result(docs, tmp_path, monkeypatch, what):
    """Killed at each of its renames, deletions and links: the folder opens and is whole, and the next run ends it."""
    stages = {"stages": NEW[:1], "estimators": NEW}[what]
    whole, out = tmp_path / "whole", tmp_path / "out"
    texts = [texts_of(run(docs, whole, OLD)), texts_of(run(docs, tmp_path / "fresh", stages))]
    left = [0]

    def dying(call):
        def called(*given, **named):
            counts = not str(given[0]).endswith(lease.NAME)
            left[0] -= counts
            if left[0] == 0 and counts:
                raise Stop
            return call(*given, **named)

        return called

    for name in ("rename", "replace", "unlink", "link"):
        monkeypatch.setattr(os, name, dying(getattr(os, name)))
    seen = set()
    step = 1 if what == "stages" else 7
    for at in range(1, 1_000, step):
        shutil.rmtree(out, ignore_errors=True)
        left[0] = 0
        shutil.copytree(whole, out)
        left[0] = at
        try:
            run(docs, out, stages, replace=True)
        except Stop:
            left[0] = 0
            seen.add(texts.index(texts_of(open_dataset(str(out)))))
            assert texts_of(run(docs, out, stages, replace=True)) == texts[1]
            same_result(out, tmp_path / "fresh")
        else:
            break
    assert seen == {0, 1}
    assert 20 < at < 990


LOOKED = []


def finds_nothing(strings):
    """Note what is searched."""
    LOOKED.append(strings)
    return iter(())


@dataclass(frozen=True)
class Searched(Hides):
    """The result must pass a search."""

    def secrets(self):
        """One that finds nothing."""
        return finds_nothing


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_commit_is_finished_by_the_next_run_only_if_it_was_searched(docs, tmp_path, monkeypatch, when):
    """Killed around the rename of the draft, after the search: before it the search is repeated, after it is not."""
    out, real = tmp_path / "out", owned.move
    old = texts_of(run(docs, out, OLD))
    LOOKED.clear()

    def dying(*moves):
        if moves and moves[0][0] == str(out / "_unfinished" / "draft.json"):
            if when == "after":
                real(*moves)
            raise Stop
        real(*moves)

    monkeypatch.setattr(owned, "move", dying)
    with pytest.raises(Stop):
        run(docs, out, (Searched(), *NEW), replace=True)
    assert any("pyarrow" in one.values for one in LOOKED), "the draft of the manifest is searched"
    assert not any("document 3" in value for one in LOOKED for value in one.values), "what will be replaced is not"
    assert sorted(path.name for path in (out / "_unfinished").glob("*.json")) == sorted(
        ["recipe.json", "draft.json" if when == "before" else "manifest.json"]
    )
    assert texts_of(open_dataset(str(out))) == old
    LOOKED.clear()
    monkeypatch.setattr(owned, "move", real)
    new = run(docs, out, (Searched(), *NEW), replace=True)
    assert bool(LOOKED) == (when == "before")
    assert new.manifest.generation == 2
    assert not (out / "_unfinished").exists()


READER = """
import sys, json, time
import dataprep as dp
from dataprep.errors import CorruptShard, ReadError
from dataprep.core.model.dataset import open_dataset
out, ends, counts = sys.argv[1], time.monotonic() + 300, {}
while time.monotonic() < ends:
    try:
        found = open_dataset(out)
        n = sum(1 for _ in found)
        key = "whole" if n == found.count else "mixed"
    except Exception as e:
        key = f"{type(e).__name__}: {e}"
    counts[key] = counts.get(key, 0) + 1
    print("read", flush=True)
    import os
    if os.path.exists(out + ".stop"):
        break
print(json.dumps(counts))
"""  # a line for each time that it opened the folder


def test_a_reader_in_another_process_never_sees_half_a_result(docs, tmp_path):
    """It opens the folder over and over while the result is replaced again and again."""
    out = tmp_path / "out"
    run(docs, out, OLD)
    command = [sys.executable, "-c", READER, str(out)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as reader:
        try:
            for n in range(6):
                assert reader.stdout.readline() == "read\n"
                run(docs, out, (OLD, NEW)[(n + 1) % 2], replace=True)
        finally:
            (tmp_path / "out.stop").touch()
            counts = json.loads(reader.communicate()[0].splitlines()[-1])
    replaced = {key for key in counts if key.startswith("Replaced: ")}
    assert set(counts) - replaced == {"whole"}
    assert counts["whole"] > 3


def test_what_must_not_stay_is_removed_at_the_commit(docs, tmp_path, caplog):
    """A stage hides it, or documents were forgotten; a run that fails says that the folder still has it."""
    out = tmp_path / "out"
    run(docs, out, OLD)
    with pytest.raises(FunctionFailed):
        run(docs, out, (Hides(), dp.Filter(fails)), replace=True)
    assert "still contains the previous result" in caplog.text
    run(docs, out, (Hides(),), replace=True)
    assert not (out / "_replaced").exists()
    assert not [name for name in os.listdir(out) if name.startswith("origin")]
    other = tmp_path / "other"
    first = run(docs, other, OLD)
    forget(str(other), [int(first.table()["id"][0].as_py())])
    assert not (other / "_replaced").exists()


def test_only_parts_that_changed_are_new_files(tmp_path, monkeypatch):
    """A part whose key is wanted again keeps its file, which is not written a second time."""
    monkeypatch.setattr(parts, "PART_BYTES", 540)
    home = tmp_path / "in"
    home.mkdir()
    for name in "abc":
        (home / f"{name}.jsonl").write_text("".join(json.dumps({"text": f"{name} {n}"}) + "\n" for n in range(30)))
    out = tmp_path / "out"
    first = dp.Pipeline().run(dp.read(str(home)), str(out))
    (home / "b.jsonl").write_text("".join(json.dumps({"text": f"new {n}"}) + "\n" for n in range(30)))
    again = dp.Pipeline().run(dp.read(str(home)), str(out))
    kept = {shard.name for shard in first.manifest.shards} & {shard.name for shard in again.manifest.shards}
    assert 0 < len(kept) < len(first.manifest.shards)
    assert again.manifest.generation == 2
    assert all(".g2." in shard.name for shard in again.manifest.shards if shard.name not in kept)
    fresh = dp.Pipeline().run(dp.read(str(home)), str(tmp_path / "fresh"))
    assert texts_of(again) == texts_of(fresh)
    assert again.key == fresh.key


def test_a_replacement_that_does_not_fit_on_the_disk_is_refused(docs, tmp_path, monkeypatch):
    """Before any work, and the result stays."""
    out = tmp_path / "out"
    old = run(docs, out, OLD)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(10, 9, 1))
    with pytest.raises(PlanError, match="is kept until the new one is complete, which needs about .*, but only"):
        run(docs, out, NEW, replace=True)
    assert texts_of(open_dataset(str(out))) == texts_of(old)


def test_fields_that_are_not_known_break_no_reader(tmp_path):
    """A field more in every record of every state file: all opens, and what is rewritten keeps it."""
    out, home = tmp_path / "out", tmp_path / "in.jsonl"
    home.write_text("".join(json.dumps({"text": text}) + "\n" for text in TEXTS))
    docs = dp.read(str(home))
    first = run(docs, out, NEW)

    def grown(value):
        if isinstance(value, dict):
            return {**{name: grown(one) for name, one in value.items()}, "zz_later": {"x": 1}}
        return [grown(one) for one in value] if isinstance(value, list) else value

    for path in out.rglob("*.json"):
        record = files.read_json(str(path))
        if path.name in ("manifest.json", "recipe.json", "origin.json") or path.parent.name == "receipts":
            keep = {"lost", "stages", "stats", "made_with", "inputs", "fits", "readers"}
            more = {name: one if name in keep else grown(one) for name, one in record.items()}
            files.write_state(str(path), {**more, "zz_later": [1]})
    again = open_dataset(str(out))
    assert texts_of(again) == texts_of(first)
    assert again.manifest.more["zz_later"] == [1]
    assert again.dropped().count == len(first.drops())
    assert dp.tools.verify(str(out)) == {url: [] for url in dp.tools.verify(str(out))}
    assert run(docs, out, NEW).key == first.key
    forget(str(out), [int(first.table()["id"][0].as_py())])
    assert Folder(str(out)).manifest.more["zz_later"] == [1]
    assert open_dataset(str(out)).count == first.count - 1


def test_files_of_others_are_never_moved(docs, tmp_path):
    """One among the files of a result keeps the replacement from beginning; one beside the folder's stays."""
    out = tmp_path / "out"
    run(docs, out, OLD)
    (out / "data" / "mine.txt").write_text("mine")
    with pytest.raises(StaleOutput, match=r"mine\.txt, which dataprep did not write"):
        run(docs, out, NEW, replace=True)
    assert (out / "data" / "mine.txt").read_text() == "mine"
    assert owned.foreign(str(out), ["data"]) == ["data/mine.txt"]
