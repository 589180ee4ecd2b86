"""The report of a run: one HTML page that needs nothing else."""

from __future__ import annotations

from dataprep.store import files

from .page import render
from .page_data import gather

__all__ = ["gather", "render", "write"]


def write(folder: str, place: str) -> str:
    """Write the page about what a run left in `folder` to the file `place`, and return `place`.

    Errors: PlanError if the folder holds no sealed Dataset.
    """
    files.write_bytes(place, render(gather(folder)).encode())
    return place
