"""Phones in lists below a label, and numbers near such lists that stay."""

from __future__ import annotations

import random

import pytest

from dataprep.core.model import batch as B
from dataprep.core.model.ledger import Ledger
from dataprep.pii.stage import PII
from twins.pii import pii

STAGE, BY_LINES = PII(kinds=("phone",)), PII(kinds=("phone", "mac"))


def hidden(texts: list[str], stage: PII = STAGE) -> list[str]:
    """The texts after the stage."""
    batch = B.make(range(len(texts)), texts, "s")
    return [row["text"] for out in stage(iter([batch]), Ledger("pii")) for row in out.to_pylist()]


LAYOUTS = {
    "plain": "{a}\n{b}\n{c}", "hyphen": "- {a}\n- {b}\n- {c}", "star": "* {a}\n* {b}\n* {c}",
    "bullet": "\u2022 {a}\n\u2022 {b}\n\u2022 {c}", "numbered": "1. {a}\n2. {b}\n3) {c}",
    "lettered": "a) {a}\nb) {b}\nc) {c}", "blank lines": "{a}\n\n{b}\r\n\r\n{c}", "cells": "{a} | {b}\n{c}",
    "names": "Ada: {a}\n- Zoé – {b} (home)\n  {c}, bureau",
}  # fmt: skip


@pytest.mark.parametrize("layout", LAYOUTS)
def test_each_number_of_a_list_below_a_label(layout) -> None:
    """In several layouts, languages and scripts, without a leading 0."""
    texts = [
        (f"{label}\n" + LAYOUTS[layout]).format(a=a, b=b, c=c)
        for label in ("Phones:", "Tel", "Téléphones :", "هاتف:", "电话：")
        for a, b, c in (("70 56 63 52", "71566353", "71 886 626"), ("٧٠ ٥٦ ٦٣ ٥٢", "٧١ ٥٦ ٦٣ ٥٣", "٧١٥٦٦٣٥٤"))
    ]
    clean = [
        text.partition("\n")[0] + "\n" + LAYOUTS[layout].format(a="<phone>", b="<phone>", c="<phone>") for text in texts
    ]
    assert hidden(texts) == clean
    assert hidden(texts, BY_LINES) == clean
    assert [pii(text, STAGE)[0] for text in texts] == clean


def test_other_numbers_stay() -> None:
    """Figures below other labels, dates, prices, labelled numbers, and numbers after the end of the list."""
    rest = [
        "12 345 678 EUR", "2024-05-06 12:30\n71 56 63 53", "Price: 12 345 678", "Invoice: 71566353\nTotal: 12 345 678",
        "Stock:\n- 12 345 678\n- 23 456 789", "the town has\n12 345 678", "1987-05-06, 71566353", "\n\n71 56 63 53",
        "Orders:\n\n71566353", "we paid 71 56 63 53 for this house in spring\n71 56 63 53",
    ]  # fmt: skip
    texts = [f"Tel:\n70 56 63 52\n{one}" for one in rest]
    assert hidden(texts) == [f"Tel:\n<phone>\n{one}" for one in rest]
    assert [pii(text, STAGE)[0] for text in texts] == hidden(texts)
    alone = ["Stock:\n- 12 345 678\n- 23 456 789", "Tel:\n- Price 12 345 678", "Tel:\n- Ref 12345678", "a) 71 56 63 53"]
    assert hidden(alone) == alone


def test_lists_are_those_of_the_twin() -> None:
    """In random lines of labels, marks, names and numbers."""
    r = random.Random(7)
    parts = ["70 56 63 52", "٧١٥٦٦٣٥٣", "71566353 | 71 886 626", "", "Ada", "12 EUR", "2024-05-06", "12345678 people"]
    marks = ("", "- ", "1. ", "Ada: ")
    rows = [[r.choice(marks) + r.choice(parts) for _ in range(5)] for _ in range(60)]
    texts = ["\n".join((r.choice(("Tel:", "Stock:")), *lines)) for lines in rows]
    found = hidden(texts)
    assert found == [pii(text, STAGE)[0] for text in texts]
    assert sum(text.count("<phone>") for text in found) > 40
