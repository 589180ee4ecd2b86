"""What the code of docs/new-language.md needs."""

import random

import pytest

import dataprep as dp
from docs.pages import documents, reasons, write

WORDS = {"presets/ary": ["presets/ary", "--vocab-size", "200", "--order", "3"]}


def made_up(seed, n):
    """Sentences of a made-up language in Arabic letters: `seed` decides its words, of which a few are frequent."""
    rng = random.Random(seed)
    known = [
        "".join(rng.choice("بتدرسعقلمن") + rng.choice("اوية") for _ in range(rng.randint(1, 4))) for _ in range(90)
    ]
    weights = [1 / (k + 1) for k in range(len(known))]
    more = random.Random(n)
    return [" ".join(more.choices(known, weights, k=more.randint(14, 20))) + "." for _ in range(n)]


def prepare(here):
    """A clean sample of a language, a crawl with another one, and two others."""
    for library in ("fasttext", "kenlm", "sentencepiece"):
        pytest.importorskip(library)
    write("clean.jsonl", made_up(1, 90))
    docs = documents("crawl-sample.jsonl", made_up(1, 60) + made_up(2, 50))
    write("msa.jsonl", made_up(2, 80))
    write("french.jsonl", [f"La pluie du nord est plus froide que la pluie du sud, le jour {k}." for k in range(80)])
    return {"docs": docs}


def check(here, names):
    """Documents of the language are left, and those of the other are dropped by the classifier."""
    assert len(dp.open_dataset("work/ary")) > 10
    assert reasons("work/ary")["other_language"] > 20
