"""A run on an object store that is busy, slow and loses answers gives the bytes of a local run.

Needs s3fs, and the program `moto_server`, which is installed apart from dataprep, on the PATH.
"""

from __future__ import annotations

import http.client
import http.server
import itertools
import json
import shutil
import socket
import subprocess
import threading
import time
from typing import ClassVar

import pytest

import dataprep as dp
from dataprep.store import files, remote

s3fs = pytest.importorskip("s3fs")
SERVER = shutil.which("moto_server")
pytestmark = pytest.mark.skipif(SERVER is None, reason="there is no moto_server")
BUSY = b"<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>"


class Proxy(http.server.BaseHTTPRequestHandler):
    """Forwards requests; some are refused, answered late, or done without an answer."""

    protocol_version = "HTTP/1.1"
    port = 0
    count: ClassVar[itertools.count] = itertools.count(1)
    faults: ClassVar[dict[str, int]] = {}  # {fault: every how manieth request}
    seen: ClassVar[list[str]] = []

    def do_GET(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        number = next(Proxy.count)
        fault = next((name for name, every in Proxy.faults.items() if number % every == 0), "")
        Proxy.seen.append(f"{self.command} {fault}".strip())
        if fault == "busy":
            self.answer(503, {}, BUSY)
            return
        if fault == "slow":
            time.sleep(0.2)
        server = http.client.HTTPConnection("127.0.0.1", Proxy.port)
        server.request(self.command, self.path, body, dict(self.headers))
        found = server.getresponse()
        data = found.read()
        server.close()
        if fault == "lost":
            self.close_connection = True
            return
        left_out = ("connection", "date", "server")
        kept = {name: value for name, value in found.getheaders() if name.lower() not in left_out}
        self.answer(found.status, kept, data)

    do_HEAD = do_PUT = do_POST = do_DELETE = do_GET  # noqa: N815 - the names that the library calls

    def answer(self, status, headers, data):
        self.send_response(status)
        for name, value in {"Content-Length": str(len(data)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def log_message(self, *_):
        pass


@pytest.fixture
def bucket(monkeypatch):
    """The URL of an empty bucket behind the proxy, which does nothing yet."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        Proxy.port = free.getsockname()[1]
    monkeypatch.setattr(Proxy, "faults", {})
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    words = [SERVER, "-H", "127.0.0.1", "-p", str(Proxy.port)]
    with (
        subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server,
        http.server.ThreadingHTTPServer(("127.0.0.1", 0), Proxy) as proxy,
    ):
        threading.Thread(target=proxy.serve_forever, daemon=True).start()
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{proxy.server_port}")
        for _ in range(300):
            with socket.socket() as asked:
                if not asked.connect_ex(("127.0.0.1", Proxy.port)):
                    break
            time.sleep(0.1)
        s3fs.S3FileSystem.clear_instance_cache()  # those of other servers
        s3fs.S3FileSystem().mkdir("faults")
        yield "s3://faults"
        proxy.shutdown()
        server.terminate()
    s3fs.S3FileSystem.clear_instance_cache()


def short(text):
    """Drop some documents."""
    return len(text) > 50


def test_a_run_on_a_bad_store_gives_the_same_bytes(bucket, tmp_path):
    """With 503s, slow answers and lost ones, of requests of all kinds."""
    lines = b"".join(json.dumps({"text": f"{n} sentence, " * (n % 9)}).encode() + b"\n" for n in range(200))
    for home in (bucket, str(tmp_path)):
        files.write_bytes(f"{home}/in/a.jsonl", lines)
    local = dp.Pipeline(dp.Filter(short)).run(dp.read(f"{tmp_path}/in"), str(tmp_path / "out"))
    Proxy.seen.clear()
    Proxy.faults.update(busy=11, lost=13, slow=17)
    found = dp.Pipeline(dp.Filter(short)).run(dp.read(f"{bucket}/in"), f"{bucket}/out")
    Proxy.faults.clear()
    assert {"GET busy", "PUT busy", "GET lost", "GET slow"} <= set(Proxy.seen)
    assert found.manifest.content == local.manifest.content
    for name in [shard.name for shard in local.manifest.shards]:
        assert files.read(f"{bucket}/out/{name}") == files.read(f"{tmp_path}/out/{name}")
    assert not any(dp.tools.verify(f"{bucket}/out").values())


def test_files_appear_whole_or_not_at_all(bucket, monkeypatch):
    """A file is one PUT; a large one that breaks off leaves no upload; one of two processes creates a file."""
    monkeypatch.setattr(remote, "PUT", 5 << 20)  # the least of S3
    Proxy.seen.clear()
    files.write_bytes(f"{bucket}/small", bytes(1 << 20))
    assert Proxy.seen == ["PUT"]
    with pytest.raises(ZeroDivisionError), files.atomic(f"{bucket}/large") as f:
        f.write(bytes(remote.PUT + 1))
        raise ZeroDivisionError
    with files.atomic(f"{bucket}/large") as f:
        f.write(bytes(remote.PUT))
        f.write(b"end")
    assert (files.size(f"{bucket}/large"), files.read(f"{bucket}/large")[-4:]) == (remote.PUT + 3, b"\0end")
    assert not s3fs.S3FileSystem().list_multipart_uploads("faults")
    Proxy.count = itertools.count(1)
    Proxy.faults["lost"] = 1
    threading.Timer(0.3, Proxy.faults.clear).start()  # the PUT is done and sent again
    assert files.create(f"{bucket}/claim", b"one")
    assert not files.create(f"{bucket}/claim", b"two")
