"""What the code of each page needs; test_pages.py describes the modules."""

import json
from pathlib import Path


def write(name, rows):
    """Write texts, or rows, as lines of JSON below the current folder."""
    Path(name).parent.mkdir(parents=True, exist_ok=True)
    dicts = (row if isinstance(row, dict) else {"text": row} for row in rows)
    Path(name).write_text("".join(json.dumps(row) + "\n" for row in dicts), "utf-8")
    return name
