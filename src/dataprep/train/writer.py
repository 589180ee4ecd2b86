"""Write checkpoints in a thread, from a copy in the CPU's memory, so that training continues in the meantime.

On CUDA the copy is made while the next step computes, by a separate stream, into pinned memory. Only the next change of
the weights waits for it.
"""

from __future__ import annotations

import sys
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from . import checkpoint


class CheckpointWriter:
    """Writes checkpoints in a thread, one at a time; an error of the thread is raised by the next call.

    In addition to the weights and moments on the device, memory for one copy of them is needed. It is kept for the next
    checkpoint, since pinning memory takes longer than the copy.
    """

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="checkpoint")
        self._pending: Future[None] | None = None
        self._copies = Copies()

    def write(self, path: Path, content: dict[str, Any], keep: int, besides: Path | None = None) -> None:
        """Begin to write a checkpoint, as `checkpoint.save` does.

        Later changes of tensors in `content` have no effect; for tensors on CUDA, this holds for changes after
        `protect`. Waits until the previous checkpoint is written. Raises DataprepError if that write failed.
        """
        self.wait()
        copy = self._copies.begin(content)
        self._pending = self._pool.submit(self._save, path, copy, keep, besides)

    def _save(self, path: Path, content: dict[str, Any], keep: int, besides: Path | None) -> None:
        self._copies.finish()
        checkpoint.save(path, content, keep, besides)

    def protect(self, *_: Any) -> None:
        """Make later work on the device wait for the copy of the tensors; call this before the weights change.

        The arguments are those of a hook of torch's optimisers, and are not used.
        """
        self._copies.protect()

    def check(self) -> None:
        """Raise the DataprepError of a failed write; do not wait for a write that is in progress."""
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


class Copies:
    """Copies of tensors in the CPU's memory; `begin` may be called again when the copies before are no longer used."""

    def __init__(self) -> None:
        self._buffers: dict[int, Tensor] = {}
        self._n = 0
        self._stream: Any = None
        self._copied: Any = None

    def begin(self, content: dict[str, Any]) -> dict[str, Any]:
        """Return a copy of nested dicts, lists and tuples whose tensors are in the CPU's memory and are not shared.

        Tensors from CUDA are complete after `finish`. Equal texts become one object, because pickle writes an object
        that it has already written as a reference. Equal contents therefore yield equal files, even after a run was
        resumed.
        """
        self._n, self._copied = 0, None
        copy: dict[str, Any] = self._copy(content)
        if self._n:
            self._copied = self._stream.record_event()
        return copy

    def finish(self) -> None:
        """Wait until the copies are complete."""
        if self._copied is not None:
            self._copied.synchronize()

    def protect(self) -> None:
        """Let the current stream wait until the copies are complete."""
        if self._copied is not None:
            torch.cuda.current_stream(self._stream.device).wait_event(self._copied)

    def _copy(self, value: Any) -> Any:
        if isinstance(value, Tensor):
            value = value.detach()
            return self._from_cuda(value) if value.device.type == "cuda" else value.to("cpu", copy=True)
        if isinstance(value, dict):
            return {self._copy(name): self._copy(entry) for name, entry in value.items()}
        if isinstance(value, (list, tuple)):
            return type(value)(map(self._copy, value))
        return sys.intern(value) if type(value) is str else value

    def _from_cuda(self, tensor: Tensor) -> Tensor:
        """Begin to copy a tensor into its pinned buffer; the order of calls must be the same each time."""
        if self._stream is None:
            self._stream = torch.cuda.Stream(tensor.device)  # type: ignore[no-untyped-call]
        if not self._n:  # what was computed before this moment is copied
            self._stream.wait_stream(torch.cuda.current_stream(tensor.device))
        buffer = self._buffers.get(self._n)
        if buffer is None or (buffer.shape, buffer.dtype) != (tensor.shape, tensor.dtype):
            buffer = self._buffers[self._n] = torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=True)
        self._n += 1
        with torch.cuda.stream(self._stream):
            return buffer.copy_(tensor, non_blocking=True)
