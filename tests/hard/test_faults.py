"""A disk that fails at any call: each job goes on to the same bytes, or said in one sentence that the disk was full.

In CI a few calls of each job, always the same ones. DATAPREP_FAULTS=100 takes a hundred, DATAPREP_FAULTS=0 all of them.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from fixtures.jobs import NAMES

FAULTS = os.environ.get("DATAPREP_FAULTS", "2")


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """What `faults.py` found: a process of its own, since it forks."""
    script = Path(__file__).parents[1] / "fixtures" / "faults.py"
    command = [sys.executable, str(script), str(tmp_path_factory.mktemp("disk")), FAULTS]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2_000:]
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", NAMES)
def test_every_state_resumes(found, name):
    """After a kill, a power cut, a full disk and a failed call, the same call writes the bytes of an untroubled run."""
    assert found[name]["calls"] > 10
    assert found[name]["trouble"] == {}
