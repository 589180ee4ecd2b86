from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataprep.batch import doc_id
from dataprep.errors import PlanError
from dataprep.tokens.split import check_share, check_sides, is_val, sample_rank, sampled, side_of

IDS = np.concatenate([np.arange(50_000) * 1_871 + doc_id(f, 0) for f in (0, 1, 77, 4_000)]).astype(np.uint64)


@pytest.mark.parametrize("val", [0.0, 0.005, 0.1, 0.5, 1.0])
def test_share_is_the_share_asked_for(val):
    """200,000 ids as readers make them: the rate lies within five standard deviations of `val`."""
    rate = is_val(IDS, val).mean()
    assert abs(rate - val) <= 5 * np.sqrt(val * (1 - val) / len(IDS))


def test_sample_and_split_are_independent():
    """Of the sampled documents the same share is held out as of all; no purpose looks at another's hashes."""
    in_sample = sampled(sample_rank(IDS, 0), 0.05)
    for seed in (0, 1):
        rate, n = is_val(IDS[in_sample], 0.1, seed).mean(), in_sample.sum()
        assert abs(rate - 0.1) < 5 * np.sqrt(0.09 / n)
    both = (is_val(IDS, 0.1, 0) & is_val(IDS, 0.1, 1)).mean()  # another seed is another split
    assert abs(both - 0.01) < 5 * np.sqrt(0.01 / len(IDS))


@given(st.lists(st.integers(0, 2**64 - 1), min_size=1), st.floats(0, 1), st.floats(0, 1), st.integers(-3, 2**70))
def test_side_depends_on_the_id_alone(ids, small, large, seed):
    """Alone or among others an id has the same side, and a smaller share lies inside a larger one."""
    small, large = sorted([small, large])
    array = np.array(ids, np.uint64)
    inner, outer = is_val(array, small, seed), is_val(array, large, seed)
    assert [bool(is_val(array[i : i + 1], small, seed)[0]) for i in range(len(ids))] == inner.tolist()
    assert not (inner & ~outer).any()


def test_sides_are_the_same_everywhere():
    """Known answers: the split of a corpus may not move with a version of anything."""
    assert np.flatnonzero(is_val(np.arange(1_000, dtype=np.uint64), 0.005, 0)).tolist() == KNOWN


@given(st.lists(st.integers(0, 2**64 - 1), min_size=1), st.floats(0, 0.5), st.floats(0, 0.5), st.floats(0, 0.5))
def test_a_test_side_moves_no_validation(ids, val, test, more):
    """Validation is the same whatever the test share is, and a larger test share only adds to the smaller one."""
    array = np.array(ids, np.uint64)
    test, more = sorted([test, more])
    sides, larger = side_of(array, val, test), side_of(array, val, more)
    assert ((sides == 1) == is_val(array, val)).all()
    assert ((sides == 1) == (larger == 1)).all()
    assert not ((sides == 2) & (larger != 2)).any()


def test_three_sides_have_their_shares():
    """200,000 ids: each side's rate lies within five standard deviations of its share, and they may not pass 1."""
    rates = np.bincount(side_of(IDS, 0.1, 0.05), minlength=3) / len(IDS)
    assert np.abs(rates - [0.85, 0.1, 0.05]).max() < 5 * np.sqrt(0.15 / len(IDS))
    assert (side_of(IDS, 0.5, 0.5) != 0).all()
    with pytest.raises(PlanError, match=r"val=0.6 and test=0.5 are more than all"):
        check_sides(0.6, 0.5)


KNOWN = [107, 306, 590, 949]


def test_share_outside_zero_and_one_is_refused():
    """val=5 (per cent?) is a sentence, not a corpus without a training side."""
    with pytest.raises(PlanError, match="val=5 is not a share"):
        check_share("val", 5)
