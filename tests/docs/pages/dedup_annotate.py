"""What the code of docs/dedup-annotate.md needs."""


def check(here, names):
    """Nothing is removed at first; then all but the kept copies, or all but those that have a copy."""
    assert len(names["noted"]) == len(list(names["docs"]))
    marked = sum(row["duplicate"] is not None for row in names["table"])
    assert len(names["clean"]) == len(names["noted"]) - marked
    assert 0 < len(names["twice"]) <= marked
