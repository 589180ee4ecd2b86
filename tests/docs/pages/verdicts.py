"""What the code of docs/verdicts.md needs; its queries are run by test_verdicts.py, too."""

import dataprep as dp
from docs.pages import reasons


def check(here, names):
    """The removed texts are those of the tables."""
    assert {"duplicate", "near_duplicate"} <= {*reasons("run/clean")}
    assert dp.read("dropped.jsonl.zst").count == sum(reasons("run/clean").values())
