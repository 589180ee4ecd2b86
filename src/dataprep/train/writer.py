"""Write checkpoints in a thread, from a copy in the CPU's memory, so that training continues meanwhile."""

from __future__ import annotations

import sys
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from torch import Tensor

from . import checkpoint


class CheckpointWriter:
    """Writes checkpoints in a thread, one at a time; an error of the thread is raised by the next call.

    The memory of one copy of weights and moments is needed, in addition to those on the device.
    """

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="checkpoint")
        self._pending: Future[None] | None = None

    def write(self, path: Path, content: dict[str, Any], keep: int, besides: Path | None = None) -> None:
        """Begin to write a checkpoint, as `checkpoint.save` does; later changes of tensors in `content` have no effect.

        Waits until the previous checkpoint is written. Raises DataprepError if that write failed.
        """
        self.wait()
        self._pending = self._pool.submit(checkpoint.save, path, copied(content), keep, besides)

    def check(self) -> None:
        """Raise the DataprepError of a write that failed; do not wait for one that has not ended."""
        if self._pending is not None and self._pending.done():
            self.wait()

    def wait(self) -> None:
        """Wait until the last checkpoint is complete; raise the DataprepError of a write that failed."""
        pending, self._pending = self._pending, None
        if pending is not None:
            pending.result()

    def close(self) -> None:
        """Wait for the thread to end; after an error of training, the error of a write is not raised in its place."""
        self._pool.shutdown()


def copied(value: Any) -> Any:
    """Return a copy of nested dicts, lists and tuples whose tensors are in the CPU's memory and are not shared.

    Equal texts are one object, as pickle writes an object that it has written before as a reference: equal contents are
    equal files, also after a run was resumed.
    """
    if isinstance(value, Tensor):
        return value.detach().to("cpu", copy=True)
    if isinstance(value, dict):
        return {copied(name): copied(entry) for name, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(map(copied, value))
    return sys.intern(value) if type(value) is str else value
