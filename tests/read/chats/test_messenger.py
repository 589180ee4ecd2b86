"""Messenger's and Instagram's files: repaired, turned round, every message once."""

from __future__ import annotations

import json
from datetime import datetime, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dataprep as dp
from dataprep.errors import ReadError
from dataprep.read.chats import messenger as meta
from dataprep.read.chats.messenger import Instagram, Messenger, repaired

NOW = 1_700_000_000_000


def broken(text):
    """As Meta writes it: each byte of UTF-8 a character."""
    return text.encode().decode("latin-1")


def said(content="x", who="Zoë Q", at=0, **fields):
    sender, time = broken(who), NOW + 1000 * at
    return {"sender_name": sender, "timestamp_ms": time, "content": broken(content), "type": "Generic", **fields}


def export(*messages, title="Thé"):
    document = {"participants": [{"name": broken("Zoë Q")}], "messages": list(messages), "title": broken(title)}
    return json.dumps({**document, "thread_path": "inbox/the_1"})


CASES = [
    (said("dé🙂"), ("text", "Zoë Q", "dé🙂", {})),
    (said("", photos=[{"uri": "m/a.jpg"}, {"uri": "m/b.jpg"}]), ("image", "Zoë Q", "", {"files": ["a.jpg", "b.jpg"]})),
    (said("", videos=[{"uri": "m/a.mp4"}]), ("video", "Zoë Q", "", {"file": "a.mp4"})),
    (said("", audio_files=[{"uri": "m/a.mp4"}]), ("audio", "Zoë Q", "", {"file": "a.mp4"})),
    (said("", gifs=[{"uri": "m/a.gif"}]), ("gif", "Zoë Q", "", {"file": "a.gif"})),
    (said("", sticker={"uri": "s/1.png"}), ("sticker", "Zoë Q", "", {"file": "1.png"})),
    (said("", files=[{"uri": "m/a.docx"}]), ("file", "Zoë Q", "", {"file": "a.docx"})),
    (said("see", share={"link": "https://e.org", "share_text": "it"}), ("text", "Zoë Q", "see\nit\nhttps://e.org", {})),
    (said("https://e.org", share={"link": "https://e.org"}), ("text", "Zoë Q", "https://e.org", {})),
    (said("x", reactions=[{"reaction": broken("❤"), "actor": "B"}, {"reaction": broken("❤"), "actor": "C"}]),
     ("text", "Zoë Q", "x", {"reactions": {"❤": 2}})),
    (said("", is_unsent=True), ("deleted", "Zoë Q", "", {})),
    (said("You called Bo.", call_duration=7), ("call", "Zoë Q", "You called Bo.", {})),
    (said("Zoë missed your video call."), ("call", "Zoë Q", "Zoë missed your video call.", {})),
    (said("You missed a call from Bo."), ("call", "Zoë Q", "You missed a call from Bo.", {})),
    (said("Zoë Q named the group Tea."), ("system", None, "Zoë Q named the group Tea.", {})),
    (said("Zoë Q added Bo to the group.", type="Subscribe"), ("system", None, "Zoë Q added Bo to the group.", {})),
    (said("You removed Bo from the group."), ("system", None, "You removed Bo from the group.", {})),
    (said("Reacted ❤ to your message "), ("system", None, "Reacted ❤ to your message ", {})),
    (said("Zoë Q created a poll: Tea?"), ("poll", "Zoë Q", "Zoë Q created a poll: Tea?", {})),
    (said("Zoë Q sent a live location."), ("location", "Zoë Q", "Zoë Q sent a live location.", {})),
    (said("You set the table, Bo added you to the group"),
     ("text", "Zoë Q", "You set the table, Bo added you to the group", {})),
    (said("Zoë missed the train"), ("text", "Zoë Q", "Zoë missed the train", {})),
    (said("Bo added you to the group."), ("text", "Zoë Q", "Bo added you to the group.", {})),
]  # fmt: skip


@pytest.mark.parametrize(("message", "want"), CASES)
@pytest.mark.parametrize("reader", [Messenger(), Instagram()])
def test_kinds(rows_of, message, want, reader) -> None:
    """Fields and the platform's own sentences give kind, author, text and meta, all repaired."""
    [row], drops = rows_of(reader, export(message))
    assert (row["kind"], row["author"], row["text"], json.loads(row["meta"])) == want
    assert row["chat"] == "Thé"
    assert not drops


@given(st.text())
def test_repair(text) -> None:
    """What Meta broke is mended, and what no bytes of UTF-8 could give is left as it is."""
    assert repaired(broken(text)) == text
    if any(ord(c) > 255 for c in text):
        assert repaired(text) == text


def test_the_newest_comes_last(rows_of, monkeypatch) -> None:
    """Files are turned round, whatever is read at once; one that is oldest first is left so; times are UTC."""
    newest_first = [said(str(n), at=n) for n in range(9, 0, -1)]
    for group in (2, 512):
        monkeypatch.setattr(meta, "GROUP", group)
        for messages in (newest_first, newest_first[::-1]):
            rows, _ = rows_of(Messenger(), "\ufeff" + export(*messages))
            assert [(r["id"], r["text"]) for r in rows] == [(n, str(n + 1)) for n in range(9)]
    assert rows[0]["time"].replace(tzinfo=timezone.utc).timestamp() == NOW // 1000 + 1


def test_several_files_of_a_chat(tmp_path) -> None:
    """Of numbered files the highest is the oldest, and read first; sources are the chats' folders."""
    folder = tmp_path / "inbox" / "the_1"
    folder.mkdir(parents=True)
    for number, at in ((1, 40), (2, 20), (10, 0)):
        (folder / f"message_{number}.json").write_text(export(*(said(f"{at + k}", at=at + k) for k in (1, 0))))
    table = dp.read(str(tmp_path)).table()
    assert table["text"].to_pylist() == ["0", "1", "20", "21", "40", "41"]
    assert set(table["source"].to_pylist()) == {"the_1"}


def test_encrypted_chats(rows_of) -> None:
    """The newer form has other field names and no broken letters."""
    messages = [
        {"senderName": "Zoë", "text": "Ã©", "timestamp": NOW, "type": "text", "isUnsent": False, "media": [],
         "reactions": [{"actor": "B", "reaction": "❤"}]},
        {"senderName": "Bo", "text": "", "timestamp": NOW - 1000, "type": "media", "isUnsent": False,
         "media": [{"uri": "./media/a.jpeg"}]},
    ]  # fmt: skip
    rows, _ = rows_of(Messenger(), json.dumps({"participants": ["Zoë"], "threadName": "Bo_3", "messages": messages}))
    assert [(r["author"], r["kind"], json.loads(r["meta"])) for r in rows] == [
        ("Bo", "image", {"file": "a.jpeg"}),
        ("Zoë", "text", {"reactions": {"❤": 1}}),
    ]
    assert {r["chat"] for r in rows} == {"Bo_3"}


def test_bad_messages(rows_of) -> None:
    """What is no message is dropped under its ordinal."""
    text = export(*(said(str(n), at=n) for n in range(300, 0, -1)))
    rows, drops = rows_of(Messenger(), text.replace('"messages": [', '"messages": [7, {1}, '))
    assert [r["id"] for r in rows] == list(range(300))
    assert [(d["id"], d["reason"]) for d in drops] == [(300, "not_json"), (301, "not_an_object")]


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (export(said(), said())[:120], "the export ends in the middle of its messages"),
        (export(said())[:-2], "the file ends early"),
        (export(), "the chat has no messages"),
        (
            '{"name": "x", "messages": [{}]}',
            "the file has no Messenger or Instagram chat; its fields are name, mess",
        ),
    ],
)
def test_bad_files(rows_of, data, says) -> None:
    """A cut, empty or foreign file is one sentence."""
    with pytest.raises(ReadError, match=says):
        rows_of(Messenger(), data)


def test_real_export(shared) -> None:
    """Every message of the real export is there, oldest first."""
    path = shared / "chats" / "messenger" / "2A_7M.json"
    messages = json.loads(path.read_text("utf-8-sig"))["messages"][::-1]
    rows = dp.read(str(path)).table().to_pylist()
    assert [(r["author"], r["text"]) for r in rows] == [(m["sender_name"], m.get("content", "")) for m in messages]
    assert [r["kind"] for r in rows] == ["image", "sticker", "audio", "file", "text", "text", "text"]
    at = [datetime.fromtimestamp(m["timestamp_ms"] // 1000, timezone.utc).replace(tzinfo=None) for m in messages]
    assert [r["time"] for r in rows] == at
