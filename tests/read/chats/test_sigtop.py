"""The long text of sigtop, a Signal export."""

from __future__ import annotations

from datetime import datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dataprep as dp
from dataprep.errors import ReadError
from dataprep.messages.people.stated import stated_by
from dataprep.read.chats.signal import Signal

from .test_signal import read_text, shown

LONG = """\
Conversation: Tea club (Zm9vYmFyZm9vYmFyZm9vYmFyZm9vYmFyZm9vYmFyZm8)

From: Ilse Varga (+15550100123)
Type: incoming
Sent: Fri, 3 May 2024 09:12:05 +0200
Received: Fri, 3 May 2024 09:12:06 +0200
Reaction: 👍 from You
Reaction: 👍 from Bee (the elder) (bee.42)

tea?

From: me: no field
Type: text

From: You
Type: outgoing
Sent: Fri, 3 May 2024 09:13:05 +0200

> From: Ilse Varga (+15550100123)
> Sent: Fri, 3 May 2024 09:12:05 +0200
>
> tea?
> or not

yes: at five
> and milk

From: Bee (the elder) (bee.42)
Type: incoming
Sent: Fri, 3 May 2024 09:14:05 +0200
Received: unknown
Attachment: cup (1).jpg (image/jpeg, 120 bytes)
Attachment: no filename (audio/aac, 7 bytes)

From: You
Type: outgoing
Sent: Fri, 3 May 2024 09:15:05 +0200
Edited: 2 versions

| Version: 2
| Sent: Fri, 3 May 2024 09:16:05 +0200
|
| five
|
| or six
|
| Version: 1
| Sent: Fri, 3 May 2024 09:15:05 +0200
|
| fiev

From: Bee (the elder) (bee.42)
Type: call-history
Sent: Fri, 3 May 2024 09:17:05 +0200
Received: Fri, 3 May 2024 09:17:05 +0200

Type: group-v2-change
Sent: unknown
Received: Fri, 3 May 2024 09:18:05 +0200

"""
FIRST = ["", "From: You", "Type: outgoing", "Sent: unknown", "", "hello"]
REACTED = {"reactions": {"👍": 2}}
QUOTED = {"quote": "tea?\nor not"}
EXPECTED = [
    ("Ilse Varga", "text", "tea?\n\nFrom: me: no field\nType: text", REACTED, 12),
    ("You", "text", "yes: at five\n> and milk", QUOTED, 13),
    ("Bee (the elder)", "image", "[cup (1).jpg]\n[no filename]", {"file": "cup (1).jpg"}, 14),
    ("You", "text", "five\n\nor six", {"edited": True}, 15),
    (None, "call", "[call-history message]", {}, 17),
    (None, "system", "[group-v2-change message]", {}, None),
]


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_long_text(tmp_path, ends) -> None:
    """Fields, quotes, edits, files, calls; and the chat's name, with the owner under the given name."""
    rows, drops = read_text(tmp_path / "x" / "c.txt", LONG.replace("\n", ends), me="Noor")
    assert shown(rows) == [("Noor" if who == "You" else who, *rest) for who, *rest, _ in EXPECTED]
    assert [r["time"] for r in rows] == [m and datetime(2024, 5, 3, 9, m, 5) for *_, m in EXPECTED]
    assert {r["chat"] for r in rows} == {"Tea club"}
    assert not drops
    found = dp.read(str(tmp_path / "x"))
    assert found.table(["author"])["author"].to_pylist() == [who for who, *_ in EXPECTED]
    assert stated_by((str(tmp_path / "x" / "c.txt"), Signal())).cards == {("Ilse Varga", "15550100123")}


def test_damaged_long_text(tmp_path) -> None:
    """Lines before a message, bytes that are not UTF-8, messages that are too long, and a cut end are no error."""
    head, first, *rest = LONG.split("\nFrom: ")
    odd = f"{head}\nodd line\n\nFrom: {first}".encode() + b"\xff\xfe"
    cut = odd + b"\n\nFrom: " + "\nFrom: ".join(rest).encode()[:-200]
    rows, drops = read_text(tmp_path / "c.txt", cut, max_bad=0.9)
    assert [one["reason"] for one in drops] == ["no_header", "invalid_utf8"]
    assert [r["author"] for r in rows] == ["You", "Bee (the elder)", "You"]
    rows, drops = read_text(tmp_path / "c.txt", LONG.replace("milk", "milk" * 100), max_doc_bytes=400, max_bad=0.9)
    assert [one["reason"] for one in drops] == ["too_long"]
    assert len(rows) == len(EXPECTED) - 1
    with pytest.raises(ReadError, match="no records"):
        read_text(tmp_path / "c.txt", "Conversation: Ilse\n\n")


@settings(max_examples=30, deadline=None)
@given(st.lists(st.sampled_from([*LONG.splitlines(), "> ", "|", "Edited: x", "Type: incoming", ""]), max_size=25))
def test_any_order_of_lines(tmp_path_factory, lines) -> None:
    """No order of lines is an error, and no line of text is in two messages."""
    path = tmp_path_factory.getbasetemp() / "any.txt"
    rows, drops = read_text(path, "\n".join(["Conversation: Ilse", "", *lines, *FIRST]), max_bad=0.99)
    assert rows
    assert sum(r["text"].count("\n") + 1 for r in rows if r["text"]) + len(drops) <= len(lines) + len(FIRST)
