"""Everything by URL: a pipeline over fsspec storage, and what happens when the network fails."""

import http.server
import importlib
import threading
import traceback
from typing import ClassVar

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem

import dataprep as dp
from dataprep.core import runner
from dataprep.errors import DataprepError, PlanError, ReadError, Transient
from dataprep.store import files

NAMES = ("articles.jsonl", "news.jsonl.zst", "guide.parquet")


class Flaky(MemoryFileSystem):
    """Storage whose first opens are reset."""

    protocol = "flaky"
    store: ClassVar[dict] = {}
    pseudo_dirs: ClassVar[list] = [""]
    failures = 0
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
        if mode == "wb":
            Flaky.writes += 1
            if Flaky.fails_at[0] == Flaky.writes:
                if Flaky.fails_at[1] == "open":
                    _full()
                setattr(file, Flaky.fails_at[1], _full)
        return file


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
    assert remote.manifest["content"] == local.manifest["content"]
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


def test_a_write_that_fails_leaves_a_run_that_resumes(bucket):
    """At any file, as it is opened, written or put: nothing looks finished, and the next run has the same content."""
    job = dp.Pipeline(dp.Filter(short), dp.Exact())
    docs = dp.read(f"{bucket}/in/articles.jsonl")
    Flaky.writes = 0
    content, n_writes = job.run(docs, f"{bucket}/out").manifest["content"], Flaky.writes
    assert n_writes > 5
    for number in range(1, n_writes + 1):
        out = f"{bucket}/{number}"
        Flaky.writes, Flaky.fails_at = 0, (number, ("open", "write", "commit")[number % 3])
        with pytest.raises((OSError, DataprepError), match="the bucket is full"):
            job.run(docs, out)
        Flaky.fails_at = (0, "")
        assert not files.exists(f"{out}/manifest.json")
        again = job.run(docs, out)
        assert again.manifest["content"] == content
        assert not any(dp.verify(out).values())


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
    monkeypatch.setattr(fsspec.core, "url_to_fs", lambda _: importlib.import_module("no_such_aiohttp"))
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
