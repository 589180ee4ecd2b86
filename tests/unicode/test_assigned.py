"""Python's Unicode functions over the characters of Unicode 13.0: the same on every Python."""

from __future__ import annotations

import hashlib
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataprep.unicode.assigned import assigned, normalized, over_assigned, without_newer

POINTS = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
KNOWN = [c for c in POINTS if assigned()[c]]
FORMS = ("NFC", "NFD", "NFKC", "NFKD")
LATER = "\ua7f2\u088e\u0898\U0001e030\U00010570\U00011240"  # of Unicode 14.0 and 15.0: forms, marks, a capital, none


def test_the_table_has_as_many_characters_as_the_standard() -> None:
    """Unicode 13.0 counts 143,859 characters, 65 control characters and 137,468 for private use."""
    assert len(KNOWN) == 143_859 + 65 + 137_468
    assert not assigned()[0xD800:0xE000].any()
    assert not [hex(c) for c in KNOWN if unicodedata.category(chr(c)) == "Cn"]
    if unicodedata.unidata_version == "13.0.0":
        assert not [hex(c) for c in POINTS if unicodedata.category(chr(c)) != "Cn" and not assigned()[c]]


@pytest.mark.parametrize(
    ("name", "digest"),
    [
        ("NFC", "8727a71c65fd53e5"),
        ("NFD", "6bdb476f38807dd7"),
        ("NFKC", "f2bcdf8e22658c60"),
        ("NFKD", "d6085ee99028362a"),
        ("lower", "3acce0c90b46bb36"),
        ("casefold", "0d879a9c85495139"),
    ],
)
def test_they_are_the_same_on_every_python(name, digest) -> None:
    """All characters of Unicode 13.0, half of them with two accents, become what they became in Python 3.10."""
    change = {"lower": str.lower, "casefold": str.casefold}.get(name, lambda text: normalized(name, text))
    text = "\n".join(chr(c) + "\u0323\u0301" * (c % 2) for c in KNOWN)
    assert hashlib.sha256(over_assigned(change, text).encode()).hexdigest()[:16] == digest


def test_characters_of_later_versions_stay() -> None:
    """A modifier letter of Unicode 14.0 is not made a C, nor a capital of 14.0 small; those around them are."""
    assert normalized("NFKC", "\ufb01\ua7f2\ufb01") == "fi\ua7f2fi"
    assert over_assigned(str.lower, "A\U00010570A") == "a\U00010570a"
    assert normalized("NFC", "e\u0301\ud800") == "\xe9\ud800"


@given(st.text(st.sampled_from("aAéßﬁ①한\u0301\u0323\u1100\u1161Σİ" + LATER), max_size=12), st.sampled_from(FORMS))
def test_each_run_of_known_characters_is_changed(text, form) -> None:
    """The text with every run between later characters changed by itself; a text without them is changed as a whole."""
    runs, made = text, ""
    for c in LATER:
        runs = runs.replace(c, f"\0{c}\0")
    for part in runs.split("\0"):
        made += part if part in LATER else unicodedata.normalize(form, part)
    assert normalized(form, text) == made
    if not set(text) & set(LATER):
        assert normalized(form, text) == unicodedata.normalize(form, text)


def test_newer_characters_are_replaced() -> None:
    """Characters of Unicode 14.0 and later become U+FFFD; all others stay, emoji and Chinese beyond U+FFFF too."""
    assert without_newer("a\U00010570b\u061d") == "a\ufffdb\ufffd"
    for same in ("abc", "é 王 𠮷 😂 \u0301", ""):
        assert without_newer(same) == same
