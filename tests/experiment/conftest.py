"""A small corpus, and settings with which a training takes a fraction of a second."""

from __future__ import annotations

import json
import random

import pytest

pytest.importorskip("torch")

import dataprep as dp
from dataprep.tokens.vocabulary.tokenizer import Tokenizer
from dataprep.train import ModelConfig, TrainConfig

NEWS = "the harbour opened again after the storm and ships came in with salt fruit letters coal and oranges"
DARIJA = "صباح الخير شكون فيكم كيعرف شي حاجة على النعناع والسوق والبحر والمدينة القديمة ديالنا"
WORDS = {"news": NEWS.split(), "darija": DARIJA.split()}
CONFIG = TrainConfig(
    model=ModelConfig(n_layers=1, n_heads=2, d_model=16, context=32), steps=4, batch=4, lr=1e-2, warmup=1, device="cpu",
    eval_rows=4,
)  # fmt: skip


def written(place, n=60, seed=0):
    """Write n documents per source, each of its own words in a random order, as JSONL; return {source: file}."""
    draw, found = random.Random(seed), {}
    for source, words in WORDS.items():
        lines = []
        for i in range(n):
            text = " ".join(draw.choice(words) for _ in range(25)) + f" {i}."
            lines.append(json.dumps({"text": text, "topic": f"t{i % 20}"}) + "\n")
        (place / f"{source}.jsonl").write_text("".join(lines), encoding="utf-8")
        found[source] = str(place / f"{source}.jsonl")
    return found


@pytest.fixture(scope="session")
def corpus(tmp_path_factory):
    """A Dataset of two sources in two scripts, with a column of topics."""
    place = tmp_path_factory.mktemp("experiment")
    return dp.Pipeline().run(dp.read(written(place), columns=["topic"]), out=str(place / "docs"))


@pytest.fixture
def tried(corpus, tmp_path):
    """A function that runs a small experiment on the corpus; its arguments replace the usual ones."""

    def run(**more):
        given = {
            "versions": {"all": [], "short": [dp.Filter(half)]}, "docs": corpus, "train": CONFIG, "seeds": 2,
            "out": str(tmp_path / "out"), "held_out": 0.2, "tokenizer": Tokenizer.of_bytes(), "quiet": True, **more,
        }  # fmt: skip
        return dp.experiment(**{name: value for name, value in given.items() if value is not ...})

    return run


def half(text):
    """Drop half of the documents."""
    return "odd" if int(text.split()[-1].rstrip(".")) % 2 else None


@pytest.fixture(scope="session")
def config():
    """The settings of a training of a fraction of a second."""
    return CONFIG
