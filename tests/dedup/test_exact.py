"""Exact against its plain twin: which texts go, for whom, and never because of a hash."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracles
from dataprep.dedup.exact import Exact
from dataprep.errors import PlanError

TEXTS = st.lists(
    st.one_of(
        st.sampled_from(["", " ", "\n", "!!!", "...", "A b", "a b", "a  b", "a, b", "a b\n"]), st.text(max_size=6)
    ),
    max_size=30,
)


@settings(max_examples=40)
@given(TEXTS, st.sampled_from([None, "space", "lower", "words"]), st.integers(1, 3), st.integers(1, 5))
def test_exact_is_its_twin(drops, texts, form, parts, cut) -> None:
    """The same documents go for the same survivors, however the input is cut."""
    expected = oracles.same_texts(texts, list(range(len(texts))), form)
    found = drops(Exact(normalize=form), texts, parts=parts, cut=cut)
    assert found == {d: (kept, 1.0) for d, kept in expected.items()}


@settings(max_examples=20)
@given(TEXTS, st.integers(0, 3))
def test_a_hash_alone_deletes_nothing(drops, texts, bits) -> None:
    """With hashes of so few bits that nearly all texts collide, only equal texts go."""
    expected = oracles.same_texts(texts, list(range(len(texts))), None)
    found = drops(Exact(_key_bits=bits), texts)
    assert {d: kept for d, (kept, _) in found.items()} == expected


def test_collisions_of_many_texts_are_told_apart(drops) -> None:
    """1,000 distinct texts in 16 buckets all stay, and one copy of each goes."""
    texts = [f"text number {i}" for i in range(1000)]
    assert drops(Exact(_key_bits=4), texts) == {}
    found = drops(Exact(_key_bits=4), texts + texts, parts=3)
    assert found == {1000 + i: (i, 1.0) for i in range(1000)}


def test_blank_texts_are_not_each_others_copies(drops) -> None:
    """What normalisation empties is compared as it is: "!!!" is not "???", nor a space a tab; empty texts are."""
    found = drops(Exact(normalize="words"), ["!!!", "???", " ", "\t", "", "!!!", ""])
    assert found == {5: (0, 1.0), 6: (4, 1.0)}


@pytest.mark.parametrize("wrong", [{"normalize": "upper"}, {"keep": "last"}, {"keep": "best:"}, {"keep": ""}])
def test_wrong_parameters_are_named(wrong) -> None:
    """One sentence that lists what there is."""
    with pytest.raises(PlanError, match="there are"):
        Exact(**wrong)
