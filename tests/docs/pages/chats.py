"""What the code of docs/chats.md needs."""

import dataprep as dp

LEFT = {"make report": "trains a model for a minute; tests/docs/test_pipelines.py runs the steps"}
WORDS = {"~/exports": "sample_data/chats"}
HEAD = {"forwards =": 20, "dataprep inspect": 40}


def prepare(here, root):
    """The pipeline, and a key, so that pseudonyms are the same in every run."""
    (here / "pipelines").symlink_to(root / "pipelines")
    (here / "people.key").write_text("0123456789abcdef0123456789abcdef\n")


def check(here, names):
    """The table has the columns of the page, conversations are joined, and names are hidden."""
    assert "meta" not in names["table"].column_names
    assert "joined" in dp.open_dataset("work/conversations").drops().column("reason").to_pylist()
    assert {row["author"][:7] for row in names["safe"]} == {"Person-"}
    assert (here / "work/safe/report.html").exists()
