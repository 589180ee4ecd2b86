"""Discord's own data package: zips and folders, JSON and CSV, names of channels and of the owner, damaged files."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from datetime import datetime

import pytest

import dataprep as dp
from dataprep.core.model.ledger import Ledger
from dataprep.core.model.reader import Slice
from dataprep.errors import PlanError, ReadError
from dataprep.read.chats import discord_package
from dataprep.read.chats.discord import Discord

FIELDS = ("ID", "Timestamp", "Contents", "Attachments")


def message(n: int, text: str, attachments: str = ""):
    """The n-th message."""
    return {"ID": 900 + n, "Timestamp": f"2023-05-01 10:{n:02d}:05", "Contents": text, "Attachments": attachments}


TEA = [  # newest first, as in a package
    message(4, "https://tenor.com/view/cup-1"),
    message(3, "look", "https://cdn.example.org/a/cup.png?ex=1 https://cdn.example.org/b/plan.pdf"),
    message(2, 'two\nlines, "quoted"'),
    message(1, "tea <:kettle:123> <@301> <@!302> <@&303> in <#304>? <@> <@x1>"),
]
FILES = {
    "account/user.json": {"id": "1", "username": "noor", "global_name": "Noor Telle"},
    "messages/index.json": {"11": "tea in Map makers", "12": "Direct Message with bob#0", "13": None, "14": "None"},
    "messages/c11/channel.json": {"id": "11", "type": 0, "name": "tea", "guild": {"id": "5", "name": "Map makers"}},
    "messages/c11/messages.json": TEA,
    "messages/c12/channel.json": {"id": "12", "type": 1, "recipients": ["1", "2"]},
    "messages/c12/messages.json": [message(9, "hi bob")],
    "messages/c13/messages.json": [message(8, "lost")],
}
EXPECTED = [
    ("Map makers / tea", "text", "tea :kettle: @301 @302 @303 in #304? <@> <@x1>", {}),
    ("Map makers / tea", "text", 'two\nlines, "quoted"', {}),
    ("Map makers / tea", "image", "look", {"files": ["cup.png", "plan.pdf"]}),
    ("Map makers / tea", "gif", "https://tenor.com/view/cup-1", {}),
    ("bob", "text", "hi bob", {}),
    ("channel 13", "text", "lost", {}),
]


def as_csv(messages) -> str:
    """The older form of a channel's messages."""
    out = io.StringIO()
    writer = csv.DictWriter(out, FIELDS)
    writer.writeheader()
    writer.writerows(messages)
    return out.getvalue()


OLDER = {name.replace(".json", ".csv") if name.endswith("messages.json") else name:
         as_csv(content) if name.endswith("messages.json") else content for name, content in FILES.items()}  # fmt: skip
NEWER = {name.replace("messages/", "Messages/", 1).replace("account", "Account"): v for name, v in FILES.items()}


def written(content) -> str:
    """A file's text."""
    return content if isinstance(content, str) else json.dumps(content)


def folder(path, files):
    """Write the files of a package into a folder."""
    for name, content in files.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_text(written(content), newline="")
    return path


def packed(path, files):
    """Write the files of a package into a zip."""
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("README.txt", "Welcome")
        for name, content in files.items():
            archive.writestr(name, written(content))
    return path


def read_file(path, **fields):
    """Rows of a file, and its drops."""
    ledger = Ledger("read", source="s")
    rows = [r for b in Discord(**fields)(Slice(str(path), 0), ledger) for r in b.to_pylist()]
    return rows, ledger.drop_table().to_pylist()


def shown(rows):
    """What the tests compare."""
    return [(r["chat"], r["kind"], r["text"], json.loads(r["meta"])) for r in rows]


@pytest.mark.parametrize("files", [FILES, OLDER, NEWER], ids=["json", "csv", "newer"])
def test_a_package(tmp_path, files) -> None:
    """A zip and its folder have the same messages, oldest first per channel, all by the owner."""
    rows, drops = read_file(packed(tmp_path / "package.zip", files))
    assert shown(rows) == EXPECTED
    assert {r["author"] for r in rows} == {"Noor Telle"}
    assert rows[0]["time"] == datetime(2023, 5, 1, 10, 1, 5)
    assert [r["id"] for r in rows] == list(range(6))
    assert not drops
    found = dp.read(str(folder(tmp_path / "package", files)), me="Noor").table().to_pylist()
    assert sorted(map(str, shown(found))) == sorted(map(str, EXPECTED))
    assert {r["author"] for r in found} == {"Noor"}
    assert dp.chats.read(str(tmp_path / "package.zip")).num_rows == 6


def test_names_are_part_of_the_key(tmp_path) -> None:
    """A day's work is done again if channel.json changes; without an account the owner is Me."""
    path = folder(tmp_path, FILES) / "messages" / "c12" / "messages.json"
    keys = dp.read(str(path)).part_keys
    (tmp_path / "messages" / "index.json").write_text(json.dumps({"12": "Direct Message with bea#1234"}))
    (tmp_path / "account" / "user.json").unlink()
    docs = dp.read(str(path))
    assert docs.part_keys != keys
    assert [(r["chat"], r["author"]) for r in docs.table().to_pylist()] == [("bea#1234", "Me")]


def test_hostile_files(tmp_path, monkeypatch) -> None:
    """Bad elements are drops; cut and wrong files are errors that say so; two messages of one number are both read."""
    path = tmp_path / "messages" / "c1" / "messages.json"
    path.parent.mkdir(parents=True)

    def refused(text: str, match: str, name: str = "messages.json"):
        path.with_name(name).write_text(text)
        with pytest.raises(ReadError, match=match):
            read_file(path.with_name(name))

    odd = [message(1, "a\0b"), message(1, "again"), "x", {"ID": 5, "Timestamp": "t"}, message(2, "x" * 99)]
    path.write_text("\ufeff" + json.dumps([{**message(3, "late"), "Timestamp": "soon"}, *odd]))
    rows, drops = read_file(path, max_doc_bytes=50)
    assert [(r["text"], r["time"] is None) for r in rows] == [("a\0b", False), ("again", False), ("late", True)]
    assert sorted(d["reason"] for d in drops) == ["not_an_object", "too_few_fields", "too_long"]
    whole = json.dumps(TEA)
    refused(whole[:-9], "damaged or truncated")
    refused(as_csv(TEA)[: as_csv(TEA).index("quoted")], "damaged or truncated", "messages.csv")
    path.with_name("messages.csv").write_text(as_csv(TEA)[:-9])
    assert [d["reason"] for d in read_file(path.with_name("messages.csv"))[1]] == ["too_few_fields"]
    refused(as_csv([]), "no records", "messages.csv")
    (tmp_path / "messages" / "index.json").write_text("{")
    refused(whole, "index.json, which lists the names")
    data = packed(tmp_path / "package.zip", FILES).read_bytes()
    (tmp_path / "package.zip").write_bytes(data.replace(b"hi bob", b"hi bib"))
    with pytest.raises(ReadError, match="damaged"):
        read_file(tmp_path / "package.zip")
    (tmp_path / "package.zip").write_bytes(data)
    with monkeypatch.context() as patched, pytest.raises(ReadError, match="more than"):
        patched.setattr(discord_package, "MAX_BYTES", 200)
        read_file(tmp_path / "package.zip")
    packed(tmp_path / "package.zip", {"account/user.json": {}})
    with pytest.raises(ReadError, match="not a Discord data package"):
        read_file(tmp_path / "package.zip")
    with pytest.raises(PlanError, match="must be the name"):
        Discord(me=" ")


def test_other_files_are_not_of_a_package(tmp_path) -> None:
    """A CSV with other columns, a list of other records, and a zip without messages."""
    (tmp_path / "a.csv").write_text("ID,Time,Contents\n1,2,3\n")
    (tmp_path / "a.json").write_text('[{"ID": 1, "name": "x"}]')
    packed(tmp_path / "a.zip", {"messages/index.json": {}})
    for name in ("a.csv", "a.json", "a.zip"):
        with pytest.raises((ReadError, PlanError)):
            dp.read(str(tmp_path / name)).table()
