"""What the code of docs/dedup-incremental.md needs."""

import dataprep as dp
from docs.pages import write

TEXTS = {"april": ["one two three", "seven eight"], "may": ["seven eight", "nine"], "june": ["nine", "ten"]}


def prepare(here):
    """Dumps with copies in the next one, as files and as sealed Datasets."""
    for month, texts in TEXTS.items():
        write(f"{month}/a.jsonl", texts)
        dp.Pipeline().run(dp.read(f"{month}/*.jsonl"), out=f"work/{month}-raw")


def check(here, names):
    """May loses what April has; without April, its copy in May is back."""
    assert [row["text"] for row in names["may"].take(9)] == ["nine"]
    assert [row["text"] for row in names["clean"].take(9)] == ["seven eight", "nine", "ten"]
