"""What the code of docs/experiments.md needs."""

import json

import pytest

import dataprep as dp
from docs.pages import write

LEFT = {
    "dataprep experiment": "its models take a minute; tests/experiment runs the command with a smaller one",
    "dataprep scaling": "its models take some minutes; tests/experiment runs the command with smaller ones",
    "COMPARE_SEEDS=": "it takes some minutes",
    "pip install lm_eval": "lm-eval is not installed for the tests",
    "dataprep export-model work/experiment": "the name of the run differs; tests/inference exports models",
    "HF_HUB_OFFLINE=": "lm-eval is not installed for the tests",
}
QUIET = {"found = dp.experiment": "the losses of a model differ between machines"}
INSTEAD = {"held_out=0.2,": "held_out=0.2, settings=['device=cpu', 'model.d_model=16'], quiet=True,"}


def prepare(here):
    """Questions, and passages."""
    pytest.importorskip("torch")
    write("exam.jsonl", [{"prompt": f"{n} and", "choices": ["one", "two"], "answer": n % 2} for n in range(8)])
    write("tales.jsonl", [f"The ships came in with the {word}." for word in ("tide", "salt", "wind", "rain")])


def check(here, names):
    """The tables are there; both calls share the held-out set and the runs; the questions are measured."""
    found = names["found"]
    assert [one["name"] for one in found.measures][-2:] == ["choices-exam", "last-word-tales"]
    assert json.loads((here / "work/experiment/experiment.json").read_text()) == found.to_dict()
    assert len(dp.open_dataset("work/experiment/held-out")) == found.about["held_out_documents"]
    assert len(list((here / "work/experiment/runs").glob("*-seed-?"))) == len(
        {run for version in found.versions.values() for run in version["runs"]}
    )
