"""The web page: what it may load, who may ask, and answers as they are generated."""

from __future__ import annotations

import base64
import hashlib
import http.client
import json
import re
import socket

import pytest

pytest.importorskip("torch")

from dataprep.errors import PlanError
from dataprep.voice.web import ChatServer, policy


def ask(server, method="GET", path="/", body=None, **headers):
    """The reply to one request: (status, headers, text)."""
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=60)
    try:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, path, body, named)
        reply = connection.getresponse()
        return reply.status, reply.headers, reply.read().decode()
    finally:
        connection.close()


def say(server, *turns, **headers):
    """The reply to a conversation; turns of user and assistant alternate."""
    messages = [{"role": ("user", "assistant")[i % 2], "content": text} for i, text in enumerate(turns)]
    body = json.dumps({"messages": messages})
    return ask(server, "POST", "/answer", body, Content_Type="application/json", **headers)


def test_the_page_loads_nothing_else(server):
    """One page, whose policy allows its own inline script and style by hash, and no other source."""
    status, headers, page = ask(server)
    assert status == 200
    assert headers["Content-Type"] == "text/html; charset=utf-8"
    found = dict(part.strip().split(" ", 1) for part in headers["Content-Security-Policy"].split(";"))
    assert found["default-src"] == found["base-uri"] == found["form-action"] == found["frame-ancestors"] == "'none'"
    assert found["connect-src"] == "'self'"
    for tag in ("script", "style"):
        (inner,) = re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(inner.encode()).digest()).decode()
        assert found[f"{tag}-src"] == f"'sha256-{digest}'"
    assert not re.search(r"(src|href)\s*=|https?://|innerHTML|insertAdjacentHTML|document\.write", page)
    assert "textContent" in page
    assert "style=" not in page
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Cache-Control"] == "no-store"
    assert policy(page.replace("send()", "send( )").encode()) != headers["Content-Security-Policy"]


def test_answers(server):
    """The answer to a conversation is the model's, as text; the card is the model's; the connection goes on."""
    status, headers, text = say(server, "are you there?", "always", "what is for dinner?")
    assert (status, text) == (200, "soup & <b>bread</b>")
    assert headers["Content-Type"] == "text/plain; charset=utf-8"
    assert "parameters" in ask(server, path="/card")[2]
    assert ask(server, path="/favicon.ico")[0] == 204
    assert ask(server, path="/../../etc/passwd")[0] == 404
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=60)
    for _ in range(2):
        connection.request("GET", "/card")
        assert connection.getresponse().read()
    connection.close()


def test_the_answer_is_streamed(server):
    """Each piece is a chunk of its own, and every chunk is whole characters."""
    body = json.dumps({"messages": [{"role": "user", "content": "is it cold?"}]}).encode()
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=60) as line:
        head = "POST /answer HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nConnection: close\r\n"
        line.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        raw = b"".join(iter(lambda: line.recv(4096), b""))
    rest, chunks = raw.partition(b"\r\n\r\n")[2], []
    while rest:
        size, _, rest = rest.partition(b"\r\n")
        chunks.append(rest[: int(size, 16)].decode())
        rest = rest[int(size, 16) + 2 :]
    assert chunks[-1] == ""
    assert len(chunks) > 3
    assert "".join(chunks) == "put on the other coat 🧥"


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"}, {"Host": "127.0.0.1.evil.example:8000"}, {"Host": "localhost.evil.example"},
        {"Host": ""}, {"Host": "127.0.0.1", "Origin": "http://evil.example"}, {"Origin": "null"},
        {"Host": "localhost:1", "Origin": "http://localhost:2"}, {"Host": "[::1"}, {"Host": "user@evil.example"},
    ],
    ids=lambda headers: " ".join(f"{name}={value}" for name, value in headers.items()),
)  # fmt: skip
def test_other_sites_are_refused(server, headers):
    """A name that somebody else's DNS resolves here, and a page of another origin, get nothing but a sentence."""
    for status, _, text in (say(server, "good night", **headers), ask(server, path="/card", **headers)):
        assert status == 403
        assert "answers only its own page" in text


def test_this_machine_is_known_by_address(server):
    """The names that the page is opened by are accepted, with the page's own origin."""
    for host in ("localhost:8000", "127.0.0.1:8000", "127.0.0.1", "[::1]:8000", "LOCALHOST", "192.168.1.7:8000"):
        assert say(server, "good night", Host=host, Origin=f"http://{host}")[2] == "sleep well"


def test_wrong_requests_are_one_sentence(server):
    """Another type, no JSON, turns out of order, no length, too long, another path."""
    kind = {"Content_Type": "application/json"}
    assert ask(server, "POST", "/answer", "{}", Content_Type="text/plain")[0] == 415
    assert ask(server, "POST", "/answer", "{", **kind)[::2] == (400, "the request must be JSON")
    assert ask(server, "POST", "/elsewhere", "{}", **kind)[0] == 404
    assert ask(server, "POST", "/answer", "{}", Content_Length=str((1 << 20) + 1), **kind)[0] == 413
    assert ask(server, "POST", "/answer", "[" * 100_000, **kind)[0] == 400
    turn = {"role": "user", "content": "x"}
    system, number = {"role": "system", "content": ""}, {"role": "user", "content": 3}
    wrong = [{"messages": turns} for turns in ([], [turn, turn], [system], [number])]
    for asked in [*wrong, [], {}, {"messages": [turn], "system": 3}, None, "x"]:
        status, _, text = ask(server, "POST", "/answer", json.dumps(asked), **kind)
        assert (status, "a request must be" in text) == (400, True), asked
    long = {"messages": [turn], "system": "be brief " * 400}
    assert "too long for this model" in ask(server, "POST", "/answer", json.dumps(long), **kind)[2]
    assert say(server, "half \ud83d")[0] == 200
    assert ask(server, "DELETE", "/")[0] == 501


def test_it_listens_to_this_machine_only(server, trained):
    """The default is loopback; a port that is taken is one sentence."""
    assert server.server_address[0] == "127.0.0.1"
    assert ChatServer.__init__.__kwdefaults__["host"] == "127.0.0.1"
    with pytest.raises(PlanError, match=r"cannot listen on 127\.0\.0\.1:\d+ .*another --port"):
        ChatServer(server.talk.voice, port=server.server_port)


def test_command(trained, dataprep, monkeypatch):
    """`dataprep chat --web` prints the address, and Ctrl-C ends it."""
    seen = []

    def serve(self):
        seen.append(self.url)
        raise KeyboardInterrupt

    monkeypatch.setattr(ChatServer, "serve_forever", serve)
    code, out, _ = dataprep("chat", trained["chatml"], "--web", "--port", 0)
    assert code == 0
    assert out.startswith(seen[0])
