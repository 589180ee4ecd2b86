"""Chats in encodings other than UTF-8: every code page and UTF-16, in every reader of text, mixed and damaged files."""

from __future__ import annotations

import sys
import zipfile

import pytest

import dataprep as dp
from dataprep.core.model.ledger import Ledger
from dataprep.core.model.reader import Slice
from dataprep.errors import ReadError
from dataprep.read.chats import charsets
from dataprep.read.chats.whatsapp.reader import WhatsApp

SAID = {
    "cp1256": ("كريم", "مرحبا كيف حالك اليوم يا صديقي", "نعم إن شاء الله", "لا بأس"),
    "cp1251": ("Ольга", "Привет, как дела?", "Завтра пойдём в магазин", "Ну ладно"),
    "cp1253": ("Άννα", "Καλημέρα τι κάνεις;", "Θα πάμε αύριο στην αγορά", "Όχι"),
    "cp1255": ("דנה", "שלום מה שלומך", "נלך מחר לשוק", "בסדר גמור"),
    "cp1250": ("Šárka", "Dobrý den, jak se máš", "Přijdu zítra večer", "těším se"),
    "cp1254": ("Ayşe", "Nasılsın bugün işe gidiyor musun", "Yarın çarşıya gidelim mi", "iyi akşamlar"),
    "cp1252": ("Zoë", "Ça va ? On se voit “à midi”", "d'accord, à bientôt", "déjà vu"),
    "cp932": ("健太", "こんにちは、元気ですか", "明日行きますか", "おはようございます"),
    "gb18030": ("李雷", "你好，今天怎么样", "明天去不去", "早上好"),
    "cp949": ("민준", "안녕하세요 오늘 어때요", "내일 갈까요", "좋은 아침"),
    "cp874": ("สมชาย", "สวัสดี วันนี้เป็นอย่างไร", "พรุ่งนี้ไปไหม", "อรุณสวัสดิ์"),
    "utf-16-le": ("Ilse", "où ça? 😂", "здесь", "ok"),
    "utf-16-be": ("Ilse", "où ça? 😂", "здесь", "ok"),
    "utf-32-le": ("Ilse", "où ça? 😂", "здесь", "ok"),
    "utf-32-be": ("Ilse", "où ça? 😂", "здесь", "ok"),
    "mac-roman": ("Zoë", "Ça va ? On se voit “à midi”", "déjà été très gêné", "l'été à l'hôtel"),
    "cesu-8": ("Ilse 🌊", "où ça? 😂", "здесь 🍵🍵", "ok"),
}
FORMS = {
    "whatsapp": ("c.txt", "03/05/2024, 09:1{n} - {who}: {said}\n"),
    "signal": ("chat.md", "[2024-05-03 09:1{n}] {who}: {said}\n"),
    "line": ("[LINE] c.txt", "2024/05/03(Fri)\n09:1{n}\t{who}\t{said}\n"),
    "imessage": ("c.txt", "May 03, 2024  9:1{n}:00 AM\n{who}\n{said}\n\n"),
}


def read(path, reader=None):
    """Rows, drops, and counts."""
    ledger = Ledger("read", source="s")
    rows = [r for b in (reader or WhatsApp())(Slice(str(path), 0), ledger) for r in b.to_pylist()]
    return rows, ledger.drop_table()["reason"].to_pylist(), ledger.record.counts


def _cesu(text: str) -> bytes:
    """The text as UTF-8 of its UTF-16 units."""
    wide = text.encode("utf-16-be")
    units = "".join(chr(int.from_bytes(wide[k : k + 2], "big")) for k in range(0, len(wide), 2))
    return units.encode("utf-8", "surrogatepass")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("codec", SAID)
def test_every_encoding(tmp_path, caplog, codec, form) -> None:
    """Names and texts are as they were written, the format is recognised, and the conversion is stated."""
    who, *said = SAID[codec]
    name, line = FORMS[form]
    text = ("[LINE] chat\n" if form == "line" else "") + "".join(
        line.format(n=n, who=who, said=one) for n, one in enumerate([*said, "ok", *said])
    )
    written = _cesu(text) if codec == "cesu-8" else text.encode(codec)
    bom = {"utf-16-le": b"\xff\xfe", "utf-16-be": b"\xfe\xff"}.get(codec, b"")
    (tmp_path / name).write_bytes(bom + written)
    table = dp.chats.read(str(tmp_path))
    assert table["author"].to_pylist() == [who] * 7
    assert table["text"].to_pylist() == [*said, "ok", *said]
    assert f"{codec}, not UTF-8, and were converted" in caplog.text


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"], ids=["lf", "crlf", "cr"])
@pytest.mark.parametrize("codec", ["utf-16", "utf-16-le", "cp1251"])
def test_line_ends(tmp_path, codec, newline) -> None:
    """Any end of lines; UTF-16 without a byte order mark; words of the half of the day and Arabic digits in headers."""
    said = ["Привет", "как дела", "да"]
    text = "".join(f"03.05.2024, 09:1{n} - Анна: {one}\n" for n, one in enumerate(said)).replace("\n", newline)
    (tmp_path / "c.txt").write_bytes(text.encode(codec))
    rows, drops, _ = read(tmp_path / "c.txt")
    assert ([(r["author"], r["text"]) for r in rows], drops) == ([("Анна", one) for one in said], [])


def test_words_in_headers_and_a_zip(tmp_path) -> None:
    """Windows-1256 with the Arabic words for a.m. and p.m., in a zip."""
    text = "3/5/2024, 9:12 ص - كريم: صباح الخير\n3/5/2024, 9:13 م - سارة: مساء النور يا كريم\n" * 3
    with zipfile.ZipFile(tmp_path / "c.zip", "w") as z:
        z.writestr("_chat.txt", text.encode("cp1256"))
    rows = dp.read(str(tmp_path / "c.zip")).table().to_pylist()
    assert [(r["author"], r["time"].hour) for r in rows] == [("كريم", 9), ("سارة", 21)] * 3


def test_mixed_and_damaged(tmp_path, monkeypatch) -> None:
    """Lines in UTF-8 stay beside lines of a code page, damaged UTF-8 is dropped, in blocks of any size."""
    head = "03/05/2024, 09:12 - Анна: "
    lines = [(head + "да\n").encode("cp1251"), (head + "привет\n").encode(), (head + "нет\n").encode("cp1251"),
             head.encode() + "щи".encode()[:-1] + b"\xff\xff!\n", b"03/05/2024, 09:12 - Bob: ok\n"]  # fmt: skip
    (tmp_path / "c.txt").write_bytes(b"".join(lines * 5))
    for size in (7, 100, 1 << 20):
        monkeypatch.setattr(charsets, "CHUNK", size)
        rows, drops, counts = read(tmp_path / "c.txt")
        assert [r["text"] for r in rows] == ["да", "привет", "нет", "ok"] * 5
        assert drops == ["invalid_utf8"] * 5
        assert counts["from_cp1251"] == 10


def test_without_the_detector(tmp_path, monkeypatch) -> None:
    """Without its package, Latin script is Windows-1252, and any other script an error that says what to install."""
    monkeypatch.setitem(sys.modules, "resiliparse.parse.encoding", None)
    form = "03/05/2024, 09:12 - {}: {}\n"
    (tmp_path / "a.txt").write_bytes(form.format("Zoë", "déjà vu là-bas").encode("cp1252"))
    assert read(tmp_path / "a.txt")[0][0]["text"] == "déjà vu là-bas"
    (tmp_path / "a.txt").write_bytes(form.format("Анна", "привет, как дела").encode("cp1251"))
    with pytest.raises(ReadError, match=r"the text is not UTF-8; .*pip install 'dataprep-lm\[warc\]'; or convert"):
        read(tmp_path / "a.txt")


@pytest.mark.parametrize("said", ["привет", "مرحبا كيف الحال", "नमस्ते आप कैसे हैं", "สวัสดีครับ", "今日は元気です", "你好"])
@pytest.mark.parametrize("stray", [b"", b" \x9d", b" \x81 \x90"])
def test_few_damaged_bytes_are_no_control_characters(tmp_path, said, stray) -> None:
    """Lines of Windows-1252 in a chat in UTF-8, some with bytes that it does not define: no other byte is lost."""
    old = "It’s a “good” day – ça va… Straße".encode("cp1252")
    lines = [f"03/05/2024, 09:1{n} - Ilse: {said} {n}\n".encode() for n in range(5)]
    lines += [b"03/05/2024, 09:20 - Zoe: " + old + stray + b"\n", b"03/05/2024, 09:21 - Zoe: " + old + b"\n"]
    (tmp_path / "c.txt").write_bytes(b"".join(lines))
    rows, drops, counts = read(tmp_path / "c.txt")
    texts = [row["text"] for row in rows]
    assert not drops
    assert counts.get("unreadable_characters", 0) == len(stray.split())
    assert texts[:5] == [f"{said} {n}" for n in range(5)]
    assert texts[5:] == [old.decode("cp1252") + stray.decode("ascii", "replace"), old.decode("cp1252")]
