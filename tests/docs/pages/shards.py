"""What the code of docs/shards.md needs."""

import dataprep as dp
from dataprep.tokens.shards.export import export
from docs.pages import documents

WORDS = {"DIR": "work/shards", "OTHER": "work/llmc", "FOLDER": "work/nanogpt", "NEW": "work/imported"}
FILES = "manifest.json train-00000.bin train-00000.idx train-00000.docs.parquet token_bytes.npy tokenizer.json"


def prepare(here):
    """Shards of twenty documents, and an export of them to read back."""
    docs = documents(
        "a.jsonl", [f"The letter of day {day} tells about the weather and the harbour." for day in range(20)]
    )
    tok = dp.train_bpe(docs, vocab_size=290)
    dp.encode(docs, tok, out="work/shards", val=0.2)
    export("work/shards", "nanogpt", "work/nanogpt")
    return {"docs": docs, "tok": tok}


def check(here, names):
    """The files that the page lists, and the same documents after an export and an import."""
    assert set(FILES.split()) <= {path.name for path in (here / "work" / "shards").iterdir()}
    assert sorted(path.name for path in (here / "work" / "llmc").glob("*_000000.bin")) == [
        "train_000000.bin",
        "val_000000.bin",
    ]
    original, back = dp.Shards.open("work/shards"), dp.Shards.open("work/imported")
    assert [list(back.document(k)) for k in range(20)] == [list(original.document(k)) for k in range(20)]
