"""Files appear whole or not at all; receipts decide what is done again."""

import gzip
import io
import lzma
import os
import resource
import types
from datetime import datetime, timezone

import pyarrow as pa
import pyarrow.compute as pc
import pytest
import xxhash
import zstandard
from hypothesis import given
from hypothesis import strategies as st

import dataprep as dp
from dataprep.core.output.layout import Folder
from dataprep.errors import DataprepError, PlanError, ReadError
from dataprep.read.survey import survey
from dataprep.store import atomic, files, hashes, receipts, remote
from dataprep.store.atomic import sweep_attempts

TEXT = b"the quick brown fox jumps over the lazy dog\n" * 4000
PACK = {".gz": gzip.compress, ".zst": zstandard.ZstdCompressor().compress, ".xz": lzma.compress, "": bytes}


@pytest.mark.parametrize("suffix", PACK)
def test_decompressed_by_suffix(tmp_path, suffix):
    """Every compression gives the same bytes; two members or frames read as one."""
    url = str(tmp_path / f"a.jsonl{suffix}")
    files.write_bytes(url, PACK[suffix](TEXT) + PACK[suffix](b"more"))
    with files.open_read(url) as f:
        assert f.read() == TEXT + b"more"
    assert files.suffix(url) == ".jsonl"
    assert files.is_compressed(url) is bool(suffix)


@pytest.mark.parametrize("suffix", [".gz", ".zst", ".xz"])
@pytest.mark.parametrize("cut", [0.2, 0.5, 0.9, 0.999])
def test_truncated_files_say_where(tmp_path, suffix, cut):
    """A compressed file that ends early is a ReadError with path and offset; what came before was read."""
    packed = PACK[suffix](os.urandom(100_000))
    url = str(tmp_path / f"a{suffix}")
    files.write_bytes(url, packed[: int(len(packed) * cut)])
    got = io.BytesIO()
    with pytest.raises(ReadError, match=r"byte [\d,]+: .*fetch the file again") as caught, files.open_read(url) as f:
        while block := f.read(1000):
            got.write(block)
    assert caught.value.path == url
    assert caught.value.offset >= len(got.getvalue())
    assert suffix == ".zst" or caught.value.offset >= 100_000 * (cut - 0.7)  # a zstd block is up to 128 kB


def test_damaged_files_say_so(tmp_path):
    """What is no zstd at all is a ReadError too."""
    url = str(tmp_path / "a.zst")
    files.write_bytes(url, b"this is not zstd")
    with pytest.raises(ReadError, match="damaged"), files.open_read(url) as f:
        f.read()


def test_missing_file_is_one_sentence(tmp_path):
    """A missing file names its path."""
    with pytest.raises(ReadError, match=r"nowhere\.txt: cannot be opened"):
        files.open_read(str(tmp_path / "nowhere.txt"))
    with pytest.raises(ReadError, match="no such file"):
        files.size(str(tmp_path / "nowhere.txt"))


def test_atomic_leaves_nothing_behind_on_error(tmp_path):
    """A block that fails leaves the old file and no attempt."""
    url = str(tmp_path / "a")
    files.write_bytes(url, b"old")
    with pytest.raises(RuntimeError), files.atomic(url) as f:
        f.write(b"new")
        raise RuntimeError
    with files.open_raw(url) as f:
        assert f.read() == b"old"
    assert os.listdir(tmp_path) == ["a"]


def test_full_disk_is_one_sentence(tmp_path):
    """A disk that is full (here: a file size limit) is said in words, and nothing is left half-written."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, hard))
    try:
        with pytest.raises(DataprepError, match="disk is full"):
            files.write_bytes(str(tmp_path / "big"), b"x" * 100_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert os.listdir(tmp_path) == []


def test_expand_sorts_and_stays_relative(tmp_path, monkeypatch):
    """A folder, a glob or a path gives its files sorted; hidden ones are left out."""
    monkeypatch.chdir(tmp_path)
    for name in ("b.txt", "a.txt", "sub/c.txt", ".hidden", "sub/.x.tmp"):
        files.write_bytes(name, b"")
    assert files.expand("*.txt") == ["a.txt", "b.txt"]
    assert files.expand(".") == ["a.txt", "b.txt", "sub/c.txt"]
    assert files.expand(str(tmp_path / "sub")) == [str(tmp_path / "sub/c.txt")]
    assert files.expand("nothing*") == files.expand("nothing") == []


def test_a_folder_that_cannot_be_listed_is_said(tmp_path, monkeypatch):
    """Its files are not left out in silence; a folder that was removed meanwhile has none."""
    scan, names = os.scandir, os.listdir
    errors = {str(tmp_path / "closed"): PermissionError(13, "Permission denied", str(tmp_path / "closed"))}
    errors[str(tmp_path / "gone")] = FileNotFoundError(2, "No such file or directory", str(tmp_path / "gone"))

    def denied(real):
        def listed(path="."):
            if error := errors.get(os.fspath(path).rstrip("/")):
                raise error
            return real(path)

        return listed

    for name in ("a.txt", "gone/b.txt"):
        files.write_bytes(str(tmp_path / name), b"")
    monkeypatch.setattr(os, "scandir", denied(scan))
    monkeypatch.setattr(os, "listdir", denied(names))
    assert files.expand(str(tmp_path)) == [str(tmp_path / "a.txt")]
    assert files.listdir(str(tmp_path / "gone")) == []
    files.write_bytes(str(tmp_path / "closed" / "c.txt"), b"")
    for url, lists in ((tmp_path, files.expand), (tmp_path / "closed", files.listdir)):
        with pytest.raises(ReadError, match=r"closed: cannot be opened \(Permission denied\); check the path$"):
            lists(str(url))
    files.write_bytes(str(tmp_path / "open" / "c.txt"), b"")
    for crossing in ("*/c.txt", "**/c.txt", "**", "c*/*"):
        with pytest.raises(ReadError, match=r"closed: cannot be opened \(Permission denied\); check the path$"):
            files.expand(str(tmp_path / crossing))
        listed = files.listing(str(tmp_path / crossing), skip=True)
        assert list(listed.closed) == [str(tmp_path / "closed")]
        assert str(tmp_path / "open" / "c.txt") in listed.found or crossing == "c*/*"
    assert files.expand(str(tmp_path / "o*/c.txt")) == [str(tmp_path / "open" / "c.txt")]
    assert files.expand(str(tmp_path / "g*/*")) == []
    errors[str(tmp_path / ".git")] = PermissionError(13, "Permission denied", str(tmp_path / ".git"))
    files.write_bytes(str(tmp_path / ".git" / "c.txt"), b"")
    listed = files.listing(str(tmp_path), skip=True)
    assert (listed.hidden, list(listed.closed)) == ([str(tmp_path / ".git")], [str(tmp_path / "closed")])
    files.write_bytes(str(tmp_path / "a.txt"), "نص عن البحر".encode())
    docs = dp.read(str(tmp_path), on_bad_file="skip")
    assert docs.unread().filter(pc.field("reason") == "unreadable")["file"].to_pylist() == [str(tmp_path / "closed")]
    found = survey(str(tmp_path))
    assert found.left_out[str(tmp_path / "closed")] == "unreadable"
    assert found.details[str(tmp_path / "closed")] == "cannot be opened (Permission denied); check the path"


def test_an_empty_folder_is_not_the_root():
    """An empty path is refused, since joined to a name it would be at the root of all files; / is the root."""
    assert files.join("/", "a.json") == "/a.json"
    with pytest.raises(PlanError, match="the path of a folder is empty"):
        files.join("", "a.json")
    assert [Folder(url).parent.url for url in ("docs", "/docs", "run/docs/")] == [".", "/", "run"]


def test_other_storage_by_url():
    """The same calls work on an fsspec URL."""
    url = files.join("memory://bucket/folder", "a.json")
    files.write_json(url, {"b": 1, "a": [2]})
    assert files.read_json(url) == {"a": [2], "b": 1}
    assert files.exists(url)
    assert len(files.expand("memory://bucket/folder/*.json")) == 1
    assert files.read_json(files.expand("memory://bucket/folder/*.json")[0]) == {"a": [2], "b": 1}
    made = receipts.once("memory://bucket/r/part.json", "k", lambda: {"files": [url], "n": 3})
    assert made["files"][0]["size"] == files.size(url)
    assert receipts.once("memory://bucket/r/part.json", "k", pytest.fail)["n"] == 3


def test_once_is_done_again_only_when_it_must(tmp_path):
    """Another key, a missing file or another size voids a receipt; otherwise the work is not done again."""
    receipt, url = str(tmp_path / "receipts/a.json"), str(tmp_path / "data/a")
    calls = []

    def make():
        calls.append(1)
        files.write_bytes(url, b"x" * len(calls))
        return {"files": [url], "n": len(calls)}

    assert receipts.once(receipt, "k1", make)["n"] == 1
    assert receipts.once(receipt, "k1", make)["n"] == 1
    assert receipts.once(receipt, "k2", make)["n"] == 2
    os.unlink(url)
    assert receipts.once(receipt, "k2", make)["n"] == 3
    with open(url, "ab") as f:
        f.write(b"more")
    assert receipts.once(receipt, "k2", make)["n"] == 4
    assert len(calls) == 4


@given(st.binary(max_size=200_000), st.binary(max_size=10))
def test_fingerprints_tell_contents_apart(tmp_path_factory, data, other):
    """The fingerprint is of name and content, not of folder; another end is another fingerprint."""
    one, two = (str(tmp_path_factory.mktemp("f") / "a.bin") for _ in range(2))
    files.write_bytes(one, data)
    files.write_bytes(two, data)
    assert hashes.fingerprint(one) == hashes.fingerprint(two)
    if other:
        files.write_bytes(two, data + other)
        assert hashes.fingerprint(one) != hashes.fingerprint(two)


def test_sweep_removes_what_killed_attempts_left(tmp_path):
    """Only unfinished files of ours are removed: hidden files of others stay, whatever their suffix."""
    for name in (".a.0123456789ab.tmp", "a", ".keep", ".mine.tmp"):
        files.write_bytes(str(tmp_path / name), b"")
    files.sweep(str(tmp_path))
    assert sorted(os.listdir(tmp_path)) == [".keep", ".mine.tmp", "a"]


@pytest.mark.parametrize("frames", [1, 2])
def test_a_zstd_window_over_the_limit_is_called_that(tmp_path, frames):
    """Such a file is not damaged: the sentence says what is too large and what to do, also for a later frame."""
    url = str(tmp_path / "a.zst")
    wide = zstandard.ZstdCompressor(
        compression_params=zstandard.ZstdCompressionParameters(window_log=29, enable_ldm=True)
    ).compressobj()
    frame = wide.compress(b"text " * 1000) + wide.flush()
    files.write_bytes(url, (zstandard.compress(b"before") if frames == 2 else b"") + frame)
    with pytest.raises(ReadError, match="its zstd window is over 128 MiB, .* compress it again without --long"):
        files.open_read(url).read()


def test_an_xz_window_over_the_limit_is_called_that(tmp_path):
    """A small file may state a window of gigabytes, which would fill memory; it is read with `max_window=`."""
    url, text = str(tmp_path / "a.jsonl.xz"), b'{"text": "a page"}\n' * 20
    wide = lzma.compress(text, filters=[{"id": lzma.FILTER_LZMA2, "preset": 0, "dict_size": 1 << 28}])
    files.write_bytes(url, lzma.compress(text, preset=9) + bytes(8) + wide)
    with pytest.raises(ReadError, match="its xz window is over 128 MiB, .* set max_window="):
        files.open_read(url).read()
    assert dp.read(url, max_window="256MiB").count == 40
    for damaged in (wide[:-9], wide + b"more", wide + bytes(4) + wide[:7]):
        files.write_bytes(url, damaged)
        with pytest.raises(ReadError, match="ends early or is damaged"):
            dp.read(url, max_window="256MiB").take(30)


@pytest.mark.parametrize("frames", [1, 3])
def test_a_wide_zstd_window_is_read_with_max_window(tmp_path, frames):
    """What `zstd --long=28` and above wrote is read as it was, if that is allowed; a cut is still found."""
    wide = zstandard.ZstdCompressor(
        compression_params=zstandard.ZstdCompressionParameters(window_log=28, enable_ldm=True)
    ).compressobj()
    frame = wide.compress(b'{"text": "a page"}\n' * 20_000) + wide.flush()
    url = str(tmp_path / "a.jsonl.zst")
    files.write_bytes(url, frame * frames)
    docs = dp.read(url, max_window="256MiB")
    assert docs.count == 20_000 * frames
    assert dp.read(url, max_window="200MB").part_keys == docs.part_keys  # windows are powers of two
    with pytest.raises(ReadError, match="over 128 MiB"):
        dp.read(url).take(1)
    files.write_bytes(url, (frame * frames)[:-3])
    with pytest.raises(ReadError, match="ends early or is damaged"):
        list(dp.read(url, max_window="2GiB"))
    for wrong in ("3GiB", 0, "lots", True):
        with pytest.raises(PlanError, match="of up to 2GiB|not an amount of memory"):
            dp.read(url, max_window=wrong)


def test_unfinished_files_of_one_file_are_swept(tmp_path):
    """Those of ours, directly in its folder; no other hidden or temporary file, and nothing if there is no folder."""
    kept = [".a.tmp", "a.0123456789ab.tmp", ".a.0123456789ab.tmp.gz", ".a.b.0123456789ab.tmp", ".ab.0123456789ab.tmp",
            "a", "in/.a.0123456789ab.tmp"]  # fmt: skip
    (tmp_path / "in").mkdir()
    for name in [*kept, ".a.17a4c95c8fe7.tmp", ".a.0123456789ab.tmp"]:
        (tmp_path / name).write_text("x")
    sweep_attempts(str(tmp_path / "a"))
    sweep_attempts(str(tmp_path / "none" / "a"))
    assert sorted(str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*") if p.is_file()) == sorted(kept)


def test_hidden_names_are_skipped_and_said(tmp_path):
    """Up to the first hidden name of each path; a named one is read, and so is the text of an iPhone's export."""
    names = ("a.txt", ".b/c/d.txt", "e/_f/g.txt", "e/.h.txt", "_chat.txt", "_chat.txt.gz", "_chats.txt")
    for name in names:
        files.write_bytes(str(tmp_path / name), b"")
    place = str(tmp_path)
    assert files.expand(place) == [f"{place}/{name}" for name in ("_chat.txt", "_chat.txt.gz", "a.txt")]
    assert files.listing(place).hidden == [f"{place}/{name}" for name in (".b", "_chats.txt", "e/.h.txt", "e/_f")]
    assert files.expand(f"{place}/.b") == [f"{place}/.b/c/d.txt"]
    assert files.listing(f"{place}/a.txt").hidden == files.listing(f"{place}/none").hidden == []


@pytest.mark.parametrize(
    ("pattern", "url", "listed"),
    [("in", "in/a", True), ("in", "in/b/a", True), ("in", "in", True), ("in", "inner/a", False), ("in", "a", False),
     ("in", "in/.b/a", False), ("in", "in/_a", False), ("in/*.txt", "in/a.txt", True), ("in/*.txt", "in/b/a", False),
     ("in/**/*.txt", "in/b/a.txt", True), ("i[n]/a*", "in/ab", True), ("in/?", "in/ab", False), ("in/?", "in/a", True),
     ("*/a", "in/a", True), ("*", "a", True), ("*", "b/a", False)],
)  # fmt: skip
@pytest.mark.parametrize("absolute", [True, False])
def test_what_would_be_listed(tmp_path, monkeypatch, pattern, url, listed, absolute):
    """The answer before the file exists is that of `expand` afterwards."""
    monkeypatch.chdir(tmp_path)
    pattern = f"{tmp_path}/{pattern}" if absolute else pattern
    (tmp_path / "in").mkdir()
    assert files.would_list(pattern, url) is listed
    if url != "in":
        files.write_bytes(str(tmp_path / url), b"")
        assert (url in [os.path.relpath(found) for found in files.expand(pattern)]) is listed


def test_folders_of_other_storage():
    """Files and folders are told apart, listed, measured and removed there too."""
    home = "memory://kinds"
    files.write_bytes(f"{home}/a/b.txt", b"abc")
    files.write_bytes(f"{home}/c.txt", b"")
    assert [files.is_dir(f"{home}/{name}") for name in ("a", "a/b.txt", "none")] == [True, False, False]
    assert [files.exists(f"{home}/{name}") for name in ("a", "a/b.txt", "none")] == [True, True, False]
    assert (files.listdir(home), files.listdir(f"{home}/none")) == (["a", "c.txt"], [])
    assert (files.size(f"{home}/a/b.txt"), files.content_hash(f"{home}/c.txt")) == (3, xxhash.xxh3_128_hexdigest(b""))
    assert files.expand(home) == [f"{home}/a/b.txt", f"{home}/c.txt"]
    for wrong in (files.size, files.open_raw):
        with pytest.raises(ReadError):
            wrong(f"{home}/none")
    files.remove(f"{home}/a")
    files.remove(f"{home}/none")
    assert files.listdir(home) == ["c.txt"]


@pytest.mark.parametrize("most", [0, remote.PUT])
def test_files_appear_whole_in_other_storage(monkeypatch, most):
    """Small and large ones: at the end of their block, each for itself; one with an error never does."""
    monkeypatch.setattr(remote, "PUT", most)
    home = f"memory://whole-{most}"
    with files.atomic(f"{home}/a") as a:
        with files.atomic(f"{home}/b") as b:
            b.write(b"b")
            b.write(b"c")
        with pytest.raises(ZeroDivisionError), files.atomic(f"{home}/c") as c:
            c.write(b"c")
            raise ZeroDivisionError
        a.write(b"a")
        assert files.listdir(home) == ["b"]
    assert files.listdir(home) == ["a", "b"]
    assert files.read(f"{home}/b") == b"bc"
    found = [files.stored(f"{home}/b") for _ in range(2)]  # as it was written, and as it is read
    assert found == [(2, xxhash.xxh3_128_hexdigest(b"bc"))] * 2


@pytest.mark.parametrize(
    ("url", "name", "suffix", "packed"),
    [("a/b.JSONL", "b.JSONL", ".jsonl", False), ("b.jsonl.zst", "b.jsonl.zst", ".jsonl", True), ("a/", "a", "", False),
     ("s3://k/a.xz?X-Sig=1/2", "a.xz", "", True), ("a.gz?x=1", "a.gz?x=1", ".gz?x=1", False),
     ("https://h/what?.txt", "what?.txt", ".txt", False), ("file:///a/b.txt.gz", "b.txt.gz", ".txt", True)],
)  # fmt: skip
def test_names_in_urls(url, name, suffix, packed):
    """A query is left out of the names of URLs only; compression is not the format."""
    assert (files.name_of(url), files.suffix(url), files.is_compressed(url)) == (name, suffix, packed)


def test_only_empty_folders_are_removed(tmp_path):
    """From a folder upwards, until one has something in it, and never the given one or one beside it."""
    (tmp_path / "a" / "b" / "c").mkdir(parents=True)
    (tmp_path / "ab").mkdir()
    atomic.remove_empty(str(tmp_path / "a" / "b" / "c"), above=str(tmp_path / "a"))
    assert [p.name for p in sorted(tmp_path.iterdir())] == ["a", "ab"]
    assert list((tmp_path / "a").iterdir()) == []
    atomic.remove_empty(str(tmp_path / "ab"), above=str(tmp_path / "a"))
    atomic.remove_empty(str(tmp_path / "a"), above=str(tmp_path / "a"))
    assert [p.name for p in sorted(tmp_path.iterdir())] == ["a", "ab"]
    (tmp_path / "a" / "x" / "y").mkdir(parents=True)
    (tmp_path / "a" / "x" / "mine").touch()
    atomic.remove_empty(str(tmp_path / "a" / "x" / "y"), above=str(tmp_path))
    assert [p.name for p in (tmp_path / "a" / "x").iterdir()] == ["mine"]


def test_only_attempts_of_a_file_are_swept(tmp_path):
    """Files of others with names as long stay."""
    names = [".a.0123456789ab.tmp", "_a.0123456789ab.tmp", ".a.0123456789ab.txt", ".b.0123456789ab.tmp", "a"]
    for name in names:
        (tmp_path / name).touch()
    sweep_attempts(str(tmp_path / "a"))
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(names[1:])


@pytest.mark.parametrize("home", ["memory://created", ""])
def test_one_process_creates_a_file(tmp_path, home):
    """The first of two; on other storage, a PUT of the first that is sent again, since its answer was lost, too."""
    home = home or str(tmp_path)
    assert [files.create(f"{home}/a", data) for data in (b"one", b"two")] == [True, False]
    with files.open_raw(f"{home}/a") as f:
        assert f.read() == b"one"
    assert files.create(f"{home}/a", b"one") is not files.is_local(home)


def test_json_has_one_form(tmp_path):
    """Keys are sorted, lines indented, and names of files that are not UTF-8 escaped; it comes back."""
    url = str(tmp_path / "a.json")
    for value in ({"b": [1], "a": None}, dict(a=None, b=[1])):  # noqa: C408 - another order
        files.write_json(url, value)
        assert (tmp_path / "a.json").read_bytes() == b'{\n  "a": null,\n  "b": [\n    1\n  ]\n}\n'
        assert files.read_json(url) == value
    files.write_json(url, {"b\udcff": ["\udcff"], "a": 1})
    assert (tmp_path / "a.json").read_bytes() == b'{\n  "a": 1,\n  "b\\\\udcff": [\n    "\\\\udcff"\n  ]\n}\n'


def test_pyarrow_reads_no_python_object(tmp_path, root):
    """Its threads would abort a process that ends while they let go of one; a missing file is a ReadError, as ever."""
    (tmp_path / "a").write_bytes(b"abc")
    with files.open_arrow(str(tmp_path / "a")) as f:
        assert isinstance(f, pa.OSFile)
        assert f.read() == b"abc"
    with pytest.raises(ReadError, match="cannot be opened"), files.open_arrow(str(tmp_path / "b")):
        pass
    for path in (root / "src").rglob("*.py"):
        parts = path.read_text(encoding="utf-8").split("pq.read_table(")[:-1]
        assert not [part for part in parts if "open_raw(" in part[-200:]], f"{path.name}: use files.open_arrow"


def test_when_files_of_a_store_were_changed(monkeypatch):
    """Stores name and write the time in their own ways; a file without one is left out."""
    at = datetime(2026, 1, 2, tzinfo=timezone.utc)
    ways = {"LastModified": at, "last_modified": at, "mtime": at.timestamp(), "updated": "2026-01-02T00:00:00+00:00"}
    listed = [{"name": f"b/{name}", name: time, "created": 0.0} for name, time in ways.items()]
    store = types.SimpleNamespace(ls=lambda path, detail: [*listed, {"name": "b/none", "size": 1}])
    monkeypatch.setattr(files, "fs_of", lambda url: (store, "b"))
    assert files.changed("s3://b") == dict.fromkeys(ways, at.timestamp())
    assert files.changed("/none/of/it") == {}


def test_each_reads_some_remote_files_ahead_and_yields_them_in_order():
    """Never more than AT_ONCE that were not taken; an error comes at its place, and local files are read when taken."""
    urls, begun = [f"memory://ahead/{n}" for n in range(3 * files.AT_ONCE)], []

    def read(url):
        begun.append(url)
        return int(files.name_of(url)) if url != urls[40] else 1 // 0

    found = files.each(read, urls)
    for n in range(40):
        assert next(found) == (urls[n], n)
        assert len(begun) <= n + 1 + files.AT_ONCE
    with pytest.raises(ZeroDivisionError):
        next(found)
    begun.clear()
    assert next(files.each(read, ["/a/1", "/a/2"])) == ("/a/1", 1)
    assert begun == ["/a/1"]
