"""Keep freed memory for the next batch, instead of returning it to the system after every batch.

Memory that returns to the system is set to zero page by page when it is used again. With Arrow's own allocator and the
default limits of glibc, this takes up to a third of the CPU time of a run.
"""

from __future__ import annotations

import ctypes
import functools
import os
import sys

CHOSEN = ("ARROW_DEFAULT_MEMORY_POOL", "GLIBC_TUNABLES", "MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_")
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # <malloc.h>
BLOCK_BYTES = 32 << 20  # larger blocks still return at once; glibc allows no larger limit
FREE_BYTES = 256 << 20  # that the process keeps


@functools.cache
def keep_freed_memory() -> None:
    """Let Arrow use the allocator of glibc, and let that one keep up to FREE_BYTES; on Linux with glibc only.

    This holds for the whole process from the first call on. The function does nothing if the user has chosen an
    allocator or its limits by one of the environment variables CHOSEN.
    """
    if sys.platform != "linux" or any(name in os.environ for name in CHOSEN):
        return
    libc = ctypes.CDLL(None)
    if not hasattr(libc, "gnu_get_libc_version"):
        return
    import pyarrow as pa

    libc.mallopt(M_MMAP_THRESHOLD, BLOCK_BYTES)
    libc.mallopt(M_TRIM_THRESHOLD, FREE_BYTES)
    pa.set_memory_pool(pa.system_memory_pool())
