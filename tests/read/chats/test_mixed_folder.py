"""A folder with exports of platforms that have several files, a database and XML: each file is read by its reader."""

from __future__ import annotations

import json
import os
import sqlite3

import pytest

import dataprep as dp
from dataprep.errors import PlanError
from dataprep.read.chats.discord_csv import chat_of as discord_chat
from dataprep.read.chats.headed import chat_of as headed_chat
from dataprep.read.chats.whatsapp.archives import chat_of as whatsapp_chat

SLACK = [{"type": "message", "user": "U1", "text": "tea <@U2>", "ts": "1700000000.000100"}]
DISCORD = [{"ID": 1, "Timestamp": "2023-05-01 10:00:00", "Contents": "sent", "Attachments": ""}]
FILES = {
    "slack/users.json": json.dumps([{"id": "U1", "name": "ilse"}, {"id": "U2", "name": "bob"}]),
    "slack/tea/2023-11-14.json": json.dumps(SLACK),
    "discord/messages/c1/messages.json": json.dumps(DISCORD),
    "discord/messages/c1/channel.json": json.dumps({"id": "1", "name": "cups"}),
    "line.txt": "[LINE] Chat history with Ilse\n\n2024/01/15(Mon)\n10:30\tIlse\thello\n",
    "sms.xml": '<smses count="1"><sms address="1" date="1700000000000" type="2" body="by phone"/></smses>',
    "exported.txt": "May 17, 2022  5:29:42 PM\nMe\nby Mac\n\n",
    "notes.xml": "<notes/>",
}


@pytest.fixture
def exports(tmp_path):
    """The folder."""
    for name, text in FILES.items():
        (tmp_path / "in" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "in" / name).write_text(text)
    with sqlite3.connect(tmp_path / "in" / "chat.db") as made:
        made.executescript(
            "CREATE TABLE message (guid TEXT, text TEXT, date INTEGER, is_from_me INTEGER, handle_id INTEGER);"
            "CREATE TABLE handle (id TEXT); CREATE TABLE chat (chat_identifier TEXT);"
            "CREATE TABLE chat_message_join (chat_id INTEGER, message_id INTEGER);"
            "INSERT INTO message VALUES ('a', 'from a database', 700000000, 1, 0);"
        )
    made.close()
    return str(tmp_path / "in")


def test_every_file_is_a_message_or_a_row_of_the_table(exports, tmp_path) -> None:
    """The owner has one name everywhere; what is not a chat is listed; a run gives the same rows."""
    docs = dp.read(exports, me="Noor")
    rows = {row["text"]: row["author"] for row in docs.table().to_pylist()}
    assert rows == {
        "tea @bob": "ilse", "sent": "Noor", "hello": "Ilse", "by phone": "Noor", "by Mac": "Noor",
        "from a database": "Noor",
    }  # fmt: skip
    left_out = {row["file"].rpartition("/in/")[2]: row["reason"] for row in docs.unread().to_pylist()}
    assert left_out == {"notes.xml": "not_a_chat"}, "files of names are read"
    done = dp.Pipeline().run(docs, out=str(tmp_path / "out"))
    assert done.table().sort_by("id").to_pylist() == docs.table().sort_by("id").to_pylist()
    assert sorted(dp.chats.read(exports, me="Noor")["text"].to_pylist()) == sorted(rows)
    assert dp.read(f"{exports}/line.txt", me="Noor").count == 1, "an export that names its owner"
    with pytest.raises(PlanError, match="no option 'mee'.*did you mean me"):
        dp.read(exports, mee="Noor")


def test_formats_can_be_named(exports) -> None:
    """Each platform has a name for `format=` and `platform=`."""
    for name, file in (("slack", "slack/tea/2023-11-14.json"), ("discord", "discord/messages/c1/messages.json"),
                       ("line", "line.txt"), ("sms", "sms.xml"), ("imessage", "chat.db")):  # fmt: skip
        assert dp.chats.read(f"{exports}/{file}", platform=name).num_rows == 1


@pytest.mark.parametrize("chat_of", [whatsapp_chat, discord_chat, headed_chat], ids=["whatsapp", "discord", "headed"])
def test_a_name_that_is_not_utf8(chat_of):
    """The name of the chat is text that UTF-8 can write, as the source is."""
    assert chat_of(os.fsdecode(b"/chats/bad\xff.txt")).encode().startswith(rb"bad\udcff")


def test_a_chat_in_a_file_whose_name_is_not_utf8(tmp_path):
    """Its messages are read, with the name as it can be written."""
    lines = "03/05/2024, 09:13 - Ada: hello\n23/05/2024, 09:14 - Bo: yes\n"
    (tmp_path / os.fsdecode(b"WhatsApp Chat with bad\xff.txt")).write_text(lines)
    rows = dp.read(str(tmp_path), format="whatsapp").take(10)
    assert {row["chat"] for row in rows} == {r"bad\udcff"}
