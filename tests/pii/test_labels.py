"""Labels before a number: each one of the tables, with the words and signs that may follow, and inside of a word."""

from __future__ import annotations

import pytest

from dataprep.pii.label_words import AFTER_LABEL, AFTER_PHONE, NOT_PERSONAL, PHONE
from dataprep.pii.labels import is_labelled, is_phone_label, words
from dataprep.pii.rules import find


@pytest.mark.parametrize(("is_label", "table", "after"), [
    (is_labelled, NOT_PERSONAL, AFTER_LABEL), (is_phone_label, PHONE, AFTER_PHONE),
], ids=["not personal", "phone"])  # fmt: skip
def test_every_label_is_found(is_label, table, after):
    """A label is found alone, before signs, and before each word that may follow; not before more signs."""
    for word in words(table):
        for more in ("", "  ", ": ", *(f" {w}: " for w in after.split("|"))):
            text = f"a {word}{more}"
            assert is_label(text, len(text)), text
        assert not is_label(f"{word}......", len(word) + 6), word


def test_a_label_is_a_whole_word():
    """Latin letters in front make another word; Arabic and Chinese labels are found next to letters."""
    texts = ("hotel ", "a tel ", "TEL. ", "وهاتف ", "我的电话", "btw: ")
    assert [text for text in texts if is_phone_label(text, len(text))] == ["a tel ", "TEL. ", "وهاتف ", "我的电话"]
    texts = ("paris rc ", "arc ", "ISBN-13: ", "?id=", "kid=")
    assert [text for text in texts if is_labelled(text, len(text))] == ["paris rc ", "ISBN-13: ", "?id="]


@pytest.mark.parametrize(("text", "hidden"), [
    ("Mein Handy ist 0176 12345678", "0176 12345678"), ("Handynummer: 015112345678", "015112345678"),
    ("联系电话：0571-87654321", "0571-87654321"), ("hubungi 0812-3456-7890", "0812-3456-7890"),
    ("order 0812-3456-7890", ""), ("0812-3456-7890-1", ""), ("κιν: 6971234567", "6971234567"),
    ("llámame al 612 34 56 78", "612 34 56 78"), ("热线：400 820 8820", "400 820 8820"),
    ("DE00 3704 0044 0532 0130 00", ""), ("part no. 0123-4567-89", ""), ("БИК 044525225", ""),
    ("رقم الملف 0612345678", ""), ("10.1016/j.cell.2020.01.001", ""), ("в договор 8-903-1234567", ""),
], ids=range(15))  # fmt: skip
def test_numbers_after_labels(text, hidden):
    """A label allows twelve digits after a leading 0; broken IBANs and numbers of parts and contracts are no phones."""
    assert [text[m.start : m.end] for m in find(text, ("phone",))] == ([hidden] if hidden else [])
