"""What the code of docs/dedup-semantic.md needs."""

import numpy as np
import pytest

import dataprep as dp
from docs.pages import write

PAGE = " ".join(f"word{i}" for i in range(12))


def encode(texts):
    """Vectors that only know how long a text is, and whether it has an e."""
    return np.array([[len(text), 100 * ("e" in text)] for text in texts], np.float32)


def prepare(here):
    """A page with a copy, the same words in another order, and pages of other words."""
    pytest.importorskip("fasttext")
    others = [" ".join(f"other{i * 12 + j}" for j in range(12)) for i in range(4)]
    texts = [PAGE, PAGE, " ".join(reversed(PAGE.split())), *others]
    return {"docs": dp.read(write("a.jsonl", texts)), "encode": encode}


def check(here, names):
    """Texts of the same words have the same vector."""
    reasons = dp.open_dataset("work/clean").drops().column("reason").to_pylist()
    assert reasons == ["duplicate", "semantic_duplicate"]
