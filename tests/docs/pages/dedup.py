"""What the code of docs/dedup.md needs."""

import dataprep as dp
from docs.pages import write

PAGE = " ".join(f"word{i}" for i in range(100))
LICENCE = " ".join(f"term{i}" for i in range(60))
OWN = [" ".join(f"{page}{i}" for i in range(60)) for page in ("one", "two")]


def prepare(here):
    """A copy, a paragraph that occurs twice, a similar page, and sixty words that two pages have."""
    texts = ["A page.\n\nA paragraph.", "A page.\n\nA paragraph.", "Other.\n\nA paragraph.", PAGE, f"{PAGE} more"]
    return {"docs": dp.read(write("a.jsonl", [*texts, *(f"{own} {LICENCE}" for own in OWN)]))}


def check(here, names):
    """Each stage removes what the table says that it does, for its reason."""
    clean = dp.open_dataset("work/clean")
    texts = [row["text"].strip() for row in clean.take(9)]
    assert texts == ["A page.\n\nA paragraph.", "Other.", PAGE, f"{OWN[0]} {LICENCE}", OWN[1]]
    assert clean.drops().column("reason").to_pylist() == ["duplicate", "near_duplicate"]
    assert clean.cuts().column("stage").to_pylist() == ["Exact(paragraph)"] * 2 + ["SuffixArray"]
