"""What the code of docs/training.md needs."""

import shutil

import pytest

import dataprep as dp
from docs.pages import documents, write

LEFT = {"torchrun": "needs eight GPUs; two processes on the CPU are tested in tests/train/test_distributed.py"}
SAID = {"fr": "Le port était calme ce matin. ", "en": "The harbour was quiet this morning. "}
EXAM = {"prompt": "The capital of France is", "choices": ["Lyon", "Paris"], "answer": 1}
QUIET = {
    "dataprep train": "the losses of a model differ between machines",
    "from dataprep.inference.choices": "likewise",
    "from dataprep.train": "likewise, and so do its words",
    "result = dp.train": "likewise",
    "dp.tools.classify": "likewise",
}
VARIES = {r"\d+\.\d+": "#.#"}


def prepare(here):
    """A model that learned two steps, shards of two languages and of dialogues, and a question."""
    pytest.importorskip("torch")
    from dataprep.train import preset, train

    rows = [{"text": f"{text} {k}. " * 4, "language": code} for code, text in SAID.items() for k in range(20)]
    clean = dp.Pipeline().run(documents("a.jsonl", rows, columns=["language"]), out="work/clean")
    tokenizer = dp.train_bpe(clean, vocab_size=300, val=0.2, special="chatml")
    dp.encode(clean, tokenizer, out="work/shards", val=0.2)
    turns = [{"role": "user", "content": "cold?"}, {"role": "assistant", "content": "Take the coat."}]
    chats = documents("chat.jsonl", [{"text": "cold?", "messages": turns}] * 20, columns=["messages"])
    dp.encode(chats, tokenizer, out="chat/shards", val=0.2, template="chatml")
    train("work/shards", out="out/base", config=preset("tiny").override("steps=2", "device=cpu"), quiet=True)
    for copy in ("out/model", "work/model"):
        shutil.copytree("out/base", copy)
    write("exam.jsonl", [EXAM])


def check(here, names):
    """Both languages are measured, and each prompt of a batch has an answer."""
    assert set(names["found"].groups) == {"fr", "en"}
    assert len(names["many"]) == 2
