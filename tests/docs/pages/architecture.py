"""What the code of docs/architecture.md needs."""

import re

import dataprep as dp

HEAD = {"dataprep run": 14}


def prepare(here, root):
    """The pipeline file of the page."""
    (code,) = re.findall(r"```python\n(.*?)```", (root / "docs/architecture.md").read_text("utf-8"), re.DOTALL)
    (here / "steps.py").write_text(code)


def check(here, names):
    """The steps wrote their folders."""
    assert len(dp.open_dataset("run/clean")) < len(dp.open_dataset("run/ingest"))
