"""Compile the kernels of the demo's later steps in a second process while its first step runs.

On a new machine, compiling takes more than half of the demo's time, and one process compiles on one core.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator

import dataprep as dp
from dataprep.core.model.dataset import Dataset
from dataprep.core.run.runner import Runner
from dataprep.dedup.warm import warm
from dataprep.tokens.vocabulary.encoder import count_byte_pairs
from dataprep.unicode.kernel import kernel_hash
from dataprep.unicode.machine_code import is_stored


@contextlib.contextmanager
def compiled_ahead() -> Iterator[None]:
    """In the `with` block, compile kernels in another process, if the last step's are missing and cores are two."""
    if (os.cpu_count() or 1) < 2 or is_stored(kernel_hash(count_byte_pairs)):
        yield
        return
    quiet = subprocess.DEVNULL
    command = [sys.executable, "-m", __name__]
    child = subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet)  # noqa: S603 - our own module
    try:
        yield
    finally:
        child.kill()
        child.wait()


def compile_kernels() -> None:
    """Run the demo's steps on two documents, the last step first; the demo itself compiles the first steps."""
    warm(_tokens)
    for stage in (dp.SuffixArray(min_words=50), dp.MinHash(), dp.Exact(), dp.C4(preset="tfds")):
        stage.warm()


def _tokens(docs: Dataset, runner: Runner, out: str) -> None:
    dp.encode(
        docs,
        dp.train_bpe(docs, vocab_size=280, val=0, runner=runner),
        out=os.path.join(out, "shards"),
        val=0,
        runner=runner,
    )


if __name__ == "__main__":
    compile_kernels()
