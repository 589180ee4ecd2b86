"""Labels before a number: each one of the tables, with the words and signs that may follow, and inside of a word."""

from __future__ import annotations

import pytest

from dataprep.pii.labels import AFTER_LABEL, AFTER_PHONE, NOT_PERSONAL, PHONE, is_labelled, is_phone_label, words


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
