"""Other limits of filters, runs without a stage, progress and the end of long work, and files of what views show."""

from __future__ import annotations

import http.client
import io
import json
import threading

import pytest

pytest.importorskip("duckdb")

import pyarrow.parquet as pq

import dataprep as dp
from dataprep.core.model.batch import parse_id
from dataprep.explore import documents, export, limits, overview, rerun, thresholds
from dataprep.explore.index import ExploredRun
from dataprep.explore.server import ExploreServer, plain
from dataprep.explore.view_query import ViewQuery
from dataprep.explore.watched import Gone, WatchedRunner
from dataprep.history.scored import at_values, measured_scores, scored_of
from dataprep.history.what_if import what_if

MAIL = "jane.roe@mail.example"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run in which a filter counts words of Arabic and English texts, before mail addresses are replaced."""
    place = tmp_path_factory.mktemp("limits")
    words = {"web": "write to us about the third lamp of the harbour", "عربي": "كان يا ما كان في قديم الزمان ملك عادل"}
    for name, text in words.items():
        texts = [f"{text} {MAIL} " + " ".join(f"w{n // 3}x{i}" for i in range(n)) for n in range(30)]
        rows = "".join(json.dumps({"text": one}, ensure_ascii=False) + "\n" for one in texts)
        (place / f"{name}.jsonl").write_text(rows, encoding="utf-8")
    gopher = dp.Gopher(min_words=20, min_stop_words=None, max_mean_word_chars=None, min_alphabetic=None)
    docs = dp.read({name: str(place / f"{name}.jsonl") for name in words})
    dp.Pipeline(gopher, dp.PII(), dp.Exact(), dp.MinHash(threshold=0.7)).run(docs, out=str(place / "run" / "clean"))
    return str(place / "run")


@pytest.fixture(scope="module")
def index(run):
    """Its index."""
    return ExploredRun(run).index()


def ask(view, index, **given):
    """The answer of a view, as the page gets it."""
    return json.loads(json.dumps(plain(view(index, ViewQuery(given)))))


def test_limits_are_those_of_python(index, run) -> None:
    """The figures of `at_values`, documents at the border with private data replaced, and the filter as code."""
    near, gopher = ask(thresholds.thresholds, index)["stages"]
    assert (near["stage"], gopher["stage"], near["limits"]) == ("MinHash", "Gopher", [])
    (limit,) = [one for one in gopher["limits"] if one["name"] == "min_words"]
    assert limit["value"] == 20
    assert {10, 20, 40} <= set(limit["stops"])
    asked = {"stage": "Gopher", "limit": "min_words", "at": "25"}
    assert ask(limits.limit, index, **asked)["how"] is None
    found = ask(limits.limit, index, **asked, measure="all")
    step = scored_of(run)
    (wanted,) = at_values(step, measured_scores(step, dp.tools.Serial()), "min_words", [25])
    assert (found["dropped"], found["new"], found["back"]) == (wanted.dropped, len(wanted.new), len(wanted.back))
    assert found["new"] == sum(row["new"] for row in found["sources"]) > 0
    assert len(found["stops"]) == len(limit["stops"])
    values = [doc["value"] for doc in found["new_docs"]]
    assert values == sorted(values, reverse=True)
    assert {doc["source"] for doc in found["new_docs"]} == {"web", "عربي"}
    assert all("<email>" in doc["text"] for doc in found["new_docs"])
    off = "max_mean_word_chars=None, min_alphabetic=None, min_stop_words=None"
    assert found["code"] == f"dp.Gopher(min_words=25, {off})"
    back = ask(limits.limit, index, **{**asked, "at": "12"}, measure="all")
    assert back["back"] > 0
    assert MAIL not in json.dumps([back, found])
    rows = export.exported(index, ViewQuery({**asked, "list": "changes", "measure": "all", "texts": "1"}))[0]
    table = pq.read_table(io.BytesIO(rows)).to_pylist()
    assert [row["change"] for row in table] == ["newly dropped"] * found["new"]
    assert all("<email>" in row["text"] for row in table)


def test_documents_at_a_limit_are_those_of_a_joined_dataset(tmp_path) -> None:
    """Two Datasets are joined: ids, texts and the file of changes are those of the second one."""
    gopher, parts = dp.Gopher(min_words=4, min_stop_words=None, min_alphabetic=None), []
    for name in ("first", "عربي"):
        texts = [" ".join([name, *(f"lamp{i}" for i in range(n))]) for n in range(9)]
        rows = "".join(json.dumps({"text": one}, ensure_ascii=False) + "\n" for one in texts)
        (tmp_path / f"{name}.jsonl").write_text(rows, encoding="utf-8")
        parts.append(dp.Pipeline(gopher).run(dp.read(str(tmp_path / f"{name}.jsonl")), str(tmp_path / "run" / name)))
    both = dp.Pipeline().run(dp.read(parts), str(tmp_path / "run" / "both"))
    index = ExploredRun(str(tmp_path / "run")).index()
    kept = {row["id"]: row["text"] for row in both.table().to_pylist()}
    for at in ("2", "7"):
        asked = {"stage": "عربي/Gopher", "limit": "min_words", "at": at, "measure": "all"}
        found = ask(limits.limit, index, **asked)
        some = found["back_docs"] + found["new_docs"]
        assert {doc["text"].count(" ") + 1 for doc in some} == ({2, 3} if at == "2" else {4, 5, 6})
        assert all(doc["text"].startswith("عربي") and parse_id(doc["id"]) >= parse_id("1:0") for doc in some)
        assert all(kept[parse_id(doc["id"])] == doc["text"] for doc in found["new_docs"])
        rows = export.exported(index, ViewQuery({**asked, "list": "changes", "texts": "1"}))[0]
        table = pq.read_table(io.BytesIO(rows)).to_pylist()
        assert {row["text"] for row in table} == {doc["text"] for doc in some}


def test_what_if_is_that_of_python(index, run) -> None:
    """Stages that cannot be changed state why; the figures of `dp.tools.what_if`, and its call as code."""
    stages = {one["stage"]: one for one in ask(rerun.changeable, index)["stages"]}
    assert list(stages) == ["Gopher", "PII", "Exact", "MinHash"]
    assert "before it decides" in stages["MinHash"]["refused"]
    assert {"name": "min_words", "value": "20"} in stages["Gopher"]["parameters"]
    for change, given in (("", None), ("min_words=25", {"min_words": 25})):
        found = ask(rerun.what_if_changed, index, stage="Gopher", change=change, sample="0")
        wanted = what_if(run, "Gopher", given, sample=None)
        numbers = [one._asdict() for one in (wanted.back, wanted.new, wanted.text)]
        assert [found[name] for name in ("back", "new", "text")] == numbers
        assert found["later"] == ["Exact", "MinHash"]
        assert eval(found["code"], {"dp": dp}) == wanted  # noqa: S307 - as a user would run it
    with pytest.raises(Exception, match="must be NAME=VALUE"):
        ask(rerun.what_if_changed, index, stage="Gopher", change="min_words")


def test_every_view_is_a_file(index) -> None:
    """Sources, suspicions, hits of a search, the members of a cluster, and changes of a MinHash."""

    def rows(**given):
        lines = export.exported(index, ViewQuery({**given, "as": "jsonl"}))[0].splitlines()
        return [json.loads(line) for line in lines]

    found, sources = ask(overview.matrix, index), rows(list="sources")
    assert sum(row["docs"] for row in sources if row["reason"] == "read") == found["read"]["docs"]
    removed = sum(row["docs"] for row in sources if row["stage"] == "Gopher")
    assert removed == sum(one["docs"] for one in found["columns"] if one["stage"] == "Gopher")
    views = (overview.suspected, overview.suspected_by_text)
    assert len(rows(list="suspicions")) == sum(len(ask(view, index)["suspicions"]) for view in views)
    hits, shown = rows(list="hits", text="lamp"), ask(documents.search, index, text="lamp")
    assert [row["id"] for row in hits if row["kept"]][:20] == [hit["id"] for hit in shown["kept"]["hits"]]
    assert sum(row["times"] for row in hits if not row["kept"]) == shown["times_removed"] > 0
    one = next(row for row in rows(list="drops", stage="MinHash"))
    members = rows(list="drops", cluster=one["id"])
    (own,) = [row for row in rows(list="clusters") if row["root"] == one["duplicate_of"]]
    assert len(members) == own["removed"]
    changes = rows(list="changes", stage="MinHash", at="0.99", texts="1")
    other = ask(thresholds.threshold, index, stage="MinHash", at="0.99")
    assert len(changes) == other["back"] + other["new"] > 0
    assert all(row["text"] for row in changes)


@pytest.fixture(scope="module")
def server(run):
    """A server about the run."""
    with ExploreServer([run]) as one:
        threading.Thread(target=one.serve_forever, daemon=True).start()
        yield one
        one.shutdown()


def followed(server, path, token=None, **headers):
    """The status and the lines of a followed view."""
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=60)
    connection.request("GET", f"/{server.token if token is None else token}/0/follow/{path}", headers=headers)
    reply = connection.getresponse()
    found = reply.status, [line for line in reply.read().decode().splitlines() if line]
    connection.close()
    return found


def test_long_work_reports_progress(server) -> None:
    """Progress first, then each part, then the result: that of the view; errors as a line or a status."""
    status, lines = followed(server, "search?text=lamp")
    found = [json.loads(line) for line in lines]
    assert status == 200
    kinds = [next(iter(one)) for one in found]
    assert (kinds[0], kinds[-1]) == ("progress", "result")
    parts = [one["part"] for one in found if "part" in one]
    result = found[-1]["result"]
    assert parts[0]["kept"] == result["kept"]
    assert [one["hit"] for one in parts[1:]] == result["hits"]
    assert all(one["progress"]["done"] <= one["progress"]["total"] for one in found if "progress" in one)
    stops = [json.loads(line) for line in followed(server, "stops?stage=MinHash")[1]]
    assert [one["part"]["threshold"] for one in stops if "part" in one] == stops[-1]["result"]["stops"]
    assert followed(server, "search")[0] == 400
    assert followed(server, "nothing")[0] == 404
    assert followed(server, "search?text=x", token="x")[0] == 403  # noqa: S106 - a wrong one
    assert followed(server, "search?text=x", Host="evil.example")[0] == 403
    assert followed(server, "search?text=x", Origin="http://evil.example")[0] == 403


def test_work_ends_when_the_page_moves_on(server, monkeypatch) -> None:
    """The connection is closed during the second task: no further task runs, and the next work has its turn."""
    ran, closed = [], threading.Event()

    class Waits:
        """A Runner whose second task waits until the page has closed the connection."""

        workers, memory = 1, None

        def map(self, task, items, label=""):
            for number, item in enumerate(items):
                ran.append(number)
                assert number < 1 or closed.wait(60)
                yield task(item)

    monkeypatch.setattr(limits, "_scores", lambda index, asked, step: list(asked.runner.map(str, [0] * 50, "slow")))
    monkeypatch.setattr(server, "runner", Waits())
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=60)
    connection.request("GET", f"/{server.token}/0/follow/limit?stage=Gopher&limit=min_words")
    reply = connection.getresponse()
    told = [json.loads(reply.readline())["progress"] for _ in range(2)]
    assert told == [{"label": "slow", "done": done, "total": 50} for done in (0, 1)]
    reply.close()
    connection.close()
    closed.set()
    assert server.turn.acquire(timeout=60)
    server.turn.release()
    assert ran == [0, 1]


def test_one_list_of_tasks_at_a_time() -> None:
    """A second request waits for its turn, and can be ended while it waits."""
    turn = threading.Lock()
    first = WatchedRunner(dp.tools.Serial(), turn, lambda *_: None).map(str, [1, 2])
    assert next(first) == "1"
    told = []

    def tell(*given):
        told.append(given)
        if len(told) > 1:
            raise Gone

    with pytest.raises(Gone):
        next(WatchedRunner(dp.tools.Serial(), turn, tell).map(str, [3]))
    assert list(first) == ["2"]
    assert not turn.locked()
