"""The server: who may ask, what it sends, what it hides, and that it follows the run's folder."""

from __future__ import annotations

import http.client
import json
import re
import shutil
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

pytest.importorskip("duckdb")

import dataprep as dp
from dataprep.errors import PlanError
from dataprep.explore.server import ExploreServer


@pytest.fixture
def serve():
    """Start a server about runs; it ends with the test."""
    servers = []

    def start(*urls):
        server = ExploreServer([str(url) for url in urls])
        threading.Thread(target=server.serve_forever, daemon=True).start()
        servers.append(server)
        return server

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def ask(server, path, method="GET", token=None, **headers):
    """The reply to one request: (status, headers, text)."""
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=60)
    try:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, f"/{server.token if token is None else token}/{path}", headers=named)
        reply = connection.getresponse()
        return reply.status, reply.headers, reply.read().decode(errors="replace")
    finally:
        connection.close()


def test_only_the_page_may_ask(rich, serve) -> None:
    """The loopback address, the token, this server's Host and Origin; all else is refused, for every path."""
    server = serve(rich)
    assert server.server_address[0] == "127.0.0.1"
    assert len(server.token) >= 32
    assert serve(rich).token != server.token
    here = f"127.0.0.1:{server.server_port}"
    for path in ("", "main.js", "runs", "0/run", "0/titles?ids=0:0"):
        assert ask(server, path)[0] == 200
        assert ask(server, path, Origin=f"http://{here}")[0] == 200
        for wrong in ("", "x", server.token[:-1], server.token + "x", "%"):
            status, _, text = ask(server, path, token=wrong)
            assert (status, "token" in text) == (403, True)
        for host in ("evil.example", f"evil.example:{server.server_port}", "127.0.0.1:1", "127.0.0.1", "10.0.0.1"):
            assert ask(server, path, Host=host)[0] == 403, host
        for origin in ("http://evil.example", "null", f"https://{here}", f"http://localhost:{server.server_port}"):
            assert ask(server, path, Origin=origin)[0] == 403, origin
    for method, status in (("PUT", 405), ("DELETE", 405), ("OPTIONS", 405), ("POST", 404)):
        assert ask(server, "0/run", method)[0] == status


def test_the_page_loads_only_its_own_files(rich, serve) -> None:
    """A policy without inline script and style; no path leads out of the package."""
    server = serve(rich)
    _, headers, page = ask(server, "")
    policy = dict(part.strip().split(" ", 1) for part in headers["Content-Security-Policy"].split(";"))
    assert policy["default-src"] == policy["base-uri"] == policy["form-action"] == policy["frame-ancestors"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
    assert headers["Referrer-Policy"] == "no-referrer"
    assert "style=" not in page
    for name in server.pages:
        text = ask(server, name)[2]
        assert "http://www.w3.org/2000/svg" in text or "http" not in text.replace("http-equiv", ""), name
        assert not any(word in text for word in ("innerHTML", "insertAdjacentHTML", "document.write", "eval(")), name
    for path in ("../server.py", "..%2fserver.py", "server.py", "0/run/x", "1/run", "0/nothing", "page/main.js"):
        assert ask(server, path)[0] == 404, path
    for path in ("0/drops?sort=x", "0/pair?id=x", "0/pair?id=7:7", "0/document?id=7:7", "0/threshold?at=2", "0/search",
                 "0/titles", "0/clusters?below=x", "0/drops?page=%ff"):  # fmt: skip
        status, _, text = ask(server, path)
        assert status == 400, path
        assert json.loads(text)["error"]


def test_without_duckdb_the_extra_is_named(rich, monkeypatch) -> None:
    """One sentence with the command that installs it."""
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(PlanError, match=r"pip install 'dataprep-lm\[explore\]'"):
        ExploreServer([str(rich)])


PERSON = "Wilhelmina Vandersloot"  # a name that we made up


def test_hidden_names_are_shown_nowhere(tmp_path, serve) -> None:
    """Every view of a folder behind Pseudonyms and Consent: no name, no text of a dropped document, no source."""
    people = ("Ott Kessler", PERSON)
    lines = [f"[01.02.2024 10:{i:02}] <{people[i % 2]}> I said to you, number {i // 4}" for i in range(40)]
    (tmp_path / "Vandersloot.txt").write_text("\n".join(lines), encoding="utf-8")
    docs = dp.read(str(tmp_path / "Vandersloot.txt"), format="chat", line="[{time:%d.%m.%Y %H:%M}] <{author}> {text}")
    short = dp.MC4(min_paragraphs=1, min_paragraph_chars=5)
    stages = (short, dp.Exact(), dp.chats.Pseudonyms(key=b"0123456789abcdef"))
    out = dp.Pipeline(*stages).run(docs, out=str(tmp_path / "out")).url
    server = serve(out)
    dropped = json.loads(ask(server, "0/drops?rows=200")[2])["drops"]
    assert dropped
    ids = [row["id"] for row in dropped]
    said = [ask(server, f"0/{name}")[2] for name in ("run", "suspicions", "boilerplate", "matrix", "clusters", "drops")]
    said += [ask(server, f"0/{view}?id={id_}")[2] for id_ in ids[:5] for view in ("pair", "document", "cluster")]
    said += [ask(server, f"0/titles?ids={','.join(ids)}")[2], ask(server, "0/search?text=said")[2]]
    limit = "stage=MC4&limit=min_paragraphs&at=2"
    more = ("thresholds", "changeable", "follow/search?text=said", "follow/what-if?stage=MC4&sample=0",
            f"follow/limit?{limit}", f"follow/limit?{limit}&measure=all",
            f"export?list=changes&{limit}&texts=1&as=jsonl", "export?list=sources&as=jsonl",
            "export?list=suspicions&as=jsonl")  # fmt: skip
    said += [ask(server, f"0/{name}")[2] for name in more]
    said += [ask(server, "0/review")[2], ask(server, "0/export?list=drops&as=jsonl&texts=1")[2]]
    assert said[-1].count("\n") == len(dropped)
    for text in said:
        assert not any(word in text for word in ("Wilhelmina", "Vandersloot", "Kessler")), text[:500]
    texts = json.loads(ask(server, f"0/titles?ids={','.join(ids)}")[2])["titles"]
    assert set(texts.values()) == {None}


def test_a_hidden_document_is_not_shown_by_its_copy_in_another_dataset(tmp_path, serve) -> None:
    """A document that equals one of `against=`, dropped before Pseudonyms: neither text is shown."""
    line = f"[01.02.2024 10:00] <{PERSON}> I said to you, one lamp\n"
    (tmp_path / "old.txt").write_text(line, encoding="utf-8")
    (tmp_path / "new.txt").write_text(line + line.replace("one lamp", "another word"), encoding="utf-8")
    form = {"format": "chat", "line": "[{time:%d.%m.%Y %H:%M}] <{author}> {text}"}
    old = dp.Pipeline().run(dp.read(str(tmp_path / "old.txt"), **form), out=str(tmp_path / "old"))
    stages = (dp.Exact(against=old.url), dp.chats.Pseudonyms(key=b"0123456789abcdef"))
    server = serve(dp.Pipeline(*stages).run(dp.read(str(tmp_path / "new.txt"), **form), out=str(tmp_path / "out")).url)
    (one,) = json.loads(ask(server, "0/drops")[2])["drops"]
    found = json.loads(ask(server, f"0/pair?id={one['id']}")[2])["pair"]
    assert (found["dropped"], found["kept"], found["kept_source"]) == (None, None, None)
    assert "lamp" not in ask(server, f"0/document?id={one['id']}")[2]


def test_a_raw_copy_elsewhere_is_not_shown_beside_pseudonyms(tmp_path, serve) -> None:
    """The document kept in a Dataset of `against=` that hides nothing; one behind Pseudonyms of its own is shown."""
    lines = [f"[01.02.2024 10:{i:02}] <{PERSON}> I sold {i} lamps and one rope at the harbour" for i in range(9)]
    (tmp_path / "Vandersloot.txt").write_text("\n".join(lines), encoding="utf-8")
    docs = dp.read(str(tmp_path / "Vandersloot.txt"), format="chat", line="[{time:%d.%m.%Y %H:%M}] <{author}> {text}")
    hide = dp.chats.Pseudonyms(key=b"0123456789abcdef")
    old = [dp.Pipeline(*some).run(docs, out=str(tmp_path / name)) for some, name in (((), "raw"), ((hide,), "safe"))]
    for made in old:
        out = dp.Pipeline(hide, dp.Exact(against=made.url)).run(docs, out=f"{made.url}-new").url
        server = serve(out)
        found = [ask(server, f"0/{view}?id=0:0")[2] for view in ("pair", "document")]
        assert "Vandersloot" not in "".join(found)
        both = json.loads(found[0])["pair"]
        assert both["dropped"] is not None
        assert (both["kept"] is None) == (made is old[0])


def test_private_data_is_shown_as_later_stages_replace_it(tmp_path, serve) -> None:
    """The texts of documents that a stage before PII dropped."""
    texts = [f"please write to someone{i % 3}@mail.example about the third lamp of the harbour" for i in range(6)]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps({"text": one}) + "\n" for one in texts))
    out = dp.Pipeline(dp.Exact(), dp.PII()).run(dp.read(str(tmp_path / "in.jsonl")), out=str(tmp_path / "out")).url
    server = serve(out)
    ids = [row["id"] for row in json.loads(ask(server, "0/drops")[2])["drops"]]
    assert len(ids) == 3
    said = [ask(server, f"0/{view}?id={ids[0]}")[2] for view in ("pair", "document")]
    said += [ask(server, f"0/titles?ids={','.join(ids)}")[2], ask(server, "0/search?text=harbour")[2]]
    said.append(ask(server, "0/follow/search?text=lamp")[2])
    assert not any("someone" in text for text in said)
    assert all("lamp of the harbour" in text for text in said[:3])


def test_many_requests_at_once_are_answered(rich, serve) -> None:
    """DuckDB refuses to open two cursors of a connection at once."""
    server = serve(rich)
    with ThreadPoolExecutor(8) as threads:
        paths = ["0/clusters", "0/drops", "0/review", "0/export?list=drops"] * 60
        assert {status for status, _, _ in threads.map(lambda path: ask(server, path), paths)} == {200}


def test_the_index_follows_the_folder(rich, tmp_path, serve) -> None:
    """After `forget`, no view has the texts of the documents; after a rerun, the numbers are the new ones."""
    from dataprep.forget.forget import forget

    out = tmp_path / "run"
    shutil.copytree(rich, out)
    server = serve(out)
    root = json.loads(ask(server, "0/clusters")[2])["clusters"][0]["root"]
    before = json.loads(ask(server, f"0/cluster?id={root}")[2])
    gone = before["drops"][0]["id"]
    assert before["cluster"]["source"] is not None
    for id_ in (gone, root):
        assert json.loads(ask(server, f"0/titles?ids={id_}")[2])["titles"][id_] is not None
    forget(str(out), [gone, root])
    for id_ in (gone, root):
        assert json.loads(ask(server, f"0/titles?ids={id_}")[2])["titles"][id_] is None
        assert json.loads(ask(server, f"0/document?id={id_}")[2])["text"] is None
    after = json.loads(ask(server, f"0/cluster?id={root}")[2])
    assert after["cluster"]["source"] is None
    assert after["cluster"]["end_reason"] == "forgotten"
    shutil.rmtree(out)
    shutil.copytree(rich, out)
    assert json.loads(ask(server, f"0/cluster?id={root}")[2]) == before


def test_the_command_prints_the_address(rich, dataprep, monkeypatch) -> None:
    """One line with the address; Ctrl-C ends the command without an error; a wrong folder is one sentence."""

    def interrupted(self):
        raise KeyboardInterrupt

    monkeypatch.setattr(ExploreServer, "serve_forever", interrupted)
    code, out, _ = dataprep("explore", str(rich), "--reviewer", "Ann")
    assert code == 0
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/[\w-]{32,}/ - Ctrl-C ends\n", out)
    code, _, said = dataprep("explore", str(rich.parent / "nothing"))
    assert (code, said.count("\n")) == (1, 1)
    assert "no sealed Dataset" in said


def test_a_run_that_drops_nothing_has_every_view(poor, serve) -> None:
    """Empty lists, no suspicion, no threshold, nothing to judge; the document itself is shown."""
    server = serve(poor)
    for name, empty in (("suspicions", "suspicions"), ("boilerplate", "suspicions"), ("clusters", "clusters"),
                        ("drops", "drops"), ("thresholds", "stages"), ("review", "reasons")):  # fmt: skip
        assert json.loads(ask(server, f"0/{name}")[2])[empty] == [], name
    assert json.loads(ask(server, "0/matrix")[2])["kept"]["docs"] == 2
    assert json.loads(ask(server, "0/document?id=0:0")[2])["text"] == "one text"
    assert ask(server, "0/export?list=clusters&as=jsonl")[2] == ""
