"""Apple's Messages: databases of several versions, archived texts, imessage-exporter's text, and damaged files."""

from __future__ import annotations

import json
import logging
import plistlib
import sqlite3
from datetime import datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dataprep as dp
from dataprep.core.model.ledger import Ledger
from dataprep.core.model.reader import Slice
from dataprep.errors import PlanError, ReadError
from dataprep.read.chats.imessage.reader import IMessage
from dataprep.read.chats.imessage.values import edits_of, text_of, time_of

START = 700_000_000  # 2023-03-08 20:26:40 in seconds since 2001
TABLES = """
CREATE TABLE message (ROWID INTEGER PRIMARY KEY AUTOINCREMENT, guid TEXT UNIQUE NOT NULL, text TEXT, handle_id INTEGER,
  subject TEXT, attributedBody BLOB, date INTEGER, is_from_me INTEGER, item_type INTEGER DEFAULT 0, group_title TEXT,
  group_action_type INTEGER DEFAULT 0, associated_message_guid TEXT, associated_message_type INTEGER DEFAULT 0,
  associated_message_emoji TEXT, balloon_bundle_id TEXT, is_audio_message INTEGER DEFAULT 0, date_edited INTEGER,
  date_retracted INTEGER, message_summary_info BLOB, thread_originator_guid TEXT);
CREATE TABLE handle (ROWID INTEGER PRIMARY KEY, id TEXT);
CREATE TABLE chat (ROWID INTEGER PRIMARY KEY, chat_identifier TEXT, display_name TEXT, style INTEGER);
CREATE TABLE chat_message_join (chat_id INTEGER, message_id INTEGER, PRIMARY KEY (chat_id, message_id));
CREATE TABLE chat_handle_join (chat_id INTEGER, handle_id INTEGER);
CREATE TABLE attachment (ROWID INTEGER PRIMARY KEY, filename TEXT, transfer_name TEXT, mime_type TEXT, is_sticker INTEGER);
CREATE TABLE message_attachment_join (message_id INTEGER, attachment_id INTEGER);
INSERT INTO handle VALUES (1, '+155501'), (2, 'bob@example.org');
INSERT INTO chat VALUES (1, '+155501', '', 45), (2, 'chat77', 'Tea club', 43), (3, 'chat78', NULL, 43),
  (4, '+155501', NULL, 45);
INSERT INTO chat_handle_join VALUES (1, 1), (2, 1), (2, 2), (3, 2), (3, 1);
"""  # noqa: E501
OLD = """
CREATE TABLE message (ROWID INTEGER PRIMARY KEY, guid TEXT, text TEXT, handle_id INTEGER, date INTEGER, is_from_me INTEGER);
CREATE TABLE handle (ROWID INTEGER PRIMARY KEY, id TEXT);
CREATE TABLE chat (ROWID INTEGER PRIMARY KEY, chat_identifier TEXT);
CREATE TABLE chat_message_join (chat_id INTEGER, message_id INTEGER);
"""  # noqa: E501


def archived(text: str) -> bytes:
    """An attributed string as Apple's typedstream holds it."""
    data = text.encode()
    size = bytes([len(data)]) if len(data) < 0x80 else (
        b"\x81" + len(data).to_bytes(2, "little") if len(data) < 1 << 16 else b"\x82" + len(data).to_bytes(4, "little")
    )  # fmt: skip
    head = b"\x04\x0bstreamtyped\x81\xe8\x03\x84\x01@\x84\x84\x84\x12NSAttributedString\0\x84\x84\x08NSObject\0\x85\x92"
    return head + b"\x84\x84\x84\x08NSString\x01\x94\x84\x01+" + size + data + b"\x86\x84\x02iI\x01\x05\x92\x84\x84\x84"


def database(path, rows, tables: str = TABLES, files=()):
    """Write a database; rows: one dict of columns per message, in which `chat` is the number of its chat."""
    path.unlink(missing_ok=True)
    with sqlite3.connect(path) as made:
        made.executescript(tables)
        for n, row in enumerate(rows, 1):
            chat = row.get("chat", 1)
            given_ = {"ROWID": n, "guid": f"G{n}", "date": (START + n) * 10**9, "is_from_me": 0, "handle_id": 1, **row}
            given_.pop("chat", None)
            marks = ", ".join("?" * len(given_))
            made.execute(f"INSERT INTO message ({', '.join(given_)}) VALUES ({marks})", list(given_.values()))
            if chat:
                made.execute("INSERT INTO chat_message_join VALUES (?, ?)", (chat, n))
        for n, (message, *values) in enumerate(files, 1):
            made.execute("INSERT INTO attachment VALUES (?, ?, ?, ?, ?)", (n, *values))
            made.execute("INSERT INTO message_attachment_join VALUES (?, ?)", (message, n))
    made.close()
    return path


def read_file(path, **fields):
    """Rows of a file, its drops, and its ledger."""
    ledger = Ledger("read", source="s")
    rows = [r for b in IMessage(**fields)(Slice(str(path), 0), ledger) for r in b.to_pylist()]
    return rows, ledger.drop_table().to_pylist(), ledger


def shown(rows):
    """What the tests compare."""
    return [(r["chat"], r["author"], r["kind"], r["text"], json.loads(r["meta"])) for r in rows]


EDITED = plistlib.dumps(
    {"ec": {"0": [{"d": 1.0, "t": archived("tae")}, {"d": 2.0, "t": archived("tea")}]}}, fmt=plistlib.FMT_BINARY
)
GONE = plistlib.dumps({"rp": [0], "ec": {}}, fmt=plistlib.FMT_BINARY)


def test_a_database(tmp_path) -> None:
    """Archived texts, edits, messages taken back, files, notices, answers, and reactions in meta of their message."""
    rows = [
        {"text": "tea?"},
        {"text": None, "attributedBody": archived("yes 😀" * 40), "is_from_me": 1, "handle_id": 0,
         "thread_originator_guid": "G1"},
        {"associated_message_guid": "p:0/G1", "associated_message_type": 2000, "is_from_me": 1, "text": "Loved “tea?”"},
        {"associated_message_guid": "bp:G1", "associated_message_type": 2006, "associated_message_emoji": "🍵"},
        {"associated_message_guid": "G2", "associated_message_type": 3001},
        {"text": "\ufffc", "chat": 2, "handle_id": 2},
        {"text": "look \ufffcup", "chat": 2, "subject": "Cups"},
        {"text": None, "item_type": 2, "group_title": "Tea club", "chat": 2},
        {"text": None, "item_type": 1, "group_action_type": 1, "chat": 2, "is_from_me": 1},
        {"text": None, "item_type": 6, "chat": 2},
        {"text": None, "attributedBody": archived("tea"), "date_edited": 5, "message_summary_info": EDITED},
        {"text": None, "message_summary_info": EDITED, "chat": 4, "date": START + 1},
        {"text": None, "message_summary_info": GONE},
        {"text": None, "balloon_bundle_id": "com.example.game", "chat": 3},
        {"text": "nobody's", "chat": None, "handle_id": 2},
        {"text": "", "is_audio_message": 1, "chat": 3, "date": 0},
        {"text": None, "attributedBody": b"\x04\x0bstreamtyped??"},
    ]  # fmt: skip
    files = [
        (6, "~/a/IMG 1.HEIC", "IMG 1.HEIC", "image/heic", 0),
        (7, "~/b/x", None, None, 1),
        (7, "~/b/c.pdf", "c.pdf", "application/pdf", 0),
        (16, "~/voice.caf", "voice.caf", "audio/x-caf", 0),
    ]
    found, drops, _ = read_file(database(tmp_path / "chat.db", rows, files=files), me="Noor")
    ilse, group = "+155501", "+155501, bob@example.org"
    expected = [
        ("bob@example.org", "bob@example.org", "text", "nobody's", {}),
        (ilse, "+155501", "text", "tea", {"edited": True}),  # of another chat with the same person, earlier
        (ilse, "+155501", "text", "tea?", {"reactions": {"❤️": 1, "🍵": 1}}),
        (ilse, "Noor", "text", "yes 😀" * 40, {}),
        (ilse, "+155501", "text", "tea", {"edited": True}),
        (ilse, "+155501", "deleted", "", {}),
        ("Tea club", "bob@example.org", "image", "", {"file": "IMG 1.HEIC"}),
        ("Tea club", "+155501", "sticker", "look \nup", {"files": ["x", "c.pdf"], "subject": "Cups"}),
        ("Tea club", None, "system", "+155501 named the conversation Tea club", {}),
        ("Tea club", None, "system", "Noor removed a member", {}),
        ("Tea club", "+155501", "call", "", {}),
        (group, "+155501", "audio", "", {"file": "voice.caf"}),
        (group, "+155501", "file", "", {}),
    ]
    assert shown(found) == expected
    assert found[3]["reply_to"] == found[2]["id"]
    assert found[2]["time"] == datetime(2023, 3, 8, 20, 26, 41)
    assert (found[1]["time"], found[11]["time"]) == (datetime(2023, 3, 8, 20, 26, 41), None)
    assert sorted(d["reason"] for d in drops) == ["reaction"] * 3 + ["unreadable_text"]
    assert len(found) + len(drops) == len(rows)
    ids = [r["id"] for r in found]
    assert ids == sorted(ids)


def test_an_old_database(tmp_path) -> None:
    """Few columns, times in seconds, no titles."""
    path = database(tmp_path / "sms.db", [{"text": "hi", "date": START}, {"text": "ho", "date": 0}], OLD)
    with sqlite3.connect(path) as made:
        made.execute("INSERT INTO chat VALUES (1, '+155502')")
    made.close()
    rows, drops, _ = read_file(path)
    assert [(r["chat"], r["author"], r["text"], r["time"]) for r in rows] == [
        ("+155502", "Unknown", "ho", None), ("+155502", "Unknown", "hi", datetime(2023, 3, 8, 20, 26, 40)),
    ]  # fmt: skip
    assert not drops


def test_strange_values(tmp_path) -> None:
    """A NUL, bytes as text, bytes that are not UTF-8, a message in two chats, a negative row, and an over-long text."""
    rows = [{"text": "a\0b"}, {"text": b"bytes"}, {"text": "x" * 99}, {"ROWID": -5, "guid": "N", "text": "neg"}]
    path = database(tmp_path / "chat.db", rows)
    with sqlite3.connect(path) as made:
        made.execute("INSERT INTO chat_message_join VALUES (2, 1)")
        made.execute("UPDATE message SET text = CAST(x'ff41' AS TEXT) WHERE ROWID = 2")
    made.close()
    found, drops, ledger = read_file(path, max_doc_bytes=50)
    assert [r["text"] for r in found] == ["neg", "a\0b", "\ufffdA"]
    assert [d["reason"] for d in drops] == ["too_long"]
    assert ledger.record.counts["imessage.invalid_utf8"] == 1


def test_files_that_are_no_database_of_messages(tmp_path) -> None:
    """Another database, a view as a table, a cut file, changes in a -wal file: each is an error that says so."""
    path = tmp_path / "chat.db"

    def refused(match: str, **fields):
        with pytest.raises(ReadError, match=match):
            read_file(path, **fields)

    with sqlite3.connect(path) as made:
        made.execute("CREATE TABLE message (guid TEXT)")
    made.close()
    refused("lacks date, handle_id")
    with pytest.raises(ReadError, match="0 tables have a column 'text'"):  # it is a database like others
        dp.read(str(path)).table()
    path.unlink()
    with sqlite3.connect(path) as made:
        made.executescript(OLD.replace("CREATE TABLE handle (ROWID INTEGER PRIMARY KEY, id TEXT)",
                                       "CREATE VIEW handle AS SELECT 1 AS id"))  # fmt: skip
    made.close()
    refused("table handle lacks id")
    database(path, [{"text": f"m{n}" * 50} for n in range(300)])
    whole = path.read_bytes()
    for size in (100, len(whole) // 2, len(whole) - 5_000):
        path.write_bytes(whole[:size])
        refused("damaged")
    path.write_bytes(whole[:40_000] + b"\0\xff" * 2_048 + whole[44_096:])
    refused("damaged")
    path.write_bytes(whole)
    (tmp_path / "chat.db-wal").write_bytes(b"x")
    refused("wal_checkpoint")
    with pytest.raises(ReadError, match="wal_checkpoint"):
        dp.read(str(path)).table()
    (tmp_path / "chat.db-wal").write_bytes(b"")
    assert len(read_file(path)[0]) == 300
    assert path.read_bytes() == whole
    assert sorted(p.name for p in tmp_path.iterdir()) == ["chat.db", "chat.db-wal"]
    database(path, [])
    refused("no records")


@given(st.text(max_size=300), st.integers(0, 40))
@settings(max_examples=60, deadline=None)
def test_archived_texts(text, cut) -> None:
    """Any text comes back; of a cut or changed archive None or a text, never another error."""
    assert text_of(archived(text)) == text
    assert text_of(archived(text * 300)) == text * 300
    data = archived(text)
    assert text_of(data[: -12 - cut]) is None or (not text and not cut)
    assert isinstance(text_of(data.replace(b"\x01+", bytes([1, 43, cut]), 1)), (str, type(None)))
    assert edits_of(data) is None


def test_times() -> None:
    """Seconds and nanoseconds since 2001; no time and impossible times are null."""
    assert time_of(START) == time_of(START * 10**9) == "2023-03-08T20:26:40+00:00"
    assert time_of(0) is time_of(None) is time_of("x") is time_of(1 << 62 << 40) is None


TEXT = """\
May 17, 2022  5:29:42 PM
Me
tea?

May 17, 2022  5:30:42 PM (Read by you after 1 hour, 49 seconds)
Ilse Varga
yes
at five

with milk
Tapbacks:
    Loved by Me
    🍵 by Bob
    May 17, 2022  5:33:00 PM
    Me
    an answer

May 17, 2022  5:31:42 PM
+155502
attachments/12/cup of tea.jpg
look
Sent with Confetti

May 17, 2022  5:32:42 PM You renamed the conversation to Tea club

May 17, 2022 11:32:42 PM
Ilse Varga
May 17, 2022 11:32:42 PM tae
Edited 1 minute later: tea

May 17, 2022  5:33:00 PM
Me
an answer
This message responded to an earlier message.

May 18, 2022 12:00:00 AM
Ilse Varga
They deleted a message.

May 18, 2022 12:00:01 AM
Ilse Varga
Sticker from Ilse Varga: attachments/1/s.heic

May 18, 2022 12:00:02 AM
Ilse Varga
I met him May 17, 2022 11:32:42 PM
Jan 05, 2021 10:30:00 AM was great

"""


@pytest.mark.parametrize("form", ["plain", "bom", "crlf"])
def test_text_of_imessage_exporter(tmp_path, form) -> None:
    """Authors, files, reactions, edits, notices; an answer that is shown twice is read once."""
    text = {"plain": TEXT, "bom": "\ufeff" + TEXT, "crlf": TEXT.replace("\n", "\r\n")}[form]
    path = tmp_path / "Tea club.txt"
    path.write_bytes(text.encode())
    rows, drops, ledger = read_file(path, me="Noor")
    assert shown(rows) == [
        ("Tea club", "Noor", "text", "tea?", {}),
        ("Tea club", "Ilse Varga", "text", "yes\nat five\n\nwith milk", {"reactions": {"❤️": 1, "🍵": 1}}),
        ("Tea club", "+155502", "image", "look", {"effect": "Sent with Confetti", "file": "cup of tea.jpg"}),
        ("Tea club", None, "system", "You renamed the conversation to Tea club", {}),
        ("Tea club", "Ilse Varga", "text", "tea", {"edited": True}),
        ("Tea club", "Noor", "text", "an answer", {"reply": True}),
        ("Tea club", "Ilse Varga", "deleted", "", {}),
        ("Tea club", "Ilse Varga", "sticker", "", {"file": "s.heic"}),
        ("Tea club", "Ilse Varga", "text",
         "I met him May 17, 2022 11:32:42 PM\nJan 05, 2021 10:30:00 AM was great", {}),
    ]  # fmt: skip
    assert not drops
    assert ledger.record.counts["imessage.answers_shown_twice"] == 1
    assert [rows[n]["time"].hour for n in (0, 4, 6)] == [17, 23, 0]


def test_recognised_by_its_first_bytes(tmp_path, caplog) -> None:
    """`dp.read` and `dp.chats.read` find both forms in a folder; other files named .db are listed as unread."""
    database(tmp_path / "chat.db", [{"text": "hi"}, {"text": "ho", "is_from_me": 1}])
    (tmp_path / "Tea club.txt").write_text(TEXT)
    (tmp_path / "Thumbs.db").write_bytes(b"\xd0\xcf\x11\xe0 pictures")
    with sqlite3.connect(tmp_path / "settings.db") as made:
        made.execute("CREATE TABLE options (name TEXT, value TEXT)")
    made.close()
    with caplog.at_level(logging.WARNING):
        docs = dp.read(str(tmp_path), me="Noor")
    assert {"Noor", "+155501", "Ilse Varga"} <= set(docs.table()["author"].to_pylist())
    assert docs.unread()["reason"].to_pylist() == ["not_a_chat"] * 2
    assert dp.chats.read(str(tmp_path)).num_rows == 11
    cut = tmp_path / "cut.txt"
    cut.write_text(TEXT[:27])
    assert dp.chats.read(str(cut))["text"].to_pylist() == [""]
    with pytest.raises(ReadError, match="expected form"):
        dp.read(str(cut.with_name("Tea club.txt")), format="signal").table()
    with pytest.raises(PlanError, match="must be the name"):
        IMessage(me="")
