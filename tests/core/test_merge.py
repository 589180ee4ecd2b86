"""Merged shuffle files against the plain ones: every section has the same bytes, in the same order."""

from __future__ import annotations

import numpy as np
import pytest

from dataprep.core.run import merge
from dataprep.core.run.merge import MergeSections, merged
from dataprep.core.run.runner import Serial
from dataprep.store import shuffle
from dataprep.store.shuffle import ShuffleFiles
from dataprep.store.spill import all_sections, spill_to


class Merge(MergeSections):
    """Writes into the folder `merged`."""

    folder = "merged"


@pytest.mark.parametrize("shape", [(2, 3, 1, 9), (9, 5, 2, 9), (9, 1, 1, 9), (17, 7, 2, 99)])
def test_sections_stay_the_same(tmp_path, monkeypatch, shape):
    """Files of no, one or several segments, with empty sections: in one or several levels, and blocks of any size."""
    n_files, n, width, in_memory = shape
    monkeypatch.setattr(shuffle, "FAN_IN", 2)
    monkeypatch.setattr(merge, "MERGE_BYTES", in_memory)
    rng = np.random.default_rng(n_files)
    files = ShuffleFiles(f"{tmp_path}/plain-", n_files, n, width)
    for number in range(n_files):
        with spill_to(files.file(number), n * width) as spill:
            for _ in range(rng.integers(0, 4)):
                spill.write(rng.integers(0, 256, rng.integers(0, 9), np.uint8) for _ in range(n * width))
    found = merged(Serial(), files, Merge, str(tmp_path), "key", "")
    assert found.groups <= 2
    assert found == files or n_files > 2
    for section in range(n):
        urls, index = files.of(section)
        merged_urls, at = found.of(section)
        assert len(merged_urls) <= 2
        for side in range(width):
            plain = all_sections(urls, width * index + side, np.uint8)
            assert all_sections(merged_urls, width * at + side, np.uint8).tolist() == plain.tolist()
        ranges = (np.concatenate(list(some.read(section, n, np.uint8))) for some in (files, found))
        assert sorted(next(ranges)) == sorted(next(ranges))
