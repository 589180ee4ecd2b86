"""MC4 against a plain twin."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import laws
import twins.mc4
from dataprep.errors import PlanError
from dataprep.filters.mc4 import MC4

texts = st.lists(st.sampled_from(["a", "é ", "語", "\n", "\n", "\r", "\u2028", "🙂"]), max_size=30).map("".join)


def kept(stage, texts):
    """Whether the stage keeps each text."""
    return [why is None for why in stage.decide(stage.score(laws.batch_of(texts))).to_pylist()]


@given(st.lists(texts, max_size=5), st.integers(0, 4), st.integers(0, 6))
def test_mc4_equals_its_twin(some, paragraphs, chars):
    """Texts are kept that have enough lines between line feeds with enough characters."""
    stage = MC4(min_paragraphs=paragraphs, min_paragraph_chars=chars)
    assert kept(stage, some) == [twins.mc4.paragraphs(t, chars) >= paragraphs for t in some]


def test_published_numbers():
    """Three lines of 200 characters are enough; the rule obeys the laws of stages."""
    line = "é" * 200 + "\n"
    assert kept(MC4(), [line * 3, line * 2 + line[1:], "x\n" * 900]) == [True, False, False]
    assert kept(MC4(min_paragraphs=None), [""]) == [True]
    assert kept(MC4(min_paragraph_chars=None), ["a\n\n", "a\nb", ""]) == [True, False, False]
    laws.cuts_do_not_matter(MC4(), laws.batch_of([line * 3, line * 2, ""]), [1, 2])
    laws.books_balance(MC4(), laws.batch_of([line * 3, line * 2, ""]))
    laws.key_and_pickle_are_stable(MC4())
    with pytest.raises(PlanError, match="MC4: min_paragraphs=-1 must be"):
        MC4(min_paragraphs=-1)
    with pytest.raises(PlanError, match="MC4: min_paragraph_chars='200' must be"):
        MC4(min_paragraph_chars="200")
