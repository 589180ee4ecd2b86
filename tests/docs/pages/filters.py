"""What the code of docs/filters.md needs."""

import dataprep as dp

HEAD = {"print(clean.stats)": 20, "dataprep inspect": 16}


def prepare(here):
    """A list of words."""
    (here / "lists").mkdir()
    (here / "lists/ar.txt").write_text("كلب\n", "utf-8")


def check(here, names):
    """Articles are kept, and pages of the crawl dropped; a stage finds the words of a file."""
    clean = dp.open_dataset("work/clean")
    assert {row["source"] for row in clean} == {"articles", "crawl"}
    assert {"Gopher", "BadWords"} <= {*clean.drops().column("stage").to_pylist()}
    docs = dp.read([{"text": "رأيت والكلب يجري"}], key="filters")
    assert len(dp.Pipeline(names["stages"][1]).run(docs, out="work/ar")) == 0
