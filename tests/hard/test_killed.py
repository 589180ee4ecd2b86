"""Results of every kind are replaced by calls that are killed: who opens the folder sees the old one or the new one.

In CI a few kills of each, always the same calls, and more in `make test-all`; DATAPREP_KILLS=50 takes fifty.
`tests/test_killed.py` does the same to "stages".
"""

import os

import pytest

from fixtures.replacements import REPLACEMENTS
from test_killed import killed

KILLS = os.environ.get("DATAPREP_KILLS", "2")


@pytest.mark.parametrize("name", [name for name in REPLACEMENTS if name != "stages"])
def test_the_old_or_the_new_result(tmp_path, name):
    """After each kill a new process reads all of one of them, and the next run writes the bytes of a fresh one."""
    found = killed(tmp_path, KILLS, name)[name]
    assert found["trouble"] == {}
    assert sum(found["seen"].values()) >= 2 * int(KILLS)
