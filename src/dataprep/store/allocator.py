"""Keep freed memory for the next batch, instead of returning it to the system after every batch.

Memory that returns to the system is set to zero page by page when it is used again. With Arrow's own allocator and the
default limits of glibc, this takes up to a third of the CPU time of a run.
"""

from __future__ import annotations

import ctypes
import functools
import os
import sys

CHOSEN = (
    "ARROW_DEFAULT_MEMORY_POOL",
    "GLIBC_TUNABLES",
    "MALLOC_ARENA_MAX",
    "MALLOC_MMAP_THRESHOLD_",
    "MALLOC_TRIM_THRESHOLD_",
)
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD, M_ARENA_MAX = -1, -3, -8  # <malloc.h>
BLOCK_BYTES = 32 << 20  # larger blocks still return at once; glibc allows no larger limit
FREE_BYTES = 256 << 20  # that the process keeps


@functools.cache
def keep_freed_memory() -> None:
    """Let Arrow use the allocator of glibc, and let that one keep up to FREE_BYTES; on Linux with glibc only.

    This holds for the whole process from the first call on. The function does nothing if the user has chosen an
    allocator or its limits by one of the environment variables CHOSEN.
    """
    if (libc := _glibc()) is None:
        return
    import pyarrow as pa

    libc.mallopt(M_MMAP_THRESHOLD, BLOCK_BYTES)
    libc.mallopt(M_TRIM_THRESHOLD, FREE_BYTES)
    pa.set_memory_pool(pa.system_memory_pool())


@functools.cache
def share_freed_memory() -> None:
    """Let all threads that start from now on use the memory that others freed; on Linux with glibc only.

    With memory of their own, two threads took 2.5 times the memory of one, and up to a fifth more CPU time, for new
    pages. Nothing is done in the cases in which `keep_freed_memory` does nothing.
    """
    if (libc := _glibc()) is not None:
        libc.mallopt(M_ARENA_MAX, 1)


def _glibc() -> ctypes.CDLL | None:
    """Return the C library if it is glibc and the user has chosen nothing about its allocator, else None."""
    if sys.platform != "linux" or any(name in os.environ for name in CHOSEN):
        return None
    libc = ctypes.CDLL(None)
    return libc if hasattr(libc, "gnu_get_libc_version") else None
