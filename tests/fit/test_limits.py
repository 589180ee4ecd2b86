"""Thresholds by quantile, stop words and scripts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dataprep as dp
import twins.limits
from dataprep.filters.gopher.stage import RULES
from dataprep.fit.limits import fineweb_limits, gopher_limits, limit
from dataprep.fit.scripts import script_of
from dataprep.fit.stop_words import LEAST, stop_words

tenths = st.integers(0, 20).map(lambda k: k / 10)
VALUES = st.lists(tenths | st.sampled_from([1 / 3, 2 / 3, 0.12344, 0.12346, float("nan")]), max_size=20)


@settings(max_examples=40)
@given(VALUES, st.sampled_from(["<", "<=", ">", ">="]), st.sampled_from([0.01, 0.1, 0.25, 0.5]))
def test_limits_equal_the_twin(values, drops, tail):
    """The strictest limit of four digits that drops at most the tail, for each comparison, ties and missing scores."""
    assert limit(values, drops, tail) == twins.limits.limit(values, drops, tail)


def test_the_tail_is_dropped():
    """Of a hundred different scores, the limit drops exactly the tail."""
    scores = np.arange(100) / 100
    assert (limit(scores, ">", 0.1), limit(scores, "<", 0.1)) == (0.89, 0.1)
    assert sum(scores > limit(scores, ">", 0.1)) == sum(scores < limit(scores, "<", 0.1)) == 10
    assert limit([1.0] * 9 + [0.5], "<=", 0.1) == 0.9999, "lines that all end with a mark: almost all must"


def test_limits_that_state_nothing_are_not_set():
    """A maximum of 0 is the published one, a minimum of 0 is off, and short texts lower the number of words."""
    scores = {rule.score: np.zeros(100) for rule in RULES}
    scores["gopher_words"] = np.full(100, 7.0)
    found = gopher_limits(scores, 0.01)
    assert (found["max_dup_5gram"], found["min_alphabetic"], found["min_words"]) == (0.15, None, 7)
    assert found["min_stop_words"] is None
    scores["gopher_words"] = np.full(100, 70.0)
    assert gopher_limits(scores, 0.01)["min_words"] == 50, "never more than the paper's"
    zero = {"fineweb_punctuated_lines": np.zeros(9), "fineweb_breaks": np.full(9, 2.0)}
    assert fineweb_limits(zero, 0.01) == {
        "min_punctuated_lines": None, "max_newline_ratio": 1.0, "max_short_lines": None, "max_dup_line_chars": 0.1,
    }  # fmt: skip


def test_stop_words_are_the_frequent_ones(tmp_path):
    """They are counted in lower case and without punctuation; numbers are none, and there are at least eight."""
    rare = " ".join(f"w{k}" for k in range(300))
    (tmp_path / "a.txt").write_text(f"The cat, the dog: THE end. 12 12 12 12 12 12 {rare}")
    found = stop_words(dp.read(str(tmp_path / "a.txt")).batches())
    assert found[0] == "the"
    assert len(found) == LEAST
    assert "12" not in found


@pytest.mark.parametrize(
    ("text", "script"),
    [("wach 3labalk", "LATIN"), ("كيف الحال ok", "ARABIC"), ("日本語のテキスト", "CJK"), ("123 !", None), ("", None)],
)
def test_scripts(text, script):
    """The script of most letters; Han and Kana are one."""
    assert script_of(text) == script
