"""Files next to chats: each is read as what it is, but for attachments, and files with records but no texts."""

from __future__ import annotations

import json
import sqlite3
import zipfile

import pytest

import dataprep as dp
import laws
from dataprep.core.inputs.look_up import first_inputs
from dataprep.core.model.reader import reader_of, recorded
from dataprep.read.beside_chats import attachments
from dataprep.read.survey import survey

CHAT = "03/05/2024, 09:13 - Ada: hello\n23/05/2024, 09:14 - Bo: \u200e%s (file attached)\n"
LONG = "A ferry leaves the northern quay at six, and the baker sells rolls to those who wait. " * 3
NULLS = dict.fromkeys(("chat", "author", "time", "kind", "reply_to"))


@pytest.fixture
def folder(tmp_path):
    """A WhatsApp export in Unicode, one attachment, and files of six other formats."""
    home = tmp_path / "in"
    home.mkdir()
    (home / "WhatsApp Chat with Bo.txt").write_text(CHAT % "my plän.csv")
    (home / "my plän.csv").write_text(f'text\n"{LONG}"\n')
    (home / "rows.csv").write_text(f'n,text\n1,"{LONG}"\n')
    (home / "list.json").write_text(json.dumps([{"text": LONG, "n": 2}]))
    (home / "lines.jsonl").write_text(json.dumps({"text": LONG, "n": 3}) + "\n")
    (home / "notes.txt").write_text(f"did you see rows.csv {LONG}")
    (home / "book.ipynb").write_text(json.dumps({"cells": [{"cell_type": "markdown", "source": [LONG]}]}))
    with zipfile.ZipFile(home / "texts.zip", "w") as packed:
        packed.writestr("a/x.md", LONG)
    (home / "settings.json").write_text(json.dumps({"theme": "dark", "volume": 3}))
    (home / "pages.csv").write_text("name,count\na,1\n")
    with sqlite3.connect(home / "app.db") as made:
        made.execute("CREATE TABLE options (name TEXT)")
    made.close()
    return home


def test_each_file_is_read_as_what_it_is(folder, tmp_path, caplog) -> None:
    """One or two workers give the messages and the documents, with null message columns; the others are listed."""
    docs = dp.read(str(folder))
    found = dp.Pipeline().run(docs, out=str(tmp_path / "one"))
    again = dp.Pipeline().run(docs, out=str(tmp_path / "two"), runner=laws.TWO)
    rows = found.table().sort_by("id").to_pylist()
    assert rows == again.table().sort_by("id").to_pylist()
    assert found.manifest.content == again.manifest.content
    others = [row for row in rows if row["author"] is None]
    assert len(rows) == len(others) + 2 == 8
    assert all({name: row[name] for name in NULLS} == NULLS for row in others)
    assert all(row["text"].strip().endswith(LONG.strip()) for row in others)
    left_out = {row["file"].rpartition("/")[2]: row["reason"] for row in found.unread().to_pylist()}
    assert left_out == {
        "my plän.csv": "attachment", "settings.json": "not_a_chat", "pages.csv": "not_a_chat", "app.db": "not_a_chat",
    }  # fmt: skip
    assert "files that are not read: 3 (not_a_chat 3)" in caplog.text
    assert "files that are not read: 1 (attachment 1)" in caplog.text
    assert dp.chats.read(str(folder)).num_rows == 2


def test_what_was_dropped_and_restored(folder, tmp_path) -> None:
    """The recorded readers are made again: dropped documents are read from the input, and its columns restored."""
    done = dp.Pipeline(dp.Filter(lambda text: "ferry" not in text)).run(dp.read(str(folder)), out=str(tmp_path / "out"))
    assert done.dropped().count == 6
    assert {row["author"] for row in done.dropped()} == {None}
    for reader, _ in first_inputs(dp.read(str(folder)).parts):
        assert reader_of(recorded(reader)) == reader
    restored = done.to_arrow(restore=True)
    assert {"text", "author"} <= set(restored.column_names)


def test_init_finds_the_same(folder) -> None:
    """`init` has groups of chats, documents and notebooks; what the first `dp.read` lists is left out there too."""
    found = survey(str(folder))
    assert [(group.chats, sum(group.formats.values())) for group in found.groups] == [
        (True, 1), (False, 5), (False, 1),
    ]  # fmt: skip
    assert {url.rpartition("/")[2]: why for url, why in found.left_out.items()} == {
        "my plän.csv": "attachment", "settings.json": "not_a_chat", "pages.csv": "not_a_chat", "app.db": "not_a_chat",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("said", "is_sent"),
    [
        ("Ada: a b.pdf (file attached)", True), ("Ada: a b.pdf", True), ('{"file": "files/a b.pdf"}', True),
        ('{"file": "files\\/a b.pdf"}', True), ("Ada: <attached: a b.pdf>", True), ('<a href="files/a b.pdf">', True),
        ("Ada: have you read a b.pdf yet?", False), ("Ada: not a b.pdf (file attached)", False), ("Ada: b.pdf", False),
    ],
)  # fmt: skip
def test_statements_of_attachments(tmp_path, said, is_sent) -> None:
    """A name is one of an attachment as a whole, and where exports write it; also across the blocks of a file."""
    chat, sent, other = (str(tmp_path / name) for name in ("c.txt", "a b.pdf", "x/a b.pdf"))
    for filler in ("", "." * ((4 << 20) - len(said) // 2) + "\n"):
        (tmp_path / "c.txt").write_text(f"{filler}{said}\nmore\n")
        assert attachments([chat], [sent, other]) == ({sent, other} if is_sent else set())
    assert attachments([f"{tmp_path}/x/c.txt"], [sent]) == set(), "a chat that is not there, of another folder"


def test_pages_next_to_chats_in_html(tmp_path) -> None:
    """The other pages of an export in HTML are no documents; a page next to chats in JSON is one."""
    pytest.importorskip("resiliparse")
    page = f"<html><body><article><p>{LONG}</p></article></body></html>"
    (tmp_path / "lists.html").write_text(page)
    (tmp_path / "Ada.txt").write_text(CHAT % "x.pdf")
    assert dp.read(str(tmp_path)).count == 3
    begin = '<div class="page_body chat_page"><div class="history">'
    for name, content in (
        ("other/page.html", page), ("lists/contacts.html", page.replace("<article>", '<div class="page_wrap">')),
        ("chats/1/messages.html", f"<html><body>{begin}</div></div></body></html>"), ("chats/1/x/more.html", page),
    ):  # fmt: skip
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    docs = dp.read(str(tmp_path))
    left_out = {row["file"].removeprefix(f"{tmp_path}/"): row["reason"] for row in docs.unread().to_pylist()}
    assert left_out == dict.fromkeys(["chats/1/x/more.html", "lists/contacts.html"], "not_a_chat")
    assert {url.removeprefix(f"{tmp_path}/") for url in survey(str(tmp_path)).left_out} == left_out.keys()
    assert sum("ferry" in row["text"] for row in docs) == 2
