"""Tables of SQLite, and dumps of Stack Exchange."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from xml.sax.saxutils import quoteattr

import pytest

import dataprep as dp
from dataprep.errors import PlanError, ReadError
from dataprep.read.survey import survey


def made(folder, name="a.db"):
    """A database with two tables; returns its path."""
    with sqlite3.connect(folder / name) as database:
        database.execute("CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT, n REAL, lang TEXT, raw BLOB)")
        rows = [(k + 1, f"text {k}", k / 2, "en" if k % 2 else "fr", b"abc") for k in range(5)]
        database.executemany("INSERT INTO notes VALUES (?, ?, ?, ?, ?)", [*rows, (9, None, None, None, None)])
        database.execute('CREATE TABLE "odd ""name" (body TEXT)')
        database.execute('INSERT INTO "odd ""name" VALUES (?)', ("é",))
    database.close()
    return str(folder / name)


@pytest.mark.parametrize("name", ["a.db", "a.sqlite", "a b?.sqlite3"])
def test_rows_are_documents(tmp_path, name) -> None:
    """The only table with the column of the text; bytes and nulls are left out; a row without text is dropped."""
    docs = dp.read(made(tmp_path, name), columns=["n"], source="field:lang")
    done = dp.Pipeline().run(docs, out=str(tmp_path / "out"))
    assert [(row["id"], row["text"], row["source"], row["n"]) for row in done][:2] == [
        (0, "text 0", "fr", 0.0), (1, "text 1", "en", 0.5),
    ]  # fmt: skip
    assert json.loads(done[0]["meta"]) == {"id": 1, "lang": "fr"}
    assert done.stats[0].reasons == {"no_text": 1}


def test_tables_and_queries(tmp_path) -> None:
    """A table with an odd name, and the rows of a query."""
    url = made(tmp_path)
    assert [row["text"] for row in dp.read(url, table='odd "name', text="body")] == ["é"]
    query = "SELECT text || '!' AS text, id FROM notes WHERE id < 3 ORDER BY id DESC"
    assert [row["text"] for row in dp.read(url, query=query)] == ["text 1!", "text 0!"]
    with pytest.raises(ReadError, match=r"there is no such table; name one .*notes \(id, text, n, lang, raw\)"):
        dp.read(url, table="x").table()
    with pytest.raises(ReadError, match="0 tables have a column 'txt'"):
        dp.read(url, text="txt").table()
    with pytest.raises(ReadError, match="check table= and query="):
        dp.read(url, query="SELEKT").table()
    with pytest.raises(PlanError, match="not both"):
        dp.read(url, query="SELECT 1", table="x")


def test_damage_and_other_charsets(tmp_path) -> None:
    """A truncated database is one sentence; a text that is not UTF-8 is dropped; a write is not possible."""
    url = made(tmp_path)
    whole = (tmp_path / "a.db").read_bytes()
    (tmp_path / "b.db").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ReadError, match="cannot be read as an SQLite database"):
        dp.read(str(tmp_path / "b.db")).table()
    with sqlite3.connect(url) as database:
        database.execute("UPDATE notes SET text = CAST(x'ff' AS TEXT) WHERE id = 2")
    database.close()
    done = dp.Pipeline().run(dp.read(url), out=str(tmp_path / "out"))
    assert done.stats[0].reasons == {"invalid_utf8": 1, "no_text": 1}
    with pytest.raises(ReadError, match="readonly|read-only|attempt to write"):
        dp.read(url, query="DELETE FROM notes").table()
    assert survey(url).groups[0].formats == {"sqlite": 1}


def test_stack_exchange(tmp_path) -> None:
    """Posts are the text of their HTML after the title, comments plain text; positions are offsets of rows."""
    pytest.importorskip("resiliparse")
    body = "<p>How do I tie a <b>bowline</b>?</p>\n<pre><code>x &lt; 1</code></pre>"
    rows = [f'<row Id="1" PostTypeId="1" Title="Knots" Body={quoteattr(body)} />', '<row Id="2" Body="" />']
    data = '<?xml version="1.0" encoding="utf-8"?>\n<posts>\n  ' + "\n  ".join(rows) + "\n</posts>"
    (tmp_path / "Posts.xml").write_text(data)
    done = dp.Pipeline().run(dp.read(str(tmp_path / "Posts.xml")), out=str(tmp_path / "out"))
    assert done[0]["text"].startswith("Knots\n\nHow do I tie a bowline?")
    assert "x < 1" in done[0]["text"]
    assert json.loads(done[0]["meta"]) == {"Id": "1", "PostTypeId": "1", "Title": "Knots"}
    assert data.encode()[done[0]["id"] :].startswith(b"<row")
    assert done.stats[0].reasons == {"no_text": 1}
    (tmp_path / "Comments.xml").write_text('<comments>\n<row Id="1" Text="a &amp; b" />\n</comments>')
    assert [row["text"] for row in dp.read(str(tmp_path / "Comments.xml"))] == ["a & b"]
    (tmp_path / "Posts.xml").write_text(data[:-20])
    with pytest.raises(ReadError, match="the XML ends early"):
        dp.read(str(tmp_path / "Posts.xml")).table()


@pytest.mark.parametrize("kind", ["wal", "journal"])
def test_changes_that_are_not_in_the_database_are_said(tmp_path, kind) -> None:
    """A program that is open, or was killed, leaves rows in a file beside it: nothing is missing in silence."""
    path = tmp_path / "a.db"
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE t (text, picture)")
        database.execute("INSERT INTO t VALUES ('kept', x'00ff')")
        database.commit()
    docs = dp.Pipeline().run(dp.read(str(path)), out=str(tmp_path / "out"))
    assert docs.stats[0].counts["values_of_bytes"] == 1
    (tmp_path / f"a.db-{kind}").write_bytes(b"changes")
    with pytest.raises(ReadError, match=f"a.db-{kind} has changes"):
        dp.read(str(path)).table()
