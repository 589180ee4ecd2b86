"""Parts with equal content, many of them, again and again: no task is disturbed by another one."""

import pytest

import test_equal_parts


@pytest.mark.parametrize("stages", test_equal_parts.CASES, ids=repr)
def test_workers_share_equal_parts(stages, tmp_path):
    """Twenty runs of two workers, and twenty of four, write the bytes of one process."""
    test_equal_parts.runs_agree(stages, tmp_path, times=4, repeat=20)
