"""Mail: messages of .eml and mbox files as documents."""

from __future__ import annotations

import base64
import gzip
import json
import mailbox
import tracemalloc
from email.message import EmailMessage

import pytest

import dataprep as dp
from dataprep.core.model.ledger import Ledger
from dataprep.core.model.reader import Slice
from dataprep.errors import ReadError
from dataprep.read.mail import Mail

ODD = b"Subject: =?utf-8?b?w6l0w6k=?=\nContent-Type: text/plain; charset=x-none\n\nO\xf9 est l'\xe9t\xe9 ?\n"


def message(n, body="", html="", charset="utf-8"):
    """A message with an attachment."""
    mail = EmailMessage()
    mail["From"], mail["To"], mail["Subject"] = f"Ada {n} <ada@example.org>", "bee@example.org", f"Été {n}"
    mail["Message-ID"] = f"<{n}@example.org>"
    if body:
        mail.set_content(body, charset=charset)
    if html:
        (mail.add_alternative if body else mail.set_content)(html, subtype="html")
    mail.add_attachment(b"\0\1\2" * 9, maintype="image", subtype="png", filename="a.png")
    return mail


def rows(url, **options):
    """(position, text, meta) of the documents."""
    return [(row["id"], row["text"], json.loads(row["meta"])) for row in dp.read(str(url), **options)]


@pytest.mark.parametrize("charset", ["utf-8", "iso-8859-1", "cp1252"])
def test_an_mbox_has_the_messages_that_the_standard_library_reads(tmp_path, charset) -> None:
    """Texts, headers and lines that begin with From; positions are offsets of the messages."""
    box = mailbox.mbox(str(tmp_path / "a.mbox"))
    for n in range(30):
        box.add(message(n, f"Où est-ce ?\n\nFrom here to there {n}.\n", "<p>no</p>" if n % 2 else "", charset))
    box.close()
    found = rows(tmp_path / "a.mbox")
    assert [text for _, text, _ in found] == [f"Où est-ce ?\n\nFrom here to there {n}.\n" for n in range(30)]
    assert found[7][2]["subject"] == "Été 7"
    assert found[7][2]["from"] == "Ada 7 <ada@example.org>"
    data = (tmp_path / "a.mbox").read_bytes()
    assert {data[at : at + 5] for at, _, _ in found} == {b"From "}
    (tmp_path / "a.mbox.gz").write_bytes(gzip.compress(data))
    assert rows(tmp_path / "a.mbox.gz") == found


@pytest.mark.parametrize(
    ("text", "codec", "stated"),
    [
        ("Здравствуйте, как дела? Всё хорошо, спасибо.", "koi8-r", ""),
        ("今日はとても良い天気ですね。", "iso2022_jp", "iso-2022-jp"),
        ("今日はとても良い天気ですね。", "cp932", "us-ascii"),
        ("你好，今天天气很好，我们去公园。朱镕基", "gbk", "gb2312"),
        ("สวัสดีครับ วันนี้อากาศดี", "cp874", "windows-874"),
        ("مرحبا كيف حالك اليوم يا صديقي", "cp1256", "x-unknown"),
        ("नमस्ते आप कैसे हैं", "utf-8", "iso-8859-1"),
        ("l’été – ça va", "cp1252", "utf-8"),
        ("l’été – ça va", "cp1252", "iso-8859-1"),
    ],
)
def test_the_charset_is_decided_as_that_of_pages(tmp_path, text, codec, stated) -> None:
    """The text, a header of plain bytes, and one of encoded words; the stated charset counts if the bytes agree."""
    pytest.importorskip("resiliparse")
    data, name = text.encode(codec), stated or "x"
    word = base64.b64encode(data).decode()
    head = f"Content-Type: text/plain; charset={name}\nFrom: =?{name}?B?{word}?= <a@example.org>\nSubject: "
    (tmp_path / "a.eml").write_bytes(head.encode() + data + b"\n\n" + data + b"\n")
    [(_, found, meta)] = rows(tmp_path / "a.eml")
    assert found == f"{text}\n"
    assert meta == {"from": f"{text} <a@example.org>", "subject": text}


def test_bytes_that_are_no_text(tmp_path) -> None:
    """A message of binary data has a reason, and bytes that no charset reads are counted."""
    head = b"From a\nSubject: x\nContent-Type: text/plain; charset=utf-8\n\n"
    picture, damaged = b"\x89PNG\0\1\xff\x80" * 99, "l’été…".encode("cp1252") + b" \x9d\n"
    (tmp_path / "a.mbox").write_bytes(head + picture + b"\n\n" + head + damaged)
    done = dp.Pipeline().run(dp.read(str(tmp_path / "a.mbox")), out=str(tmp_path / "out"))
    assert [row["text"] for row in done] == ["l’été… \ufffd\n"]
    assert done.stats[0].reasons == {"binary": 1}
    assert done.stats[0].counts["unreadable_characters"] == 1


def test_one_message(tmp_path) -> None:
    """Plain text first, else the text of the HTML; an unknown charset is Windows-1252 if the text is not UTF-8."""
    (tmp_path / "a.eml").write_bytes(bytes(message(1, "plain\n", "<p>page</p>")))
    assert rows(tmp_path / "a.eml")[0][:2] == (0, "plain\n")
    (tmp_path / "c.eml").write_bytes(ODD)
    assert rows(tmp_path / "c.eml")[0][1:] == ("Où est l'été ?\n", {"subject": "été"})
    pytest.importorskip("resiliparse")
    (tmp_path / "b.eml").write_bytes(bytes(message(1, "", "<p>The harbour was quiet in the morning.</p>")))
    assert rows(tmp_path / "b.eml")[0][1] == "The harbour was quiet in the morning."


def test_bad_messages(tmp_path) -> None:
    """Without text, cut, of bytes that are no mail, or no mbox: a reason or one sentence."""
    box = b"From a\n" + ODD + b"\nFrom b\nSubject: none\n\n\nFrom c\n" + bytes(message(3, "end\n"))[:-40]
    (tmp_path / "a.mbox").write_bytes(box)
    done = dp.Pipeline().run(dp.read(str(tmp_path / "a.mbox")), out=str(tmp_path / "out"))
    assert [row["text"] for row in done] == ["Où est l'été ?\n\n", "end\n"]
    assert done.stats[0].reasons == {"no_text": 1}
    (tmp_path / "b.mbox").write_bytes(b"\0\1\2\n" * 99)
    with pytest.raises(ReadError, match='does not begin with a line "From'):
        rows(tmp_path / "b.mbox")


def test_memory_is_bounded(tmp_path) -> None:
    """A line, and a message of many lines, that are far too long are dropped without being held."""
    path = tmp_path / "a.mbox.gz"
    with gzip.open(path, "wb", compresslevel=1) as f:
        f.write(b"From a\n\nfirst\n\nFrom b\n\n")
        for _ in range(96):
            f.write(b"x" * (1 << 20))
        f.write(b"\n\nFrom c\n\n")
        for _ in range(96):
            f.write(b"x" * (1 << 20) + b"\n")
        f.write(b"\nFrom d\n\nlast\n")
    ledger = Ledger("read", source="s")
    tracemalloc.start()
    try:
        batches = list(Mail(max_doc_bytes=2 << 20, max_bad=1)(Slice(str(path), 0), ledger))
        assert tracemalloc.get_traced_memory()[1] < 60 << 20
    finally:
        tracemalloc.stop()
    assert [text.strip() for batch in batches for text in batch.column("text").to_pylist()] == ["first", "last"]
    assert ledger.drop_table()["reason"].to_pylist() == ["too_long"] * 2
