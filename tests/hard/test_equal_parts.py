"""Parts with equal content, many of them, again and again: no task is disturbed by another one.

In CI the Estimators that store keys by content are run three times by two and by four workers; DATAPREP_REPEATS=100
takes a hundred.
"""

import os

import pytest

import dataprep as dp
import laws
import test_equal_parts

FOUR = dp.tools.Local(4)  # whose processes these tests share
REPEATS = int(os.environ.get("DATAPREP_REPEATS", "3"))


@pytest.mark.parametrize("stages", test_equal_parts.CASES, ids=repr)
def test_workers_share_equal_parts(stages, tmp_path):
    """Runs of two and of four workers write the bytes of one process."""
    repeat = REPEATS if isinstance(stages[-1], (dp.Exact, dp.MinHash)) else 2
    test_equal_parts.runs_agree(stages, tmp_path, times=4, runners=[laws.TWO, FOUR] * repeat)
