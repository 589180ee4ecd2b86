"""A few signs in a long text: every code page of the Encoding Standard, stated rightly, wrongly or not at all."""

from __future__ import annotations

import random
import sys
from collections import Counter

import orjson
import pytest

import dataprep as dp
from dataprep.read.charsets.decide import characters

ISO = (2, 3, 4, 5, 6, 7, 8, 10, 13, 14, 15, 16)
TWO_BYTES = ("gbk", "gb18030", "big5", "euc-jp", "shift_jis", "euc-kr")
PAGES = ("ibm866", *(f"iso-8859-{n}" for n in ISO), "koi8-r", "koi8-u", "macintosh", "windows-874",
         *(f"windows-125{n}" for n in range(9)), "x-mac-cyrillic", *TWO_BYTES)  # fmt: skip
CODECS = {"macintosh": "mac-roman", "windows-874": "cp874", "x-mac-cyrillic": "mac-cyrillic", "gbk": "gb18030",
          "shift_jis": "cp932", "euc-kr": "cp949", "big5": "big5hkscs"}  # fmt: skip
SIGNS = {"curly": "didn’t we’re “quoted” it’s so–so wait…", "accents": "café naïve über señor façade",
         "currency": "€5 £20 ¥300 ¢99", "others": "Acme® 20° § 5 © 2024"}  # fmt: skip
WORDS = ("the", "old", "town", "was", "quiet", "in", "morning", "and", "people", "walked", "to", "market", "for")


def texts(page: str):
    """(kind, n, text, bytes) of texts of 200 to 20,000 characters with n words that have signs."""
    codec = CODECS.get(page, page)
    for kind, words in SIGNS.items():
        usual = [word for word in words.split() if word.encode(codec, "ignore").decode(codec) == word]
        usual = [word for word in usual if not word.isascii()]
        for n in (1, 2, 5, 20) if usual else ():
            for size in (200, 2_000, 20_000):
                draw = random.Random(f"{page} {kind} {n} {size}")
                text = [draw.choice(WORDS) for _ in range(size // 5)]
                for word in draw.choices(usual, k=n):
                    text.insert(draw.randrange(len(text)), word)
                whole = " ".join(text) + "."
                yield kind, n, whole, whole.encode(codec)


@pytest.mark.parametrize("page", PAGES)
def test_a_right_declaration_decides(page) -> None:
    """Under its own name, in a header, a tag `meta` or an XML declaration, each text is what was written."""
    for kind, n, text, data in texts(page):
        found = characters(data, page, is_html=False)
        assert found is not None
        assert found.text == text, (kind, n, found.charset)
        for head in (f'<meta charset="{page}">', f'<?xml version="1.0" encoding="{page}"?>'):
            found = characters(head.encode() + data, "", is_html=True)
            assert found is not None
            assert (found.text, found.n_lost) == (head + text, 0), (kind, n, head, found.charset)


@pytest.mark.parametrize("declared", ["", "utf-8", "us-ascii", "iso-8859-1", "windows-1252", "utf-16"])
def test_windows_1252_needs_no_name(declared) -> None:
    """English in Windows-1252 with few signs is read rightly without a name, and under names that cannot be right."""
    for kind, n, text, data in texts("windows-1252"):
        for is_html in (False, True):
            found = characters(data, declared, is_html=is_html)
            assert found is not None
            assert (found.text, found.n_lost) == (text, 0), (kind, n, found.charset)


def test_nothing_is_lost_without_a_name(capsys) -> None:
    """Without a name, or as UTF-8 by mistake, no byte of a code page is unreadable, and Windows-1252 is right."""
    right, total = Counter[str](), Counter[str]()
    for page in PAGES:
        for _, _, text, data in texts(page):
            for declared in ("", "utf-8"):
                found = characters(data, declared, is_html=False)
                assert page in TWO_BYTES or (found is not None and not found.n_lost)
                total[page] += 1
                right[page] += found is not None and found.text == text
    with capsys.disabled():
        shares = ", ".join(f"{page} {right[page] / total[page]:.0%}" for page in PAGES if right[page] < total[page])
        sys.stdout.write(f"\nfew signs, no name: {right.total() / total.total():.1%} right; {shares}\n")
    assert right["windows-1252"] == total["windows-1252"]
    assert min(right[page] / total[page] for page in ("windows-1254", "windows-1258", "iso-8859-14")) > 0.95
    assert right.total() / total.total() >= 0.9


@pytest.mark.parametrize("codec", ["mac-roman", "gb18030", "cp949", "cp932", "big5hkscs", "euc_jp"])
def test_quotation_marks_of_other_programs(codec) -> None:
    """The marks that Mac OS and East Asian programs write are read rightly in English, however many there are."""
    for n in (1, 3, 8):
        text = " ".join(["She didn’t say “we’re here” to the people of the old town."] * n)
        for declared in ("", "utf-8"):
            found = characters(text.encode(codec), declared, is_html=False)
            assert found is not None
            assert found.text == text, (n, declared, found.charset)


@pytest.mark.parametrize(
    "text", ["le prix de l’été est là", "rock ’n’ roll", "O’Brien — “Mr. Q”", "±5 µm × 3", "«Où?» dit-il", "Øre på ærø",
             "Müller’s «Äpfel»", "†1950 • ‰"],
)  # fmt: skip
def test_signs_of_windows_1252_stay(text) -> None:
    """A text in which each sign of Windows-1252 may be where it is stays in it, whatever else would fit."""
    whole = f"{text} {'the old town was quiet ' * 20}"
    found = characters(whole.encode("cp1252"), "", is_html=False)
    assert found is not None
    assert (found.text, found.charset) == (whole, "cp1252")


@pytest.mark.parametrize("name", ["a.txt", "a.html"])
def test_a_file_is_not_lost_for_a_byte(tmp_path, name) -> None:
    """A text file with apostrophes of Windows-1252, and a byte that is in no charset, is a document that says so."""
    text = "we didn’t know. " * 40
    (tmp_path / name).write_bytes(text.encode("cp1252"))
    (rows,) = [dp.read(str(tmp_path / name), format="text").table().to_pylist()]
    assert [row["text"] for row in rows] == [text]
    (tmp_path / name).write_bytes(text.encode("cp1252") + b"\x9d")
    docs = dp.read(str(tmp_path / name), format="text")
    (row,) = docs.table().to_pylist()
    assert row["text"] == text + "\ufffd"
    assert orjson.loads(row["meta"])["unreadable"] == 1
