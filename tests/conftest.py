"""What every test may ask for."""

from __future__ import annotations

import os
import sys
from collections import Counter
from pathlib import Path

import hypothesis
import pytest

# For torch and NumPy, which are loaded later, and processes that tests start: small models are faster on one thread, of
# which many would wait for each other while tests run beside others.
os.environ["OMP_NUM_THREADS"] = "1"
pytest.register_assert_rewrite("laws", "twins")
pytest_plugins = [f"fixtures.{name}" for name in ("chats", "dedup", "demo", "kernels", "runs", "tokens", "voices")]

ROOT = Path(__file__).parent.parent
# The same examples every run, and no deadline: kernels compile on their first call.
hypothesis.settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
hypothesis.settings.load_profile("ci")
SLOW = frozenset((Path(__file__).parent / "slow.txt").read_text().split())
SLOW_OF = Counter(name.partition("::")[0] for name in SLOW)  # how many in a file


def pytest_collection_modifyitems(items):
    """Mark the tests of slow.txt, which `make test-fast` skips.

    They take a quarter of a second or more, or 0.7 s with all their parameters, use processes, or train models first.
    Files with most of them come first, so that at the end no worker waits for a long file of the other.
    """
    homes = {item: item.path.relative_to(ROOT / "tests").as_posix() for item in items}
    for item in items:
        if f"{homes[item]}::{item.originalname}" in SLOW:
            item.add_marker("slow")
    items.sort(key=lambda item: -SLOW_OF[homes[item]])


@pytest.fixture(scope="session", autouse=True)
def _workers_stay():
    """A run that a test interrupts would end the worker processes, and the next test would wait for new ones."""
    from dataprep.core.run import workers

    patch = pytest.MonkeyPatch()
    patch.setattr(workers, "at_stop", lambda _: None)
    yield
    patch.undo()


@pytest.fixture(scope="session", autouse=True)
def _no_sync():
    """Small files by the thousand: to wait for the disk each time would take the minutes that the tests have."""
    from dataprep.core.run import workers
    from fixtures import unsynced

    patch = pytest.MonkeyPatch()
    patch.setattr(workers, "_begin", unsynced.begin)
    patch.setattr(os, "fsync", unsynced.nothing)
    yield
    patch.undo()


@pytest.fixture(autouse=True)
def _empty_memory():
    """Empty fsspec's memory:// storage, which all tests of a process share, after each test."""
    yield
    memory = sys.modules.get("fsspec.implementations.memory")
    if memory is not None:
        memory.MemoryFileSystem.store.clear()
        memory.MemoryFileSystem.pseudo_dirs[:] = [""]


@pytest.fixture(scope="session")
def root() -> Path:
    """The repository."""
    return ROOT


@pytest.fixture(scope="session")
def samples() -> Path:
    """The sample files, written for this project."""
    return ROOT / "sample_data"


@pytest.fixture(scope="session")
def shared() -> Path:
    """Real material beside the repository; tests that need it skip where it is absent."""
    place = Path(os.environ.get("DATAPREP_SHARED", ROOT.parent / "shared")) / "data"
    if not place.is_dir():
        pytest.skip("no real material beside the repository")
    return place


@pytest.fixture
def dataprep(monkeypatch, capsys):
    """The command line as a person has it: (exit code, stdout, stderr)."""
    from dataprep import cli

    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)  # the library of the command line sets its own

    def call(*words):
        monkeypatch.setattr(sys, "argv", ["dataprep", *map(str, words)])
        try:
            cli.main()
            code = 0
        except SystemExit as e:
            code = e.code if isinstance(e.code, int) else 0 if e.code is None else 1
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call
