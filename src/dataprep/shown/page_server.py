"""Handling of requests to pages that a command serves to this machine, with Python's standard library.

Pages of other sites must not reach such a server. The Host header must therefore be one that the server knows, since
somebody else's DNS can resolve any other name to this machine. An Origin header must name this server.
"""

from __future__ import annotations

import re
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from typing import Any

HEADERS = {
    "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin", "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}  # fmt: skip
ONLY_SELF = "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"  # of a policy
TEXT = "text/plain; charset=utf-8"


class PageHandler(BaseHTTPRequestHandler):
    """Answers requests that come from the server's own page, and rejects others with one sentence; logs nothing.

    A subclass defines the methods do_GET and do_POST. Its server has `policy`, the Content-Security-Policy of the
    pages, and `knows(host)`, which returns whether a Host header names the server.
    """

    server: Any
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "dataprep", ""
    timeout = 60

    def handle_one_request(self) -> None:
        """Answer one request; if the client disconnects, only its connection ends."""
        try:
            super().handle_one_request()
        except OSError:
            self.close_connection = True

    def send_error(self, code: int, *_: str | None, **__: str | None) -> None:
        """Send one sentence for a request that the library rejects: an unknown method, or invalid HTTP."""
        self.close_connection = True
        if code != HTTPStatus.NOT_IMPLEMENTED:
            self.say(HTTPStatus(code), "the request is not valid HTTP")
        elif self.is_ours():
            self.say(HTTPStatus.METHOD_NOT_ALLOWED, "this server answers only GET and POST")

    def is_ours(self) -> bool:
        """Return whether the request is addressed to this server and comes from its own page; else send an error."""
        host, origin = self.headers.get("Host", ""), self.headers.get("Origin")
        good = len(self.headers.get_all("Host", [])) == 1 and self.server.knows(host)
        good = good and (origin is None or origin == f"http://{host}")
        if good and (self.path.startswith("/") or self.path == "*"):
            return True
        self.close_connection = True
        if good:
            self.say(HTTPStatus.BAD_REQUEST, "the request must name a path that begins with /")
        else:
            self.say(HTTPStatus.FORBIDDEN, "this server accepts requests only from its page at the printed address")
        return False

    def body(self, path: str, most: int) -> bytes | None:
        """Return the body of a JSON request to `path`, of at most `most` bytes; None if an error was sent instead."""
        lengths = set(self.headers.get_all("Content-Length", []))
        length = lengths.pop() if len(lengths) == 1 and "Transfer-Encoding" not in self.headers else ""
        kind = (self.headers.get("Content-Type") or "").partition(";")[0].strip().lower()
        closing_now, self.close_connection = self.close_connection, True  # the body of a wrong request is not read
        if self.path.partition("?")[0] != path:
            self.say(HTTPStatus.NOT_FOUND, f"this address takes no requests; send them to {path}")
        elif kind != "application/json":
            self.say(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "the request must be application/json")
        elif not re.fullmatch(r"[0-9]+", length):
            self.say(HTTPStatus.BAD_REQUEST, "the request must state one length, in bytes")
        elif len(length) > len(str(most)) or int(length) > most:
            self.say(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"the request must have at most {most:,} bytes")
        elif len(body := self.rfile.read(int(length))) < int(length):
            self.say(HTTPStatus.BAD_REQUEST, f"the request has {len(body):,} bytes, but states {int(length):,}")
        else:
            self.close_connection = closing_now
            return body
        return None

    def say(self, status: HTTPStatus, text: str) -> None:
        """Send one sentence as plain text."""
        self.send(status, text.encode(), TEXT)

    def send(self, status: HTTPStatus, data: bytes, kind: str) -> None:
        """Send a complete response; `kind` is its Content-Type."""
        self.head(status, kind, {"Content-Length": str(len(data))})
        if self.command != "HEAD":
            self.wfile.write(data)

    def head(self, status: HTTPStatus, kind: str, more: dict[str, str]) -> None:
        """Send the status and all headers; `more` are further headers."""
        self.send_response(status)
        closes = {"Connection": "close"} if self.close_connection else {}
        if status == HTTPStatus.METHOD_NOT_ALLOWED:
            self.send_header("Allow", "GET, POST")
        headers = {"Content-Type": kind, "Content-Security-Policy": self.server.policy, **HEADERS, **more, **closes}
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name in the library
        """Log nothing, since requests are private."""
