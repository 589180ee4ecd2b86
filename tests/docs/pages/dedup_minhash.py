"""What the code of docs/dedup-minhash.md needs."""

import dataprep as dp

HEAD = {"dataprep clusters": 10}


def check(here, names):
    """A higher threshold keeps more, and the guide loses what the others have."""
    assert len(names["strict"]) > 112
    assert {*names["guide"].drops().column("reason").to_pylist()} == {"near_duplicate"}
    (loaded,) = {*dp.open_dataset("work/guide").drops().column("duplicate_of_dataset").to_pylist()} - {None}
    assert loaded.endswith("clean")
