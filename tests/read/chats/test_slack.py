"""Slack's exports: zips and folders, names, markup, threads, and files that are cut or are not of Slack."""

from __future__ import annotations

import json
import zipfile
from datetime import datetime

import pytest

import dataprep as dp
from dataprep.core.model.ledger import Ledger
from dataprep.core.model.reader import Slice
from dataprep.errors import PlanError, ReadError
from dataprep.read.chats import packs
from dataprep.read.chats.slack.reader import Slack
from dataprep.read.chats.slack.text import plain

USERS = [
    {"id": "U1", "name": "ilse", "real_name": "Ilse Varga", "profile": {"display_name": "Ilse V", "real_name": ""}},
    {"id": "U2", "name": "bob", "profile": {"real_name": "Bob Orr", "display_name": ""}},
]


def stamp(n: int) -> str:
    """The time of the n-th message."""
    return f"17000{n:05d}.000100"


def message(n: int, text: str = "", user: str = "U1", **more):
    """One message of the export."""
    return {"type": "message", "user": user, "text": text, "ts": stamp(n), **more}


ROOM = {"id": "C1", "name": "tea", "members": ["U1", "U2"]}
DAY_1 = [
    message(0, "<@U1> has joined the channel", subtype="channel_join"),
    message(1, "tea &amp; <@U2>?\n&lt;3", edited={"user": "U1", "ts": "1"}, reactions=[{"name": "+1", "count": 2}]),
    message(2, "yes", "U2", thread_ts=stamp(1)),
    message(3, "", "U2", files=[{"name": "cup.jpg", "mimetype": "image/jpeg"}, {"name": "a.bin"}]),
    message(4, "waves", "U2", subtype="me_message"),
    message(5, "", None, subtype="bot_message", username="Kettle", bot_id="B1",
            attachments=[{"title": "hot", "text": "90"}]),
    message(6, "This message was deleted.", "USLACKBOT", subtype="tombstone"),
    message(7, "A huddle started", "U1", subtype="huddle_thread", room={"id": "R1"}),
    message(8, "hi", "U9", user_profile={"display_name": "", "real_name": "Guest", "name": "g"}),
    message(9, "hey", "U8"),
    message(10, "set the channel topic: cups", "U2", subtype="channel_topic"),
]  # fmt: skip
DAY_2 = [message(86_400, "and milk", "U2", thread_ts=stamp(1), subtype="thread_broadcast")]
FILES = {
    "users.json": USERS,
    "channels.json": [ROOM],
    "dms.json": [{"id": "D1", "members": ["U2", "U1"]}],
    "mpims.json": [{"id": "G1", "name": "mpdm-ilse--bob-1", "members": ["U1", "U2"]}],
    "tea/2023-11-14.json": DAY_1,
    "tea/2023-11-15.json": DAY_2,
    "D1/2023-11-14.json": [message(0, "psst")],
    "mpdm-ilse--bob-1/2023-11-14.json": [message(0, "we")],
}
TEA = [
    (None, "system", "Ilse V has joined the channel", {}),
    ("Ilse V", "text", "tea & @Bob Orr?\n<3", {"edited": True, "reactions": {"+1": 2}}),
    ("Bob Orr", "text", "yes", {}),
    ("Bob Orr", "image", "", {"files": ["cup.jpg", "a.bin"]}),
    ("Bob Orr", "text", "waves", {}),
    ("Kettle", "text", "hot\n90", {"bot": True}),
    ("Slackbot", "deleted", "This message was deleted.", {}),
    ("Ilse V", "call", "A huddle started", {}),
    ("Guest", "text", "hi", {}),
    ("U8", "text", "hey", {}),
    (None, "system", "Bob Orr set the channel topic: cups", {}),
]


def folder(path, files=FILES):
    """Write the files of an export into a folder."""
    for name, content in files.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_text(content if isinstance(content, str) else json.dumps(content, indent=1))
    return path


def packed(path, files=FILES, inside: str = ""):
    """Write the files of an export into a zip."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(inside + name, content if isinstance(content, str) else json.dumps(content))
    return path


def read_file(path, **fields):
    """Rows of a file, and its drops."""
    ledger = Ledger("read", source="s")
    rows = [r for b in Slack(**fields)(Slice(str(path), 0), ledger) for r in b.to_pylist()]
    return rows, ledger.drop_table().to_pylist()


def shown(rows):
    """What the tests compare."""
    return [(r["author"], r["kind"], r["text"], json.loads(r["meta"])) for r in rows]


@pytest.mark.parametrize("inside", ["", "Tea export/"])
def test_a_zip(tmp_path, inside) -> None:
    """All chats in the order of folders and days; threads go over days, and each message is a row."""
    rows, drops = read_file(packed(tmp_path / "export.zip", inside=inside))
    assert [r["chat"] for r in rows] == ["Bob Orr, Ilse V"] * 2 + ["tea"] * 12
    assert shown(rows[:2]) == [("Ilse V", "text", "psst", {}), ("Ilse V", "text", "we", {})]
    assert shown(rows[2:]) == [*TEA, ("Bob Orr", "text", "and milk", {})]
    assert [r["reply_to"] for r in rows if r["reply_to"] is not None] == [rows[3]["id"]] * 2
    assert rows[0]["time"] == datetime(2023, 11, 14, 22, 13, 20)
    assert not drops
    ids = [r["id"] for r in rows]
    assert ids == sorted(set(ids))


def test_a_folder(tmp_path) -> None:
    """The same messages; the files of names are read with each day, and listed as no chats."""
    docs = dp.read(str(folder(tmp_path / "export")))
    rows = docs.table().to_pylist()
    assert shown(r for r in rows if r["chat"] == "tea") == [*TEA, ("Bob Orr", "text", "and milk", {})]
    assert {r["chat"] for r in rows} == {"tea", "Bob Orr, Ilse V"}
    assert not docs.unread().num_rows, "files of names are read"
    (tmp_path / "export" / "integration_logs.json").write_text('[{"app_type": "x"}]')
    for reader in ("slack", Slack()):
        named = dp.read(str(tmp_path / "export"), format=reader)
        assert named.table()["text"].to_pylist() == [r["text"] for r in rows]
        assert [row["file"].rpartition("/")[2] for row in named.unread().to_pylist()] == ["integration_logs.json"]
    table = dp.chats.read(str(packed(tmp_path / "export.zip")))
    assert sorted(table["text"].to_pylist()) == sorted(r["text"] for r in rows)


def test_work_is_done_again_if_names_change(tmp_path) -> None:
    """The key of a day covers users.json, so that a changed name is read."""
    path = folder(tmp_path / "export") / "tea" / "2023-11-14.json"
    first = dp.read(str(path))
    keys = first.part_keys
    assert first.table()["author"].to_pylist()[1] == "Ilse V"
    (tmp_path / "export" / "users.json").write_text(json.dumps(USERS[1:]))
    second = dp.read(str(path))
    assert second.table()["author"].to_pylist()[1] == "U1"
    assert keys != second.part_keys


@pytest.mark.parametrize(
    ("author", "names"),
    [("display", ["Ilse V", "Bob Orr"]), ("real", ["Ilse Varga", "Bob Orr"]), ("name", ["ilse", "bob"]),
     ("id", ["U1", "U2"])],
    ids=["display", "real", "name", "id"],
)  # fmt: skip
def test_names_of_people(tmp_path, author, names) -> None:
    """`author=` chooses which of a person's names is read."""
    rows, _ = read_file(packed(tmp_path / "e.zip"), author=author)
    assert [rows[k]["author"] for k in (3, 4)] == names
    with pytest.raises(PlanError, match="must be one of"):
        Slack(author="x")


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("<@U1> <@U7|kim> <@U8>", "@Ilse @kim @U8"),
        ("<#C1|tea> <#C1> <#C9>", "#tea #cups #C9"),
        ("<!here> <!subteam^S1|@cooks> <!date^1^{date}|May 3>", "@here @cooks May 3"),
        ("<https://example.org> <http://example.org|example.org> <https://example.org/a|my page>",
         "https://example.org example.org my page (https://example.org/a)"),
        ("<mailto:a@example.org|a@example.org>", "a@example.org"),
        ("a &lt; b &amp;amp; c &gt; d <3", "a < b &amp; c > d <3"),
        ("*bold* `x < y`", "*bold* `x < y`"),
    ],
    ids=["people", "channels", "groups", "links", "mail", "escapes", "marks"],
)  # fmt: skip
def test_markup(text, wanted) -> None:
    """Marks become what people saw; an escape is undone once."""
    assert plain(text, {"U1": "Ilse"}, {"C1": "cups"}) == wanted


def test_hostile_files(tmp_path, monkeypatch) -> None:
    """Bad elements are drops; cut, empty and wrong files, lists and zips are errors that say so."""
    day = tmp_path / "tea" / "2023-11-14.json"
    day.parent.mkdir()

    def refused(text: str | bytes, match: str):
        day.write_bytes(text if isinstance(text, bytes) else text.encode())
        with pytest.raises(ReadError, match=match):
            read_file(day)

    whole = json.dumps([message(n, f"m{n}") for n in range(30)])
    odd = [message(0, "a\0b"), "x", {"type": "message"}, {**message(1, "c"), "ts": "soon"}]
    day.write_text("\ufeff" + json.dumps(odd))
    rows, drops = read_file(day)
    assert [(r["text"], r["time"] is None) for r in rows] == [("a\0b", False), ("c", True)]
    assert [d["reason"] for d in drops] == ["not_an_object", "not_a_message"]
    day.write_text(json.dumps([message(0, "x" * 99), message(1, "y"), message(1, "again")]))
    rows, drops = read_file(day, max_doc_bytes=95)
    assert ([r["text"] for r in rows], [d["reason"] for d in drops]) == (["y", "again"], ["too_long"])
    refused(whole[:-40], "ends in the middle")
    refused(whole[: whole.index("}") + 2], "not one JSON")
    refused("[]", "no records")
    refused(json.dumps({"messages": []}), "is not a list of messages")
    refused("[[1]]", "only record is bad")
    refused(b'[{"ts": "1", "text": "\xff"}]', "invalid_utf8")
    (tmp_path / "users.json").write_text("[{")
    refused(whole, "users.json, which lists the names")
    monkeypatch.setattr(packs, "MAX_VALUES", 9)
    (tmp_path / "users.json").write_text(json.dumps([[]] * 11))
    refused(whole, "users.json, which lists the names in this export, is damaged .it has over 9 values")
    zipped = packed(tmp_path / "e.zip").read_bytes()
    (tmp_path / "e.zip").write_bytes(zipped[: len(zipped) // 2])
    with pytest.raises(ReadError, match="truncated or damaged"):
        read_file(tmp_path / "e.zip")
    at = zipped.index(b"tea/2023-11-14.json") + 40
    (tmp_path / "e.zip").write_bytes(zipped[:at] + bytes(30) + zipped[at + 30 :])
    with pytest.raises(ReadError, match="damaged"):
        read_file(tmp_path / "e.zip")
    packed(tmp_path / "e.zip", {"users.json": USERS})
    with pytest.raises(ReadError, match="not a Slack export"):
        read_file(tmp_path / "e.zip")


def test_other_json_and_zips_are_not_of_slack(tmp_path) -> None:
    """A list of records stays JSON Lines' error; a zip without days is no chat."""
    (tmp_path / "a.json").write_text(json.dumps([{"type": "message", "id": 1}]))
    packed(tmp_path / "b.zip", {"users.json": USERS, "notes/2023.json": DAY_1})
    for name in ("a.json", "b.zip"):
        with pytest.raises((ReadError, PlanError)):
            dp.read(str(tmp_path / name)).table()
