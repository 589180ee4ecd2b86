"""What the code of docs/loader.md needs."""

import pytest

import dataprep as dp
from docs.pages import documents

QUIET = {"settings = ": "the losses of a model differ between machines"}
INSTEAD = {
    "gpt2-124m": "tiny",
    "settings = [": 'settings = ["steps=1", "device=cpu", ',
    "context=1024": "context=16",
    "num_workers=2": "num_workers=0",
}


def prepare(here):
    """Token shards of two sources, in one vocabulary."""
    for library in ("torch", "datasets"):
        pytest.importorskip(library)
    texts = [f"A text with the number {k}, and with some words in it. " * 4 for k in range(60)]
    tokenizer = dp.train_bpe(documents("all.jsonl", texts), vocab_size=300)
    for name, some in (("web", texts[:40]), ("chat", texts[40:]), ("shards", texts)):
        dp.encode(documents(f"{name}.jsonl", some), tokenizer, out=f"work/{name}", val=0.2)


def check(here, names):
    """Batches have inputs and targets, and the table a row for every document."""
    assert names["batch"]["inputs"].shape == names["batch"]["targets"].shape
    assert names["documents"].num_rows > 40
