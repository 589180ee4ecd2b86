"""Numbers that are counted, and scores, after words that would make other numbers phones."""

from __future__ import annotations

import pytest

from dataprep.pii.rules import find
from twins.phones import phones as twin


@pytest.mark.parametrize(
    ("before", "after"),
    [("call me on ", " please"), ("mi número es ", " gracias"), ("اتصل بي على ", " شكرا"), ("电话 ", "。")],
)
def test_counted_numbers_after_words_for_phones(before, after) -> None:
    """Round numbers, thousands before a unit, scores and decimals stay; numbers with the same groups are phones."""
    others = ["10 000 000", "1 000 000 000", "1.000.000.000", "12 345 678 people", "12 345 678 نسمة",
              "21-17 21-19 25-23", "6-4 3-6 7-5 10-12",
              "48.856614, 2.3522219", "35.689487 139.691711", "33.589886;-7.603869",
              "192.168.1.120", "1.596829420", "7 891 219 000"]  # fmt: skip
    phones = ["10 000 010", "612 345 678", "12 345 678", "+212 600 000 000", "06-12 34-56 78-90", "0 800 000 000"]
    for kept in others:
        text = f"{before}{kept}{after}"
        assert not list(find(text, ("phone",)))
        assert not list(twin(text))
    for phone in phones:
        text = f"{before}{phone}{after}"
        found = [text[m.start : m.end] for m in find(text, ("phone",))]
        assert found == [text[a:b] for a, b in twin(text)]
        assert found == [phone]
