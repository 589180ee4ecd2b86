"""What a document states about its charset, names of charsets, and charsets that are no extension of ASCII."""

from __future__ import annotations

import codecs

import orjson
import pytest

import dataprep as dp
from dataprep.core.model.ledger import Ledger
from dataprep.core.model.reader import Slice
from dataprep.read.charsets.decide import characters
from dataprep.read.charsets.labels import _CODECS, SAME, codec_of
from dataprep.read.charsets.stated import in_meta, in_xml
from dataprep.read.whole_file import Text

RUSSIAN = "Утром старый город был тихим, и люди шли на рынок за хлебом. Мужчина сказал, что дорога длинная."
JAPANESE = "朝の古い町は静かで、人々はパンと野菜を買いに市場へ行きました。"
KOREAN = "아침에 오래된 도시는 조용했고 사람들은 빵과 채소를 사러 시장에 갔다."


def read(data: bytes, declared: str = "", *, is_html: bool = False) -> tuple[str, str]:
    """The text and the charset of a document."""
    found = characters(data, declared, is_html=is_html)
    assert found is not None
    return found.text, found.charset


def test_labels_mean_what_browsers_read() -> None:
    """Labels of the Encoding Standard are those that Resiliparse maps, and each codec exists."""
    parse = pytest.importorskip("resiliparse.parse.encoding")
    wider = {**SAME, "gbk": "gb18030", "koi8-r": "koi8-r"}
    for label, codec in _CODECS.items():
        name = codecs.lookup(codec).name
        known = parse.map_encoding_to_html5(label, fallback_utf8=False)
        if known and not name.startswith("utf-16"):
            other = codecs.lookup(known).name
            assert wider.get(name, name) == wider.get(other, other), label


@pytest.mark.parametrize(
    ("label", "codec"),
    [("IBM855", "cp855"), ("x-mac-cyrillic", "mac-cyrillic"), ("MacCentralEurope", "mac-latin2"), ("CP850", "cp850"),
     (" Latin1 ", "cp1252"), ("johab", "johab"), ("ISO_8859-8-I", ""), ("nonsense", ""), ("", ""), ("idna", ""),
     ("unicode_escape", ""), ("rot13", ""), ("zlib", ""), ("ünicode", ""), ("a\0b", "")],
)  # fmt: skip
def test_names_beyond_the_standard(label, codec) -> None:
    """Python's names are known too, but not those of codecs that are no charset."""
    assert codec_of(label) == codec


@pytest.mark.parametrize("name", ["IBM855", "IBM866", "x-mac-cyrillic", "koi8-r", "iso-8859-5", "windows-1251"])
def test_the_xml_declaration_counts(name) -> None:
    """The charset of an XML declaration is that of the file, as a text file and as a page."""
    text = f"<?xml version='1.0' encoding='{name}'?><p>№ {RUSSIAN[:20]}</p>".replace("№ ", "")
    for is_html in (True, False):
        assert read(text.encode(codec_of(name)), is_html=is_html)[0] == text


@pytest.mark.parametrize(
    ("page", "xml", "meta"),
    [(b"<?xml version='1.0' encoding='koi8-r'?>", "koi8-r", ""), (b"<p><?xml version='1.0' encoding='a'?>", "", ""),
     (b'\n<?xml version="1.0" encoding = "ASCII" ?>', "ASCII", ""),
     (b"<meta charset=koi8-u>", "", "koi8-u"), (b"<META a='b' CHARSET = ' big5 '>", "", "big5"),
     (b"<!-- <meta charset=big5> --><meta charset='koi8-u'>", "", "koi8-u"), (b"<!-- <meta charset=big5>", "", ""),
     (b"<meta name=description content='how to set charset=big5'><meta charset=koi8-u>", "", "koi8-u"),
     (b"<meta http-equiv=Content-Type content='text/html; charset=big5'>", "", "big5"),
     (b"<meta content='text/html; charset=big5' http-equiv='content-type'/>", "", "big5"),
     (b"<metal charset=big5>", "", ""), (b"<p>charset=big5", "", "")],
)  # fmt: skip
def test_where_a_charset_is_stated(page, xml, meta) -> None:
    """A declaration counts at the start, `meta` outside comments, and `content` only beside `http-equiv`."""
    assert (in_xml(page), in_meta(page)) == (xml, meta)


@pytest.mark.parametrize("codec", ["iso2022_jp", "iso2022_jp_2", "utf-32", "utf-32-le", "utf-32-be", "utf-16", "cp855"])
def test_files_in_charsets_of_escapes_and_units(tmp_path, codec) -> None:
    """ISO-2022, UTF-16 and UTF-32 are text in every reader: whole files and pages."""
    text = RUSSIAN if codec == "cp855" else JAPANESE
    (tmp_path / "a.txt").write_bytes(text.encode(codec))
    ledger = Ledger("read", source="s")
    ((row,),) = [batch.to_pylist() for batch in Text()(Slice(str(tmp_path / "a.txt"), 0), ledger)]
    assert row["text"] == text
    assert orjson.loads(row["meta"])["encoding"].startswith(codec[:6])
    assert read(f"<p>{text}</p>".encode(codec), is_html=True)[0] == f"<p>{text}</p>"


def test_korean_of_seven_bits(tmp_path) -> None:
    """ISO-2022-KR, whose shifts are control characters, is text too, and so is a chat in ISO-2022-JP."""
    assert read(KOREAN.encode("iso2022_kr")) == (KOREAN, "iso2022_kr")
    (tmp_path / "k.txt").write_bytes(KOREAN.encode("iso2022_kr"))
    assert dp.read(str(tmp_path / "k.txt"), format="text").table()["text"].to_pylist() == [KOREAN]
    chat = "".join(f"03/05/2024, 09:1{n} - 健太: 明日行きますか\n" for n in range(3))
    (tmp_path / "c.txt").write_bytes(chat.encode("iso2022_jp"))
    assert dp.chats.read(str(tmp_path / "c.txt"))["text"].to_pylist() == ["明日行きますか"] * 3


@pytest.mark.parametrize("text", ["\x1b[31mred\x1b[0m", "a \x1b$ b", "plain ~{ text"])
def test_escapes_that_are_no_charset(text) -> None:
    """Colours of a terminal, and escapes without characters, stay as they are."""
    assert read(text.encode())[0] == text


def test_binary_files_are_no_text(tmp_path) -> None:
    """An image with the suffix of a text file is dropped, not decoded."""
    (tmp_path / "a.txt").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 20)
    ledger = Ledger("read", source="s")
    assert not list(Text()(Slice(str(tmp_path / "a.txt"), 0), ledger))
    assert ledger.drop_table()["reason"].to_pylist() == ["invalid_utf8"]


def test_a_mark_that_lies() -> None:
    """A mark of UTF-8 before text that is nowhere UTF-8 does not count."""
    text = "Le matin, la vieille ville était calme, déjà l'été s'achève. " * 3
    assert read(codecs.BOM_UTF8 + text.encode("cp1252")) == (text, "cp1252")
    assert read(codecs.BOM_UTF8 + text.encode() + b"\xff") == (text + "\ufffd", "utf-8")


def test_two_encodings_in_one_file(tmp_path) -> None:
    """Each line of a file is read in its own encoding."""
    lines = ["La ville était calme.".encode(), "déjà l'été s'achève".encode("cp1252"), "où ça ?".encode()] * 3
    (tmp_path / "a.txt").write_bytes(b"\n".join(lines))
    (row,) = dp.read(str(tmp_path / "a.txt"), format="text").table().to_pylist()
    assert row["text"].split("\n") == ["La ville était calme.", "déjà l'été s'achève", "où ça ?"] * 3


@pytest.mark.parametrize("codec", ["iso8859-5", "iso8859-7", "iso8859-2", "cp1252"])
def test_stray_bytes_are_no_control_characters(codec) -> None:
    """A byte that ISO 8859 has no character for is unreadable, not a control character; so are stray bytes in ASCII."""
    greek, czech = "Το πρωί η παλιά πόλη ήταν ήσυχη. ", "Ráno bylo město tiché. "
    said = {"iso8859-5": RUSSIAN, "iso8859-7": greek, "iso8859-2": czech}
    for data in (said.get(codec, "“so”, été ").encode(codec) * 5 + b" \x81 \x8d", b"at the mar \xfd \xa0  k \x81 et"):
        found = characters(data, is_html=False)
        assert found is not None
        assert not any("\x7f" <= c <= "\x9f" for c in found.text), found.charset
        assert found.n_lost == found.text.count("\ufffd") > 0


@pytest.mark.parametrize("declared", ["windows-1252", "iso-8859-1"])
@pytest.mark.parametrize("said", ["Sýndu mér þetta.", "Veðrið er gott.", "Þýða", "Við þurfum þetta"])
def test_short_icelandic_is_not_turkish(said, declared) -> None:
    """The bytes of a short text may be Turkish letters as well; the charset that is stated decides."""
    assert read(said.encode("cp1252"), declared) == (said, "cp1252")


@pytest.mark.parametrize("said", ["Kapıyı kapat", "kış aylarında", "İyi akşamlar"])
def test_short_turkish_under_the_default_of_a_server(said) -> None:
    """Letters at places that Icelandic words do not have are Turkish, whatever a server states."""
    assert read(said.encode("cp1254"), "iso-8859-1") == (said, "cp1254")


@pytest.mark.parametrize(
    ("said", "declared"),
    [("史\n", "gbk"), ("le mot 的 ici", "euc-jp"), ("najväčšia", "iso-8859-16"),
     ("mišljati, bježi, to sve žele", "windows-1252")],
)  # fmt: skip
def test_a_right_header_wins_over_what_fits_by_chance(said, declared) -> None:
    """Few characters may also be valid UTF-8, or letters of Mac OS Roman."""
    assert read(said.encode(codec_of(declared)), declared)[0] == said
    assert read(said.encode(), declared) == (said, "utf-8")


@pytest.mark.parametrize("name", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize(
    "text",
    ["早上，这座古老的城市很安静，人们走到市场去买面包。", "早上，這座古老的城市很安靜。", JAPANESE, KOREAN,
     JAPANESE + "\n<br/>\n" * 9],
)  # fmt: skip
def test_wide_text_of_east_asia_without_a_mark(tmp_path, text, name) -> None:
    """Chinese, Japanese and Korean in UTF-16 have no zeros, but control characters, and only common characters."""
    data = text.encode(name)
    assert read(data) == read(data, "utf-16be" if name[-2:] == "be" else "utf-16") == (text, name)
    (tmp_path / "a.txt").write_bytes(data)
    assert dp.read(str(tmp_path / "a.txt"), format="text").table()["text"].to_pylist() == [text]
    for codec in ("gb18030", "cp932", "cp949", "big5hkscs"):
        data = text.encode(codec, "ignore")
        if data.decode(codec) == text:
            assert not read(data + b" \x02\x03", "utf-16")[1].startswith("utf-16")


@pytest.mark.parametrize(
    "text", ["────────", "создавае", "日本語", "新宿や渋谷の狭さ", "まっ", "ぞまこ", "のあふふ", "ラー"]
)
def test_a_header_that_states_utf16_is_believed(text) -> None:
    """A few characters without a blank are text in the UTF-16 that a header states, but a page in ASCII is not."""
    for name in ("utf-16le", "utf-16be"):
        assert read(text.encode(name), name)[0] == text
        assert read(f"<p>{text}</p>".encode(), name)[0] == f"<p>{text}</p>"
    for said in ("<p>a page</p>!", "tea!", "| th", "été à Paris"):
        assert read(said.encode(), "utf-16") == (said, "utf-8")


@pytest.mark.parametrize("name", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize(
    "text", ["Пекарят не отвори магазина.", "لم يفتح الخباز متجره", "คนทำขนมปัง ไม่ได้", "यह एक किताब है"]
)
def test_wide_text_without_a_mark_and_with_few_zeros(text, name) -> None:
    """Blanks and line breaks show it, although most characters have no zero, and the bytes may be valid UTF-8."""
    assert read(text.encode(name)) == (text, name)
    assert read(b"a zero \0 in text")[1] == read("ein \0 und größer".encode())[1] == "utf-8"


@pytest.mark.parametrize("charset", ["iso8859-2", "cp1250", "iso8859-16", "iso8859-13", "cp1257", "cp852"])
@pytest.mark.parametrize("text", ["Żółty pies śpi na\n", "Zażółć gęś, cena 5 zł\n", "Żółty\n" * 40])
def test_a_stated_charset_reads_adjacent_letters(charset, text) -> None:
    """Three letters beyond ASCII in a row, as in Polish, do not count against the charset that a header states."""
    assert read(text.encode(charset), charset) == (text, codec_of(charset))


def test_a_stated_latin_1_is_not_baltic() -> None:
    """Albanian and Icelandic in ISO 8859-1 stay so if it is stated, though the detector finds a Baltic charset."""
    for text in ("Çdo ditë është e bukur; unë jam këtu për të mësuar.\n", "Það er gott veður í dag og við förum.\n"):
        assert read((text * 40).encode("latin-1"), "iso-8859-1")[0] == text * 40


@pytest.mark.parametrize("n", [1, 3, 6, 20, 400])
def test_repeated_words_in_the_stated_charset(n) -> None:
    """Estonian in Windows-1252 is not taken for Mac OS Roman, UTF-8 or a Central European charset."""
    for word in ("šokolaad", "žanr", "duši", "garaaž", "tušš", "mäšš", "žürii", "šnitsel"):
        assert read(" ".join([word] * n).encode("cp1252"), "windows-1252")[0] == " ".join([word] * n)


def test_repeated_words_of_mac_os_under_windows_1252() -> None:
    """`ö` between consonants, and `é` within a word, would be `š` and `Ž` in Windows-1252."""
    for word in ("schön", "été"):
        assert read(" ".join([word] * 6).encode("mac-roman"), "windows-1252")[0] == " ".join([word] * 6)
