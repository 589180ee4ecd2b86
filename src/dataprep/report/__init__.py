"""The report of a run: one HTML page that loads nothing from elsewhere."""

from __future__ import annotations

from dataprep.history.run_summary import summarize
from dataprep.store import files

from .page import render

__all__ = ["render", "write"]


def write(folder: str, url: str) -> str:
    """Write the report of the run in `folder` to the file `url`, and return `url`.

    Raises PlanError if the folder holds no sealed Dataset.
    """
    files.write_bytes(url, render(summarize(folder)).encode())
    return url
