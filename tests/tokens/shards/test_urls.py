"""Token shards at a URL: the bytes of local shards, whole or not at all."""

from __future__ import annotations

import os
from dataclasses import dataclass

import fsspec
import numpy as np
import pytest

import dataprep as dp
import laws
from dataprep.errors import CorruptShard, PlanError, Replaced
from dataprep.store import files
from dataprep.store.ranges import RemoteArray
from dataprep.tokens.shards.export import export
from dataprep.tokens.shards.import_tokens import import_tokens
from dataprep.tokens.shards.verify import STOPPED, verify_shards
from dataprep.tokens.vocabulary.special import EOT

WORDS = ["the", "rain", "أمطار", "बारिश", "雨", "🌧️", "\n", EOT]
ROWS = [" ".join(WORDS[(i * k) % len(WORDS)] for k in range(i % 9)) for i in range(60)]
WANTED = {"val": 0.2, "shard_tokens": 400}
URL = "memory://token-shards-at-a-url/out"
TOK = dp.Tokenizer.of_bytes()


@dataclass(frozen=True)
class Dies:
    """A Runner that is killed before item number `at` of the pass `label`."""

    label: str
    at: int = 1
    workers = 1
    memory = None

    def map(self, task, items, label=""):
        """Serial, until it dies."""
        for i, item in enumerate(items):
            if (label, i) == (self.label, self.at):
                raise KeyboardInterrupt
            yield task(item)


@pytest.fixture
def docs(tmp_path):
    """A corpus in three parts, in several scripts, with empty texts."""
    return laws.dataset_of(tmp_path, ROWS, parts=3)


def contents(home):
    """The bytes of each file of a folder by name; the lists of input files have paths of this machine."""
    home = str(home)
    fs, path = fsspec.core.url_to_fs(home)
    found = {name[len(path) :].lstrip("/"): fs.cat_file(name) for name in fs.find(path)}
    return {name: data for name, data in found.items() if not name.startswith((".", "origin"))}


def same(url, folder):
    """Two folders hold the same names and bytes."""
    assert contents(url) == contents(folder)


@pytest.mark.parametrize("killed", ["encode", "join"])
def test_encode_writes_the_bytes_of_a_folder(docs, tmp_path, killed):
    """A killed run leaves no shards and is resumed; what is read from the URL is what is read from the folder."""
    local = dp.encode(docs, TOK, tmp_path / "s", **WANTED)
    with pytest.raises(KeyboardInterrupt):
        dp.encode(docs, TOK, URL, runner=Dies(killed), **WANTED)
    with pytest.raises(PlanError, match="has no manifest"):
        dp.Shards.open(URL)
    there = dp.encode(docs, TOK, URL, **WANTED)
    same(URL, tmp_path / "s")
    assert len(local.shards) > 3
    assert (there.path, there.root, len(there)) == (URL, local.root, len(local))
    for k in (0, 7, -1):
        assert there.document(k).tolist() == local.document(k).tolist()
        assert there.provenance(k) == local.provenance(k)
    assert there.token_bytes.tolist() == local.token_bytes.tolist()
    assert there.column("id") == local.column("id")
    assert verify_shards(URL) == []


def test_a_failed_run_leaves_the_old_shards(docs):
    """Until new shards are complete, the old ones can be read; then a reader is told that they were replaced."""
    old = dp.encode(docs, TOK, URL, **WANTED)
    before = contents(URL)
    with pytest.raises(KeyboardInterrupt):
        dp.encode(docs, TOK, URL, replace=True, runner=Dies("join"), val=0.4, shard_tokens=400)
    assert before.items() <= contents(URL).items()
    assert dp.Shards.open(URL).root == old.root
    assert {problem.do for problem in verify_shards(URL)} == {STOPPED}, "an object store cannot rename new files"
    new = dp.encode(docs, TOK, URL, replace=True, val=0.4, shard_tokens=400)
    assert new.root != old.root
    assert not any(name.startswith("_") for name in contents(URL))
    for reads in (lambda: old.document(3), lambda: old.docs(0), lambda: old.memmaps()[1][:9]):
        with pytest.raises(Replaced, match="replaced"):
            reads()


def test_damage_is_found(docs):
    """A file of another size is refused at opening; changed bytes are listed by `verify`."""
    shards = dp.encode(docs, TOK, URL, **WANTED)
    fs, name = fsspec.filesystem("memory"), f"{URL}/train-00001.bin"
    data = fs.cat_file(name)
    fs.pipe_file(name, data[:-2])
    with pytest.raises(CorruptShard, match="train-00001.bin: it has"):
        dp.Shards.open(URL)
    with pytest.raises(CorruptShard, match="its content has changed"):
        shards.memmaps()[1][:]
    fs.pipe_file(name, data[:-2] + b"\0\0")
    assert "train-00001.bin" in {problem.file for problem in verify_shards(URL)}
    fs.rm(name)
    assert {problem.file for problem in verify_shards(URL)} == {"train-00001.bin"}


def test_results_made_from_shards(docs, tmp_path):
    """A mixture, an import, an export and the removal of documents have the bytes that they have in folders."""
    roots = {}
    for home in (str(tmp_path), "memory://results-made-from-shards"):
        shards = dp.encode(docs, TOK, f"{home}/s", **WANTED)
        mixed = dp.Mix({"all": 1.0}).write({"all": shards}, f"{home}/mix", 3000, shard_tokens=1000)
        exported = export(shards, "nanogpt", str(tmp_path / f"bins-{len(roots)}"))
        imported = import_tokens(os.path.dirname(exported[0]), None, f"{home}/bins")
        dp.tools.forget(f"{home}/s", ids=[int(shards.provenance(5).id)])
        left = dp.Shards.open(f"{home}/s")
        assert verify_shards(mixed.path) == verify_shards(left.path) == []
        plan = files.read_json(f"{home}/mix/mixture.lock.json")
        roots[home] = [mixed.root, imported.root, left.root, len(left), plan]
    assert roots[str(tmp_path)] == roots[home]
    with pytest.raises(PlanError, match="is not a local folder"):
        export(shards, "nanogpt", URL)


def test_numbers_at_a_url():
    """An array at a URL has the items of the array in memory, for slices and for indexes in any order."""
    numbers = np.random.default_rng(1).integers(0, 1 << 16, 3000).astype("<u2")
    files.write_bytes("memory://numbers-at-a-url/a.bin", numbers.tobytes())
    there = RemoteArray("memory://numbers-at-a-url/a.bin", numbers.dtype, len(numbers))
    for at in (slice(3, 9), slice(None), slice(-5, None), slice(7, 7), slice(9, 3), slice(0, 50, 7), slice(9, 2, -1)):
        assert there[at].tolist() == numbers[at].tolist()
    for at in ([5, 4, 4, 2999], [10, 11, 12, 14], [2, 2, 900, 901, 1800, 0], []):
        assert there[np.array(at, np.int64)].tolist() == numbers[np.array(at, np.int64)].tolist()
    assert np.asarray(there).tolist() == numbers.tolist()
