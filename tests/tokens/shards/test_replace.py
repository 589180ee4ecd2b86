"""Results of tokens that are replaced: at every instant there is the old or the new one, whole, also after a kill."""

from __future__ import annotations

import os
import shutil

import pytest

import dataprep as dp
import laws
from dataprep.core.run.runner import Serial
from dataprep.errors import Replaced
from dataprep.search.index import SuffixIndex
from dataprep.tokens.shards.shard import Shards

OLD = [f"rain number {i} in the north" for i in range(12)]
NEW = ["other words entirely", *(f"winter number {i}" for i in range(9))]


class Fails(Serial):
    """A runner whose last pass fails after its first task."""

    def map(self, task, items, label=""):
        """Results as usual, until the shards are written."""
        for result in super().map(task, items, label):
            yield result
            if label in ("join", "mix", "SuffixIndex: sort"):
                msg = "the power is gone"
                raise RuntimeError(msg)


def encoded(home, tok, texts, out, **more):
    """Shards of texts."""
    (home / str(len(texts))).mkdir(exist_ok=True)
    docs = laws.dataset_of(home / str(len(texts)), texts, parts=2)
    return dp.encode(docs, tok, out=out, val=0.3, shard_tokens=60, replace=True, **more)


def mixed(home, tok, texts, out, **more):
    """A mixture of the shards of texts."""
    source = encoded(home, tok, texts, home / f"source-{len(texts)}")
    return dp.Mix(temperature=1).write({"all": source}, out, shard_tokens=60, replace=True, **more)


def imported(home, tok, texts, out, runner=None):
    """The same shards by way of nanoGPT's files."""
    plain = home / f"plain-{len(texts)}"
    dp.tools.export(encoded(home, tok, texts, home / f"from-{len(texts)}"), "nanogpt", plain)
    return dp.tools.import_tokens(plain, None, out, shard_tokens=60, replace=True)


def retokenized(home, tok, texts, out, **more):
    """Shards of texts, each time with another tokenizer."""
    return encoded(home, type(tok).from_merges(tok.merges[: len(texts)]), texts, out, **more)


MAKERS = {"encode": encoded, "mix": mixed, "import": imported, "tokenizer": retokenized}


def documents(shards):
    """Every document and where it comes from, and the bytes per id."""
    found = [shards.document(k).tolist() for k in range(len(shards))]
    sources = [shards.docs(n)["id"].to_pylist() for n in range(len(shards.shards))]
    return found, sources, shards.token_bytes.tolist(), shards.tokenizer_file.read_bytes()


@pytest.fixture(params=MAKERS)
def made(request, tok, tmp_path):
    """The function that makes a result; what it makes of the old and the new texts; and a folder with the old one.

    Its attribute `stride` is the distance of the steps at which it is killed, since all take the same steps.
    """

    def make(texts, out, **more):
        return MAKERS[request.param](tmp_path, tok, texts, out, **more)

    old, new = (documents(make(texts, tmp_path / name)) for name, texts in (("old", OLD), ("fresh", NEW)))
    make.stride = 1 if request.param == "encode" else 3
    make(NEW, tmp_path / "fresh")  # so that only the result itself is made in what follows
    return make, old, new, tmp_path / "old"


def test_it_is_the_old_or_the_new_one_after_every_step(made, monkeypatch):
    """After each file that is renamed or removed, the folder opens whole; a reader from before reads on."""
    make, old, new, out = made
    opened, seen, renamed, removed = Shards.open(out), [], os.replace, os.unlink

    def watched(real):
        def step(*paths, **more):
            real(*paths, **more)
            seen.append(documents(Shards.open(out)))

        return step

    monkeypatch.setattr(os, "replace", watched(renamed))
    monkeypatch.setattr(os, "unlink", watched(removed))
    make(NEW, out)
    assert [found for found in seen if found not in (old, new)] == []
    assert seen[0] == old
    assert seen[-1] == new
    assert seen == sorted(seen, key=lambda found: found == new)
    assert documents(opened) == old
    assert all(shard.name.endswith(".g2") for shard in Shards.open(out).shards)


def test_a_kill_at_any_step_leaves_the_old_or_the_new_one(made, tmp_path, monkeypatch):
    """Killed while any file is renamed, the result is whole, and the next run makes what an undisturbed one makes."""
    make, old, new, out = made
    real, at = os.replace, 0
    while True:
        at += make.stride
        place = tmp_path / "s"
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(out, place)
        opened, steps = Shards.open(place), iter(range(1, at))

        def dying(*paths, steps=steps, place=place):
            if str(place) in str(paths[0]) and next(steps, None) is None:
                raise KeyboardInterrupt
            real(*paths)

        monkeypatch.setattr(os, "replace", dying)
        try:
            make(NEW, place)
            break
        except KeyboardInterrupt:
            monkeypatch.setattr(os, "replace", real)
        assert documents(Shards.open(place)) in (old, new)
        assert documents(opened) == old
        make(NEW, place)
        laws.same_shards(place, tmp_path / "fresh")
        assert documents(Shards.open(place)) == new
        assert not (place / "_unfinished").exists()
    assert at > 12


@pytest.mark.parametrize("maker", ["encode", "mix"])
def test_a_failed_replacement_keeps_the_result(tok, tmp_path, maker):
    """If a task fails, the old shards open, and what was made of the new ones is not made again."""
    make = MAKERS[maker]
    old = documents(make(tmp_path, tok, OLD, tmp_path / "s"))
    with pytest.raises(RuntimeError, match="the power is gone"):
        make(tmp_path, tok, NEW, tmp_path / "s", runner=Fails())
    assert documents(Shards.open(tmp_path / "s")) == old
    assert list((tmp_path / "s" / "_unfinished").glob("pieces-*/*.json"))
    make(tmp_path, tok, NEW, tmp_path / "s")
    make(tmp_path, tok, NEW, tmp_path / "fresh")
    laws.same_shards(tmp_path / "s", tmp_path / "fresh")


def test_a_reader_of_shards_that_are_gone_is_told(tok, tmp_path):
    """The replaced files stay until the next run; then a reader that did not map them is told to open them again."""
    encoded(tmp_path, tok, OLD, tmp_path / "s")
    first, second = Shards.open(tmp_path / "s"), Shards.open(tmp_path / "s")
    kept = first.document(0).tolist()
    encoded(tmp_path, tok, NEW, tmp_path / "s")
    assert second.document(0).tolist() == kept
    encoded(tmp_path, tok, NEW, tmp_path / "s")
    assert not (tmp_path / "s" / "_replaced").exists()
    assert first.document(0).tolist() == second.document(0).tolist() == kept  # mapped
    with pytest.raises(Replaced, match="were replaced since they were opened; open them again"):
        first.provenance(0)


def test_nothing_is_written_for_what_is_there(tok, tmp_path, monkeypatch):
    """A finished result is opened without a lease and without a file."""
    shards = encoded(tmp_path, tok, OLD, tmp_path / "s")
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "s").rglob("*")}
    monkeypatch.setattr("dataprep.store.lease.held", None)
    assert encoded(tmp_path, tok, OLD, tmp_path / "s").root == shards.root
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "s").rglob("*")} == before


def test_a_search_index_is_replaced_in_one_step(tmp_path, monkeypatch):
    """After each rename, and killed at any, the index answers as the old or the new one; a failed build keeps it."""
    pytest.importorskip("pydivsufsort")
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    old, new = laws.dataset_of(tmp_path / "a", OLD, parts=2), laws.dataset_of(tmp_path / "b", NEW, parts=2)
    real, at, out = os.replace, 0, tmp_path / "index"

    def answers(index):
        return index.count("number"), index.count("rain"), index.count("winter"), len(index.find("number", None))

    while True:
        at += 1
        shutil.rmtree(out, ignore_errors=True)
        opened = SuffixIndex.build(old, str(out))
        steps = iter(range(1, at))

        def dying(*paths, steps=steps):
            if next(steps, None) is None:
                raise KeyboardInterrupt
            real(*paths)
            assert answers(SuffixIndex.open(str(out))) in ((12, 12, 0, 12), (9, 0, 9, 9))

        monkeypatch.setattr(os, "replace", dying)
        try:
            SuffixIndex.build(new, str(out), replace=True)
            break
        except KeyboardInterrupt:
            monkeypatch.setattr(os, "replace", real)
        assert answers(SuffixIndex.open(str(out))) in ((12, 12, 0, 12), (9, 0, 9, 9))
        assert answers(opened) == (12, 12, 0, 12)
        assert answers(SuffixIndex.build(new, str(out), replace=True)) == (9, 0, 9, 9)
        assert not (out / "_unfinished").exists()
    assert at > 12
    monkeypatch.setattr(os, "replace", real)
    with pytest.raises(RuntimeError, match="the power is gone"):
        SuffixIndex.build(old, str(out), Fails(), replace=True)
    assert answers(SuffixIndex.open(str(out))) == (9, 0, 9, 9)
    assert answers(SuffixIndex.build(old, str(out), replace=True)) == (12, 12, 0, 12)
