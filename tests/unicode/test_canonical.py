"""Canonical forms against `unicodedata`, and the switches of `normalize=`."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataprep.errors import PlanError
from dataprep.unicode import canonical as C
from dataprep.unicode import shingles as S
from twins.canonical import canonical
from unicode.test_text import BOTH, SAME_UNICODE, column, cut

CHANGED = [c for c in BOTH if unicodedata.combining(chr(c)) or unicodedata.normalize("NFD", chr(c)) != chr(c)]
HANGUL = "\u1100\u1112\u1161\u1175\u11a7\u11a8\u11c2\uac00\uac01\ud7a3"
TEXTS = st.text(
    st.one_of(st.sampled_from([chr(c) for c in CHANGED]), st.sampled_from("ae\u064eb \u0640ﷺﻻﬁＡ" + HANGUL)), max_size=9
)


def forms(texts: list[str], drop: str) -> list[str]:
    """The canonical forms of texts."""
    return [bytes(x).decode() for x in cut(*C.canonical(*column(texts), drop))]


@pytest.mark.skipif(not SAME_UNICODE, reason="the tables are of another Unicode version than this Python")
@pytest.mark.parametrize("drop", C.DROPS)
def test_every_character_is_that_of_unicodedata(drop: str) -> None:
    """Alone, and after a letter."""
    texts = [before + chr(c) for c in CHANGED for before in ("", "a")]
    assert forms(texts, drop) == [canonical(t, drop) for t in texts]


@pytest.mark.skipif(not SAME_UNICODE, reason="the tables are of another Unicode version than this Python")
def test_forms_of_letters_are_plain_letters() -> None:
    """Each of them; none of the characters that are not is changed."""
    texts = ["a" + chr(c) + "b" for c in BOTH if 0xFB00 <= c < 0x10000 or 0x1D400 <= c < 0x1D800]
    assert forms(texts, C.FORMS) == [canonical(t, C.FORMS) for t in texts]


@given(st.lists(TEXTS, max_size=5), st.sampled_from((*C.DROPS, C.FORMS)))
def test_texts_are_those_of_unicodedata(texts: list[str], drop: str) -> None:
    """Marks in any order, Hangul in letters."""
    assert forms(texts, drop) == [canonical(t, drop) for t in texts]


def simple(text: str, *names: str, unit: str = "word") -> str:
    """What is left of a text."""
    return bytes(S.simplified(*column([text]), unit, names)[1]).decode().removeprefix("before")


def test_every_switch_removes_its_difference() -> None:
    """One difference each; the others stay."""
    assert simple("e\u0301", "nfc") == "\u00e9"
    assert simple("\u00e9 \u0643\u064e \u0419 \u0939\u093f", "diacritics") == "e \u0643 \u0418 \u0939\u093f"
    assert simple("1 234 a56", "digits") == "0 0 a0"
    assert simple("a-b, c.", "punctuation", unit="char") == "ab c"
    assert simple("a-b, c.", "punctuation") == "a-b, c."  # splitting words leaves it out


def test_fineweb_is_its_published_form() -> None:
    """Punctuation of its list without a blank, non-spacing marks, numbers."""
    assert simple("Don\u2019t pay \u00a312,50 for caf\u00e9\x07", *S.FINEWEB) == "Dont pay \u00a30 for cafe"


@pytest.mark.parametrize(
    ("given", "unit", "split"),
    [
        ("accents", "word", "unicode"),
        (("nfc",), "word", "unicode"),
        ("fineweb", "char", "regex"),
        (("nfc",), "char", "regex"),
    ],
    ids=["unknown", "words without case", "fineweb of characters", "characters without case"],
)
def test_wrong_names_are_named(given, unit: str, split: str) -> None:
    """One sentence with the value."""
    with pytest.raises(PlanError, match="normalize="):
        S.differences(given, unit, split)
