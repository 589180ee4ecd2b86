"""What the code of docs/dedup-suffix.md needs."""

import dataprep as dp


def check(here, names):
    """Texts were cut, and each cut names the first occurrence."""
    cuts = dp.open_dataset("work/clean").cuts()
    assert cuts.num_rows > 0
    assert cuts.column("duplicate_of").null_count == 0
