"""What the code of docs/cluster.md needs: a worker of the queue, and folders below the current one."""

import subprocess
import sys

import dataprep as dp

INSTEAD = {
    "/shared/crawl/*.jsonl.zst": "sample_data/*.jsonl*", "/shared/clean": "work/clean", "/shared/queue": "work/queue",
}  # fmt: skip
LEFT = {
    "dataprep work": "it works until Ctrl-C", "dataprep run": "the machines share no folder",
    "sbatch": "there is no Slurm", "export": "there is no such server",
    "dataprep plan": "the samples are too small for a forecast",
}  # fmt: skip


def prepare(here):
    """A worker that ends half a minute after its last task."""
    command = [sys.executable, "-m", "dataprep", "work", "work/queue", "--idle", "30", "--quiet"]
    return {"worker": subprocess.Popen(command, cwd=here)}


def check(here, names):
    """The worker did the tasks of the run."""
    names["worker"].terminate()
    names["worker"].wait()
    assert len(dp.open_dataset("work/clean")) > 0
    assert [path.name for path in (here / "work" / "queue" / "jobs").iterdir()] == [".keep"]
