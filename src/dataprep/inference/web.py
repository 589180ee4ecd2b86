"""A web page to chat with a model, served on this machine by Python's standard library; it loads no other file.

An answer is generated independently of the speed of its reader (`ahead`), so a slow reader does not block the model. An
error of the model is shown as one sentence, on the page and in the terminal, and the server continues.

To prevent pages of other sites from using the model (`shown/page_server.py`), the Host header must be an IP address or
a known name. The history of the conversation is stored in the page, not by the server.
"""

from __future__ import annotations

import base64
import hashlib
import importlib.resources
import ipaddress
import itertools
import json
import logging
import re
import sys
import threading
from collections.abc import Generator, Iterator
from contextlib import closing
from http import HTTPStatus
from http.server import ThreadingHTTPServer
from typing import Any

from dataprep.errors import PlanError, shown
from dataprep.shown.page_server import ONLY_SELF, TEXT, PageHandler
from dataprep.train import Sampling

from .ahead import ahead, sentence_of
from .chat_model import ChatModel
from .conversation import Conversation

log = logging.getLogger("dataprep")

MOST_BYTES = 1 << 20  # of a request
MOST_TURNS = 999  # of a request; page.html sends the newest of them
HOST = re.compile(r"(?:([a-z0-9._-]+)|\[([0-9a-f:.]+)\])(?::[0-9]{1,5})?")  # a name or an address, and its port
BROKEN = "\x1e"  # before the sentence about an error after the beginning of an answer; no answer contains it


class ChatServer(ThreadingHTTPServer):
    """Serves the page at / and answers at /answer, one at a time; `url` is its address.

    Attributes:
        host: the address on which the server listens.
        port: the port on which the server listens; 0 selects any free port.

    Raises PlanError if it cannot listen there.
    """

    daemon_threads = True

    def __init__(
        self, model: ChatModel, how: Sampling | None = None, max_tokens: int = 200, *, system: str = "",
        host: str = "127.0.0.1", port: int = 8000,
    ) -> None:  # fmt: skip
        self.talk, self.host = Conversation(model, how or Sampling(), max_tokens), host
        self.talk.reset(system)
        self.page = importlib.resources.files(__package__).joinpath("page.html").read_bytes()
        self.policy = policy(self.page)
        self.one_at_a_time, self.numbers = threading.Lock(), itertools.count()
        try:
            super().__init__((host, port), _Handler)
        except (OSError, OverflowError) as e:
            msg = f"cannot listen on {host}:{port} ({e}); choose another --port or --host"
            raise PlanError(msg) from e

    @property
    def url(self) -> str:
        """The address of the page."""
        return f"http://{self.host}:{self.server_port}/"

    def knows(self, host: str) -> bool:
        """Return whether a Host header is an IP address, localhost, or the name that the server listens on."""
        found = HOST.fullmatch(host.lower())
        if found is None:
            return False
        if found[1] in ("localhost", self.host.lower()):
            return True
        try:
            ipaddress.IPv4Address(found[1]) if found[1] else ipaddress.IPv6Address(found[2])
        except ValueError:
            return False
        return True

    def answer(self, asked: Any) -> Generator[str, None, None]:
        """Return a generator of the answer to {"messages": [{role, content} ...], "system": text}, piece by piece.

        The turns of user and assistant must alternate, and begin and end with a turn of the user; 999 are allowed.
        Raises PlanError if the turns are invalid.
        """
        messages, system = _turns(asked)
        talk = Conversation(
            self.talk.model, self.talk.how, self.talk.max_tokens, system or self.talk.system, messages[:-1],
            next(self.numbers),
        )  # fmt: skip
        return ahead(lambda: talk.say(messages[-1]["content"]), self.one_at_a_time)

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ARG002 - the names in the library
        """Log one sentence about an error that a connection ended with; the server continues."""
        log.warning("%s", sentence_of(sys.exc_info()[1] or Exception()))


def policy(page: bytes) -> str:
    """Return the Content-Security-Policy of a page: only its inline script and style, and requests to its server."""
    text = page.decode()
    sources = {}
    for tag in ("script", "style"):
        found = re.findall(rf"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
        digests = (base64.b64encode(hashlib.sha256(inner.encode()).digest()).decode() for inner in found)
        sources[tag] = " ".join(f"'sha256-{digest}'" for digest in digests)
    return f"default-src 'none'; script-src {sources['script']}; style-src {sources['style']}; {ONLY_SELF}"


def _turns(asked: Any) -> tuple[list[dict[str, str]], str]:
    """Return (turns, system's text) of a request. Raises PlanError if it has another form."""
    roles = ("user", "assistant")
    try:
        turns = [{"role": m["role"], "content": m["content"]} for m in asked["messages"]]
        texts = [*(m["content"] for m in turns), asked.get("system", "")]
        good = all(isinstance(text, str) for text in texts) and len(turns) % 2 == 1
        good = good and all(m["role"] == roles[i % 2] for i, m in enumerate(turns))
    except (TypeError, LookupError, AttributeError):
        good = False
    if not good:
        msg = 'a request must be {"messages": [{"role", "content"}, ...]}: user and assistant in turn, the user last'
        raise PlanError(msg)
    if len(turns) > MOST_TURNS:
        msg = f"a request of {len(turns):,} messages is too long; send the newest {MOST_TURNS} at most"
        raise PlanError(msg)
    return turns, texts[-1]


def _or_sentence(pieces: Iterator[str]) -> Iterator[str]:
    """Yield the pieces of an answer; after an error, log it, yield BROKEN and a sentence, and stop."""
    try:
        yield from pieces
    except Exception as e:  # noqa: BLE001 - the model broke, and the next request may not
        yield BROKEN + _logged(e)


def _logged(error: Exception) -> str:
    sentence = sentence_of(error)
    log.warning("%s", sentence)
    return sentence


class _Handler(PageHandler):
    server: ChatServer

    def do_GET(self) -> None:  # noqa: N802 - the name in the library
        """Send the page, or the model's card."""
        if "Content-Length" in self.headers or "Transfer-Encoding" in self.headers:
            self.close_connection = True  # the body is not read
        if not self.is_ours():
            return
        path = self.path.partition("?")[0]
        if path == "/":
            self.send(HTTPStatus.OK, self.server.page, "text/html; charset=utf-8")
        elif path == "/favicon.ico":
            self.send(HTTPStatus.NO_CONTENT, b"", "image/x-icon")
        elif path == "/card":
            self.say(HTTPStatus.OK, shown("\n".join(self.server.talk.model.card)))
        else:
            self.say(HTTPStatus.NOT_FOUND, "there is no such page; the page is at /")

    def do_POST(self) -> None:  # noqa: N802 - the name in the library
        """Send an answer, in chunks, as it is generated."""
        body = self.body("/answer", MOST_BYTES) if self.is_ours() else None
        if body is None:
            return
        try:
            asked = json.loads(body)
        except (ValueError, RecursionError):
            self.say(HTTPStatus.BAD_REQUEST, "the request must be JSON")
            return
        try:
            answer = self.server.answer(asked)
            first = next(answer, "")
        except PlanError as e:
            self.say(HTTPStatus.BAD_REQUEST, shown(str(e)))
        except Exception as e:  # noqa: BLE001 - the model broke, and the next request may not
            self.say(HTTPStatus.INTERNAL_SERVER_ERROR, _logged(e))
        else:
            with closing(answer) as pieces:
                self._stream(first, pieces)

    def _stream(self, first: str, pieces: Iterator[str]) -> None:
        self.head(HTTPStatus.OK, TEXT, {"Transfer-Encoding": "chunked"})
        for piece in itertools.chain([first], _or_sentence(pieces)):
            if data := piece.encode():
                self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))
        self.wfile.write(b"0\r\n\r\n")
