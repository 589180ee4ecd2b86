"""Backups of SMS Backup & Restore: messages, calls, repaired characters, and files that are cut or made to do harm."""

from __future__ import annotations

import gzip
import json
import logging
from datetime import datetime
from xml.sax.saxutils import quoteattr

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dataprep as dp
from dataprep.core.model.ledger import Ledger
from dataprep.core.model.reader import Slice
from dataprep.errors import PlanError, ReadError
from dataprep.read.chats.sms import elements
from dataprep.read.chats.sms.reader import Sms

HEAD = "<?xml version='1.0' encoding='UTF-8' standalone='yes' ?>\n<!--File Created By SMS Backup & Restore v10-->\n"
STAMP = 1_700_000_000_000  # 2023-11-14 22:13:20
MESSAGES = """\
<?xml-stylesheet type="text/xsl" href="sms.xsl"?>
<smses count="10" backup_set="x" backup_date="1700000000000">
  <sms protocol="0" address="+155501" date="1700000000000" type="1" subject="null" body="tea? &#55357;&#56832;&#10;or &lt;milk&gt;" read="1" contact_name="Ilse Varga" />
  <sms protocol="0" address="+155501" date="1700000060000" type="2" body='yes "please"' contact_name="Ilse Varga" />
  <sms protocol="0" address="+155502" date="1700000120000" type="1" body="who?" contact_name="(Unknown)" />
  <sms protocol="0" address="+155502" date="1700000180000" type="3" body="not sent" contact_name="(Unknown)" />
  <sms protocol="0" address="+155502" date="x" type="5" body="did not go" contact_name="null" />
  <mms date="1700000240000" msg_box="1" address="+155501~+155502~+155503" m_type="132" sub="Picnic" contact_name="Group">
    <parts>
      <part seq="-1" ct="application/smil" text="&lt;smil/&gt;" />
      <part seq="0" ct="text/plain" text="one" />
      <part seq="0" ct="image/jpeg" cl="cup.jpg" name="null" data="AAAA" />
      <part seq="0" ct="text/plain" text="two" />
    </parts>
    <addrs>
      <addr address="+155501" type="137" /><addr address="+155509" type="151" /><addr address="+155503" type="130" />
    </addrs>
  </mms>
  <mms date="1700000300000" msg_box="2" address="+155503~+155501~+155502" sub="null" contact_name="Group">
    <parts><part ct="video/mp4" cl="null" name="null" fn="null" data="AA" /></parts>
    <addrs><addr address="insert-address-token" type="137" /></addrs>
  </mms>
  <mms date="1700000360000" msg_box="1" address="+155501" sub="null" m_type="130" />
  <sms address="+155501" date="1700000420000" type="9" body="x" />
  <note>what is this</note>
</smses>
"""  # noqa: E501 - as the app writes it


def read_xml(path, text: str | bytes, **fields):
    """Rows of a file, its drops, and its ledger."""
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    ledger = Ledger("read", source="s")
    rows = [r for b in Sms(**fields)(Slice(str(path), 0), ledger) for r in b.to_pylist()]
    return rows, ledger.drop_table().to_pylist(), ledger


def sms(body: str, **fields) -> str:
    """One element of a message."""
    given = {"address": "1", "date": str(STAMP), "type": "1", "contact_name": "Ilse", **fields}
    return f"<sms {' '.join(f'{k}={quoteattr(v)}' for k, v in given.items())} body={body} />"


def backup(*inside: str) -> str:
    """A whole file."""
    return f'{HEAD}<smses count="{len(inside)}">{"".join(inside)}</smses>'


@pytest.mark.parametrize("chunk", [1 << 20, 7])
def test_messages(tmp_path, monkeypatch, caplog, chunk) -> None:
    """Names, groups, pictures and emoji; each element is a message or a drop with its reason."""
    monkeypatch.setattr(elements, "CHUNK", chunk)
    with caplog.at_level(logging.WARNING):
        rows, drops, _ = read_xml(tmp_path / "sms-20231114.xml", HEAD + MESSAGES, me="Noor")
    group = "+155502, +155503, Ilse Varga"
    assert [(r["chat"], r["author"], r["kind"], r["text"], json.loads(r["meta"])) for r in rows] == [
        ("Ilse Varga", "Ilse Varga", "text", "tea? 😀\nor <milk>", {}),
        ("Ilse Varga", "Noor", "text", 'yes "please"', {}),
        ("+155502", "+155502", "text", "who?", {}),
        ("+155502", "Noor", "text", "did not go", {"failed": True}),
        (group, "Ilse Varga", "image", "one\ntwo", {"file": "cup.jpg", "subject": "Picnic"}),
        (group, "Noor", "video", "", {}),
        ("Ilse Varga", "Ilse Varga", "file", "", {}),
    ]
    assert rows[0]["time"] == datetime(2023, 11, 14, 22, 13, 20)
    assert rows[3]["time"] is None
    assert [r["id"] for r in rows] == [0, 1, 2, 4, 5, 6, 7]
    assert [(d["id"], d["reason"]) for d in drops] == [(3, "draft"), (8, "unknown_type"), (9, "not_a_message")]
    assert not caplog.records


def test_calls(tmp_path) -> None:
    """A file of calls: who called, and for how long."""
    calls = "".join(
        f'<call number="{number}" duration="{seconds}" date="{STAMP}" type="{sort}" contact_name="{name}" />'
        for number, seconds, sort, name in [
            ("1", 62, 1, "Ilse"), ("1", 0, 2, "Ilse"), ("1", 0, 3, "Ilse"), ("", 0, 5, "(Unknown)"), ("2", 0, 77, ""),
        ]
    )  # fmt: skip
    rows, drops, _ = read_xml(tmp_path / "calls.xml", f'{HEAD}<calls count="5">{calls}</calls>')
    assert [(r["chat"], r["author"], r["kind"], r["text"]) for r in rows] == [
        ("Ilse", "Ilse", "call", "Incoming call (62 s)"), ("Ilse", "Me", "call", "Outgoing call"),
        ("Ilse", "Ilse", "call", "Missed call"),
        ("Unknown number", "Unknown number", "call", "Rejected call"), ("2", "2", "call", "Call"),
    ]  # fmt: skip
    assert not drops


@pytest.mark.parametrize(
    ("body", "text", "n_repaired"),
    [
        ('"&#55357;&#56832;"', "😀", 0),
        ('"&#xD83D;&#xDE00;!"', "😀!", 0),
        ('"&#55357;"', "\ufffd", 1),
        ('"&#56832;&#55357;"', "\ufffd\ufffd", 2),
        ('"a&#0;b&#11;"', "a\ufffdb\ufffd", 2),
        ('"a\x00b"', "a\ufffdb", 1),
        ('"&#x110000;&#65535;"', "\ufffd\ufffd", 2),
        ('"&#128512; &#x1F600; 😀"', "😀 😀 😀", 0),
        ('"&amp;#55357;"', "&#55357;", 0),
        ('"&#9;&#10;&#13;|"', "\t\n\r|", 0),
    ],
    ids=["pair", "hexadecimal", "lone", "reversed", "control", "nul", "beyond", "whole", "escaped", "white"],
)
@pytest.mark.parametrize("chunk", [1 << 20, 1])
def test_characters(tmp_path, monkeypatch, body, text, n_repaired, chunk) -> None:
    """Surrogates become one character; what XML forbids is replaced and counted, wherever the bytes are cut."""
    monkeypatch.setattr(elements, "CHUNK", chunk)
    rows, _, ledger = read_xml(tmp_path / "a.xml", backup(sms(body)))
    assert rows[0]["text"] == text
    assert ledger.record.counts["sms.repaired"] == n_repaired


LONG = '"' + "x" * 99 + '"'
BOMB = "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10 if n else "x" * 10}">' for n in range(9))


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("<!DOCTYPE smses [" + BOMB + "]>" + sms('"&a8;"'), "DOCTYPE"),
        ('<!DOCTYPE smses [<!ENTITY x SYSTEM "file:///etc/passwd">]><smses>&x;</smses>', "DOCTYPE"),
        ('<!DOCTYPE smses SYSTEM "http://example.org/x.dtd"><smses/>', "DOCTYPE"),
        ("<smses>" + sms('"&nbsp;"') + "</smses>", "truncated or damaged"),
        ("<html><body/></html>", "not an SMS Backup"),
        ("no xml", "truncated or damaged"),
        ("", "truncated or damaged"),
        ("<smses></smses>", "no records"),
        ('<smses><sms address="1" type="1" type="2" body="x"/></smses>', "duplicate attribute"),
        ("\ufeff<smses count='1'><sms type='8'/></smses>", "unknown_type"),
    ],
    ids=["bomb", "file", "external", "entity", "html", "text", "empty", "none", "twice", "type"],
)
def test_harmful_and_wrong_files(tmp_path, text, match) -> None:
    """No entity is declared or read, and the error says what is wrong."""
    with pytest.raises(ReadError, match=match):
        read_xml(tmp_path / "a.xml", text)


def test_encodings(tmp_path) -> None:
    """UTF-8 with a mark is read, Latin-1 if it is declared; undeclared Latin-1 and UTF-16 are errors."""
    text = backup(sms('"café"'))
    assert read_xml(tmp_path / "a.xml", "\ufeff" + text)[0][0]["text"] == "café"
    latin = text.replace("UTF-8", "ISO-8859-1").encode("latin-1")
    assert read_xml(tmp_path / "a.xml", latin)[0][0]["text"] == "café"
    with pytest.raises(ReadError, match="invalid token"):
        read_xml(tmp_path / "a.xml", text.encode("latin-1"))
    with pytest.raises(ReadError, match="UTF-16"):
        read_xml(tmp_path / "a.xml", text.encode("utf-16"))
    assert read_xml(tmp_path / "a.xml", text.replace("\n", "\r\n"))[0][0]["text"] == "café"


def test_a_cut_file(tmp_path) -> None:
    """The error names the place; with on_bad_file="skip" the messages before it are kept and the file is listed."""
    path = tmp_path / "chats" / "a.xml"
    path.parent.mkdir()
    path.write_text(backup(*[sms(f'"m{n}"') for n in range(50)])[:-200])
    (path.parent / "b.xml").write_text(backup(sms('"whole"')))
    with pytest.raises(ReadError, match="truncated or damaged"):
        dp.read(str(path)).table()
    docs = dp.read(str(path.parent), on_bad_file="skip")
    assert 40 < len([t for t in docs.table()["text"].to_pylist() if t.startswith("m")]) < 50


def test_limits_and_options(tmp_path, monkeypatch, caplog) -> None:
    """A long message is dropped, a huge element is an error, a wrong count a warning, and `me` a name."""
    rows, drops, _ = read_xml(tmp_path / "a.xml", backup(sms('"short"'), sms(LONG)), max_doc_bytes=50)
    assert ([r["text"] for r in rows], [d["reason"] for d in drops]) == (["short"], ["too_long"])
    with caplog.at_level(logging.WARNING):
        read_xml(tmp_path / "a.xml", backup(sms('"x"')).replace('count="1"', 'count="3"'))
    assert "states 3 messages but has 1" in caplog.text
    monkeypatch.setattr(elements, "MAX_ELEMENT", 3_000)
    monkeypatch.setattr(elements, "CHUNK", 500)
    assert len(read_xml(tmp_path / "a.xml", backup(*[sms(LONG.replace("x", "x" * 10))] * 9))[0]) == 9
    with pytest.raises(ReadError, match="is larger than"):
        read_xml(tmp_path / "a.xml", backup(sms(LONG.replace("x", "x" * 90))))
    with pytest.raises(PlanError, match="must be the name"):
        Sms(me=" ")


def test_recognised_by_its_first_bytes(tmp_path) -> None:
    """`dp.read` and `dp.chats.read` find the platform, also compressed; another XML file is left out."""
    text = backup(sms('"x"'), sms('"y"', type="2"))
    (tmp_path / "sms.xml.gz").write_bytes(gzip.compress(text.encode()))
    (tmp_path / "page.xml").write_text("<feed><smses/></feed>")
    docs = dp.read(str(tmp_path), me="Noor")
    assert docs.table()["author"].to_pylist() == ["Ilse", "Noor"]
    assert [(row["reason"], row["file"].endswith("page.xml")) for row in docs.unread().to_pylist()] == [
        ("not_a_chat", True)
    ]
    assert dp.chats.read(str(tmp_path), me="Noor")["author"].to_pylist() == ["Ilse", "Noor"]


@given(st.lists(st.text(st.characters(codec="utf-8", categories=("L", "N", "S", "P", "Zs")), max_size=20), max_size=9))
@settings(max_examples=40, deadline=None)
def test_what_is_written_comes_back(tmp_path_factory, texts) -> None:
    """Each text, written as the app writes it, with references to surrogates, is read as it was."""

    def written(text: str) -> str:
        units = text.encode("utf-16-be")
        codes = [int.from_bytes(units[k : k + 2], "big") for k in range(0, len(units), 2)]
        return '"' + "".join(f"&#{code};" for code in codes) + '"'

    rows, _, _ = read_xml(tmp_path_factory.mktemp("s") / "a.xml", backup(*map(sms, map(written, texts)), sms('"end"')))
    assert [r["text"] for r in rows] == [*texts, "end"]


def test_nested_elements_are_refused(tmp_path) -> None:
    """Each open element takes memory of the parser, so a deep file is one sentence, after the messages before it."""
    deep = "<a>" * 1_000_000
    path = tmp_path / "a.xml.gz"
    path.write_bytes(gzip.compress(f'<smses count="2"><sms address="1" date="1" type="2" body="x"/>{deep}'.encode()))
    with pytest.raises(ReadError, match=r"its elements are nested too deeply for a backup; make the backup again"):
        dp.read(str(path), format="sms", me="Noor").to_arrow()
