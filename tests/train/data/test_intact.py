import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from dataprep.errors import CorruptShard  # noqa: E402
from dataprep.store import hashes  # noqa: E402
from dataprep.tokens.shards.shard import Shards  # noqa: E402
from dataprep.train import train  # noqa: E402
from dataprep.train.data import intact  # noqa: E402


def flip(path, place):
    """Change a bit of a file; its size and mtime stay."""
    before, data = path.stat(), bytearray(path.read_bytes())
    data[place] ^= 1
    path.write_bytes(data)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


@pytest.mark.parametrize("name", ["train-00001.bin", "val-00000.bin", "train-00000.idx", "train-00002.msk"])
def test_a_flipped_bit_is_found_before_training(make_shards, config, tmp_path, name):
    """In tokens, document ends and masks of both splits: a sentence with the file and the command, and no work."""
    shards = make_shards(tmp_path / "s", masked=True)
    flip(shards.path / name, 64)
    says = rf"{name}: its content has changed .*`dataprep verify .*{tmp_path.name}/s` lists"
    with pytest.raises(CorruptShard, match=says):
        train(shards.path, out=tmp_path / "run", config=config, quiet=True)
    assert not (tmp_path / "run").exists()


def test_files_are_read_again_only_if_they_changed(make_shards, config, tmp_path, monkeypatch):
    """A second start hashes no large file; one that changed, or that was touched, is hashed again."""
    shards, out = make_shards(tmp_path / "s"), tmp_path / "run"
    hashed: list[str] = []
    monkeypatch.setattr(hashes, "KEPT_BYTES", 1)
    monkeypatch.setattr(hashes, "YOUNG_NS", 0)
    real = intact._hash

    def hash_of(path):
        hashed.append(Path(path).name)
        return real(path)

    monkeypatch.setattr(intact, "_hash", hash_of)
    intact.check_intact({"": shards}, out)
    files = sorted(path.name for path in shards.path.iterdir() if path.suffix in (".bin", ".idx"))
    assert sorted(hashed) == files
    hashed.clear()
    intact.check_intact({"": shards}, out)
    assert hashed == []
    flip(shards.path / files[0], 0)  # the mtime is as it was, the ctime is not
    with pytest.raises(CorruptShard, match=files[0]):
        intact.check_intact({"": shards}, out)
    flip(shards.path / files[0], 0)
    whole = json.loads((out / hashes.NAME).read_text())
    assert whole.pop("checksum")  # as that of a Dataset
    for damage in (b"[", b"{}", json.dumps(whole).encode(), b'{"a": null}'):
        (out / hashes.NAME).write_bytes(damage)  # a damaged store is no store
        hashed.clear()
        intact.check_intact({"": shards}, out)
        assert sorted(hashed) == files
        hashed.clear()
        intact.check_intact({"": shards}, out)
        assert hashed == []


def test_a_file_that_changed_just_now_is_not_remembered(make_shards, tmp_path, monkeypatch):
    """Its next change might leave the same times."""
    shards = make_shards(tmp_path / "s")
    monkeypatch.setattr(hashes, "KEPT_BYTES", 1)
    monkeypatch.setattr(hashes, "YOUNG_NS", 10**13)
    intact.check_intact({"": shards}, tmp_path / "run")
    assert not (tmp_path / "run" / hashes.NAME).exists()


def test_shards_without_hashes_are_trained_on(make_shards, tmp_path):
    """A manifest of another program may state none."""
    shards = make_shards(tmp_path / "s")
    entries = tuple(replace(entry, hash=None) for entry in shards.manifest.shards)
    shards = Shards(shards.path, replace(shards.manifest, shards=entries))
    flip(shards.path / "train-00000.bin", 0)
    intact.check_intact({"": shards}, tmp_path / "run")
