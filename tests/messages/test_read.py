"""`dp.chats.read`: chats of any platform as one table, in the order of time."""

from __future__ import annotations

import json
import shutil

import pyarrow as pa
import pytest

import dataprep as dp
from dataprep.errors import PlanError, ReadError

SCHEMA = pa.schema(
    [("chat", pa.string()), ("author", pa.string()), ("time", pa.timestamp("s")), ("kind", pa.string()),
     ("text", pa.string()), ("reply_to", pa.int64())]
)  # fmt: skip


def telegram(*messages, name="Tea"):
    """A small result.json: (id, minute, text, reply)."""
    said = [
        {"id": n, "type": "message", "date": f"2024-05-01T10:{minute:02}:01", "from": "Ada", "from_id": "user1",
         "text": text} | ({} if reply is None else {"reply_to_message_id": reply})
        for n, minute, text, reply in messages
    ]  # fmt: skip
    return json.dumps({"name": name, "type": "personal_chat", "id": 1, "messages": said}, indent=1)


def test_a_folder_of_platforms(tmp_path, caplog) -> None:
    """Chats come in order of appearance, each by time; replies are row numbers; what is no chat is said."""
    (tmp_path / "a.json").write_text(telegram((1, 9, "late", None), (2, 3, "early", None), (3, 4, "answer", 1)))
    (tmp_path / "b.txt").write_text("01/05/2024, 10:00 - Bo: hello\n")
    (tmp_path / "c.csv").write_text(
        "AuthorID,Author,Date,Content,Attachments,Reactions\n1,cy,2024-05-01T10:00:00,hi,,\n"
    )
    (tmp_path / "notes.txt").write_text("no chat\n")
    (tmp_path / "settings.json").write_text('{"a": 1}')
    (tmp_path / "cut.zip").write_text("PK")
    table = dp.chats.read(str(tmp_path), on_bad_file="skip")
    assert table.schema == SCHEMA
    got = [(r["chat"], r["author"], r["text"], r["reply_to"]) for r in table.to_pylist()]
    assert got == [
        ("Tea", "Ada", "early", None),
        ("Tea", "Ada", "answer", 2),
        ("Tea", "Ada", "late", None),
        ("b", "Bo", "hello", None),
        ("c", "cy", "hi", None),
    ]
    assert "files that are not read: 1 (unreadable 1)" in caplog.text
    assert "files that are not read: 1 (not_a_chat 1)" in caplog.text
    assert "files that are not chats are skipped: 1, the first is" in caplog.text
    assert "notes.txt" in caplog.text


def test_replies_to_a_doubled_message(tmp_path) -> None:
    """A reply whose message stands in two exports names the one that stays."""
    (tmp_path / "1").mkdir()
    (tmp_path / "2").mkdir()
    (tmp_path / "1" / "result.json").write_text(telegram((1, 1, "one", None), (2, 2, "two", None)))
    (tmp_path / "2" / "result.json").write_text(telegram((2, 2, "two", None), (3, 3, "three", 2)))
    rows = dp.chats.read([str(tmp_path / "1"), str(tmp_path / "2")]).to_pylist()
    assert [(r["text"], r["reply_to"]) for r in rows] == [("one", None), ("two", None), ("three", 1)]


def test_date_order(tmp_path, caplog) -> None:
    """The order given settles dates that tell none, and does not trouble platforms that need none."""
    (tmp_path / "a.txt").write_text("03/05/2024, 10:00 - Bo: hello\n")
    (tmp_path / "b.json").write_text(telegram((1, 1, "x", None)))
    for order, month in (("dmy", 5), ("mdy", 3)):
        assert dp.chats.read(str(tmp_path), date_order=order)["time"][0].as_py().month == month
        assert len(dp.chats.read(str(tmp_path / "b.json"), date_order=order)) == 1


def test_a_sealed_dataset(tmp_path) -> None:
    """Messages that a Pipeline sealed make the same table."""
    (tmp_path / "a.json").write_text(telegram((1, 9, "late", None), (2, 3, "early", 1)))
    dp.Pipeline().run(dp.read(str(tmp_path / "a.json")), out=str(tmp_path / "sealed"))
    assert dp.chats.read(str(tmp_path / "sealed")).equals(dp.chats.read(str(tmp_path / "a.json")))


def test_what_is_left_out_is_counted(tmp_path, caplog) -> None:
    """Records that are no messages are logged with their reasons."""
    good = [(n, n % 60, "x", None) for n in range(300)]
    (tmp_path / "result.json").write_text(telegram(*good).replace('"messages": [', '"messages": [7, 8,'))
    assert len(dp.chats.read(str(tmp_path))) == 300
    assert "2 records" in caplog.text
    assert "not_an_object 2" in caplog.text


@pytest.mark.parametrize(
    ("name", "text", "options", "says"),
    [
        ("a.txt", "dear diary\n", {}, r"a\.txt is not a chat export of whatsapp, .*begins 'dear diary'; .*platform="),
        ("a.txt", "2023|05|Ann|hi\n", {}, r"begins '2023\|05\|Ann\|hi'; tried: '03/05/2024, 09:12 - NAME: TEXT'"),
        ("a.txt", "\ufeffhi\n".encode("utf-16-le"), {}, r"a\.txt is not a chat export .*begins 'hi'"),
        ("a.zip", b"PK\x03\x04 cut", {}, r"a\.zip: the zip is truncated or damaged .* fetch the file again"),
        ("a.jsonl", '{"text": "x"}\n', {}, r"a\.jsonl is not a chat export"),
        ("a.html", "<html></html>", {}, "and it is not a chat export|is not a chat export of"),
        ("a.csv", "x,y\n", {}, r"a\.csv is not a chat export of"),
        ("a.txt", "x", {"date_order": "dym"}, "date_order='dym' must be one of dmy, mdy, ymd"),
        ("a.txt", "x", {"platform": "icq"}, "platform='icq' must be one of whatsapp, signal"),
        ("a.json", telegram((1, 1, "x", None)), {"platform": "discord"}, "the file has no Discord channel"),
        ("a.json", telegram(), {}, "the chat has no messages"),
    ],
)
def test_bad_input(tmp_path, name, text, options, says) -> None:
    """What is no chat, an empty one, or of another platform is one sentence."""
    (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises((PlanError, ReadError), match=says):
        dp.chats.read(str(tmp_path / name), **options)


def test_real_chats(shared, tmp_path) -> None:
    """All real exports are one table, as many messages as the readers give but for those of the same chat twice."""
    for platform in ("telegram", "discord", "messenger"):
        shutil.copytree(shared / "chats" / platform, tmp_path / platform)
    assert len(dp.chats.read(str(tmp_path))) == dp.read(str(tmp_path)).count == 5475 + 8 + 3 + 6 + 7
