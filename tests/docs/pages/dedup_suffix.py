"""What the code of docs/dedup-suffix.md needs."""

import dataprep as dp
from docs.pages import write

LICENCE = " ".join(f"term{i}" for i in range(60))


def prepare(here):
    """Two pages with a licence of sixty words, and a shorter sentence, in common."""
    return {"docs": dp.read(write("a.jsonl", [f"{page}\n{LICENCE}\nGood bye to all." for page in ("One", "Two")]))}


def check(here, names):
    """The second licence is cut; of the last line, the full stop is not in a window, so the line stays."""
    clean = dp.open_dataset("work/clean")
    assert [row["text"] for row in clean.take(9)] == [f"One\n{LICENCE}\nGood bye to all.", "Two\nGood bye to all."]
    (cut,) = clean.cuts().to_pylist()
    assert (cut["start"], cut["kept_start"]) == (4, 4)
