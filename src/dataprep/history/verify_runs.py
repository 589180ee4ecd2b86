"""Check the trainings of an experiment or of `scaling`: the records of their losses, and the files of their models."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterator

import orjson

from dataprep.errors import DataprepError
from dataprep.store import files, receipts
from dataprep.tokens.shards.verify import Problem

RECORDS, RUNS = ("design.json", "scaling.json"), "runs"  # in the folder of an experiment, or of a sweep over sizes
RECORD_AGAIN = "remove it; the same command measures the model again"
MODEL_AGAIN = "remove the folder and the JSON files of its name; the same command trains the model again"
DATA_AGAIN = "remove the folder; the same command recreates it"
CHANGED = "its content has changed since it was written"


def is_experiment(url: str) -> bool:
    """Return whether `url` is the folder of an experiment, or of a sweep over sizes."""
    has_record = files.is_local(url) and any(files.exists(files.join(url, name)) for name in RECORDS)
    return has_record and files.is_dir(files.join(url, RUNS))


def damaged_runs(url: str) -> list[Problem]:
    """Return the problems of the trainings in the folder of an experiment.

    Records have a checksum. A checkpoint is a zip file, which has a CRC-32 of each tensor. Of metrics and tokenizers,
    only the syntax is checked.
    """
    home = files.join(url, RUNS)
    problems = []
    for name in sorted(files.listdir(home)):
        at = files.join(home, name)
        if files.is_dir(at):
            problems += [Problem(files.join(name, file), what, MODEL_AGAIN) for file, what in _damaged_model(at)]
        elif name.endswith(".json"):
            try:
                receipts.read(at)
            except DataprepError as e:
                problems.append(Problem(name, " ".join(str(e).split()), RECORD_AGAIN))
    return problems


def _damaged_model(url: str) -> Iterator[tuple[str, str]]:
    """Yield (file, problem) for each damaged file of a run."""
    for name in sorted(files.listdir(url)):
        path = files.path_of(files.join(url, name))
        if not os.path.isfile(path):
            continue
        try:
            if name.endswith(".pt"):
                with zipfile.ZipFile(path) as f:
                    if (bad := f.testzip()) is not None:
                        yield name, f"{CHANGED} ({bad})"
            elif name.endswith((".json", ".jsonl")):
                with open(path, "rb") as f:
                    for one in f if name.endswith(".jsonl") else (f.read(),):
                        orjson.loads(one)
        except (zipfile.BadZipFile, orjson.JSONDecodeError, EOFError, ValueError) as e:
            yield name, f"{CHANGED} ({' '.join(str(e).split())})"
