"""Content hashes of input: every edit is seen, and no date is."""

import os
import shutil
from types import SimpleNamespace

import pytest
import xxhash

import dataprep as dp
from dataprep.errors import ReadError
from dataprep.store import files, hashes, remote

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
    """A result of input that was edited in the middle is made again; it is never served from before."""
    out = str(tmp_path / "out")
    dp.Pipeline().run(dp.read(str(corpus)), out)
    data = bytearray(corpus.read_bytes())
    data[N // 2 * len(LINE) + 10 : N // 2 * len(LINE) + 14] = b"XXXX"
    corpus.write_bytes(bytes(data))
    done = dp.Pipeline().run(dp.read(str(corpus)), out)
    assert sum("XXXX" in t for t in done.table()["text"].to_pylist()) == 1


def test_hashes_are_kept_in_the_folder(corpus, tmp_path, monkeypatch):
    """Large input that did not change is not read again, in another process either; no name of a file is kept."""
    monkeypatch.setattr(hashes, "KEPT_BYTES", 1)
    out = tmp_path / "out"
    monkeypatch.setattr(hashes, "YOUNG_NS", -1)
    dp.Pipeline().run(dp.read(str(corpus)), str(out))
    assert b"a.jsonl" not in (out / hashes.NAME).read_bytes()
    monkeypatch.setattr(hashes, "_hash", lambda url: pytest.fail(f"{url} is read again"))
    dp.Pipeline().run(dp.read(str(corpus)), str(out))
    monkeypatch.undo()
    for damage in (b"", b"[]", b'{"a"'):
        (out / hashes.NAME).write_bytes(damage)
        dp.Pipeline().run(dp.read(str(corpus)), str(out))


@pytest.mark.parametrize("size", [0, 1, 999, 1_000, 1_001, 1_999, 2_000, 2_001, 5_000])
def test_both_ends_of_a_file_are_seen(tmp_path, monkeypatch, size):
    """An edit of any of the first and last bytes changes the hash of the ends, one between them does not."""
    monkeypatch.setattr(hashes, "ENDS", 1_000)
    place = tmp_path / "a.bin"
    data = bytearray(range(256)) * 20
    place.write_bytes(data[:size])
    before = hashes.ends(str(place))
    for at in {0, 1, 998, 999, 1_000, 1_001, size // 2, size - 1_001, size - 1_000, size - 2, size - 1}:
        if 0 <= at < size:
            edited = bytearray(data[:size])
            edited[at] ^= 1
            place.write_bytes(edited)
            assert (hashes.ends(str(place)) != before) is (at < 1_000 or at >= size - 1_000), at
    place.write_bytes(data[: size + 1])
    assert hashes.ends(str(place)) != before
    place.write_bytes(data[:size])
    assert hashes.ends(str(place)) == before
    assert hashes.ends(str(place.rename(tmp_path / "b.bin"))) != before


@pytest.mark.parametrize("size", [0, 1, 63, 64, 65, 130])
def test_every_byte_of_a_file_counts(tmp_path, monkeypatch, size):
    """Wherever blocks begin and end."""
    monkeypatch.setattr(hashes, "BLOCK", 64)
    place = tmp_path / "a.bin"
    found = set()
    for at in range(-1, size):
        place.write_bytes(bytes(k == at for k in range(size)))
        found.add(hashes.fingerprint(str(place)))
    assert len(found) == size + 1


@pytest.mark.parametrize("name", ["ETag", "etag", "md5Hash", "content_md5"])
@pytest.mark.parametrize(("store", "counts"), [("s3", True), ("gs", True), ("http", False)])
def test_the_sum_that_a_store_states_counts(tmp_path, monkeypatch, store, counts, name):
    """An object of which only the middle changed is another one, since its checksum is."""
    place = tmp_path / "a.jsonl"
    stated = {}

    class Store:
        """Stands in for an object store."""

        def info(self, path):
            """What it states."""
            return stated

        def size(self, path):
            """The size."""
            return place.stat().st_size

        def open(self, path, mode):
            """The bytes."""
            return place.open(mode)

    monkeypatch.setattr(remote, "fs_of", lambda url: (Store(), url))
    place.write_bytes(bytes(300_000))
    url = f"{store}://bucket/a.jsonl"
    stated[name] = "one"
    before = hashes.fingerprint(url)
    assert hashes.fingerprint(url) == before
    stated[name] = "two"
    assert (hashes.fingerprint(url) != before) is counts


def test_a_missing_file_is_an_error_and_is_not_kept(tmp_path):
    """Neither in memory nor in the folder; the hashes of others are written."""
    with pytest.raises(ReadError):
        hashes.fingerprint(str(tmp_path / "none"))
    (tmp_path / "out").mkdir()
    hashes.Hashes().save(str(tmp_path / "out"), [str(tmp_path / "none"), "memory://a"])
    assert list((tmp_path / "out").iterdir()) == []
    assert hashes.fingerprints([], hashes.fingerprint) == {}


def test_ends_of_remote_files_are_64_kilobytes():
    """Each; what lies between is not read."""
    data = bytearray(1 << 18)
    url = "memory://ends-of-remote-files.bin"
    files.write_bytes(url, bytes(data))
    before = hashes.fingerprint(url)
    for at, seen in ((0, True), ((1 << 16) - 1, True), (1 << 16, False), (3 << 16, True), ((3 << 16) - 1, False)):
        edited = bytearray(data)
        edited[at] = 1
        files.write_bytes(url, bytes(edited))
        assert (hashes.fingerprint(url) != before) is seen, at
    files.remove(url)


def test_the_state_of_a_file_is_all_that_is_stated(tmp_path, monkeypatch):
    """Size, times, inode and device each; a file is young for two seconds after its last change of either time."""
    stated = {"st_size": 5, "st_mtime_ns": 10**18, "st_ctime_ns": 10**18 + 1, "st_ino": 7, "st_dev": 8}
    monkeypatch.setattr(hashes.os, "stat", lambda _: SimpleNamespace(**stated))
    monkeypatch.setattr(hashes.time, "time_ns", lambda: 10**18 + 1 + 2 * 10**9)
    url = "/a/b"
    states = [hashes._state(url), hashes._state("/a/c")]
    for name, value in tuple(stated.items()):
        monkeypatch.setitem(stated, name, value + 1)
        states.append(hashes._state(url))
        monkeypatch.setitem(stated, name, value)
    assert len({state for state, _ in states}) == 7
    assert [young for _, young in states] == [False, False, False, False, True, False, False]
    monkeypatch.setitem(stated, "st_mtime_ns", 10**18 + 2)
    assert hashes._state(url)[1]


def test_hashes_are_written_once(corpus, tmp_path, monkeypatch):
    """If there are any; the same ones are not written again."""
    monkeypatch.setattr(hashes, "KEPT_BYTES", len(LINE) * N)
    monkeypatch.setattr(hashes, "YOUNG_NS", -1)
    out = tmp_path / "out"
    out.mkdir()
    known = hashes.Hashes()
    known.save(str(out), [str(corpus)])
    assert list(out.iterdir()) == []
    known.fingerprint(str(corpus))
    known.save(str(out), [str(corpus)])
    written = files.read_json(str(out / hashes.NAME))
    assert list(written.values()) == [hashes.fingerprint(str(corpus))]
    aged(out / hashes.NAME)
    before = os.stat(out / hashes.NAME).st_mtime
    known.save(str(out), [str(corpus)])
    assert os.stat(out / hashes.NAME).st_mtime == before
    monkeypatch.setattr(hashes, "KEPT_BYTES", len(LINE) * N + 1)
    (out / hashes.NAME).unlink()
    known.save(str(out), [str(corpus)])
    assert list(out.iterdir()) == []
    before, right = dict(known.known), ("a" * 64, "sha256:" + "b" * 64)
    wrong = {"c" * 64: None, "d" * 64: "", "e": "f" * 32, "f" * 64: {"x": [1]}}
    for damage in ("", "[]", "{}", "[[["):
        (out / hashes.NAME).write_text(damage)
        known.load(str(out))
        assert known.known == before
    files.write_state(str(out / hashes.NAME), {right[0]: right[1], **wrong})
    known.load(str(out))
    assert known.known == before | dict([right])  # what cannot be read is computed again
    files.write_json(str(out / hashes.NAME), {"b" * 64: right[1]})  # without a checksum
    known.load(str(out))
    assert known.known == before | dict([right])


@pytest.mark.parametrize("size", [0, 5, hashes.BLOCK, 2 * hashes.BLOCK + 1])
def test_a_fingerprint_is_that_of_name_size_and_bytes(tmp_path, size):
    """As it is stated in the receipts of earlier runs."""
    data = bytes(range(256)) * (size // 256 + 1)
    (tmp_path / "a\u00e9.bin").write_bytes(data[:size])
    expected = xxhash.xxh3_128_hexdigest(f"a\u00e9.bin\0{size}\0".encode() + data[:size])
    assert hashes.fingerprint(str(tmp_path / "a\u00e9.bin")) == expected


def test_a_file_is_read_once_for_a_dataset_and_all_that_are_made_of_it(corpus, tmp_path, monkeypatch):
    """By three pipelines, too; it is read again for another Dataset, and if it was changed just now."""
    read, usual = [], hashes._hash
    monkeypatch.setattr(hashes, "_hash", lambda url: read.append(url) or usual(url))
    monkeypatch.setattr(hashes, "YOUNG_NS", -1)
    docs = dp.read(str(corpus))
    for name in "abc":
        dp.Pipeline(dp.Exact()).run(docs.then(dp.C4()), str(tmp_path / name))
    assert read == [str(corpus)]
    assert dp.read(str(corpus)).key == docs.key
    assert len(read) == 2
    with corpus.open("ab") as f:
        f.write(LINE)
    assert docs.hashes.fingerprint(str(corpus)) != docs.fingerprints[str(corpus)]
    monkeypatch.setattr(hashes, "YOUNG_NS", 10**12)
    for n in (4, 5):
        docs.hashes.fingerprint(str(corpus))
        assert len(read) == n
