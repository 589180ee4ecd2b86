"""NormalizeArabic: every switch alone and together, against its slow twin."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import laws
from dataprep.core.model import batch as B
from dataprep.messages.arabic import ARABIC, NormalizeArabic
from twins.arabic import arabic


def changed(stage, texts):
    """Return the texts after a stage, and its counts."""
    kept, _, book = laws.apply(stage, [B.make(range(len(texts)), list(texts), "s")])
    return [r["text"] for r in kept], dict(book.counts)


@pytest.mark.parametrize(("switch", "before", "after", "n"), [
    ("tatweel", "مرحبــــا", "مرحبا", 4), ("diacritics", "مُحَمَّدٌ", "محمد", 5), ("alef", "أإآٱا", "ااااا", 4),
    ("yeh", "على یوم", "علي يوم", 2), ("ta_marbuta", "مدرسة", "مدرسه", 1),
])  # fmt: skip
def test_each_arabic_switch(switch, before, after, n):
    """Each switch changes and counts its own characters; none is on by default."""
    assert changed(NormalizeArabic(**{switch: True}), [before, "abc é"]) == ([after, "abc é"], {f"arabic.{switch}": n})
    assert changed(NormalizeArabic(), [before]) == ([before], {})


LETTERS = [
    "ا",
    "أ",
    "آ",
    "ى",
    "ی",
    "ة",
    "ـ",
    "َ",
    "ّ",
    "ب",
    "a",
    "é",
    "😂",
    *"\u0610\u061b\u065f\u0660\u0670\u06dd\u06e5\u06e8\u06ee",
]


@given(
    texts=st.lists(st.lists(st.sampled_from(LETTERS), max_size=9).map("".join), max_size=4),
    switches=st.sets(st.sampled_from(sorted(ARABIC))),
)
def test_arabic_equals_its_twin(texts, switches):
    """Any switches together give what regular expressions one after the other give."""
    stage = NormalizeArabic(**dict.fromkeys(switches, True))
    assert changed(stage, texts)[0] == [arabic(text, switches) for text in texts]
