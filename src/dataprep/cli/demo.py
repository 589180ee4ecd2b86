"""The command `demo`: run the demo that comes with dataprep, in any folder."""

from __future__ import annotations

import importlib.resources
from typing import Annotated

import typer

from dataprep.errors import PlanError, need

from .compiling import compiled_ahead
from .options import Workers
from .runs import run


def demo(
    out: Annotated[str, typer.Option(help="Folder for the results.")] = "out/demo",
    to: Annotated[str | None, typer.Option(help="The step to run, with the steps that it needs; default: all.")] = None,
    workers: Workers = 1,
) -> None:
    """Train a model on texts of this machine (documentation, licences and samples); takes a few minutes."""
    need("torch", "train")
    with compiled_ahead():
        run(pipeline_path("demo.py"), to=to, out=out, workers=workers)


def pipeline_path(name: str) -> str:
    """Return the path of a pipeline file of this project: of the checkout, or of the installed package.

    Raises PlanError if neither contains it.
    """
    package = importlib.resources.files("dataprep")
    for home in (package / "included", package / ".." / ".."):
        place = home / "pipelines" / name
        if place.is_file():
            return str(place)
    msg = f"{name} is missing from this installation of dataprep; install the wheel, or run in a checkout"
    raise PlanError(msg)
