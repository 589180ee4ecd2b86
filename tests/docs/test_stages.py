"""Make targets of single stages: each is a step of pipelines/stages.py, runs on the samples, and prints its table."""

from __future__ import annotations

import re

import pytest


def test_every_stage_runs_and_prints_its_table(root, dataprep, tmp_path):
    """All steps succeed in one run, and the table of each target's stage has the documents that it kept."""
    pytest.importorskip("fasttext")
    pytest.importorskip("kenlm")
    (listed,) = re.findall(r"^STAGES +:= (.*)$", (root / "Makefile").read_text(), re.MULTILINE)
    code, out, err = dataprep("run", root / "pipelines" / "stages.py", "--out", tmp_path / "out")
    assert code == 0, err
    printed = dict(re.findall(r"^(\w+) \u2500+\n(.*?)(?=^\w+ \u2500+$|\Z)", out, re.MULTILINE | re.DOTALL))
    for name in listed.split():
        assert re.search(r"^stage +documents +of input", printed[name.replace("-", "_")], re.MULTILINE), name
