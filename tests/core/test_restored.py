"""Restored files: a run continues without replace=True if only files changed that it had not read."""

from __future__ import annotations

import gzip

import pytest

import dataprep as dp
import stated
from dataprep.core.output.commit import Output, Wanted
from dataprep.core.output.layout import Folder
from dataprep.core.output.state import DATASET, Recipe
from dataprep.errors import ReadError, StaleOutput
from dataprep.read import parts
from dataprep.store import files
from laws import same_result

LINES = "".join(f'{{"text": "document {i} {i * 7919 % 10007}"}}\n' for i in range(2_000)).encode()
WHOLE = gzip.compress(LINES)


@pytest.fixture(params=["cut", "empty"])
def folder(request, tmp_path, monkeypatch):
    """Three files, each a part of its own; the one in the middle is cut or empty."""
    monkeypatch.setattr(parts, "PART_BYTES", 1)
    home = tmp_path / "in"
    home.mkdir()
    for name in "abc":
        (home / f"{name}.jsonl.gz").write_bytes(WHOLE)
    (home / "b.jsonl.gz").write_bytes(WHOLE[: len(WHOLE) // 2] if request.param == "cut" else b"")
    return home


def keep(text):
    """Keep documents that have a text."""
    return bool(text)


def read(home):
    """Read all files, skipping bad ones."""
    return dp.read(str(home), on_bad_file="skip")


@pytest.mark.parametrize(
    "stages", [(), (dp.C4(),), (dp.Filter(keep), dp.Exact())], ids=["copy", "C4", "Exact"]
)
def test_a_restored_file_is_read(folder, tmp_path, stages) -> None:
    """The rerun gives what a first run of the intact files gives, and its table has no row left; old files go next."""
    out = str(tmp_path / "out")
    assert len(dp.Pipeline(*stages).run(read(folder), out=out).unread()) == 1
    (folder / "b.jsonl.gz").write_bytes(WHOLE)
    again = dp.Pipeline(*stages).run(read(folder), out=out)
    fresh = dp.Pipeline(*stages).run(read(folder), out=str(tmp_path / "fresh"))
    assert again.table().equals(fresh.table())
    assert again.drops().equals(fresh.drops())
    assert len(again.unread()) == 0
    assert not list((tmp_path / "out").glob("unread*.parquet"))
    same_result(tmp_path / "out", tmp_path / "fresh")
    for saved in (tmp_path / "fresh").glob("steps/*/input"):  # the steps before stay: keys in them are used again
        same_result(tmp_path / "out" / saved.relative_to(tmp_path / "fresh"), saved)
    dp.Pipeline(*stages).run(read(folder), out=out)
    assert sorted(p.name for p in (tmp_path / "out").iterdir() if p.name.startswith("_")) == []


def test_only_its_part_is_made_again(folder, tmp_path) -> None:
    """The shards of the other parts are not written a second time; the old one is beside the new result."""
    out = tmp_path / "out"
    dp.Pipeline().run(read(folder), out=str(out))
    before = {path.name: path.stat().st_ino for path in (out / "data").iterdir()}
    (folder / "b.jsonl.gz").write_bytes(WHOLE)
    dp.Pipeline().run(read(folder), out=str(out))
    after = {path.name: path.stat().st_ino for path in (out / "data").iterdir()}
    assert dict(after.items() - before.items()).keys() == {"part-00001-000.g2.parquet"}
    assert dict(before.items() - after.items()).keys() == {"part-00001-000.parquet"}
    assert (out / "_replaced" / "data" / "part-00001-000.parquet").stat().st_ino == before["part-00001-000.parquet"]


@pytest.mark.parametrize("gone", ["deleted", "a folder"])
def test_a_file_that_is_gone_after_it_was_listed(tmp_path, monkeypatch, gone) -> None:
    """A file that vanishes between dp.read and run is a row; when it is back, only its part is made again."""
    monkeypatch.setattr(parts, "PART_BYTES", 1)
    home, out = tmp_path / "in", tmp_path / "out"
    home.mkdir()
    for name in "abc":
        (home / f"{name}.jsonl.gz").write_bytes(WHOLE)
    docs, strict, lost = read(home), dp.read(str(home)), home / "b.jsonl.gz"
    lost.unlink()
    if gone == "a folder":
        lost.mkdir()
    with pytest.raises(ReadError, match=r"b\.jsonl\.gz"):
        dp.Pipeline().run(strict, out=str(out))
    done = dp.Pipeline().run(docs, out=str(out))
    assert [(row["file"], row["reason"]) for row in done.unread().to_pylist()] == [(str(lost), "unreadable")]
    assert done.count == 4_000
    if gone == "a folder":
        lost.rmdir()
    lost.write_bytes(WHOLE)
    before = {path.name: path.stat().st_ino for path in (out / "data").iterdir()}
    again = dp.Pipeline().run(read(home), out=str(out))
    after = {path.name: path.stat().st_ino for path in (out / "data").iterdir()}
    assert (again.count, len(again.unread())) == (6_000, 0)
    assert dict(after.items() - before.items()).keys() == {"part-00001-000.g2.parquet"}
    assert dict(before.items() - after.items()).keys() == {"part-00001-000.parquet"}


def test_another_change_is_stale(folder, tmp_path) -> None:
    """Another recipe and another set of files still need replace=True."""
    out = str(tmp_path / "out")
    dp.Pipeline(dp.Exact()).run(read(folder), out=out)
    (folder / "b.jsonl.gz").write_bytes(WHOLE)
    with pytest.raises(StaleOutput):
        dp.Pipeline(dp.Exact(), dp.C4()).run(read(folder), out=out)
    (folder / "d.jsonl.gz").write_bytes(WHOLE)
    with pytest.raises(StaleOutput):
        dp.Pipeline(dp.Exact()).run(read(folder), out=out)


def test_a_stopped_run_continues(tmp_path, monkeypatch) -> None:
    """A run that stopped at a bad file continues once the file is repaired, or once bad files are skipped."""
    monkeypatch.setattr(parts, "PART_BYTES", 1)
    for name in "ab":
        (tmp_path / f"{name}.jsonl.gz").write_bytes(WHOLE)
    (tmp_path / "b.jsonl.gz").write_bytes(WHOLE[:-100])
    given = str(tmp_path / "*.gz")
    for repaired in (False, True):
        out = tmp_path / f"out-{repaired}"
        with pytest.raises(ReadError, match="on_bad_file"):
            dp.Pipeline().run(dp.read(given), out=str(out))
        first = (out / "_unfinished" / "data" / "part-00000-000.parquet").stat().st_ino
        if repaired:
            (tmp_path / "b.jsonl.gz").write_bytes(WHOLE)
        done = dp.Pipeline().run(dp.read(given) if repaired else dp.read(given, on_bad_file="skip"), out=str(out))
        assert (out / "data" / "part-00000-000.parquet").stat().st_ino == first
        assert (done.count == 4_000) is repaired
        assert len(done.unread()) == (not repaired)


def test_a_result_is_that_of_its_recipe(tmp_path) -> None:
    """Of the same input, the same stages and the same forgotten documents; whole."""
    out = str(tmp_path / "out")

    def found(**of):
        wanted = Wanted(recipe=Recipe(kind=DATASET, **of))
        with Output(out, lambda url: Folder(url).sealed).begin(wanted, replace=True) as work:
            return work.result

    recipe = {"key": "k", "forgotten": "f"}
    assert found(**recipe) is None
    files.write_json(f"{out}/recipe.json", recipe | {"kind": DATASET})
    assert found(**recipe) is None
    stated.written(out, **recipe)
    assert found(**recipe) == Folder(out).manifest
    for other in ({"key": "k"}, {"key": "l", "forgotten": "f"}, {"key": "k", "forgotten": "g"}):
        assert found(**other) is None
    assert found(**recipe) == Folder(out).manifest  # none of them was committed
