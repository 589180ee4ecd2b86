"""What the code of each page needs; test_pages.py describes the modules."""

import json
from collections import Counter
from pathlib import Path

import dataprep as dp


def write(name, rows):
    """Write texts, or rows, as lines of JSON below the current folder."""
    Path(name).parent.mkdir(parents=True, exist_ok=True)
    dicts = (row if isinstance(row, dict) else {"text": row} for row in rows)
    Path(name).write_text("".join(json.dumps(row) + "\n" for row in dicts), "utf-8")
    return name


def documents(name, rows, **options):
    """The Dataset of a file with these texts or rows."""
    return dp.read(write(name, rows), **options)


def texts(url):
    """The texts of a sealed Dataset."""
    return dp.open_dataset(url).table()["text"].to_pylist()


def reasons(url):
    """How many documents of a sealed Dataset were dropped for which reason."""
    return Counter(dp.open_dataset(url).drops().column("reason").to_pylist())
