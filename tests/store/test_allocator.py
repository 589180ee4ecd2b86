"""The allocator: freed memory is used again, and what the user chose stays."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from dataprep.store import allocator

CHILD = """
import json, resource
import pyarrow as pa
from dataprep.store.allocator import keep_freed_memory

keep_freed_memory()
faults = []
for _ in range(3):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    held = [bytes([1]) * (15 << 20) for _ in range(6)]
    del held
    faults.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
print(json.dumps([pa.default_memory_pool().backend_name, faults[0], faults[2]]))
"""


@pytest.mark.skipif("CS_GNU_LIBC_VERSION" not in getattr(os, "confstr_names", {}), reason="for glibc")
def test_freed_memory_is_used_again():
    """90 MB that were freed need no new pages."""
    environment = {name: value for name, value in os.environ.items() if name not in allocator.CHOSEN}
    done = subprocess.run([sys.executable, "-c", CHILD], env=environment, capture_output=True, text=True, check=True)
    pool, first, third = json.loads(done.stdout)
    assert pool == "system"
    assert third < 1000 < first


@pytest.mark.parametrize("name", [*allocator.CHOSEN, None])
def test_what_the_user_chose_stays(name, monkeypatch):
    """After one of these variables is set, neither glibc nor Arrow is asked for anything."""
    asked = []
    monkeypatch.setattr(allocator.ctypes, "CDLL", asked.append)
    for one in allocator.CHOSEN:
        monkeypatch.delenv(one, raising=False)
    if name is not None:
        monkeypatch.setenv(name, "1")
    monkeypatch.setattr(sys, "platform", "linux")
    allocator.keep_freed_memory.__wrapped__()
    assert len(asked) == (name is None)
