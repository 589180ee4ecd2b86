"""Rules that compare a score with a limit: what the drop table says of them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import laws
from dataprep.core.model.ledger import Ledger, watch
from dataprep.filters import fineweb, fineweb2, mc4
from dataprep.filters.gopher import stage as gopher
from dataprep.filters.thresholds import DROPS, Threshold, compared

TEXTS = [
    "word " * 9, "the of and to be have that with " * 20, "one line\n" * 30, "# " * 60, "... " * 60,
    "The garden was open to all who lived in the street, and they met there.\n" * 3, "",
]  # fmt: skip
FILTERS = {"gopher": (gopher.Gopher(), gopher.RULES), "fineweb": (fineweb.FineWeb(), fineweb.RULES),
           "mc4": (mc4.MC4(), mc4.RULES)}  # fmt: skip


@pytest.mark.parametrize("name", FILTERS)
def test_a_drop_states_the_number_that_its_rule_compared(name) -> None:
    """It is on the wrong side of the limit, and is the score of the document."""
    stage, rules = FILTERS[name]
    batch, ledger = laws.batch_of(TEXTS), Ledger(name)
    list(watch(stage, iter([batch]), ledger))
    scores, of = stage.score(batch), {rule.reason: rule for rule in rules}
    rows = ledger.drop_table().to_pylist()
    assert rows
    for row in rows:
        rule = of[row["reason"]]
        assert row["value"] == scores[rule.score][row["id"]].as_py()
        assert DROPS[rule.drops](row["value"], getattr(stage, rule.parameter))


def test_a_reason_is_of_one_rule() -> None:
    """So that it tells which score was compared."""
    for rules in (gopher.RULES, fineweb.RULES, fineweb.BEYOND, fineweb2.RULES, mc4.RULES):
        assert len({rule.reason for rule in rules}) == len(rules)


def test_a_score_that_is_no_number_is_null() -> None:
    """As is the value of a document that is kept."""
    rules = (Threshold("a", "x", "<", "low"), Threshold("b", "y", ">", "high"))
    scores = {"x": pa.array([1, 2, 3]), "y": pa.array([0.5, np.nan, 0.25])}
    found = compared(rules, scores, pa.array(["low", "high", None]))
    assert found["value"].to_pylist() == [1.0, None, None]
