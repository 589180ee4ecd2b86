"""Words glued to phones, extensions, and two blanks in a number; what looks like them stays."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dataprep as dp
from dataprep.pii import glued
from dataprep.pii.rules import find
from twins import glued as twin
from twins.pii import pii

NUMBERS = ("+212612345678", "+212 6 12 34 56 78", "0612345678", "06 12 34 56 78", "06.12.34.56.78",
           "+33 (0)6 12 34 56 78", "+1 201-555-0123", "(201) 555-0123", "+49 1512 3456789", "030 12345678",
           "+44 7400 123456", "+91 81234 56789", "00212612345678", "+966 51 234 5678")  # fmt: skip
GLUED = ("stp", "merci", "Merci", "APRES", "_old", "please")
EXTENSIONS = ("x4587", " x204", " ext. 12", ", ext 3", " #3", " poste 14", " доб. 105")
SENTENCES = (
    "call me on {} please",
    "mon numero est {} merci",
    "mi número es {} gracias",
    "{}",
    "tel: {}, Monday",
    "على {} شكرا",
)
OTHERS = (
    "sha 0612345678abcdef and 0123456789abcdef0123", "12345678kg of sand", "wait 00012345678ms", "IMG_0612345678_n.jpg",
    "v1.2.3456789beta", "2024-05-06T12:30:45Z", "ISBN 978-0-306-40615-7pbk", "order no 0612345678x", "3.14159265pi",
    "1987-1991x4587", "page 12345678th", "0x0612345678abc", "12.05.2023Uhr",
    "48.8566,2.3522lat", "#3 x204",
)  # fmt: skip


def hidden(text: str) -> str:
    """The line in which each phone is <>."""
    for m in reversed(find(text, ("phone",))):
        text = f"{text[: m.start]}<>{text[m.end :]}"
    return text


@pytest.mark.parametrize("sentence", SENTENCES)
@pytest.mark.parametrize("number", NUMBERS)
def test_words_and_extensions(number, sentence) -> None:
    """Letters behind a number stay, an extension is hidden with it."""
    for word in GLUED:
        assert hidden(sentence.format(number + word)) == sentence.format("<>" + word), word
    for extension in EXTENSIONS:
        assert hidden(sentence.format(number + extension)) == sentence.format("<>"), extension
    assert pii(sentence.format(number + "stp"), dp.PII(kinds="phone", replace="<>"))[0] == sentence.format("<>stp")


@pytest.mark.parametrize("number", [
    "06  12 34 56 78", "06 12  34 56 78", "0412  345 678", "(506)  234-5678", "041  2345678", "(2)  2123 4567",
    "081234  56789", "8  (495) 555-01-23", "0900  1 234567", "1-800  123 4567", "(06  1) 444 9779", "1300  123 456",
])  # fmt: skip
def test_two_blanks(number) -> None:
    """A number with two blanks between two groups is hidden whole."""
    assert hidden(f"call {number} please") == "call <> please"


@pytest.mark.parametrize("word", ["3afak", "9bel", "7it", "3la", "2ana", "5oya", "9al l b3d"])
@pytest.mark.parametrize("number", ["71 129 983", "06 12 34 56 78", "+212 612 345 678", "71129983"])
def test_arabizi_behind_a_number(number, word) -> None:
    """The digit with which a word of Arabizi begins is no part of the number before it."""
    for sentence in ("3ayet lia f {} {}", "tel: {} {}", "call me on {} {} please"):
        assert hidden(sentence.format(number, word)) == sentence.format("<>", word)


@pytest.mark.parametrize("word", ["merci", "Salut", "übrigens", "SALUT"])
@pytest.mark.parametrize("number", ["0172 0038 9344", "06 12 34 56 78", "(0172) 0038-9344", "0612-345-678",
                                    "01512 9315553"])  # fmt: skip
def test_numbers_behind_a_word(word, number) -> None:
    """A number of several groups is hidden directly behind a word, too."""
    for sentence in SENTENCES:
        assert hidden(sentence.format(word + number)) == sentence.format(word + "<>")


@pytest.mark.parametrize(
    "text", ["covid19 2020 2021 2022", "img2024-05-06 12.30.45", "Windows10 2004 1234", "isbn978 0 306 40615 7",
             "ISBN0 306 40615 2", "sku012-345-678", "order0123 456 789", "x.y/merci0172 0038 9344",
             "week01 02 03 04 05", "numbers 10 20 30 40 50", "numbers10 20 30 40 50"],
)  # fmt: skip
def test_words_of_other_numbers(text) -> None:
    """Versions, files, codes, books and figures directly behind a word stay."""
    assert hidden(text) == text


def test_pairs_that_are_no_address() -> None:
    """Four pairs of digits behind the first group of a phone are not an address of a machine."""
    for text in ("07  76.91.52.46", "07 76.91.52.46", "+33 (0)7 76.91.52.46"):
        assert [(m.start, m.end, m.kind) for m in find(text, ("ip", "phone"))] == [(0, len(text), "phone")]
    assert [m.kind for m in find("host 76.91.52.46", ("ip", "phone"))] == ["ip"]


@pytest.mark.parametrize("label", ["tel", "phone", "Fax", "موبايل"])
@pytest.mark.parametrize("number", ["8 (495) 555-01-23", "0 800 123 45 67", "(051) 1852 663915", "(881) 43237-66754"])
def test_labels_glued_to_a_number(label, number) -> None:
    """A label directly before a number counts as one with a colon, whatever the number's groups."""
    assert hidden(f"{label}{number}") == hidden(f"{label}: {number}").replace(": ", "") == f"{label}<>"


@pytest.mark.parametrize("text", OTHERS)
def test_others(text) -> None:
    """Hashes, units, files, dates, versions and orders stay."""
    assert hidden(text) == text


@pytest.mark.parametrize("table", ["1200  0612345678  45", "12  345  678  901", "0612345678  0712345678"])
def test_columns_of_tables(table) -> None:
    """Cells with two blanks between them are no groups of one number."""
    assert hidden(table) == table.replace("0612345678", "<>").replace("0712345678", "<>")


PIECES = st.sampled_from(
    ["0612345678", "+212", "3afak", "9be", "0612 345678", "06 12", "612345678", "12 34 56", "salut",
     "(", ")", " ", ".", "-", "x", "ext", "ext.", "#", "_", "stp", "abc",
     "MERCI", "Fax", "12", "1", "é", "доб", ":", ",", "/", "poste", "X4"]
)  # fmt: skip


@given(st.lists(PIECES, max_size=9).map("".join))
def test_it_equals_the_twin(text) -> None:
    """Glued words and extensions are found as the plain twin finds them."""
    assert glued.parted(text) == twin.parted(text)
    assert glued.attached(text) == twin.attached(text)
    for end in range(len(text)):
        assert glued.with_extension(text, end) == twin.with_extension(text, end)
