"""What the code of docs/dedup-exact.md needs."""

import dataprep as dp


def check(here, names):
    """Copies are dropped, and repeated paragraphs cut."""
    clean = dp.open_dataset("work/clean")
    assert {*clean.drops().column("reason").to_pylist()} == {"duplicate", "left_too_short"}
    assert clean.cuts().num_rows > 0
