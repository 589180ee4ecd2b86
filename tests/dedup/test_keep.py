"""Which copy stays: one policy for Exact and MinHash."""

from __future__ import annotations

import itertools
import math

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import laws
from dataprep.core.model import batch as B
from dataprep.core.pipeline import Pipeline
from dataprep.core.run.runner import Serial
from dataprep.dedup.exact import Exact
from dataprep.dedup.keep import Keep
from dataprep.dedup.minhash import MinHash
from dataprep.dedup.semantic import SemDeDup
from dataprep.dedup.url import URLDedup
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


@pytest.mark.parametrize("stage", [Exact, MinHash, SemDeDup, URLDedup])
@pytest.mark.parametrize("parts", [1, 3])
def test_no_copy_stays(tmp_path, dataset, stage, parts) -> None:
    """keep="none" drops every member of a cluster; the first of them names no kept document."""
    how = {"embed": lambda texts: [[len(t), 1.0] for t in texts], "epsilon": 0.001} if stage is SemDeDup else {}
    pages = [("one two three", "a"), (TEXT, "b"), ("x", "c"), (TEXT, "b"), ("one two three", "a"), (TEXT, "b")]
    docs = dataset([{"text": text, "url": f"http://e.org/{page}"} for text, page in pages], parts=parts)
    out = stage(keep="none", **how).fit(docs, Serial(), str(tmp_path)).verdicts
    rows = pq.read_table(out).to_pylist()
    assert [(r["id"], r["duplicate_of"], r["similarity"]) for r in rows] == [
        (0, None, None), (10, None, None), (30, 10, 1.0), (40, 0, 1.0), (50, 10, 1.0)
    ]  # fmt: skip


def test_numbers_are_ranked_downwards() -> None:
    """Infinities, zeros, negatives and missing values in their order."""
    values = [math.inf, 7.5, 1e-300, 0.0, -0.0, -2.0, -math.inf, None, math.nan]
    batch = B.make(range(len(values)), ["x"] * len(values), "s", columns={"q": pa.array(values, pa.float64())})
    ranks = Keep.parse("best:q").rank(batch, []).tolist()
    assert ranks == sorted(ranks)
    assert len(set(ranks)) == len(values) - 2


def test_a_column_of_the_wrong_kind_is_named(drops) -> None:
    """A text where a number or a time is wanted is one sentence with the column's name."""
    values = [pa.array([[1], [2]]), pa.array([True, False]), pa.array([b"a", b"b"])]
    for keep, column in itertools.product(("best:c", "newest:c"), values):
        if keep == "newest:c" or not pa.types.is_boolean(column.type):
            with pytest.raises(PlanError, match=f"'{keep}'"):
                Keep.parse(keep).rank(B.make([0, 1], ["a"] * 2, "s", columns={"c": column}), [])


MOMENTS = [
    "9999-12-31", "2024-05-06T23:30:00-0130", "2024-05-07T00:59:59.9999999Z", "2024-05-07 00:00:01+00",
    "2024-05-06 12:00", "2024-05-06", "1969-12-31T23:59:59", "0001-01-01",
]  # fmt: skip
NO_MOMENTS = [
    "soon", "2024-02-30", "2024", "06/05/2024", "1714953600", "24:00", "٢٠٢٤-٠٥-٠٦", "2024-05-06T25:00", "0000-00-00",
]  # fmt: skip


@settings(max_examples=60)
@given(st.permutations([*MOMENTS, *NO_MOMENTS, "", "  ", None]), st.booleans())
def test_unreadable_times_are_missing_and_counted(values, coded) -> None:
    """Texts with and without a zone are in the order of time; the others come last, and are those that are named."""
    column = pa.array(values, pa.string())
    batch = B.make(range(len(values)), ["x"] * len(values), "s", columns={"d": column})
    if coded:
        batch = B.with_column(batch, "d", column.dictionary_encode())
    unreadable: list[str] = []
    ranks = Keep.parse("newest:d").rank(batch, unreadable).tolist()
    found = [values[i] for i in sorted(range(len(values)), key=lambda i: ranks[i])]
    assert found[:2] == ["9999-12-31", "2024-05-06T23:30:00-0130"]
    assert [v for v in found if v in MOMENTS] == MOMENTS
    assert set(found[: len(MOMENTS)]) == set(MOMENTS)
    assert unreadable == [v for v in values if v in NO_MOMENTS]


@settings(max_examples=20)
@given(st.permutations(["3", "2.5", "-1e9", "inf", "n/a", "", "1,5", None]))
def test_unreadable_numbers_are_missing_and_counted(values) -> None:
    """So are texts of numbers."""
    batch = B.make(range(8), ["x"] * 8, "s", columns={"q": pa.array(values, pa.string())})
    unreadable: list[str] = []
    ranks = Keep.parse("best:q").rank(batch, unreadable).tolist()
    found = [values[i] for i in sorted(range(8), key=lambda i: ranks[i])]
    assert found[:4] == ["inf", "3", "2.5", "-1e9"]
    assert unreadable == [v for v in values if v in ("n/a", "1,5")]


@pytest.mark.parametrize("stage", [Exact(keep="newest"), MinHash(keep="newest"), URLDedup(), SemDeDup(keep="newest")])
def test_one_malformed_date_is_missing_counted_and_shown(tmp_path, caplog, stage) -> None:
    """It ends no run: the copy with a date is kept, the manifest has the count, and a warning the value."""
    if isinstance(stage, SemDeDup):
        pytest.importorskip("fasttext")
    dates = ["06/05/2024", "2024-05-06T00:00:00Z", "2024-05-05"]
    rows = [{"text": TEXT, "url": "http://example.org/a", "date": date} for date in dates]
    docs = laws.dataset_of(tmp_path, rows, parts=2, strings=("url", "date"))
    done = Pipeline(stage).run(docs, out=str(tmp_path / "out"))
    assert done.table(["date"]).column("date").to_pylist() == ["2024-05-06T00:00:00Z"]
    assert done.manifest.fits[0]["unreadable"] == 1
    assert "values of the column 'date' that are not an ISO 8601 time count as missing: 1, such as" in caplog.text
    assert "'06/05/2024'" in caplog.text


def test_columns_that_are_looked_at_are_needed() -> None:
    """A missing column fails before any work, so it must be among the needs; fixed columns are always there."""
    assert MinHash(keep="best:quality").needs == ("quality",)
    assert Exact(keep="newest").needs == ("date",)
    assert Exact(keep="source:a,b").needs == ()
