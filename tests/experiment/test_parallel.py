"""Trainings in several processes: the same result as one after another, and finished ones are not repeated."""

from __future__ import annotations

import cloudpickle
import pytest
import torch

import dataprep as dp
from dataprep.experiment import parallel


@pytest.fixture
def lanes(monkeypatch):
    """Run the work of each process here, from its pickled form; return the runs of each process."""
    seen, threads = [], torch.get_num_threads()

    class Here:
        def __init__(self, workers):
            self.workers = workers

        def map(self, task, items, label):
            assert len(items) == self.workers
            for item in items:
                seen.append(item.runs)
                yield cloudpickle.loads(cloudpickle.dumps(task))(item)
            torch.set_num_threads(threads)

    monkeypatch.setattr(parallel, "Local", Here)
    return seen


def few(text):
    """Drop half of the documents."""
    return "odd" if int(text.split()[-1].rstrip(".")) % 2 else None


def test_the_result_is_that_of_one_after_another(tried, lanes, tmp_path) -> None:
    """The same losses; versions with the same documents are trained once, and finished runs are left out."""
    versions = {"all": [], "few": [dp.Filter(few)], "same": []}
    one = tried(versions=versions, out=str(tmp_path / "one"))
    assert not lanes
    two = tried(versions=versions, parallel=3)
    assert lanes == [(("all", 0), ("few", 1)), (("few", 0),), (("all", 1),)]
    assert two.measures == one.measures
    lanes.clear()
    tried(versions=versions, parallel=2, seeds=3)
    assert lanes == [(("all", 2),), (("few", 2),)]
    with pytest.raises(dp.DataprepError, match="parallel=0 must be a whole number from 1"):
        tried(parallel=0)


def test_each_process_has_a_gpu(monkeypatch) -> None:
    """Process 2 uses the first of two GPUs again; a named device is kept."""
    monkeypatch.setattr("dataprep.train.device.pick_device", lambda name: "cuda" if name == "auto" else name)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert [parallel.device_of("auto", i) for i in range(3)] == ["cuda:0", "cuda:1", "cuda:0"]
    assert parallel.device_of("cuda:1", 0) == "cuda:1"
    assert parallel.device_of("cpu", 1) == "cpu"
