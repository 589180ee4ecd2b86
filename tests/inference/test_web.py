"""The web page: what it may load, who may ask, and answers as they are generated."""

from __future__ import annotations

import base64
import hashlib
import http.client
import json
import logging
import re
import socket
import struct
import threading

import pytest

pytest.importorskip("torch")

from dataprep.errors import DataprepError, PlanError
from dataprep.inference import chat_model as voice_module
from dataprep.inference.conversation import Conversation
from dataprep.inference.web import ChatServer, policy


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
        {"Host": "evil.example@localhost"}, {"Host": "localhost:evil"}, {"Host": "127.0.0.1:8765, evil.example"},
        {"Host": "localhost/evil.example"}, {"Host": "[localhost]"}, {"Host": "[127.0.0.1]"}, {"Host": "localhost:"},
    ],
    ids=lambda headers: " ".join(f"{name}={value}" for name, value in headers.items()),
)  # fmt: skip
def test_other_sites_are_refused(server, headers):
    """A name that somebody else's DNS resolves here, and a page of another origin, get nothing but a sentence."""
    for status, _, text in (say(server, "good night", **headers), ask(server, path="/card", **headers)):
        assert status == 403
        assert "accepts requests only from its page" in text
    for method in ("PUT", "OPTIONS", "DELETE"):
        assert ask(server, method, **headers)[::2] == (403, text)
    assert ask(server, "HEAD", **headers)[::2] == (403, "")


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
    for method in ("PUT", "OPTIONS", "DELETE", "BREW"):
        status, headers, text = ask(server, method)
        assert (status, headers["Allow"], text) == (405, "GET, POST", "this server answers only GET and POST")
    assert ask(server, "HEAD")[::2] == (405, "")


def test_a_request_of_too_many_turns(server):
    """999 messages are answered, 1,001 are one sentence; the page sends the newest 999."""
    assert say(server, *["x"] * 998, "good night")[0] == 200
    assert say(server, *["x"] * 1001)[::2] == (
        400, "a request of 1,001 messages is too long; send the newest 999 at most"
    )  # fmt: skip
    assert "asked.slice(-999)" in ask(server)[2]


def test_halves_of_surrogate_pairs(server):
    """In the system's text and in earlier turns they do no harm."""
    turns = [{"role": ("user", "assistant")[i % 2], "content": "\ud83d"} for i in range(3)]
    for asked in ({"messages": turns}, {"messages": turns, "system": "be \udc00"}):
        assert ask(server, "POST", "/answer", json.dumps(asked), Content_Type="application/json")[0] == 200


def raw(server, head, body=b""):
    """The reply to the bytes of a request, after which nothing is sent."""
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=60) as line:
        line.sendall(head.replace("\n", "\r\n").encode() + b"\r\n" + body)
        line.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: line.recv(4096), b"")).decode()


POST = "POST /answer HTTP/1.1\nHost: localhost\nContent-Type: application/json\n"


@pytest.mark.parametrize(
    ("head", "said"),
    [
        ("GET http://[/card HTTP/1.1\nHost: localhost\n", "a path that begins with /"),
        (POST.replace("/answer", "http://[x]/answer"), "a path that begins with /"),
        (POST + "Content-Length: 100\n", "has 2 bytes, but states 100"),
        (POST + "Content-Length: 2\nContent-Length: 3\n", "must state one length"),
        (POST + "Content-Length: 2\nTransfer-Encoding: chunked\n", "must state one length"),
        (POST + "Content-Length: -2\n", "must state one length"),
        (POST, "must state one length"),
        ("GET /card\x01 of HTTP/1.1\n", "not valid HTTP"),
    ],
    ids=["target", "target of POST", "truncated", "two lengths", "chunked", "negative", "no length", "no HTTP"],
)
def test_malformed_requests(server, capfd, head, said):
    """A sentence with 400, then the connection is closed; nothing is printed."""
    reply = raw(server, head, b"{}")
    assert reply.startswith("HTTP/1.1 400 ")
    assert "Connection: close" in reply
    assert said in reply
    assert capfd.readouterr() == ("", "")


def test_the_body_of_a_get_is_no_request(server):
    """What follows the head of a GET is not read as the next request."""
    reply = raw(server, "GET /card HTTP/1.1\nHost: localhost\nContent-Length: 9\n", b"GET / HTTP/1.1\r\n\r\n")
    assert reply.count("HTTP/1.1 ") == 1


def test_a_client_that_leaves(server, capfd, monkeypatch):
    """In the middle of an upload and of an answer: nothing is printed, and the next one is answered."""
    left, ended = threading.Event(), threading.Semaphore(0)
    end = server.shutdown_request
    monkeypatch.setattr(server, "shutdown_request", lambda line: (end(line), ended.release()))

    def endless(talk, text):
        left.wait(60)
        while True:
            yield "x" * 10_000

    def leave(request):
        line = socket.create_connection(("127.0.0.1", server.server_port), timeout=60)
        line.sendall(request.replace("\n", "\r\n").encode())
        line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # close with a reset
        line.close()

    body = json.dumps({"messages": [{"role": "user", "content": "is it cold?"}]})
    with monkeypatch.context() as patched:
        patched.setattr(Conversation, "say", endless)
        leave(f"{POST}Content-Length: {len(body)}\n\n{body}")
        leave(f"{POST}Content-Length: 100\n\n{body[:20]}")
        leave("GET / HTTP/1.1\nHost: evil.example\n\n")
        left.set()
        assert all(ended.acquire(timeout=60) for _ in range(3))
    assert say(server, "good night")[2] == "sleep well"
    assert capfd.readouterr() == ("", "")


def test_a_client_that_does_not_read(server, monkeypatch):
    """Others are answered while it does not read an answer of 16 MB, all of which it gets later."""
    flood, say_ = ["x" * 65_536] * 256, Conversation.say
    monkeypatch.setattr(Conversation, "say", lambda talk, text: iter_of(flood) if text == "flood" else say_(talk, text))
    body = json.dumps({"messages": [{"role": "user", "content": "flood"}]})
    with socket.socket() as line:
        line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        line.settimeout(60)
        line.connect(("127.0.0.1", server.server_port))
        head = f"{POST}Connection: close\nContent-Length: {len(body)}\n\n"
        line.sendall(head.replace("\n", "\r\n").encode() + body.encode())
        assert line.recv(9) == b"HTTP/1.1 "  # it is being answered
        assert say(server, "good night")[2] == "sleep well"
        assert b"".join(iter(lambda: line.recv(1 << 20), b"")).count(b"x" * 65_536) == 256


def iter_of(pieces, error=None):
    """A generator of the pieces, which ends with an error if there is one."""
    yield from pieces
    if error:
        raise error


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (DataprepError("out of memory on device='cpu': shorten the prompt"), "out of memory on device='cpu': shorten"),
        (KeyError("secret"), r"the answer failed because of an error in the program \(KeyError in test_web.py, line"),
    ],
    ids=["memory", "another"],
)
def test_errors_of_the_model(server, monkeypatch, caplog, error, said):
    """One sentence on the page and in the log, before the answer and within it; then the next one is answered."""
    monkeypatch.undo()
    for ids, status in (([], 500), (server.talk.model.tok.encode("never"), 200)):
        with monkeypatch.context() as patched, caplog.at_level(logging.WARNING, "dataprep"):
            patched.setattr(voice_module, "generate", lambda *_, ids=ids, **__: iter_of(ids, error))
            caplog.clear()
            found, _, text = say(server, "is it cold?")
        before, _, sentence = text.rpartition("\x1e")
        assert (found, before, len(caplog.records)) == (status, "never"[: 5 * len(ids)], 1)
        assert re.match(said, sentence), sentence
        assert sentence == caplog.messages[0]
        assert "secret" not in text
        assert say(server, "good night")[2] == "sleep well"


def test_it_listens_to_this_machine_only(server, trained):
    """The default is loopback; a port that is taken is one sentence."""
    assert server.server_address[0] == "127.0.0.1"
    assert ChatServer.__init__.__kwdefaults__["host"] == "127.0.0.1"
    with pytest.raises(PlanError, match=r"cannot listen on 127\.0\.0\.1:\d+ .*another --port"):
        ChatServer(server.talk.model, port=server.server_port)


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
    for words, said in (
        (("--web", "--say", "hi"), "use one of the two"), (("--port", 80), "add --web, or leave --port out"),
        (("--host", "::1", "--say", "hi"), "add --web, or leave --host out"),
    ):  # fmt: skip
        code, out, err = dataprep("chat", trained["chatml"], *words)
        assert (code, out, err.count("\n")) == (1, "", 1)
        assert said in err
