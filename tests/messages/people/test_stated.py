"""Accounts, contacts and numbers that exports state, and what is proposed because of them."""

from __future__ import annotations

import json
import zipfile

import dataprep as dp
from dataprep.messages.people.propose import propose_people
from dataprep.messages.people.stated import cards_in, stated_by
from dataprep.read.chats.discord import Discord
from dataprep.read.chats.slack.reader import Slack
from dataprep.read.chats.sms.reader import Sms
from dataprep.read.chats.telegram.json import Telegram
from dataprep.read.chats.whatsapp.reader import WhatsApp

CARDS = """BEGIN:VCARD\r
VERSION:3.0\r
N:Varga;Ilse;;;\r
FN:Ilse\\, Var\r
 ga\r
item1.TEL;type=CELL;waid=212612345678:+212 6 12-34\r
TEL:tel:+33-1-23-45-67-89\r
END:VCARD\r
BEGIN:VCARD\r
FN;CHARSET=UTF-8:Marek Lund\r
TEL:123\r
END:VCARD\r
BEGIN:VCARD\r
TEL:+212612345679\r
END:VCARD\r
"""
SMS = """<?xml version='1.0' encoding='UTF-8'?>
<smses count="2">
  <sms address="+212612345678" date="1700000000000" type="1" body="tea?" contact_name="Ilse Varga" />
  <sms address="+212612345679" date="1700000060000" type="1" body="no" contact_name="(Unknown)" />
</smses>
"""
USERS = [
    {"id": "U1", "team_id": "T", "name": "ilse", "profile": {"real_name": "Ilse Varga", "phone": "+212 612345678"}},
    {"id": "U2", "name": "marek", "profile": {}}, "no user", {"name": "no id"},
]  # fmt: skip


def test_cards():
    """Names are unfolded and unescaped; WhatsApp's number counts before the written one; short numbers do not."""
    assert set(cards_in(CARDS)) == {("Ilse, Varga", "212612345678"), ("Ilse, Varga", "33123456789")}
    assert list(cards_in("FN:Ilse\nTEL:+212612345678\n")) == []


def test_a_zip_may_have_cards_and_users(tmp_path):
    """Cards and lists of users are read in any folder of a zip; a damaged zip has none."""
    place = tmp_path / "chat.zip"
    with zipfile.ZipFile(place, "w") as z:
        z.writestr("media/Ilse.vcf", CARDS)
        z.writestr("export/users.json", json.dumps(USERS))
    found = stated_by((str(place), WhatsApp()))
    assert ("Ilse, Varga", "212612345678") in found.cards
    assert (("slack", "T U1"), "Ilse Varga") in found.accounts
    place.write_bytes(b"PK\x03\x04 no zip")
    assert not stated_by((str(place), WhatsApp())).cards


def test_telegram(tmp_path):
    """Names by from_id, also those of deleted accounts; the contacts of a whole account."""
    rows = [
        {"id": 1, "type": "message", "date": "2024-05-03T10:00:00", "from": "Ilse", "from_id": "user1", "text": "a"},
        {"id": 2, "type": "message", "date": "2024-05-03T10:00:01", "from": None, "from_id": "user2", "text": "b"},
    ]
    contact = {"first_name": "Ilse", "last_name": "Varga", "phone_number": "00212 612345678"}
    chats = {"list": [{"name": "Tea", "type": "private_group", "id": 1, "messages": rows}]}
    owner = {"user_id": 9, "first_name": "Bo", "last_name": "Sol", "phone_number": "+4917612345", "username": "@bo_sol"}
    document = {"personal_information": owner, "contacts": {"list": [contact, {"first_name": "Bo"}, 7]}, "chats": chats}
    place = tmp_path / "result.json"
    place.write_text(json.dumps(document))
    found = stated_by((str(place), Telegram()))
    accounts = {(("telegram", "user1"), "Ilse"), (("telegram", "user1"), "user1"), (("telegram", "user2"), "user2")}
    mine = {(("telegram", "user9"), name) for name in ("user9", "bo_sol", "Bo Sol", "+4917612345")}
    assert found.accounts == accounts | mine
    assert {"user9", "bo_sol"} <= found.handles
    assert found.cards == {("Ilse Varga", "212612345678")}


def test_discord(samples):
    """JSON states id, name and nickname of an author, CSV id and name."""
    found = stated_by((str(samples / "chats/discord/maps.json"), Discord())).accounts
    assert {name for (_, account), name in found if account == "102"} == {"102", "noor", "Noor Telle"}
    found = stated_by((str(samples / "chats/discord/Map makers - Text - kitchen.csv"), Discord())).accounts
    assert {name for (_, account), name in found if account == "105"} == {"105", "Oriel Hart"}


def test_slack_and_sms(tmp_path):
    """Slack's list of users next to the channels, with numbers; the contacts' names in a backup of SMS."""
    (tmp_path / "general").mkdir()
    day = tmp_path / "general" / "2024-05-03.json"
    day.write_text("[]")
    (tmp_path / "users.json").write_text(json.dumps(USERS))
    found = stated_by((str(day), Slack()))
    assert {name for account, name in found.accounts if account == ("slack", "T U1")} == {"U1", "ilse", "Ilse Varga"}
    assert found.cards == {("Ilse Varga", "212612345678")}  # a name of the account is no other contact
    (tmp_path / "users.json").write_text("[{")
    assert not stated_by((str(day), Slack())).accounts
    place = tmp_path / "sms.xml"
    place.write_text(SMS)
    assert stated_by((str(place), Sms())).cards == {("Ilse Varga", "212612345678")}


def proposed(tmp_path, chats, cards=""):
    """Return the people of chats {name: [(author, text), ...]} of WhatsApp, each an export of its own."""
    root = tmp_path / "exports"
    root.mkdir()
    for name, said in chats.items():
        lines = [f"13/05/2024, 09:{k:02} - {author}: {text}" for k, (author, text) in enumerate(said)]
        (root / f"WhatsApp Chat with {name}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (root / "contacts.vcf").write_text(cards, encoding="utf-8")
    made = propose_people([str(root)], str(tmp_path / "people.toml"))
    return {frozenset(names) for names in made.people}, made.text.partition("[proposed]")[0]


def test_numbers(tmp_path):
    """A number in any form is one person; a national one only if it is clear which of two countries is meant."""
    chats = {
        "A": [("+212 6 12-34 56\u00a078", "a"), ("+33 6 12 34 56 79", "b"), ("+33 7 00 00 00 01", "c")],
        "B": [("0612345678", "d"), ("+212 612345679", "e")], "C": [("06 12 34 56 79", "f"), ("0033700000001", "g")],
    }  # fmt: skip
    found, text = proposed(tmp_path, chats)
    ours, theirs = {"+212 6 12-34 56\u00a078", "0612345678"}, {"+33 7 00 00 00 01", "0033700000001"}
    assert found == {frozenset(ours), frozenset(theirs)}
    assert text.count("[[maybe]]\nnames") == 2  # +33 and +212
    assert "\\u00A078" in text


def test_contacts(tmp_path):
    """A contact joins a full name and its number; not a first name, a shared number, or two who wrote in one export."""
    card = "BEGIN:VCARD\nFN:{}\nTEL:+21261234567{}\nEND:VCARD\n"
    owners = [("Ilse Varga", 1), ("Greta", 2), ("Teo Orr", 3), ("Marek Lund", 3), ("Noor Telle", 4)]
    chats = {
        "A": [(f"+212 6 12 34 56 7{k}", "a") for k in (1, 2, 3, 4)],
        "B": [(name, "b") for name, _ in owners[:4]], "C": [("Noor Telle", "c"), ("+212612345674", "d")],
    }  # fmt: skip
    found, text = proposed(tmp_path, chats, "".join(card.format(*one) for one in owners))
    noor = frozenset({"+212 6 12 34 56 74", "+212612345674"})
    assert found == {frozenset({"Ilse Varga", "+212 6 12 34 56 71"}), noor}
    assert 'names = ["Greta", "+212 6 12 34 56 72"]' in text.partition("From here on")[2]


def test_one_word_of_two_people(tmp_path):
    """A first name is joined by equal messages only if they cover all chats in which it occurs."""
    said = [(f"ferry {k}", k % 2) for k in range(20)]
    root = tmp_path / "exports"
    for folder, name in (("1", "Sara"), ("2", "Sara Lund")):
        (root / folder).mkdir(parents=True)
        lines = [f"13/05/2024, 09:{k:02} - {name if who else 'Bo Orr'}: {text}" for k, (text, who) in enumerate(said)]
        (root / folder / "WhatsApp Chat with Tea.txt").write_text("\n".join(lines) + "\n")
    alone = propose_people(str(root), str(tmp_path / "alone.toml"))
    assert alone.people == (("Sara Lund", "Sara"),)
    other = "14/05/2024, 09:00 - Sara: hello\n14/05/2024, 09:01 - Teo: yes\n"
    (root / "WhatsApp Chat with Other.txt").write_text(other)
    both = propose_people(str(root), str(tmp_path / "both.toml"))
    assert (both.people, both.maybes) == ((), 1)
    assert dp.chats.read(str(root)).num_rows > 22  # nothing is merged silently
