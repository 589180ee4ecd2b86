"""What the code of docs/encoding.md needs."""

import dataprep as dp


def check(here, names):
    """Shards have all documents."""
    assert len(names["shards"]) == len(dp.Shards.open("work/shards")) == len(names["clean"])
