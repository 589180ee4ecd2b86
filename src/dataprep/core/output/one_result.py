"""Read a finished result that another process may replace: a reader gets one complete result, or `Replaced`.

A reader opens many files, one after another, and a commit may happen between any two of them. `one_result` compares the
records of the folder before and after reading, so that readers need not detect this themselves.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

from dataprep.errors import Replaced
from dataprep.store import beside, files, lease

from .layout import MANIFEST, RECIPE, Folder, inside, replaced

T = TypeVar("T")
Records = Mapping[str, object]  # for each record, a value that differs after the record was replaced
FIXED = ("tokenizer.json", "receipt.json", "preset.json")  # records of results with fixed file names
TRIES = 5  # attempts to open a result that is replaced meanwhile


@contextlib.contextmanager
def one_result(*urls: str) -> Iterator[Callable[[], None]]:
    """Raise Replaced if a result was replaced or removed while the `with` block was reading it.

    Replaced is raised instead of any error of the block, since a missing file may have caused the error. Replaced is
    also raised if the block ends without an error, since it may have read files of both results. A block that reports
    missing files without raising an error must first call the function that is yielded.

    Args:
        urls: folders of results, or of runs, whose results are directly inside; new results in a run's folder are
            ignored.
    """
    before = {home: found for url in urls for home in _homes(url) if (found := _records(home))}

    def check(*, failed: bool = True) -> None:
        for home, found in before.items():
            now = _records(home)
            names = found.keys() if failed else found.keys() - {RECIPE}  # which is moved last
            if any(now.get(name) != found[name] for name in names) or (failed and _is_in_commit(home)):
                raise replaced(home)

    try:
        yield check
    except Exception as e:
        try:
            check()
        except Replaced as known:
            raise known from e
        raise
    check(failed=False)


def opened(url: str, opens: Callable[[], T]) -> T:
    """Return `opens()`, which opens the result in `url`; call it again if the result was replaced in the meantime."""
    for _ in range(TRIES - 1):
        with contextlib.suppress(Replaced), one_result(url):
            return opens()
    with one_result(url):
        return opens()


def _homes(url: str) -> list[str]:
    """Return the folders of results: `url` itself, or those inside it if it has no records."""
    return [url] if _records(url) or not files.is_dir(url) else [url, *inside(url)]


def _is_in_commit(home: str) -> bool:
    """Return whether a process is moving files: new ones before the manifest is replaced, or old ones after it."""
    begun = Folder(home).unfinished
    if not files.is_local(home) or (recipe := begun.recipe) is None:
        return False
    is_moving = files.exists(begun.path(MANIFEST)) or recipe.is_same(Folder(home).stated)
    return is_moving and lease.holder(files.path_of(home)) is not None


def _records(home: str) -> Records:
    local, found = files.is_local(home), dict[str, object]()
    for name in (MANIFEST, RECIPE, *(FIXED if local else ())):
        with contextlib.suppress(*((OSError, ValueError) if local else (FileNotFoundError,))):
            found[name] = files.version(files.join(home, name))
    ready = beside.ready(files.path_of(home)) if local else None
    return found if ready is None else {**found, beside.READY: ready}
