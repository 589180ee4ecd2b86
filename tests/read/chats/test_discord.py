"""DiscordChatExporter's files: every message once, with who, when, what kind, and what it answers."""

from __future__ import annotations

import json
import tracemalloc
from datetime import datetime

import pytest

import dataprep as dp
from dataprep.errors import PlanError, ReadError
from dataprep.read.chats.discord import Discord
from dataprep.read.chats.discord_csv import blocks

ADA = {"id": "11", "name": "ada", "nickname": "Ada L", "isBot": False}


def export(*messages, guild="9", name="general"):
    document = {"guild": {"id": guild, "name": "Tea"}, "channel": {"id": "5", "name": name}, "messages": list(messages)}
    return json.dumps({**document, "messageCount": len(messages)}, indent=2)


def said(content="x", sort="Default", **fields):
    time = "2024-05-01T10:00:01.123+02:00"
    return {"id": "1", "type": sort, "timestamp": time, "content": content, "author": ADA, **fields}


FILE = {"id": "1", "url": "https://cdn/x/a.PNG?ex=1", "fileName": "a.PNG"}
CASES = [
    (said("hi"), ("text", "Ada L", "hi", {})),
    (said("hi", author={"id": "2", "name": "bo", "isBot": True}), ("text", "bo", "hi", {"bot": True})),
    (said("hi", timestampEdited="2024-05-02"), ("text", "Ada L", "hi", {"edited": True})),
    (said("cap", attachments=[FILE]), ("image", "Ada L", "cap", {"file": "a.PNG"})),
    (said("", attachments=[{"fileName": "a.zip"}, FILE]), ("file", "Ada L", "", {"files": ["a.zip", "a.PNG"]})),
    (said("", stickers=[{"name": "wave"}]), ("sticker", "Ada L", "", {"sticker": "wave"})),
    (said("https://tenor.com/view/cat-1"), ("gif", "Ada L", "https://tenor.com/view/cat-1", {})),
    (said("", embeds=[{"title": "T", "description": "D", "fields": [{"name": "n", "value": "v"}]}]),
     ("text", "Ada L", "T\nD\nn\nv", {})),
    (said("a link", embeds=[{"title": "T"}]), ("text", "Ada L", "a link", {})),
    (said("x", reactions=[{"emoji": {"name": "👍"}, "count": 3}]), ("text", "Ada L", "x", {"reactions": {"👍": 3}})),
    (said("Joined the server.", "GuildMemberJoin"), ("system", None, "Ada L joined the server.", {})),
    (said("", "8"), ("system", None, "Ada L 8", {})),
    (said("Started a call that lasted 2 minutes.", "Call"),
     ("call", "Ada L", "Started a call that lasted 2 minutes.", {})),
]  # fmt: skip


@pytest.mark.parametrize(("message", "want"), CASES)
def test_kinds(rows_of, message, want) -> None:
    """Types, attachments, stickers and embeds give kind, author, text and meta; the clock is as written."""
    [row], drops = rows_of(Discord(), export(message))
    assert (row["kind"], row["author"], row["text"], json.loads(row["meta"])) == want
    assert row["time"] == datetime(2024, 5, 1, 10, 0, 1)
    assert not drops


def test_names_and_replies(rows_of) -> None:
    """Servers stand before channels; a reply names the message it refers to; authors are called as asked."""
    reply = said(sort="Reply", id="3", reference={"messageId": "7"})
    messages = [said(id="7"), reply, said(reference={"messageId": None})]
    rows, _ = rows_of(Discord(author="name"), export(*messages))
    assert [r["reply_to"] for r in rows] == [None, rows[0]["id"], None]
    assert {(r["chat"], r["author"]) for r in rows} == {("Tea / general", "ada")}
    rows, _ = rows_of(Discord(author="id"), export(said(), guild="0", name="bo"))
    assert [(r["chat"], r["author"]) for r in rows] == [("bo", "11")]


CSV = """\
\ufeffAuthorID,Author,Date,Content,Attachments,Reactions
"11","ada","{0}","two
lines, \"\"quoted\"\"","",""
"12","bo","{1}","","https://cdn/a.png?ex=1,https://cdn/b.mp4","👍 (2),:x: (1)"
"12","bo","{1}","Joined the server.","",""
"12","bo","","Started a call that lasted 3 minutes.","",""
"""


@pytest.mark.parametrize(
    ("first", "second", "options"),
    [
        ("2024-05-01T10:00:00.1230000+02:00", "2024-05-13T22:01:00.0000000+02:00", {}),
        ("01-May-24 10:00 AM", "13-May-24 10:01 PM", {}),
        ("05/01/2024 10:00 AM", "05/13/2024 10:01 PM", {}),
        ("01.05.2024 10:00", "13.05.2024 22:01", {}),
        ("5/1/2024 10:00 AM", "5/13/2024 10:01 PM", {"date_order": "mdy"}),
    ],
)
def test_csv(rows_of, first, second, options) -> None:
    """Records with line breaks, in the dates of any version; the platform's own sentences are told by their words."""
    rows, drops = rows_of(Discord(**options), CSV.format(first, second), "Tea - Text - general [123].csv")
    assert [(r["id"], r["author"], r["kind"], r["text"], json.loads(r["meta"])) for r in rows] == [
        (0, "ada", "text", 'two\nlines, "quoted"', {}),
        (1, "bo", "image", "", {"files": ["a.png", "b.mp4"], "reactions": {"👍": 2, ":x:": 1}}),
        (2, None, "system", "bo joined the server.", {}),
        (3, "bo", "call", "Started a call that lasted 3 minutes.", {}),
    ]
    times = [datetime(2024, 5, 1, 10, 0), datetime(2024, 5, 13, 22, 1), datetime(2024, 5, 13, 22, 1), None]
    assert [r["time"] for r in rows] == times
    assert {r["chat"] for r in rows} == {"Tea / general"}
    assert not drops


def test_bad_records(rows_of) -> None:
    """Records with too few fields, too long or not UTF-8 are dropped with their numbers."""
    good = b'1,a,2024-05-01T10:00:00,"x",,\n' * 400
    bad = b"1,a\n1,a,2024-05-01T10:00:00," + b"y" * 999 + b",,\n1,a,2024-05-01T10:00:00,\xff,,\n"
    rows, drops = rows_of(Discord(max_doc_bytes=100), CSV[: CSV.index("\n") + 1].encode() + good + bad, "c.csv")
    assert len(rows) == 400
    reasons = ["too_few_fields", "too_long", "invalid_utf8"]
    assert [(d["id"], d["reason"]) for d in drops] == list(enumerate(reasons, 400))


def test_a_line_without_end_is_not_held_in_memory(tmp_path) -> None:
    """Of a CSV whose second line is 32 MB, a small part is in memory before it is refused."""
    head = CSV[: CSV.index("\n") + 1].encode()
    (tmp_path / "c.csv").write_bytes(head + b"1,a,2024-05-01T10:00:00," + b"x" * (1 << 25))
    tracemalloc.start()
    with pytest.raises(ReadError, match="field larger than field limit"):
        list(blocks(str(tmp_path / "c.csv")))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1 << 24


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (export(said())[:-60], "the export ends in the middle of its messages"),
        (export(), "the chat has no messages"),
        ('{"name": "x", "messages": [{}]}', "the file has no Discord channel; its fields are name, messages"),
        (json.dumps({f"field{i}": 1 for i in range(50)}), r"its fields are field0, .* field[0-9]+, \.\.\.; "),
        ("a,b\n1,2\n", "its first line is 'a,b', not 'AuthorID,Author,Date,Content'"),
        (CSV[:80], "record 0, or one soon after it, is damaged or truncated"),
        ("AuthorID,Author,Date,Content\n", "the file contains no records"),
    ],
)
def test_bad_files(rows_of, data, says) -> None:
    """A cut, empty or foreign file is one sentence."""
    with pytest.raises(ReadError, match=says):
        rows_of(Discord(), data)


@pytest.mark.parametrize("options", [{"author": "tag"}, {"date_order": "dym"}])
def test_bad_parameters(options) -> None:
    """A wrong choice is told with those there are."""
    with pytest.raises(PlanError, match="must be one of"):
        Discord(**options)


def test_real_exports(shared) -> None:
    """Every message of the real exports is there, with its author's nickname unless the platform speaks."""
    for path in sorted((shared / "chats" / "discord").glob("*.json")):
        messages = json.loads(path.read_text())["messages"]
        rows = dp.read(str(path)).table().to_pylist()
        assert len(rows) == len(messages)
        kinds = {"Default": "text", "Call": "call"}
        assert [r["kind"] for r in rows] == [kinds.get(m["type"], "system") for m in messages]
        for row, m in zip(rows, messages, strict=True):
            assert row["author"] == (None if row["kind"] == "system" else m["author"]["nickname"])
            assert str(row["time"]) == m["timestamp"][:19].replace("T", " ")
