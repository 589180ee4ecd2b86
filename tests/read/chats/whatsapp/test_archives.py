"""WhatsApp's files: zips, compressed and broken ones, several blocks, and the real exports of others."""

from __future__ import annotations

import gzip
import json
import logging
import zipfile
from collections import Counter
from datetime import datetime, timedelta

import numpy as np
import pytest

import dataprep as dp
from dataprep.core.model.ledger import Ledger
from dataprep.core.model.reader import Slice
from dataprep.errors import ReadError
from dataprep.read import text as plain_text
from dataprep.read.chats.whatsapp import scan as S
from dataprep.read.chats.whatsapp.archives import chat_of
from dataprep.read.chats.whatsapp.close_names import close
from dataprep.read.chats.whatsapp.headers import find_in
from dataprep.read.chats.whatsapp.reader import WhatsApp
from dataprep.read.formats import sniffed
from twins.whatsapp_names import close_name

CHAT = "25/05/2024, 09:12 - Ilse: hello\n25/05/2024, 09:13 - Tom: two\nlines\n26/05/2024, 09:14 - Ilse: bye\n"


def is_whatsapp(path) -> bool:
    found = sniffed(str(path))
    return found is not None and found.name == "whatsapp"


def read(path, **options):
    """Rows, drops by reason, and counts."""
    ledger = Ledger("read", source="s")
    rows = [r for b in WhatsApp(**options)(Slice(str(path), 0), ledger) for r in b.to_pylist()]
    return rows, Counter(d["reason"] for d in ledger.drop_table().to_pylist()), ledger.record.counts


def zipped(path, **members):
    """A zip with these members."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as z:
        for name, data in members.items():
            z.writestr(name.replace("__", "/").replace("_txt", ".txt").replace("_jpg", ".jpg"), data)
    return path


def test_a_zip_as_the_phone_makes_it(tmp_path) -> None:
    """The chat inside is read as the text file is, media and text files that people sent left alone."""
    plain = tmp_path / "WhatsApp Chat with Bee.txt"
    plain.write_text(CHAT)
    android = zipped(
        tmp_path / "WhatsApp Chat with Bee.zip",
        **{"WhatsApp Chat with Bee_txt": CHAT, "IMG-20240525-WA0001_jpg": b"\xff\xd8", "another chat_txt": CHAT},
    )
    ios = tmp_path / "WhatsApp Chat - Bee.zip"
    with zipfile.ZipFile(ios, "w") as z:
        z.writestr("_chat.txt", CHAT)
        z.writestr("00000002-notes.txt", "25/05/2024, 09:12 - not: this")
    for path in (android, ios):
        assert read(path)[0] == read(plain)[0]
        assert is_whatsapp(path)
    assert {r["chat"] for r in read(ios)[0]} == {"Bee"}


def test_a_zip_of_several_chats(tmp_path) -> None:
    """All are read, one after another, each under its name; ids ascend."""
    path = zipped(tmp_path / "all.zip", Anna_txt=CHAT, Ben_txt=CHAT.replace("25/05", "5/25").replace("26/05", "5/26"),
                  letter_txt="Dear you\n")  # fmt: skip
    rows, drops, counts = read(path)
    assert [r["chat"] for r in rows] == ["Anna"] * 3 + ["Ben"] * 3
    assert rows[3]["id"] == len(CHAT)
    assert [r["time"] for r in rows[:3]] == [r["time"] for r in rows[3:]]
    assert not drops
    assert counts == {"order.dmy": 3, "order.mdy": 3}


def test_what_a_zip_holds_besides_is_listed(tmp_path, caplog) -> None:
    """Every member of a zip is a chat or a row of the unread table; each folder of a zip may hold a chat."""
    with zipfile.ZipFile(tmp_path / "in.zip", "w") as z:
        for name in ("Ann/_chat.txt", "Ann/diary.txt", "Ben/WhatsApp Chat with Ben.txt"):
            z.writestr(name, CHAT)
        for name in ("Ann/00000001-PHOTO.jpg", "Ben/notes.txt", "result.json", "inner.zip", "readme",
                     "__MACOSX/Ann/._chat.txt", "__MACOSX/x.txt"):  # fmt: skip
            z.writestr(name, "PK")
    docs = dp.Pipeline().run(dp.read(str(tmp_path / "in.zip")), out=str(tmp_path / "out"))
    assert sorted({row["chat"] for row in docs.table().to_pylist()}) == ["Ann", "Ben"]
    assert docs.count == 6
    found = {r["file"].partition("in.zip/")[2]: r["reason"] for r in docs.unread().to_pylist()}
    assert found == {
        "Ann/00000001-PHOTO.jpg": "unknown_type", "Ann/diary.txt": "not_a_chat", "Ben/notes.txt": "not_a_chat",
        "result.json": "not_a_chat", "inner.zip": "not_a_chat", "__MACOSX": "hidden", "readme": "unknown_type",
    }  # fmt: skip
    assert "6 files in the zip are not read (.txt 2, .jpg 1, " in caplog.text


def test_zips_that_cannot_be_read(tmp_path) -> None:
    """No chat, no zip, a damaged one: one sentence each."""
    with pytest.raises(ReadError, match=r"contains no exported chat \(a \.txt file\), only a\.jpg; export"):
        read(zipped(tmp_path / "a.zip", a_jpg=b""))
    with pytest.raises(ReadError, match=r"'_chat\.txt' in the zip is empty; export the chat again"):
        dp.read(str(zipped(tmp_path / "e.zip", _chat_txt="")))
    path = tmp_path / "b.zip"
    path.write_bytes(b"PK nonsense")
    with pytest.raises(ReadError, match="zip is truncated or damaged"):
        read(path)
    assert not is_whatsapp(path)
    whole = zipped(tmp_path / "c.zip", c_txt=CHAT * 50).read_bytes()
    at = whole.index(b"c.txt") + 20
    path.write_bytes(whole[:at] + bytes([whole[at] ^ 255]) + whole[at + 1 :])
    with pytest.raises(ReadError, match=r"b\.zip.*(damaged|cannot be opened)"):
        read(path)


def test_compressed_and_cut_into_blocks(tmp_path, monkeypatch) -> None:
    """Where the reader's blocks end does not matter, nor whether the file is compressed."""
    texts = ["image omitted", "\u200eimage omitted", *("y" * i for i in range(58))]  # one mark decides for all
    data = "".join(f"{i % 28 + 1:02}/05/2024, 09:12 - Ilse: {t}\nmore {i}\n" for i, t in enumerate(texts)).encode()
    (tmp_path / "c.txt").write_bytes(data)
    (tmp_path / "c.txt.gz").write_bytes(gzip.compress(data))
    want = read(tmp_path / "c.txt")
    assert len(want[0]) == 60
    assert read(tmp_path / "c.txt.gz") == want
    for size in (7, 64, 333):
        monkeypatch.setattr(plain_text, "BLOCK", size)
        assert read(tmp_path / "c.txt") == want


def test_cut_files(tmp_path) -> None:
    """Whatever byte an export ends at, whole messages stay as they are, and half a character or header is taken off."""
    data = (CHAT + "27/05/2024, 09:15 - Tomás: déjà vu 😂").encode()
    path = tmp_path / "c.txt"
    path.write_bytes(data)
    whole, _, _ = read(path)
    first = len(CHAT.encode())
    for end in range(first, len(data)):
        path.write_bytes(data[:end])
        rows, drops, counts = read(path)
        assert rows[:2] == whole[:2]
        assert rows[2]["author"] == "Ilse"
        tail = data[first:end].decode("utf-8", "ignore")
        if len(tail) >= len("27/05/2024, 09:15 -"):
            assert rows[2] == whole[2]
            assert len(rows) == 4
            said = tail[len("27/05/2024, 09:15 - ") :]
            assert rows[3]["text"] == said.removeprefix("Tomás:").removeprefix(" ") or not rows[3]["author"]
        elif len(tail) > len("27/05/2024, "):
            assert rows[2:] == whole[2:3]
            assert drops == {"cut_header": 1}
        half = tail.encode() != data[first:end]
        assert counts["cut_in_a_character"] == half


def test_what_is_no_chat(tmp_path) -> None:
    """The sentence shows the first line and what was tried."""
    path = tmp_path / "c.txt"
    for text in ("Lieber Tom,\nam 5.3. komme ich\n", "Sat Mar 5 2024 10:00 <Tom> hi\n"):
        path.write_text(text)
        line = text.split("\n", maxsplit=1)[0]
        with pytest.raises(
            ReadError, match=rf"first line is '{line}'; known forms are '03/05/2024, 09:12 - NAME: TEXT'"
        ):
            read(path)
        assert not is_whatsapp(path)
    path.write_text("Dear diary\n" * 120 + CHAT)
    with pytest.raises(ReadError, match="first 100 records are all bad; .*no date begins the line b'Dear diary'"):
        read(path)


def test_an_empty_group(tmp_path) -> None:
    """A chat in which nobody said a thing is read, and recognised."""
    path = tmp_path / "c.txt"
    path.write_text(
        "25/05/2024, 09:12 - Messages and calls are end-to-end encrypted. Tap to learn more.\n"
        '25/05/2024, 09:12 - Ilse created group "Books: old"\n25/05/2024, 09:13 - Ilse added you\n'
    )
    rows, _, _ = read(path)
    assert [(r["author"], r["kind"]) for r in rows] == [(None, "system")] * 3
    assert is_whatsapp(path)


def test_the_order_is_stated(tmp_path, caplog) -> None:
    """What the dates tell is counted; what they do not tell is a warning; an impossible wish is refused."""
    path = tmp_path / "c.txt"
    path.write_text(CHAT)
    with caplog.at_level(logging.INFO, "dataprep"):
        assert read(path)[2] == {"order.dmy": 3}
    assert [r.levelname for r in caplog.records] == ["INFO"]
    with pytest.raises(ReadError, match=r"date_order='mdy' makes 3 dates impossible, such as 25/5/2024; leave it out"):
        read(path, date_order="mdy")
    path.write_text("05/03/2024, 10:00 - A: x\n")
    assert read(path)[2] == {"order.dmy": 1, "order.undecided": 1}
    assert "dates such as 5/3/2024 are ambiguous and are read as dmy; set date_order=" in caplog.text
    caplog.clear()
    assert read(path, date_order="mdy")[2] == {"order.mdy": 1}
    assert not caplog.records


def test_a_name_without_a_space(tmp_path) -> None:
    """`NAME:text` has an author only where the file has `NAME: text` too; times in system lines are no names."""
    path = tmp_path / "c.txt"
    path.write_text(CHAT + "27/05/2024, 10:00 - Tom:.\n27/05/2024, 10:00 - Ilse left at 10:30\n")
    assert [(r["author"], r["text"]) for r in read(path)[0][3:]] == [("Tom", "."), (None, "Ilse left at 10:30")]


def test_exports_without_a_blank_after_names(tmp_path) -> None:
    """If most lines are `[TIME] NAME:TEXT`, the first colon ends the name; URLs and times have none."""
    said = [("Bob", "Hi"), ("Ann B", "Hello: you"), ("Bob", "https://x.org"), ("+1 Tom", "10:30, or 11"),
            ("李", "a\nb:c"), (None, "https://x.org"), (None, "10:30"), ("Bob", " late"), (None, '{"a":1}'),
            (None, "You created group \u201cA:b\u201d")]  # fmt: skip
    path = tmp_path / "c.txt"
    lines = [f"[2026/7/9 02:28:{i:02}] {f'{who}:' if who else ''}{text}\n" for i, (who, text) in enumerate(said)]
    for some in (lines, lines[:1]):
        path.write_text("".join(some))
        assert is_whatsapp(path)
        rows = read(path)[0]
        assert [(r["author"], r["text"].strip()) for r in rows] == [(w, t.strip()) for w, t in said][: len(some)]
        assert {r["kind"] for r in rows if r["author"]} == {"text"}
    data = "".join(lines).encode()
    padded = np.frombuffer(data + bytes(64), np.uint8)
    for row in close(padded, find_in(data)):
        name, stop, text, end = row[[S.NAME, S.NAME_STOP, S.SAID, S.LINE_STOP]].tolist()
        got = (data[name:stop].decode(), data[text:end].decode()) if text == stop + 1 else None
        assert got == close_name(data[name:end].decode())
    path.write_text("".join(line.replace(":Hi", ": Hi").replace(":Hello", ": Hello") for line in lines[:2]) +
                    "[2026/7/9 03:00:00] note:this\n")  # fmt: skip
    assert [r["author"] for r in read(path)[0]] == ["Bob", "Ann B", None]


@pytest.mark.parametrize(
    ("url", "name"),
    [("x/WhatsApp Chat with Bee & Co.zip", "Bee & Co"), ("WhatsApp Chat - B.zip", "B"),
     ("WhatsApp-Chat mit B.txt", "B"), ("Chat de WhatsApp con B.txt", "B"),
     ("Conversa do WhatsApp com B.txt", "B"), ("a/_chat.txt", "a")],
)  # fmt: skip
def test_names_of_chats_in_many_languages(url, name) -> None:
    """The chat's name is what stands behind the phone's words."""
    assert chat_of(url) == name


def test_one_chat_in_every_language(shared) -> None:
    """A chat exported on iPhones in seven languages has the same messages, kinds and times; and so on Android."""
    folder = shared / "chats" / "whatsapp" / "languages"
    by_phone = {"ios": [], "android": []}
    for path in sorted(folder.glob("*_ios.txt")) + sorted(folder.glob("*_android*.txt")):
        by_phone["ios" if path.stem.endswith("ios") else "android"].append(read(path)[0])
    assert [len(v) for v in by_phone.values()] == [7, 3]
    for chats in by_phone.values():
        for chat in chats[1:]:
            assert [said(r) for r in chat] == [said(r) for r in chats[0]]
            for a, b in zip(chat, chats[0], strict=True):
                assert abs(a["time"] - b["time"]) <= timedelta(seconds=1)  # the phones rounded differently
                assert a["kind"] == b["kind"] or "file" in {a["kind"], b["kind"]}  # exported with media and without


def said(row):
    """What somebody wrote."""
    return (row["author"], row["text"]) if row["kind"] == "text" else None


def test_exports_that_others_test(shared) -> None:
    """No message of other libraries' sample files is lost or glued to another."""
    folder = shared / "chats" / "whatsapp"
    target = json.loads((folder / "chat-miner" / "target.json").read_text())
    want = [(t["author"], datetime.fromisoformat(t["timestamp"]), t["message"]) for t in reversed(target)]
    for path in (folder / "chat-miner").glob("*.txt"):
        got = [(r["author"], r["time"], r["text"].replace("\n", " ")) for r in read(path)[0] if r["kind"] == "text"]
        assert set(want) <= set(got), path.name
        assert len(got) == len(want) + 1  # theirs leave "." out
    for path in [*(folder / "whatstk").glob("*.txt"), *(folder / "ImadSaddik").glob("Dummy*.txt")]:
        assert len(read(path)[0]) == path.read_text().count("\n") + (not path.read_text().endswith("\n")), path.name
    text, zipped_too = (read(folder / "rwhatsapp" / f"sample.{suffix}")[0] for suffix in ("txt", "zip"))
    assert text == zipped_too
    assert len(text) == 9


def test_reads_through_dp_read(tmp_path) -> None:
    """The reader keeps its books: documents in are documents out and dropped."""
    (tmp_path / "WhatsApp Chat with Bee.txt").write_text(CHAT + "27/05/2024, 09:00 - Bee: " + "z" * 200 + "\n")
    docs = dp.Pipeline().run(dp.read(str(tmp_path), max_doc_bytes=100), out=f"{tmp_path}-out")
    book = docs.stats["read"]
    assert (book.docs_in, book.docs_out, book.reasons) == (4, 3, {"too_long": 1})


def test_a_zip_is_opened_once_for_all_its_chats(tmp_path, monkeypatch) -> None:
    """Each opening reads the list of all members, so a zip of many chats would take quadratic time."""
    path = tmp_path / "backup.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for n in range(5):
            archive.writestr(f"WhatsApp Chat with P{n}.txt", CHAT)
    opened = []

    class Counted(zipfile.ZipFile):
        def __init__(self, *args) -> None:
            opened.append(args)
            super().__init__(*args)

    monkeypatch.setattr(zipfile, "ZipFile", Counted)
    assert is_whatsapp(path)
    opened.clear()
    rows, _, _ = read(path)
    assert (len(rows), len(opened)) == (15, 1)
    assert len({row["chat"] for row in rows}) == 5
