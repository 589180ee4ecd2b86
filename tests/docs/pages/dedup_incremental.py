"""What the code of docs/dedup-incremental.md needs."""

import dataprep as dp
from docs.pages import write

LONG = " ".join(f"word{i}" for i in range(100))
TEXTS = {
    "april": ["one two three", "seven eight", LONG],
    "may": ["seven eight", f"{LONG} more", "nine"],
    "june": ["nine", "ten"],
}


def prepare(here):
    """Dumps with copies in the next one, as files and as sealed Datasets."""
    for month, texts in TEXTS.items():
        write(f"{month}/a.jsonl", texts)
        dp.Pipeline().run(dp.read(f"{month}/*.jsonl"), out=f"work/{month}-raw")


def check(here, names):
    """May loses what April has; without April, its copies in May are back."""
    assert [row["text"] for row in names["may"].take(9)] == ["nine"]
    assert [row["text"] for row in names["clean"].take(9)] == ["seven eight", f"{LONG} more", "nine", "ten"]
