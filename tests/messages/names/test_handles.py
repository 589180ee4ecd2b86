"""Handles, ids and people whom exports state beside the authors are hidden, and have the pseudonym of their person."""

from __future__ import annotations

import json

import pytest

import dataprep as dp
import laws
from dataprep.errors import PlanError
from dataprep.messages.names.handles import with_accounts
from dataprep.messages.people.identities import Identities

KEY = b"a key of enough bytes"


def discord(folder):
    """Ilse, whose nickname differs, and Marek, who is mentioned and reacts but does not write."""
    ilse = {"id": "301234567890123456", "name": "moon_varga", "nickname": "Ilse"}
    marek = {"id": "309876543210987654", "name": "marekl", "nickname": "Marek Lund"}
    said = ["<@301234567890123456> and @marekl", "ask moon_varga or moonvarga", "Marek Lund, MAREKL!",
            "id 309876543210987654", "the moon over Lund"]  # fmt: skip
    rows = [
        {"id": str(k), "type": "Default", "timestamp": f"2024-05-03T10:0{k}:00+00:00", "content": text, "author": ilse,
         "mentions": [marek] if k == 0 else [], "reactions": [{"emoji": {"name": "a"}, "count": 1, "users": [marek]}]}
        for k, text in enumerate(said)
    ]  # fmt: skip
    document = {"guild": {"id": "1", "name": "Tea"}, "channel": {"id": "2", "name": "cups"}, "messages": rows}
    (folder / "cups.json").write_text(json.dumps(document))


def telegram(folder):
    """Ilse under two names of one account, two people called Sara, and people of forwarded messages and mentions."""
    ids = ("user3012345678", "user3012345678", "user41111111", "user42222222")
    who = zip(("Ilse", "Ilse V.", "Sara", "Sara"), ids, strict=True)
    texts = [
        "tg://user?id=3012345678", ["ask ", {"type": "mention", "text": "@orsi_quist"}, " or orsi_quist"],
        [{"type": "mention_name", "text": "him", "user_id": 77777777}, " is user77777777"], "Orsolya Quist 41111111",
    ]  # fmt: skip
    rows = [
        {"id": k, "type": "message", "date": f"2024-05-03T10:0{k}:00", "from": name, "from_id": account, "text": text}
        for k, ((name, account), text) in enumerate(zip(who, texts, strict=True))
    ]
    rows[3] |= {"forwarded_from": "Orsolya Quist", "forwarded_from_id": "user55555555"}
    (folder / "result.json").write_text(
        json.dumps({"name": "Tea", "type": "private_group", "id": 7, "messages": rows})
    )


def texts_and_authors(place, given=None):
    """What Pseudonyms makes of a folder."""
    docs = dp.read(str(place / "in")) if given is None else given
    made = dp.Pipeline(dp.chats.Pseudonyms(key=KEY)).run(docs, out=str(place / "out"))
    table = made.table()
    return table["text"].to_pylist(), table["author"].to_pylist()


def test_discord(tmp_path):
    """An account's name, id and nickname have one pseudonym; those who only are mentioned are hidden, too."""
    (tmp_path / "in").mkdir()
    discord(tmp_path / "in")
    texts, authors = texts_and_authors(tmp_path)
    me = authors[0]
    assert texts[0].startswith(f"<@{me}> and @Person-")
    other = texts[0].rpartition("@")[2]
    assert texts[1:] == [f"ask {me} or {me}", f"{other}, {other}!", f"id {other}", "the moon over Lund"]


def test_telegram(tmp_path):
    """Two names of one account are one person; ids of two people of one name are not that name's."""
    (tmp_path / "in").mkdir()
    telegram(tmp_path / "in")
    texts, authors = texts_and_authors(tmp_path)
    assert authors[0] == authors[1] != authors[2] == authors[3]
    assert texts[0] == f"tg://user?id={authors[0]}"
    assert "orsi" not in texts[1]
    assert texts[1].count(texts[1].rpartition(" ")[2]) == 2
    assert "777" not in texts[2]
    assert texts[3].count("Person-") == 2
    assert authors[2] not in texts[3]


def same(text: str) -> str:
    """A stage that makes the pipeline save the documents."""
    return text


BEFORE = [dp.Map(same), dp.chats.MessageStats(), dp.chats.MessageLanguage(), dp.PII(), dp.Filter(lambda text: None)]


@pytest.mark.parametrize("before", BEFORE, ids=lambda stage: type(stage).__name__)
@pytest.mark.parametrize("apart", [False, True], ids=["one run", "two runs"])
@pytest.mark.parametrize("runner", [dp.tools.Serial(), laws.TWO], ids=["serial", "two"])
def test_documents_that_were_saved_before(tmp_path, before, apart, runner):
    """The handles of the exports are found in documents that a stage or a pipeline before saved without them."""
    (tmp_path / "in").mkdir()
    discord(tmp_path / "in")
    docs = dp.read(str(tmp_path / "in"))
    hide = dp.chats.Pseudonyms(key=KEY)
    if apart:
        docs_before = dp.Pipeline(before).run(docs, out=str(tmp_path / "before"))
        made = dp.Pipeline(hide).run(dp.read([str(tmp_path / "before")]), out=str(tmp_path / "out"), runner=runner)
        assert len(docs_before) == len(made)
    else:
        made = dp.Pipeline(before, hide).run(docs, out=str(tmp_path / "out"), runner=runner)
    assert made.table()["text"].to_pylist() == texts_and_authors(tmp_path / "other", given=docs)[0]


def test_exports_that_are_gone_are_a_warning(tmp_path, caplog):
    """What only they state cannot be hidden; exports= names where they are now."""
    (tmp_path / "in").mkdir()
    discord(tmp_path / "in")
    before = dp.Pipeline(dp.Map(same)).run(dp.read(str(tmp_path / "in")), out=str(tmp_path / "before"))
    (tmp_path / "in").rename(tmp_path / "moved")
    dp.Pipeline(dp.chats.Pseudonyms(key=KEY)).run(before, out=str(tmp_path / "out"))
    assert "account ids and names" in caplog.text
    caplog.clear()
    moved = dp.read(str(tmp_path / "moved"))
    made = dp.Pipeline(dp.chats.Pseudonyms(key=KEY, exports=moved)).run(before, out=str(tmp_path / "again"))
    assert made.table()["text"].to_pylist() == texts_and_authors(tmp_path / "other", given=moved)[0]
    assert "accounts" not in caplog.text


def test_mentions_of_numbers(tmp_path):
    """WhatsApp's @ and a number is the person of that number, who need not write."""
    (tmp_path / "in").mkdir()
    lines = ["01/02/2024, 10:00 - Ilse: @212612345678 come", "01/02/2024, 10:01 - Ilse: call 0612345678 or @1234567"]
    (tmp_path / "in/WhatsApp Chat with Tea.txt").write_text("\n".join(lines) + "\n")
    texts, _ = texts_and_authors(tmp_path)
    assert texts[0].startswith("@Person-")
    assert texts[1] == f"call {texts[0].partition(' ')[0][1:]} or @1234567"


@pytest.mark.parametrize("listed", ["@moon_varga", "301234567890123456", "Ilse"])
@pytest.mark.parametrize("inside", [False, True], ids=["alone", "inside"])
def test_consent_by_handle(tmp_path, listed, inside):
    """A listed handle or id stands for its person; one of a person who did not write stops the run."""
    discord(tmp_path)
    consent = dp.chats.Consent(refused=(listed,))
    stage = dp.chats.Pseudonyms(key=KEY, consent=consent) if inside else consent
    out = dp.Pipeline(stage).run(dp.read(str(tmp_path / "cups.json")), out=str(tmp_path / "out"))
    assert out.table().num_rows == 0
    with pytest.raises(PlanError, match="are not authors: 'marekl'"):
        consent = dp.chats.Consent(refused=("marekl",))
        dp.Pipeline(consent).run(dp.read(str(tmp_path / "cups.json")), out=str(tmp_path / "no"))


def test_accounts_do_not_contradict_the_people_file():
    """Two people of the file stay two; accounts that share a name stay apart."""
    known = Identities((("Ilse", "Elsie"), ("Marek",)))
    rows = [("handle", "discord 1", "ilse_v"), ("stated", "discord 1", "Elsie"), ("author", "a", "Elsie"),
            ("handle", "discord 2", "Ilse"), ("stated", "discord 2", "Marek"),
            ("handle", "discord 3", "sara1"), ("stated", "discord 3", "Sara"),
            ("handle", "discord 4", "sara2"), ("stated", "discord 4", "Sara")]  # fmt: skip
    found = with_accounts(known, rows)
    assert found.persons[:2] == (("Ilse", "Elsie", "ilse_v"), ("Marek",))
    assert set(found.persons[2:]) == {("sara1",), ("sara2",)}


def test_a_number_of_another_country(tmp_path):
    """Digits that are equal without the country's code are not, and a national number of two people is refused."""
    lines = [f"01/02/2024, 10:0{k} - {who}: hi {k}" for k, who in enumerate(["+7 912 345 67 89", "+91 2345 6789 00"])]
    path = tmp_path / "WhatsApp Chat with Tea.txt"
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(PlanError, match="are not authors"):
        dp.Pipeline(dp.chats.Consent(refused=("+33 9123456789",))).run(dp.read(str(path)), out=str(tmp_path / "a"))
    two = ["01/02/2024, 10:00 - +33 612345678: a", "01/02/2024, 10:01 - +212 612345678: b"]
    path.write_text("\n".join(two) + "\n")
    with pytest.raises(PlanError, match=r"'0612345678' given to Consent may be '\+212 612345678' or '\+33 612345678'"):
        dp.Pipeline(dp.chats.Consent(refused=("0612345678",))).run(dp.read(str(path)), out=str(tmp_path / "b"))
