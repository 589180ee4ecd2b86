"""Texts that are nothing but phones, and texts that are nothing but other numbers."""

from __future__ import annotations

import random

import numpy as np
import pytest

import laws
import twins.only
from dataprep.pii.only import only, only_phones
from dataprep.pii.stage import PII


def hidden(*texts: str, stage=None) -> list[str]:
    """The texts after the stage."""
    rows, _, _ = laws.apply(stage or PII(), [laws.batch_of(list(texts))])
    return [row["text"] for row in rows]


@pytest.mark.parametrize("number", [
    "71 886 626", "98123456", "612345678", "2125550123", "70 12 34 56", "17 52 34 16", "5123 4567", "9123-4567",
    "222 123 456", "34 10 1234", "500 12345", "1700 1234", "012 34567", "(022) 12345",
    "08-12 94 56", "0 801 23 45 67", "018500 123456", "٧١ ٨٨٦ ٦٢٦", "९१२३४५६७", "７１ ８８６ ６２６", "3312 3456",
])  # fmt: skip
def test_a_text_that_is_a_number(number) -> None:
    """With white space around it, a sign, an extension or a glued word behind it, or in a list; in any script."""
    texts = {number: "<phone>", f" {number}\n": " <phone>\n", f"{number}!": "<phone>!", f"{number} #3": "<phone>",
             f"{number}, {number};{number}": "<phone>, <phone>;<phone>"}  # fmt: skip
    if number.isascii():
        texts[f"{number}stp"] = "<phone>stp"
    assert hidden(*texts) == list(texts.values())
    assert hidden(*texts, stage=PII(kinds=("phone", "mac"))) == list(texts.values())
    if number[0] not in "0(":
        assert hidden(f"{number}\n{number}\n{number}") == [f"{number}\n{number}\n{number}"]


def test_a_number_over_two_lines_that_is_the_text() -> None:
    """The break may be after any group; in a longer text, such lines are a table."""
    texts = ["5123\n4567", "0612\n345678", "(506)\r\n234-5678", "70\n12 34 56", "612 34\n56 78", "٠٦١٢\n٣٤٥٦٧٨"]
    assert hidden(*texts) == ["<phone>"] * len(texts)
    assert hidden("0612\n345678\n9", "a\n0612\n345678") == ["0612\n345678\n9", "a\n0612\n345678"]


@pytest.mark.parametrize("text", [
    "20240506", "01 02 03 04 05", "01-02-2023", "01234567", "0.123.456", "0/12345678", "00012345", "123 456 789",
    "06.05.2024", "2024-05-06", "06 05 2024", "25122023", "1987-1991", "2024 2025", "3100-3200",
    "12:30:45", "10 000 000", "1 234 567 890", "71 886 600", "12 345 678", "12,345,678", "1.234.567", "71.886626",
    "1700000000", "9780306406157", "978-0-306-40615-7", "4006381333931", "12345678901", "200 300 400", "23 34 45 56",
    "1 2 3 4 5 6 7 8", "48.856614, 2.3522219", "21-17 21-19 25-23", "17 26 36 49 61", "192.168.10.20", "3.14159265",
    "98195-2350", "12345678kg", "98123456 people", "98123456 / 100", "0x80070057", "98123456, 12", "5123\n4567\n8910",
    "2024\n2025", "98123456\n98123457", "6.02214076e23", "12345678-9", "85 120 45 200", "$71886626", "71886626%",
    "-98123456", "1/2/2024", "7 8 1 2 3 4 5 6",
])  # fmt: skip
def test_a_text_that_is_another_number(text) -> None:
    """Dates, amounts, ranges, codes, series and rows of figures stay."""
    assert only(text) == []
    assert hidden(text) == [text]


def test_it_equals_the_twin() -> None:
    """In random texts of groups, signs and words of several scripts."""
    r = random.Random(7)
    parts = ["71", "12", "612", "5123", "98123456", "06", "012", "٧١", "५१२३"]
    parts += [*" -.,;()!\n/", " ", " ", "stp", "x3", "é", "+"]
    texts = ["".join(r.choices(parts, weights=[6] * 9 + [2] * 14 + [1] * 2, k=r.randrange(1, 9))) for _ in range(1_500)]
    data = [text.encode() for text in texts]
    offsets = np.cumsum([0, *map(len, data)], dtype=np.int64)
    found = only_phones(offsets, np.frombuffer(b"".join(data), np.uint8))
    expected = [
        (at + len(text[:a].encode()), at + len(text[:b].encode()))
        for at, text in zip(offsets.tolist(), texts, strict=False)
        for a, b in twins.only.only(text)
    ]
    assert found == expected
    assert len(found) > 60
