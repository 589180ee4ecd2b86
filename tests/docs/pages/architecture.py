"""What the code of docs/architecture.md needs."""

import dataprep as dp
from docs.pages import write



def prepare(here):
    """Three documents, of which one is a copy and one is not a sentence."""
    sentence = "The ferry to the island left the harbour at noon. " * 5
    write("sample_data/a.jsonl", [sentence, sentence, "no sentence"])


def check(here, names):
    """The steps are called with results of earlier ones, and a Runner; `clean` makes its result again."""
    docs = names["ingest"]("run/ingest", dp.Serial())
    assert len(docs) == 3
    assert len(names["clean"](docs, "run/clean", dp.Serial())) == 1
