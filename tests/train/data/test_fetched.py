"""Shards at a URL in training: the rows and losses of local shards, from a cache of bounded size."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("torch")

from dataprep.errors import CorruptShard, PlanError
from dataprep.store import files
from dataprep.store.ranges import RemoteArray
from dataprep.tokens.shards.shard import Shards
from dataprep.train import train
from dataprep.train.data import fetched, layouts
from runs import assert_same_run

BLOCK = 128
URL = "memory://shards-for-training"


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """The folder of a cache of its own, with small blocks."""
    monkeypatch.setenv("DATAPREP_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(fetched, "BLOCK", BLOCK)
    return tmp_path / "cache" / "shards"


@pytest.fixture
def asked(monkeypatch):
    """The ranges of bytes that were requested."""
    every: list[tuple[str, int, int]] = []
    real = RemoteArray.bytes

    def counted(self, start, stop):
        every.append((self.url.rpartition("/")[2], start, stop))
        return real(self, start, stop)

    monkeypatch.setattr(RemoteArray, "bytes", counted)
    return every


def test_losses_are_those_of_a_folder(make_shards, config, tmp_path, monkeypatch):
    """Weights and losses are equal bit for bit, with everything kept on disk and with nothing."""
    config = replace(config, layout="bestfit", steps=2, save_every=2, eval_every=1)
    wanted = {"n": 60, "masked": 1}
    train(make_shards(tmp_path / "shards", **wanted), out=tmp_path / "local", config=config, quiet=True)
    make_shards(URL, **wanted)
    for gigabytes in ("", "0"):
        monkeypatch.setenv("DATAPREP_CACHE_GB", gigabytes)
        train(URL, out=tmp_path / f"url{gigabytes}", config=config, quiet=True)
        assert_same_run(tmp_path / "local", tmp_path / f"url{gigabytes}")


def test_rows_before_everything_is_fetched(make_shards, asked, cache):
    """A row fetches the blocks that it is in, once; the whole file is compared when its last block is there."""
    local, there = make_shards(cache.parent / "local", n=60), make_shards(URL, n=60)
    expected = layouts.layout_of(local.split("train"), "contiguous", 24)
    rows = layouts.layout_of(there.split("train"), "contiguous", 24)
    numbers = np.array([7, 31])
    assert rows.rows(numbers).tokens.tolist() == expected.rows(numbers).tokens.tolist()
    assert {stop - start for _, start, stop in asked} == {BLOCK}
    assert len(asked) <= 4
    before = list(asked)
    rows.rows(numbers)
    assert asked == before, "from the disk"
    every = np.random.default_rng(1).permutation(len(rows))
    assert rows.rows(every).tokens.tolist() == expected.rows(every).tokens.tolist()
    sizes = [s.tokens * 2 for s in there.split("train").shards]
    assert len(asked) == len(set(asked)) == sum(-(-size // BLOCK) for size in sizes)
    again = layouts.layout_of(Shards.open(URL).split("train"), "contiguous", 24)
    assert again.rows(every).tokens.tolist() == expected.rows(every).tokens.tolist()
    assert len(asked) == len(set(asked)), "another process finds them on the disk"


def test_damage(make_shards, asked, cache):
    """A block that is damaged on the disk is fetched again; other content than the manifest's is an error."""
    there = make_shards(URL, n=60).split("train")
    layouts.layout_of(there, "contiguous", 24).rows(np.arange(30))
    before = len(asked)
    path = next(cache.glob("*/train-00000.bin"))
    data = bytearray(path.read_bytes())
    data[5] ^= 1
    path.write_bytes(data)
    rows = layouts.layout_of(there, "contiguous", 24).rows(np.arange(30))
    assert asked[before:] == [("train-00000.bin", 0, BLOCK)]
    assert rows.tokens[0].tolist() == there.memmaps()[0][:25].tolist()
    name = f"{URL}/train-00001.bin"
    files.write_bytes(name, b"\0\0" + np.asarray(there.memmaps()[1])[1:].tobytes())
    with pytest.raises(CorruptShard, match="train-00001.bin: its content has changed"):
        layouts.layout_of(there, "contiguous", 24).rows(np.arange(there.n_tokens // 24))


def test_the_cache_is_bounded(make_shards, cache, monkeypatch):
    """There are never more bytes than allowed; unused shards make room, used ones do not."""

    def opened(name, seed):
        shards = make_shards(f"{URL}/{name}", n=90, seed=seed).split("train")
        return fetched.opened(shards, shards.memmaps(), "bin")

    def total():
        return sum(path.stat().st_size for path in cache.rglob("train-*"))

    first = opened("a", 1)
    one = total()
    assert [type(source) for source in first] == [fetched.Kept] * len(first)
    assert len(first) > 2
    monkeypatch.setenv("DATAPREP_CACHE_GB", str(one / 1e9))
    second = opened("b", 2)
    assert {type(source) for source in second} == {fetched.Passing}, "the first shards are in use"
    assert total() == one
    del first, second
    second = opened("b", 2)
    assert fetched.Kept in {type(source) for source in second}
    assert 0 < total() <= one
    del second
    monkeypatch.setenv("DATAPREP_CACHE_GB", str(one * 0.6 / 1e9))
    third = opened("c", 3)
    assert {type(source) for source in third} == {fetched.Kept, fetched.Passing}, "as many as there is space for"
    assert 0 < total() <= one * 0.6
    assert b"".join(fetched.read(third, [np.arange(2), np.zeros(2, np.int64), np.full(2, 4)]))


def test_wrong_limit(make_shards, monkeypatch):
    """A limit that is not a number is an error before anything is fetched."""
    monkeypatch.setenv("DATAPREP_CACHE_GB", "much")
    shards = make_shards(URL, n=30).split("train")
    with pytest.raises(PlanError, match="DATAPREP_CACHE_GB='much' must be a number of gigabytes"):
        layouts.layout_of(shards, "contiguous", 24)


def test_without_a_place_for_a_cache(make_shards, tmp_path, monkeypatch):
    """If the folder of the cache cannot be written, the bytes of each row are requested."""
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("DATAPREP_CACHE", str(tmp_path / "file"))
    shards = make_shards(URL, n=30).split("train")
    rows = layouts.layout_of(shards, "contiguous", 24)
    assert rows.rows(np.arange(2)).tokens[0].tolist() == shards.memmaps()[0][:25].tolist()
    assert not (tmp_path / "cache").exists()
