"""Parts with equal content, many of them, again and again: no task is disturbed by another one."""

import pytest

import dataprep as dp
import test_equal_parts


@pytest.mark.parametrize("stages", test_equal_parts.CASES, ids=repr)
def test_workers_share_equal_parts(stages, tmp_path):
    """Runs of two and of four workers write the bytes of one process: twenty of those that store keys by content."""
    repeat = 20 if isinstance(stages[-1], (dp.Exact, dp.MinHash)) else 2
    test_equal_parts.runs_agree(stages, tmp_path, times=4, repeat=repeat)
