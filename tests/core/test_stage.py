"""Filter, Map and DropIds."""

import numpy as np
import pyarrow as pa
import pytest

from dataprep.core.stage import Filter, Map
from dataprep.core.tables import write_verdicts
from dataprep.core.verdict import DropIds
from dataprep.errors import PlanError
from laws import apply, batch_of, books_balance, cuts, cuts_do_not_matter

ROWS = batch_of([{"text": f"text {i} " * (i % 4), "lang": "ar" if i % 2 else "fr"} for i in range(20)])


def empty(text):
    return "empty" if not text else None


def is_arabic(lang):
    return lang == "ar"


def test_filter_drops_with_the_reason_returned():
    """A str is a reason, False the function's name; parameters are columns by name."""
    rows, drops, _ = apply(Filter(empty), [ROWS])
    assert {d["id"] for d in drops} == {0, 4, 8, 12, 16}
    assert {d["reason"] for d in drops} == {"empty"}
    rows, drops, _ = apply(Filter(is_arabic), [ROWS])
    assert {r["lang"] for r in rows} == {"ar"}
    assert {d["reason"] for d in drops} == {"is_arabic"}
    assert Filter(is_arabic).needs == ("lang",)


def test_filter_refuses_other_answers():
    """A number is neither a reason nor a decision."""
    with pytest.raises(PlanError, match="return a reason"):
        apply(Filter(lambda text: 0.5, version="1"), [ROWS])


def test_map_rewrites_and_adds():
    """A str is the new text; a dict sets columns."""

    def shout(text):
        return text.upper()

    def words(text):
        return {"words": len(text.split())}

    rows, _, _ = apply(Map(shout), [ROWS])
    assert rows[3]["text"] == "TEXT 3 TEXT 3 TEXT 3 "
    rows, _, _ = apply(Map(words, adds={"words": pa.int32()}), [ROWS])
    assert [r["words"] for r in rows[:4]] == [0, 2, 4, 6]
    assert rows[3]["text"] == "text 3 text 3 text 3 "
    with pytest.raises(PlanError, match="got"):
        apply(Map(words), [ROWS])
    with pytest.raises(PlanError, match="which every batch has; adds= must name other columns"):
        Map(words, adds={"source": pa.string()})


def test_drop_ids_applies_verdicts(tmp_path, monkeypatch):
    """The verdict table names who goes and for whom; only the row groups of the id range are read."""
    monkeypatch.setattr("dataprep.core.tables.VERDICT_ROWS", 3)
    gone = np.array([1, 2, 5, 11, 13, 19, 400], np.uint64)
    table = {"id": gone[::-1], "reason": ["twin"] * 7, "kept_in": [None] * 7, "kept": [0] * 7, "similarity": [0.9] * 7}
    url = str(tmp_path / "verdicts.parquet")
    write_verdicts(url, pa.table(table))
    stage = DropIds(verdicts=url, key="k", estimator="Twins")
    rows, drops, book = apply(stage, cuts(ROWS, [3]))
    assert [d["id"] for d in drops] == gone[:-1].tolist()
    assert {(d["stage"], d["kept"], round(d["similarity"], 2)) for d in drops} == {("Twins", 0, 0.9)}
    assert len(rows) == 20 - 6 == book.docs_out
    books_balance(stage, ROWS)
    cuts_do_not_matter(stage, ROWS, [2, 5])
