"""Phones that a line break divides, phones below a label, and what looks like them."""

from __future__ import annotations

import random

import numpy as np
import pytest

from dataprep.core.model import batch as B
from dataprep.core.model.ledger import Ledger
from dataprep.pii.broken import DIVIDED, places
from dataprep.pii.kernel import BREAK, byte_kinds, suspects
from dataprep.pii.stage import PII
from twins.broken import places as places_twin
from twins.pii import pii

STAGE = PII()


def hidden(*texts: str, stage=STAGE) -> list[str]:
    """The texts after the stage."""
    batch = B.make(list(range(len(texts))), list(texts), "s")
    return [row["text"] for out in stage(iter([batch]), Ledger("pii")) for row in out.to_pylist()]


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("call me on 06 12\n34 56 78 please", "call me on <phone> please"),
        ("call 06 12 34 56\r\n  78 now", "call <phone> now"),
        ("+212 6 12\n34 56 78", "<phone>"),
        ("call +1\n201-555-0123 or +212\n612345678", "call <phone> or <phone>"),
        ("my number is 0612-\n345-678", "my number is <phone>"),
        ("Call us at (506)\n234-5678.", "Call us at <phone>."),
        ("اتصل بي على ٠٦١٢\n٣٤٥٦٧٨ شكرا", "اتصل بي على <phone> شكرا"),
        ("मुझे ०९८७६\n५४३२१० पर कॉल करें", "मुझे <phone> पर कॉल करें"),
        ("โทรหา 081\n234 5678 นะ", "โทรหา <phone> นะ"),
        ("電話は 090\n1234 5678 です", "電話は <phone> です"),
        ("call me on 07\n9012 3456 please", "call me on <phone> please"),
        ("call me on 8\n029 491-19-11 please", "call me on <phone> please"),
        ("call me on (2)\n2123 4567 please", "call me on <phone> please"),
        ("اتصل بي على ٦\n٧١ ٢٣ ٤٥ ٦٧ شكرا", "اتصل بي على <phone> شكرا"),
        ("call me on 21\n2345 6789 please", "call me on <phone> please"),
        ("call me on 2\n2123456 please", "call me on <phone> please"),
        ("手机 138\n0013 8000 谢谢", "手机 <phone> 谢谢"),
    ],
)
def test_numbers_over_two_lines(text, clean) -> None:
    """A number is hidden whole if a line has only a part of it, in digits of any script."""
    assert hidden(text) == [clean]
    assert hidden(text, stage=PII(kinds=("phone", "mac"))) == [clean]
    assert pii(text, STAGE)[0] == clean


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("card 4111 1111 1111\n1111 ok", "card <card> ok"),
        ("4111\r\n 1111 1111 1111", "<card>"),
        ("pay 41111111\n11111111", "pay <card>"),
        ("бумага 4111-1111-\n1111-1111", "бумага <card>"),
        ("4111-1111\n-1111-1111 是我的", "<card> 是我的"),
        ("3782 822463\n10005 amex", "<card> amex"),
        ("IBAN DE89 3704 0044\n0532 0130 00 danke", "IBAN <iban> danke"),
        ("ﺣﺴﺎﺏ GB29\nNWBK 6016 1331 9268 19", "ﺣﺴﺎﺏ <iban>"),
        ("x\nFR14 2004 1010 0505 0001 3M02\n606", "x\n<iban>"),
    ],
)  # fmt: skip
def test_cards_and_accounts_over_two_lines(text, clean) -> None:
    """A card or an account is hidden whole if a line break divides it."""
    assert hidden(text) == [clean] == [pii(text, STAGE)[0]]
    assert hidden(text, stage=PII(kinds=("card", "iban", "mac"))) == [clean]
    assert hidden(text, stage=PII(kinds=("card", "iban"))) == [clean]


@pytest.mark.parametrize(
    "text", ["1\t4111 1111\n1111 1111\t2", "4111 1111 1111\n\n1111 x", "4111 1111 1112\n1111 x",
             "DE89 3704 0044\n\n0532 0130 00", "4111 1111\n1111 1111\n4111"],
)  # fmt: skip
def test_lines_that_are_no_card(text) -> None:
    """Rows of tables, wrong check digits, and lines with a blank one between them stay."""
    assert hidden(text, stage=PII(kinds=("card", "iban"))) == [text]
    assert pii(text, PII(kinds=("card", "iban")))[0] == text


@pytest.mark.parametrize("gap", ["\n", "\r\n", "\n\n", " \n  "])
@pytest.mark.parametrize("label", ["Phone:", "Tel", "Tél. :", "هاتف:", "फ़ोन:", "โทร:", "電話番号：", "电话：", "тел.:"])
def test_labels_on_the_line_above(label, gap) -> None:
    """A number without + and 0 is a phone below its label, with one blank line between them at most."""
    for number in ("71 886 626", "23456789", "612345678"):
        text = f"Ana\n{label}{gap}{number}\nx {number[:4]}"
        assert hidden(text) == [text.replace(number, "<phone>", 1)]
        assert pii(text, STAGE)[0] == hidden(text)[0]


@pytest.mark.parametrize(
    "text",
    [
        "the year 2023\n2024-05-06 was", "rooms 12 34\n56 78 90 12", "Orders:\n12345678", "1234\n5678\n9012\n3456\n",
        "0612\n3456\n0789\n", "see page 0451\n2023 was", "Order number:\n\n71886626", "Phone:\n\n\n71 886 626 people",
        "the answer to the phone of 12 was\n71 886 626", "رقم الطلب:\n71886626", "注文番号：\n71886626",
        "total 045\n12 EUR", "we had 6\n12345678 people came", "figure 2\n1995 12 24 was",
    ],
)  # fmt: skip
def test_lines_that_are_no_number(text) -> None:
    """Columns of numbers, dates, amounts, and numbers below labels of other things stay."""
    assert hidden(text) == [text]
    assert pii(text, STAGE)[0] == text


def test_a_whole_number_is_not_joined() -> None:
    """The line below a whole phone stays, and one above it."""
    assert hidden("tel: 0612345678\n12 apples", "12\n0612345678") == ["tel: <phone>\n12 apples", "12\n<phone>"]


def test_places_are_those_of_the_twin() -> None:
    """In random lines of digits of several scripts, signs and letters."""
    r = random.Random(5)
    parts = ["06", "12", "345", "٠٦", "४५६", "é", "電", "tel", *" -+.()\t:", "  ", "\n", "\r\n", "\n\n"]
    texts = ["".join(r.choices(parts, weights=[4] * 5 + [1] * 12 + [6, 1, 1], k=r.randrange(40))) for _ in range(3_000)]
    data = [text.encode() for text in texts]
    offsets = np.cumsum([0, *map(len, data)], dtype=np.int64)
    joined = np.frombuffer(b"".join(data), np.uint8)
    lines = suspects(offsets, joined, byte_kinds(), BREAK)
    found = places(lines, offsets, joined, byte_kinds()).tolist()
    expected = [(int(offsets[k]) + at, kind) for k, text in enumerate(texts) for at, kind in places_twin(text)]
    assert [(at, "divided" if kind == DIVIDED else "below") for _, at, _, kind in found] == expected
    assert min(sum(kind == one for _, kind in expected) for one in ("divided", "below")) > 100
