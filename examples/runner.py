"""A Runner of one's own: threads of this process. It needs `map`, `workers` and `memory`, and nothing else.

Run it: python examples/runner.py sample_data/news.jsonl.zst
"""

import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

import dataprep as dp
from dataprep.extend import Runner

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True)
class Threads:
    """Runs tasks in threads; kernels and Arrow release the interpreter's lock."""

    workers: int = 2
    memory: int | str | None = None  # no limit

    def map(self, task: Callable[[T], R], items: Sequence[T], label: str = "") -> Iterator[R]:
        """Yield the task's result for every item, in item order."""
        with ThreadPoolExecutor(self.workers) as pool:
            yield from pool.map(task, items)


def main(path: str = "sample_data/news.jsonl.zst") -> dp.Dataset:
    """Run a pipeline on threads, and print what each stage dropped."""
    run: Runner = Threads(2)
    with tempfile.TemporaryDirectory() as out:
        pipeline = dp.Pipeline(dp.C4(), dp.Exact(), dp.MinHash(threshold=0.8))
        kept = pipeline.run(dp.read(path), out=out, runner=run)
        print(kept.stats)
    return kept


if __name__ == "__main__":
    main(*sys.argv[1:])
