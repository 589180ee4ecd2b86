"""Content hashes of input: every edit is seen, and no date is."""

import os
import shutil

import pytest

import dataprep as dp
from dataprep.errors import StaleOutput
from dataprep.store import hashes

LINE = b'{"text": "a line of forty-eight bytes, all counted"}\n'
N = 40_000  # 2 MB: well beyond both ends
SPOTS = (0, 12, 1 << 16, (1 << 16) + 11, N // 2 * len(LINE) + 20, N * len(LINE) - (1 << 16) - 30, N * len(LINE) - 9)


@pytest.fixture
def corpus(tmp_path):
    """A file whose hash is known, last changed an hour ago."""
    path = tmp_path / "a.jsonl"
    path.write_bytes(LINE * N)
    aged(path)
    return path


def aged(path, seconds=3600):
    """Set the times of a file to the past."""
    when = os.stat(path).st_mtime - seconds
    os.utime(path, (when, when))


@pytest.mark.parametrize("restored", [True, False])
@pytest.mark.parametrize("spot", SPOTS)
def test_an_edit_of_the_same_size_is_seen(corpus, spot, restored):
    """One byte changed anywhere, its mtime set back too, is another content."""
    before, stat = hashes.fingerprint(str(corpus)), os.stat(corpus)
    with corpus.open("r+b") as f:
        f.seek(spot)
        byte = f.read(1)
        f.seek(spot)
        f.write(b"b" if byte != b"b" else b"c")
    if restored:
        os.utime(corpus, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert hashes.fingerprint(str(corpus)) != before


def test_touching_copying_and_moving_change_nothing(corpus, tmp_path):
    """Final keys contain neither dates nor inodes nor folders: a copy elsewhere is the same input."""
    out = str(tmp_path / "out")
    key = dp.Pipeline().run(dp.read(str(corpus)), out).key
    before = hashes.fingerprint(str(corpus))
    os.utime(corpus)
    assert hashes.fingerprint(str(corpus)) == before
    (tmp_path / "b").mkdir()
    shutil.copy(corpus, tmp_path / "b" / "a.jsonl")
    os.replace(tmp_path / "b" / "a.jsonl", corpus)
    assert hashes.fingerprint(str(corpus)) == before
    assert dp.Pipeline().run(dp.read(str(corpus)), out).key == key


def test_a_name_redacted_in_place_is_another_input(corpus, tmp_path):
    """A rerun over input that was edited in the middle is stale, or made again; it is never served from before."""
    out = str(tmp_path / "out")
    dp.Pipeline().run(dp.read(str(corpus)), out)
    data = bytearray(corpus.read_bytes())
    data[N // 2 * len(LINE) + 10 : N // 2 * len(LINE) + 14] = b"XXXX"
    corpus.write_bytes(bytes(data))
    with pytest.raises(StaleOutput, match="from other input"):
        dp.Pipeline().run(dp.read(str(corpus)), out)
    done = dp.Pipeline().run(dp.read(str(corpus)), out, replace=True)
    assert sum("XXXX" in t for t in done.table()["text"].to_pylist()) == 1


def test_hashes_are_kept_in_the_folder(corpus, tmp_path, monkeypatch):
    """Large input that did not change is not read again, in another process either; no name of a file is kept."""
    monkeypatch.setattr(hashes, "KEPT_BYTES", 1)
    out = tmp_path / "out"
    monkeypatch.setattr(hashes, "YOUNG_NS", -1)
    dp.Pipeline().run(dp.read(str(corpus)), str(out))
    assert b"a.jsonl" not in (out / hashes.NAME).read_bytes()
    monkeypatch.setattr(hashes, "_KNOWN", {})
    monkeypatch.setattr(hashes, "_hash", lambda url: pytest.fail(f"{url} is read again"))
    dp.Pipeline().run(dp.read(str(corpus)), str(out))
    monkeypatch.undo()
    for damage in (b"", b"[]", b'{"a"'):
        (out / hashes.NAME).write_bytes(damage)
        dp.Pipeline().run(dp.read(str(corpus)), str(out))
