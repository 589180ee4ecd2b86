"""Module that the process that forks workers (`forked.py`) imports first; it imports libraries and starts no thread.

OpenBLAS ends its threads before a fork. The background thread of jemalloc, an allocator in Arrow, must not start.
"""

import os

os.environ.setdefault("JE_ARROW_MALLOC_CONF", "background_thread:false")

import llvmlite.binding  # noqa: F401
import numpy.ma  # noqa: F401
import pyarrow.parquet  # noqa: F401
