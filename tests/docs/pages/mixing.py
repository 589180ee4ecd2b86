"""What the code of docs/mixing.md needs."""

from pathlib import Path

import pyarrow as pa
import pytest

import dataprep as dp
from docs.pages import documents

SAMPLES = Path(__file__).parents[3] / "sample_data"
SENTENCE = "The harbour of town {} was quiet in the morning, and the boats went out with the tide.\n"
INSTEAD = {"settings=[": 'settings=["steps=1", "device=cpu", '}

QUIET = {"sources = ": "the losses of a model differ between machines"}


def prepare(here):
    """Pages of forty hosts, the four samples as shards, and shards of two sources."""
    pytest.importorskip("torch")
    pages = [{"text": SENTENCE.format(k // 4) * 3 + SENTENCE.format(k) * 3, "host": f"h{k}.org"} for k in range(40)]
    docs = dp.read(pa.Table.from_pylist(pages), columns=["host"], out="pages.parquet")
    samples = [str(SAMPLES / name) for name in ("articles.jsonl", "darija.jsonl", "letters.jsonl.gz", "news.jsonl.zst")]
    tokenizer = dp.train_bpe(dp.read(samples), vocab_size=1000)
    dp.encode(dp.read(samples), tokenizer, out="work/samples")
    for source in ("web", "chat"):
        texts = [f"A text of the {source}, number {k}, with some words in it. " * 4 for k in range(30)]
        dp.encode(documents(f"{source}.jsonl", texts), tokenizer, out=f"work/{source}", val=0.05)
    return {"docs": docs}


def check(here, names):
    """The mixture has the tokens of its plan; the model learned."""
    assert names["mixed"].n_tokens >= 60_000
    assert (here / "work" / "model").is_dir()
