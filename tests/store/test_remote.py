"""Everything by URL: a pipeline over fsspec storage, and what happens when the network fails."""

import gzip
import http.server
import importlib
import io
import json
import re
import threading
import traceback
from typing import ClassVar

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fsspec.implementations.memory import MemoryFileSystem

import dataprep as dp
from dataprep.core.run import runner
from dataprep.errors import DataprepError, PlanError, ReadError, Transient
from dataprep.store import files, remote

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
    for protocol, extra in {"s3": "s3", "gs": "gcs", "simplecache::abfs": "azure"}.items():
        with pytest.raises(PlanError, match=rf"no_such_aiohttp.*; pip install 'dataprep-lm\[{extra}\]'$"):
            dp.read(f"{protocol}://bucket/a.jsonl")


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
