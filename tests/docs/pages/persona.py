"""What the code of docs/persona.md needs."""

import datetime as dt
import random

import pytest

import dataprep as dp

NAMES = ("Ilse Varga", "Tomas Orr", "Karim Benali", "كريم بنعلي")
SAID = "ferry captain bridge chapter cider walnut cake reading door page morning circle tea rain".split()  # noqa: SIM905
VARIES = {r"[\d,]+ tokens": "... tokens"}  # pseudonyms without a key are random
WORDS = {"--train": ["--train", "--set", "steps=2"]}


def prepare(here):
    """A group chat of sixteen conversations, in which one person has two names."""
    pytest.importorskip("torch")
    rng, lines, now = random.Random(7), [], dt.datetime(2024, 3, 1, 9)
    for number in range(16):
        now += dt.timedelta(hours=5)
        for _ in range(rng.randrange(4, 9)):
            now += dt.timedelta(minutes=1)
            who = rng.choice(NAMES[: 3 if number < 8 else 4])
            lines.append(f"{now:%d/%m/%Y, %H:%M} - {who}: {' '.join(rng.choices(SAID, k=rng.randrange(3, 12)))}")
    (here / "exports").mkdir()
    (here / "exports" / "WhatsApp Chat with Circle.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def check(here, names):
    """The files that the page names, without the person's name in them."""
    for name in ("messages", "conversations", "tokenizer", "windows", "shards", "model", "base"):
        assert (here / "out" / "tomas" / name).is_dir(), name
    text = (here / "out" / "tomas" / "train.jsonl").read_text(encoding="utf-8")
    assert '"messages"' in text
    assert "Tomas" not in text
    assert dp.Shards.open("out/karim/shards").n_tokens > 100
