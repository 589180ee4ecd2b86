"""The server of the page: Python's standard library, on the loopback address, with a secret token in every URL.

A request must have the token, because other users of this machine can reach the port. It must have the Host and Origin
of this server, because a page of another site could send a request (`shown/page_server.py`). Answers are files of this
package and JSON. Only the judgements of a review are sent to the server, which saves them next to the run
(`history/review.py`). An error is reported in one sentence, and the server continues.

There are few requests, all from one person, and each is answered from memory or files in one thread. A framework with
an event loop would only add dependencies.
"""

from __future__ import annotations

import getpass
import importlib.resources
import json
import logging
import math
import secrets
import select
import socket
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from http import HTTPStatus
from http.server import ThreadingHTTPServer
from typing import Any, TypeVar
from urllib.parse import parse_qsl, unquote

from dataprep.core.run.runner import Local, Runner, Serial
from dataprep.errors import DataprepError, PlanError, shown
from dataprep.shown.page_server import ONLY_SELF, PageHandler
from dataprep.store import files
from dataprep.unicode.valid import printable

from . import comparing, documents, export, limits, lists, overview, rerun, review, thresholds
from .index import ExploredRun, RunIndex
from .view_query import ViewQuery
from .watched import Gone, Tell, WatchedRunner

log = logging.getLogger("dataprep")

R = TypeVar("R")
ADDRESS = "127.0.0.1"
MOST_BYTES = 1 << 16  # of a judgement
VIEWS: dict[str, Callable[[RunIndex, ViewQuery], dict[str, Any]]] = {
    "run": overview.run, "suspicions": overview.suspected, "boilerplate": overview.suspected_by_text,
    "matrix": overview.matrix, "clusters": lists.clusters, "cluster": lists.cluster, "drops": lists.drops,
    "titles": documents.titles, "pair": documents.pair, "document": documents.document, "search": documents.search,
    "thresholds": thresholds.thresholds, "threshold": thresholds.threshold, "stops": thresholds.stops,
    "limit": limits.limit, "changeable": rerun.changeable, "what-if": rerun.what_if_changed, "review": review.reviewed,
    "compare": comparing.compared,
}  # fmt: skip
KINDS = {"html": "text/html; charset=utf-8", "js": "text/javascript; charset=utf-8", "css": "text/css; charset=utf-8"}
POLICY = f"default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; {ONLY_SELF}"


class ExploreServer(ThreadingHTTPServer):
    """Serves the page about runs at `url`, and the files and data that the page requests.

    Attributes:
        runs: the runs, in the order of the page.
        token: the secret first part of all paths.
        policy: the Content-Security-Policy of all replies.
        reviewer: the name that is saved with each judgement.

    The indexes are made before the server listens. Args: `urls`, the folders of runs; `port`, 0 for any free port;
    `reviewer`, "" for the name of the user; `workers`, the number of processes for long work. Raises PlanError if it
    cannot listen there, or as `index.made` does.
    """

    daemon_threads = True
    policy = POLICY

    def __init__(self, urls: Sequence[str], port: int = 0, reviewer: str = "", workers: int = 1) -> None:
        self.reviewer, self.one_at_a_time, self.turn = reviewer or _user(), threading.Lock(), threading.Lock()
        self.runner: Runner = Local(workers) if workers > 1 else Serial()
        self.runs = [ExploredRun(url) for url in urls]
        for run in self.runs:
            run.index()
        self.token = secrets.token_urlsafe(24)
        self.pages = _pages()
        try:
            super().__init__((ADDRESS, port), _ExploreHandler)
        except (OSError, OverflowError) as e:
            msg = f"cannot listen on {ADDRESS}:{port} ({e}); choose another --port"
            raise PlanError(msg) from e

    def server_close(self) -> None:
        """Stop listening, free the indexes, and end the processes."""
        super().server_close()
        if isinstance(self.runner, Local):
            self.runner.stop()
        for run in self.runs:
            run.close()

    @property
    def url(self) -> str:
        """The address of the page, with the token."""
        return f"http://{ADDRESS}:{self.server_port}/{self.token}/"

    def knows(self, host: str) -> bool:
        """Return whether a Host header is the address and port of this server."""
        return host in (f"{ADDRESS}:{self.server_port}", f"localhost:{self.server_port}")

    def view(
        self, run: str, name: str, given: Mapping[str, str], tell: Tell = lambda *_: None,
        part: Callable[[dict[str, Any]], None] = lambda _: None,
    ) -> dict[str, Any]:  # fmt: skip
        """Return the data of a view of a run.

        - run: the number of the run, as text.
        - given: the parameters of the request.
        - tell: as in `WatchedRunner`.
        - part: as in `ViewQuery`.

        Raises KeyError if there is no such run or view.
        """
        chosen, of = VIEWS[name], self._run(run)
        other = self._run(given.get("with") or run).url  # a folder is never taken from a request
        asked = ViewQuery({**given, "other": other}, WatchedRunner(self.runner, self.turn, tell), part)
        return _with_index(of, lambda index: chosen(index, asked))

    def export(self, run: str, asked: ViewQuery) -> tuple[bytes, str, str]:
        """Return a list as a file, as `exported` does. Raises KeyError if there is no such run."""
        asked = replace(asked, runner=WatchedRunner(self.runner, self.turn, lambda *_: None))
        return _with_index(self._run(run), lambda index: export.exported(index, asked))

    def judge(self, run: str, given: Any) -> dict[str, Any]:
        """Save the answer of a reviewer. Raises KeyError if there is no such run, PlanError for an invalid answer."""
        of, answer = self._run(run), review.ReviewAnswer.of(given)
        with self.one_at_a_time:
            return review.judge(of.index(), answer, self.reviewer)

    def _run(self, number: str) -> ExploredRun:
        return dict(zip(map(str, range(len(self.runs))), self.runs, strict=True))[number]

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ARG002 - the names in the library
        """Log one sentence about an error that a connection ended with; the server continues."""
        log.warning("%s", shown(str(sys.exc_info()[1] or "a request failed")))


def _with_index(of: ExploredRun, made: Callable[[RunIndex], R]) -> R:
    """Return what a function makes of the index of a run; once more if a result was replaced meanwhile."""
    index = of.index()
    try:
        return made(index)
    except Exception:
        if (again := of.index()) is index:
            raise
        return made(again)


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):  # the user has no name on this machine
        return "unknown"


def _pages() -> dict[str, tuple[bytes, str]]:
    """Return {path: (content, Content-Type)} of the files of the page."""
    home = importlib.resources.files(__package__).joinpath("page")
    found = {one.name: one.read_bytes() for one in home.iterdir() if one.name.rpartition(".")[2] in KINDS}
    found["report.css"] = importlib.resources.files("dataprep.report").joinpath("style.css").read_bytes()
    found[""] = found.pop("index.html")
    return {name: (data, KINDS[name.rpartition(".")[2] or "html"]) for name, data in found.items()}


def plain(value: Any) -> Any:
    """Return a value of a view in the form of JSON: control characters are replaced; NaN and infinity become null."""
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, Mapping):
        return {printable(str(name)): plain(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


class _ExploreHandler(PageHandler):
    server: ExploreServer

    def do_GET(self) -> None:  # noqa: N802 - the name in the library
        """Send a file of the page, or the data of a view."""
        if "Content-Length" in self.headers or "Transfer-Encoding" in self.headers:
            self.close_connection = True  # the body is not read
        path, _, query = self.path.partition("?")
        rest = path.partition("/")[2].partition("/")[2]
        if not self._is_allowed():
            return
        if rest in self.server.pages:
            self.send(HTTPStatus.OK, *self.server.pages[rest])
        elif "/follow/" in rest:
            self._follow(rest.replace("/follow/", "/", 1), query)
        elif rest.endswith("/export"):
            self._export(rest.removesuffix("/export"), query)
        elif rest == "runs":
            self._json(HTTPStatus.OK, {"runs": [files.name_of(run.url) or run.url for run in self.server.runs]})
        else:
            self._view(rest, query)

    def do_POST(self) -> None:  # noqa: N802 - the name in the library
        """Save a judgement of the run in the path, `RUN/review`."""
        run = self.path.partition("?")[0].rpartition("/")[0].rpartition("/")[2]
        body = self.body(f"/{self.server.token}/{run}/review", MOST_BYTES) if self._is_allowed() else None
        if body is not None:
            self._answer(lambda: self.server.judge(run, json.loads(body)))

    def _is_allowed(self) -> bool:
        """Return whether a request comes from the page and has the token; otherwise send an error."""
        if not self.is_ours():
            return False
        token, slash, _ = self.path.partition("?")[0][1:].partition("/")
        if slash and secrets.compare_digest(token.encode("utf-8", "replace"), self.server.token.encode()):
            return True
        self.close_connection = True
        self.say(HTTPStatus.FORBIDDEN, "the address lacks the token; open the one that `dataprep explore` printed")
        return False

    def _view(self, path: str, query: str) -> None:
        """Send the data of the view `RUN/NAME`."""
        self._answer(lambda: self.server.view(*_asked(path, query)))

    def _follow(self, path: str, query: str) -> None:
        """Send the progress of the view `RUN/NAME` and the parts of its data, and then the data, a line of JSON each.

        If the page closes the connection, the work ends.
        """
        lines = _Lines(self)

        def tell(label: str, done: int, total: int) -> None:
            lines.send({"progress": {"label": label, "done": done, "total": total}})

        def view() -> dict[str, Any]:
            return self.server.view(*_asked(path, query), tell, lambda found: lines.send({"part": found}))

        def refuse(status: HTTPStatus, sentence: str) -> None:
            if lines.is_begun:
                lines.end({"error": sentence})
            else:
                self._json(status, {"error": sentence})

        self._attempt(view, lambda found: lines.end({"result": found}), refuse)

    def _export(self, run: str, query: str) -> None:
        """Send the rows of a list as a file."""

        def exported() -> tuple[bytes, str, str]:
            return self.server.export(run, ViewQuery(dict(parse_qsl(query, max_num_fields=50))))

        def send(file: tuple[bytes, str, str]) -> None:
            data, kind, name = file
            length, disposition = str(len(data)), f'attachment; filename="{name}"'
            self.head(HTTPStatus.OK, kind, {"Content-Length": length, "Content-Disposition": disposition})
            self.wfile.write(data)

        self._attempt(exported, send, self.say)

    def _answer(self, answer: Callable[[], dict[str, Any]]) -> None:
        """Send the result of a function as JSON, or one sentence if it raises an error."""

        def send(found: dict[str, Any]) -> None:
            self._json(HTTPStatus.OK, found)

        def refuse(status: HTTPStatus, sentence: str) -> None:
            self._json(status, {"error": sentence})

        self._attempt(answer, send, refuse)

    def _attempt(
        self, made: Callable[[], R], send: Callable[[R], None], refuse: Callable[[HTTPStatus, str], None]
    ) -> None:  # fmt: skip
        """Send the result of `made`, or by `refuse` one sentence if it raises an error."""
        try:
            found = made()
        except Gone:
            self.close_connection = True
        except KeyError:
            self.say(HTTPStatus.NOT_FOUND, "there is no such page")
        except (DataprepError, ValueError) as e:
            refuse(HTTPStatus.BAD_REQUEST, shown(str(e)))
        except Exception as e:  # noqa: BLE001 - one view failed, and the next may not
            sentence = f"{type(e).__name__}: {shown(str(e))}"
            log.warning("%s", sentence)
            refuse(HTTPStatus.INTERNAL_SERVER_ERROR, sentence)
        else:
            send(found)

    def _json(self, status: HTTPStatus, value: dict[str, Any]) -> None:
        self.send(status, json.dumps(plain(value), allow_nan=False).encode(), "application/json")


class _Lines:
    """A response of lines of JSON, which are sent as soon as they are known.

    Attributes:
        is_begun: whether a line was sent.
    """

    def __init__(self, handler: _ExploreHandler) -> None:
        self.handler, self.is_begun = handler, False

    def send(self, value: dict[str, Any]) -> None:
        """Send a line. Raises Gone if the page closed the connection."""
        connection = self.handler.connection
        try:
            if select.select([connection], [], [], 0)[0] and not connection.recv(1, socket.MSG_PEEK):
                raise Gone
            if not self.is_begun:
                self.is_begun = True
                self.handler.head(HTTPStatus.OK, "application/x-ndjson", {"Transfer-Encoding": "chunked"})
            self._write(json.dumps(plain(value), allow_nan=False).encode() + b"\n")
        except OSError as e:
            raise Gone from e

    def end(self, value: dict[str, Any]) -> None:
        """Send the last line."""
        self.send(value)
        self._write(b"")

    def _write(self, data: bytes) -> None:
        self.handler.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")


def _asked(path: str, query: str) -> tuple[str, str, dict[str, str]]:
    """Return the run, the view and the parameters that the path `RUN/NAME` and a query state."""
    run, _, name = unquote(path).partition("/")
    return run, name, dict(parse_qsl(query, errors="strict", max_num_fields=50))
