"""The accounts of the owner and of others that Discord's data package and Apple's database state."""

from __future__ import annotations

import csv
import json
import sqlite3
import zipfile
from collections import defaultdict

import pytest

import dataprep as dp
from dataprep.messages.people.propose import propose_people
from dataprep.messages.people.stated import stated_by
from dataprep.read.chats.discord import Discord
from dataprep.read.chats.imessage.reader import IMessage

MESSAGE = {"ID": 901, "Timestamp": "2023-05-01 10:00:05", "Contents": "tea, Bob?", "Attachments": ""}
USER = {
    "id": "100000000000000001", "username": "noor_t", "global_name": "Noor Telle", "email": "noor@example.org",
    "phone": "+212612345678", "relationships": [
        {"id": "100000000000000002", "nickname": "Bob Ostrow",
         "user": {"id": "100000000000000002", "username": "bob.o"}},
        {"id": "100000000000000003", "nickname": None, "user": None}, None, {"user": []},
    ],
}  # fmt: skip
FILES = {
    "account/user.json": USER,
    "messages/index.json": {"12": "Direct Message with bob.o#0", "13": "a, b"},
    "messages/c12/channel.json": {"id": "12", "type": 1, "recipients": [USER["id"], "100000000000000002"]},
    "messages/c12/messages.json": [MESSAGE],
    "messages/c13/channel.json": {"id": "13", "type": 3, "recipients": [USER["id"], "100000000000000004", "x", None]},
    "messages/c13/messages.json": [MESSAGE],
}
BOB = {"100000000000000002", "bob.o", "Bob Ostrow"}
OWNER = {USER["id"], "noor_t", "Noor Telle", "noor@example.org", "+212612345678"}


def write(folder, files):
    """Write the files of a package."""
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(json.dumps(content))
    return folder


def accounts(url, reader):
    """{account: names} of a file."""
    found = defaultdict(set)
    for (_, id_), name in stated_by((str(url), reader)).accounts:
        found[id_].add(name)
    return dict(found)


def test_a_data_package(tmp_path) -> None:
    """A folder and a zip state the owner, friends, and the other member of direct messages; ids only in groups."""
    folder = write(tmp_path / "p", FILES)
    direct = accounts(folder / "messages/c12/messages.json", Discord())
    expected = {USER["id"]: OWNER, "100000000000000002": BOB, "100000000000000003": {"100000000000000003"}}
    assert direct == expected
    group = accounts(folder / "messages/c13/messages.json", Discord(me="N"))
    assert group == expected | {USER["id"]: OWNER | {"N"}, "100000000000000004": {"100000000000000004"}}
    with zipfile.ZipFile(tmp_path / "package.zip", "w") as z:
        for name, content in FILES.items():
            z.writestr(f"package/{name}", json.dumps(content))
    assert accounts(tmp_path / "package.zip", Discord()) == expected | {"100000000000000004": {"100000000000000004"}}


def test_messages_of_a_package_are_no_accounts(tmp_path) -> None:
    """The older form, CSV, states no accounts itself; without account/user.json there are none."""
    place = tmp_path / "messages" / "c1"
    place.mkdir(parents=True)
    with (place / "messages.csv").open("w", newline="") as f:
        out = csv.DictWriter(f, MESSAGE)
        out.writeheader()
        out.writerow(MESSAGE)
    assert accounts(place / "messages.csv", Discord()) == {}
    (tmp_path / "account").mkdir()
    (tmp_path / "account/user.json").write_text('{"id": "1", "usern')
    assert accounts(place / "messages.csv", Discord()) == {}  # the reader of messages reports the damage


@pytest.mark.parametrize("user", [
    [], {}, {"id": 1, "relationships": 5, "phone": 7}, {"relationships": [1, {}]}, {"id": "1", "username": "\ud800"},
], ids=["list", "empty", "numbers", "odd", "surrogate"])  # fmt: skip
def test_odd_accounts(tmp_path, user) -> None:
    """Values of other types than Discord writes are left out."""
    folder = write(tmp_path, FILES | {"account/user.json": user, "messages/index.json": [1]})
    found = accounts(folder / "messages/c12/messages.json", Discord())
    assert found.get("1", {"1"}) <= {"1", "?"}
    assert "Bob Ostrow" not in found["100000000000000002"]


def test_names_of_a_package_are_replaced(tmp_path) -> None:
    """The owner's handle, e-mail and number, and a friend's nickname, leave no trace in texts."""
    said = "I am noor_t, noor@example.org, 06 12 34 56 78; ask Bob Ostrow, bob.o or <@100000000000000002>"
    write(tmp_path / "p", FILES | {"messages/c12/messages.json": [MESSAGE | {"Contents": said}]})
    docs = dp.Pipeline(dp.chats.Pseudonyms(pii=True)).run(dp.read(str(tmp_path / "p")), out=str(tmp_path / "out"))
    text = " ".join(docs.table()["text"].to_pylist())
    assert not [name for name in (BOB | OWNER) if name in text]
    assert "12 34" not in text


def database(path, tables):
    """Write a database of one message of the owner and one of Bob's."""
    with sqlite3.connect(path) as made:
        made.executescript(tables)
    made.close()
    return path


TABLES = """
CREATE TABLE message (ROWID INTEGER PRIMARY KEY, guid TEXT, text TEXT, handle_id INTEGER, date INTEGER,
  is_from_me INTEGER, account TEXT, destination_caller_id TEXT);
CREATE TABLE handle (ROWID INTEGER PRIMARY KEY, id TEXT, uncanonicalized_id TEXT, person_centric_id TEXT);
CREATE TABLE chat (ROWID INTEGER PRIMARY KEY, chat_identifier TEXT, account_login TEXT);
CREATE TABLE chat_message_join (chat_id INTEGER, message_id INTEGER);
INSERT INTO handle VALUES (1, '+212612345678', '06 12 34 56 78', 'P1'), (2, 'bob@example.org', NULL, 'P1'),
  (3, 'x@example.org', x'FF', NULL), (4, NULL, NULL, NULL);
INSERT INTO chat VALUES (1, 'bob@example.org', 'E:me@example.org'), (2, '+212612345678', 'P:+33612345678');
INSERT INTO message VALUES (1, 'A', 'tea?', 2, 1000000000, 0, 'e:me@example.org', '+33612345678'),
  (2, 'B', 'yes', 1, 2000000000, 0, NULL, x'00'), (3, 'C', 'ok', 0, 3000000000, 1, 'p:', NULL);
INSERT INTO chat_message_join VALUES (1, 1), (2, 2), (1, 3);
"""


def test_addresses_in_apples_database(tmp_path) -> None:
    """One person's addresses are one account, the owner's another; in people.toml they are proposed as one person."""
    place = database(tmp_path / "chat.db", TABLES)
    assert accounts(place, IMessage(me="Ilse")) == {
        "owner": {"Ilse", "me@example.org", "+33612345678"}, "person x@example.org": {"x@example.org"},
        "person P1": {"+212612345678", "06 12 34 56 78", "bob@example.org"},
    }  # fmt: skip
    assert {frozenset(one) for one in propose_people([str(place)], str(tmp_path / "people.toml")).people} == {
        frozenset({"+212612345678", "bob@example.org"})
    }
    place.write_bytes(place.read_bytes()[:3000])
    assert accounts(place, IMessage()) == {}
