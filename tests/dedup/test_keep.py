"""Which copy stays: one policy for Exact and MinHash."""

from __future__ import annotations

import math

import pyarrow as pa
import pytest

from dataprep.core import batch as B
from dataprep.dedup.exact import Exact
from dataprep.dedup.keep import Keep
from dataprep.dedup.minhash import MinHash
from dataprep.errors import PlanError

TEXT = "the same eight words are in both texts"
ROWS = [
    {"text": TEXT, "source": "crawl", "date": "2023-01-02", "score": 0.5},
    {"text": TEXT + " ", "source": "books", "date": "2024-05-06T01:00:00", "score": None},
    {"text": TEXT, "source": "wiki", "date": None, "score": -1.0},
    {"text": TEXT, "source": "books", "date": "2024-05-06", "score": 2.5},
]
EXPECTED = {
    "first": 0,
    "longest": 1,
    "newest": 1,
    "newest:score": 3,
    "best:score": 3,
    "source:wiki": 2,
    "source:mail, books,wiki": 1,
}


@pytest.mark.parametrize("stage", [Exact, MinHash])
@pytest.mark.parametrize("keep", EXPECTED)
def test_the_preferred_copy_stays(drops, stage, keep) -> None:
    """Of four copies in two parts, the policy's stays and the others name it."""
    rows = ROWS if keep != "newest:score" else [{**r, "score": int(r["score"] or 0)} for r in ROWS]
    made = stage(keep=keep, **({"normalize": "space"} if stage is Exact else {}))
    found = drops(made, rows, parts=2)
    assert found == {d: (EXPECTED[keep], 1.0) for d in range(4) if d != EXPECTED[keep]}


def test_numbers_are_ranked_downwards() -> None:
    """Infinities, zeros, negatives and missing values in their order."""
    values = [math.inf, 7.5, 1e-300, 0.0, -0.0, -2.0, -math.inf, None, math.nan]
    batch = B.make(range(len(values)), ["x"] * len(values), "s", columns={"q": pa.array(values, pa.float64())})
    ranks = Keep.parse("best:q").rank(batch).tolist()
    assert ranks == sorted(ranks)
    assert len(set(ranks)) == len(values) - 2


def test_a_column_of_the_wrong_kind_is_named(drops) -> None:
    """A text where a number or a time is wanted is one sentence with the column's name."""
    with pytest.raises(PlanError, match="'best:text'"):
        drops(Exact(keep="best:text"), ["a"] * 3)
    rows = [{"text": "a", "when": "soon"}] * 2
    with pytest.raises(PlanError, match="'newest:when'"):
        drops(Exact(keep="newest:when"), rows)


def test_columns_that_are_looked_at_are_needed() -> None:
    """A missing column fails before any work, so it must be among the needs; fixed columns are always there."""
    assert MinHash(keep="best:quality").needs == ("quality",)
    assert Exact(keep="newest").needs == ("date",)
    assert Exact(keep="source:a,b").needs == ()
