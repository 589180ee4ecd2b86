"""A call that replaces a result is killed: who opens the folder then sees the old result or the new one, whole.

Here one replacement is killed a few times; `tests/hard/test_killed.py` kills the others. DATAPREP_KILLS=50 takes fifty.
"""

import json
import os
import subprocess
import sys
from pathlib import Path


def killed(folder, kills, *names):
    """What `killed.py` found: a process of its own, since it forks."""
    script = Path(__file__).parent / "fixtures" / "killed.py"
    command = [sys.executable, str(script), str(folder), kills, *names]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2_000:]
    return json.loads(done.stdout)


def test_a_killed_replacement_shows_a_whole_result(tmp_path):
    """C4, Exact, MinHash and a filter in place of C4 and Exact, killed in a call, from outside, and in a worker."""
    kills = os.environ.get("DATAPREP_KILLS", "3")
    found = killed(tmp_path, kills, "stages")["stages"]
    assert found["trouble"] == {}
    assert found["calls"] > 100
    assert sum(found["seen"].values()) >= 2 * int(kills)
