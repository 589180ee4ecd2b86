"""Texts side by side: what is marked is what differs, and nothing else."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dataprep.history.word_diff import CHANGED, LEFT_OUT, SAME, WORD, word_diff

WORDS = st.lists(st.sampled_from(["one", "two", "three", "four.", "سلام", "字"]), max_size=30).map(" ".join)


def said(side, *kinds):
    """The texts of some kinds of pieces."""
    return "".join(piece.text for piece in side if piece.kind in kinds)


@given(st.text(max_size=60))
def test_every_character_is_part_of_a_word_but_leading_space(text):
    """Cutting into words loses nothing."""
    assert "".join(WORD.findall(text)) == text


@given(WORDS, WORDS)
def test_pieces_are_the_texts_and_the_same_is_the_same(a, b):
    """Short texts come back whole, and what is not marked reads the same on both sides."""
    left, right = word_diff(a, b)
    if not any(piece.kind == LEFT_OUT for piece in (*left, *right)):
        assert said(left, SAME, CHANGED) == a
        assert said(right, SAME, CHANGED) == b
    assert said(left, SAME).split() == said(right, SAME).split()
    assert (said(left, CHANGED) + said(right, CHANGED) == "") == (a.split() == b.split())


def test_a_change_far_inside_a_long_text_is_shown():
    """What is the same for long is left out with its count of words, so that the change is on the screen."""
    words = [f"w{i}" for i in range(5_000)]
    changed = [*words[:2_500], "NEW", *words[2_501:]]
    left, right = word_diff(" ".join(words), " ".join(changed), max_chars=600)
    assert said(left, CHANGED).strip() == "w2500"
    assert said(right, CHANGED).strip() == "NEW"
    assert left[0].text == "2,488 words the same"
    assert sum(len(piece.text) for piece in left) < 600


def test_texts_without_spaces_are_compared_by_character():
    """A changed character of a Chinese or Thai sentence is marked alone."""
    left, right = word_diff("我们今天去北京看朋友", "我们今天去上海看朋友")
    assert said(left, CHANGED) == "北京"
    assert said(right, CHANGED) == "上海"


def test_what_is_shown_is_bounded():
    """Whatever the texts, a side is about as long as asked for."""
    for a, b in (("x" * 300_000, "y" * 300_000), ("a b " * 90_000, "b a c " * 90_000), ("\n" * 90_000, "")):
        for side in word_diff(a, b, max_chars=1_000):
            assert sum(len(piece.text) for piece in side) < 1_200
