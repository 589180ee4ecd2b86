"""What the code of README.md needs."""

import dataprep as dp

LEFT = {"make demo": "takes a minute; tests/docs/test_pipelines.py runs its steps"}
HEAD = {"import dataprep": 16, "dataprep why": 8}


def check(here, names):
    """The folders that the page names, as other programs open them."""
    assert len(dp.open_dataset("out/clean")) > 100
    assert (here / "out/shards/train-00000.bin").stat().st_size > 1_000
