"""What the code of docs/dedup-annotate.md needs."""

import dataprep as dp
from docs.pages import write

PAGE = "the quick brown fox jumps over the lazy dog and runs home before the rain begins to fall\nshared line of both"


def prepare(here):
    """A page with a copy, and another page that has one line of it."""
    return {"docs": dp.read(write("a.jsonl", [PAGE, PAGE, "quite another page\nshared line of both"]))}


def check(here, names):
    """Nothing is removed at first; then all but the kept copies, or all but those that occurred twice."""
    rows = names["noted"].take(9)
    assert [(row["duplicate"], row["cluster_size"]) for row in rows] == [(None, 2), ("near_duplicate", 2), (None, 1)]
    assert rows[1]["cluster"] == rows[0]["id"]
    assert [len(row["line_repeats"]) > 0 for row in rows] == [False, True, True]
    assert PAGE[rows[2]["line_repeats"][-1]["kept_start"] :] == "shared line of both"
    assert [len(names["clean"]), len(names["twice"])] == [2, 1]
