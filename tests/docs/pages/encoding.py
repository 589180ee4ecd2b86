"""What the code of docs/encoding.md needs."""

import pyarrow as pa

import dataprep as dp
from docs.pages import write


def prepare(here, tok):
    """Forty documents, and a column of two texts."""
    clean = dp.read(write("a.jsonl", [f"The rain of day {i}." for i in range(40)]))
    return {"clean": clean, "tok": tok, "column": pa.array(["The rain", "in the north"])}


def check(here, names):
    """Shards have all documents; the ids of a column are those of its texts."""
    assert len(names["shards"]) == len(dp.Shards.open("work/shards")) == 40
    ids, ends = names["ids"], names["ends"]
    assert names["tok"].decode(ids[: ends[0]]) == "The rain<|endoftext|>"
    assert names["tok"].decode(ids[ends[0] : ends[1]]) == "in the north<|endoftext|>"
