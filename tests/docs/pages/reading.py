"""What the code of docs/reading.md needs."""

import runpy
from pathlib import Path

import pytest

import dataprep as dp
from dataprep.read import formats

EXAMPLE = runpy.run_path(str(Path(__file__).parents[3] / "examples" / "reader.py"), run_name="example")
NOTES = ("Twenty letters and more.", "short", "Another note, long enough.")


def patch(monkeypatch):
    """The formats that the page registers are forgotten after it."""
    monkeypatch.setattr(formats, "FORMATS", dict(formats.FORMATS))


def prepare(here):
    """A data frame, and notes in a format of one's own."""
    pandas = pytest.importorskip("pandas")
    line = "The harbour was quiet in the morning, and the boats went out with the tide.\n"
    frame = pandas.DataFrame({"n": [1, 2], "content": [line * 5, "too short"], "date": ["2026-01-01", "2026-01-02"]})
    (here / "notes").mkdir()
    for name in ("a.x", "b.log.txt"):
        (here / "notes" / name).write_text("\n---\n".join(NOTES))
    (here / "log.txt").write_text("#log\n---\nA line that is long enough.")
    return {"frame": frame, "MyReader": EXAMPLE["Recipes"], "MyLog": EXAMPLE["Recipes"]}


def check(here, names):
    """The rows that are left, with the columns of the frame; files have the new formats."""
    back = names["clean"].to_pandas(restore=True)
    assert (list(back.columns), back["n"].tolist()) == (["n", "content", "date"], [1])
    assert [row["text"] for row in dp.read("notes/*.x")] == [NOTES[0], NOTES[2]]
    assert [row["text"] for row in dp.read("log.txt")] == ["A line that is long enough."]
