"""Words in every script, against the rules of UAX #29, the official cases and Python's `re`."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import twins.words
from dataprep.unicode import words as W
from dataprep.unicode.word_hashes import words
from dataprep.unicode.word_texts import word_texts
from unicode.test_text import TEXTS, column, cut, is_known

OFFICIAL = Path(__file__).with_name("word_break_test.txt").read_text(encoding="utf-8").splitlines()[1:]
# Every class of the rules: letters, Hebrew, digits, joiners, marks of the middle, quotes, marks, format characters,
# scripts without spaces, emoji, line ends.
CLASSES = "aZ\u05d0\u05d11\u0661_.,:;'\"\u2019\u00b7\u202f\u0301\u064b\u093f\u00ad\u200d\u200c\u0915\u094d\u0e01\u0e31"
CLASSES += "\u0e32\u4e00\u3042\u30a2\u30fc\uff9e\u0130\u03a3\u00b2\u00bd\u0f40\u0f0b\u1019\u103c\ufe0f\u0600"
CLASSES += "\U0001f600\U0001f1e6 \r\n"
MIXED = st.one_of(st.text(CLASSES, max_size=30), TEXTS)


def segments(line: str) -> list[str]:
    """The segments of an official case."""
    parts = line.strip("\u00f7 ").split("\u00f7")
    return ["".join(chr(int(x, 16)) for x in part.split() if x != "\u00d7") for part in parts]


def test_the_twin_agrees_with_the_official_cases() -> None:
    """Every case but those about emoji after a joiner, of which no word depends."""
    cases = [segments(line) for line in OFFICIAL if "2701" not in line]
    assert len(cases) > 1800
    wrong = [case for case in cases if twins.words.segments("".join(case), tailored=False) != case]
    assert not wrong, wrong[:3]


def test_words_of_the_official_cases() -> None:
    """The kernel finds the official segments with a letter, digit or underscore, as far as they are not tailored."""
    plain = [case for line in OFFICIAL if not {"3031", "200D"} & set(line.split()) for case in [segments(line)]]
    plain = [case for case in plain if not any(s.startswith("\u05d0") and "'" in s for s in case)]
    assert len(plain) > 1500
    counts = [len(f) for f in cut(*words(*column(["".join(case) for case in plain])))]
    assert counts == [sum(twins.words.is_word(s) for s in case) for case in plain]


@given(st.lists(MIXED, max_size=4), st.sampled_from(W.SPLITS))
def test_words_are_those_of_the_twin(texts: list[str], split: str) -> None:
    """A hash for every word; equal words have equal hashes, others have not."""
    found = cut(*words(*column(texts), split))
    expected = [twins.words.words(t, split) for t in texts]
    assert [len(f) for f in found] == [len(e) for e in expected]
    flat = [w for e in expected for w in e]
    hashes = [h for f in found for h in f.tolist()]
    assert len(set(zip(flat, hashes, strict=True))) == len(set(flat)) == len(set(hashes))
    alone = cut(*words(*column(flat), split))  # a word hashes alone as it did inside its text
    assert [a.tolist() for a in alone] == [[h] for h in hashes]


@given(st.lists(MIXED, max_size=4), st.sampled_from(W.SPLITS))
def test_texts_of_words_are_those_of_the_twin(texts: list[str], split: str) -> None:
    """The words with one space between them, which are the same words when they are split again."""
    found = [bytes(x).decode() for x in cut(*word_texts(*column(texts), split))]
    expected = [twins.words.words(t, split) for t in texts]
    assert found == [" ".join(e) for e in expected]
    again = cut(*words(*column(found), split))
    assert [len(a) for a in again] == [len(e) for e in expected]


@given(st.lists(MIXED, max_size=4), st.sampled_from(W.SPLITS))
def test_places_inside_words_are_those_of_the_twin(texts: list[str], split: str) -> None:
    """`inside_word` for every character of every text."""
    offsets, data = column(texts)
    table = W.word_table(split)
    for d, text in enumerate(texts):
        bad = {i for a, b in twins.words.spans(text, split) for i in range(a + 1, b)}
        at = [int(offsets[d]) + len(text[:i].encode()) for i in range(len(text))]
        found = {i for i in range(len(text)) if W.inside_word(data, offsets[d], at[i], offsets[d + 1], table)}
        assert found == bad


@given(st.text(st.characters(codec="utf-8", exclude_categories=["Cn"]).filter(is_known), max_size=80))
def test_regex_is_pythons_re(text: str) -> None:
    r"""word_split="regex" is `re.findall(r"\w+", text.lower())` at the fixed Unicode version."""
    assert len(words(*column([text]), "regex")[1]) == len(twins.words.words(text, "regex"))


SCRIPTS = {
    "arabic": ("\u0643\u064e\u062a\u064e\u0628\u064e \u0627\u0644\u0648\u064e\u0644\u064e\u062f\u064f", 2),
    "hindi": ("\u0939\u093f\u0928\u094d\u0926\u0940 \u092e\u0947\u0902 \u0915\u093f\u0924\u093e\u092c", 3),
    "tamil": ("\u0ba4\u0bae\u0bbf\u0bb4\u0bcd \u0bae\u0bca\u0bb4\u0bbf", 2),
    "burmese": ("\u1019\u103c\u1014\u103a\u1019\u102c", 3),
    "thai": ("\u0e17\u0e35\u0e48\u0e19\u0e35\u0e48", 2),
    "khmer": ("\u1781\u17d2\u1798\u17c2\u179a", 3),
    "tibetan": ("\u0f56\u0f7c\u0f51\u0f0b\u0f66\u0f90\u0f51\u0f0b", 2),
    "chinese": ("\u6211\u4eec\u8bfb\u4e66\u3002", 4),
    "japanese": ("\u30ab\u30bf\u30ab\u30ca\u3068\u6f22\u5b57", 7),
    "korean": ("\ud55c\uad6d\uc5b4 \ubb38\uc7a5", 2),
    "french": ("l\u2019\u00e9t\u00e9 10\u202f000 mots\u202f!", 3),
    "hebrew": ('\u05e6\u05d4"\u05dc \u05e9\u05dc\u05d5\u05dd', 2),
}


@pytest.mark.parametrize("script", SCRIPTS)
def test_number_of_words(script: str) -> None:
    """A mark belongs to its word; characters are words where there are no spaces."""
    text, n = SCRIPTS[script]
    assert len(words(*column([text]))[1]) == n


def test_vocalised_arabic_has_the_words_of_plain() -> None:
    """25 words with vowel signs are 25 words; word_split="regex" counts more."""
    plain = " ".join(["\u0643\u062a\u0628"] * 25)
    vocalised = plain.replace("\u062a", "\u064e\u062a\u064e")
    assert [len(words(*column([t]))[1]) for t in (plain, vocalised)] == [25, 25]
    assert len(words(*column([vocalised]), "regex")[1]) > 50
