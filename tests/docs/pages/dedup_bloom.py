"""What the code of docs/dedup-bloom.md needs."""

import pytest

VARIES = {r"\d\.\d+e-\d+": "..."}  # rates that are computed in floating point


def prepare(here):
    """The library that opens the filter."""
    pytest.importorskip("pybloom_live")


def check(here, names):
    """The filter that was opened has a paragraph of the texts, and not another one."""
    assert names["paragraph"] in names["f"]
    assert "another paragraph" not in names["f"]
