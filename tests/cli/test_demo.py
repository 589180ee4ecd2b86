"""`dataprep demo`: the pipeline file that it runs is found in a checkout and in an installed package."""

from __future__ import annotations

import importlib.resources
import sys

import pytest

from dataprep.cli.demo import pipeline_path
from dataprep.errors import PlanError


def test_the_pipeline_file_is_found(root, tmp_path, monkeypatch):
    """In a checkout it is that of pipelines/; in a package, the copy in `included`; else an error says so."""
    with open(pipeline_path("demo.py"), "rb") as found:
        assert found.read() == (root / "pipelines" / "demo.py").read_bytes()
    package = tmp_path / "lib" / "python" / "dataprep"
    monkeypatch.setattr(importlib.resources, "files", lambda _: package)
    with pytest.raises(PlanError, match="did not come with"):
        pipeline_path("demo.py")
    copy = package / "included" / "pipelines" / "demo.py"
    copy.parent.mkdir(parents=True)
    copy.touch()
    assert pipeline_path("demo.py") == str(copy)


def test_the_demo_without_torch_names_the_extra(dataprep, monkeypatch):
    """The sentence is printed before any work."""
    monkeypatch.setitem(sys.modules, "torch", None)
    code, out, err = dataprep("demo")
    assert (code, out) == (1, "")
    assert "pip install 'dataprep-lm[train]'" in err
