"""Everything by URL: a pipeline over fsspec storage, and what happens when the network fails."""

import errno
import gzip
import hashlib
import http.server
import importlib
import io
import json
import random
import re
import threading
import traceback
from typing import ClassVar

import fsspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fsspec.implementations.memory import MemoryFileSystem

import dataprep as dp
from dataprep.cli.trial import _reading
from dataprep.core.model import batch as B
from dataprep.core.model import tables
from dataprep.core.model.range_reader import RangeReader
from dataprep.core.run import runner
from dataprep.core.run.runner import Serial
from dataprep.errors import DataprepError, NotInstalled, PlanError, ReadError, Transient
from dataprep.pipeline_file import execute
from dataprep.store import files, hashes, lease, parquet, receipts, remote
from fixtures.counted import Counted, many_parts

NAMES = ("articles.jsonl", "news.jsonl.zst", "guide.parquet")


class Flaky(MemoryFileSystem):
    """Storage whose first opens are reset."""

    protocol = "flaky"
    store: ClassVar[dict] = {}
    pseudo_dirs: ClassVar[list] = [""]
    failures = 0
    breaks = 0  # files whose reading is reset
    writes = 0  # files that were opened to be written
    fails_at = (0, "")  # number of such a file, and what fails: "open", "write" or "commit"

    @classmethod
    def _strip_protocol(cls, path):
        return super()._strip_protocol(path.replace("flaky://", "memory://"))

    def _open(self, path, mode="rb", **kwargs):
        if mode == "rb" and path.endswith(".jsonl") and Flaky.failures:
            Flaky.failures -= 1
            msg = "reset by peer"
            raise ConnectionResetError(msg)
        file = super()._open(path, mode, **kwargs)
        if mode == "rb" and Flaky.breaks:
            Flaky.breaks -= 1
            file = _Reset(file.getvalue())
        if mode == "wb":
            Flaky.writes += 1
            if Flaky.fails_at[0] == Flaky.writes:
                if Flaky.fails_at[1] == "open":
                    _full()
                setattr(file, Flaky.fails_at[1], _full)
        return file


class _Reset(io.BytesIO):
    """A file of which nothing can be read, since the connection is reset."""

    def read(self, *_):
        raise ConnectionResetError

    readinto = read


def _full(*_, **__):
    msg = "the bucket is full"
    raise OSError(msg)


@pytest.fixture
def bucket(samples, monkeypatch):
    """A bucket with some of the sample files."""
    fsspec.register_implementation("flaky", Flaky, clobber=True)
    monkeypatch.setattr(Flaky, "store", {})
    monkeypatch.setattr(Flaky, "failures", 0)
    monkeypatch.setattr(Flaky, "fails_at", (0, ""))
    monkeypatch.setattr(runner.time, "sleep", lambda _: None)
    for name in NAMES:
        with files.open_raw(f"{samples}/{name}") as f:
            files.write_bytes(f"flaky://bucket/in/{name}", f.read())
    return "flaky://bucket"


def stages():
    return dp.C4(), dp.Exact(), dp.MinHash()


def test_remote_is_as_local(bucket, samples, tmp_path):
    """The same pipeline from a bucket into a bucket gives the same content, drops and books as on local disk."""
    remote = dp.Pipeline(*stages()).run(dp.read(f"{bucket}/in/*"), f"{bucket}/out")
    local = dp.Pipeline(*stages()).run(dp.read([f"{samples}/{name}" for name in sorted(NAMES)]), str(tmp_path / "out"))
    assert remote.manifest.content == local.manifest.content
    assert remote.drops().equals(local.drops())
    assert remote.drops().num_rows == remote.stats["read"].docs_out - remote.count > 0
    assert str(remote.stats) == str(local.stats)
    remote.write(f"{bucket}/copy.jsonl.zst")
    assert dp.read(f"{bucket}/copy.jsonl.zst").count == remote.count == dp.open_dataset(f"{bucket}/out").count


def test_a_reset_connection_is_tried_again(bucket):
    """Two resets cost nothing; the run ends as if nothing was."""
    docs = dp.read(f"{bucket}/in/articles.jsonl")
    assert docs.key
    Flaky.failures = 2
    assert dp.Pipeline().run(docs, f"{bucket}/one").count == 40
    assert Flaky.failures == 0


@pytest.mark.parametrize("name", NAMES)
def test_a_connection_that_is_reset_is_not_a_damaged_file(bucket, tmp_path, name):
    """`ConnectionResetError` is an OSError, as damaged files raise."""
    docs = dp.read(f"{bucket}/in/{name}", on_bad_file="skip")
    assert docs.key
    Flaky.breaks = 1
    found = dp.Pipeline().run(docs, out=str(tmp_path / "out"))
    assert Flaky.breaks == 0
    assert found.count == docs.count
    assert not len(found.unread())


def test_a_write_that_fails_leaves_a_run_that_resumes(bucket, monkeypatch):
    """At any file, as it is opened, written or put: what looks finished is, and the next run has the same content."""
    monkeypatch.setattr(remote, "PUT", -1)  # all files as large ones
    job = dp.Pipeline(dp.Filter(short), dp.Exact())
    docs = dp.read(f"{bucket}/in/articles.jsonl")
    Flaky.writes = 0
    content, n_writes = job.run(docs, f"{bucket}/out").manifest.content, Flaky.writes
    assert n_writes > 5
    for number in range(1, n_writes + 1):
        out = f"{bucket}/{number}"
        Flaky.writes, Flaky.fails_at = 0, (number, ("open", "write", "commit")[number % 3])
        with pytest.raises((OSError, DataprepError), match="the bucket is full"):
            job.run(docs, out)
        Flaky.fails_at = (0, "")
        if files.exists(f"{out}/manifest.json"):  # the result was complete, and its receipts were moved
            assert dp.open_dataset(out).manifest.content == content
        again = job.run(docs, out)
        assert again.manifest.content == content
        assert not any(dp.tools.verify(out).values())


def short(text):
    """Drop some documents."""
    return len(text) > 900


@pytest.mark.parametrize(
    ("call", "url", "extra"),
    [
        (dp.read, "s3://box/texts", "s3"),
        (dp.read, "gs://box/texts/*.jsonl", "gcs"),
        (lambda url: dp.read(url, format="lines"), "simplecache::abfs://box/texts/a.txt", "azure"),
        (lambda url: dp.read([{"text": "a"}], out=url), "s3://box/rows", "s3"),
        (lambda url: dp.Pipeline().run(dp.read(__file__, format="lines"), out=url), "az://box/out", "azure"),
        (dp.open_dataset, "s3a://box/out/", "s3"),
        (dp.Shards.open, "s3://box/tokens", "s3"),
        (dp.tools.verify, "s3://box/out", "s3"),
        (lambda url: list(execute([_reading([url])], "out", Serial())), "s3://box/texts", "s3"),
    ],
)
def test_a_store_whose_package_is_not_installed(call, url, extra, tmp_path, monkeypatch):
    """The error names the URL that was given, not that of a file of ours below it, and the extra."""
    monkeypatch.chdir(tmp_path)
    remote._kind_of.cache_clear()
    monkeypatch.setattr(fsspec, "get_filesystem_class", lambda _: importlib.import_module("no_such_package"))
    with pytest.raises(NotInstalled) as caught:
        call(url)
    assert str(caught.value).startswith(f"{url.rstrip('/')} cannot be reached: ")
    assert str(caught.value).endswith(f"; pip install 'dataprep-lm[{extra}]'")


def test_unknown_storage_is_one_sentence(monkeypatch):
    """A protocol that nobody knows is a PlanError that names it; a package that is missing is to be installed."""
    with pytest.raises(PlanError, match=r"nowhere://bucket/a\.jsonl.* cannot be reached: Protocol not known"):
        dp.read("nowhere://bucket/a.jsonl")
    fsspec.register_implementation("near", "no.such.Thing", clobber=True, errtxt="Near needs x")
    with pytest.raises(PlanError, match=r"near://bucket/a\.jsonl.* cannot be reached: Near needs x; use pip for that"):
        dp.read("near://bucket/a.jsonl")
    monkeypatch.setattr(fsspec.core, "url_to_fs", lambda _, **__: importlib.import_module("no_such_aiohttp"))
    with pytest.raises(PlanError, match=r"no_such_aiohttp.*; pip install 'dataprep-lm\[http\]'$"):
        dp.read("https://a.example/a.jsonl")


@pytest.mark.parametrize(("status", "error"), [(403, ReadError), (404, ReadError), (429, Transient), (503, Transient)])
def test_a_server_that_refuses_is_one_sentence_without_the_signature(status, error):
    """What HTTP's library raises states the whole URL; a folder of `datasets` is not sought behind a query."""
    pytest.importorskip("aiohttp")
    seen = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            seen.append(self.path)
            self.send_error(200 if "/state.json" in self.path else status)

        do_HEAD = do_GET  # noqa: N815 - the name that the library calls

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        secret = f"hun{2}er"  # a traceback shows the lines of this test, too
        url = f"http://ada:{secret}@127.0.0.1:{server.server_port}/a.jsonl?sig={secret}"
        with pytest.raises(error) as caught:
            dp.read(url)
        server.shutdown()
    assert seen
    said = "".join(traceback.format_exception(caught.value))
    assert secret not in said
    assert "?***" in said


def test_a_server_that_states_no_size_is_one_sentence():
    """Such a stream cannot be divided or read from the middle; the sentence says to download the file."""
    pytest.importorskip("aiohttp")

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"a text\n")

        do_HEAD = do_GET  # noqa: N815 - the name that the library calls

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with pytest.raises(ReadError, match="does not state its size; download the file"):
            dp.read(f"http://127.0.0.1:{server.server_port}/a.txt", format="lines")
        server.shutdown()


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz", "a.parquet"])
def test_a_download_that_breaks_off_is_tried_again(tmp_path, name):
    """The library's errors are not those of the network, or look like a damaged file."""
    pytest.importorskip("aiohttp")
    rows = [{"text": f"text {n}"} for n in range(100)]
    lines = "".join(f"{json.dumps(row)}\n" for row in rows).encode()
    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist(rows), sink)
    content = {"a.jsonl": lines, "a.jsonl.gz": gzip.compress(lines), "a.parquet": sink.getvalue().to_pybytes()}[name]
    to_break = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            if self.path != f"/{name}":
                self.send_error(404)
                return
            first, last = map(int, re.findall(r"\d+", self.headers.get("Range", f"0-{len(content)}"))[:2])
            part = content[first : last + 1]
            self.send_response(206 if "Range" in self.headers else 200)
            self.send_header("Accept-Ranges", "bytes")
            self.send_header("Content-Range", f"bytes {first}-{first + len(part) - 1}/{len(content)}")
            self.send_header("Content-Length", str(len(part)))
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(part[: len(part) // 2] if to_break else part)
                self.close_connection = bool(to_break and to_break.pop())

        do_HEAD = do_GET  # noqa: N815 - the name that the library calls

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        docs = dp.read(f"http://127.0.0.1:{server.server_port}/{name}", on_bad_file="skip")
        assert docs.key
        to_break.append(True)
        found = dp.Pipeline().run(docs, out=str(tmp_path / "out"))
        server.shutdown()
    assert not to_break
    assert [document["text"] for document in found] == [row["text"] for row in rows]


def test_the_timeout_of_fsspec_is_an_error_of_the_network():
    """Although its class is not imported, on versions of Python where it is a TimeoutError."""
    from fsspec.exceptions import FSTimeoutError

    from dataprep.store.remote import LOST

    assert issubclass(FSTimeoutError, LOST)


class Tagged(MemoryFileSystem):
    """Storage that states an MD5 of each file, as object stores do, and of which nothing may be opened."""

    protocol = "tagged"
    store: ClassVar[dict] = {}
    pseudo_dirs: ClassVar[list] = [""]

    @classmethod
    def _strip_protocol(cls, path):
        return super()._strip_protocol(path.replace("tagged://", "memory://"))

    def _tagged(self, info):
        return {**info, "ETag": _md5(self.store[info["name"]].getvalue())} if info["type"] == "file" else info

    def info(self, path, **kwargs):
        return self._tagged(super().info(path, **kwargs))

    def find(self, path, detail=False, **kwargs):
        found = super().find(path, detail=True, **kwargs)
        return {name: self._tagged(info) for name, info in found.items()} if detail else sorted(found)

    def _open(self, path, mode="rb", **kwargs):
        assert mode != "rb", "opened to be read"
        return super()._open(path, mode, **kwargs)


def _md5(data):
    return f'"{hashlib.md5(data).hexdigest()}"'  # noqa: S324 - as stores compute it


def test_inputs_are_known_by_their_checksums(monkeypatch):
    """From one listing, as from a question for each; another content, size or name is another input."""
    fsspec.register_implementation("tagged", Tagged, clobber=True)
    monkeypatch.setattr(Tagged, "store", {})
    monkeypatch.setattr(remote, "SUMS", {"tagged"})
    for name, data in {"a": b"one", "b": b"one", "c": b"two", "in/a": b"one", "e": b"three"}.items():
        files.write_bytes(f"tagged://bucket/{name}.jsonl", data)
    found = hashes.listed(["tagged://bucket"])
    prints = {url.partition("bucket/")[2]: one for url, one in found.items()}
    assert sorted(prints) == ["a.jsonl", "b.jsonl", "c.jsonl", "e.jsonl", "in/a.jsonl"]
    assert len(set(prints.values())) == 4
    assert prints["a.jsonl"] == prints["in/a.jsonl"]
    assert found == {url: hashes.fingerprint(url) for url in found}
    docs = dp.read("tagged://bucket/*.jsonl")
    assert docs.fingerprints == {url: one for url, one in found.items() if "/in/" not in url}


def test_a_checksum_is_the_same_in_all_stores():
    """MD5 is base64 in one store and bytes in another; a store that states none has its own tag."""
    md5 = "0cc175b9c0f1b6a831c399e269772661"
    stated = {
        "s3": {"ETag": f'"{md5}"'}, "gs": {"md5Hash": "DMF1ucDxtqgxw5niaXcmYQ==", "etag": "CJ=="},
        "az": {"content_settings": {"content_md5": bytearray.fromhex(md5)}, "etag": "0x8D"},
    }  # fmt: skip
    assert {remote.checksum(f"{one}://b/a", info) for one, info in stated.items()} == {md5}
    assert remote.checksum("s3://b/a", {"ETag": '"0cc1-2"'}) == "0cc1-2"
    assert remote.checksum("https://b/a", stated["s3"]) == remote.checksum("s3://b/a", {"size": 1}) == ""


def test_ranges_are_read_as_from_a_local_file(monkeypatch):
    """Any seeks and reads give what they give of a plain stream, and at most twice that and a block per jump."""
    fsspec.register_implementation("counted", Counted, clobber=True)
    Counted.forget()
    monkeypatch.setattr(remote, "FEW", 64)
    monkeypatch.setattr(remote, "MOST", 1_000)
    draw = random.Random(0)
    data = draw.randbytes(20_000)
    files.write_bytes("counted://ranges/a", data)
    plain, asked, jumps = io.BytesIO(data), 0, 1
    with files.open_raw("counted://ranges/a") as f:
        for _ in range(300):
            if draw.random() < 0.3:
                jumps += 1
                whence = draw.randrange(3)
                offset = draw.randrange(20_000) - (0, plain.tell(), 20_000)[whence]
                assert f.seek(offset, whence) == plain.seek(offset, whence)
            n = draw.choice((1, 10, 100, 3_000))
            asked += n
            assert f.read(n) == plain.read(n)
            assert f.tell() == plain.tell()
        assert f.readinto(buffer := bytearray(50)) == len(rest := plain.read(50))
        assert bytes(buffer[: len(rest)]) == rest
        assert (f.seek(30_000), f.read(1), f.seek(0), f.read()) == (30_000, b"", 0, data)
    assert Counted.read["documents"] - len(data) <= 2 * asked + 64 * jumps
    Counted.forget()


def test_a_large_file_is_read_by_few_requests():
    """Blocks grow while reading continues, so that 4 MB are 7 requests of 64 kB to 2 MB."""
    fsspec.register_implementation("counted", Counted, clobber=True)
    Counted.forget()
    files.write_bytes("counted://large/a", bytes(4 << 20))
    Counted.requests.clear()
    with files.open_raw("counted://large/a") as f:
        assert sum(len(f.read(1 << 14)) for _ in range(300)) == 4 << 20
    assert Counted.read["documents"] == 4 << 20
    assert Counted.requests["documents"] == 1 + 7  # to open it, too
    Counted.forget()


def test_a_text_is_read_from_its_row_group_alone(monkeypatch):
    """Of ten groups; a copy reads each byte once."""
    monkeypatch.setattr(B, "MAX_BYTES", 1 << 17)
    fsspec.register_implementation("counted", Counted, clobber=True)
    Counted.forget()
    draw = random.Random(0)
    rows = [{"text": draw.randbytes(20_000).hex()} for _ in range(30)]
    files.write_bytes("counted://texts/a.jsonl", b"".join(json.dumps(row).encode() + b"\n" for row in rows))
    docs = dp.Pipeline().run(dp.read("counted://texts/a.jsonl"), "counted://texts/out")
    ids = [row["id"] for row in docs]
    Counted.read.clear()
    assert docs.text_of(ids[20]) == rows[20]["text"]
    shard = files.size(f"counted://texts/out/{docs.manifest.shards[0].name}")
    assert Counted.read["documents"] < shard / 2
    Counted.read.clear()
    docs.write("counted://texts/copy.jsonl")
    assert Counted.read["documents"] <= shard + 2 * remote.FEW  # the footer, too
    Counted.forget()


def test_requests_and_bytes_of_a_part():
    """Each part of a run costs as much as the others: no more than these requests, and a few times its bytes."""
    made = {}
    for n in (1, 3):
        with many_parts(n, docs=100) as (url, out):
            size = sum(map(files.size, files.expand(url))) / n
            docs = dp.read(url)
            Counted.requests.clear()
            dp.Pipeline().run(docs, out)
            made[n] = Counted.requests.total(), Counted.read.total()
    requests, n_bytes = ((b - a) / 2 for a, b in zip(made[1], made[3], strict=True))
    assert requests <= 44  # with those of memory:// to itself
    assert n_bytes <= 6 * size


class Between(Serial):
    """A Runner whose tasks are not counted."""

    def map(self, task, items, label=""):
        for item in items:
            before = Counted.requests.copy()
            made = task(item)
            Counted.requests = before
            yield made


def test_the_process_of_a_run_asks_little_for_each_part():
    """What it asks one after another would take hours with thousands of parts."""
    asked = {}
    for n in (2, 6):
        with many_parts(n) as (url, out):
            docs = dp.read(url)
            Counted.requests.clear()
            dp.Pipeline(dp.MinHash(bands=4, rows=2)).run(docs, out, Between())
            asked[n] = Counted.requests.total()
    assert (asked[6] - asked[2]) / 4 <= 26  # memory:// deletes one file after another


@pytest.mark.parametrize("name", ["a[1]", "a*", "a?"])
def test_a_name_is_no_pattern_when_files_are_removed_or_moved(name):
    """The files that a name with * or [ would match as a pattern remain."""
    home = "memory://no-pattern"
    others = {f"{home}/{other}/x": b"of another" for other in ("a1", "ab", "a")}
    for url, data in {**others, f"{home}/{name}/x": b"1", f"{home}/{name}/y": b"2"}.items():
        files.write_bytes(url, data)
    files.move(f"{home}/{name}/x", f"{home}/{name}/z")
    assert files.read(f"{home}/{name}/z") == b"1"
    files.remove_remote([f"{home}/{name}/z"])
    files.remove(f"{home}/{name}")
    assert {url: files.read(url) for url in files.expand(home)} == others
    files.remove(home)


@pytest.mark.parametrize("name", ["a[1]", "a*", "a?/b"])
def test_a_pattern_is_no_folder_of_results(name):
    """A result whose URL is a pattern could not be read or replaced; the run stops before it writes."""
    url = f"memory://pattern-as-out/{name}"
    with pytest.raises(PlanError, match=f"{re.escape(url)} has .*makes the URL a pattern"), lease.held(url):
        pass
    assert files.expand("memory://pattern-as-out") == []


def of_client(name, module, **more):
    """An error of a package that need not be installed."""
    return type(name, (Exception,), {"__module__": module, **more})()


@pytest.mark.parametrize(
    ("error", "raised", "said"),
    [(OSError(errno.EBUSY, "Please reduce your request rate."), Transient, "is overloaded (Please reduce"),
     (OSError(errno.EREMOTEIO, "internal"), Transient, "is overloaded (internal)"),
     (PermissionError("Forbidden"), ReadError, "access is denied (Forbidden)"),
     (of_client("NoCredentialsError", "botocore.exceptions"), ReadError, "needs credentials"),
     (of_client("ReadTimeoutError", "botocore.exceptions"), Transient, "cannot be reached"),
     (of_client("HttpError", "gcsfs.retry", code=503), Transient, "with status 503"),
     (FileNotFoundError("a"), FileNotFoundError, "a"), (OSError("the bucket is full"), OSError, "the bucket is full")],
)  # fmt: skip
def test_errors_of_stores_are_said(error, raised, said):
    """A store that is busy is asked again; one that refuses is not, and no file is said to be damaged."""
    with pytest.raises(raised, match=re.escape(said)), remote.answered("s3://b/a"):
        raise error


def test_an_upload_that_breaks_off_leaves_nothing(monkeypatch):
    """Of a large file, the parts are given up, and the file is not completed when it is garbage-collected."""
    monkeypatch.setattr(remote, "PUT", 10)
    seen = []

    class Parts(io.BytesIO):
        def discard(self):
            seen.append("discard")

        def commit(self):
            seen.append("commit")
            raise FileNotFoundError

    monkeypatch.setattr(MemoryFileSystem, "_open", lambda *_, **__: Parts())
    with pytest.raises(ZeroDivisionError), files.atomic("memory://broken/a") as f:
        f.write(bytes(20))
        raise ZeroDivisionError
    with pytest.raises(Transient, match="no such upload"), files.atomic("memory://broken/a") as f:
        f.write(bytes(20))
    assert seen == ["discard", "commit", "discard"]
    assert not remote.fs_of("memory://broken")[0]._intrans


class Buckets(MemoryFileSystem):
    """A store that opens a folder as an empty file, as s3fs does."""

    protocol = "buckets"
    store: ClassVar[dict] = {}
    pseudo_dirs: ClassVar[list] = [""]

    @classmethod
    def _strip_protocol(cls, path):
        return super()._strip_protocol(path.replace("buckets://", "memory://"))

    def _open(self, path, mode="rb", **kwargs):
        if mode != "rb" or not self.isdir(path):
            return super()._open(path, mode, **kwargs)
        return type("Empty", (io.BytesIO,), {"size": 0, "details": {"type": "directory"}})()


def test_a_folder_is_no_empty_file(monkeypatch):
    """A table of several files is read and stated in a receipt file by file; opening a folder is an error."""
    fsspec.register_implementation("buckets", Buckets, clobber=True)
    monkeypatch.setattr(tables, "VERDICT_ROWS", 2)
    monkeypatch.setattr(parquet, "FILE_GROUPS", 2)
    rows = tables.new_rows(tables.VERDICTS, id=np.arange(9, dtype=np.uint64), reason="r")
    url = "buckets://home/verdicts.parquet"
    tables.write_verdicts(url, [rows])
    with pytest.raises(ReadError, match="cannot be opened"):
        files.open_raw(url)
    with RangeReader(url, tables.VERDICTS) as table:
        assert table.of(pa.RecordBatch.from_pydict({"id": rows.column("id")})).num_rows == 9
    made = receipts.write("buckets://home/r.json", "key", {"files": [url]})
    assert [one["name"].rpartition("/")[2] for one in made["files"]] == [
        "index.parquet", "part-00000.parquet", "part-00001.parquet", "part-00002.parquet",
    ]  # fmt: skip
    assert receipts.valid("buckets://home/r.json", "key")


def test_files_of_others_are_seen():
    """File systems keep no listings."""
    assert remote.fs_of("memory://others")[0].dircache.use_listings_cache is False


def test_a_run_on_a_sealed_dataset_moves_to_a_store(tmp_path, monkeypatch):
    """Keys of raw files depend on what the store states; those of sealed Datasets do not, so finished work counts."""
    monkeypatch.setattr(remote, "checksum", lambda url, info: "stated")
    store, data = fsspec.filesystem("memory"), b'{"text": "one text"}\n{"text": "\xd9\x85\xd8\xa7\xd8\xa1"}\n' * 3
    (tmp_path / "a.jsonl").write_bytes(data)
    store.pipe_file("/moves/a.jsonl", data)
    raw = [dp.read(str(tmp_path / "a.jsonl")), dp.read("memory://moves/a.jsonl")]
    assert raw[0].key != raw[1].key
    here = dp.Pipeline().run(raw[0], str(tmp_path / "sealed"))
    there = dp.Pipeline().run(raw[1], "memory://moves/sealed")
    assert here.key == there.key
    done = dp.Pipeline(dp.Exact()).run(here, str(tmp_path / "out"))
    (tmp_path / "out" / "manifest.json").unlink()  # as if it had been killed at its end
    store.put(str(tmp_path / "out"), "/moves/out", recursive=True)
    tasks = []

    def mapped(self, task, items, label=""):
        tasks.append(task)
        return map(task, items)

    monkeypatch.setattr(runner.Serial, "map", mapped)
    assert dp.Pipeline(dp.Exact()).run(there, "memory://moves/out").key == done.key
    assert [type(task).__name__ for task in tasks] == ["Seal"]  # which finds the receipts of its parts
