"""What the code of docs/dedup.md needs."""

import dataprep as dp

HEAD = {"stages =": 16, "dataprep clusters": 10}


def check(here, names):
    """Each stage that removed something did so for the reason of the table."""
    clean = dp.open_dataset("work/clean")
    assert {"duplicate", "near_duplicate"} <= {*clean.drops().column("reason").to_pylist()}
    assert {*clean.cuts().column("stage").to_pylist()} == {"SuffixArray"}
