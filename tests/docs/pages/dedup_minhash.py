"""What the code of docs/dedup-minhash.md needs."""

import dataprep as dp
from docs.pages import write

PAGE, OF_MAY = (" ".join(f"{word}{i}" for i in range(100)) for word in ("word", "may"))
LONGER = f"{PAGE} and more words at the end of this page than the other has"  # similarity 96 / 109


def prepare(here):
    """A page, a longer one that has all of it, and dumps of three months."""
    for month, text in {"april": PAGE, "may": OF_MAY}.items():
        dp.Pipeline(dp.MinHash()).run(dp.read(write(f"{month}/a.jsonl", [text])), out=f"work/{month}")
    write("june/a.jsonl", [f"{PAGE} more", f"{OF_MAY} more", "a page of June only"])
    return {"docs": dp.read(write("a.jsonl", [PAGE, LONGER]))}


def check(here, names):
    """The longer page would be kept at 0.8, and both are at 0.9; June loses what April and May have."""
    assert len(names["clean"]) == 2
    first = dp.Pipeline(names["near"]).run(names["docs"], out="work/first")
    assert [row["text"] for row in first.take(9)] == [LONGER]
    (drop,) = first.drops().to_pylist()
    assert (drop["reason"], round(drop["similarity"], 4)) == ("near_duplicate", round(96 / 109, 4))
    assert [row["text"] for row in names["june"].take(9)] == ["a page of June only"]
