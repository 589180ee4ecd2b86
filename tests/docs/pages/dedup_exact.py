"""What the code of docs/dedup-exact.md needs."""

import dataprep as dp


def check(here, names):
    """Copies are dropped, and repeated paragraphs cut."""
    clean = dp.open_dataset("work/clean")
    assert {*clean.drops().column("reason").to_pylist()} == {"duplicate", "too_short_after_cuts"}
    assert clean.cuts().num_rows > 0
